"""Answer scheduled queries when they are due, each slot once, without repeated charges that bring no answer.

    claimed ──> may it be charged? ──> worker: can it be asked? ──> charge ──> worker: ask ──> store, slot ended

A table that cannot be reached costs nothing, because only its catalogue is read before the charge. A charge that
brought no answer is made again once for the slot; after that the statistic rests, each time twice as long. What cannot
be answered is reported once, until it is answered or the reason is another. Whatever the store, or the file that
vouches for the ledger, does not take is tried again later, and holds up nothing but the statistics.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from checks import Json, Outcome
from monitor.alerts.operational import Operation, OperationalEvent
from monitor.answers.ask import charge_of
from monitor.answers.data_set import DataSet
from monitor.clock import Clock
from monitor.config.answer_series import AnswerSeries
from monitor.config.project import Project
from monitor.daemon.claims import Claims, LeasedTable
from monitor.daemon.job_queue import Jobs
from monitor.daemon.journal import LOG
from monitor.daemon.leased_statistic import MOST_CHARGES, LeasedStatistic, Request, rests, spent
from monitor.scan.private_question import PrivateQuestion
from monitor.scan.results import Subject, Target, run_guarded, targets_of
from monitor.terminal.problem import Stop
from remedies import Misfit
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Granted, Refusal, RefusalReason, StoredAnswer
from store import (
    Lease,
    LedgerBroken,
    NotRecorded,
    SlotState,
    Store,
    StoreBusy,
    StoreError,
    StoreUnavailable,
)

PAUSE: Final = timedelta(minutes=1)
"""How long after a charge without an answer a slot is charged again, and the first pause of retries without charge."""
MOST_FREE_TRIES: Final = 5
"""How often a table that cannot be reached is tried again for one slot: after 1, 2, 4, 8, 16 minutes, or its period."""

_BUSY_S: Final = 5.0
_ACTOR: Final = "daemon"
_LOST: Final = (
    "it was charged and could not be computed; 'tablewatch doctor' shows whether its table can be reached; it is "
    "retried with increasing delay"
)
_NO_WORKER: Final = "the process that was to query its table ended"
_IN_PROGRESS: Final = "its request is in progress in another process; nothing was charged"
_CHANGED: Final = "another query ran under this name in this slot; from the next slot on the current query runs"


class ScheduledQueries:
    """The scheduled queries that a daemon answers. Used by the thread of the loop."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        jobs: Jobs,
        claims: Claims,
        tell: Callable[[OperationalEvent], None],
        once: bool = False,
    ) -> None:
        """`tell` notifies operators of an event. `once`: nothing is retried."""
        self.answered = self.unanswered = 0
        """The numbers of slots answered since the start, and of those without an answer that the budget covers."""
        self._store, self._clock = store, clock
        self._jobs, self._claims, self._tell, self._once = jobs, claims, tell, once
        self._waiting: list[LeasedStatistic] = []
        self._held_back: dict[AnswerSeries, str] = {}
        self._answered_before: set[AnswerSeries] = set()
        self._problem: str | None = None

    def adopt(self, project: Project) -> None:
        """Use a configuration from now on; queries that were charged already are finished by the one before."""
        self._project = project
        self._series = AnswerSeries.configured(project.config)
        self._ledger = project.ledger(self._store)
        gone = self._held_back.keys() - set(self._series.values())
        self._held_back = {series: why for series, why in self._held_back.items() if series not in gone}

    def __len__(self) -> int:
        """Return how many are declared."""
        return len(self._series)

    @property
    def by_source(self) -> dict[str, str]:
        """Return the names of their slots with those of their sources."""
        tables = {table.name: table.source for table in self._project.config.tables}
        return {name: tables[series.table] for name, series in self._series.items()}

    @property
    def has_answers(self) -> bool:
        """Check whether answers wait to be stored."""
        return any(asked.granted is not None and asked.heard for asked in self._waiting)

    def hold(self, lease: Lease) -> LeasedStatistic | None:
        """Return a leased slot as that of a scheduled query; None if it is not one."""
        series = self._series.get(lease.table)
        if series is None:
            return None
        (target,) = targets_of(self._project, [series.table])
        subject = Subject(lease.table, target.subject.relation, ())
        leased_statistic = LeasedStatistic(lease, Target(subject, target.source), series=series)
        self._waiting.append(leased_statistic)
        return leased_statistic

    def drop(self, leased_table: LeasedTable) -> None:
        """Forget one that another daemon took over."""
        self._waiting = [asked for asked in self._waiting if asked is not leased_table]
        if isinstance(leased_table, LeasedStatistic):
            leased_table.release()

    def hear(self, leased_statistic: LeasedStatistic, answer: Mapping[str, Json] | Outcome | None) -> None:
        """Handle the answer of a worker."""
        leased_statistic.heard, leased_statistic.answer = True, answer
        self._waiting.append(leased_statistic)

    def step(self, *, stopping: bool = False) -> Sequence[LeasedStatistic]:
        """Continue all that can continue, and return those whose slot has ended. When stopping, only store answers.

        Raises:
            StoreError: the store is damaged or not ours any more.
        """
        now = self._clock.monotonic()
        ready = [asked for asked in self._waiting if asked.at <= now]
        if stopping:
            ready = [asked for asked in ready if asked.granted is not None and asked.heard]
        return [asked for asked in ready if self._goes_to_its_end(asked)]

    def _goes_to_its_end(self, leased_statistic: LeasedStatistic) -> bool:
        """Do the next step, or wait while the store is busy; return whether the slot has ended."""
        self._waiting.remove(leased_statistic)
        try:
            if leased_statistic.ends is None:
                self._go_on(leased_statistic)
            if leased_statistic.ends is not None:
                leased_statistic.release()
                self._claims.end(leased_statistic.lease, leased_statistic.ends)
        except (StoreBusy, StoreUnavailable) as error:
            if self._problem is None:
                LOG.error("scheduled queries wait: %s", error)
            self._problem = str(error)
            return self._waits_for_the_store(leased_statistic)
        self._problem = None
        return leased_statistic.ends is not None

    def _waits_for_the_store(self, leased_statistic: LeasedStatistic) -> bool:
        """Retry later what the store did not accept; with `--once` the slot is left to the next run."""
        if self._once:
            leased_statistic.release()
            self.unanswered += 1
        else:
            self._wait(leased_statistic, timedelta(seconds=_BUSY_S))
        return self._once

    def _go_on(self, leased_statistic: LeasedStatistic) -> None:
        """Do the next step; a query that raises an error is given up, and delays no other."""
        attempted = run_guarded(lambda: self._do_next(leased_statistic), passes_on=(StoreError, KeyboardInterrupt))
        if isinstance(attempted, Outcome):
            self._hold_back(leased_statistic, str(attempted.message))

    def _do_next(self, leased_statistic: LeasedStatistic) -> None:
        try:
            request = self._asked_now(leased_statistic)
            if request is None:
                leased_statistic.ends = SlotState.GIVEN_UP
            elif not leased_statistic.heard:
                self._begin(leased_statistic, request)
            elif leased_statistic.granted is None:
                self._charge(leased_statistic, request)
            else:
                self._keep(leased_statistic, leased_statistic.granted, request)
        except NotRecorded as error:
            how = (
                f" with 'tablewatch privacy budget create {leased_statistic.series.table}'"
                if leased_statistic.granted is None
                else ""
            )
            self._hold_back(leased_statistic, f"{error}{how}")
        except (LedgerBroken, Misfit) as error:
            self._hold_back(leased_statistic, str(error))

    def _asked_now(self, leased_statistic: LeasedStatistic) -> Request | None:
        """Return what is asked; None where it left the configuration, or was changed, before it was charged."""
        if leased_statistic.granted is not None:
            return leased_statistic.request
        if leased_statistic.series.slot_name not in self._series:
            return None
        declared = self._project.config.budgets[leased_statistic.series.table].statistics[leased_statistic.series.name]
        data_set = self._data_set(leased_statistic.series.table)
        charge = charge_of(data_set, declared.ask, leased_statistic.series.request_id(leased_statistic.lease.slot))
        if leased_statistic.request is not None and leased_statistic.request.charge != charge:
            return None
        question, period = data_set.question(declared.ask), declared.schedule.longest_period()
        leased_statistic.request = Request(question, data_set.source, charge, period)
        return leased_statistic.request

    def _data_set(self, table: str) -> DataSet:
        """Return a data set.

        Raises:
            Misfit: rows of a unit have to be put in order, and there is no key for that; or another budget is of the
                same table. Waiting changes neither.
        """
        try:
            return DataSet.of(self._project, table)
        except StoreError as error:
            raise Misfit(str(error)) from None
        except Stop as stop:
            raise Misfit("; ".join(problem.message for problem in stop.problems)) from None

    # --- one slot -----------------------------------------------------------------------------------------------------

    def _begin(self, leased_statistic: LeasedStatistic, request: Request) -> None:
        """Let a worker check whether the table can be queried, unless nothing may be charged anyway."""
        charge = request.charge
        tries = self._ledger.tries(leased_statistic.series.prefix, charge.request_id)
        balance = self._ledger.balance(charge.data_set, charge.unit)
        if tries.answered:
            self._is_answered(leased_statistic, "was stored before")
        elif balance.left < charge.nano:
            self._hold_back(leased_statistic, spent(charge, balance.budget.total), spent=True)
        elif tries.charged >= MOST_CHARGES or rests(tries, request.period, self._clock.now()):
            self._hold_back(leased_statistic, _LOST)
        else:
            self._send(leased_statistic, request, request.question)

    def _charge(self, leased_statistic: LeasedStatistic, request: Request) -> None:
        """Charge a query that can be answered, and run it."""
        if not isinstance(leased_statistic.answer, Mapping):
            self._try_again_for_free(leased_statistic, request.period)
            return
        charge = request.charge
        if leased_statistic.claim is None:
            leased_statistic.claim = self._ledger.claim(charge.request_id)
        if leased_statistic.claim is None:
            self._wait_for_the_other(leased_statistic)
            return
        leased_statistic.heard = (
            False  # where it is not known whether a charge was made, it is made again: it counts as one
        )
        result = self._ledger.reserve(charge, actor=_ACTOR, now=self._clock.now())
        match result:
            case Granted():
                leased_statistic.granted = result
                self._send(leased_statistic, request, replace(request.question, charged=True))
            case StoredAnswer():
                self._is_answered(leased_statistic, "was stored before")
            case Refusal(RefusalReason.SPENT):
                total = self._ledger.balance(charge.data_set, charge.unit).budget.total
                self._hold_back(leased_statistic, spent(charge, total), spent=True)
            case Refusal(RefusalReason.OTHER_CONTENT):
                self._hold_back(leased_statistic, _CHANGED)

    def _keep(self, leased_statistic: LeasedStatistic, granted: Granted, request: Request) -> None:
        """Store the answer; without one, charge again later."""
        if isinstance(leased_statistic.answer, Mapping):
            self._ledger.store_answer(granted, leased_statistic.answer, actor=_ACTOR, now=self._clock.now())
            self._is_answered(leased_statistic, f"{text_of(granted.charge.nano)} charged")
            return
        tries = self._ledger.tries(leased_statistic.series.prefix, request.charge.request_id)
        if self._once or tries.charged >= MOST_CHARGES or rests(tries, request.period, self._clock.now()):
            self._hold_back(leased_statistic, _LOST)
        else:
            leased_statistic.granted, leased_statistic.heard = None, False
            leased_statistic.release()
            self._wait(leased_statistic, PAUSE)

    def _wait_for_the_other(self, leased_statistic: LeasedStatistic) -> None:
        """Check later whether another process has stored the answer; nothing is charged meanwhile."""
        if self._once:
            self._hold_back(leased_statistic, _IN_PROGRESS)
        else:
            leased_statistic.heard = False
            self._wait(leased_statistic, PAUSE)

    def _try_again_for_free(self, leased_statistic: LeasedStatistic, period: timedelta) -> None:
        why = str(leased_statistic.answer.message) if isinstance(leased_statistic.answer, Outcome) else _NO_WORKER
        if self._once or leased_statistic.free_tries >= MOST_FREE_TRIES:
            self._hold_back(leased_statistic, f"{why}; nothing was charged")
        else:
            leased_statistic.heard = False
            self._wait(leased_statistic, min(PAUSE * 2**leased_statistic.free_tries, period))
            leased_statistic.free_tries += 1

    def _send(self, leased_statistic: LeasedStatistic, request: Request, question: PrivateQuestion) -> None:
        leased_statistic.heard, leased_statistic.answer = False, None
        leased_statistic.target = replace(leased_statistic.target, source=request.source, question=question)
        self._jobs.wait(leased_statistic, first=question.charged)

    def _wait(self, leased_statistic: LeasedStatistic, pause: timedelta) -> None:
        leased_statistic.at = self._clock.monotonic() + pause.total_seconds()
        self._waiting.append(leased_statistic)

    # --- what is said -------------------------------------------------------------------------------------------------

    def _is_answered(self, leased_statistic: LeasedStatistic, how: str) -> None:
        leased_statistic.ends = SlotState.DONE
        self.answered += 1
        LOG.info(
            "scheduled query %s answered for %s: %s",
            leased_statistic.series,
            f"{leased_statistic.lease.slot:%Y-%m-%d %H:%MZ}",
            how,
        )
        if self._was_held_back(leased_statistic.series):
            self._tell(
                OperationalEvent(Operation.STATISTIC_ANSWERED, str(leased_statistic.series), until=self._clock.now())
            )

    def _was_held_back(self, series: AnswerSeries) -> bool:
        """Check whether the slot before was not answered, as this daemon knows, or the store from before its start."""
        if self._held_back.pop(series, None) is not None:
            return True
        if series in self._answered_before:
            return False
        with self._store.reading() as tx:
            before = tx.slots.last_ended(series.slot_name)
        self._answered_before.add(series)
        return before is not None and before.state is SlotState.GIVEN_UP

    def _hold_back(self, leased_statistic: LeasedStatistic, why: str, *, spent: bool = False) -> None:
        """End a slot without an answer, and report the reason once."""
        leased_statistic.ends = SlotState.GIVEN_UP
        self.unanswered += not spent
        if self._held_back.get(leased_statistic.series) == why:
            return
        self._held_back[leased_statistic.series] = why
        LOG.warning("scheduled query %s is not answered: %s", leased_statistic.series, why)
        self._tell(
            OperationalEvent(Operation.STATISTIC_HELD, str(leased_statistic.series), why=why, since=self._clock.now())
        )
