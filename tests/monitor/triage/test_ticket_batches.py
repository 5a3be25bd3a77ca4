"""Tickets are packed and come out as they went in; their order is checked as their changes would."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checks import Severity
from incidents import FoundBy, ImpossibleOrder, Resolution
from monitor.triage.create import ReportedIncident
from monitor.triage.ticket_batches import BATCH, Ticket, TicketBatches

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
TICKETS = st.builds(
    Ticket,
    line=st.integers(1),
    told=REPORTED,
    said=st.frozensets(st.sampled_from(["title", "resolved"])),
    assumed_zone=st.integers(0, 3),
    former=st.none() | st.text(max_size=3),
)


@given(st.lists(TICKETS))
def test_tickets_come_out_as_they_went_in(tickets: list[Ticket]) -> None:
    """In their order, whatever they say."""
    batches = TicketBatches()
    for ticket in tickets:
        batches.append(ticket)
    assert (list(batches), len(batches)) == (tickets, len(tickets))


@given(TICKETS)
def test_full_batches_are_compressed(ticket: Ticket) -> None:
    """More tickets than a batch come out in batches, also twice."""
    batches = TicketBatches()
    for _ in range(2 * BATCH + 1):
        batches.append(ticket)
    for _ in range(2):
        assert [len(batch) for batch in batches.batches()] == [BATCH, BATCH, 1]
    assert next(batches.batches())[-1] == ticket


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
