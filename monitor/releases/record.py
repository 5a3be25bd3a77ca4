"""Read the record of a release: how it stands, and every decision and every export, the newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from monitor.clock import iso
from monitor.config.project import Project
from monitor.releases.digests import MARKS
from monitor.releases.overview import ExplainedRelease, ReleaseState, releases_of
from monitor.summaries.health import states_of
from monitor.terminal.problem import ExitCode, Stop, unknown_name
from store import ReadTransaction, ReleaseEvent, ReleaseEventKind

SCHEMA: Final = "tablewatch.release-record/1"
NO_STATEMENT: Final = (
    "thresholds that the file passed when it was verified after writing; neither proof of anonymity nor legal advice"
)


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """What is on record of a release. `state`: None where the configuration has it no more; `events`: newest first."""

    name: str
    state: ReleaseState | None
    events: Sequence[ReleaseEvent]
    as_of: datetime

    @property
    def exports(self) -> Sequence[ReleaseEvent]:
        """Return the files that were given out, the newest first."""
        return [event for event in self.events if event.kind is ReleaseEventKind.EXPORTED]

    def to_json(self) -> dict[str, Any]:
        """Return the published form; an export's body is its certificate."""
        release = None if self.state is None else self.state.release
        return {
            "schema": SCHEMA,
            "ok": True,
            "release": self.name,
            "as_of": iso(self.as_of),
            "standing": None if self.state is None else ExplainedRelease.of(self.state).plain(),
            "purpose": None if release is None else release.purpose,
            "legal_basis": None if release is None else release.legal_basis,
            "record": [_as_json(event) for event in self.events],
            "says": NO_STATEMENT,
        }


def record_of(project: Project, tx: ReadTransaction, name: str) -> ReleaseRecord:
    """Read the record of a release; also of one that was taken out of the configuration.

    Raises:
        Stop: it is neither configured nor recorded.
    """
    events = tx.release_events.matching(name)[::-1]
    state = next((release_state for release_state in states_now(project, tx) if release_state.name == name), None)
    if state is None and not events:
        names = {*project.config.releases, *(event.release for event in tx.release_events.matching())}
        problem = unknown_name("release", name, names, see="see 'tablewatch release list'")
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    return ReleaseRecord(name, state, events, project.clock.now())


def states_now(project: Project, tx: ReadTransaction) -> Sequence[ReleaseState]:
    """Return how all releases of the configuration stand; only their tables are looked up."""
    wanted = {release.table for release in project.config.releases.values()}
    tables = [table for table in project.config.tables if table.name in wanted]
    return releases_of(project, tx, states_of(project, tx, tables)) if tables else []


def last_exports(tx: ReadTransaction) -> Mapping[str, ReleaseEvent]:
    """Return the newest export of each release that has one, by name; also of those that are no longer configured."""
    return {
        release_event.release: release_event
        for release_event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
    }


def export_as_json(event: ReleaseEvent) -> dict[str, Any]:
    """Return a short name of an export."""
    named = {name: event.body.get(name) for name in ("file", "remedy", "rows", "sha256", "expires_at")}
    return {"export": event.id, "release": event.release, "at": iso(event.recorded_at), "by": event.actor, **named}


def _as_json(event: ReleaseEvent) -> dict[str, Any]:
    fields = {"id": event.id, "kind": event.kind.value, "at": iso(event.recorded_at), "by": event.actor}
    if event.kind is ReleaseEventKind.EXPORTED:
        return {**fields, "certificate": {name: item for name, item in event.body.items() if name != MARKS}}
    return {**fields, "note": event.note, **event.body}
