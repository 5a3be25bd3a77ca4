"""Judge a count of bad rows against a share of all rows."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from annotated_types import Ge, Le
from pydantic import Field

from checks._contract import Json, Measurement, Outcome, Status, UnknownReason, unknown
from checks._message import Message
from checks._occurrence import from_bad_rows
from checks.parameters.numbers import decimal

Share: TypeAlias = Annotated[float, Ge(0), Le(1), Field(description="Largest share of bad rows allowed, 0 to 1.")]

_FINE: Final = Message("no row breaks the rule")
_UNCERTAIN: Final = Message(
    "{found:count} values cannot be told from a number of the rule: SQLite keeps them as REAL, which has 15 digits",
    one="{found:count} value cannot be told from a number of the rule: SQLite keeps it as REAL, which has 15 digits",
    counted="found",
)


def judge_violations(
    measurement: Measurement,
    *,
    bad: int,
    max_ratio: float,
    counted_as: str,
    say: Message,
    since: object = None,
) -> Outcome:
    """Fail when more than a share of the rows is bad; unknown when values of which nobody can tell decide it.

    `counted_as` is the key of the count in `observed`. `say` is the sentence for failing; it gets the values `rows`,
    `bad` and `ratio` beside its own. `since` is a load time of a bad row that did not come as `first_bad_load`.
    """
    rows = measurement.number("rows")
    ratio, allowed = Fraction(bad, rows or 1), decimal(max_ratio)
    observed: Mapping[str, Json] = {"rows": rows, counted_as: bad}
    expected: Mapping[str, Json] = {"max_ratio": max_ratio}
    uncertain = measurement.number("uncertain") if "uncertain" in measurement.values else 0
    if ratio <= allowed < Fraction(bad + uncertain, rows or 1):
        return unknown(UnknownReason.MISCONFIGURED, _UNCERTAIN.given(found=uncertain), observed)
    if ratio <= allowed:
        return Outcome(Status.PASS, _FINE, observed, expected)
    message = replace(say, values={**say.values, "rows": rows, "bad": bad, "ratio": float(ratio)})
    return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement, since))
