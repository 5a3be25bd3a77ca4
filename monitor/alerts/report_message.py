"""Write a report as mail: a body that every mail program shows, and the whole report as a file with it.

Mail programs drop SVG, pictures in the page and style sheets, and Gmail cuts a body off at about 102 KB: the body is
made of tables with inline styles, says all that matters without a chart, and is kept under 90 KB by showing fewer rows.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from monitor.config import Channel
from monitor.reporting import render
from monitor.reporting import report_json as shape
from monitor.reporting.model import PeriodReport
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import Redactor

MOST_BYTES: Final = 90_000
"""A body is shorter than this, in bytes of UTF-8."""
_ROWS: Final = (30, 20, 10, 5, 0)
_LONGEST: Final = 200
"""Letters of a name or a title in the body; the attached report has all of them."""


def parts_of(report: PeriodReport, channel: Channel, localizer: Localizer, redactor: Redactor) -> Mapping[str, Any]:
    """Return what a report's message holds beside its title and text.

    For people a page and the file, for a webhook JSON.

    The file comes as `attachments`: a sequence of `{name, mime, text}`. Everything is made now, so that a message that
    is sent again says the same.
    """
    if channel.kind.reads_json:
        return {"report": redactor.value(shape.as_json(report, localizer))}
    page = render.as_html(report, localizer, redact=redactor)
    name = report.period.file_name(report.domain, localizer.language)
    return {
        "html": body_of(report, localizer, redact=redactor),
        "attachments": [{"name": name, "mime": "text/html", "text": page}],
    }


def body_of(report: PeriodReport, localizer: Localizer, *, redact: Callable[[str], str] = str) -> str:
    """Return the body of the mail: tables only, nothing fetched, under `MOST_BYTES`."""
    body = ""
    for rows in _ROWS:
        body = _body(report, localizer, redact, rows)
        if len(body.encode()) < MOST_BYTES:
            break
    return body


def _body(report: PeriodReport, localizer: Localizer, redact: Callable[[str], str], rows: int) -> str:
    environment = render.environment(localizer, report.currency, render.masking(redact))
    environment.filters["short"] = _short
    template = environment.get_template("mail/report.html.j2")
    return template.render(**render.period_values(report, localizer), rows=rows)


def _short(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
