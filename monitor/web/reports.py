"""Pages that are files too: reports of weeks, months and quarters, and the record of a release with certificates."""

import re
from datetime import date, datetime
from typing import Annotated, Final

from annotated_types import MaxLen
from pydantic import BaseModel
from starlette.responses import Response

from monitor.releases.record import record_of
from monitor.reporting.build import build_report, gather
from monitor.reporting.period import Month, Period, PeriodError, Quarter, Week, parse_period
from monitor.reporting.release_record import record_html
from monitor.reporting.render import RELEASE_STYLES, as_html, styled
from monitor.reporting.scope import ReportScope, ScopeKind, ScopeTitles, scope_titles
from monitor.terminal.localizer import Localizer
from monitor.terminal.problem import Problem
from monitor.verbs.verb import Query
from monitor.web.boundary import SECURITY_HEADERS
from monitor.web.call import Call
from monitor.web.problems import WebError


class ReportListQuery(Query):
    """Whose tables reports are about, such as `domain:sales`, `owner:NAME` or `product:NAME`; by default all."""

    scope: Annotated[str, MaxLen(500)] | None = None


class ReportQuery(ReportListQuery):
    """A week such as 2026-W46, a month such as 2026-11 or a quarter such as 2026-Q4, in the path; and a scope."""

    period: Annotated[str, MaxLen(10)]


class ReportPeriod(BaseModel):
    """A period of which a report can be made: its name, its days, and whether it is over."""

    name: str
    first: date
    last: date
    complete: bool


class ReportList(BaseModel):
    """The last 26 weeks, 13 months and 8 quarters, the newest first, of a scope; `scopes` are all that there are."""

    query: ReportListQuery
    scope: ReportScope | None
    scopes: ScopeTitles
    weeks: tuple[ReportPeriod, ...]
    months: tuple[ReportPeriod, ...]
    quarters: tuple[ReportPeriod, ...]


def list_reports(call: Call) -> ReportList:
    """Return the periods.

    Raises:
        WebError: 400 for what is no scope. Stop: it is not configured.
    """
    return ReportList(
        query=call.query,
        scope=_scope(call),
        scopes=scope_titles(call.project.config),
        weeks=_lines(call, Week, 26),
        months=_lines(call, Month, 13),
        quarters=_lines(call, Quarter, 8),
    )


def _scope(call: Call) -> ReportScope | None:
    text: str | None = call.query.scope
    if text is None:
        return None
    kind, _, key = text.partition(":")
    if kind not in tuple(ScopeKind) or not key:
        message = "the scope of a report was not understood; write domain:NAME, owner:NAME or product:NAME"
        raise WebError(400, Problem("report.scope", message))
    return ReportScope.of(call.project.config, ScopeKind(kind), key)


def _lines(call: Call, kind: type[Period], count: int) -> tuple[ReportPeriod, ...]:
    current = kind.containing(call.now, call.project.config.timezone)
    periods = (current.back(number) for number in range(count))
    return tuple(
        ReportPeriod(name=str(item), first=item.first, last=item.last, complete=item.end <= call.now)
        for item in periods
    )


class ReportPage(BaseModel):
    """A report as a page of the site: `body` is the HTML that `tablewatch report` writes, with links."""

    as_of: datetime
    title: str
    body: str


_BODY: Final = re.compile(r"<header>(.*)</header>\s*<main>(.*)</main>", re.DOTALL)


def show_report(call: Call) -> ReportPage:
    """Return the report of a period as it is known now.

    Raises:
        WebError: 404 for what is no period, or one that has not begun; 400 for what is no scope.
        Stop: the scope is not configured.
    """
    config, scope = call.project.config, _scope(call)
    zone = config.timezone
    try:
        period = parse_period(call.query.period, zone)
    except PeriodError as error:
        raise WebError(404, Problem("report.period", str(error))) from None
    if period.start > call.now:
        raise WebError(404, Problem("report.period", f"{period.unit} {period} has not started"))
    with call.store.reading() as tx:
        report = build_report(gather(call.project, tx, period, call.now, scope=scope), period)
    localizer, redact = Localizer(call.language, zone), call.project.loaded.redactor
    body = _BODY.search(as_html(report, localizer, redact=redact, scopes=scope_titles(config)))
    if body is None:
        raise ValueError("the page of a report has a header and a main part")
    return ReportPage(as_of=report.as_of, title=str(period), body=f"{body[1]}{body[2]}")


def show_record(call: Call) -> Response:
    """Return the record of a release: the page that `tablewatch release record` writes.

    Raises:
        Stop: the release is unknown.
    """
    with call.store.reading() as tx:
        record = record_of(call.project, tx, call.query.name)
    config = call.project.config
    localizer = Localizer(call.language, config.timezone)
    text = record_html(record, localizer, project=config.project, redact=call.project.loaded.redactor)
    return _whole_page(call, text, *RELEASE_STYLES)


def _whole_page(call: Call, text: str, *styles: str) -> Response:
    """Return a page that has its style in it, which is allowed by its hash."""
    allowed = f"style-src '{styled(*styles)['style_hash']}'"
    headers = {
        "content-language": call.language,
        "content-security-policy": SECURITY_HEADERS["content-security-policy"].replace("style-src 'self'", allowed),
    }
    return Response(text, headers=headers, media_type="text/html")
