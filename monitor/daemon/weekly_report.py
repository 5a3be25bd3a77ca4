"""Make the weekly report when it is due: keep it in its folder, and hand it to its channels, each exactly once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.terminal.output_file import check_target, make_folders, write_file
from monitor.terminal.problem import Stop
from store import Delivery, FailPoint, Store, reached

if TYPE_CHECKING:
    from monitor.reporting.model import WeeklyReport
    from monitor.reporting.week import Week

_CODE: Final = "report.keep"
LATEST: Final = timedelta(days=3)
"""A report that could not be made for longer than this is left out: 'tablewatch report weekly --week' makes it."""


def report_if_due(project: Project, store: Store, now: datetime) -> None:
    """Make the report of the last week that is over, where its time has come and it was not made yet.

    What was made is known by the names of its files and the ids of its deliveries, so a crash repeats nothing.

    Raises:
        StoreError: the store cannot be used. Stop: a report cannot be written; the channels got theirs.
    """
    from monitor.reporting.week import Week

    plan = project.config.report.weekly
    slot = _last_slot(project, now)
    if slot is None or not (plan.to or plan.keep):
        return
    week = Week.last_complete(slot, project.config.timezone)
    files, ids = _files(project, week), {channel: _id(project, week, channel) for channel in plan.to}
    with store.reading() as tx:
        delivery_states = tx.deliveries.states(ids.values())
        missing = {channel for channel, delivery_id in ids.items() if delivery_id not in delivery_states}
        if not (missing or any(not path.exists() for path, _ in files)) or not tx.results.any_evaluated(
            week.start, week.end
        ):
            return
    report = _build(project, store, week, now)
    refused = _keep_all(project, report, files)
    deliveries = [_delivery(project, report, channel, ids[channel], now) for channel in plan.to if channel in missing]
    with store.writing() as tx:
        tx.deliveries.add(deliveries)
    if refused is not None:
        raise refused
    LOG.info("report of week %s: %d files, %d messages", week, len(files), len(deliveries))


def _last_slot(project: Project, now: datetime) -> datetime | None:
    """Return the newest slot of the report that is not too old."""
    cron, zone = project.config.report.weekly.cron, project.config.timezone
    result, slot = None, cron.next_after(now - LATEST, zone)
    while slot <= now:
        result, slot = slot, cron.next_after(slot, zone)
    return result


def _files(project: Project, week: "Week") -> list[tuple[Path, str]]:
    plan = project.config.report.weekly
    if plan.keep is None:
        return []
    return [(Path(plan.keep) / f"tablewatch-{week}-{locale}.html", locale) for locale in plan.locales]


def _id(project: Project, week: "Week", channel: str) -> str:
    """Return a delivery its id: the same week to the same channel is the same message, whoever makes it."""
    name = "\0".join(("weekly report", project.config.project, str(week), channel))
    return f"msg_{sha256(name.encode()).hexdigest()[:24]}"


def _build(project: Project, store: Store, week: "Week", now: datetime) -> "WeeklyReport":
    from monitor.reporting.build import build_weekly, gather

    with store.reading() as tx:
        return build_weekly(gather(project, tx, week, now), week)


def _page(project: Project, report: "WeeklyReport", locale: str) -> str:
    from monitor.reporting.render import as_html
    from monitor.terminal.localizer import Localizer

    return as_html(report, Localizer(locale, project.config.timezone), redact=project.loaded.redactor)


def _keep_all(project: Project, report: "WeeklyReport", files: Sequence[tuple[Path, str]]) -> Stop | None:
    """Write the pages that are missing; return why one could not be written: the channels get theirs nevertheless."""
    for path, locale in files:
        try:
            if not path.exists():
                _keep(project, path, _page(project, report, locale))
        except Stop as error:
            if not path.exists():  # else another daemon that shares the folder made it meanwhile
                return error
    return None


def _delivery(project: Project, report: "WeeklyReport", channel: str, delivery_id: str, now: datetime) -> Delivery:
    from dataclasses import replace

    from monitor.alerts.operational import weekly

    return replace(weekly(project, report, channel, now=now), id=delivery_id)


def _keep(project: Project, path: Path, text: str) -> None:
    """Write a report that does not exist yet; only its owner may read it.

    Raises:
        Stop: it cannot be written.
    """
    check_target(path, protected=project.protected_files, force=False, code=_CODE, make_folder=True)
    make_folders(path, mode=0o700, code=_CODE)

    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8")
        reached(FailPoint.BEFORE_REPORT_NAMED)

    write_file(path, write, lambda _: None, replace=False, mode=0o600, code=_CODE)
    reached(FailPoint.AFTER_REPORT_NAMED)
