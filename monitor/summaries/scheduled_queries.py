"""Compute the state of scheduled queries: last answer, next due time, and how long the budget lasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from monitor.config.answer_series import AnswerSeries
from monitor.config.project import Project
from remedies.differential_privacy.epsilon import text_of
from store import ReadTransaction, Slot, SlotState


class StatisticWord(StrEnum):
    """How a scheduled query is."""

    WAITS = "waits"
    """No slot of it has ended yet."""
    ANSWERED = "answered"
    """Its last slot was answered."""
    NOT_ANSWERED = "not-answered"
    """Its last slot was not, though the budget covers it; see the log of the daemon."""
    SPENT = "spent"
    """Less is left of the budget than an answer costs."""
    NO_BUDGET = "no-budget"
    """The budget was never created."""


@dataclass(frozen=True, slots=True)
class StatisticState:
    """How a scheduled query is. `cost`: of an answer, in nano units; `left`: how many more the budget covers.

    `slot`: the last one that ended; `next_slot`: None before a daemon has seen it.
    """

    series: AnswerSeries
    schedule: str
    cost: int
    left: int | None
    slot: Slot | None
    next_slot: datetime | None

    @property
    def word(self) -> StatisticWord:
        """Return how it is in a word."""
        if self.left is None:
            return StatisticWord.NO_BUDGET
        if self.left == 0:
            return StatisticWord.SPENT
        if self.slot is None:
            return StatisticWord.WAITS
        return StatisticWord.ANSWERED if self.slot.state is SlotState.DONE else StatisticWord.NOT_ANSWERED

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "table": self.series.table,
            "statistic": self.series.name,
            "state": self.word.value,
            "schedule": self.schedule,
            "cost": text_of(self.cost),
            "answers_left": self.left,
            "last_slot": None if self.slot is None else self.slot.slot.isoformat(),
            "last_slot_ended_at": None if self.slot is None or self.slot.ended_at is None
            else self.slot.ended_at.isoformat(),
            "next_slot": None if self.next_slot is None else self.next_slot.isoformat(),
        }  # fmt: skip


def statistics_of(project: Project, tx: ReadTransaction) -> Sequence[StatisticState]:
    """Return how each scheduled query of a configuration is, in its order. No table is looked at."""
    budgets = project.config.budgets
    all_of = AnswerSeries.configured(project.config)
    if not all_of:
        return ()
    from remedies.differential_privacy.ledger import (
        BudgetBalance,
    )  # the mathematics is loaded where a query is scheduled

    due = {row.table: row.next_slot for row in tx.schedule.tables()}
    results = []
    for name, series in all_of.items():
        declared = budgets[series.table]
        statistic = declared.statistics[series.name]
        cost = statistic.ask.nano(declared.accounting)
        stored = tx.ledger.find_budget(series.table, declared.unit_name)
        left = None if stored is None else BudgetBalance(stored.budget, stored.spent, 0).left // cost
        slot = tx.slots.last_ended(name)
        results.append(StatisticState(series, str(statistic.schedule), cost, left, slot, due.get(name)))
    return results
