"""What a person can do to an incident: each verb gives the change to record, or says why not.

The verbs are the only door: they refuse times that cannot follow one another (`ImpossibleOrder` names both) and verbs
that do not fit the state (`NotAllowed` names those that do). Nothing here reads a clock: `now` is an argument.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from checks import Kind, OccurrenceMethod, Severity
from incidents._model import (
    NO_VALUES,
    Episode,
    FoundBy,
    ImpossibleOrder,
    Incident,
    NotAllowed,
    NotForced,
    Onset,
    Resolution,
    State,
)
from incidents.events import (
    Acknowledged,
    Assigned,
    Commented,
    Corrected,
    Merged,
    Opened,
    Reopened,
    Resolved,
    RootNamed,
    Snoozed,
    corrected_episode,
)

Lookup = Callable[[int], Incident | None]
"""Returns an incident by id, None if there is none."""

_ALWAYS = ("comment", "correct", "root")
_OPEN = ("assign", "snooze", "resolve", "merge")
_ALLOWED: Mapping[State, tuple[str, ...]] = {
    State.OPEN: ("ack", *_OPEN, *_ALWAYS),
    State.ACKNOWLEDGED: (*_OPEN, *_ALWAYS),
    State.RESOLVED: ("resolve", "reopen", "merge", *_ALWAYS),
}


def available(incident: Incident) -> tuple[str, ...]:
    """Return the verbs that the state of an incident allows. Resolving a resolved one corrects its resolution."""
    verbs = _ALLOWED[incident.state]
    return tuple(verb for verb in verbs if verb != "merge" or incident.merged_into is None)


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """A report of a person: the table, what is wrong, and the severity."""

    table: str
    title: str
    severity: Severity = Severity.ERROR
    kind: Kind = Kind.QUALITY
    check_id: str | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: NO_VALUES)


def report(
    current_report: IncidentReport,
    *,
    detected_at: datetime,
    now: datetime,
    occurred_at: datetime | None = None,
    fingerprint: str | None = None,
    found_by: FoundBy = FoundBy.PERSON,
) -> Opened:
    """Open an incident that a person detected.

    Args:
        current_report: what is wrong.
        detected_at: when it was noticed.
        now: the present.
        occurred_at: when data went bad; by default when it was noticed.
        fingerprint: what a second report of the same thing shares; by default made of the table, the title and the time
            of detection, so that the same report sent twice is one incident.
        found_by: who noticed it.

    Raises:
        ImpossibleOrder: it occurred after it was detected, or was detected in the future.
    """
    _not_after(("detected", detected_at), ("now", now))
    if occurred_at is None:
        onset = Onset(detected_at, detected_at, detected_at, OccurrenceMethod.FIRST_OBSERVATION)
    else:
        _not_after(("occurred", occurred_at), ("detected", detected_at))
        onset = Onset(occurred_at, occurred_at, occurred_at, OccurrenceMethod.PERSON)
    return Opened(
        fingerprint=fingerprint or _fingerprint_of(current_report, detected_at),
        table=current_report.table,
        check_id=current_report.check_id,
        incident_kind=current_report.kind,
        severity=current_report.severity,
        title=current_report.title,
        title_values=current_report.values,
        found_by=found_by,
        episode=Episode(onset, detected_at),
    )


def end_reported(opened: Opened, ending: "Ending", *, now: datetime) -> Resolved:
    """Resolve an incident that was just reported, as `resolve` does.

    Raises:
        ImpossibleOrder: it would end before it was detected, or in the future.
    """
    return _ended(opened.episode.detected_at, ending, now)


def _fingerprint_of(report: IncidentReport, detected_at: datetime) -> str:
    text = "\n".join((report.table, report.title, str(int(detected_at.timestamp() * 1_000_000))))
    return f"{report.table}:person:{sha256(text.encode()).hexdigest()[:16]}"


def acknowledge(incident: Incident, *, now: datetime) -> Acknowledged:
    """Acknowledge an incident."""
    _allowed(incident, "ack")
    return Acknowledged(now)


def assign(incident: Incident, assignee: str) -> Assigned:
    """Assign an incident."""
    _allowed(incident, "assign")
    return Assigned(assignee)


def snooze(incident: Incident, until: datetime, *, now: datetime) -> Snoozed:
    """Snooze an incident until a time in the future; downtime is still counted."""
    _allowed(incident, "snooze")
    if until <= now:
        raise ImpossibleOrder(f"snoozed until {_format(until)}, which is not after now, {_format(now)}")
    return Snoozed(until)


def comment(incident: Incident, text: str, *, post_mortem: bool = False) -> Commented:
    """Add a comment, or the post-mortem."""
    _allowed(incident, "comment")
    if not text.strip():
        raise NotAllowed(f"the comment on incident #{incident.id} is empty; write its text")
    return Commented(text, "post-mortem" if post_mortem else "commented")


@dataclass(frozen=True, slots=True)
class Ending:
    """The resolution of an incident: `at` is when correct data was delivered again, not when code was merged."""

    at: datetime
    resolution: Resolution
    cause: str | None = None


def resolve(
    incident: Incident, ending: Ending, *, now: datetime, check_still_fails: bool = False, force: bool = False
) -> Resolved:
    """Resolve an incident, or correct the resolution of a resolved one.

    Args:
        incident: the incident.
        ending: when and how it ended.
        now: the present.
        check_still_fails: whether the last evaluated run of its check failed.
        force: resolve it anyway.

    Raises:
        ImpossibleOrder: it would end before it was detected, or in the future.
        NotForced: its check still fails, and `force` is not set.
    """
    _allowed(incident, "resolve")
    resolved = _ended(incident.last.detected_at, ending, now)
    if check_still_fails and not force and incident.state is not State.RESOLVED:
        raise NotForced(
            f"incident #{incident.id}: its check {incident.check_id} still fails, so it would reopen; snooze it, fix "
            "the data, or force it"
        )
    return resolved


def _ended(detected_at: datetime, ending: Ending, now: datetime) -> Resolved:
    _not_after(("detected", detected_at), ("resolved", ending.at))
    _not_after(("resolved", ending.at), ("now", now))
    return Resolved(ending.at, ending.resolution, ending.cause)


def reopen(
    incident: Incident,
    *,
    detected_at: datetime,
    now: datetime,
    occurred_at: datetime | None = None,
    other_open: int | None = None,
) -> Reopened:
    """Reopen an incident with a new episode. The time between is healthy and not counted.

    To undo a resolution, pass the time of the resolution as `occurred_at`: then no time is missing.

    Args:
        incident: the incident.
        detected_at: when it was noticed that it is bad again.
        now: the present.
        occurred_at: when data went bad again; by default when it was noticed.
        other_open: the open incident of the same fingerprint, if there is one.

    Raises:
        ImpossibleOrder: it would begin before the last episode ended, after it was detected, or in the future.
        NotAllowed: it is open, or another incident of the same fingerprint is.
    """
    _allowed(incident, "reopen")
    if other_open is not None:
        raise NotAllowed(
            f"incident #{incident.id} cannot be reopened while #{other_open}, of the same fingerprint, is open; "
            f"work on #{other_open}, or merge it first"
        )
    began_at = occurred_at or detected_at
    _not_after(("detected", detected_at), ("now", now))
    _not_after(("occurred", began_at), ("detected", detected_at))
    if incident.last.resolved_at is not None:
        _not_after(("resolved", incident.last.resolved_at), ("occurred", began_at))
    method = OccurrenceMethod.FIRST_OBSERVATION if occurred_at is None else OccurrenceMethod.PERSON
    return Reopened(Episode(Onset(began_at, began_at, began_at, method), detected_at))


def correct(incident: Incident, change: Corrected, *, now: datetime) -> Corrected:
    """Correct when an episode occurred, was detected or ended, however long ago.

    Raises:
        ImpossibleOrder: the times would not be in the order occurred, detected, resolved, now; or would reach into the
            episode before or after.
        NotAllowed: there is no such episode, it has not ended yet (resolve it), or nothing is corrected.
    """
    _allowed(incident, "correct")
    count = len(incident.episodes)
    if not -count <= change.episode < count:
        raise NotAllowed(f"incident #{incident.id} has no episode {change.episode}; it has {count}, the first is 0")
    if change == Corrected(change.episode):
        raise NotAllowed(f"incident #{incident.id}: nothing to correct; give occurred, detected or resolved")
    number = range(count)[change.episode]
    episode = incident.episodes[number]
    if change.resolved_at is not None and episode.resolved_at is None:
        raise NotAllowed(f"incident #{incident.id} has not ended, so its end cannot be corrected; resolve it")
    after = corrected_episode(episode, change)
    end = ("now", now) if after.resolved_at is None else ("resolved", after.resolved_at)
    _not_after(("occurred", change.occurred_at or episode.onset.at), ("detected", after.detected_at))
    _not_after(("detected", after.detected_at), end)
    _not_after(end, ("now", now))
    if number > 0:
        before = incident.episodes[number - 1]
        _not_after(("resolved (episode before)", before.resolved_at or now), ("occurred", after.onset.at))
    if number + 1 < count:
        _not_after(end, ("occurred (episode after)", incident.episodes[number + 1].onset.at))
    return change


def merge(incident: Incident, into: Incident, *, lookup: Lookup, now: datetime, force: bool = False) -> Merged:
    """Merge an incident into another: it ends as a duplicate, the other continues.

    Only what the other covers is still counted as downtime (`incidents.uncovered` computes the rest), so both must be
    about one table, and unless forced also about one time, and the other must count if this one does. One that does not
    count stays so: a merge never makes time count.

    Raises:
        NotAllowed: it would be merged into itself, the other was merged already or is about another table; or, unless
            forced, they were never bad at the same time, it lasts while the other is over, or it counts and the other
            does not.
    """
    _allowed(incident, "merge")
    if into.id == incident.id:
        raise NotAllowed(f"incident #{incident.id} cannot be merged into itself")
    if into.merged_into is not None:
        last = _follow(into, lambda item: item.merged_into, lookup)[-1]
        hint = "" if last == incident.id else f"; merge into #{last}"
        raise NotAllowed(f"incident #{into.id} was itself merged into #{into.merged_into}{hint}")
    if into.table != incident.table:
        raise NotAllowed(
            f"incident #{incident.id} is about {incident.table}, #{into.id} about {into.table}: an incident can only "
            f"be a duplicate of one on the same table; if #{into.id} caused it, set it as the root cause"
        )
    if not force:
        _same_account(incident, into)
        _same_time(incident, into, now)
    return Merged(into.id)


def _same_account(incident: Incident, into: Incident) -> None:
    if incident.kind is not into.kind:
        raise NotForced(
            f"incident #{incident.id} is of kind {incident.kind}, #{into.id} of kind {into.kind}: their hours are "
            "counted separately, so they are probably not duplicates; force it if they are"
        )
    if incident.counts and not into.counts:
        raise NotForced(
            f"incident #{into.id} is not counted as downtime, since it ended as {into.resolution}, so #{incident.id} "
            f"would no longer be counted; resolve #{incident.id} as {into.resolution} too if appropriate, correct "
            f"the resolution of #{into.id}, or force it"
        )


def _same_time(incident: Incident, into: Incident, now: datetime) -> None:
    if incident.state is not State.RESOLVED and into.state is State.RESOLVED:
        raise NotForced(
            f"incident #{into.id} is resolved and #{incident.id} is not, so its remaining downtime would not be "
            "counted; "
            f"merge #{into.id} into #{incident.id}, reopen #{into.id} first, or force it"
        )
    ours, theirs = _bad_times(incident, now), _bad_times(into, now)
    if not any(start <= until and since <= end for start, end in ours for since, until in theirs):
        raise NotForced(
            f"incidents #{incident.id} and #{into.id} did not overlap in time, so they are probably not duplicates; "
            "force it if they are"
        )


def _bad_times(incident: Incident, now: datetime) -> list[tuple[datetime, datetime]]:
    return [(episode.onset.at, episode.resolved_at or max(now, episode.onset.at)) for episode in incident.episodes]


def name_root(incident: Incident, root: Incident | None, *, lookup: Lookup) -> RootNamed:
    """Set the incident that caused this one; None removes it.

    Raises:
        NotAllowed: the chain of causes would come back to this incident.
    """
    _allowed(incident, "root")
    if root is None:
        return RootNamed(None)
    causes = _follow(root, lambda item: item.root, lookup)
    if incident.id in causes:
        way = " -> ".join(f"#{item}" for item in (incident.id, *causes[: causes.index(incident.id) + 1]))
        raise NotAllowed(f"incident #{incident.id} would be its own root cause: {way}")
    return RootNamed(root.id)


def _follow(incident: Incident, step: Callable[[Incident], int | None], lookup: Lookup) -> tuple[int, ...]:
    """Return the ids along a chain, beginning with the incident; it stops where the chain ends or repeats."""
    seen = [incident.id]
    following = step(incident)
    while following is not None and following not in seen:
        seen.append(following)
        result = lookup(following)
        following = step(result) if result is not None else None
    return tuple(seen)


def _allowed(incident: Incident, verb: str) -> None:
    verbs = available(incident)
    if verb not in verbs:
        state = f"merged into #{incident.merged_into}" if incident.merged_into is not None else incident.state.value
        raise NotAllowed(f"incident #{incident.id} is {state}: {verb} is not possible; possible: {', '.join(verbs)}")


def _not_after(earlier: tuple[str, datetime], later: tuple[str, datetime]) -> None:
    if earlier[1] > later[1]:
        raise ImpossibleOrder(
            f"{earlier[0]} {_format(earlier[1])} is after {later[0]} {_format(later[1])}; expected {earlier[0]} first"
        )


def _format(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="seconds" if moment.microsecond == 0 else "microseconds")
