"""What feeds what, of tables and of their columns, as the configuration says.

    table.upstream, table.upstream_columns ──> Lineage ──> tables and columns above and below, each the nearest first

The lineage of columns between two tables is known where `upstream_columns` names the upper one. Where it is not known,
each column of one may feed each column of the other. `*` as a column is every column: of a filter or a join.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

Columns: TypeAlias = frozenset[str] | None
"""Names of columns; None for any column. None of them: the columns in question neither feed nor are fed by it."""
EVERY: Final = "*"
_Step: TypeAlias = Callable[[str, Columns], Iterator[tuple[str, Columns]]]


class Lineage:
    """The tables and columns above and below each table, directly or not; never the table itself, even in a cycle.

    Names of columns are compared without regard to upper and lower case, and returned in lower case.
    """

    def __init__(
        self,
        upstream: Mapping[str, Iterable[str]],
        columns: Mapping[str, Mapping[str, Mapping[str, Iterable[str]]]] | None = None,
    ) -> None:
        """Take the tables that feed each table, and of each of those which of its columns feed which column."""
        self._upstream = {table: tuple(dict.fromkeys(parents)) for table, parents in upstream.items()}
        self._downstream: dict[str, tuple[str, ...]] = {}
        for table, parents in self._upstream.items():
            for parent in parents:
                self._downstream[parent] = (*self._downstream.get(parent, ()), table)
        self._edges = {
            (parent, table): [
                (source.casefold(), column.casefold()) for column, sources in made.items() for source in sources
            ]
            for table, parents in (columns or {}).items()
            for parent, made in parents.items()
        }
        self._above: dict[str, Mapping[str, int]] = {}

    def upstream(self, table: str) -> tuple[str, ...]:
        """Return the tables that feed a table directly."""
        return self._upstream.get(table, ())

    def downstream(self, table: str) -> tuple[str, ...]:
        """Return the tables that a table feeds directly, in their order."""
        return self._downstream.get(table, ())

    def above(self, table: str) -> Mapping[str, int]:
        """Return the tables that a table is made from, each with the steps to it, the nearest first."""
        if table not in self._above:
            self._above[table] = _steps(table, self.upstream)
        return self._above[table]

    def below(self, table: str) -> Mapping[str, int]:
        """Return the tables that are made from a table, each with the steps to it, the nearest first."""
        return _steps(table, self.downstream)

    def columns_of(self, table: str) -> frozenset[str]:
        """Return the columns of a table that are known to feed others."""
        return frozenset(
            source for child in self.downstream(table) for source, _ in self._edges.get((table, child), ())
        )

    def columns_above(self, table: str, columns: Columns = None) -> Mapping[str, Columns]:
        """Return the tables that a table is made from, each with those of its columns that feed some columns."""

        def feeding(name: str, fed: Columns) -> Iterator[tuple[str, Columns]]:
            for parent in self.upstream(name):
                edges = self._edges.get((parent, name))
                if edges is None:
                    yield parent, _any_of(fed)
                else:
                    yield parent, frozenset(source for source, column in edges if _meets(column, fed))

        return _spread(table, columns, feeding)

    def columns_below(self, table: str, columns: Columns = None) -> Mapping[str, Columns]:
        """Return the tables that are made from a table, each with those of its columns that some columns feed."""

        def fed(name: str, feeding: Columns) -> Iterator[tuple[str, Columns]]:
            for child in self.downstream(name):
                edges = self._edges.get((name, child))
                if edges is None:
                    yield child, _any_of(feeding)
                else:
                    made = frozenset(column for source, column in edges if _meets(source, feeding))
                    yield child, None if EVERY in made else made

        return _spread(table, columns, fed)


def _any_of(columns: Columns) -> Columns:
    """Return what some columns reach where the lineage of columns is not known; of none, none."""
    return columns if columns == frozenset() else None


def _meets(column: str, columns: Columns) -> bool:
    return columns is None or column in columns or (column == EVERY and bool(columns))


def _steps(start: str, following: Callable[[str], Iterable[str]]) -> Mapping[str, int]:
    steps, waiting = {start: 0}, deque([start])
    while waiting:
        name = waiting.popleft()
        for other in following(name):
            if other not in steps:
                steps[other] = steps[name] + 1
                waiting.append(other)
    del steps[start]
    return steps


def _spread(start: str, columns: Columns, step: _Step) -> Mapping[str, Columns]:
    """Return what is reached from some columns of a table, step by step; by several ways all that they reach."""
    first = None if columns is None else frozenset(column.casefold() for column in columns)
    reached: dict[str, Columns] = {start: first}
    waiting = deque([start])
    while waiting:
        name = waiting.popleft()
        for other, more in step(name, reached[name]):
            known = reached.get(other, frozenset())
            both = None if known is None or more is None else known | more
            if other not in reached or both != known:
                reached[other] = both
                waiting.append(other)
    del reached[start]
    return reached
