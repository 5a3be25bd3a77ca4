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
    from store._accounts import ApiToken as ApiToken
    from store._accounts import Grant as Grant
    from store._accounts import LoginLink as LoginLink
    from store._accounts import SignInMethod as SignInMethod
    from store._accounts import WebRole as WebRole
    from store._accounts import WebSession as WebSession
    from store._accounts import WebUser as WebUser
    from store._backup import Backup as Backup
    from store._backup import backup as backup
    from store._class_repository import Staged as Staged
    from store._copy import COPY_STEPS as COPY_STEPS
    from store._copy import Copied as Copied
    from store._copy import cancel_copy as cancel_copy
    from store._copy import copy_store as copy_store
    from store._counting import StoredCounts as StoredCounts
    from store._errors import LedgerBroken as LedgerBroken
    from store._errors import NotRecorded as NotRecorded
    from store._errors import RowRefused as RowRefused
    from store._errors import StoreBusy as StoreBusy
    from store._errors import StoreConflict as StoreConflict
    from store._errors import StoreCorrupt as StoreCorrupt
    from store._errors import StoreError as StoreError
    from store._errors import StoreForeign as StoreForeign
    from store._errors import StoreInUse as StoreInUse
    from store._errors import StoreMissing as StoreMissing
    from store._errors import StoreMoved as StoreMoved
    from store._errors import StoreNewer as StoreNewer
    from store._errors import StoreUnavailable as StoreUnavailable
    from store._failpoint import FailPoint as FailPoint
    from store._failpoint import reached as reached
    from store._files import NO_LINKS as NO_LINKS
    from store._files import last_file as last_file
    from store._files import lock_file as lock_file
    from store._files import store_file as store_file
    from store._incident_pages import IncidentPlace as IncidentPlace
    from store._incident_pages import IncidentSlice as IncidentSlice
    from store._incidents import History as History
    from store._ledger import StoredLedger as StoredLedger
    from store._ledger_chain import anchor_file as anchor_file
    from store._ledger_repository import DatedCharge as DatedCharge
    from store._ledger_repository import RequestHistory as RequestHistory
    from store._lock import DaemonLock as DaemonLock
    from store._lock import announced_server as announced_server
    from store._lock import daemon_lock as daemon_lock
    from store._lock import lock_holder as lock_holder
    from store._lock import server_address as server_address
    from store._notices import Changed as Changed
    from store._notices import Delivery as Delivery
    from store._notices import DeliveryState as DeliveryState
    from store._notices import Disabled as Disabled
    from store._notices import ExternalItem as ExternalItem
    from store._notices import LastingIncident as LastingIncident
    from store._notices import LastNotification as LastNotification
    from store._notices import MessageSubject as MessageSubject
    from store._notices import Scope as Scope
    from store._notices import Silence as Silence
    from store._notices import Transition as Transition
    from store._open import open_store as open_store
    from store._open import schema_problems as schema_problems
    from store._rebuild import Discrepancy as Discrepancy
    from store._rebuild import EventComparison as EventComparison
    from store._release_ledger import ReleaseLedger as ReleaseLedger
    from store._release_ledger import RememberedPersons as RememberedPersons
    from store._restore import Restored as Restored
    from store._restore import restore as restore
    from store._retention import Pruned as Pruned
    from store._signature_key import signature_key as signature_key
    from store._status_addresses import StatusAddress as StatusAddress
    from store._status_addresses import StatusScope as StatusScope
    from store._store import Store as Store
    from store._transaction import ReadTransaction as ReadTransaction
    from store._transaction import WriteTransaction as WriteTransaction
    from store._trusted_time import CONFIRM as CONFIRM
    from store._trusted_time import Postponed as Postponed
    from store._values import BACKFILL as BACKFILL
    from store._values import CheckRunTime as CheckRunTime
    from store._values import Counts as Counts
    from store._values import IncidentChange as IncidentChange
    from store._values import IncidentFilter as IncidentFilter
    from store._values import LoggedEvent as LoggedEvent
    from store._values import LoggedEventKind as LoggedEventKind
    from store._values import NameChange as NameChange
    from store._values import NamedThing as NamedThing
    from store._values import ReleaseEvent as ReleaseEvent
    from store._values import ReleaseEventKind as ReleaseEventKind
    from store._values import Result as Result
    from store._values import Run as Run
    from store._values import RunCost as RunCost
    from store._values import Sample as Sample
    from store._values import Spending as Spending
    from store._values import StoredComparison as StoredComparison
    from store._values import current_name as current_name
    from store._work import DaemonConfig as DaemonConfig
    from store._work import DaemonRecord as DaemonRecord
    from store._work import Lease as Lease
    from store._work import Quarantine as Quarantine
    from store._work import Scheduled as Scheduled
    from store._work import Skip as Skip
    from store._work import SkipReason as SkipReason
    from store._work import Slot as Slot
    from store._work import SlotDecision as SlotDecision
    from store._work import SlotState as SlotState


_HOMES: Final = {
    "_accounts": "ApiToken Grant LoginLink SignInMethod WebRole WebSession WebUser",
    "_backup": "Backup backup",
    "_class_repository": "Staged",
    "_copy": "COPY_STEPS Copied cancel_copy copy_store",
    "_counting": "StoredCounts",
    "_errors": (
        "LedgerBroken NotRecorded RowRefused StoreBusy StoreConflict StoreCorrupt StoreError StoreForeign StoreInUse "
        "StoreMissing StoreMoved StoreNewer StoreUnavailable"
    ),
    "_failpoint": "FailPoint reached",
    "_files": "NO_LINKS last_file lock_file store_file",
    "_incident_pages": "IncidentPlace IncidentSlice",
    "_incidents": "History",
    "_ledger": "StoredLedger",
    "_ledger_chain": "anchor_file",
    "_ledger_repository": "DatedCharge RequestHistory",
    "_lock": "DaemonLock announced_server daemon_lock lock_holder server_address",
    "_notices": (
        "Changed Delivery DeliveryState Disabled ExternalItem LastNotification LastingIncident MessageSubject Scope "
        "Silence Transition"
    ),
    "_open": "open_store schema_problems",
    "_rebuild": "EventComparison Discrepancy",
    "_release_ledger": "ReleaseLedger RememberedPersons",
    "_restore": "Restored restore",
    "_retention": "Pruned",
    "_signature_key": "signature_key",
    "_status_addresses": "StatusAddress StatusScope",
    "_store": "Store",
    "_transaction": "ReadTransaction WriteTransaction",
    "_trusted_time": "CONFIRM Postponed",
    "_values": (
        "BACKFILL CheckRunTime Counts IncidentChange IncidentFilter LoggedEvent LoggedEventKind NameChange NamedThing "
        "ReleaseEvent ReleaseEventKind Result Run RunCost Sample Spending StoredComparison current_name"
    ),
    "_work": "DaemonConfig DaemonRecord Lease Quarantine Scheduled Skip SkipReason Slot SlotDecision SlotState",
}

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Return one of the public names from its home; a command loads no more of the store than it uses."""
    if name in _HOME_OF:
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
