"""The store itself: one transaction at a time, many readers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from sqlalchemy import Connection, Engine, Transaction, text

from store._engines import (
    BEGIN_TRIES,
    FAILED,
    WAL_BYTES_KEPT,
    Address,
    leader_engine,
    reader_engine,
    writer_engine,
)
from store._errors import StoreBusy, StoreError, StoreForeign, in_our_words
from store._files import ChangeCounter, is_at, last_file, log_of, make_draft, remove_draft, replaced_logs
from store._lock import Leader
from store._transaction import ReadTransaction, WriteTransaction

if TYPE_CHECKING:
    from store._rebuild import Discrepancy, EventComparison
    from store._request_claims import RequestClaim
    from store._retention import Pruned
    from store._trusted_time import Postponed, TrustedTime

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEARLY_FULL: Final = 64 * 2**20
"""Bytes that are free on the disk of the store below which its log is kept short."""
_WAIT_FOR_READERS_MS: Final = 200
_LAST_FORM: Final = "tablewatch.store-last/1"


class Store:
    """The store. Made by `open_store`; use it in the process that opened it, and close it.

    Threads may share it: writers wait for one another, readers do not wait.
    """

    def __init__(self, address: Address, *, lock_timeout: timedelta, checkpoints: bool) -> None:
        self.name = address.name
        """Where it is, without a password."""
        self.is_file = address.file is not None
        """Whether it is a SQLite file, which one daemon at most uses, and no PostgreSQL database."""
        self._process = os.getpid()
        self._address = address
        self._file = address.file
        self._checkpoints = checkpoints
        self._opened = address.file.stat() if address.file is not None and address.file.exists() else None
        self._writer = writer_engine(address, lock_timeout=lock_timeout, checkpoints=checkpoints)
        self._reader = reader_engine(address, lock_timeout=lock_timeout)
        self._has_log = False
        self._changes = ChangeCounter(address.file)
        leader = leader_engine(address)
        self._leader = None if leader is None else Leader(leader)

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """Read one snapshot of the store, whatever others write meanwhile.

        Raises:
            StoreBusy: too many readers of this process hold it.
        """
        with in_our_words(self.name), self._connect(self._reader) as connection, connection.begin():
            yield ReadTransaction(connection)

    @contextmanager
    def writing(self) -> Iterator[WriteTransaction]:
        """Write everything in the block or, if it raises, nothing. Keep the block short: others wait.

        Raises:
            StoreBusy: others held the store for longer than its lock_timeout; nothing was written.
            StoreConflict: what the change was based on is no longer so; nothing was written.
        """
        with in_our_words(self.name), self._connect(self._writer) as connection, self._begin(connection):
            connection.info[FAILED] = False
            self._has_log = True
            yield WriteTransaction(connection)
            if connection.info[FAILED]:  # PostgreSQL would take everything back and call it a commit
                raise StoreError(
                    f"{self.name}: a statement failed earlier in this transaction; nothing of it was stored"
                )
        if self._file is not None:  # what is in a log that was deleted meanwhile is not stored
            self.check_place()

    def claim(self, project: str, *, adopt: bool = False) -> None:
        """Report which project uses the store: the first keeps it.

        So that two configurations never share one by mistake.

        `adopt` takes the store over, after the project was renamed.

        Raises:
            StoreForeign: it is another project's.
        """
        with self.reading() as tx:
            owner = tx.project()
        if owner is None or (adopt and owner != project):
            with self.writing() as tx:
                owner = None if adopt else tx.project()
                if owner is None:
                    tx.name_project(project)
        if owner not in {None, project}:
            raise StoreForeign(
                f"{self.name} is the store of project '{owner}', and this configuration is project '{project}'; use "
                "a separate store (storage.url), or, if the project was renamed, run 'tablewatch config adopt-store'"
            )

    def check_place(self) -> None:
        """Check whether the file that was opened is still in its place: SQLite goes on writing to one that was deleted.

        Raises:
            StoreError: it was deleted or replaced.
        """
        if self._file is not None and self._opened is not None and not is_at(self._file, self._opened):
            raise StoreError(
                f"{self.name} was deleted or replaced while in use, and later writes are lost; "
                "restore a backup with 'tablewatch restore FILE', or restart to begin with an empty store"
            )
        if self._file is not None and self._has_log and (replaced := replaced_logs(self._file)):
            raise StoreError(
                f"{replaced[0]} was deleted or replaced while in use; what was stored in it may be lost, unless this "
                "process, as it ends, can save it; run 'tablewatch doctor'"
            )

    @property
    def log(self) -> os.stat_result | None:
        """Return the write-ahead log as it lies beside the file; None without one."""
        return None if self._file is None else log_of(self._file)

    def missing(self) -> str | None:
        """Describe what was in this store and is not any more, by the file beside it; None if nothing is missing."""
        known, present = self._last_known(), self._last_stored()
        if known is None or present is None:
            return None
        if present.event < known.event or present.run < known.run:
            what = f"event {known.event} and run {known.run}, but ends at event {present.event} and run {present.run}"
        elif self.inspect(partial(_event_checksum, event=known.event)) != known.checksum:
            what = f"another event {known.event} than this one has"
        else:
            return None
        return f"{self.name} once held {what}: what was stored since is lost, or it is another store"

    def save_last(self) -> None:
        """Save how far the store goes in a file beside it, unless something of what was saved before is missing."""
        if self._file is None or self.missing() is not None:
            return
        present = self._last_stored()
        if present is None or present == self._last_known():
            return
        with suppress(OSError):  # a folder in which nothing can be made: nothing is compared then
            draft = make_draft(self._file)
            draft.write_text(json.dumps({"form": _LAST_FORM, **asdict(present)}), encoding="utf-8")
            draft.replace(last_file(self._file))
            remove_draft(draft)

    def _last_stored(self) -> _Last | None:
        return None if self._file is None else self.inspect(_last_stored)

    def _last_known(self) -> _Last | None:
        if self._file is None:
            return None
        try:
            match json.loads(last_file(self._file).read_bytes()):
                case {"form": str(form), "event": int(event), "run": int(run), "checksum": str() | None as checksum}:
                    return _Last(event, run, checksum) if form == _LAST_FORM else None
        except (OSError, ValueError):
            pass
        return None

    def shorten_log(self) -> None:
        """Move the write-ahead log into the file and empty it, if it is long or the disk nearly full.

        Only for the process that checkpoints. What readers still look at stays in the log until the next time. On a
        full disk a log that was left to grow could not be moved any more, since the file has to grow for that.

        Raises:
            StoreError: the disk is full or failing.
        """
        if self._file is None or not self._checkpoints or not self._log_is_long(self._file):
            return
        self._in_its_process()
        with in_our_words(self.name), closing(self._writer.raw_connection()) as connection:
            cursor = connection.cursor()
            _, pages, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages != moved:
                return
            (lock_timeout,) = cursor.execute("PRAGMA busy_timeout").fetchone()
            cursor.execute(f"PRAGMA busy_timeout = {_WAIT_FOR_READERS_MS}")  # no other process writes meanwhile
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {lock_timeout}")

    def _log_is_long(self, file: Path) -> bool:
        try:
            length = Path(f"{file}-wal").stat().st_size
            disk = os.statvfs(file.parent)
        except OSError:
            return False
        return length > WAL_BYTES_KEPT or (length > 0 and disk.f_bavail * disk.f_frsize < _NEARLY_FULL)

    def prune(self, *, keep_measurements: timedelta, keep_incidents: timedelta, now: datetime) -> Pruned:
        """Delete rows past their retention, in many short transactions; return how many.

        Measurements older than `keep_measurements` go, but of each check the newest one and the newest accepted one.
        Incidents go with their events when they are resolved and nothing happened to them for `keep_incidents`, and no
        incident that stays names them.
        """
        from store._retention import Pruned

        total = Pruned()
        while True:
            with self.writing() as tx:
                step = tx.prune(keep_measurements=keep_measurements, keep_incidents=keep_incidents, now=now)
            if step == Pruned():
                return total
            total += step

    def prune_if_trusted(
        self,
        *,
        keep_measurements: timedelta,
        keep_incidents: timedelta,
        now: datetime,
        monotonic: float,
        boot: str | None = None,
        at_most: timedelta = timedelta(0),
    ) -> Pruned | Postponed | None:
        """Record the time, and delete as `prune` does if the clock is trusted; else return what waits, None if nothing.

        `monotonic`, `boot`: the uptime of the clock that `now` is of. `at_most`: nothing is done if a time in the same
        period of this length was recorded before, by a process that then deleted, or will.
        """
        with self.writing() as tx:
            recorded = tx.recorded_time()
            self.record_time(tx, now=now, monotonic=monotonic, boot=boot)
        if at_most and recorded is not None and (recorded - _EPOCH) // at_most == (now - _EPOCH) // at_most:
            return None
        postponed = self.postponed(
            keep_measurements=keep_measurements, keep_incidents=keep_incidents, now=now, monotonic=monotonic, boot=boot
        )
        if postponed is not None:
            if not (postponed.runs or postponed.incidents):
                return None
            with self.writing() as tx:
                return replace(postponed, is_news=tx.note_postponed(now))
        is_whole = self.missing() is None
        pruned = self.prune(keep_measurements=keep_measurements, keep_incidents=keep_incidents, now=now)
        if is_whole and pruned.text and self._file is not None:  # the newest event may have been old
            last_file(self._file).unlink(missing_ok=True)
            self.save_last()
        return pruned

    def postponed(
        self,
        *,
        keep_measurements: timedelta,
        keep_incidents: timedelta,
        now: datetime,
        monotonic: float,
        boot: str | None = None,
    ) -> Postponed | None:
        """Return what is past its retention and stays since the clock is not trusted; None if it is trusted."""
        from store._trusted_time import count_postponed

        return self.inspect(
            lambda connection: count_postponed(
                connection,
                self._trusted.at(connection, now=now, monotonic=monotonic, boot=boot),
                now=now,
                measured_before=now - keep_measurements,
                incidents_before=now - keep_incidents,
            )
        )

    def record_time(self, tx: WriteTransaction, *, now: datetime, monotonic: float, boot: str | None = None) -> None:
        """Record the time, as far as it is trusted. `monotonic`, `boot`: the uptime of its clock."""
        tx.record_time(self._trusted, now=now, monotonic=monotonic, boot=boot)

    @cached_property
    def _trusted(self) -> TrustedTime:
        """Return how far the clock of this process is believed."""
        from store._trusted_time import TrustedTime

        return TrustedTime()

    def inspect(self, read: Callable[[Connection], T]) -> T:
        """Return what a function reads over a connection, of any database: it may have no tables of ours."""
        with in_our_words(self.name), self._connect(self._reader) as connection, connection.begin():
            return read(connection)

    def try_out(self, change: Callable[[Connection], T]) -> T:
        """Return what a function returns over a connection that may write, and take back all that it wrote."""
        with in_our_words(self.name), self._connect(self._writer) as connection, self._begin(connection) as transaction:
            result = change(connection)
            transaction.rollback()
        return result

    def rebuild_check(self) -> Sequence[Discrepancy]:
        """Fold the incidents' events and name the first hundred whose stored form differs; empty when all agree."""
        from store._rebuild import compare_with_events

        return self.inspect(compare_with_events)

    def plan_comparison(self, now: datetime, *, everything: bool) -> EventComparison:
        """Return which incidents `compare_incidents` is to compare with their events: all, or those that changed."""
        from store._rebuild import plan_comparison

        return self.inspect(lambda connection: plan_comparison(connection, now, everything=everything))

    def compare_incidents(
        self, planned: EventComparison, now: datetime, *, advance: Callable[[int], object] = lambda _: None
    ) -> EventComparison:
        """Compare incidents with their events, at most until a hundred differ; record that none does.

        `advance` is called with the number of incidents after each batch.
        """
        from store._rebuild import compare

        comparison = self.inspect(lambda connection: compare(connection, planned, advance))
        if not comparison.wrong:
            with suppress(StoreError), self.writing() as tx:  # else the next one begins where this one began
                tx.record_comparison(comparison, now)
        return comparison

    def try_lead(self) -> bool:
        """Become the daemon that dispatches alerts and reports, unless there is one; return whether this one is.

        Ask each time before acting on it: on PostgreSQL the lock belongs to a connection, and may be lost with it.
        On SQLite there is one daemon at most, and it leads.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        self._in_its_process()
        if self._leader is None:
            return True
        with in_our_words(self.name):
            return self._leader.try_lead()

    def stop_leading(self) -> None:
        """Release the leadership."""
        if self._leader is not None:
            self._leader.stop()

    @contextmanager
    def lead(self) -> Iterator[bool]:
        """Lead in the block, unless another process does; yield whether this process leads as it begins.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        try:
            yield self.try_lead()
        finally:
            self.stop_leading()

    def claim_request(self, request_id: str, *, lock_timeout: timedelta) -> RequestClaim | None:
        """Claim a request for a noisy answer; None if another process holds its claim for longer than `lock_timeout`.

        Raises:
            StoreUnavailable: the lock cannot be made, or the server cannot be reached.
        """
        from store._request_claims import claim_request

        self._in_its_process()
        return claim_request(self._address, request_id, lock_timeout=lock_timeout)

    def close(self) -> None:
        """Close all connections."""
        self.stop_leading()
        if self._has_log and os.getpid() == self._process:
            with suppress(StoreError):
                self.save_last()
        self._changes.close()
        self._writer.dispose()
        self._reader.dispose()

    def change_counter(self) -> int | None:
        """Return a number that is another one once anything was written to a SQLite store; None where that is unknown.

        Numbers of one process are compared. It costs microseconds, a transaction a millisecond. Thread-safe.
        """
        return self._changes.read()

    def _connect(self, engine: Engine) -> Connection:
        self._in_its_process()
        return engine.connect()

    def _in_its_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreError("a store was used in another process than the one that opened it; open it again there")

    def _begin(self, connection: Connection) -> Transaction:
        return _patiently(connection.begin, self.name)


@dataclass(frozen=True, slots=True)
class _Last:
    """The newest event of an incident, with its checksum, and the newest run; 0 without any."""

    event: int
    run: int
    checksum: str | None


def _last_stored(connection: Connection) -> _Last:
    event = connection.scalar(text("SELECT max(id) FROM incident_event")) or 0
    run = connection.scalar(text("SELECT max(number) FROM run")) or 0
    return _Last(event, run, _event_checksum(connection, event=event))


def _event_checksum(connection: Connection, *, event: int) -> str | None:
    checksum = connection.scalar(text("SELECT checksum FROM incident_event WHERE id = :event"), {"event": event})
    return None if checksum is None else str(checksum)


def _patiently(begin: Callable[[], Transaction], name: str) -> Transaction:
    """Begin a transaction, with a few attempts: each one waits by itself."""
    for _ in range(BEGIN_TRIES - 1):
        try:
            with in_our_words(name):
                return begin()
        except StoreBusy:
            continue
    return begin()
