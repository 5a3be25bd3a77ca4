"""See a table as it was at a past time: the rows whose load time is not after it.

That is what it was only if rows are never changed or removed once they are loaded, and if every row has a load time.
The second is looked at; the first has to be known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checks._contract import Context, Measurement, Misconfigured, Outcome, Wants
from checks._instants import reading_of, zoned_column
from sources.expressions import ir

__all__ = ["evidence", "loaded_by", "refuse"]

_ROWS = "rows"
_SEEN = "seen"


def evidence(context: Context) -> Mapping[str, ir.Value]:
    """Return what has to be counted before the load times of a table are believed.

    Raises:
        Misconfigured: the table has no `loaded_at`, no such column, or it is no time of a known zone.
    """
    if context.loaded_at is None:
        raise Misconfigured("cannot be evaluated as of a past time: the table has no 'loaded_at'")
    return {**zoned_column(context, context.loaded_at).evidence, _ROWS: context.rows}


def loaded_by(context: Context, counts: Measurement) -> ir.BooleanValue | Outcome:
    """Return the predicate "loaded by the time of the measurement", or why load times cannot be believed.

    Raises:
        Misconfigured: some rows have no load time.
    """
    name = context.loaded_at or ""
    times = zoned_column(context, name)
    values: dict[str, Any] = {**counts.values, **{f"{_SEEN}_{clock.reading}": 1 for clock in times.clocks}}
    if counts.number(_ROWS) == 0:
        return times.value.notnull()
    reading = reading_of(Measurement(counts.measured_at, values), name, _SEEN)
    if isinstance(reading, Outcome):
        return reading
    without = counts.number(_ROWS) - counts.number("filled")
    if without:
        rows = "1 row has" if without == 1 else f"{without:,} rows have"
        raise Misconfigured(
            f"cannot be evaluated as of a past time: {rows} no load time in '{name}', so when they arrived is unknown"
        )
    clock = next(clock for clock in times.clocks if clock.reading == reading)
    return times.value <= times.now(clock)


def refuse(wants: Wants, refers_to: tuple[str, ...]) -> None:
    """Refuse what a past time has no answer for.

    Raises:
        Misconfigured: the check is about the catalogue, other tables, SQL text, a frame, or what the store keeps.
    """
    reasons = {
        "it reads the columns of now": wants.schema,
        "it reads the number of rows of now": wants.estimate,
        "it reads the catalogue of now": wants.last_write or wants.newest is not None,
        "it also reads other tables": bool(refers_to),
        "it runs SQL of its own": bool(wants.statements),
        "it needs a frame": wants.frame is not None,
        "it compares with what the store keeps": wants.kept is not None,
    }
    for reason, holds in reasons.items():
        if holds:
            raise Misconfigured(f"cannot be evaluated as of a past time: {reason}")
