"""Elect the one daemon on a PostgreSQL store that sends messages, by an advisory lock of a session.

The server ends the lock with the connection. It looks often whether the other end is still there, so that after a
machine lost its power another daemon leads within half a minute.
"""

import contextlib
from threading import Lock
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

_KEY: Final = 0x7461_626C  # "tabl", beside the number of a table that each store has of its own

PREPARE: Final = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET statement_timeout = 10000",
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'",  # from version 14 on
)
_TAKE: Final = text("SELECT pg_try_advisory_lock(:key, CAST(CAST('store_revision' AS regclass) AS oid)::integer)")
_RELEASE: Final = text("SELECT pg_advisory_unlock(:key, CAST(CAST('store_revision' AS regclass) AS oid)::integer)")
_HOLDS: Final = text(
    "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() "
    "AND CAST(classid AS bigint) = :key)"
)


class Leader:
    """Whether this process leads, by a connection of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._one_at_a_time = Lock()

    def try_lead(self) -> bool:
        """Become the leader unless there is one; return whether this process leads now.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the server cannot be reached.
        """
        with self._one_at_a_time:
            if self._still_leads():
                return True
            if self._connection is None:
                self._connection = self._connect()
            return bool(self._connection.scalar(_TAKE, {"key": _KEY}))

    def stop(self) -> None:
        """Release the leadership at once: the end of a connection reaches the server in its own time."""
        with self._one_at_a_time:
            if self._connection is not None:
                with contextlib.suppress(SQLAlchemyError):  # the connection is gone, and the lock with it
                    self._connection.execute(_RELEASE, {"key": _KEY})
            self._disconnect()

    def _still_leads(self) -> bool:
        if self._connection is None:
            return False
        try:
            return bool(self._connection.scalar(_HOLDS, {"key": _KEY}))
        except SQLAlchemyError:  # the connection is gone, and the lock with it
            self._disconnect()
            return False

    def _connect(self) -> Connection:
        connection = self._engine.connect()
        for statement in PREPARE:
            connection.exec_driver_sql(statement)
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()  # closes it even where the server does not answer
            self._connection.close()
            self._connection = None
        self._engine.dispose()
