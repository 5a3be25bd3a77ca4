"""Results, incidents, slots, notifications, releases and the ledger, on SQLite or PostgreSQL.

    open_store(url) -> Store
      store.reading() -> ReadTransaction    one state, any number at a time
      store.writing() -> WriteTransaction   one at a time; what it writes holds when the block ends, or not at all

A transaction has a repository for each concept: `tx.results`, `tx.incidents`, `tx.schedule`, `tx.slots`, `tx.daemons`,
`tx.outbox`, `tx.deliveries`, `tx.external_items`, `tx.silences`, `tx.logged_events`, `tx.classes`,
`tx.releases`, `tx.release_events`, `tx.ledger`, `tx.accounts`. They take and return values of `incidents`, `checks` and
`store`, never rows. `StoredLedger` and `StoredCounts` span transactions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from store._account_rows import WebRole
    from store._accounts import ApiToken, Grant, LoginLink, SignInMethod, WebSession, WebUser
    from store._backup import Backup, backup
    from store._class_repository import Staged
    from store._counting import StoredCounts
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
    from store._files import NO_LINKS, lock_file, store_file
    from store._incident_pages import IncidentPlace, IncidentSlice
    from store._incidents import History
    from store._ledger import StoredLedger
    from store._ledger_chain import anchor_file
    from store._ledger_repository import DatedCharge, Tries
    from store._lock import DaemonLock, daemon_lock, lock_holder
    from store._notices import (
        Changed,
        Delivery,
        DeliveryState,
        Disabled,
        ExternalItem,
        Lasting,
        LastNotification,
        MessageSubject,
        Scope,
        Silence,
        Transition,
    )
    from store._open import open_store
    from store._rebuild import Discrepancy
    from store._release_ledger import ReleaseLedger, RememberedPersons
    from store._restore import Restored, restore
    from store._retention import Pruned
    from store._signature_key import signature_key
    from store._store import Store
    from store._transaction import ReadTransaction, WriteTransaction
    from store._values import (
        BACKFILL,
        Counts,
        IncidentChange,
        IncidentFilter,
        LoggedEvent,
        LoggedEventKind,
        Pace,
        ReleaseEvent,
        ReleaseEventKind,
        Result,
        Run,
        RunCost,
        Sample,
        Spending,
        StoredComparison,
    )
    from store._work import (
        DaemonConfig,
        DaemonRecord,
        Lease,
        Quarantine,
        Scheduled,
        Skip,
        SkipReason,
        Slot,
        SlotDecision,
        SlotState,
    )

__all__ = [
    "BACKFILL",
    "NO_LINKS",
    "ApiToken",
    "Backup",
    "Changed",
    "Counts",
    "DaemonConfig",
    "DaemonLock",
    "DaemonRecord",
    "DatedCharge",
    "Delivery",
    "DeliveryState",
    "Disabled",
    "Discrepancy",
    "ExternalItem",
    "FailPoint",
    "Grant",
    "History",
    "IncidentChange",
    "IncidentFilter",
    "IncidentPlace",
    "IncidentSlice",
    "LastNotification",
    "Lasting",
    "Lease",
    "LedgerBroken",
    "LoggedEvent",
    "LoggedEventKind",
    "LoginLink",
    "MessageSubject",
    "NotRecorded",
    "Pace",
    "Pruned",
    "Quarantine",
    "ReadTransaction",
    "ReleaseEvent",
    "ReleaseEventKind",
    "ReleaseLedger",
    "RememberedPersons",
    "Restored",
    "Result",
    "RowRefused",
    "Run",
    "RunCost",
    "Sample",
    "Scheduled",
    "Scope",
    "SignInMethod",
    "Silence",
    "Skip",
    "SkipReason",
    "Slot",
    "SlotDecision",
    "SlotState",
    "Spending",
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
    "StoredComparison",
    "StoredCounts",
    "StoredLedger",
    "Transition",
    "Tries",
    "WebRole",
    "WebSession",
    "WebUser",
    "WriteTransaction",
    "anchor_file",
    "backup",
    "daemon_lock",
    "lock_file",
    "lock_holder",
    "open_store",
    "reached",
    "restore",
    "signature_key",
    "store_file",
]

_HOMES: Final = {
    "_account_rows": ("WebRole",),
    "_accounts": ("ApiToken", "Grant", "LoginLink", "SignInMethod", "WebSession", "WebUser"),
    "_backup": ("Backup", "backup"),
    "_class_repository": ("Staged",),
    "_counting": ("StoredCounts",),
    "_errors": (
        "LedgerBroken",
        "NotRecorded",
        "RowRefused",
        "StoreBusy",
        "StoreConflict",
        "StoreCorrupt",
        "StoreError",
        "StoreForeign",
        "StoreHeld",
        "StoreNewer",
        "StoreUnavailable",
    ),
    "_failpoint": ("FailPoint", "reached"),
    "_files": ("NO_LINKS", "lock_file", "store_file"),
    "_incident_pages": ("IncidentPlace", "IncidentSlice"),
    "_incidents": ("History",),
    "_ledger": ("StoredLedger",),
    "_ledger_chain": ("anchor_file",),
    "_ledger_repository": ("DatedCharge", "Tries"),
    "_lock": ("DaemonLock", "daemon_lock", "lock_holder"),
    "_notices": (
        "Changed",
        "Delivery",
        "DeliveryState",
        "Disabled",
        "ExternalItem",
        "Lasting",
        "LastNotification",
        "MessageSubject",
        "Scope",
        "Silence",
        "Transition",
    ),
    "_open": ("open_store",),
    "_rebuild": ("Discrepancy",),
    "_release_ledger": ("ReleaseLedger", "RememberedPersons"),
    "_restore": ("Restored", "restore"),
    "_retention": ("Pruned",),
    "_signature_key": ("signature_key",),
    "_store": ("Store",),
    "_transaction": ("ReadTransaction", "WriteTransaction"),
    "_values": (
        "BACKFILL",
        "Counts",
        "IncidentChange",
        "IncidentFilter",
        "LoggedEvent",
        "LoggedEventKind",
        "Pace",
        "ReleaseEvent",
        "ReleaseEventKind",
        "Result",
        "Run",
        "RunCost",
        "Sample",
        "Spending",
        "StoredComparison",
    ),
    "_work": (
        "DaemonConfig",
        "DaemonRecord",
        "Lease",
        "Quarantine",
        "Scheduled",
        "Skip",
        "SkipReason",
        "Slot",
        "SlotDecision",
        "SlotState",
    ),
}


def __getattr__(name: str) -> Any:
    """Return one of the public names from its home; a command loads no more of the store than it uses."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
