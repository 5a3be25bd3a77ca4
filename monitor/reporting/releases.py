"""Return the states of releases with reasons, and the exports of a period."""

from collections.abc import Iterator
from typing import Any, Final

from checks import Message
from incidents import Window, from_us
from monitor.releases.overview import (
    DECISION,
    INCIDENT,
    NEVER_RAN,
    NOTHING_ASKED,
    HoldingCheck,
    ReleaseState,
    ReleaseWord,
)
from monitor.releases.state import ReleaseDecision, ReleaseStanding
from monitor.reporting.evidence import Evidence
from monitor.reporting.model import ExportRow, ReleaseLine, Releases
from monitor.reporting.words import REASONS
from store import ReleaseEvent

SHOWN: Final = 12
"""Releases, and exports, that a report lists at most."""

_ORDER: Final = (ReleaseWord.HOLD, ReleaseWord.EXPIRED, ReleaseWord.APPROVED, ReleaseWord.CLEAR)
_AT_RISK: Final = frozenset({ReleaseWord.HOLD, ReleaseWord.EXPIRED})
_FAILS: Final = "fail"


def releases_in(evidence: Evidence, window: Window) -> Releases:
    """Return the releases as they stand at the moment of knowing, and the exports of the window."""
    start, end = from_us(window.start_us), from_us(window.end_us)
    rows = sorted((release_row(release) for release in evidence.releases), key=lambda row: _ORDER.index(row.word))
    exports = [export_row(export) for export in reversed(evidence.exports) if start <= export.recorded_at < end]
    return Releases(
        rows=tuple(rows[:SHOWN]),
        more=max(0, len(rows) - SHOWN),
        at_risk=sum(row.word in _AT_RISK for row in rows),
        exports=tuple(exports[:SHOWN]),
        exports_more=max(0, len(exports) - SHOWN),
    )


def release_row(state: ReleaseState) -> ReleaseLine:
    """Return a release as a report lists it."""
    return ReleaseLine(
        name=state.name,
        table=state.release.table,
        audience=state.release.audience,
        word=state.word,
        why=tuple(why(state)),
        since=state.since,
        until=state.standing.until if state.word is ReleaseWord.APPROVED else None,
    )


def export_row(event: ReleaseEvent) -> ExportRow:
    """Return an export as a report lists it."""
    body: Any = event.body
    return ExportRow(
        release=event.release,
        at=event.recorded_at,
        by=event.actor,
        file=str(body["file"]),
        remedy=str(body["remedy"]),
        rows=int(body["rows"]),
        k=None if body["epsilon"] is not None else body["reached"].get("k"),
        epsilon=body["epsilon"],
    )


def why(state: ReleaseState) -> Iterator[Message]:
    """Return why a release is on hold, or who approved it."""
    decided = decision(state.standing)
    if decided is not None:
        yield decided
        return
    if not state.held_by:
        yield Message("all limits were evaluated and met")
    yield from (_held(item) for item in state.held_by if item.reason != DECISION)


def decision(standing: ReleaseStanding) -> Message | None:
    """Return the decision; None without one."""
    event = standing.event
    if event is None:
        return None
    values = {"who": event.actor, "note": event.note, "remedy": standing.remedy, "until": standing.until}
    match standing.decision:
        case ReleaseDecision.HELD:
            return Message("put on hold by {who}: {note}", values)
        case ReleaseDecision.EXPIRED:
            return Message("the approval by {who} has expired", values)
        case ReleaseDecision.OTHERWISE:
            return Message("the configuration has changed since the approval by {who}", values)
        case _ if standing.until is None:
            return Message("with {remedy}, by {who}", values)
        case _:
            return Message("with {remedy}, by {who}, until {until:full_date}", values)


def _held(holding_check: HoldingCheck) -> Message:
    values: dict[str, Any] = {"check": holding_check.check_id, "number": holding_check.incident}
    match holding_check.reason:
        case reason if reason == NOTHING_ASKED:
            return Message("no limit is configured")
        case reason if reason == INCIDENT:
            return Message(
                "{what} (incident {number})", values | {"what": holding_check.what or holding_check.check_id}
            )
        case reason if reason == NEVER_RAN:
            return Message("{check} has not run yet", values)
        case reason if reason == _FAILS:
            return Message("{check} fails", values)
        case reason:
            text = next((words for name, words in REASONS.items() if str(name) == reason), None)
            values |= {"why": Message("could not be evaluated") if text is None else text}
            return Message("{check}: {why}", values)
