"""Decide on all changes and reminders that are due, and write the messages: none is written twice after a crash.

Changes of incidents wait in the store's outbox. For each channel it is decided whether it is notified now. Messages,
last notifications and decisions are written in one transaction. A change that nothing holds back is decided for good;
the others are decided again when the hold ends, at the latest after `RECHECK_AFTER`, since silences are ended and
configurations changed meanwhile. With `remind`, unresolved incidents without changes are looked at too: for reminders,
and for channels that should have been notified and were not (`missed_transitions`).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from checks import Outcome, PlainEnglish
from monitor.alerts.facts import BATCH_LIMIT, DueIncidents, read_facts
from monitor.alerts.notification_pass import NotificationPass, PendingDecision
from monitor.alerts.reminders import missed_transitions
from monitor.config.project import Project
from monitor.scan.results import run_guarded
from store import FailPoint, ReadTransaction, Store, StoreError, WriteTransaction, reached

_T = TypeVar("_T")

WRITE_LIMIT: Final = 500
"""The most decisions without a message written in one transaction, since others wait for the store meanwhile; and the
most incidents that are decided on and written in one."""


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """The numbers of messages written, of changes decided for good or held back, and of incidents with errors."""

    messages: int = 0
    settled: int = 0
    held: int = 0
    failed: int = 0

    def __add__(self, other: "NotifyResult") -> "NotifyResult":
        return NotifyResult(
            self.messages + other.messages,
            self.settled + other.settled,
            self.held + other.held,
            self.failed + other.failed,
        )


def notify(project: Project, store: Store, now: datetime, *, remind: bool = True) -> NotifyResult:
    """Decide on what is due and write the messages.

    `remind`: with reminders and missed notifications. That reads all unresolved incidents, so a daemon asks for it once
    a minute only.

    Raises:
        StoreError: the store cannot be used; the rest waits.
    """
    total = NotifyResult()
    while True:
        # 1. Put into the outbox what a channel should have been notified of and was not; then read what is due.
        if remind:
            _requeue_missed(project, store, now)
        with store.reading() as tx:
            due = DueIncidents.read(project, tx, now, remind=remind)
        if not due:
            return total
        # 2. Decide on few incidents, and write messages and decisions, in one transaction.
        are_few = bool(due.changed) and len(due) <= WRITE_LIMIT  # most reminders lead to no message
        result = _guarded(partial(_write_pass, project, store, now, remind=remind)) if are_few else None
        # 3. Decide on many before the store is locked; put off the incidents that raise an error, and these alone.
        if result is None or isinstance(result, Outcome):
            result = _notify_in_parts(project, store, now, remind=remind)
        # 4. Go on while a whole batch was decided on.
        total += result
        if result.settled + result.held < BATCH_LIMIT:
            return total


def _requeue_missed(project: Project, store: Store, now: datetime) -> None:
    with store.reading() as tx:
        last_notifications = tx.outbox.last_notifications_of_open()
        missed = missed_transitions(project.config, tx, last_notifications, now=now, limit=BATCH_LIMIT)
    if missed:
        with store.writing() as tx:
            tx.outbox.requeue(missed, now)


def _write_pass(
    project: Project, store: Store, now: datetime, *, remind: bool, among: Collection[int] | None = None
) -> NotifyResult:
    """Decide on all incidents that are due, or on these, and write messages and decisions in one transaction."""
    with store.writing() as tx:
        current_pass = _make_pass(project, tx, now, remind=remind, among=among)
        messages = current_pass.write(tx)
        result = _save(tx, now, current_pass.decisions())
    if messages:
        reached(FailPoint.AFTER_ANNOUNCE)
    return replace(result, messages=messages)


def _make_pass(
    project: Project, tx: ReadTransaction, now: datetime, *, remind: bool, among: Collection[int] | None = None
) -> NotificationPass:
    """Decide on all incidents that are due, or on these."""
    due = DueIncidents.read(project, tx, now, remind=remind)
    facts = read_facts(project, tx, due if among is None else due.among(among), now)
    return NotificationPass(project, facts, now, remind=remind)


def _notify_in_parts(project: Project, store: Store, now: datetime, *, remind: bool) -> NotifyResult:
    """Decide without locking the store, then write the messages in one transaction and the other decisions in parts."""
    with store.reading() as tx:
        current_pass = _make_pass(project, tx, now, remind=remind)
    result = _notify_all_but_failing(project, store, now, current_pass, sorted(current_pass.notified_ids))
    return result + _save_in_parts(store, now, current_pass.decisions(among=current_pass.unnotified_ids))


def _notify_all_but_failing(
    project: Project, store: Store, now: datetime, current_pass: NotificationPass, ids: Sequence[int]
) -> NotifyResult:
    """Notify of incidents; only those that raise an error are put off.

    All others are written together: a channel has one digest a day, so a second part of it would wait a day.
    """
    if not ids:
        return NotifyResult()
    result = _guarded(lambda: _write_pass(project, store, now, remind=current_pass.remind, among=ids))
    if not isinstance(result, Outcome):
        return result
    failing = {ids[0]: result} if len(ids) == 1 else _failing(project, store, now, current_pass, ids)
    total = NotifyResult()
    for incident_id, outcome in failing.items():
        postponed = current_pass.postpone([incident_id], outcome.message.render(PlainEnglish()))
        total += replace(_save_in_parts(store, now, postponed), failed=1)
    rest = [incident_id for incident_id in ids if incident_id not in failing]
    parts = [rest] if failing else _halves(rest)
    return sum((_notify_all_but_failing(project, store, now, current_pass, part) for part in parts), total)


def _failing(
    project: Project, store: Store, now: datetime, current_pass: NotificationPass, ids: Sequence[int]
) -> dict[int, Outcome]:
    """Return the incidents that raise an error when they alone are decided on and composed; write nothing."""

    def dry_run(part: Sequence[int]) -> None:
        with store.reading() as tx:
            alone = _make_pass(project, tx, now, remind=current_pass.remind, among=part)
        list(alone.compose())

    failing: dict[int, Outcome] = {}
    waiting = list(_halves(ids))
    while waiting:
        part = waiting.pop()
        outcome = _guarded(partial(dry_run, part))
        if isinstance(outcome, Outcome) and len(part) == 1:
            failing[part[0]] = outcome
        elif isinstance(outcome, Outcome):
            waiting += _halves(part)
    return failing


def _halves(ids: Sequence[int]) -> Sequence[Sequence[int]]:
    half = len(ids) // 2
    return ids[:half], ids[half:]


def _save_in_parts(store: Store, now: datetime, decisions: Sequence[PendingDecision]) -> NotifyResult:
    """Write decisions without messages in short transactions, so that others need not wait long for the store.

    Changes recorded since the decision have a row of their own in the outbox and are decided next.
    """
    result = NotifyResult()
    parts = [
        replace(decision, ids=decision.ids[at : at + WRITE_LIMIT])
        for decision in decisions
        for at in range(0, len(decision.ids), WRITE_LIMIT)
    ]
    while parts:
        batch, size = list[PendingDecision](), 0
        while parts and size + len(parts[-1].ids) <= WRITE_LIMIT:
            batch.append(parts.pop())
            size += len(batch[-1].ids)
        with store.writing() as tx:
            result += _save(tx, now, batch)
    return result


def _save(tx: WriteTransaction, now: datetime, decisions: Iterable[PendingDecision]) -> NotifyResult:
    settled = held = 0
    for decision in decisions:
        if decision.until is None:
            settled += len(tx.outbox.settle(decision.ids, now, decision.decision))
        else:
            held += len(tx.outbox.postpone(decision.ids, decision.until, decision.decision))
    return NotifyResult(settled=settled, held=held)


def _guarded(act: Callable[[], _T]) -> _T | Outcome:
    """Return the result of a call, or the error that it raised; errors of the store are raised."""
    return run_guarded(act, passes_on=(StoreError, KeyboardInterrupt))
