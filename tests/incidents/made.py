"""Small incidents and runs, made by hand, in ticks."""

from checks import Kind, Message, Occurrence, OccurrenceMethod, Outcome, Severity, Status, UnknownReason
from incidents import Episode, FoundBy, Identity, Onset, Opened, RunTimes
from tests.incidents.histories import at


def episode(occurred, detected, resolved=None, *, earliest=None):
    """Make an episode."""
    onset = Onset(
        at(occurred), at(occurred if earliest is None else earliest), at(detected), OccurrenceMethod.LAST_GOOD_RUN
    )
    return Episode(onset, at(detected), None if resolved is None else at(resolved))


def opened(occurred=0, detected=5, **others):
    """Make the change that opens an incident of a check."""
    given = {
        "fingerprint": "orders.fresh",
        "table": "orders",
        "check_id": "orders.fresh",
        "incident_kind": Kind.QUALITY,
        "severity": Severity.ERROR,
        "title": "{rows:count} rows are late",
        "title_values": {"rows": 3},
        "found_by": FoundBy.CHECK,
        "episode": episode(occurred, detected),
    }
    return Opened(**{**given, **others})


IDENTITY = Identity("orders.fresh", "orders", "orders.fresh", Kind.QUALITY, Severity.ERROR)


def outcome(status, occurred=None, method=OccurrenceMethod.BAD_ROWS):
    """Make what a check found."""
    reason = UnknownReason.TIMEOUT if status is Status.UNKNOWN else None
    occurrence = None if occurred is None else Occurrence(at(occurred), method)
    message = Message("{rows:count} rows are late", {"rows": 3})
    return Outcome(status, message, reason=reason, occurrence=occurrence)


def run(tick, took=1):
    """Make the times of a run."""
    return RunTimes(at(tick), at(tick + took))
