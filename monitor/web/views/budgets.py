"""Privacy budgets: what was spent of each, what is left, and what all answers so far reveal. For stewards only."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Final, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.answers.budget_status import BudgetState, ProtectedPeople
from monitor.config.project import Project
from monitor.summaries.shapes import Moment, Shape
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import BudgetBalance
from store import DatedCharge, ReadTransaction

SHOWN: Final = 91
"""Days in the history of what is left."""
RECENT: Final = 28
"""Days whose spending the forecast continues."""


class BudgetDay(Shape):
    """The remaining share of a budget at the end of a day in the project's zone: 0 to 1 of the present total."""

    day: date
    left_share: float


class BudgetForecast(Shape):
    """The average cost of a day, and when that spends the budget; `over_days`: the last 28, or all since it exists."""

    a_day: str
    over_days: int
    spent_on: date | None


class BudgetLine(BudgetState):
    """A budget as it stands and stood. `spent_share`: 0 to 1, for drawing.

    `days`: the last 91, or all since it was created, today included. `forecast`: null where nothing was charged in the
    last 28 days.
    """

    spent_share: float
    days: tuple[BudgetDay, ...]
    forecast: BudgetForecast | None


class BudgetListPage(Shape):
    """`tablewatch.budgets-page/1`: the budgets in the order in which they were created.

    `entries`: how many entries the ledger has, `head` the hash of the last ('tablewatch privacy budget verify').
    """

    schema_: Literal["tablewatch.budgets-page/1"] = Field("tablewatch.budgets-page/1", alias="schema")
    as_of: Moment
    entries: int
    head: str
    budgets: tuple[BudgetLine, ...]


class _Balances:
    """The balances of all budgets in one state of the store."""

    def __init__(self, tx: ReadTransaction) -> None:
        self.by_id = {stored.id: tx.ledger.balance(stored) for stored in tx.ledger.budgets()}

    def balances(self, data_set: str | None = None) -> Sequence[BudgetBalance]:
        """Return all budgets, or those of a data set."""
        return [item for item in self.by_id.values() if data_set in {None, item.budget.data_set}]


def list_budgets(project: Project, tx: ReadTransaction, _query: BaseModel, now: datetime) -> BudgetListPage:
    """Return where all budgets stand."""
    ledger, head = _Balances(tx), tx.ledger.head()
    zone, since = ZoneInfo(project.config.timezone), now - timedelta(days=SHOWN)
    groups = ProtectedPeople.configured(project.config, ledger)
    return BudgetListPage(
        as_of=now,
        entries=head.number,
        head=head.hash.hex(),
        budgets=tuple(
            _line(
                balance,
                groups,
                _Spending.of(tx.ledger.charges(number, since), zone, now, created=tx.ledger.created_at(number)),
            )
            for number, balance in ledger.by_id.items()
        ),
    )


def _line(balance: BudgetBalance, groups: Sequence[ProtectedPeople], spending: "_Spending") -> BudgetLine:
    people = next((group for group in groups if group.holds(balance)), None)
    return BudgetLine.of(
        balance,
        people,
        spent_share=balance.spent / balance.budget.total,
        days=tuple(spending.days(balance)),
        forecast=spending.forecast(balance),
    )


@dataclass(frozen=True, slots=True)
class _Spending:
    """Charges to a budget by day, in nano units, up to today; `age`: the days since it was created, 1 at first."""

    by_day: Mapping[date, int]
    today: date
    age: int

    @classmethod
    def of(cls, charges: Iterable[DatedCharge], zone: ZoneInfo, now: datetime, *, created: datetime) -> "_Spending":
        by_day: Counter[date] = Counter()
        for charge in charges:
            by_day[charge.at.astimezone(zone).date()] += charge.nano
        today = now.astimezone(zone).date()
        return cls(by_day, today, max(1, (today - created.astimezone(zone).date()).days + 1))

    def days(self, balance: BudgetBalance) -> Sequence[BudgetDay]:
        """Return the days, the oldest first: today's end is now, and what was charged later is added back."""
        left, days = balance.left, []
        for back in range(min(SHOWN, self.age)):
            day = self.today - timedelta(days=back)
            days.append(BudgetDay(day=day, left_share=left / balance.budget.total))
            left += self.by_day.get(day, 0)
        return days[::-1]

    def forecast(self, balance: BudgetBalance) -> BudgetForecast | None:
        """Return when the budget is spent if the next days are like the last ones."""
        recent = {day: nano for day, nano in self.by_day.items() if 0 <= (self.today - day).days < RECENT}
        if not recent:
            return None
        length = min(self.age, RECENT)
        a_day = Fraction(sum(recent.values()), length)
        left_days = math.ceil(balance.left / a_day)
        is_near = left_days <= (date.max - self.today).days
        spent_on = self.today + timedelta(days=left_days) if is_near else None
        return BudgetForecast(a_day=text_of(round(a_day)), over_days=length, spent_on=spent_on)
