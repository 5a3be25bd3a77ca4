"""Every check is judged in the same way: the empty table, the limits, the softer limits."""

import pytest

from checks import Measurement, Occurrence, OccurrenceMethod, Outcome, Status, UnknownReason
from checks._judge import judge, without_rows
from checks.not_null import NotNull
from checks.volume import Volume
from tests.checks.ask import NOW

SINCE = Occurrence(NOW, OccurrenceMethod.BAD_ROWS)


def measured(rows, nulls=0):
    """Return a measurement of `not_null`."""
    return Measurement(NOW, {"rows": rows, "nulls_a": nulls, "first_bad_load": NOW}, loaded_at="loaded")


@pytest.mark.parametrize(("on_empty", "status"), [("unknown", "unknown"), ("pass", "pass"), ("fail", "fail")])
def test_no_rows(on_empty, status):
    """What an empty table means says `on_empty`; by default it is unknown for lack of data."""
    outcome = judge(NotNull(columns=("a",), on_empty=on_empty), measured(0))
    assert outcome.status == status
    assert outcome.observed == {"rows": 0}
    assert (outcome.reason is UnknownReason.NO_DATA) == (status == "unknown")
    assert str(outcome.message) == "no rows to evaluate"


def test_rows_that_were_never_counted():
    """NULL in place of the count is an empty table, not an error."""
    assert judge(NotNull(columns=("a",)), Measurement(NOW, {"rows": None})).status is Status.UNKNOWN


def test_check_with_an_answer_of_its_own():
    """A check that judges empty tables itself is asked."""
    assert judge(Volume(min=1), Measurement(NOW, {"rows": 0})).status is Status.FAIL
    assert without_rows(Volume(min=1)).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("nulls", "status"), [(0, Status.PASS), (1, Status.PASS), (2, Status.WARN), (5, Status.WARN), (6, Status.FAIL)]
)
def test_warn(nulls, status):
    """Breaking only the softer limits is a warning; breaking the limits is a failure, whatever is softer."""
    check = NotNull(columns=("a",), max_ratio=0.5, warn={"max_ratio": 0.1})
    assert judge(check, measured(10, nulls)).status is status


def test_warning_has_no_time_of_occurrence():
    """A warning opens nothing, so it has no time; what was expected is the softer limit."""
    check = NotNull(columns=("a",), max_ratio=0.5, warn={"max_ratio": 0.1})
    outcome = judge(check, measured(10, 2))
    assert outcome.occurrence is None
    assert outcome.expected == {"max_ratio": 0.1}
    assert judge(check, measured(10, 6)).occurrence == SINCE


def test_softer_limits_that_cannot_be_judged():
    """If only the softer limits cannot be judged, the check passes."""
    check = Volume(min=1, warn={"min_ratio": 0.5})
    outcome = judge(check, Measurement(NOW, {"rows": 5}))
    assert isinstance(outcome, Outcome)
    assert outcome.status is Status.PASS
