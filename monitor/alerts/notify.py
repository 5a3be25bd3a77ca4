"""Decide on everything that waits to be told, and write the messages: a crash tells nothing twice.

What changed of an incident waits in the store. For each channel it is decided what there is to tell and whether this is
the moment. Then the messages, what the channels know by now, and what was decided are written down together. What
nothing holds back any more is settled; the rest waits, with the reason, and is decided again when the hold ends, at the
latest after `LOOK_AGAIN`: silences are ended and configurations changed meanwhile. What lasts is looked at now and then
too: channels are reminded of it, and those that should know of it by now and do not are told (`missed`).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from checks import Outcome, PlainEnglish
from monitor.alerts.facts import AT_ONCE, DueIncidents, read_facts
from monitor.alerts.lasting import backfill
from monitor.alerts.notification_pass import NotificationPass, PendingDecision
from monitor.config.project import Project
from monitor.scan.results import run_guarded
from store import FailPoint, ReadTransaction, Store, StoreError, WriteTransaction, reached

_T = TypeVar("_T")

NOTED_AT_ONCE: Final = 500
"""Decisions to tell nothing that are written in one transaction: others wait for the store meanwhile. Where no more is
due, all of it is decided on in one."""


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """What was done: messages written, changes settled, changes that wait on; incidents that we stumbled over."""

    messages: int = 0
    settled: int = 0
    held: int = 0
    stumbled: int = 0

    def __add__(self, other: "NotifyResult") -> "NotifyResult":
        return NotifyResult(
            self.messages + other.messages,
            self.settled + other.settled,
            self.held + other.held,
            self.stumbled + other.stumbled,
        )


def notify(project: Project, store: Store, now: datetime, *, remind: bool = True) -> NotifyResult:
    """Decide on what waits and write the messages. Give how much was done; nothing, if nothing was due.

    `remind`: also of what lasts, and tell of it where that was missed. That looks at everything that lasts, so a daemon
    asks for it now and then only.

    Raises:
        StoreError: the store cannot be used; what was not finished waits on.
    """
    total = NotifyResult()
    while True:
        if remind:
            _wake_missed(project, store, now)
        with store.reading() as tx:
            due = DueIncidents.read(project, tx, now, remind=remind)
        if not due:
            return total
        are_few = bool(due.changed) and len(due) <= NOTED_AT_ONCE  # nothing is written of what only lasts, mostly
        done = _notify_few(project, store, now, remind=remind) if are_few else None
        done = done or _notify_many(project, store, now, remind=remind)
        total += done
        if done.settled + done.held < AT_ONCE:
            return total


def _wake_missed(project: Project, store: Store, now: datetime) -> None:
    with store.reading() as tx:
        last_notifications = tx.outbox.last_notifications_of_open()
        lost = backfill(project.config, tx, last_notifications, now=now, limit=AT_ONCE)
    if lost:
        with store.writing() as tx:
            tx.outbox.wake(lost, now)


def _decide(
    project: Project, tx: ReadTransaction, now: datetime, *, remind: bool, among: Collection[int] | None = None
) -> NotificationPass:
    """Decide on all that is due, or on these incidents."""
    due = DueIncidents.read(project, tx, now, remind=remind)
    facts = read_facts(project, tx, due if among is None else due.among(among), now)
    return NotificationPass(project, facts, now, remind=remind)


def _notify_few(project: Project, store: Store, now: datetime, *, remind: bool) -> NotifyResult | None:
    """Decide on all that is due and write down what comes of it, at once; None if an incident raises an error."""
    done = _guarded(lambda: _notify_together(project, store, now, remind=remind))
    return None if isinstance(done, Outcome) else done


def _notify_many(project: Project, store: Store, now: datetime, *, remind: bool) -> NotifyResult:
    """Decide first, without keeping others from the store, of which incidents a channel is told."""
    with store.reading() as tx:
        current_pass = _decide(project, tx, now, remind=remind)
    done = _notify(project, store, now, current_pass, sorted(current_pass.telling))
    return done + _note(store, now, current_pass.decisions(among=current_pass.silent))


def _notify(
    project: Project, store: Store, now: datetime, current_pass: NotificationPass, telling: Sequence[int]
) -> NotifyResult:
    """Notify of incidents; one that raises an error is put off alone, and delays none of the others.

    All others are told together: of a channel's digest there is one a day, so a second part of it would wait a day.
    """
    if not telling:
        return NotifyResult()
    done = _guarded(lambda: _notify_together(project, store, now, remind=current_pass.reminds, among=telling))
    if not isinstance(done, Outcome):
        return done
    failing = {telling[0]: done} if len(telling) == 1 else _failing_alone(project, store, now, current_pass, telling)
    total = NotifyResult()
    for incident_id, outcome in failing.items():
        postpone = current_pass.postpone([incident_id], outcome.message.render(PlainEnglish()))
        total += replace(_note(store, now, postpone), stumbled=1)
    rest = [incident_id for incident_id in telling if incident_id not in failing]
    parts = [rest] if failing else _halves(rest)
    return sum((_notify(project, store, now, current_pass, part) for part in parts), total)


def _failing_alone(
    project: Project, store: Store, now: datetime, current_pass: NotificationPass, telling: Sequence[int]
) -> dict[int, Outcome]:
    """Return the incidents that raise an error by themselves when they are decided on and composed; write nothing."""

    def rehearse(part: Sequence[int]) -> None:
        with store.reading() as tx:
            alone = _decide(project, tx, now, remind=current_pass.reminds, among=part)
        list(alone.compose())

    failing: dict[int, Outcome] = {}
    waiting = list(_halves(telling))
    while waiting:
        part = waiting.pop()
        outcome = _guarded(partial(rehearse, part))
        if isinstance(outcome, Outcome) and len(part) == 1:
            failing[part[0]] = outcome
        elif isinstance(outcome, Outcome):
            waiting += _halves(part)
    return failing


def _halves(ids: Sequence[int]) -> Sequence[Sequence[int]]:
    half = len(ids) // 2
    return ids[:half], ids[half:]


def _guarded(act: Callable[[], _T]) -> _T | Outcome:
    """Return what comes of an act, or the error that it raised; a store that cannot be used ends all of it."""
    return run_guarded(act, passes_on=(StoreError, KeyboardInterrupt))


def _notify_together(
    project: Project, store: Store, now: datetime, *, remind: bool, among: Collection[int] | None = None
) -> NotifyResult:
    """Decide alone on all that is due, or once more on what there seemed to be to tell, and write what comes of it."""
    with store.writing() as tx:
        alone = _decide(project, tx, now, remind=remind, among=among)
        messages = alone.write(tx)
        done = _write_down(tx, now, alone.decisions())
    if messages:
        reached(FailPoint.AFTER_ANNOUNCE)
    return replace(done, messages=messages)


def _note(store: Store, now: datetime, decisions: Sequence[PendingDecision]) -> NotifyResult:
    """Write down why nothing is told, a little at a time: others wait for the store meanwhile.

    What changed of an incident since it was looked at waits by itself, and is decided on next.
    """
    done = NotifyResult()
    parts = [
        replace(decision, ids=decision.ids[at : at + NOTED_AT_ONCE])
        for decision in decisions
        for at in range(0, len(decision.ids), NOTED_AT_ONCE)
    ]
    while parts:
        batch, size = list[PendingDecision](), 0
        while parts and size + len(parts[-1].ids) <= NOTED_AT_ONCE:
            batch.append(parts.pop())
            size += len(batch[-1].ids)
        with store.writing() as tx:
            done += _write_down(tx, now, batch)
    return done


def _write_down(tx: WriteTransaction, now: datetime, decisions: Iterable[PendingDecision]) -> NotifyResult:
    settled = count = 0
    for decision in decisions:
        if decision.until is None:
            settled += len(tx.outbox.settle(decision.ids, now, decision.decision))
        else:
            count += len(tx.outbox.postpone(decision.ids, decision.until, decision.decision))
    return NotifyResult(settled=settled, held=count)
