"""Errors: ours, in our words, without anything that a driver said."""

import sqlite3
import traceback
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import exc

from store import (
    RowRefused,
    Store,
    StoreBusy,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
    open_store,
)
from store._errors import in_our_words
from tests.store.made import opened, result, run

SECRET = "s3cret"  # noqa: S105 - what must not be seen again


def _sqlite(name: str, kind: type[sqlite3.Error] = sqlite3.OperationalError) -> sqlite3.Error:
    error = kind(f"said with {SECRET}")
    error.sqlite_errorname = name
    error.sqlite_errorcode = getattr(sqlite3, name)
    return error


@pytest.mark.parametrize(
    ("cause", "becomes", "message"),
    [
        (_sqlite("SQLITE_BUSY"), StoreBusy, "locked by another process"),
        (_sqlite("SQLITE_BUSY_SNAPSHOT"), StoreBusy, "locked by another process"),
        (_sqlite("SQLITE_FULL"), StoreUnavailable, "disk is full"),
        (_sqlite("SQLITE_IOERR_WRITE"), StoreUnavailable, "disk is full or failing"),
        (_sqlite("SQLITE_READONLY"), StoreUnavailable, "permissions"),
        (_sqlite("SQLITE_CANTOPEN"), StoreUnavailable, "permissions"),
        (_sqlite("SQLITE_CORRUPT", sqlite3.DatabaseError), StoreCorrupt, "not changed"),
        (_sqlite("SQLITE_NOTADB", sqlite3.DatabaseError), StoreCorrupt, "not an SQLite database"),
        (_sqlite("SQLITE_CONSTRAINT_UNIQUE", sqlite3.IntegrityError), StoreConflict, "already holds"),
        (_sqlite("SQLITE_CONSTRAINT_CHECK", sqlite3.IntegrityError), StoreError, "SQLITE_CONSTRAINT_CHECK"),
        (sqlite3.ProgrammingError(SECRET), StoreError, "ProgrammingError"),
        (sqlite3.OperationalError(f"Could not decode to UTF-8 column 'x' with text '{SECRET}'"), StoreCorrupt, "text"),
        (UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, "invalid"), StoreCorrupt, "invalid text"),
    ],
    ids=lambda value: getattr(value, "sqlite_errorname", None),
)
def test_what_sqlite_says_is_said_in_our_words(cause: Exception, becomes: type[StoreError], message: str) -> None:
    """Each of SQLite's refusals has one meaning, names the store, and loses the driver's text."""
    for error in (cause, exc.OperationalError("SELECT 1", {"x": SECRET}, cause)):
        with pytest.raises(becomes, match=message) as caught, in_our_words("store.db"):
            raise error
        assert "store.db" in str(caught.value)
        shown = "".join(traceback.format_exception(caught.value))
        assert SECRET not in shown
        assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("LockNotAvailable", StoreBusy),
        ("SerializationFailure", StoreBusy),
        ("UniqueViolation", StoreConflict),
        ("InvalidPassword", StoreUnavailable),
        ("InsufficientPrivilege", StoreUnavailable),
        ("DiskFull", StoreUnavailable),
        ("AdminShutdown", StoreUnavailable),
        ("CheckViolation", StoreError),
    ],
)
def test_what_postgresql_says_is_said_in_our_words(name: str, becomes: type[StoreError]) -> None:
    """Each of PostgreSQL's refusals has one meaning too; its DETAIL, which prints values, is lost."""
    from psycopg import errors

    cause = getattr(errors, name)(f"DETAIL: Key ({SECRET}) already exists")
    with pytest.raises(StoreError) as caught, in_our_words("db/watch"):
        raise exc.DBAPIError("SELECT 1", {"x": SECRET}, cause)
    assert type(caught.value) is becomes
    assert name in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_pool_without_a_free_connection_is_busy() -> None:
    """Waiting in vain for another thread of this process is said as that."""
    with pytest.raises(StoreBusy, match="another thread"), in_our_words("store.db"):
        raise exc.TimeoutError


def test_other_errors_pass(store: Store) -> None:
    """What is not one of the store's business stays what it is."""
    with pytest.raises(KeyError), store.writing():
        raise KeyError


def test_a_refused_value_is_not_shown(url: str) -> None:
    """The message about a refused row says what kind of value it was, and nothing of the row."""
    one = run()
    odd = result(one, observed={SECRET: 1, "x": b"y"})
    with (
        open_store(url, lock_timeout=timedelta(seconds=5)) as store,
        pytest.raises(RowRefused, match="of type bytes") as caught,
        store.writing() as tx,
    ):
        tx.results.add_runs([one], [odd])
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_constraint_is_refused_without_its_row(store: Store) -> None:
    """A row that the database refuses is reported by the kind of rule, not by its values."""
    with store.writing() as tx:
        incident = tx.incidents.open(opened(title=SECRET), recorded_at=run().started_at, actor=SECRET)
    odd = replace(result(run()), duration_s=1, table=SECRET, reason="timeout")
    with pytest.raises(StoreError) as caught, store.writing() as tx:
        tx.results.add_runs([run()], [odd])
    assert "CheckViolation" in str(caught.value) or "SQLITE_CONSTRAINT_CHECK" in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert incident.title == SECRET
