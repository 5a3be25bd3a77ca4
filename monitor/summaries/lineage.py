"""What a fault in a table, or in some of its columns, reaches: columns, dashboards and people, by the configuration."""

from typing import Final, Self

from checks import Check
from monitor.config import Config, Consumer
from monitor.config.lineage import Columns
from monitor.summaries.shapes import Shape

_MOST: Final = 50


class ReachedTable(Shape):
    """A table downstream: how many steps, and which of its columns; null where the lineage of columns is not known."""

    table: str
    distance: int
    columns: tuple[str, ...] | None


class ReachedConsumer(Shape):
    """A dashboard, a report or another use; `tables` are those that it reads."""

    name: str
    type: str | None
    owner: str | None
    url: str | None
    tables: tuple[str, ...]


class Reach(Shape):
    """What is made from a table: tables, the nearest first, their uses and owners, at most 50 of each.

    `of_columns`: the columns in question; null for all.
    """

    of_columns: tuple[str, ...] | None
    tables: tuple[ReachedTable, ...]
    consumers: tuple[ReachedConsumer, ...]
    people: tuple[str, ...]

    @classmethod
    def of(cls, config: Config, table: str, columns: Columns = None) -> Self:
        """Return what is downstream of a table, or of some of its columns."""
        steps = config.lineage.below(table)
        reached = config.lineage.columns_below(table, columns)
        affected = {name: reached[name] for name in steps if reached[name] != frozenset()}
        uses: dict[str, tuple[Consumer, list[str]]] = {}
        for name, its in ({table: columns} | affected).items():
            for use in config.consumers_of(name):
                if not use.columns or its is None or its & {column.casefold() for column in use.columns}:
                    uses.setdefault(use.name, (use, []))[1].append(name)
        tables = [found for name in affected if (found := config.table(name)) is not None]
        owners = [*(config.owner_of(item) for item in tables), *(use.owner for use, _ in uses.values())]
        people = dict.fromkeys(person for owner in owners if (person := config.owner_name(owner)))
        return cls(
            of_columns=None if columns is None else tuple(sorted(columns)),
            tables=tuple(
                ReachedTable(table=name, distance=steps[name], columns=None if its is None else tuple(sorted(its)))
                for name, its in list(affected.items())[:_MOST]
            ),
            consumers=tuple(
                ReachedConsumer(
                    name=use.name,
                    type=use.type,
                    owner=config.owner_name(use.owner),
                    url=use.url,
                    tables=tuple(read),
                )
                for use, read in list(uses.values())[:_MOST]
            ),
            people=tuple(people)[:_MOST],
        )


def reach_by_column(config: Config, table: str) -> tuple[Reach, ...]:
    """Return what is downstream of each column of a table of which the lineage or a consumer is known."""
    known = {column.casefold() for use in config.consumers_of(table) for column in use.columns}
    known |= config.lineage.columns_of(table)
    return tuple(Reach.of(config, table, frozenset({column})) for column in sorted(known)[:_MOST])


def columns_of(check: Check | None) -> Columns:
    """Return the columns that a failure of a check is of; None for whole rows, and where they are not known."""
    if check is None or not check.judges_values:
        return None
    column = getattr(check, "column", None)
    names = getattr(check, "columns", None) or (() if column is None else (column,))
    return frozenset(str(name).casefold() for name in names) or None
