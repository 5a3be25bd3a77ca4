"""Build the demo: the shop, its configuration, six replayed weeks, the reports."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import duckdb

from incidents import Incident
from monitor.config import load
from monitor.config.project import Project
from monitor.demo import _plan as plan
from monitor.demo._replay import Replay
from monitor.demo._shop import Shop
from monitor.summaries.monitoring import DEMO_ENDED
from monitor.terminal.output_file import COMPANIONS, ProtectedFiles, reason, write_text
from store import IncidentFilter

ZONE = "Asia/Tokyo"
DAYS = plan.WEEKS * 7


_PROJECT: Final = "project: demo-shop"
_MADE: Final = frozenset({"lake", "reports", "tablewatch.yaml", "survey.csv", ".tablewatch"})
_DATABASES: Final = ("shop.sqlite", "warehouse.duckdb", "tablewatch.db")
"""What the demo makes, and what it tells people to make, in its folder."""
_LITTLE: Final = 1_000_000
"""Bytes; a disk with less is full for a database."""


class DemoError(Exception):
    """The demo cannot be built in this folder."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that was built: its project, how many checks were run, what was planned and what was found."""

    folder: Path
    project: Project
    shop: Shop
    runs: int
    incidents: tuple[Incident, ...]

    @property
    def start(self) -> datetime:
        """Return the Monday on which the replay began."""
        return self.shop.start

    @property
    def end(self) -> datetime:
        """Return the moment at which the replay stopped."""
        return self.start + plan.END

    @property
    def found(self) -> tuple[tuple[plan.PlantedFault, Incident | None], ...]:
        """Pair each planted fault with the incident that it led to."""
        by_check = {incident.check_id: incident for incident in self.incidents}
        return tuple((fault, by_check.get(fault.check_id)) for fault in plan.FAULTS)


def newest_start(now: datetime) -> datetime:
    """Return the Monday on which six weeks and eight hours begin that are over by now."""
    local = now.astimezone(ZoneInfo(ZONE)) - plan.END
    return datetime.combine(local.date() - timedelta(days=local.weekday()), time(), ZoneInfo(ZONE))


def build_demo(
    folder: Path, *, now: datetime, replace: bool = False, on_day: Callable[[], None] = lambda: None
) -> Demo:
    """Build the shop in a folder and replay six weeks that end before `now`.

    Raises:
        DemoError: the folder holds something already, and it is not an earlier demo that may be replaced.
    """
    _prepare_folder(folder, replace=replace)
    shop = Shop(folder, newest_start(now))
    shop.build()
    config = folder / "tablewatch.yaml"
    text = files("monitor.demo").joinpath("tablewatch.yaml").read_text(encoding="utf-8")
    write_text(config, text, protected=ProtectedFiles(), force=False)
    project = Project(load(config))
    with project.open_store(alone=True) as store:
        replay = Replay(shop, project, store)
        replay.play(on_day)
        with store.reading() as tx:
            incidents = tx.incidents.matching(IncidentFilter())
    mark_end(folder, shop.start + plan.END)
    return Demo(folder, project, shop, replay.runs, tuple(incidents))


def mark_end(folder: Path, end: datetime) -> None:
    """Write when the data of the demo ended; its pages say so."""
    file = folder / DEMO_ENDED
    file.parent.mkdir(exist_ok=True)
    file.write_text(end.isoformat(), encoding="ascii")


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the system, SQLite and DuckDB refuse while the demo is built into an error that names its folder.

    Raises:
        DemoError: something was refused.
    """
    try:
        yield
    except OSError as error:
        why = reason(error)
    except (sqlite3.Error, duckdb.Error) as error:
        why = _reason_of_engine(folder, error)
    else:
        return
    raise DemoError(f"the demo in {folder} cannot be built: {why}; free disk space, or name another folder with --dir")


def _reason_of_engine(folder: Path, error: Exception) -> str:
    """Return why a database could not be written: drivers say it in texts only, which also hold values."""
    full = getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or "No space left" in str(error)
    if full or shutil.disk_usage(folder).free < _LITTLE:
        return "the disk is full"
    return f"a database could not be written ({type(error).__name__})"


def _prepare_folder(folder: Path, *, replace: bool) -> None:
    """Remove an earlier demo; never anything else.

    Raises:
        DemoError: the folder holds something else, or a demo that may not be replaced.
    """
    if folder.is_symlink():
        raise DemoError(f"{folder} is a symbolic link; name the folder itself with --dir")
    if not folder.exists() or not any(folder.iterdir()):
        return
    config = folder / "tablewatch.yaml"
    if not config.is_file() or _PROJECT not in config.read_text(encoding="utf-8", errors="replace").splitlines():
        raise DemoError(f"{folder} is not empty and contains no demo; name another folder with --dir")
    databases = {f"{name}{end}" for name in _DATABASES for end in ("", *COMPANIONS)}
    others = sorted(path.name for path in folder.iterdir() if path.name not in _MADE | databases)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        message = f"{folder} contains files that are not part of the demo: '{others[0]}'{more}"
        raise DemoError(f"{message}; move them, or name another folder with --dir")
    if not replace:
        raise DemoError(f"{folder} already contains a demo; replace it with --force, or name another folder with --dir")
    shutil.rmtree(folder)
