"""Rows of privacy budgets, and the statements about them, inside a transaction.

The entries of the ledger are the facts. Amounts are integers of nano-epsilon or nano-rho. No value of a watched table:
of an answer only what was released. Only `store._ledger` writes: it minds the anchor as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    UniqueConstraint,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlmodel import Field

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.ledger import BudgetBalance, LedgerBudget
from remedies.differential_privacy.sensitivity import Adjacency
from store._columns import STRICT, WHOLE, Mapped, Row, blob, line, one_of, only_where, time, whole, word
from store._json import from_text, to_text
from store._ledger_chain import START, ChainedEntry, EntryKind, LedgerFact, LedgerHead, follow
from store._repository import Repository
from store._values import NameChange, NamedThing, current_name


class BudgetRow(Row, table=True):
    """The balance of a budget: the fold of its entries. `id` is the number of the entry that created it.

    Triggers let nothing but `total` and `spent` change, and `spent` only rise.
    """

    __tablename__ = "privacy_budget"
    __table_args__ = (
        UniqueConstraint("data_set", "unit"),
        one_of("accounting", Accounting),
        one_of("adjacency", Adjacency),
        CheckConstraint("(accounting = 'zcdp') = (delta IS NOT NULL)", name="delta_iff_zcdp"),
        CheckConstraint("spent >= 0 AND spent <= total", name="within_total"),
        STRICT,
    )

    id: int = Field(default=None, sa_column=Column(WHOLE, primary_key=True, autoincrement=False))
    data_set: str = line()
    unit: str = line()
    accounting: Accounting = word(Accounting)
    adjacency: Adjacency = word(Adjacency)
    delta: str | None = line(optional=True)
    total: int = whole()
    spent: int = whole()


class LedgerEntryRow(Row, table=True):
    """One fact of the ledger. Append-only: triggers refuse to change or remove it, and one that does not follow.

    `nano`: the total of `created` and `changed`, the cost of `reserved` and `carried`. `body`: canonical JSON, kept as
    the text whose hash was taken.
    """

    __tablename__ = "ledger_entry"
    __table_args__ = (
        UniqueConstraint("previous"),
        Index(None, "budget", "kind", "nano"),
        only_where("ix_ledger_entry_request", "request", "number", condition="request IS NOT NULL"),
        only_where("uq_ledger_entry_answered", "request", condition="kind = 'answered'", unique=True),
        one_of("kind", EntryKind),
        STRICT,
    )

    number: int = Field(default=None, sa_column=Column(WHOLE, primary_key=True, autoincrement=False))
    kind: EntryKind = word(EntryKind)
    budget: int | None = Field(default=None, sa_column=Column(WHOLE, ForeignKey("privacy_budget.id"), nullable=True))
    request: str | None = line(optional=True)
    nano: int | None = whole(optional=True)
    body: str = line()
    actor: str = line()
    recorded_at: datetime = time("recorded_us", "recorded_at")
    previous: bytes = blob()
    hash: bytes = blob()


_BUDGET: Final = BudgetRow.__table__
_ENTRY: Final = LedgerEntryRow.__table__
_FACTS: Final = Mapped(LedgerEntryRow, LedgerFact)
_BUDGETS: Final = Mapped(BudgetRow, LedgerBudget)
_STORED: Final = select(*_BUDGETS.columns, _BUDGET.c.id, _BUDGET.c.spent)
_RENAMED: Final = '{"event":null,"renamed":'
"""How the body of an entry about a rename begins."""
_ENTRIES: Final = select(*_FACTS.columns, _ENTRY.c.number, _ENTRY.c.previous, _ENTRY.c.hash)


@dataclass(frozen=True, slots=True)
class StoredBudget:
    """A budget, what was spent of it, and its number."""

    id: int
    budget: LedgerBudget
    spent: int


class DatedCharge(NamedTuple):
    """A charge to a budget, in nano units, and its time."""

    at: datetime
    nano: int


@dataclass(frozen=True, slots=True)
class RequestHistory:
    """The state of a request of a series: how often it was charged, and whether its answer is stored.

    `unanswered`: how many charges of the series brought no answer since one did; `unanswered_at`: when the last of them
    was made.
    """

    charged: int
    answered: bool
    unanswered: int
    unanswered_at: datetime | None


class LedgerReader(Repository):
    """Queries about the ledger."""

    def head(self) -> LedgerHead:
        """Return the last entry."""
        last = select(_ENTRY.c.number, _ENTRY.c.hash).order_by(_ENTRY.c.number.desc()).limit(1)
        row = self._connection.execute(last).first()
        return START if row is None else LedgerHead(row.number, row.hash)

    def hash_of(self, number: int) -> bytes | None:
        """Return the hash of an entry, that of the beginning for 0, None if there is no such entry."""
        if number == START.number:
            return START.hash
        result: bytes | None = self._connection.scalar(select(_ENTRY.c.hash).where(_ENTRY.c.number == number))
        return result

    def entries(self, after: int, limit: int) -> Sequence[ChainedEntry]:
        """Return entries in order."""
        some = _ENTRIES.where(_ENTRY.c.number > after).order_by(_ENTRY.c.number)
        return [_entry(row) for row in self._connection.execute(some.limit(limit))]

    def entry(self, number: int) -> ChainedEntry | None:
        """Return one entry."""
        return next((entry for entry in self.entries(number - 1, 1) if entry.number == number), None)

    def budgets(self) -> Sequence[StoredBudget]:
        """Return all budgets, in the order in which they were created."""
        return [_stored(row) for row in self._connection.execute(_STORED.order_by(_BUDGET.c.id))]

    def budget(self, data_set: str, unit: str) -> StoredBudget | None:
        """Return one budget, by the name with which it was created."""
        conditions = (_BUDGET.c.data_set == data_set, _BUDGET.c.unit == unit)
        row = self._connection.execute(_STORED.where(*conditions)).first()
        return None if row is None else _stored(row)

    def name_changes(self, since: int = 0) -> Sequence[NameChange]:
        """Return the renames that the chain holds after an entry, the oldest first."""
        these = (_ENTRY.c.budget.is_(None), _ENTRY.c.kind == EntryKind.RELEASE, _ENTRY.c.number > since)
        some = _ENTRIES.where(*these, _ENTRY.c.body.startswith(_RENAMED, autoescape=True)).order_by(_ENTRY.c.number)
        facts = [_entry(row).fact for row in self._connection.execute(some)]
        changes = ((from_text(fact.body)["renamed"], fact) for fact in facts)
        return [
            NameChange(NamedThing(word), old, new, fact.actor, fact.recorded_at) for (word, old, new), fact in changes
        ]

    def present_name(self, stored: StoredBudget) -> str:
        """Return what the data set of a budget is called now."""
        return current_name(stored.budget.data_set, self.name_changes(stored.id))

    def find_budget(self, data_set: str, unit: str) -> StoredBudget | None:
        """Return one budget, by what its data set is called now."""
        return next(
            (
                stored
                for stored in self.budgets()
                if (self.present_name(stored), stored.budget.unit) == (data_set, unit)
            ),
            None,
        )

    def balance(self, stored: StoredBudget) -> BudgetBalance:
        """Return where a budget stands, by its present name.

        What was carried over counts as one answer, which it bounds.
        """
        charged = _ENTRY.c.kind.in_([EntryKind.RESERVED, EntryKind.CARRIED])
        largest = self._connection.scalar(select(func.max(_ENTRY.c.nano)).where(_ENTRY.c.budget == stored.id, charged))
        return BudgetBalance(replace(stored.budget, data_set=self.present_name(stored)), stored.spent, largest or 0)

    def created_at(self, budget: int) -> datetime:
        """Return when a budget was created."""
        first = select(func.min(_ENTRY.c.recorded_at)).where(_ENTRY.c.budget == budget)
        moment: datetime = self._connection.execute(first).scalar_one()
        return moment

    def charges(self, budget: int, since: datetime) -> Sequence[DatedCharge]:
        """Return what was charged to a budget from a moment on, in order."""
        charged = _ENTRY.c.kind.in_([EntryKind.RESERVED, EntryKind.CARRIED])
        these = (_ENTRY.c.budget == budget, charged, _ENTRY.c.recorded_at >= since)
        rows = self._connection.execute(
            select(_ENTRY.c.recorded_at, _ENTRY.c.nano).where(*these).order_by(_ENTRY.c.number)
        )
        return [DatedCharge(*row) for row in rows]

    def first_reservation(self, request: str) -> LedgerFact | None:
        """Return the first charge of a request."""
        conditions = (_ENTRY.c.request == request, _ENTRY.c.kind == EntryKind.RESERVED)
        first = _ENTRIES.where(*conditions).order_by(_ENTRY.c.number).limit(1)
        row = self._connection.execute(first).first()
        return None if row is None else _entry(row).fact

    def stored_answer(self, request: str) -> str | None:
        """Return the body of the answer of a request."""
        conditions = (_ENTRY.c.request == request, _ENTRY.c.kind == literal_column("'answered'"))
        text: str | None = self._connection.scalar(select(_ENTRY.c.body).where(*conditions))
        return text

    def tries(self, prefix: str, request: str) -> RequestHistory:
        """Return what became of a request, and of the series of requests whose ids begin with a prefix."""
        reserved, answered = (_ENTRY.c.kind == literal_column(f"'{kind}'") for kind in ("reserved", "answered"))
        these = (_ENTRY.c.request.is_not(None), func.substr(_ENTRY.c.request, 1, len(prefix)) == prefix)  # by the index
        last = select(func.coalesce(func.max(_ENTRY.c.number), 0)).where(*these, answered).scalar_subquery()
        abandoned = select(func.count(), func.max(_ENTRY.c.recorded_at)).where(*these, reserved, _ENTRY.c.number > last)
        number, unanswered_at = self._connection.execute(abandoned).one()
        statement = select(func.count()).where(_ENTRY.c.request == request, reserved)
        charged = self._connection.scalar(statement) or 0
        return RequestHistory(charged, self.stored_answer(request) is not None, number, unanswered_at)

    def answers(self, budget: int, limit: int) -> Sequence[tuple[ChainedEntry, ChainedEntry]]:
        """Return the last answers of a budget, newest first, each with the charge that it was stored for."""
        these = (_ENTRY.c.budget == budget, _ENTRY.c.kind == EntryKind.ANSWERED)
        newest = _ENTRIES.where(*these).order_by(_ENTRY.c.number.desc()).limit(limit)
        entries = [_entry(row) for row in self._connection.execute(newest)]
        numbers = [from_text(entry.fact.body)["reservation"] for entry in entries]
        charges = _ENTRIES.where(_ENTRY.c.number.in_(numbers))
        by_number = {row.number: _entry(row) for row in self._connection.execute(charges)}
        return [(by_number[number], entry) for number, entry in zip(numbers, entries, strict=True)]

    def resumptions(self) -> Sequence[LedgerFact]:
        """Return what was said whenever the ledger was resumed."""
        some = _ENTRIES.where(_ENTRY.c.kind == EntryKind.RESUMED)
        return [_entry(row).fact for row in self._connection.execute(some)]

    def release_entries(self) -> Sequence[ChainedEntry]:
        """Return the entries about facts of releases, the oldest first."""
        kinds = _ENTRY.c.kind.in_([EntryKind.RELEASE, EntryKind.ADOPTED])
        some = _ENTRIES.where(kinds).order_by(_ENTRY.c.number)
        return [_entry(row) for row in self._connection.execute(some)]

    def identified_budgets(self) -> Sequence[tuple[str, frozenset[str]]]:
        """Return the data sets whose tables the ledger knows, each with the marks of its table."""
        some = _ENTRIES.where(_ENTRY.c.kind == EntryKind.IDENTIFIED)
        bodies = [from_text(_entry(row).fact.body) for row in self._connection.execute(some)]
        return [(body["data_set"], frozenset(body["marks"])) for body in bodies]


class LedgerWriter(LedgerReader):
    """Statements that write the ledger."""

    def append(self, fact: LedgerFact) -> ChainedEntry:
        """Write a fact after the last one."""
        entry = follow(self.head(), fact)
        row = _FACTS.cells(fact, number=entry.number, previous=entry.previous, hash=entry.hash)
        self._connection.execute(insert(_ENTRY).values(row))
        return entry

    def add_budget(self, budget: LedgerBudget, *, body: str, actor: str, now: datetime) -> StoredBudget:
        """Write a budget of which nothing is spent, and the entry that says so."""
        number = self.head().number + 1
        delta = None if budget.delta is None else str(budget.delta)
        row = _BUDGETS.cells(budget, id=number, spent=0, delta=delta)
        self._connection.execute(insert(_BUDGET).values(row))
        self.append(LedgerFact(EntryKind.CREATED, body, actor, now, budget=number, nano=budget.total))
        return StoredBudget(number, budget, 0)

    def record_rename(self, change: NameChange) -> None:
        """Write a rename as an entry, so that it cannot be taken out of the chain unnoticed."""
        body = to_text({"event": None, "renamed": [change.kind, change.old, change.new]})
        self.append(LedgerFact(EntryKind.RELEASE, body, change.actor, change.recorded_at))

    def identify(self, stored: StoredBudget, marks: Iterable[str], *, actor: str, now: datetime) -> None:
        """Write by what the table of a budget is known, too: no other data set gets a budget of that table."""
        if known_by := sorted(marks):
            body = to_text({"data_set": stored.budget.data_set, "marks": known_by})
            self.append(LedgerFact(EntryKind.IDENTIFIED, body, actor, now, budget=stored.id))

    def set_total(self, budget: int, total: int) -> bool:
        """Change the total of a budget, unless more is spent already; return whether it was changed."""
        conditions = (_BUDGET.c.id == budget, _BUDGET.c.spent <= total)
        return self._connection.execute(update(_BUDGET).where(*conditions).values(total=total)).rowcount == 1

    def spend(self, budget: int, nano: int) -> bool:
        """Charge a budget if it covers the amount; return whether it did."""
        covers = (_BUDGET.c.id == budget, _BUDGET.c.spent + nano <= _BUDGET.c.total)
        spent = update(_BUDGET).where(*covers).values(spent=_BUDGET.c.spent + nano)
        return self._connection.execute(spent).rowcount == 1


def _stored(row: Any) -> StoredBudget:
    delta = None if row.delta is None else Fraction(row.delta)
    return StoredBudget(row.id, _BUDGETS.value(row, delta=delta), row.spent)


def _entry(row: Any) -> ChainedEntry:
    return ChainedEntry(row.number, _FACTS.value(row), row.previous, row.hash)
