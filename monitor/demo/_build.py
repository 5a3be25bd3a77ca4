"""Build the demo: the shop, its configuration, six replayed weeks, the reports."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

from incidents import Incident
from monitor.config import load
from monitor.demo import _plan as plan
from monitor.demo._replay import Replay
from monitor.demo._shop import Shop
from monitor.wiring import Project
from store import IncidentFilter

ZONE = "Asia/Tokyo"
DAYS = plan.WEEKS * 7


class DemoError(Exception):
    """The demo cannot be built where it was asked for."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that was built: its project, how many checks were run, what was planned and what was found."""

    folder: Path
    project: Project
    start: datetime
    runs: int
    incidents: tuple[Incident, ...]

    @property
    def end(self) -> datetime:
        """Give the moment at which the replay stopped."""
        return self.start + plan.END

    @property
    def found(self) -> tuple[tuple[plan.Fault, Incident | None], ...]:
        """Pair each planted fault with the incident that it led to."""
        by_check = {incident.check_id: incident for incident in self.incidents}
        return tuple((fault, by_check.get(fault.check_id)) for fault in plan.FAULTS)


def newest_start(now: datetime) -> datetime:
    """Give the Monday on which six weeks and eight hours begin that are over by now."""
    local = now.astimezone(ZoneInfo(ZONE)) - plan.END
    return datetime.combine(local.date() - timedelta(days=local.weekday()), time(), ZoneInfo(ZONE))


def build_demo(
    folder: Path, *, now: datetime, replace: bool = False, on_day: Callable[[], None] = lambda: None
) -> Demo:
    """Build the shop in a folder and replay six weeks that end before `now`.

    Raises:
        DemoError: the folder holds something already, and it is not an earlier demo that may be replaced.
    """
    _make_room(folder, replace=replace)
    shop = Shop(folder, newest_start(now))
    shop.build()
    config = folder / "tablewatch.yaml"
    text = files("monitor.demo").joinpath("tablewatch.yaml").read_text(encoding="utf-8")
    config.write_text(text, encoding="utf-8")
    project = Project(load(config))
    with project.open_store(alone=True) as store:
        replay = Replay(shop, project, store)
        replay.play(on_day)
        with store.reading() as view:
            incidents = view.incidents(IncidentFilter())
    return Demo(folder, project, shop.start, replay.runs, tuple(incidents))


def _make_room(folder: Path, *, replace: bool) -> None:
    if not folder.exists() or not any(folder.iterdir()):
        return
    is_demo = (folder / "shop.sqlite").is_file() and (folder / "tablewatch.yaml").is_file()
    if not is_demo:
        raise DemoError(f"{folder} is not empty and holds no demo; name another folder with --dir")
    if not replace:
        raise DemoError(f"{folder} holds a demo already; replace it with --force, or name another folder with --dir")
    shutil.rmtree(folder)
