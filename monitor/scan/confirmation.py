"""Run failing checks again before their incidents open: their table is due early, and then for them alone.

    a failing run ─> `plan_retries`: the table's next slot is when the fail can be confirmed ─> a daemon claims it
                                                    └─> `only_unconfirmed`: which of the checks wait for that slot

Nothing is kept beside the schedule and what is known of checks. So a retry is claimed like every slot, by one daemon,
and outlives kills; a table that is due before is not moved, since any run that is late enough confirms.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from checks import Check
from incidents import Policy, Watch
from monitor.scan.results import PolicyOf, Target
from store import ReadTransaction, Store, WriteTransaction


class Retry(NamedTuple):
    """The times of a confirming run and of the decision on it, by the clock of the process that ran the check."""

    at: datetime
    decided_at: datetime


def retry_at(watch: Watch, policy: Policy) -> datetime | None:
    """Return when the failing streak of a check can be confirmed at the earliest; None where it needs none."""
    if policy.confirm_after is None or watch.failing_since is None:
        return None
    return watch.failing_since + policy.confirm_after


def plan_retries(tx: WriteTransaction, retries: Mapping[str, Retry]) -> None:
    """Make tables due when a fail can be confirmed, unless they are due before. Those without a schedule are not run.

    The slot is by the clock of the process, due by the clock of the schedule, which may be the server's: where it is
    ahead, a retry would otherwise be too early to confirm.
    """
    rows = []
    for table, retry in retries.items():
        row = tx.schedule.get(table)
        if row is not None and retry.at < row.next_slot:
            due_at = tx.schedule.clock(retry.decided_at) + (retry.at - retry.decided_at)
            rows.append(replace(row, next_slot=retry.at, due_at=due_at))
    tx.schedule.reschedule(rows)


def only_unconfirmed(target: Target, slot: datetime, *, store: Store, policy_of: PolicyOf, now: datetime) -> Target:
    """Return a table with the checks that wait to be confirmed at this slot; with all of them where none does.

    Checks that wait for longer than those make their table due once more.

    Raises:
        StoreError: the store cannot be read or written.
    """
    asked = {check_id: check for check_id, check in target.subject.checks if policy_of(check).confirm_after is not None}
    if not asked:
        return target
    with store.reading() as tx:
        retries = {check_id: _retries(tx, check_id, check, policy_of) for check_id, check in asked.items()}
    checks = tuple(item for item in target.subject.checks if slot in retries.get(item[0], ()))
    if not checks:
        return target
    later = [at for times in retries.values() for at in times if at > slot]
    if later:
        with store.writing() as tx:
            plan_retries(tx, {target.subject.name: Retry(min(later), now)})
    return replace(target, subject=replace(target.subject, checks=checks))


def _retries(tx: ReadTransaction, check_id: str, check: Check, policy_of: PolicyOf) -> Collection[datetime]:
    """Return when a check, or segments of it that are judged for themselves, can be confirmed."""
    segments = () if check.segments is None else [result.check_id for result in tx.results.segments_of(check_id)]
    watches = tx.results.watches([check_id, *segments]).values()
    return [at for watch in watches if (at := retry_at(watch, policy_of(check))) is not None]
