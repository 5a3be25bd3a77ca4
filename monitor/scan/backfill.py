"""Evaluate checks as of past times, oldest first, so that baselines exist on the first day. Nobody is notified."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from checks import Status
from monitor.config.project import Project
from monitor.config.selector import Selection
from monitor.scan.recorder import PastIncidents, record_past
from monitor.scan.results import Target, targets_of
from monitor.scan.scanner import Plans, scan_sources
from store import Store


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a backfill did: results by status, and how many were there before."""

    results: Mapping[Status, int]
    there_before: int
    incidents: int
    problems: Mapping[str, str]
    """Why checks could not be evaluated as of the last of the times, by check id."""


def past_times(since: datetime, until: datetime, every: timedelta) -> list[datetime]:
    """Return the times from `since`, rounded down to a minute, in steps, before `until`."""
    start = since.replace(second=0, microsecond=0)
    count = max(0, -((start - until) // every))
    return [start + number * every for number in range(count)]


def backfill(
    project: Project,
    selection: Selection,
    times: Sequence[datetime],
    *,
    store: Store,
    opens_incidents: bool = False,
    on_table: Callable[[str], None] = lambda _: None,
) -> Backfilled:
    """Evaluate the selected checks at each of the times and record what was found as backfilled.

    A check is not evaluated where it was measured already, less than half of a step away. So a second backfill changes
    nothing, also where its times were typed as ages and lie some minutes later.
    """
    every = times[1] - times[0] if len(times) > 1 else timedelta(minutes=1)
    targets = targets_of(project, selection.tables)
    missing = list(_missing(targets, times, store=store, every=every))
    wanted = len(times) * sum(len(target.subject.checks) for target in targets)
    todo = sum(len(target.subject.checks) for target in missing)
    counts = dict.fromkeys(Status, 0)
    problems: dict[str, str] = {}
    past = PastIncidents(project.policy, project.clock.now()) if opens_incidents else None
    plans: Plans = {}
    for batch in scan_sources(missing, clock=project.clock, plans=plans):
        for result in record_past(batch, store=store, past=past):
            counts[result.outcome.status] += 1
            problems.pop(result.check_id, None)
            if result.outcome.status is Status.UNKNOWN:
                problems[result.check_id] = str(result.outcome.message)
        for table_result in batch:
            on_table(table_result.target.subject.name)
    return Backfilled(counts, wanted - todo, 0 if past is None else past.opened, problems)


def _missing(
    targets: Sequence[Target], times: Sequence[datetime], *, store: Store, every: timedelta
) -> Iterator[Target]:
    """Yield the targets at each time, in order, with the checks that have no measurement there."""
    if not times:
        return
    ids = [check_id for target in targets for check_id, _ in target.subject.checks]
    with store.reading() as tx:
        measured = tx.results.moments(ids, times[0] - every, times[-1] + every)
    for at in times:
        for target in targets:
            checks = tuple(
                (check_id, check)
                for check_id, check in target.subject.checks
                if not any(abs(moment - at) < every / 2 for moment, _ in measured.get(check_id, ()))
            )
            if checks:
                yield replace(target, subject=replace(target.subject, checks=checks)).at(at)
