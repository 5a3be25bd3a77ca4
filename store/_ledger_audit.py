"""Walk the ledger from its first entry, add everything up again, and compare with the budgets and the anchor.

Charge again what the anchor knows to be spent and the ledger has lost, so that nothing is spent twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from remedies import Misfit
from remedies.differential_privacy.ledger import Audit, Flaw, LedgerBudget
from store._errors import LedgerBroken, StoreCorrupt
from store._json import from_text, to_text
from store._ledger_chain import START, Anchor, ChainedEntry, EntryKind, LedgerFact, LedgerHead
from store._ledger_repository import LedgerReader, LedgerWriter, StoredBudget


def described(budget: LedgerBudget) -> str:
    """Return what an entry says of a budget, but for its total."""
    fields = {"data_set": budget.data_set, "unit": budget.unit, "accounting": budget.accounting.value}
    delta = None if budget.delta is None else str(budget.delta)
    return to_text({**fields, "adjacency": budget.adjacency.value, "delta": delta})


def resumed_already(ledger: LedgerReader, anchor: Anchor) -> bool:
    """Check whether a process resumed the ledger from this anchor before, and died before it could replace it."""
    parts = (from_text(fact.body)["anchor"] for fact in ledger.resumptions())
    return any(part is not None and part["hash"] == anchor.head.hash.hex() for part in parts)


def carry_over(ledger: LedgerWriter, anchor: Anchor, *, apart: bool, actor: str, now: datetime) -> None:
    """Raise every budget to at least the amount in the anchor.

    `apart`: the ledger went on without the anchor, so that both hold charges of their own; what they share is charged
    twice then. No budget is charged with more than its total: it is spent, and grants nothing.
    """
    for budget, spent in anchor.spent:
        stored = ledger.budget(budget.data_set, budget.unit)
        if stored is None:
            stored = ledger.add_budget(budget, body=described(budget), actor=actor, now=now)
        total = _widen(ledger, stored, budget.total, actor=actor, now=now)
        missing = min(spent if apart else spent - stored.spent, total - stored.spent)
        if missing > 0 and ledger.spend(stored.id, missing):
            body = to_text({"anchor": anchor.head.number, "apart": apart})
            ledger.append(LedgerFact(EntryKind.CARRIED, body, actor, now, budget=stored.id, nano=missing))


def _widen(ledger: LedgerWriter, stored: StoredBudget, total: int, *, actor: str, now: datetime) -> int:
    """Set the total of a budget to that of the anchor, unless more is spent; return the total afterwards."""
    if total == stored.budget.total or not ledger.set_total(stored.id, total):
        return stored.budget.total
    body = to_text({"reason": "as the anchor knows"})
    ledger.append(LedgerFact(EntryKind.CHANGED, body, actor, now, budget=stored.id, nano=total))
    return total


_BATCH: Final = 1000


def disagreement(ledger: LedgerReader, anchor: Anchor | None) -> str | None:
    """Describe how the end of the ledger differs from what the anchor vouches for; None if it does not.

    Entries after the anchor are no difference: their processes died before they were used.
    """
    head = ledger.head()
    if anchor is None:
        return "the anchor of the ledger is missing" if head.number else None
    if head.number < anchor.head.number:
        return (
            f"the ledger ends at entry {head.number}, but its anchor confirms {anchor.head.number}: an old backup "
            "was restored"
        )
    if ledger.hash_of(anchor.head.number) != anchor.head.hash:
        return (
            f"entry {anchor.head.number} of the ledger does not match its anchor: it is another ledger, or one that "
            "continued without the anchor"
        )
    spent = {(budget.budget.data_set, budget.budget.unit): budget.spent for budget in ledger.budgets()}
    if any(spent.get((budget.data_set, budget.unit), -1) < anchored for budget, anchored in anchor.spent):
        return "a budget has less spent than its anchor recorded"
    return None


def audit(ledger: LedgerReader, anchor: Anchor | LedgerBroken | None) -> Audit:
    """Verify every entry; `anchor`: as it was before the transaction began."""
    walk = _Walk()
    for entry in _entries(ledger):
        walk.take(entry)
    walk.compare(ledger)
    if isinstance(anchor, LedgerBroken):
        return Audit(walk.count, None, [*walk.flaws, Flaw(None, str(anchor))])
    problem = disagreement(ledger, anchor)
    results = [] if problem is None else [Flaw(None, problem)]
    return Audit(walk.count, None if anchor is None else anchor.head.number, [*walk.flaws, *results])


def _entries(ledger: LedgerReader) -> Iterator[ChainedEntry]:
    last = START.number
    while batch := ledger.entries(last, _BATCH):
        yield from batch
        last = batch[-1].number


@dataclass
class _Sum:
    """The total and spending of a budget by its entries."""

    description: str
    total: int
    spent: int = 0


@dataclass
class _Walk:
    """The state of an audit after the entries so far."""

    head: LedgerHead = START
    count: int = 0
    budgets: dict[int | None, _Sum] = field(default_factory=dict)
    charged: dict[str | None, tuple[Any, ...]] = field(default_factory=dict)
    reserved: dict[int, str | None] = field(default_factory=dict)
    answered: set[str | None] = field(default_factory=set)
    flaws: list[Flaw] = field(default_factory=list)

    def take(self, entry: ChainedEntry) -> None:
        """Verify the next entry."""
        self.count += 1
        if entry.number != self.head.number + 1:
            self._find(entry, f"entries {self.head.number + 1} to {entry.number - 1} are missing")
        elif entry.previous != self.head.hash:
            self._find(entry, "it breaks the hash chain")
        if not entry.is_whole:
            self._find(entry, "it was changed: its hash does not match its content")
        self.head = entry.head
        problem = self._fold(entry.number, entry.fact)
        if problem is not None:
            self._find(entry, problem)

    def _find(self, entry: ChainedEntry, problem: str) -> None:
        self.flaws.append(Flaw(entry.number, problem))

    def _fold(self, number: int, fact: LedgerFact) -> str | None:
        if fact.kind is EntryKind.CREATED and fact.budget == number:
            self.budgets[number] = _Sum(fact.body, fact.nano or 0)
        budget = self.budgets.get(fact.budget)
        if fact.kind in {EntryKind.RESUMED, EntryKind.RELEASE, EntryKind.ADOPTED}:
            return None
        if budget is None:
            return "it is about a budget that no entry created"
        if fact.kind is EntryKind.ANSWERED:
            return self._answer(fact)
        if fact.kind is EntryKind.CHANGED:
            budget.total = fact.nano or 0
        elif fact.kind is not EntryKind.CREATED:
            budget.spent += fact.nano or 0
        if budget.spent > budget.total:
            return "more was charged than the budget's total"
        return self._charge(number, fact) if fact.kind is EntryKind.RESERVED else None

    def _charge(self, number: int, fact: LedgerFact) -> str | None:
        self.reserved[number] = fact.request
        content = (fact.budget, fact.nano, fact.body)
        same = self.charged.setdefault(fact.request, content) == content
        return None if same else "it charges a request id that was used for another query"

    def _answer(self, fact: LedgerFact) -> str | None:
        try:
            reservation = from_text(fact.body)["reservation"]
        except (StoreCorrupt, KeyError, TypeError):
            return "it cannot be read"
        if self.reserved.get(reservation, "") != fact.request:
            return "it answers a request that was not charged"
        if fact.request in self.answered:
            return "it answers a request that was answered before"
        self.answered.add(fact.request)
        return None

    def compare(self, ledger: LedgerReader) -> None:
        """Compare with where the budgets stand."""
        try:
            stored = {budget.id: budget for budget in ledger.budgets()}
        except (Misfit, ValueError):
            self.flaws.append(Flaw(None, "a budget cannot be read"))
            return
        for number in sorted(stored.keys() | {number for number in self.budgets if number is not None}):
            replayed, stored_budget = self.budgets.get(number), stored.get(number)
            if replayed is None or stored_budget is None:
                self.flaws.append(Flaw(number, "its budget is there without its entry, or the entry without it"))
            elif (replayed.description, replayed.total, replayed.spent) != (
                described(stored_budget.budget),
                stored_budget.budget.total,
                stored_budget.spent,
            ):
                self.flaws.append(Flaw(number, "its budget does not match its entries"))
