"""Decide what one run of a check means for its incident.

`advance` is a pure function of what was known, one outcome and the times of its run. It gives what is known now, the
changes to record, and the reason in one word.

- `unknown` opens, extends and closes nothing. `warn` opens nothing and neither extends nor breaks a streak; it proves
  that the fail limit held, so it bounds when data went bad as a passing run does.
- The n-th failing run in a row opens an incident (`Policy.open_after`); a fail while one is open joins it.
- Where a failing run is to be confirmed (`Policy.confirm_after`), the first fail of the streak that is so much later
  opens it, as detected by the first of all. A run in which the fail limit held, a `pass` or a `warn`, clears it.
- Where a `warn` opens incidents (`Policy.warn_opens`), it is a fail of the softer limit: it opens, extends and joins as
  one, with severity `warning` at most, proves nothing, and never lowers a severity. A streak with a warn in it opens as
  `warning`, since the fail limit has not been broken for so long; the next fail raises it.
- The n-th passing run in a row resolves it (`Policy.resolve_after`) as of the first run of that streak.
- A fail within seven days of a resolution that counts (`fixed`, `no-action`) is a relapse: a new episode of the same
  incident. After `expected`, `false-positive` or `duplicate` the next failing streak opens a new incident: that word
  was about the old one. (For silence while a check fails, snooze the incident; resolving means that it is over.)
- A resolution breaks a failing streak, a detection a passing one: runs before it say nothing about what follows.
- Only the check that opened an incident closes it, and what a person reported, a person closes.

A check that changes its mind too often flaps, by Nagios' rule: of the last 21 evaluated results each of the 20 steps is
a change or none. A change weighs between 0.8 (the oldest) and 1.2 (the newest); the weights of all changes over 20 are
the share of change. Flapping starts at 20 % and ends at 5 %, so that it does not flap itself. With fewer than 21
results the missing steps are no changes.

Source: Nagios Core manual, "Detection and Handling of State Flapping" (21 results, newer changes weigh more), and its
sample configuration (`high_service_flap_threshold=20.0`, `low_service_flap_threshold=5.0`). Its C code weighs 0.75 to
1.25; here the newest change weighs half as much again as the oldest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeGuard

from pydantic_core import to_jsonable_python

from checks import Kind, Message, OccurrenceMethod, Outcome, Severity, Status
from incidents._model import Episode, FoundBy, Incident, Onset, Policy, Resolution, RunTimes, State, Watch
from incidents.events import Change, Corrected, Escalated, Flapped, Opened, Reopened, Resolved

RESULTS: Final = 21
_STEPS: Final = RESULTS - 1
_OLDEST, _NEWEST = Fraction(4, 5), Fraction(6, 5)
_WEIGHTS: Final = tuple(_OLDEST + (_NEWEST - _OLDEST) * Fraction(step, _STEPS - 1) for step in range(_STEPS))
_HIGH, _LOW = Fraction(20, 100), Fraction(5, 100)


@lru_cache(maxsize=1024)  # of most checks the last results are alike
def share_of_change(recent: str) -> Fraction:
    """Return the weighted share of changes, 0 to 1, among at most 21 results (oldest first; `P` passed)."""
    changed = [(before == "P") != (after == "P") for before, after in pairwise(recent)]
    weights = _WEIGHTS[_STEPS - len(changed) :]
    return sum((weight for weight, change in zip(weights, changed, strict=True) if change), Fraction()) / _STEPS


def is_flapping(recent: str, *, before: bool) -> bool:
    """Check whether a check flaps after its newest result, given whether it did before."""
    share = share_of_change(recent)
    return share > _LOW if before else share >= _HIGH


class Reason(StrEnum):
    """Why a run changed an incident, or did not."""

    OUT_OF_ORDER = "out-of-order"
    """It measured no later than the newest run that is known: ignored."""
    UNKNOWN = "unknown"
    """It could not be evaluated."""
    WARNED = "warned"
    """It broke a softer limit only."""
    HEALTHY = "healthy"
    """It passed, and no incident is open."""
    SUPERSEDED = "superseded"
    """It measured no later than the incident's newest time (a person's word): it says nothing about what follows."""
    WAITING_TO_OPEN = "waiting-to-open"
    """It failed, but not yet often enough in a row, or nothing has confirmed it yet."""
    OPENED = "opened"
    RELAPSED = "relapsed"
    """It failed soon after its incident was resolved: the same incident, a new episode."""
    JOINED = "joined"
    """It failed, and its incident is open already."""
    ESCALATED = "escalated"
    """It failed, and the severity of its open incident changed."""
    WAITING_TO_RESOLVE = "waiting-to-resolve"
    """It passed, but not yet often enough in a row."""
    RESOLVED = "resolved"
    NOT_ITS_OWN = "not-its-own"
    """It passed, but a person, another check or another segment opened the incident."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which check ran, on which table, and what its failures belong to.

    The fingerprint is the check's id, or of a segment of its table that is judged for itself the name of its series.
    """

    check_id: str
    table: str
    fingerprint: str
    kind: Kind
    severity: Severity


@dataclass(frozen=True, slots=True)
class LifecycleStep:
    """What one run led to. The changes are of one incident: the given one, or a new one if the first is `Opened`."""

    watch: Watch
    changes: tuple[Change, ...]
    reason: Reason


def advance(
    watch: Watch | None,
    incident: Incident | None,
    outcome: Outcome,
    *,
    identity: Identity,
    policy: Policy,
    run: RunTimes,
) -> LifecycleStep:
    """Return what a run changes.

    Args:
        watch: what was known of the check; None before its first run.
        incident: the newest incident of the fingerprint, open or resolved; None if there never was one.
        outcome: what the check found.
        identity: which check it was.
        policy: how many runs open and resolve an incident.
        run: when the run measured and ended.
    """
    text = status_text(outcome)
    if watch is None:
        watch = Watch(identity.fingerprint, monitored_since=run.at, last_run_at=run.at, last_status=text)
    elif run.at <= watch.last_run_at:
        return LifecycleStep(watch, (), Reason.OUT_OF_ORDER)
    watch = replace(watch, last_run_at=run.at, last_status=text)
    if outcome.status is Status.UNKNOWN:
        return LifecycleStep(watch, (), Reason.UNKNOWN)
    warned = outcome.status is Status.WARN
    if warned and not policy.warn_opens:
        if policy.confirm_after is not None:
            watch = replace(watch, failing_since=None, fail_streak=0)
        return LifecycleStep(replace(watch, last_pass_ended_at=run.ended_at), (), Reason.WARNED)
    if outcome.status is Status.PASS:
        watch = _count_pass(watch, incident, run)
        changes, reason = _passed(watch, incident, identity=identity, policy=policy)
    else:
        watch = _count_fail(watch, incident, run, "W" if warned else "F")
        changes, reason = _failed(watch, incident, outcome, identity=identity, policy=policy, run=run)
    return LifecycleStep(watch, (*changes, *_flapped(watch, incident, changes, identity=identity)), reason)


def set_back(watch: Watch, *, to: datetime) -> Watch:
    """Return the state of a check after the clock was set back, with times in the future set to `to`.

    Otherwise no run would count until the clock is there again.
    """
    times = ("monitored_since", "last_run_at", "last_pass_ended_at", "failing_since", "passing_since")
    return replace(watch, **{name: min(at, to) for name in times if (at := getattr(watch, name)) is not None})


def set_incident_back(incident: Incident, *, to: datetime) -> tuple[Corrected, ...]:
    """Return the corrections that set times of an incident in the future to `to`, after the clock was set back."""
    changes = []
    for number, episode in enumerate(incident.episodes):
        ended_at, acknowledged_at = episode.resolved_at, episode.acknowledged_at
        if max(episode.detected_at, ended_at or to, acknowledged_at or to) > to:
            by_person = episode.onset.method is OccurrenceMethod.PERSON and episode.onset.at > to
            changes.append(
                Corrected(
                    number,
                    occurred_at=to if by_person else None,
                    detected_at=min(episode.detected_at, to),
                    resolved_at=None if ended_at is None else min(ended_at, to),
                    acknowledged_at=None if acknowledged_at is None else min(acknowledged_at, to),
                )
            )
    return tuple(changes)


NOT_CONFIGURED: Final = "the check is no longer configured"
WITHOUT_ROWS: Final = "the segment has no rows any more"


def ended_without_rows(step: LifecycleStep) -> LifecycleStep:
    """Return the changes of a run that passed because a segment has no rows any more.

    The incident ends as that of a check that is no longer configured: it counts as downtime, and not as fixed.
    """
    ended = tuple(
        Resolved(change.at, Resolution.NO_ACTION, WITHOUT_ROWS) if isinstance(change, Resolved) else change
        for change in step.changes
    )
    return replace(step, changes=ended)


def status_text(outcome: Outcome) -> str:
    """Return an outcome's status as a `Watch` has it: unknown with its reason."""
    return outcome.status.value if outcome.reason is None else f"{outcome.status}({outcome.reason})"


def _count_pass(watch: Watch, incident: Incident | None, run: RunTimes) -> Watch:
    since, streak = watch.passing_since, watch.pass_streak
    if since is None or (_is_open(incident) and since <= incident.last.detected_at):
        since, streak = run.at, 0
    return replace(
        watch,
        **_seen(watch, "P"),
        passing_since=since,
        pass_streak=streak + 1,
        last_pass_ended_at=run.ended_at,
        failing_since=None,
        fail_streak=0,
    )


def _count_fail(watch: Watch, incident: Incident | None, run: RunTimes, letter: str) -> Watch:
    since, streak = watch.failing_since, watch.fail_streak
    ended_at = incident.last.resolved_at if incident is not None else None
    if since is None or (ended_at is not None and since <= ended_at):
        since, streak = run.at, 0
    return replace(
        watch,
        **_seen(watch, letter),
        failing_since=since,
        fail_streak=streak + 1,
        passing_since=None,
        pass_streak=0,
    )


def _seen(watch: Watch, result: str) -> Mapping[str, Any]:
    recent = (watch.recent + result)[-RESULTS:]
    return {"recent": recent, "flapping": is_flapping(recent, before=watch.flapping)}


def _passed(
    watch: Watch, incident: Incident | None, *, identity: Identity, policy: Policy
) -> tuple[tuple[Change, ...], Reason]:
    if not _is_open(incident):
        return (), Reason.HEALTHY
    if incident.series != identity.fingerprint:
        return (), Reason.NOT_ITS_OWN
    since = watch.passing_since
    if since is None or since <= incident.last.detected_at:
        return (), Reason.SUPERSEDED
    if watch.pass_streak < policy.resolve_after:
        return (), Reason.WAITING_TO_RESOLVE
    return (Resolved(since, Resolution.FIXED),), Reason.RESOLVED


def _failed(
    watch: Watch,
    incident: Incident | None,
    outcome: Outcome,
    *,
    identity: Identity,
    policy: Policy,
    run: RunTimes,
) -> tuple[tuple[Change, ...], Reason]:
    if _is_open(incident):
        scaled = () if outcome.status is Status.WARN else _rescaled(incident, identity)
        if incident.check_id == identity.check_id and scaled:
            return scaled, Reason.ESCALATED
        return (), Reason.JOINED
    ended_at = incident.last.resolved_at if incident is not None else None
    if ended_at is not None and run.at <= ended_at:
        return (), Reason.SUPERSEDED
    first_failed_at = watch.failing_since or run.at
    if policy.confirm_after is not None:
        detected_at, opens = first_failed_at, run.at >= first_failed_at + policy.confirm_after
    else:
        detected_at, opens = run.at, watch.fail_streak >= policy.open_after
    if not opens:
        return (), Reason.WAITING_TO_OPEN
    onset = _onset(watch, outcome, first_failed_at=first_failed_at, detected_at=detected_at, not_before=ended_at)
    episode = Episode(onset, detected_at=detected_at, first_failed_at=first_failed_at)
    relapsed = incident if incident is not None and _is_relapse(incident, first_failed_at, policy) else None
    if "W" in watch.recent[-watch.fail_streak :]:
        at_least = None if relapsed is None else relapsed.severity
        identity = replace(identity, severity=softer(identity.severity, at_least=at_least))
    if relapsed is not None:
        relapse = Reopened(episode, regressed=True)
        return (relapse, *_rescaled(relapsed, identity)), Reason.RELAPSED
    return (_opened(identity, outcome.message, episode),), Reason.OPENED


def softer(severity: Severity, *, at_least: Severity | None = None) -> Severity:
    """Return the severity of a warn: `warning`, or lower if that of the check is, and not below `at_least`."""
    softer = min(severity, Severity.WARNING, key=lambda entry: entry.rank)
    return softer if at_least is None else max(softer, at_least, key=lambda entry: entry.rank)


def _is_open(incident: Incident | None) -> TypeGuard[Incident]:
    return incident is not None and incident.state is not State.RESOLVED


def _is_relapse(incident: Incident, failed_at: datetime, policy: Policy) -> bool:
    ended_at = incident.last.resolved_at
    if ended_at is None or incident.resolution is None or incident.check_id is None:
        return False
    return incident.resolution.counts and failed_at - ended_at <= policy.regressed_within


def _rescaled(incident: Incident, identity: Identity) -> tuple[Escalated, ...]:
    return () if incident.severity == identity.severity else (Escalated(identity.severity),)


def _onset(
    watch: Watch,
    outcome: Outcome,
    *,
    first_failed_at: datetime,
    detected_at: datetime,
    not_before: datetime | None,
) -> Onset:
    """Compute when data went bad: between the last run in which the fail limit held (or a person's end) and now."""
    earliest = watch.last_pass_ended_at or watch.monitored_since
    if not_before is not None:
        earliest = max(earliest, not_before)
    earliest = min(earliest, detected_at)  # a run may end after the next one measured
    if watch.last_pass_ended_at is None:
        return Onset(first_failed_at, earliest, detected_at, OccurrenceMethod.FIRST_OBSERVATION)
    if outcome.occurrence is None:
        return Onset(earliest, earliest, detected_at, OccurrenceMethod.LAST_GOOD_RUN)
    at = min(max(outcome.occurrence.at, earliest), detected_at)
    return Onset(at, earliest, detected_at, outcome.occurrence.method)


def _opened(identity: Identity, message: Message, episode: Episode) -> Opened:
    title, values = title_of(message)
    return Opened(
        fingerprint=identity.fingerprint,
        table=identity.table,
        check_id=identity.check_id,
        incident_kind=identity.kind,
        severity=identity.severity,
        title=title,
        title_values=values,
        found_by=FoundBy.CHECK,
        episode=episode,
    )


def title_of(message: Message) -> tuple[str, Mapping[str, Any]]:
    """Return a message as a title: its text, and its values as JSON has them, the same before and after storing."""
    is_one = message.one is not None and message.counted is not None and int(message.values[message.counted]) == 1
    plain: dict[str, Any] = to_jsonable_python(dict(message.values), timedelta_mode="float")
    return message.one if is_one and message.one is not None else message.text, plain


def _flapped(
    watch: Watch, incident: Incident | None, changes: tuple[Change, ...], *, identity: Identity
) -> tuple[Flapped, ...]:
    """Return the change that an open incident starts to flap, or that one stops."""
    is_new = any(isinstance(change, Opened) for change in changes)
    if incident is not None and not is_new and incident.check_id != identity.check_id:
        return ()
    flagged = incident is not None and not is_new and incident.flapping
    if watch.flapping == flagged:
        return ()
    begins = any(isinstance(change, Opened | Reopened) for change in changes)
    ends = any(isinstance(change, Resolved) for change in changes)
    goes_on = begins or (_is_open(incident) and not ends)
    return (Flapped(watch.flapping),) if goes_on or flagged else ()
