"""Remember what was measured, what went wrong, what is due and what was told, on SQLite or PostgreSQL."""

from store._backup import Backup, backup
from store._book import Book
from store._class_counts import Staged
from store._counting import StoredCounts
from store._engines import store_file
from store._errors import (
    LedgerBroken,
    NotRecorded,
    RowRefused,
    StoreBusy,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreHeld,
    StoreNewer,
    StoreUnavailable,
)
from store._failpoint import FailPoint, reached
from store._histories import History
from store._ledger import StoredLedger
from store._ledger_anchor import anchor_file
from store._ledger_book import Tries
from store._lock import DaemonLock, daemon_lock, lock_holder
from store._notices import (
    Changed,
    Delivery,
    DeliveryState,
    Disabled,
    Lasting,
    LastNotification,
    MessageSubject,
    Scope,
    Silence,
    Transition,
)
from store._open import open_store
from store._rebuild import Discrepancy
from store._release_events import ReleaseEvent, ReleaseEventKind
from store._release_ledger import ReleaseLedger, RememberedPersons
from store._restore import Restored, restore
from store._retention import Pruned
from store._signature_key import signature_key
from store._store import Store
from store._values import Counts, IncidentFilter, Result, Run
from store._view import View
from store._work import DaemonRecord, Lease, Quarantine, Scheduled, Skip, SkipReason, Slot, SlotDecision, SlotState

__all__ = [
    "Backup",
    "Book",
    "Changed",
    "Counts",
    "DaemonLock",
    "DaemonRecord",
    "Delivery",
    "DeliveryState",
    "Disabled",
    "Discrepancy",
    "FailPoint",
    "History",
    "IncidentFilter",
    "LastNotification",
    "Lasting",
    "Lease",
    "LedgerBroken",
    "MessageSubject",
    "NotRecorded",
    "Pruned",
    "Quarantine",
    "ReleaseEvent",
    "ReleaseEventKind",
    "ReleaseLedger",
    "RememberedPersons",
    "Restored",
    "Result",
    "RowRefused",
    "Run",
    "Scheduled",
    "Scope",
    "Silence",
    "Skip",
    "SkipReason",
    "Slot",
    "SlotDecision",
    "SlotState",
    "Staged",
    "Store",
    "StoreBusy",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreHeld",
    "StoreNewer",
    "StoreUnavailable",
    "StoredCounts",
    "StoredLedger",
    "Transition",
    "Tries",
    "View",
    "anchor_file",
    "backup",
    "daemon_lock",
    "lock_holder",
    "open_store",
    "reached",
    "restore",
    "signature_key",
    "store_file",
]
