"""Read the state of the daemons of a store: heartbeats, scheduler lag, quarantined and delayed tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checks import format_duration
from store import DaemonRecord, Quarantine, ReadTransaction, Scheduled, StoreHeld

SILENT: Final = timedelta(minutes=1)
"""A daemon gives a sign of life every 10 s; after this time without one it is not counted on."""

_KEPT: Final = timedelta(hours=1)
_MOST_SILENT: Final = 3
"""Silent daemons that are told one by one: where they are killed again and again, there are many."""

_MOST_DELAYED: Final = 5


@dataclass(frozen=True, slots=True)
class DaemonStates:
    """What the store knows of its daemons at a time (its own clock)."""

    as_of: datetime
    daemons: Sequence[DaemonRecord]
    waits_since: datetime | None
    quarantines: Sequence[Quarantine]
    holder: StoreHeld | None = None
    """Who holds the lock of the store, where it is a SQLite file."""
    delayed: Sequence[Scheduled] = ()
    """The tables that the daily limit of their source delays."""

    @classmethod
    def of(cls, tx: ReadTransaction, now: datetime, holder: StoreHeld | None) -> "DaemonStates":
        """Read the store; daemons that ended more than an hour ago, stopped or killed, are left out.

        If no other is left, the one with the last heartbeat stays. `holder`: the result of `lock_holder`.
        """
        as_of = tx.schedule.clock(now)
        records = sorted(tx.daemons.records(), key=lambda daemon: daemon.heartbeat_at)
        recent = [daemon for daemon in records if as_of - (daemon.stopped_at or daemon.heartbeat_at) < _KEPT]
        killed = [daemon for daemon in records if daemon.stopped_at is None]
        daemons = sorted(
            recent or killed[-1:], key=lambda daemon: (daemon.started_at, daemon.heartbeat_at), reverse=True
        )
        return cls(as_of, daemons, tx.schedule.lag(as_of), tx.daemons.quarantines(), holder, tx.schedule.delayed())

    def word(self, daemon: DaemonRecord) -> str:
        """Return `running`, `silent` or `stopped`."""
        if daemon.stopped_at is not None:
            return "stopped"
        return "silent" if self.as_of - daemon.heartbeat_at > SILENT else "running"

    @property
    def runs(self) -> bool:
        """Check whether a daemon runs."""
        return any(self.word(daemon) == "running" for daemon in self.daemons)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "daemons": [
                {
                    "state": self.word(daemon),
                    "host": daemon.host,
                    "pid": daemon.pid,
                    "version": daemon.version,
                    "started_at": daemon.started_at.isoformat(),
                    "heartbeat_at": daemon.heartbeat_at.isoformat(),
                    "stopped_at": None if daemon.stopped_at is None else daemon.stopped_at.isoformat(),
                    "config_loaded_at": daemon.config_loaded_at.isoformat(),
                    "config_error": daemon.config_error,
                    "leads": daemon.leads,
                }
                for daemon in self.daemons
            ],
            "lag_s": None if self.waits_since is None else (self.as_of - self.waits_since).total_seconds(),
            "quarantined": [
                {
                    "check_id": quarantine.check_id,
                    "crashes": quarantine.crashes,
                    "until": None if quarantine.until is None else quarantine.until.isoformat(),
                }
                for quarantine in self.quarantines
            ],
            "delayed": [
                {"table": row.table, "since": None if row.delayed_since is None else row.delayed_since.isoformat()}
                for row in self.delayed
            ],
        }

    def _without_a_sign(self) -> str:
        if self.holder is None:
            return "no daemon is running; start one with 'tablewatch run'"
        who = "a process" if self.holder.pid is None else f"process {self.holder.pid} on {self.holder.host}"
        return f"{who} holds the daemon lock of the store but sends no heartbeat; see its log"

    def lines(self) -> Iterator[str]:
        """Yield the lines that a person reads."""
        silent = [daemon for daemon in self.daemons if self.word(daemon) == "silent"]
        for daemon in self.daemons:
            if daemon in silent[_MOST_SILENT:]:
                continue
            age = format_duration(self.as_of - (daemon.stopped_at or daemon.heartbeat_at))
            text = {
                "running": f"running since {daemon.started_at:%Y-%m-%d %H:%M} UTC, last heartbeat {age} ago",
                "silent": f"sent its last heartbeat {age} ago and did not shut down cleanly",
                "stopped": f"stopped {age} ago",
            }[self.word(daemon)]
            yield f"daemon on {daemon.host} (pid {daemon.pid}): {text}"
            if daemon.config_error is not None and daemon.stopped_at is None:
                yield f"  does not use all of the configuration on disk: {daemon.config_error}"
        if len(silent) > _MOST_SILENT:
            yield f"and {len(silent) - _MOST_SILENT} more in the last hour that did not shut down cleanly"
        if not self.runs:
            yield self._without_a_sign()
        elif self.waits_since is not None:
            yield f"longest wait of a due table: {format_duration(self.as_of - self.waits_since)}"
        if self.delayed:
            names = [row.table for row in self.delayed]
            more = f" and {len(names) - _MOST_DELAYED} more" if len(names) > _MOST_DELAYED else ""
            yield f"delayed by the daily limit of their source: {', '.join(names[:_MOST_DELAYED])}{more}"
        for check in self.quarantines:
            if check.until is not None and check.until > self.as_of:
                ended = f"its worker process ended {check.crashes} times"
                yield f"{check.check_id} is suspended until {check.until:%Y-%m-%d %H:%M} UTC: {ended}"
