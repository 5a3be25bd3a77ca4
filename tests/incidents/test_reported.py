"""The order of a report's times is checked as its changes would check it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checks import Severity
from incidents import FoundBy, ImpossibleOrder, ReportedIncident, Resolution

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MOMENTS = st.integers(-5, 2).map(lambda hours: NOW + timedelta(hours=hours, microseconds=hours % 2))
REPORTED = st.builds(
    ReportedIncident,
    table=st.text(max_size=3),
    title=st.text(max_size=3),
    detected_at=MOMENTS,
    occurred_at=st.none() | MOMENTS,
    resolved_at=st.none() | MOMENTS,
    resolution=st.sampled_from(Resolution),
    severity=st.sampled_from(Severity),
    found_by=st.sampled_from(FoundBy),
    cause=st.none() | st.text(max_size=3),
    fingerprint=st.none() | st.text(max_size=3),
)


@given(REPORTED)
def test_the_order_of_times_is_checked_as_by_the_changes(told: ReportedIncident) -> None:
    """What `check_order` accepts has changes, and what it refuses has none, for the same reason."""
    assert _refusal(told.check_order) == _refusal(told.changes)


def _refusal(check: Callable[[datetime], object]) -> str | None:
    try:
        check(NOW)
    except ImpossibleOrder as error:
        return str(error)
    return None
