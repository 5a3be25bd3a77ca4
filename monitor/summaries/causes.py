"""What may have caused an incident: read the facts near its beginning, and have them ranked by `incidents.causes`.

Only what is in the store is looked at, and only of the table and of those upstream of it: incidents, columns and row
counts as checks measured them, logged events, the segments of a check, earlier incidents. No table is read.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, Self

from pydantic import Field

from checks import Message
from incidents import AGENT, Commented, Incident, Resolution, Resolved, State, Window
from incidents.causes import (
    USUAL,
    Beginning,
    CauseCandidate,
    CauseKind,
    Clue,
    earlier_clues,
    rank_causes,
    upstream_clue,
)
from incidents.promise_score import StatementCount, StatementEvidence
from monitor.config import Table
from monitor.config.lineage import Columns
from monitor.config.project import Project
from monitor.summaries.incident import RESOLUTIONS, english_title, title_of
from monitor.summaries.lineage import columns_of
from monitor.summaries.measured_changes import MeasuredChange, column_changes, largest_share, value_shifts
from monitor.summaries.shapes import Moment, Shape
from store import LoggedEvent, LoggedEventKind, ReadTransaction, Result

_MOST_TABLES: Final = 30
_MOST_INCIDENTS: Final = 40
"""Incidents of one table upstream that are looked at; of the table itself ten times as many."""
_RESULTS: Final = 60
"""Results of one check that are looked at before the end of the beginning."""
_MOST_EVENTS: Final = 1_000
_LATER: Final = timedelta(days=3)
"""A problem upstream may be detected so long after the incident."""
_YEARS: Final = timedelta(days=3 * 365)
MOST_SHOWN: Final = 10
_MOST_SCORED: Final = 200
_DAY: Final = timedelta(days=1)
_CHANGES: Final = {
    "schema": (CauseKind.SCHEMA, column_changes),
    "volume": (CauseKind.VOLUME, value_shifts),
    "metric": (CauseKind.VOLUME, value_shifts),
}
"""How the changes that a type of check measures are found."""
_OF_SOURCE, _OF_ANY = 0.8, 0.4
"""How strong an event is that is about a source, or about any table, and not about a table that it names."""


@dataclass(frozen=True, slots=True)
class NamedCause:
    """A candidate with the sentence that says what speaks for it, and with the numbers that lead to it."""

    candidate: CauseCandidate
    message: Message
    incident: int | None = None
    event: int | None = None
    check_id: str | None = None
    comments: tuple[str, ...] = ()

    @property
    def root(self) -> int | None:
        """Return the incident that it names as the root: one upstream, or the root of an earlier incident alike."""
        incident = self.candidate.clue.evidence.get("incident")
        if not isinstance(incident, Incident):
            return None
        return incident.id if self.candidate.clue.kind is CauseKind.UPSTREAM else incident.root


@dataclass(frozen=True, slots=True)
class IncidentCauses:
    """What may have caused an incident, the likeliest first, and what was searched for it."""

    beginning: Beginning
    causes: Sequence[NamedCause]
    tables: int
    left_out: int
    """Tables upstream that are further away than those searched."""


def causes_of(project: Project, tx: ReadTransaction, incident: Incident, *, most: int = MOST_SHOWN) -> IncidentCauses:
    """Return what may have caused an incident, at most so many candidates."""
    reader = _FactReader(project, tx, incident)
    ranked = rank_causes(reader.beginning, reader.clues())[:most]
    return IncidentCauses(
        reader.beginning, [_named(tx, item) for item in ranked], len(reader.distances), reader.left_out
    )


def score_causes(project: Project, tx: ReadTransaction, incidents: Sequence[Incident], _: Window) -> StatementEvidence:
    """Score that the cause which is ranked first is the incident that people named as the root, by that incident.

    Of the newest incidents with a root, by the facts that are in the store now.
    """
    rooted = [incident for incident in incidents if incident.root is not None]
    counts: dict[int | None, StatementCount] = {}
    for incident in rooted[:_MOST_SCORED]:
        first = next(iter(causes_of(project, tx, incident, most=1).causes), None)
        before = counts.get(incident.root, StatementCount(0, 0))
        is_true = first is not None and first.root == incident.root
        counts[incident.root] = StatementCount(before.made + 1, before.true + is_true)
    return StatementEvidence(list(counts.values()), left_out=len(rooted[_MOST_SCORED:]))


class _FactReader:
    """Reads the facts near the beginning of an incident as clues."""

    def __init__(self, project: Project, tx: ReadTransaction, incident: Incident) -> None:
        self._project = project
        self._config = project.config
        self._tx = tx
        self._incident = incident
        self.beginning = Beginning.of(incident, project.clock.now())
        every = {incident.table: 0} | dict(self._config.lineage.above(incident.table))
        self.distances = dict(list(every.items())[:_MOST_TABLES])
        self.left_out = len(every) - len(self.distances)
        own = columns_of(project.check_of(incident))
        self._feeding = {incident.table: own, **self._config.lineage.columns_above(incident.table, own)}
        self._since = self.beginning.earliest - USUAL
        self._near = {name: self._incidents(name) for name in self.distances if name != incident.table}

    def clues(self) -> Iterator[Clue]:
        """Yield the clues of each kind."""
        for name, near in self._near.items():
            by_columns: dict[bool | None, list[Incident]] = {}
            for incident in near:
                by_columns.setdefault(self._feeds(name, self._columns_of(incident)), []).append(incident)
            for feeds, incidents in by_columns.items():
                clue = upstream_clue(self.beginning, incidents, distance=self.distances[name], feeds=feeds)
                if clue is not None:
                    yield clue
        for name in self.distances:
            table = self._config.table(name)
            if table is not None:
                yield from self._measured(table)
        yield from self._events()
        yield from self._segments()
        latest = self.beginning.latest + timedelta(microseconds=1)
        own = self._tx.incidents.of_table(
            self._incident.table, since=latest - _YEARS, until=latest, most=10 * _MOST_INCIDENTS
        )
        yield from earlier_clues(self._incident, [other for other in own if other.state is State.RESOLVED])

    def _feeds(self, table: str, columns: Columns) -> bool | None:
        """Check whether columns of a table feed those of the incident; None where it is not known, or of whole rows."""
        feeding = self._feeding.get(table)
        if feeding == frozenset():
            return False
        return None if feeding is None or columns is None else bool(feeding & columns)

    def _columns_of(self, incident: Incident) -> Columns:
        """Return the columns that an incident upstream is of: of a schema check those that changed."""
        check = self._project.check_of(incident)
        if check is None or check.type != "schema" or incident.check_id is None:
            return columns_of(check)
        earliest, detected = incident.last.onset.earliest, incident.last.detected_at
        changes = column_changes(self._around(incident.check_id))
        return next((item.columns for item in reversed(changes) if earliest <= item.until <= detected), None)

    def _incidents(self, table: str) -> list[Incident]:
        until = self.beginning.latest + _LATER
        incidents = self._tx.incidents.of_table(table, since=self._since, until=until, most=_MOST_INCIDENTS)
        return [incident for incident in incidents if incident.id != self._incident.id]

    def _measured(self, table: Table) -> Iterator[Clue]:
        """Yield how the columns and the figures of a table changed; what opened an incident upstream is that."""
        for check in self._project.checks_of(table):
            check_id = table.check_id(check)
            if check_id == self._incident.check_id or check.type not in _CHANGES or check.segments is not None:
                continue
            kind, find = _CHANGES[check.type]
            results = self._around(check_id)
            changes = find(results)
            days = (results[-1].measured_at - results[0].measured_at) / _DAY if changes else 1.0
            for change in changes:
                if not self._opened_an_incident(table.name, check_id, change):
                    yield Clue(
                        kind=kind,
                        table=table.name,
                        evidence={"check": check_id, **change.evidence},
                        since=change.since,
                        until=change.until,
                        distance=self.distances[table.name],
                        strength=change.strength,
                        a_day=(len(changes) - 1) / max(days, 1.0),
                        feeds=self._feeds(table.name, columns_of(check) if change.columns is None else change.columns),
                        ended_at=change.ended_at,
                    )

    def _opened_an_incident(self, table: str, check_id: str, change: MeasuredChange) -> bool:
        return any(
            incident.check_id == check_id and episode.onset.earliest <= change.until <= episode.detected_at
            for incident in self._near.get(table, ())
            for episode in incident.episodes
        )

    def _around(self, check_id: str) -> Sequence[Result]:
        results = self._tx.results.around(check_id, self.beginning.latest, before=_RESULTS, after=2)
        return [result for result in results if result.measured_at >= self._since]

    def _events(self) -> Iterator[Clue]:
        until = self.beginning.latest + timedelta(microseconds=1)
        events = self._tx.logged_events.between(self._since, until, most=_MOST_EVENTS)
        usual = Counter((event.kind, event.table, event.source, event.job) for event in events)
        for event in events:
            place = self._place_of(event)
            if place is not None:
                distance, strength = place
                a_day = (usual[event.kind, event.table, event.source, event.job] - 1) / (USUAL / _DAY)
                at = event.happened_at
                kind = CauseKind.EVENT if event.job is None else CauseKind.JOB
                feeds = None if event.table is None else self._feeds(event.table, None)
                yield Clue(kind, event.table, {"event": event}, at, at, distance, strength, a_day, feeds)

    def _place_of(self, event: LoggedEvent) -> tuple[int, float] | None:
        """Return how far upstream an event was, and how strong it is for what it was about; None if elsewhere."""
        if event.table is not None:
            distance = self.distances.get(event.table)
            return None if distance is None else (distance, 1.0)
        if event.source is None:
            return 0, _OF_ANY
        tables = [table.name for table in self._config.tables if table.source == event.source]
        near = [self.distances[name] for name in tables if name in self.distances]
        return (min(near), _OF_SOURCE) if near else None

    def _segments(self) -> Iterator[Clue]:
        """Yield the segment that has most of the violations: of the incident's check, else of each with segments."""
        table = self._config.table(self._incident.table)
        if table is None:
            return
        segmented = [table.check_id(item) for item in self._project.checks_of(table) if item.segments is not None]
        own = [check_id for check_id in segmented if check_id == self._incident.check_id]
        for check_id in own or segmented:
            detected = self._incident.last.detected_at
            whole = self._tx.results.around(check_id, detected + timedelta(microseconds=1), before=1, after=0)
            share = largest_share(whole[0], self._tx.results.segments_of(check_id, detected)) if whole else None
            if share is not None:
                evidence = {"check": check_id, **share.evidence}
                yield Clue(CauseKind.SEGMENT, self._incident.table, evidence, strength=share.strength**2)


_UPSTREAM: Final = Message(
    "{table}, upstream: incident #{incident} began between {since:time} and {until:time}: {title}"
)
_UPSTREAM_AT: Final = Message("{table}, upstream: incident #{incident} began at {since:time}: {title}")
_COLUMNS: Final = Message(
    "the columns of {table} changed between {since:time} and {until:time}: {missing:count} missing, {extra:count} new, "
    "{changed:count} of another type ({names})"
)
_VALUE: Final = Message(
    "{check} measured {value:number} instead of about {usual:number}; it changed between {since:time} and {until:time}"
)
_EVENT_OF_TABLE: Final = Message("{event} of {table} at {since:time}: {note}")
_EVENT_OF_SOURCE: Final = Message("{event} of the source {source} at {since:time}: {note}")
_EVENT: Final = Message("{event} at {since:time}: {note}")
_JOB_OF_TABLE: Final = Message("{job}, which writes {table}, failed at {since:time}: {note}")
_JOB: Final = Message("{job} failed at {since:time}: {note}")
_FAILED_JOB: Final = Message("failed job {job}")
LOGGED_EVENTS: Final[Mapping[LoggedEventKind, Message]] = {
    LoggedEventKind.DEPLOY: Message("deployment"),
    LoggedEventKind.MIGRATION: Message("migration"),
    LoggedEventKind.BACKFILL: Message("backfill"),
    LoggedEventKind.CONFIGURATION: Message("change of configuration"),
    LoggedEventKind.OTHER: Message("event"),
}
_SEGMENT: Final = Message(
    "{segment} has {share:ratio} of the violations in the segments that {check} follows, and {rows:ratio} of the rows; "
    "failing segments: {failing:count} of {segments:count}"
)
_EARLIER: Final = Message(
    "the cause of #{incident}, which looked alike ({alike:ratio}) and was ended as {resolution} by {person}: {cause}"
)
_EARLIER_ROOT: Final = Message(
    "#{root}, which was named as the cause of #{incident}, which looked alike ({alike:ratio}) and was ended as "
    "{resolution} by {person}"
)


def _named(tx: ReadTransaction, candidate: CauseCandidate) -> NamedCause:
    """Return a candidate with its sentence."""
    clue = candidate.clue
    values = {"table": clue.table, "since": clue.since, "until": clue.until}
    match clue.kind:
        case CauseKind.UPSTREAM:
            incident = clue.evidence["incident"]
            text = _UPSTREAM_AT if clue.since == clue.until else _UPSTREAM
            message = text.given(incident=incident.id, title=_title(incident), **values)
            return NamedCause(candidate, message, incident=incident.id, check_id=incident.check_id)
        case CauseKind.SCHEMA | CauseKind.VOLUME:
            text = _COLUMNS if clue.kind is CauseKind.SCHEMA else _VALUE
            return NamedCause(candidate, text.given(**clue.evidence, **values), check_id=clue.evidence["check"])
        case CauseKind.EVENT | CauseKind.JOB:
            event = clue.evidence["event"]
            text = _EVENT_OF_TABLE if event.table else _EVENT_OF_SOURCE if event.source else _EVENT
            text = text if event.job is None else _JOB_OF_TABLE if event.table else _JOB
            word = LOGGED_EVENTS[event.kind] if event.job is None else _FAILED_JOB.given(job=event.job)
            named = {"event": word, "source": event.source, "job": event.job}
            message = text.given(note=event.note, **named, **values)
            return NamedCause(candidate, message, event=event.id)
        case CauseKind.SEGMENT:
            return NamedCause(candidate, _SEGMENT.given(**clue.evidence), check_id=clue.evidence["check"])
        case CauseKind.EARLIER:
            return _earlier(tx, candidate)


def _title(incident: Incident) -> str | Message:
    """Return what is wrong, to be said in the reader's language; what a person wrote as it is."""
    return title_of(incident) if incident.title_values else english_title(incident)


def _earlier(tx: ReadTransaction, candidate: CauseCandidate) -> NamedCause:
    """Return an earlier incident with its resolution, who resolved it, and notes."""
    incident, alike = candidate.clue.evidence["incident"], candidate.clue.evidence["alike"]
    events = tx.incidents.events(incident.id)
    ended = [event.actor for event in events if isinstance(event.change, Resolved)]
    values = {
        "incident": incident.id,
        "alike": alike,
        "resolution": RESOLUTIONS[incident.resolution or Resolution.FIXED],
        "person": ended[-1] if ended else AGENT,
    }
    named = _EARLIER_ROOT.given(root=incident.root, **values) if incident.cause is None else None
    message = named or _EARLIER.given(cause=incident.cause, **values)
    comments = tuple(
        event.change.text
        for event in events
        if isinstance(event.change, Commented) and event.change.kind == "commented"
    )
    return NamedCause(candidate, message, incident=incident.id, check_id=incident.check_id, comments=comments[-3:])


class ScorePartsShape(Shape):
    """The parts of a score, each between 0 and 1; the score is their product."""

    prior: float
    time: float
    lineage: float
    strength: float
    rarity: float
    columns: float
    lasting: float


class PossibleCause(Shape):
    """What may have caused an incident; nothing says that it did.

    `message` is in English. `table` is null for what is about no table,
    `distance` how many steps it is upstream; `since` and `until` are null for what has no time of its own.
    """

    kind: str
    likelihood: str
    score: float
    parts: ScorePartsShape
    table: str | None
    distance: int
    since: Moment | None
    until: Moment | None
    check_id: str | None
    incident: int | None
    event: int | None
    comments: tuple[str, ...]
    message: str

    @classmethod
    def of(cls, named: NamedCause, **more: Any) -> Self:
        """Return a candidate as a model; `more`: the fields that a wider model adds."""
        clue, parts = named.candidate.clue, named.candidate.parts
        return cls(
            kind=clue.kind.value,
            likelihood=named.candidate.likelihood.value,
            score=round(parts.score, 4),
            parts=ScorePartsShape(**{name: round(getattr(parts, name), 4) for name in ScorePartsShape.model_fields}),
            **{name: getattr(clue, name) for name in ("table", "distance", "since", "until")},
            **{name: getattr(named, name) for name in ("check_id", "incident", "event", "comments")},
            message=str(named.message),
            **more,
        )


class WhenItBegan(Shape):
    """Between which moments an incident began."""

    earliest: Moment
    latest: Moment


class IncidentCauseList(Shape):
    """`tablewatch.incident-causes/1`: what may have caused an incident, the likeliest first."""

    schema_: Literal["tablewatch.incident-causes/1"] = Field("tablewatch.incident-causes/1", alias="schema")
    id: int
    table: str
    began: WhenItBegan
    tables: int
    tables_left_out: int
    causes: tuple[PossibleCause, ...]

    @classmethod
    def of(cls, incident: Incident, causes: IncidentCauses) -> Self:
        """Return candidates as a model."""
        return cls(
            id=incident.id,
            table=incident.table,
            began=WhenItBegan(earliest=causes.beginning.earliest, latest=causes.beginning.latest),
            tables=causes.tables,
            tables_left_out=causes.left_out,
            causes=tuple(PossibleCause.of(item) for item in causes.causes),
        )
