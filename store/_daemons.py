"""Store which daemons there are, and which checks kill their workers."""

import json
import zlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select

from store._columns import Mapped
from store._repository import Repository, any_of
from store._work import DaemonConfig, DaemonRecord, Quarantine
from store._work_rows import DaemonConfigRow, DaemonRow, QuarantineRow

_DAEMON: Final = DaemonRow.__table__
_CONFIG: Final = DaemonConfigRow.__table__
_QUARANTINE: Final = QuarantineRow.__table__
_RECORDS: Final = Mapped(DaemonRow, DaemonRecord)
_QUARANTINES: Final = Mapped(QuarantineRow, Quarantine)


class DaemonReader(Repository):
    """Queries about daemons."""

    def records(self) -> list[DaemonRecord]:
        """Return the daemons that run or ran lately, the one that started last first."""
        newest_first = select(*_RECORDS.columns).order_by(_DAEMON.c.started_at.desc(), _DAEMON.c.id)
        return _RECORDS.values(self._connection.execute(newest_first))

    def config(self, daemon_id: str) -> DaemonConfig | None:
        """Return the configuration that a daemon uses, or used last; None if it wrote none."""
        row = self._connection.execute(
            select(_CONFIG.c.digest, _CONFIG.c.packed).where(_CONFIG.c.daemon_id == daemon_id)
        ).one_or_none()
        return None if row is None else DaemonConfig(row.digest, json.loads(zlib.decompress(row.packed)))

    def quarantines(self) -> list[Quarantine]:
        """Return the checks that have killed their worker since they last ran well, by check id."""
        rows = self._connection.execute(select(*_QUARANTINES.columns).order_by(_QUARANTINE.c.check_id))
        return _QUARANTINES.values(rows)


class DaemonWriter(DaemonReader):
    """Statements that write daemons."""

    def save(self, daemon: DaemonRecord) -> None:
        """Save the state of a daemon in place of its last one."""
        self._merge(_DAEMON, [_RECORDS.cells(daemon)])

    def save_config(self, daemon_id: str, config: DaemonConfig) -> None:
        """Save the configuration that a daemon uses in place of its last one."""
        packed = zlib.compress(json.dumps(config.values).encode())
        self._merge(_CONFIG, [{"daemon_id": daemon_id, "digest": config.digest, "packed": packed}])

    def count_crash(self, check_id: str, now: datetime, backoff: Callable[[int], timedelta | None]) -> Quarantine:
        """Count that a check killed its worker; `backoff` returns for how long it is suspended after so many times."""
        crashes = 1 + (
            self._connection.scalar(select(_QUARANTINE.c.crashes).where(_QUARANTINE.c.check_id == check_id)) or 0
        )
        length = backoff(crashes)
        quarantine = Quarantine(check_id, crashes, None if length is None else now + length, now)
        self._merge(_QUARANTINE, [_QUARANTINES.cells(quarantine)])
        return quarantine

    def clear_crashes(self, check_ids: Iterable[str]) -> None:
        """Delete the crashes of checks that ran well, or are no longer configured."""
        batch = any_of(self._connection, check_ids, "check_id")
        self._connection.execute(delete(_QUARANTINE).where(_QUARANTINE.c.check_id.in_(batch)))
