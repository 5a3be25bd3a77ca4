"""A privacy budget of the table `orders`, and what is charged to it."""

from datetime import datetime
from fractions import Fraction
from pathlib import Path

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.ledger import Charge, Granted, LedgerBudget
from remedies.differential_privacy.sensitivity import Adjacency
from store import Store, StoredLedger


def open_budget(store: Store, anchor: Path, now: datetime) -> StoredLedger:
    """Create a budget of epsilon 10, and return its ledger."""
    ledger = StoredLedger(store, anchor)
    budget = LedgerBudget("orders", "customer", Accounting.PURE, Adjacency.ADD_REMOVE, 10 * NANO)
    ledger.create(budget, actor="mia", now=now)
    return ledger


def charge(ledger: StoredLedger, request: str, epsilon: str, now: datetime) -> None:
    """Charge it for a request."""
    nano = int(Fraction(epsilon) * NANO)
    asked = Charge("orders", "customer", request, Accounting.PURE, Adjacency.ADD_REMOVE, nano, {})
    assert isinstance(ledger.reserve(asked, actor="mia", now=now), Granted)
