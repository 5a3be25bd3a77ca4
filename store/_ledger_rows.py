"""What is on disk of privacy budgets: the entries of the ledger, which are the facts, and where each budget stands.

Amounts are integers of nano-epsilon or nano-rho. No value of a watched table: of an answer only what was released.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, UniqueConstraint
from sqlmodel import Field

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.sensitivity import Adjacency
from store._columns import STRICT, WHOLE, Row, blob, line, one_of, only_where, time, whole, word
from store._ledger_chain import EntryKind


class BudgetRow(Row, table=True):
    """Where a budget stands: the fold of its entries. `id` is the number of the entry that created it.

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
