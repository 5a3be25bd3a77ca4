"""Whether what the store says of tables is current: daemons, checks without a result, and who is notified."""

from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from monitor.config import Config
from monitor.config.project import Project
from monitor.summaries.daemons import DaemonStates
from monitor.summaries.health import HealthList, health_list
from monitor.summaries.shapes import Moment, Shape
from store import ReadTransaction

DEMO_ENDED: Final = Path(".tablewatch", "demo-ended")
"""The file in which a demo says when its data ended."""


class Monitoring(Shape):
    """How far the rest can be relied on.

    `ran`: checks that ever ran; `without_result`: those of them that see nothing now. `daemon`: the state of the daemon
    with the last sign of life, at `daemon_at`. `scheduled`: a table has a schedule. `notified`: an alert leads to a
    channel that is not disabled. `demo_ended_at`: when the data of a demo ended, null of others.
    """

    as_of: Moment
    tables: int
    checks: int
    ran: int
    without_result: int
    newest_result_at: Moment | None
    daemon: Literal["running", "silent", "stopped", "none"]
    daemon_at: Moment | None
    scheduled: bool
    notified: bool
    demo_ended_at: Moment | None = None

    @classmethod
    def of(
        cls, project: Project, tx: ReadTransaction, daemons: DaemonStates, health: HealthList, now: datetime
    ) -> "Monitoring":
        """Return it from the health of all tables and the state of the daemons."""
        config = project.config
        last = max(daemons.daemons, key=lambda daemon: daemon.stopped_at or daemon.heartbeat_at, default=None)
        word = "running" if daemons.runs else "none" if last is None else daemons.word(last)
        return cls.model_validate(
            {
                "as_of": now,
                "tables": len(config.tables),
                "checks": health.checks,
                "ran": health.ran,
                "without_result": len(health.silent),
                "newest_result_at": health.newest_result_at,
                "daemon": word,
                "daemon_at": None if last is None or word == "running" else last.stopped_at or last.heartbeat_at,
                "scheduled": any(table.schedule for table in config.tables),
                "demo_ended_at": _demo_end(project),
                "notified": not _channels(config).isdisjoint(
                    config.alerts.channels.keys() - tx.silences.disabled_channels().keys()
                ),
            }
        )

    @property
    def lacks_daemon(self) -> bool:
        """Check whether a daemon that ran does not run, or that one is missed: checks are overdue."""
        return self.scheduled and self.daemon != "running" and (self.daemon != "none" or self.without_result > 0)

    @property
    def is_reliable(self) -> bool:
        """Check whether nothing makes the rest untrue."""
        return not (self.lacks_daemon or self.without_result or not self.ran or not self.notified or self.demo_ended_at)


def _demo_end(project: Project) -> datetime | None:
    file = project.loaded.home / DEMO_ENDED
    return datetime.fromisoformat(file.read_text(encoding="ascii")) if file.is_file() else None


def _channels(config: Config) -> set[str]:
    """Return the channels to which a route or an owner leads."""
    of_owners = (owner.channel for owner in config.owners.values() if owner.channel is not None)
    return {channel for route in config.alerts.routes for channel in route.to}.union(of_owners)


def show_monitoring(project: Project, tx: ReadTransaction, now: datetime) -> Monitoring:
    """Return how far the pages can be relied on now."""
    return Monitoring.of(project, tx, DaemonStates.of(tx, now, None), health_list(project, tx, now), now)
