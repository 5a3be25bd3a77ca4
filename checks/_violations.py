"""Judge a count of bad rows against a share of all rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final, TypeAlias

from annotated_types import Ge, Le
from pydantic import Field

from checks._contract import Json, Measurement, Outcome, Status
from checks._message import Message
from checks._occurrence import from_bad_rows

Share: TypeAlias = Annotated[float, Ge(0), Le(1), Field(description="Largest share of bad rows allowed, 0 to 1.")]

_FINE: Final = Message("no row breaks the rule")


def judge_violations(
    measurement: Measurement,
    *,
    bad: int,
    max_ratio: float,
    counted_as: str,
    say: Message,
    since: object = None,
) -> Outcome:
    """Fail when more than a share of the rows is bad.

    `counted_as` is the key of the count in `observed`. `say` is the sentence for failing; it gets the values `rows`,
    `bad` and `ratio` beside its own. `since` is a load time of a bad row that did not come as `first_bad_load`.
    """
    rows = measurement.number("rows")
    # divided, not multiplied: 29 of 100 is exactly what a person calls 0.29
    ratio = bad / rows if rows else 0.0
    observed: Mapping[str, Json] = {"rows": rows, counted_as: bad}
    expected: Mapping[str, Json] = {"max_ratio": max_ratio}
    if ratio <= max_ratio:
        return Outcome(Status.PASS, _FINE, observed, expected)
    message = replace(say, values={**say.values, "rows": rows, "bad": bad, "ratio": ratio})
    return Outcome(Status.FAIL, message, observed, expected, occurrence=from_bad_rows(measurement, since))
