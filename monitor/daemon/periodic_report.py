"""Make a report when it is due: keep it in its folder, and hand it to its channels, each exactly once."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.config import ReportPlan
from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.terminal.output_file import check_target, make_folders, write_file
from monitor.terminal.problem import Stop
from store import Delivery, FailPoint, Store, reached

if TYPE_CHECKING:
    from monitor.reporting.model import PeriodReport
    from monitor.reporting.period import Period

_CODE: Final = "report.keep"


def report_if_due(project: Project, store: Store, now: datetime, kind: "type[Period]") -> None:
    """Make the report of the last week, month or quarter that is over, if its time has come and it was not made yet.

    One that could not be made for longer than `Period.latest` is left out; `tablewatch report` makes it. What was made
    is known by the names of its files and the ids of its deliveries, so a crash repeats nothing.

    Raises:
        StoreError: the store cannot be used. Stop: a report cannot be written; the channels got theirs.
    """
    plan, zone = project.config.report.by_frequency[kind.frequency], project.config.timezone
    if not (plan.to or plan.keep):
        return
    told_for = project.config.storage.keep_measurements  # after that nothing is known of a delivery
    slots = plan.cron.last_between(now - min(kind.latest, told_for), now, zone, most=1)
    if not slots:
        return
    period = kind.last_complete(slots[0], zone)
    files, ids = _files(plan, period), {channel: _id(project, period, channel) for channel in plan.to}
    with store.reading() as tx:
        delivery_states = tx.deliveries.states(ids.values())
        missing = {channel for channel, delivery_id in ids.items() if delivery_id not in delivery_states}
        if not (missing or any(not path.exists() for path, _ in files)) or not tx.results.any_evaluated(
            period.start, period.end
        ):
            return
    report = _build(project, store, period, now)
    refused = _keep_all(project, report, files)
    deliveries = [_delivery(project, report, channel, ids[channel], now) for channel in plan.to if channel in missing]
    with store.writing() as tx:
        tx.deliveries.add(deliveries)
    if refused is not None:
        raise refused
    LOG.info("report of %s %s: %d files, %d messages", kind.unit, period, len(files), len(deliveries))


def _files(plan: ReportPlan, period: "Period") -> list[tuple[Path, str]]:
    if plan.keep is None:
        return []
    return [(Path(plan.keep) / f"tablewatch-{period}-{locale}.html", locale) for locale in plan.locales]


def _id(project: Project, period: "Period", channel: str) -> str:
    """Return a delivery its id: the same period to the same channel is the same message, whoever makes it."""
    name = "\0".join((f"{period.frequency} report", project.config.project, str(period), channel))
    return f"msg_{sha256(name.encode()).hexdigest()[:24]}"


def _build(project: Project, store: Store, period: "Period", now: datetime) -> "PeriodReport":
    from monitor.reporting.build import build_report, gather

    with store.reading() as tx:
        return build_report(gather(project, tx, period, now), period)


def _page(project: Project, report: "PeriodReport", locale: str) -> str:
    from monitor.reporting.render import as_html
    from monitor.terminal.localizer import Localizer

    return as_html(report, Localizer(locale, project.config.timezone), redact=project.loaded.redactor)


def _keep_all(project: Project, report: "PeriodReport", files: Sequence[tuple[Path, str]]) -> Stop | None:
    """Write the pages that are missing; return why one could not be written: the channels get theirs nevertheless."""
    for path, locale in files:
        try:
            if not path.exists():
                _keep(project, path, _page(project, report, locale))
        except Stop as error:
            if not path.exists():  # else another daemon that shares the folder made it meanwhile
                return error
    return None


def _delivery(project: Project, report: "PeriodReport", channel: str, delivery_id: str, now: datetime) -> Delivery:
    from dataclasses import replace

    from monitor.alerts.operational import report_delivery

    return replace(report_delivery(project, report, channel, now=now), id=delivery_id)


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
