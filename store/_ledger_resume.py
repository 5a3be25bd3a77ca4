"""Charge again what the anchor knows to be spent and the ledger has lost, so that nothing is spent twice."""

from datetime import datetime

from remedies.differential_privacy.ledger import LedgerBudget
from store._json import from_text, to_text
from store._ledger_anchor import Anchor
from store._ledger_chain import EntryKind, LedgerFact
from store._ledger_repository import LedgerReader, LedgerWriter, StoredBudget


def described(budget: LedgerBudget) -> str:
    """Return what an entry says of a budget, but for its total."""
    words = {"data_set": budget.data_set, "unit": budget.unit, "accounting": budget.accounting.value}
    delta = None if budget.delta is None else str(budget.delta)
    return to_text({**words, "adjacency": budget.adjacency.value, "delta": delta})


def resumed_already(ledger: LedgerReader, anchor: Anchor) -> bool:
    """Check whether a process resumed the ledger from this anchor before, and died before it could replace it."""
    parts = (from_text(fact.body)["anchor"] for fact in ledger.resumptions())
    return any(part is not None and part["hash"] == anchor.head.hash.hex() for part in parts)


def carry_over(ledger: LedgerWriter, anchor: Anchor, *, apart: bool, actor: str, now: datetime) -> None:
    """Bring every budget to at least what the anchor knows.

    `apart`: the ledger went on without the anchor, so that both hold charges of their own; what they share is charged
    twice then. No budget is charged with more than its total: it is spent, and grants nothing.
    """
    for budget, spent in anchor.spent:
        stored = ledger.budget(budget.data_set, budget.unit)
        if stored is None:
            stored = ledger.add_budget(budget, body=described(budget), actor=actor, now=now)
        total = _widen(ledger, stored, budget.total, actor=actor, now=now)
        lost = min(spent if apart else spent - stored.spent, total - stored.spent)
        if lost > 0 and ledger.spend(stored.id, lost):
            body = to_text({"anchor": anchor.head.number, "apart": apart})
            ledger.append(LedgerFact(EntryKind.CARRIED, body, actor, now, budget=stored.id, nano=lost))


def _widen(ledger: LedgerWriter, stored: StoredBudget, total: int, *, actor: str, now: datetime) -> int:
    """Return a budget the total that the anchor knows, unless more is spent; gives the total that it has then."""
    if total == stored.budget.total or not ledger.set_total(stored.id, total):
        return stored.budget.total
    body = to_text({"reason": "as the anchor knows"})
    ledger.append(LedgerFact(EntryKind.CHANGED, body, actor, now, budget=stored.id, nano=total))
    return total
