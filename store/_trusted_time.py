"""How far the clock is believed: nothing is deleted by age by a clock that runs ahead of the trusted time.

The trusted time of a process is the newest time that was recorded before it began, plus the monotonic time since. A
clock that runs ahead of it by more than a day waits for a person: a wrong clock and a long pause look the same. What
is recorded as trusted never goes on faster than the uptime of the machine while that is known.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Final

from sqlalchemy import CheckConstraint, Connection, func, insert, not_, or_, select, update

from store._columns import STRICT, Row, key, line, time, whole
from store._rows import IncidentEventRow, IncidentRow, RunRow

AHEAD: Final = timedelta(days=1)
"""Nothing is deleted by a clock that is further ahead of the trusted time."""
_LATE: Final = timedelta(hours=26)
"""How much of a pause that nothing measured is recorded as trusted: between two starts of a machine, or two hosts. A
daily job comes 25 hours after the last one when daylight saving time ends, and may be an hour late; it then deletes
nothing that once, and does so again the next day."""

CONFIRM: Final = "if the clock is right, run 'tablewatch doctor --confirm-clock'"


class ClockRow(Row, table=True):
    """The latest time that was seen, how often the clock went back behind it, and the time that is trusted: one row.

    `trusted_at` is what processes are let record, at `uptime_us` after the start `boot` of a machine where
    that is known; `confirmed_at` what a person confirmed last; `noted_at` when the last message said that data waits
    for it.
    `compared_at`, `compared_all_at`, `compared_event`: when incidents agreed with their events last, those that had
    changed and all of them, and the number of the last event that was read.
    """

    __tablename__ = "clock"
    __table_args__ = (CheckConstraint("id = 1", name="one"), STRICT)

    id: int = key()
    epoch: int = whole()
    latest_at: datetime = time("latest_us", "latest_at")
    trusted_at: datetime | None = time("trusted_us", "trusted_at", optional=True)
    confirmed_at: datetime | None = time("confirmed_us", "confirmed_at", optional=True)
    boot: str | None = line(optional=True)
    uptime_us: int | None = whole(optional=True)
    noted_at: datetime | None = time("noted_us", "noted_at", optional=True)
    compared_at: datetime | None = time("compared_us", "compared_at", optional=True)
    compared_all_at: datetime | None = time("compared_all_us", "compared_all_at", optional=True)
    compared_event: int | None = whole(optional=True)


_CLOCK: Final = ClockRow.__table__
_RUN: Final = RunRow.__table__
_INCIDENT: Final = IncidentRow.__table__
_EVENT: Final = IncidentEventRow.__table__


def trusted_times(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """Return the time that is trusted, None in an empty store, and the one that a person confirmed last.

    In a store of before times were trusted, the newest of a run, of an event of an incident, or of the clock.
    """
    row = connection.execute(select(_CLOCK.c.trusted_at, _CLOCK.c.confirmed_at)).first()
    if row is not None and row.trusted_at is not None:
        return row.trusted_at, row.confirmed_at
    newest = (func.max(column) for column in (_RUN.c.ended_at, _EVENT.c.recorded_at, _CLOCK.c.latest_at))
    moments = [connection.scalar(select(moment)) for moment in newest]
    return max((moment for moment in moments if moment is not None), default=None), None


def trust(
    connection: Connection, at: datetime, *, confirmed: bool = False, monotonic: float = 0.0, boot: str | None = None
) -> None:
    """Save the time that is trusted, unless a later one is; `confirmed`: a person says so, which counts anyhow."""
    trusted, _ = trusted_times(connection)
    new: dict[str, Any] = {"trusted_at": trusted}
    if confirmed or trusted is None or at > trusted:
        new = {"trusted_at": at, "boot": boot, "uptime_us": boot and round(monotonic * 1e6)}
    new |= {"confirmed_at": at, "noted_at": None} if confirmed else {}
    if not connection.execute(update(_CLOCK).values(new)).rowcount:
        connection.execute(insert(_CLOCK).values(id=1, epoch=0, latest_at=at, **new))


@dataclass(frozen=True, slots=True)
class Postponed:
    """Data that is past its retention by the clock, and stays because the clock is not trusted.

    `is_news`: it was not noted within the last day.
    """

    now: datetime
    trusted: datetime
    runs: int
    incidents: int
    is_news: bool = True

    @property
    def text(self) -> str:
        """Describe what waits, why, and what to do."""
        return f"{self.why}; {CONFIRM}"

    @property
    def why(self) -> str:
        """Describe what waits, and why."""
        days = (self.now - self.trusted) / timedelta(days=1)
        return (
            f"old data is not deleted (up to {self.runs} runs, {self.incidents} incidents): the clock says "
            f"{self.now:%Y-%m-%d %H:%M}Z, {days:.1f} days after the last time that can be trusted "
            f"({self.trusted:%Y-%m-%d %H:%M}Z)"
        )


class TrustedTime:
    """The trusted time of this process. Thread-safe; it begins when it is first asked."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._recorded: datetime | None = None
        self._since = 0.0
        self._unmeasured = timedelta()
        self._confirmed: datetime | None = None

    def at(self, connection: Connection, *, now: datetime, monotonic: float, boot: str | None = None) -> datetime:
        """Return the trusted time.

        `monotonic`: seconds of a clock that never goes back, always of the same one; `boot`: the start of the machine
        from which they count. The time that another process of the same start recorded goes on with it.
        """
        with self._lock:
            recorded, confirmed = trusted_times(connection)
            if self._recorded is None:
                uptime = _uptime(connection, boot)
                self._recorded, self._since = recorded or now, min(uptime or monotonic, monotonic)
                self._unmeasured = _LATE if uptime is None else timedelta()
            elif confirmed is not None and confirmed != self._confirmed:  # by a person, while this process runs
                self._recorded, self._since, self._unmeasured = confirmed, monotonic, timedelta()
            self._confirmed = confirmed
            return self._recorded + timedelta(seconds=monotonic - self._since)

    def record(self, connection: Connection, *, now: datetime, monotonic: float, boot: str | None = None) -> datetime:
        """Record the time, of which no more than is trusted and the pause before; return the trusted time."""
        trusted = self.at(connection, now=now, monotonic=monotonic, boot=boot)
        trust(connection, now if now <= trusted + self._unmeasured else trusted, monotonic=monotonic, boot=boot)
        return trusted


def _uptime(connection: Connection, boot: str | None) -> float | None:
    """Return the uptime at which the trusted time was recorded, if in the same start of the machine."""
    row = connection.execute(select(_CLOCK.c.boot, _CLOCK.c.uptime_us)).first()
    return row.uptime_us / 1e6 if row is not None and row.boot is not None and row.boot == boot else None


def note(connection: Connection, now: datetime) -> bool:
    """Return whether it was not noted within the last day that data waits, and record that it is now."""
    lately = _CLOCK.c.noted_at.between(now - timedelta(days=1), now)
    statement = update(_CLOCK).where(or_(_CLOCK.c.noted_at.is_(None), not_(lately))).values(noted_at=now)
    return connection.execute(statement).rowcount > 0


def count_postponed(
    connection: Connection, trusted: datetime, *, now: datetime, measured_before: datetime, incidents_before: datetime
) -> Postponed | None:
    """Count what is past its retention, some of which `prune` would leave, if the clock is not trusted; else None."""
    if now <= trusted + AHEAD:
        return None
    runs = select(func.count()).where(_RUN.c.ended_at < measured_before, _RUN.c.started_at < measured_before)
    incidents = select(func.count()).where(_INCIDENT.c.ended_at < incidents_before)
    return Postponed(now, trusted, connection.scalar(runs) or 0, connection.scalar(incidents) or 0)
