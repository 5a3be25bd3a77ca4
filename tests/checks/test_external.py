"""A check that another tool evaluates: what its results mean."""

from datetime import UTC, datetime, timedelta

import pytest

from checks import Measurement, Occurrence, OccurrenceMethod, Status, UnknownReason, Wants
from checks._judge import judge
from checks.external import External, ExternalNumbers
from tests.checks.ask import NOW

OBSERVED = set()

CHECK = External(origin="dbt", id="unique_id", reference="test.shop.unique_id.ab12")


@pytest.mark.parametrize(
    ("status", "numbers", "text"),
    [
        (Status.PASS, None, "unique_id: passed, reported by dbt"),
        (Status.PASS, ExternalNumbers(violations=0), "unique_id: passed, reported by dbt"),
        (Status.FAIL, None, "unique_id: failed, reported by dbt"),
        (Status.FAIL, ExternalNumbers(violations=0), "unique_id: failed, reported by dbt"),
        (Status.FAIL, ExternalNumbers(violations=1), "unique_id: one violation, reported by dbt"),
        (Status.WARN, ExternalNumbers(violations=1200), "unique_id: 1,200 violations, reported by dbt"),
        (
            Status.FAIL,
            ExternalNumbers(age=timedelta(hours=30)),
            "unique_id: the newest row is 1 d 6 h old, reported by dbt",
        ),
        (Status.UNKNOWN, None, "unique_id: dbt could not evaluate it; see its log"),
    ],
)
def test_a_result_is_told_with_its_numbers(status: Status, numbers: ExternalNumbers | None, text: str) -> None:
    """The text is ours: what the other tool wrote may hold data values."""
    outcome = CHECK.outcome(status, numbers)
    assert (outcome.status, str(outcome.message)) == (status, text)


def test_what_another_tool_could_not_evaluate_is_unknown() -> None:
    """Neither an error, nor a skipped check, nor a missing result is a pass."""
    assert CHECK.outcome(Status.UNKNOWN).reason is UnknownReason.MISCONFIGURED
    for outcome in (CHECK.skipped(), CHECK.missing()):
        assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)


def test_numbers_are_stored_and_the_occurrence_is_kept() -> None:
    """A count of rows and an age in whole seconds, never below 0; what the tool does not say is left out."""
    at = Occurrence(datetime(2026, 11, 1, tzinfo=UTC), OccurrenceMethod.FRESHNESS_DEADLINE)
    outcome = CHECK.outcome(Status.FAIL, ExternalNumbers(age=timedelta(seconds=-3), occurrence=at))
    assert outcome.observed == {"age_s": 0}
    assert outcome.occurrence == at
    assert CHECK.outcome(Status.PASS, ExternalNumbers(violations=0)).observed == {"violations": 0}


def test_no_pass_measures_it() -> None:
    """Nothing is asked of the table, and no measurement is a pass."""
    assert CHECK.wants(None) == Wants()  # type: ignore[arg-type]  # the context is not looked at
    assert judge(CHECK, Measurement(NOW), ()).status is Status.UNKNOWN


def test_its_name_in_the_other_tool_is_its_id_by_default() -> None:
    """`reference` is for names that are no ids."""
    assert External(origin="other", id="totals").key == "totals"
    assert CHECK.key == "test.shop.unique_id.ab12"
