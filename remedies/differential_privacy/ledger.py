"""What a privacy budget is, and what a ledger promises that keeps it. The store implements it; here is no database.

    claim ──> reserve ──> Granted ──> look at the data ──> store the answer ──> give out what was stored
      │           ├─────> Answered     the answer that was stored for this request: no new noise, no new charge
      └───────────┴─────> Refusal      nothing was charged, and the data must not be looked at

A claim makes a request exclusive while it is in flight. It ends with the process that holds it, so that a reservation
without an answer and without a claim was given up.

All amounts are integers of nano-epsilon (pure accounting) or nano-rho (zCDP). Adding them up is all a ledger does: what
an answer costs, parallel parts and batches announced at once included, is priced before (`accounting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from types import TracebackType
from typing import Final, Protocol, Self

from checks import Json
from remedies._errors import Misfit
from remedies.differential_privacy.accounting import Accounting, delta_of
from remedies.differential_privacy.epsilon import MOST, NANO, text_of
from remedies.differential_privacy.sensitivity import Adjacency

LARGEST: Final = MOST * NANO
"""The most that a budget holds and that an answer may cost: a million, as `nano` reads it."""
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LedgerBudget:
    """The most that all answers about a data set may cost one privacy unit (a row, a person).

    `accounting` and `adjacency` are for life: costs in two units, or for two kinds of neighbours, do not add up. Pure
    accounting composes by the sum of epsilon; zCDP by the sum of rho, shown as epsilon for `delta`, fixed at creation.

    Raises:
        Misfit: a total that is not 1 to a million in nano units, no names, or a delta where there is none to give.
    """

    data_set: str
    unit: str
    accounting: Accounting
    adjacency: Adjacency
    total: int
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        _check_name("the data set", self.data_set)
        _check_name("the privacy unit", self.unit)
        check_amount("the total", self.total)
        if (self.accounting is Accounting.ZCDP) != (self.delta is not None):
            raise Misfit("a budget in rho (zcdp) has a delta, a pure one has none")
        if self.delta is not None:
            delta_of(self.delta)


@dataclass(frozen=True, slots=True)
class BudgetBalance:
    """A budget and what was charged to it: in all, and by the costliest answer; both in its nano units."""

    budget: LedgerBudget
    spent: int
    largest: int

    @property
    def left(self) -> int:
        """Return what can still be charged."""
        return self.budget.total - self.spent


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of an answer, charged before the data is read.

    `request_id`: asking again under the same one returns the stored answer; it cannot be used for anything
    else. `request`: all that is asked, as plain data: words of the configuration, nothing of the data set's rows.

    Raises:
        Misfit: a cost that is not 1 to a million in nano units, or no names.
    """

    data_set: str
    unit: str
    request_id: str
    accounting: Accounting
    adjacency: Adjacency
    nano: int
    request: Mapping[str, Json]

    def __post_init__(self) -> None:
        _check_name("the data set", self.data_set)
        _check_name("the privacy unit", self.unit)
        _check_name("the request id", self.request_id)
        check_amount("the cost", self.nano)


@dataclass(frozen=True, slots=True)
class Granted:
    """A charge that was made: the data may be looked at, once. `entry` and `proof` name it in the ledger."""

    charge: Charge
    entry: int
    proof: bytes


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer that was stored for a request."""

    answer: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that was stored: to what, at which cost in nano units, when and in whose name."""

    request_id: str
    request: Mapping[str, Json]
    answer: Mapping[str, Json]
    nano: int
    answered_at: datetime
    actor: str


class RefusalReason(StrEnum):
    """Why nothing was charged; none of it depends on data."""

    SPENT = "spent"
    OTHER_CONTENT = "other-content"
    IN_PROGRESS = "in-progress"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A charge that was not made. `left`: what is left of the budget, in its nano units."""

    reason: RefusalReason
    charge: Charge
    left: int

    def __str__(self) -> str:
        """Format it to a person."""
        if self.reason is RefusalReason.OTHER_CONTENT:
            return (
                f"request '{self.charge.request_id}' was used before for another query; use another id; nothing was "
                "charged"
            )
        if self.reason is RefusalReason.IN_PROGRESS:
            return (
                f"request '{self.charge.request_id}' is in progress in another process; nothing was charged; repeat "
                "it with the same id to get its answer at no cost once it is stored"
            )
        return (
            f"the budget of {self.charge.data_set} has {text_of(self.left)} left and this costs "
            f"{text_of(self.charge.nano)}; nothing was charged and the data was not read"
        )


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in a ledger that should not be so; `entry` is where, None where it is about all of it."""

    entry: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit of a whole ledger: the number of entries, the last anchored one, and flaws."""

    entries: int
    anchored: int | None
    flaws: Sequence[Flaw]


class Claim(Protocol):
    """The right to charge and answer one request. Released once."""

    def __enter__(self) -> Self:
        """Return the claim itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""

    def release(self) -> None:
        """Release the claim on the request."""


class Ledger(Protocol):
    """Keeps budgets. Whatever it grants is charged for good, whether the answer is ever given or not."""

    def balance(self, data_set: str, unit: str) -> BudgetBalance:
        """Return a budget and what was charged to it."""

    def claim(self, request_id: str, *, lock_timeout: timedelta = timedelta(0)) -> Claim | None:
        """Claim a request; None if another process holds its claim for longer than `lock_timeout`."""

    def is_answered(self, request_id: str) -> bool:
        """Return whether the answer of a request is stored: to reserve it again costs nothing."""

    def reserve(self, charge: Charge, *, actor: str, now: datetime) -> Granted | StoredAnswer | Refusal:
        """Charge a budget, unless the answer was stored already or the budget does not cover it.

        A retry of a request that was granted, but whose answer was never stored, is a new charge.
        """

    def store_answer(
        self, granted: Granted, answer: Mapping[str, Json], *, actor: str, now: datetime
    ) -> Mapping[str, Json]:
        """Store the answer of a charge, and return what is to be given out: what is stored.

        If another process has stored an answer of the same request meanwhile, that one is returned.
        """


def check_amount(name: str, nano: int) -> None:
    """Refuse what is no amount.

    Raises:
        Misfit: it is not a whole number of nano units, 1 to a million.
    """
    if type(nano) is not int or not 1 <= nano <= LARGEST:
        raise Misfit(f"{name} is not a whole number of nano units, 1 to {LARGEST:,}")


def _check_name(name: str, text: str) -> None:
    if not text.strip() or len(text) > _LONGEST or not text.isprintable():
        raise Misfit(f"{name} is not a name; expected 1 to {_LONGEST} printable characters")
