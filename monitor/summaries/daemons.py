"""Read the state of the daemons of a store: heartbeats, scheduler lag, quarantined and delayed tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from checks import format_duration
from monitor.summaries.shapes import Moment, Shape
from store import DaemonRecord, Quarantine, ReadTransaction, Scheduled, StoreInUse

SILENT: Final = timedelta(minutes=1)
"""A daemon gives a sign of life every 10 s; after this time without one it is not counted on."""

_KEPT: Final = timedelta(hours=1)
_MOST_SILENT: Final = 3
"""Silent daemons that are listed: where they are killed again and again, there are many."""

_MOST_DELAYED: Final = 5


@dataclass(frozen=True, slots=True)
class DaemonStates:
    """What the store knows of its daemons at a time (its own clock)."""

    as_of: datetime
    daemons: Sequence[DaemonRecord]
    waits_since: datetime | None
    quarantines: Sequence[Quarantine]
    holder: StoreInUse | None = None
    """Who holds the lock of the store, where it is a SQLite file."""
    delayed: Sequence[Scheduled] = ()
    """The tables that the daily limit of their source delays."""

    @classmethod
    def of(cls, tx: ReadTransaction, now: datetime, holder: StoreInUse | None) -> "DaemonStates":
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


class DaemonLine(Shape):
    """A process that runs checks: `running`, `silent` or `stopped`."""

    state: str
    host: str
    pid: int
    version: str
    started_at: Moment
    heartbeat_at: Moment
    stopped_at: Moment | None
    config_loaded_at: Moment
    config_error: str | None
    leads: bool

    @classmethod
    def of(cls, record: DaemonRecord, state: str) -> Self:
        """Return a record as a model."""
        names = [name for name in cls.model_fields if name != "state"]
        return cls(state=state, **{name: getattr(record, name) for name in names})


class QuarantinedCheck(Shape):
    """A check that ended its worker again and again, and until when it rests."""

    check_id: str
    crashes: int
    until: Moment | None


class DelayedTable(Shape):
    """A table that the daily limit of its source delays, and since when."""

    table: str
    since: Moment | None


class DaemonState(Shape):
    """The daemons, for how long the table that waits longest has waited (seconds), and the checks that rest.

    `delayed`: the tables that the daily limits of their sources delay.
    """

    daemons: tuple[DaemonLine, ...]
    lag_s: float | None
    quarantined: tuple[QuarantinedCheck, ...]
    delayed: tuple[DelayedTable, ...]

    @classmethod
    def of(cls, states: DaemonStates) -> Self:
        """Return what the store knows as a model."""
        lag = None if states.waits_since is None else states.as_of - states.waits_since
        return cls(
            daemons=tuple(DaemonLine.of(daemon, states.word(daemon)) for daemon in states.daemons),
            lag_s=None if lag is None else lag.total_seconds(),
            quarantined=tuple(
                QuarantinedCheck(check_id=item.check_id, crashes=item.crashes, until=item.until)
                for item in states.quarantines
            ),
            delayed=tuple(DelayedTable(table=row.table, since=row.delayed_since) for row in states.delayed),
        )
