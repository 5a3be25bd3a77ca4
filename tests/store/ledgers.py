"""Budgets and charges to write in a ledger, with only what a test is about to be said."""

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.epsilon import NANO
from remedies.differential_privacy.ledger import Charge, LedgerBudget
from remedies.differential_privacy.sensitivity import Adjacency

PURE, SUBSTITUTE = Accounting.PURE, Adjacency.SUBSTITUTE
ASKED = {"statistic": "count", "by": ["gender"]}


def budget(total: int = NANO, data_set: str = "crm.customers", **said: object) -> LedgerBudget:
    """Return a pure budget per person."""
    return LedgerBudget(**{"data_set": data_set, "unit": "person", "total": total, **_WORDS, **said})


def charge(nano: int, request_id: str = "r1", data_set: str = "crm.customers", **said: object) -> Charge:
    """Return what a count costs."""
    asked = {"data_set": data_set, "unit": "person", "nano": nano, "request": ASKED, **_WORDS}
    return Charge(**{**asked, "request_id": request_id, **said})


_WORDS = {"accounting": PURE, "adjacency": SUBSTITUTE}
