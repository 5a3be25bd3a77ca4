"""Pages that are files too: the weekly reports, and the record of a release with its certificates."""

from datetime import date, datetime
from typing import Annotated, Final

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from monitor.releases.record import record_of
from monitor.reporting.build import build_weekly, gather
from monitor.reporting.release_record import record_html
from monitor.reporting.render import RELEASE_STYLES, as_html, styled
from monitor.reporting.week import Week, WeekError
from monitor.terminal.localizer import Localizer
from monitor.terminal.problem import Problem
from monitor.web.boundary import SECURITY_HEADERS
from monitor.web.call import Call
from monitor.web.problems import WebError

_WEEKS: Final = 26


class ReportQuery(BaseModel):
    """A week such as 2026-W46, in the path."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    week: Annotated[str, MaxLen(10)]


class ReportWeek(BaseModel):
    """A week of which a report can be made: its name, its days, and whether it goes on."""

    name: str
    monday: date
    sunday: date
    complete: bool


class ReportList(BaseModel):
    """The last 26 weeks, the newest first."""

    weeks: tuple[ReportWeek, ...]


def list_reports(call: Call) -> ReportList:
    """Return the weeks."""
    this = Week.containing(call.now, call.project.config.timezone)
    return ReportList(weeks=tuple(_line(this.back(number), call.now) for number in range(_WEEKS)))


def _line(week: Week, now: datetime) -> ReportWeek:
    return ReportWeek(name=str(week), monday=week.monday, sunday=week.sunday, complete=week.end <= now)


def show_report(call: Call) -> Response:
    """Return the report of a week as it is known now: the page that `tablewatch report weekly` writes.

    Raises:
        WebError: 404 for what is no week, or one that has not begun.
    """
    zone = call.project.config.timezone
    try:
        week = Week.parse(call.query.week, zone)
    except WeekError as error:
        raise WebError(404, Problem("report.week", str(error))) from None
    if week.start > call.now:
        raise WebError(404, Problem("report.week", f"week {week} has not started"))
    with call.store.reading() as tx:
        report = build_weekly(gather(call.project, tx, week, call.now), week)
    text = as_html(report, Localizer(call.language, zone), redact=call.project.loaded.redactor)
    return _whole_page(call, text, "report/weekly.css")


def show_record(call: Call) -> Response:
    """Return the record of a release: the page that `tablewatch release record` writes.

    Raises:
        Stop: nobody has heard of the release.
    """
    with call.store.reading() as tx:
        record = record_of(call.project, tx, call.query.name)
    config = call.project.config
    voice = Localizer(call.language, config.timezone)
    text = record_html(record, voice, project=config.project, redact=call.project.loaded.redactor)
    return _whole_page(call, text, *RELEASE_STYLES)


def _whole_page(call: Call, text: str, *styles: str) -> Response:
    """Return a page that has its style in it, which is allowed by its hash."""
    allowed = f"style-src '{styled(*styles)['style_hash']}'"
    headers = {
        "content-language": call.language,
        "content-security-policy": SECURITY_HEADERS["content-security-policy"].replace("style-src 'self'", allowed),
    }
    return Response(text, headers=headers, media_type="text/html")
