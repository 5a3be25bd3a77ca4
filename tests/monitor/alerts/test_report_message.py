import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from monitor.alerts.report_message import MOST_BYTES, body_of, parts_of
from monitor.channels import Webhook
from monitor.config import Channel
from monitor.reporting.model import IncidentList, PeriodReport
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import MASK, Redactor
from tests.monitor.reporting import sample
from tests.monitor.reporting.test_render import HOSTILE, hostile_report

VOICES = {locale: Localizer(locale, "Asia/Tokyo") for locale in ("en", "ja")}
KEPT = {"html", "head", "meta", "title", "body", "table", "tr", "td", "th", "b", "br", "span"}
"""What mail programs keep; everything that holds content is a table."""
MAIL, HOOK = Channel(apprise="mailto://localhost"), Channel(webhook=Webhook(url="https://hooks.example/"))


class Page(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.fixture(params=["en", "ja"])
def localizer(request):
    """Return a localizer of each language."""
    return VOICES[request.param]


@pytest.fixture(params=[sample.report, sample.quiet_report, hostile_report])
def report(request):
    """Return reports of a week with downtime, of one without, and of names that attack."""
    return request.param()


def crowded() -> PeriodReport:
    """Return a week with many incidents on tables with long names."""
    full = sample.report()
    rows = tuple(
        replace(full.incidents.rows[n % len(full.incidents.rows)], id=n, table="表" * 400, owner="<" * 400)
        for n in range(200)
    )
    tables = tuple(replace(full.tables[0], name="&" * 5000) for _ in range(60))
    return replace(full, project="&" * 5000, incidents=IncidentList(rows, 3), tables=tables, tables_more=2)


def test_a_body_is_made_of_tables(report, localizer):
    """Nothing that mail programs drop is in a body: no style sheet, no SVG, no picture, no script, no link."""
    page = Page(body_of(report, localizer))
    assert page.names <= KEPT
    assert page.attributes <= {
        *("lang", "charset", "name", "content", "style", "role", "scope", "align"),
        *("width", "cellpadding", "cellspacing", "border"),
    }


def test_a_body_fetches_nothing(report, localizer):
    """No style asks for anything."""
    body = body_of(report, localizer)
    assert "url(" not in body
    assert "@import" not in body


@pytest.mark.parametrize(
    "said",
    [
        "13 h 30 min of data downtime (31% less than last week) in 6 incidents (3 fewer), at a cost of ¥858,300",
        'Add a check on sales.orders that detects "amounts x100": incident 41 accounts for 70% of the cost',
        "And 23 more incidents.",
        "\N{MINUS SIGN}6 h 38 min",
        "Tables: 14, checks: 61, results: 20,496, of which 99% could be evaluated.",
        "Tables without an owner: web.events.",
        "The full report with charts and definitions is attached.",
    ],
)
def test_figures_are_said_without_a_chart(said):
    """The body says the same figures as the report, in words and tables."""
    assert said in Page(body_of(sample.report(), VOICES["en"])).text


def test_a_body_speaks_the_readers_language():
    """In Japanese, nothing of a body's own words is left in English."""
    page = Page(body_of(sample.report(), VOICES["ja"])).text
    assert "データダウンタイム13時間30分\uff08先週より31%減\uff09、インシデント6件" in page
    for english in ("attached", "Figures", "This week", "no owner", "incident"):
        assert english not in page


def test_a_body_is_never_cut_off(localizer):
    """However much happened, and however long names are, a body stays under 90 KB and counts what it leaves out."""
    for report in (crowded(), replace(crowded(), incidents=IncidentList((), 0)), sample.report(), hostile_report()):
        assert len(body_of(report, localizer).encode()) < MOST_BYTES < 102_000
    page = Page(body_of(crowded(), VOICES["en"])).text
    assert "more incidents." in page
    assert "more tables." in page


def test_what_others_wrote_stays_text(localizer):
    """Names, titles and owners that hold markup add no element to a body."""
    harmless, attacked = Page(body_of(sample.report(), localizer)), Page(body_of(hostile_report(), localizer))
    assert attacked.names <= harmless.names
    assert HOSTILE[:25] in " ".join(attacked.words)


def test_secrets_are_masked(localizer):
    """What came from the environment is in neither the body nor the file, nor in the JSON for webhooks."""
    report = sample.report(project="hunter2-shop")
    for channel in (MAIL, HOOK):
        parts = json.dumps(parts_of(report, channel, localizer, Redactor(["hunter2"])), ensure_ascii=False)
        assert "hunter2" not in parts
        assert MASK in parts


def test_people_get_a_page_and_the_report_as_a_file(localizer):
    """A mail holds the body and the whole report, which is named by its week."""
    parts = parts_of(sample.report(), MAIL, localizer, Redactor())
    (file,) = parts["attachments"]
    assert file["name"] == f"tablewatch-2026-W46-{localizer.language}.html"
    assert file["mime"] == "text/html"
    assert "<svg" in file["text"]
    assert "<svg" not in parts["html"]


def test_a_webhook_gets_the_figures(localizer):
    """A program gets the published JSON form of the report instead of pages."""
    parts = parts_of(sample.report(), HOOK, localizer, Redactor())
    assert set(parts) == {"report"}
    assert parts["report"]["schema"] == "tablewatch.weekly/2"
    assert parts["report"]["figures"]["this_week"]["downtime_h"] == 13.5
