"""List which releases are on hold, since when, and by which check; the others are clear, or approved with a remedy.

hold      a person or Tablewatch put it on hold; or a disclosure check of the table fails or could not be evaluated, or
          a disclosure incident of it is open, and no remedy was approved since
clear     every one of them was evaluated, and passes its limits: that, and no statement of law
approved  a user approved a remedy, under which it may leave; whether the table is still the same is seen then
expired   the approval was for so long

A check that belongs to another release of the same table holds that one only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import Field

from checks import Check, Kind, Message, Status
from incidents import Incident, Watch
from monitor.config import Release, Table
from monitor.config.project import Project
from monitor.config.release_checks import release_checks
from monitor.releases.state import ReleaseDecision, ReleaseStanding, digest_of, standing
from monitor.summaries.health import TableState
from monitor.summaries.shapes import Moment, Sentence, Shape
from store import ReadTransaction

INCIDENT: Final = "incident"
NEVER_RAN: Final = "not-yet-checked"
NOTHING_ASKED: Final = "no-limits"
DECISION: Final = "decision"
NOTHING_DECIDED: Final = ReleaseStanding(ReleaseDecision.NONE)


class ReleaseWord(StrEnum):
    """How a release stands."""

    HOLD = "hold"
    CLEAR = "clear"
    APPROVED = "approved"
    EXPIRED = "expired"


class HoldingCheck(Shape):
    """What holds a release.

    `reason`: `incident`, `fail`, `no-limits` (nothing is asked of the release), `not-yet-checked`, `not-run`,
    `decision` (a user put it on hold, or what was approved is configured otherwise now), or why a check could not be
    evaluated. `check_id`: None where no check is behind it. `since`: None if it never was otherwise. `what`: what the
    incident is about, in a check's words or in a person's.
    """

    check_id: str | None
    reason: str
    since: Moment | None
    incident: int | None = None
    what: Sentence | str | None = Field(None, exclude=True)


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """How a release stands, and since when; held by nothing, it is clear."""

    name: str
    release: Release
    since: datetime | None
    held_by: Sequence[HoldingCheck]
    standing: ReleaseStanding = NOTHING_DECIDED

    @property
    def summary(self) -> str:
        """Format in a few words what holds it, or who approved it."""
        if self.standing.decision is not ReleaseDecision.NONE:
            return self.standing.summary
        return ", ".join(
            " ".join(filter(None, [item.check_id, f"#{item.incident}" if item.incident else f"({item.reason})"]))
            for item in self.held_by
        )

    @property
    def why(self) -> str:
        """Format at length what holds it, or who approved it."""
        if self.standing.decision is not ReleaseDecision.NONE:
            return self.standing.summary
        return "; ".join(
            " ".join(filter(None, [str(item.what or item.check_id or ""), f"({_number_or_reason(item)})"]))
            for item in self.held_by
        )

    @property
    def word(self) -> ReleaseWord:
        """Return the word for it."""
        match self.standing.decision:
            case ReleaseDecision.APPROVED:
                return ReleaseWord.APPROVED
            case ReleaseDecision.EXPIRED:
                return ReleaseWord.EXPIRED
            case ReleaseDecision.NONE:
                return ReleaseWord.HOLD if self.held_by else ReleaseWord.CLEAR
            case _:
                return ReleaseWord.HOLD


class ReleaseEntry(Shape):
    """How a release stands."""

    release: str
    table: str
    audience: str | None
    state: ReleaseWord
    since: Moment | None
    approved_with: str | None
    expires_at: Moment | None
    held_by: tuple[HoldingCheck, ...]

    @classmethod
    def of(cls, state: ReleaseState, **more: Any) -> Self:
        """Return a state as a model; `more`: the fields that a wider model adds."""
        return cls(
            release=state.name,
            table=state.release.table,
            audience=state.release.audience,
            state=state.word,
            since=state.since,
            approved_with=state.standing.remedy if state.word is ReleaseWord.APPROVED else None,
            expires_at=state.standing.until,
            held_by=tuple(state.held_by),
            **more,
        )


class ExplainedRelease(ReleaseEntry):
    """How a release stands, and why."""

    why: str

    @classmethod
    def of(cls, state: ReleaseState, **more: Any) -> Self:
        """Return a state as a model; `more`: the fields that a wider model adds."""
        return super().of(state, why=state.why, **more)


def releases_of(project: Project, tx: ReadTransaction, states: Sequence[TableState]) -> Sequence[ReleaseState]:
    """Return how the releases of the configuration stand, in its order; `states` are those of all its tables."""
    releases = project.config.releases
    if not releases:
        return []
    tables = {state.table.name: state for state in states}
    request = {name: _gate(releases, name, tables[release.table].table) for name, release in releases.items()}
    watches = tx.results.watches([check_id for gate in request.values() for check_id in gate])
    return [
        _state(name, release, _Gate(tables[release.table], request[name], watches), _decided(project, tx, name))
        for name, release in releases.items()
    ]


def _decided(project: Project, tx: ReadTransaction, name: str) -> ReleaseStanding:
    release = project.config.releases[name]
    digest, now = digest_of(name, release), project.clock.now()
    return standing(tx.release_events.matching(name), digest=digest, expires_after=release.expires_after, now=now)


def _gate(releases: Mapping[str, Release], name: str, table: Table) -> Mapping[str, Check]:
    """Return the disclosure checks of a release's table, but those that other releases of it ask for."""
    others = {
        check.name for release in releases if release != name for check in release_checks(release, releases[release])
    }
    own_checks = [check for check in table.checks if check.kind is Kind.DISCLOSURE and check.name not in others]
    return {table.check_id(check): check for check in own_checks}


@dataclass(frozen=True, slots=True)
class _Gate:
    table: TableState
    checks: Mapping[str, Check]
    watches: Mapping[str, Watch]

    def held_by(self) -> Iterator[HoldingCheck]:
        if not self.checks:
            yield HoldingCheck(check_id=None, reason=NOTHING_ASKED, since=None)
        silent = {not_evaluated.check_id: not_evaluated.reason for not_evaluated in self.table.not_evaluated}
        incidents = list(self._incidents())
        yield from (
            HoldingCheck(
                check_id=incident.check_id,
                reason=INCIDENT,
                since=incident.last.detected_at,
                incident=incident.id,
                what=_what(incident),
            )
            for incident in incidents
        )
        for check_id in sorted(self.checks.keys() - {incident.check_id for incident in incidents}):
            watch = self.watches.get(check_id)
            if watch is None:
                yield HoldingCheck(check_id=check_id, reason=NEVER_RAN, since=None)
            elif check_id in silent:
                yield HoldingCheck(
                    check_id=check_id,
                    reason=silent[check_id],
                    since=watch.last_pass_ended_at or watch.monitored_since,
                )
            elif watch.last_status == Status.FAIL.value:
                yield HoldingCheck(check_id=check_id, reason="fail", since=watch.failing_since or watch.last_run_at)

    def clear_since(self) -> datetime | None:
        """Return when the last of the checks began to pass."""
        watches = [self.watches[check_id] for check_id in self.checks]
        return max((watch.passing_since or watch.last_run_at for watch in watches), default=None)

    def _incidents(self) -> Iterator[Incident]:
        """Yield the open incidents that hold the release: not those of a check that another release asks for."""
        table = self.table.table
        others = {table.check_id(check) for check in table.checks} - self.checks.keys()
        for incident in self.table.incidents:
            if incident.kind is Kind.DISCLOSURE and incident.check_id not in others:
                yield incident


def _state(name: str, release: Release, gate: _Gate, decided: ReleaseStanding) -> ReleaseState:
    held_by = list(gate.held_by())
    since = min((holding_check.since for holding_check in held_by if holding_check.since is not None), default=None)
    if decided.event is not None:
        if decided.decision in {ReleaseDecision.HELD, ReleaseDecision.OTHERWISE}:
            held_by = [HoldingCheck(check_id=None, reason=DECISION, since=decided.event.recorded_at), *held_by]
        elif decided.decision is ReleaseDecision.APPROVED:
            held_by = []
        since = decided.until if decided.decision is ReleaseDecision.EXPIRED else decided.event.recorded_at
        return ReleaseState(name, release, since, held_by, decided)
    return ReleaseState(name, release, since if held_by else gate.clear_since(), held_by)


def _number_or_reason(holding_check: HoldingCheck) -> str:
    return f"#{holding_check.incident}" if holding_check.incident else holding_check.reason


def _what(incident: Incident) -> Message | str:
    """Return what an incident is about; braces in a title that a person wrote are no places."""
    return Message(incident.title, incident.title_values) if incident.title_values else incident.title
