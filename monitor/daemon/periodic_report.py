"""Write a report when it is due: into its folder, and to its channels, each exactly once."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from monitor.config import Config, ReportRecipients
from monitor.config.project import Project
from monitor.daemon.journal import LOG
from monitor.terminal.output_file import check_target, make_folders, write_file
from monitor.terminal.problem import Stop
from store import Delivery, FailPoint, Store, reached

if TYPE_CHECKING:
    from monitor.reporting.model import PeriodReport
    from monitor.reporting.period import Period
    from monitor.reporting.scope import ReportScope

_CODE: Final = "report.keep"


def report_if_due(project: Project, store: Store, now: datetime, kind: "type[Period]") -> None:
    """Write the reports of the last complete week, month or quarter, if they are due and not written yet.

    These are the report of everything, and those of the domains, owners and products that have recipients. One that
    could not be made for longer than `Period.latest` is left out; `tablewatch report` makes it. What was made is known
    by the names of its files and the ids of its deliveries, so a crash repeats nothing.

    Raises:
        StoreError: the store cannot be used. Stop: a report cannot be written; the channels got theirs.
    """
    plan, zone = project.config.report.by_frequency[kind.frequency], project.config.timezone
    parts = [(kind, key, item) for kind, items in plan.of_parts.items() for key, item in items.items()]
    recipients = [part for part in ((None, "", plan), *parts) if part[2].to or part[2].keep]
    if not recipients:
        return
    retention = project.config.storage.keep_measurements  # of deliveries, by which a report is not sent twice
    slots = plan.cron.last_between(now - min(kind.latest, retention), now, zone, most=1)
    if not slots:
        return
    period = kind.last_complete(slots[0], zone)
    reports = [_DueReport.of(project.config, period, *part) for part in recipients]
    problems = [_make(project, store, report, now) for report in reports]
    for problem in filter(None, problems):
        raise problem


class _DueReport(NamedTuple):
    """A report of all tables or of some, with its channels, and its files with their languages."""

    period: "Period"
    scope: "ReportScope | None"
    to: Sequence[str]
    files: Sequence[tuple[Path, str]]

    @classmethod
    def of(cls, config: Config, period: "Period", kind: str | None, key: str, recipients: ReportRecipients) -> Self:
        """Return the report of a domain, owner or product (None: of everything) for its recipients."""
        from monitor.reporting.scope import ReportScope, ScopeKind

        plan, folder = config.report.by_frequency[period.frequency], recipients.keep
        scope = None if kind is None else ReportScope.of(config, ScopeKind(kind), key)
        among = () if kind is None else plan.of_parts[kind]
        names = {locale: period.file_name(scope, locale, among=among) for locale in plan.locales if folder}
        files = [(Path(folder or "") / name, locale) for locale, name in names.items()]
        return cls(period, scope, recipients.to, files)


def _make(project: Project, store: Store, due: _DueReport, now: datetime) -> Stop | None:
    """Write what is missing of a report; return why a page could not be written."""
    from monitor.reporting.build import build_report, gather

    period, scope = due.period, due.scope
    ids = {channel: _id(project, due, channel) for channel in due.to}
    with store.reading() as tx:
        delivery_states = tx.deliveries.states(ids.values())
        missing = [channel for channel, delivery_id in ids.items() if delivery_id not in delivery_states]
        if not missing and all(path.exists() for path, _ in due.files):
            return None
        if not tx.results.any_evaluated(period.start, period.end, None if scope is None else scope.tables):
            return None
        report = build_report(gather(project, tx, period, now, scope=scope), period)
    refused = _keep_all(project, report, due.files)
    deliveries = [_delivery(project, report, channel, ids[channel], now) for channel in missing]
    with store.writing() as tx:
        tx.deliveries.add(deliveries)
    if refused is None:
        of = period if scope is None else f"{period}, {scope.kind} {scope.key}"
        LOG.info("report of %s %s: %d files, %d messages", period.unit, of, len(due.files), len(deliveries))
    return refused


def _id(project: Project, due: _DueReport, channel: str) -> str:
    """Return the id of a delivery: the same period and tables to a channel is the same message, from every process."""
    names = [f"{due.period.frequency} report", project.config.project, str(due.period), channel]
    if due.scope is not None:
        names += [due.scope.key] if due.scope.kind == "domain" else [due.scope.kind, due.scope.key]
    return f"msg_{sha256(chr(0).join(names).encode()).hexdigest()[:24]}"


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

    from monitor.alerts.report_message import report_delivery

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
