"""Show no value that is of few people, alone or by its difference from the last value that was shown.

A sum over the rows of one person is that person's value; the sums of two days of which one has a person more are, too.
In a table of people the value of a column is therefore computed and judged, and only shown (that is: said, stored,
compared with later) where it is of at least `k` rows and people, and where their number is that of the last shown value
or differs from it by at least `k`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from checks._contract import ColumnClass, Context
from checks._measurement import Measurement, PastMeasurement
from checks._outcome import Json, Message
from sources.expressions import ir

GROUP: Final = "group_"
"""What the names of aggregates begin with that count the rows or people of a value, beside `rows`."""
SHOWN_OF: Final = "shown_of"
"""The key in `observed` of how many rows and people the last shown value is of."""

TOO_SMALL: Final = Message(
    "{what} is smaller than {limit:number}; its value, or its change, is of fewer than {k:count} people and not shown"
)
TOO_LARGE: Final = Message(
    "{what} is larger than {limit:number}; its value, or its change, is of fewer than {k:count} people and not shown"
)


def named_people(
    context: Context, name: str, where: ir.BooleanValue | None
) -> tuple[ir.IntegerScalar, ir.IntegerScalar]:
    """Count the rows in which an identifier names a person, and the people that it names.

    Raises:
        Misconfigured: the table has no such column.
    """
    column = context.column(name)
    return column.count(where=where), column.nunique(where=where)


def group_counts(context: Context, column: str, *, filled: bool) -> Mapping[str, ir.Value]:
    """Count the rows and people that an aggregate of a column is of, beside `rows`.

    `filled`: rows with a value count only, as for a sum.
    """
    values, where = context.column(column), context.where
    if filled:
        where = values.notnull() if where is None else where & values.notnull()
    counts: dict[str, ir.Value] = {f"{GROUP}filled": values.count(where=context.where)} if filled else {}
    return counts | people_counts(context, where)


def people_counts(context: Context, where: ir.BooleanValue | None) -> dict[str, ir.Value]:
    """Count the people of rows: by the person key, else by each direct identifier, a row without one being of another.

    Empty for a table that is not of people, or has no such column: its rows are counted.
    """
    people = context.people
    if people is None:
        return {}
    if people.person_key is not None:
        return {f"{GROUP}people": named_people(context, people.person_key, where)[1]}
    names = [name for name, word in people.columns.items() if word is ColumnClass.DIRECT_IDENTIFIER]
    counts: dict[str, ir.Value] = {}
    for place, name in enumerate(names):
        rows, distinct = named_people(context, name, where)
        counts[f"{GROUP}people{place or ''}"] = context.table.count(where=where) - rows + distinct
    return counts


def least_group(measurement: Measurement) -> int:
    """Return how many rows a value is of, or people where these are fewer."""
    return min(_groups(measurement).values())


def _groups(measurement: Measurement) -> dict[str, int]:
    names = ["rows", *(name for name in measurement.values if name.startswith(GROUP))]
    return {name.removeprefix(GROUP): measurement.number(name) for name in names}


def is_of_few(
    measurement: Measurement, history: Sequence[PastMeasurement], observed: dict[str, Json], *, k: int
) -> bool:
    """Check whether a value must not be shown; write to `observed` how many rows and people the last shown is of."""
    counts = _groups(measurement)
    last = next((past.observed[SHOWN_OF] for past in history if past.last_shown), None)
    changes = [abs(number - int(last[name])) for name, number in counts.items() if name in last] if last else []
    hidden = min(counts.values()) < k or any(0 < change < k for change in changes)
    observed[SHOWN_OF] = last if hidden else dict(counts)
    return hidden
