"""Claim a request for a noisy answer for one process at a time, so that parallel requests are charged once.

A claim is a lock that ends with the process that holds it, also when it is killed, and depends on no clock. On SQLite
it is a lock on a file beside the database, which is removed when the claim is released; on PostgreSQL it is an advisory
lock of a session of its own, which the server ends with the connection. A machine that shares a PostgreSQL store and
loses its power or network gives its claims up within half a minute; if it goes on, the request may then be charged once
more, and still has one answer.
"""

import contextlib
import os
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from store._engines import Address, leader_engine
from store._errors import StoreUnavailable, in_our_words
from store._files import NO_LINKS, is_at, lock_file, make_folder
from store._lock import PREPARE

_PAUSE_S: Final = 0.05
_NUMBER: Final = text("SELECT CAST(CAST(CAST('store_revision' AS regclass) AS oid) AS bigint)")
_TAKE: Final = text("SELECT pg_try_advisory_lock(:key)")
_GIVE_BACK: Final = text("SELECT pg_advisory_unlock(:key)")


class RequestClaim:
    """The right to charge and answer one request. Made by `claim_request`; released once, by whichever thread."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def __enter__(self) -> Self:
        """Return the claim itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release it."""
        self.release()

    def release(self) -> None:
        """Release the claim."""
        release, self._release = self._release, None
        if release is not None:
            release()


def claim_request(address: Address, request_id: str, *, lock_timeout: timedelta) -> RequestClaim | None:
    """Claim a request; None if another process, or thread, holds its claim for longer than `lock_timeout`.

    Raises:
        StoreUnavailable: the lock cannot be made.
    """
    engine = leader_engine(address)
    if engine is not None:
        with in_our_words(address.name):
            return _lock_session(engine, request_id, lock_timeout)
    store = Path(str(address.file)).resolve()  # two names of one store have one lock
    file = store.with_name(f"{store.name}.request-{blake2b(request_id.encode(), digest_size=16).hexdigest()}")
    return _within(lock_timeout, lambda: _lock_file(file))


def _within(lock_timeout: timedelta, attempt: Callable[[], RequestClaim | None]) -> RequestClaim | None:
    """Try until `lock_timeout` is over, at least once."""
    end = time.monotonic() + lock_timeout.total_seconds()
    while True:
        claim = attempt()
        if claim is not None or time.monotonic() >= end:
            return claim
        time.sleep(_PAUSE_S)


def _lock_file(file: Path) -> RequestClaim | None:
    while True:
        try:
            make_folder(file.parent)
            number = os.open(file, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"{file} cannot be created ({error.strerror}); check the folder and its permissions; nothing was "
                "charged"
            ) from None
        try:
            lock_file(number)
        except BlockingIOError:
            os.close(number)
            return None
        except OSError as error:
            os.close(number)
            raise StoreUnavailable(
                f"{file} cannot be locked ({error.strerror}); put the store on a local disk; nothing was charged"
            ) from None
        if is_at(file, os.fstat(number)):
            return RequestClaim(partial(_unlock_file, file, number))
        os.close(number)  # its holder removed it meanwhile


def _unlock_file(file: Path, number: int) -> None:
    with contextlib.suppress(OSError):  # an empty file that stays is used by the next one who claims the request
        file.unlink()
    os.close(number)


def _lock_session(engine: Engine, request_id: str, lock_timeout: timedelta) -> RequestClaim | None:
    """Acquire an advisory lock by a connection whose end releases it."""
    with contextlib.ExitStack() as stack:
        connection = engine.connect()
        stack.callback(connection.close)
        stack.callback(connection.invalidate)  # closes it even where the server does not answer
        for statement in PREPARE:
            connection.exec_driver_sql(statement)
        number = connection.scalar(_NUMBER)  # of a table that each store in a database has of its own
        key = int.from_bytes(blake2b(f"{number} {request_id}".encode(), digest_size=8).digest(), "big", signed=True)
        lock = _within(lock_timeout, lambda: _TAKEN if connection.scalar(_TAKE, {"key": key}) else None)
        if lock is None:
            return None
        stack.push(_unless_gone)
        stack.callback(connection.scalar, _GIVE_BACK, {"key": key})
        return RequestClaim(stack.pop_all().close)


def _unless_gone(kind: type[BaseException] | None, *_: object) -> bool:
    """Pass over that a lock could not be given back: the connection is gone, and the lock with it."""
    return kind is not None and issubclass(kind, SQLAlchemyError)


_TAKEN: Final = RequestClaim(lambda: None)
