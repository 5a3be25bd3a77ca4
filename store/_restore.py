"""Restore a backup while no process uses the store; the present store is kept beside it.

A store that can be read is overwritten by SQLite itself, in one transaction: a crash leaves the old one or the new one.
One that cannot be read is kept under another name, its log with it, so that the log is never taken for the new store's.
"""

from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from sqlite3 import Connection

from sqlalchemy import URL

from store import _open
from store._backup import (
    LOCK_TIMEOUT,
    Backup,
    connect,
    copy_state,
    draft_beside,
    name_without_replacing,
    sqlite_file,
    take_for_itself,
    verify,
)
from store._engines import Address, address_of
from store._errors import StoreCorrupt, StoreError, StoreForeign, StoreUnavailable, in_our_words
from store._failpoint import FailPoint, reached
from store._files import LOG_ENDS, last_file, logs_of, put_on_disk
from store._lock import daemon_lock
from store._open import REVISION_TABLE, migrate, refuse_foreign


@dataclass(frozen=True, slots=True)
class Restored:
    """The restored store, and the file in which the previous one is kept; None if there was none."""

    backup: Backup
    kept: Path | None


def restore(
    url: str, file: Path, *, now: datetime, project: str | None = None, lock_timeout: timedelta = LOCK_TIMEOUT
) -> Restored:
    """Restore a backup in the place of the store. An older one is migrated first.

    Args:
        url: of the store.
        file: the copy; it is not changed.
        now: names the file in which the present store is kept.
        project: the project of the store; None for any.
        lock_timeout: how long to wait for others to let go of the store.

    Raises:
        StoreInUse: a daemon runs. StoreBusy: another process has the store open.
        StoreCorrupt, StoreForeign, StoreNewer: the copy is damaged, no store or another project's, or newer.
        StoreUnavailable: no copy there, no space, no permission.
        StoreError: the copy is the store itself; the store is on PostgreSQL.
    """
    store = sqlite_file(address_of(url))
    if not file.is_file():
        raise StoreUnavailable(f"{file} does not exist or is not a file; give a file written by 'tablewatch backup'")
    if file.resolve() == store or (store.exists() and file.samefile(store)):
        raise StoreError(f"{file} is the store itself; give a file written by 'tablewatch backup'")
    with daemon_lock(url), draft_beside(store) as draft:  # the lock makes the folder, too
        result = _prepare(file, draft, project=project, lock_timeout=lock_timeout)
        path = _put_in_place(store, draft, now=now, lock_timeout=lock_timeout)
        last_file(store).unlink(missing_ok=True)  # a person went back to the copy
    return Restored(result, path)


def _prepare(file: Path, draft: Path, *, project: str | None, lock_timeout: timedelta) -> Backup:
    """Make the draft a copy of the copy that can be used at once."""
    with in_our_words(str(file)):
        in_use = any(log.exists() for log in logs_of(file))
        copied = copy_state(file, draft, mode="rw" if in_use else "ro&immutable=1")  # leaves nothing beside the copy
    result = verify(draft, name=str(file), copied=copied)
    if project is not None and result.project not in {None, project}:
        raise StoreForeign(
            f"{file} is a copy of the store of project '{result.project}'; this configuration is project '{project}'"
        )
    if result.revision != _open.HEAD:
        migrate(
            Address(URL.create("sqlite", database=str(draft)), str(file), draft),
            to=_open.HEAD,
            lock_timeout=lock_timeout,
        )
        with in_our_words(str(file)), closing(connect(draft, "rw")) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        verify(draft, name=str(file))
    put_on_disk(draft)
    return replace(result, file=file)


def _put_in_place(store: Path, draft: Path, *, now: datetime, lock_timeout: timedelta) -> Path | None:
    """Move the draft into the place of the store; return where the previous store is kept."""
    if store.exists() and store.stat().st_size > 0:  # SQLite would remove the log beside an empty file
        try:
            return _overwrite(store, draft, path=_free_name(store, now), lock_timeout=lock_timeout)
        except StoreCorrupt:
            pass  # then it is moved aside as it is
    was_there = store.exists()
    path = _free_name(store, now)
    _keep_aside(store, path)
    if was_there:
        draft.replace(store)
    else:
        name_without_replacing(draft, store)
    put_on_disk(store.parent)
    return path if was_there else None


def _overwrite(store: Path, draft: Path, *, path: Path, lock_timeout: timedelta) -> Path:
    """Copy the store to where it is kept, and the draft over it, under an exclusive lock.

    Raises:
        StoreBusy: a process has it open. StoreCorrupt: it cannot be read. StoreForeign: it is no store.
    """
    with in_our_words(str(store)), closing(connect(store, "rw", lock_timeout=lock_timeout)) as present:
        take_for_itself(present)
        tables = {name for (name,) in present.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if REVISION_TABLE not in tables:
            refuse_foreign(tables, str(store))
        with draft_beside(path) as copy:
            with closing(connect(copy, "rw")) as target:
                present.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            put_on_disk(copy)
            name_without_replacing(copy, path)
        put_on_disk(path.parent)
        reached(FailPoint.IN_RESTORE)
        with closing(connect(draft, "rw")) as source:
            _have_one_page_size(source, present)
            source.backup(present)
    return path


def _have_one_page_size(source: Connection, present: Connection) -> None:
    """Write a database again if its pages are of another size: one with a log cannot change the size of its own."""
    (size,) = present.execute("PRAGMA page_size").fetchone()
    if source.execute("PRAGMA page_size").fetchone() != (size,):
        source.execute(f"PRAGMA page_size = {size}")
        source.execute("VACUUM")


def _keep_aside(store: Path, path: Path) -> None:
    """Link a store that cannot be read a second name, and move its log there.

    A log that is left behind would be taken for the new store's. The file itself stays in its place until it is
    replaced: where there is no store, a daemon that starts would make a new, empty one.
    """
    if store.exists():
        try:
            path.hardlink_to(store)
        except OSError:  # a disk without links, such as a memory stick
            store.rename(path)
    for end in LOG_ENDS:
        part = Path(f"{store}{end}")
        if part.exists():
            part.rename(f"{path}{end}")
    put_on_disk(store.parent)
    reached(FailPoint.IN_RESTORE_LOG_MOVED)


def _free_name(store: Path, now: datetime) -> Path:
    text = f"{store.name}.before-restore-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (store.with_name(text if number == 1 else f"{text}-{number}") for number in count(1))
    return next(name for name in names if not any(Path(f"{name}{end}").exists() for end in ("", *LOG_ENDS)))
