"""The page and the Markdown."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from checks import Message, PlainEnglish
from incidents import Level, LevelResult, LevelVerdict, Lever, Window
from monitor.reporting.figures import ComparedFigure
from monitor.reporting.filters import filters
from monitor.reporting.model import Diagnosis, IncidentList, MethodNotes, UnobservedTable
from monitor.reporting.period import Month
from monitor.reporting.render import SECTIONS, as_html, as_markdown, escape_markdown
from monitor.reporting.sentences import diagnosis_sentences, onset_range
from monitor.summaries.service_levels import JudgedContract
from monitor.terminal.localizer import Localizer
from tests.monitor.reporting import sample

VOICES = {locale: Localizer(locale, "Asia/Tokyo") for locale in ("en", "ja")}
HOSTILE = """<script>alert(1)</script>"'><img src=x onerror=alert(2)>&lt;b&gt;{{7*7}}{x}|`*_[a](javascript:alert(3))\n# https://evil.example"""
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects elements, attributes and text, and complains of elements that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self.stack: list[str] = []
        self.feed(page)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, name: str) -> list[str | None]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(params=["en", "ja"])
def localizer(request):
    """Return a localizer of each language."""
    return VOICES[request.param]


@pytest.fixture(params=[sample.report, sample.quiet_report])
def report(request):
    """Return a report of a week with and of one without downtime."""
    return request.param()


def test_page_is_sound(report, localizer):
    """The page has one h1, a language, captions, scopes, names for its charts, and every reference leads somewhere."""
    page = Outline(as_html(report, localizer))
    assert page.elements.count("h1") == 1
    assert ("html", "lang", localizer.language) in page.attributes
    tables = page.elements.count("table") - page.values("role").count("presentation")
    assert page.elements.count("caption") == tables
    assert all(value in {"col", "row", "rowgroup"} for value in page.values("scope"))
    assert page.elements.count("th") == len(page.values("scope"))
    charts = page.values("role").count("img")
    assert len([value for value in page.values("aria-label") if value]) >= charts
    identities = page.values("id")
    assert len(identities) == len(set(identities))
    assert set(page.values("aria-labelledby")) <= set(identities)


def test_page_needs_nothing_else(report, localizer):
    """The page has no script, no style attribute, no event attribute, and asks for nothing."""
    text = as_html(report, localizer)
    page = Outline(text)
    assert "script" not in page.elements
    assert not {"style", "src", "srcset", "action", "formaction", "xlink:href"} & {
        name for _, name, _ in page.attributes
    }
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    links = [value for _, name, value in page.attributes if name == "href"]
    assert [link for link in links if not link.startswith("#")] == ["data:,"]
    assert not re.findall(r"url\((?!#)", text)  # patterns of the page itself only
    assert "@import" not in text
    assert "default-src 'none'" in str(page.values("content"))


@pytest.mark.parametrize(
    "said",
    [
        "13 h 30 min of data downtime (31% less than last week) in 6 incidents (3 fewer), at a cost of ¥858,300",
        "Tables: 14, checks: 61, results: 20,496, of which 99% could be evaluated.",
        "Tables without an owner: web.events.",
        "Across all incidents, 64% of the downtime passed before detection.",
        'Add a check on sales.orders that detects "amounts x100": incident 41 accounts for 70% of the cost',
        "And 23 more incidents.",
        "Not counted: one incident resolved as expected, 10 h.",
        "email: 1,204 of 26,115 rows are NULL (4.6%)",
        "\u22126 h 38 min",
    ],
)
def test_figures_are_shown(said):
    """The figures of the value stand in the page and in the Markdown."""
    report = sample.report()
    assert said in Outline(as_html(report, VOICES["en"])).text.replace("\N{NO-BREAK SPACE}", " ")
    assert said in as_markdown(report, VOICES["en"]).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("language", "text"), [("en", "Time to acknowledge (TTA)"), ("ja", "対応開始時間 (TTA)")])
def test_time_to_acknowledge_is_shown_where_somebody_acknowledged(language, text):
    """The page has a row for each of the three weeks; without any there is none."""
    report = sample.report()
    weeks = (report.figures.this, report.figures.before, report.figures.median)
    domains = tuple(
        replace(item, figures=item.figures and replace(item.figures, tta=None)) for item in report.by_domain
    )
    nobody = replace(report, figures=ComparedFigure(*(replace(week, tta=None) for week in weeks)), by_domain=domains)
    (page, markdown), (silent_page, silent_markdown) = (
        (as_html(one, VOICES[language]), as_markdown(one, VOICES[language])) for one in (report, nobody)
    )
    assert text in page
    assert page.count('<tr><th scope="row">') - silent_page.count('<tr><th scope="row">') == 4  # and one of a domain
    assert markdown.count("| TTA, ") == 3
    assert "TTA" not in silent_page + silent_markdown


def test_japanese():
    """In Japanese the page says the same figures in Japanese."""
    page = Outline(as_html(sample.report(), VOICES["ja"])).text
    assert "データダウンタイム13時間30分\uff08先週より31%減\uff09、インシデント6件" in page
    assert "11月11日(水) 10:10" in page
    assert "継続中" in page


@pytest.mark.parametrize("language", ["en", "ja"])
def test_service_levels_say_how_much_was_observed(language):
    """Beside a contract stands how much of the period all its checks saw, once, unless they saw all of it."""
    availability = LevelResult(
        Level.AVAILABILITY, Fraction(99, 100), LevelVerdict.KEPT, seen=Fraction(1), low=Fraction(1), high=Fraction(1)
    )
    window = Window.of(sample.WEEK.start, sample.WEEK.end)
    partly = JudgedContract("orders", ("sales.orders",), window, [availability] * 2, 168 * sample.HOUR, sample.HOUR)
    whole = replace(partly, observed_us=partly.period_us)
    sentence = {
        "en": "All checks saw 1 h of 7 d.",
        "ja": "7日のうち、すべてのチェックが確認できたのは1時間です。",
    }
    for render in (as_html, as_markdown):
        texts = [render(sample.report(contracts=(item,)), VOICES[language]) for item in (partly, whole)]
        assert [text.replace("\N{NO-BREAK SPACE}", " ").count(sentence[language]) for text in texts] == [1, 0]


@pytest.mark.parametrize("render", [as_html, as_markdown])
def test_service_levels_name_owners_as_other_sections_do(render):
    """An owner has its name beside the service levels of its tables, or its key where it has none."""
    window = Window.of(sample.WEEK.start, sample.WEEK.end)
    kept = LevelResult(Level.TIME_TO_DETECT, Fraction(sample.HOUR), LevelVerdict.KEPT)
    tables = {"orders": "shop", "visits": "web", "stock": "store"}
    contracts = tuple(
        JudgedContract(f"slo:{table}", (table,), window, [kept], labels={"tier": None, "owner": owner})
        for table, owner in tables.items()
    )
    report = sample.report(contracts=contracts, owner_names={"shop": "Shop desk", "web": "<Web & co>"})
    page = render(report, VOICES["en"])
    assert all(f"owner {name}" in page for name in ("Shop desk", "&lt;Web &amp; co&gt;", "store"))


def test_domains_say_their_numbers():
    """The cells of a domain are said to those who cannot see them, also those without data."""
    page = as_html(sample.report(), VOICES["en"]).replace("\N{NO-BREAK SPACE}", " ")
    label = next(value for value in Outline(page).values("aria-label") if value and value.startswith("sales."))
    assert "2026-W35: unknown" in label
    assert "2026-W46: 1 h in 1 incident" in label
    assert "no domain" in page
    assert "And 1 more domain." in page
    text = as_markdown(sample.report(), VOICES["ja"])
    assert "| sales | \N{EN DASH} |" in text


def test_pictures_of_domains_lead_to_their_sections():
    """Each row of the picture is a link to the details of its domain, or to its row in the table; names are escaped."""
    hostile = 'd" onclick=x #é?&<b>'
    grid = sample.domains()
    names = ["sales", None, "web", hostile]
    report = sample.report(
        domains=replace(grid, rows=tuple(replace(grid.rows[0], name=name) for name in names)),
        by_domain=(*sample.by_domain(), replace(sample.by_domain()[1], name=hostile)),
    )
    outline = Outline(as_html(report, VOICES["en"]))
    ids = [value for _, name, value in outline.attributes if name == "id"]
    links = [value for tag, name, value in outline.attributes if (tag, name) == ("a", "href")]
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert [link for link in links if "domain" in link][:3] == ["#domain-sales", "#no-domain", "#domain-web"]
    assert "&<b>" not in as_html(report, VOICES["en"])


def test_a_domain_tells_what_asks_for_somebody():
    """Beside its figures: what lasts, what came back, which service levels are broken, which tables have no owner."""
    texts = [as_html(sample.report(), VOICES["en"]), as_markdown(sample.report(), VOICES["en"])]
    for text in texts:
        for part in ("Still open: #44, #45.", "sales.orders.", "levels broken: orders.", "an owner: sales.returns."):
            assert part in text
    assert texts[0].count('<details class="domain"') == 1  # the others have nothing that their rows do not tell


@pytest.mark.parametrize("render", [as_html, as_markdown])
def test_products_tell_their_promises(render):
    """A product has its consumers, downtime with both ends, and the broken promise; what is unknown is not 0."""
    text = render(sample.report(), VOICES["en"]).replace("\N{NO-BREAK SPACE}", " ")
    for part in (
        "Orders 360",
        "finance dashboard, pricing model",
        "(10 h \N{EN DASH} 12 h)",
        "time to detect",
        "not observed",
    ):
        assert part in text


def test_domains_are_told_by_their_titles():
    """Pages and Markdown say the title of a domain, to all readers, instead of its name."""
    grid = sample.domains()
    report = sample.report(domains=replace(grid, rows=(replace(grid.rows[0], title="売上"),)))
    page = as_html(report, VOICES["ja"])
    assert ">売上</a></strong>" in page
    assert any(value and value.startswith("売上") for value in Outline(page).values("aria-label"))
    assert "| 売上 |" in as_markdown(report, VOICES["ja"])


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0, "0"), (3, "<0.1"), (862, "14.4"), (5_996, "99.9"), (5_998, "100"), (8_152, "136"), (60_031, "1,001")],
)
def test_short_hours_are_rounded(minutes, text):
    """Hours over a column are rounded to tenths, from a hundred on to whole hours."""
    assert filters(VOICES["en"], "JPY")["show"](minutes * 60_000_000, "short_hours") == text


def test_months_fit_below_a_column():
    """Twelve months stand beside each other without their year, which no month of twelve needs."""
    name = {localizer: filters(VOICES[localizer], "JPY")["period_name"] for localizer in VOICES}
    month = Month.parse("2026-11", "Asia/Tokyo")
    assert {localizer: say(month) for localizer, say in name.items()} == {"en": "Nov", "ja": "11月"}


def test_chart_says_its_numbers():
    """A chart tells its numbers to those who cannot see it."""
    labels = [value for value in Outline(as_html(sample.report(), VOICES["en"])).values("aria-label") if value]
    days = next(value for value in labels if value.startswith("Hours of data downtime per day.")).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "Wed, Nov 11: 6 h 18 min, of which 5 h 36 min before detection" in days


def hostile_report():
    """Return a report in which everything that others wrote attacks."""
    report = sample.report(project=HOSTILE)
    rows = tuple(
        replace(row, table=HOSTILE, title=title, owner=HOSTILE, texts={"cause": HOSTILE})
        for row, title in zip(
            report.incidents.rows,
            (
                Message(HOSTILE),
                Message("{x}", {"x": HOSTILE}),
                Message("{names}", {"names": (HOSTILE, HOSTILE)}),
                Message(HOSTILE, {"y": 1}),
                Message("{x} {z}", {"x": 1}),
            ),
            strict=True,
        )
    )
    spot = UnobservedTable(HOSTILE, 60 * sample.MINUTE, (Message("{x}", {"x": HOSTILE}),))
    assert report.diagnosis is not None
    return replace(
        report,
        coverage=replace(report.coverage, unobserved=(spot, spot), without_owner=(HOSTILE,), without_checks=(HOSTILE,)),
        diagnosis=replace(
            report.diagnosis,
            advice=replace(sample.ADVICE, table=HOSTILE),
            title=Message("{title}", {"title": HOSTILE}),
        ),
        owners=tuple(replace(owner, name=owner.name and HOSTILE) for owner in report.owners),
        tables=tuple(replace(table, name=HOSTILE, owner=table.owner and HOSTILE) for table in report.tables),
        incidents=IncidentList(rows, 23),
        method=replace(
            report.method,
            rate_notes=(HOSTILE,),
            maintenance=tuple(replace(work, reason=HOSTILE) for work in report.method.maintenance),
        ),
    )


def test_what_others_wrote_stays_text(localizer):
    """Names, titles, owners, causes and notes that hold markup add no element and no attribute to the page."""
    harmless, attacked = Outline(as_html(sample.report(), localizer)), Outline(as_html(hostile_report(), localizer))
    assert sorted(set(attacked.elements)) == sorted(set(harmless.elements))
    assert {name for _, name, _ in attacked.attributes} == {name for _, name, _ in harmless.attributes}
    assert "<script>alert(1)</script>" in attacked.text
    assert "{{7*7}}" in attacked.text


def test_markdown_keeps_text_text(localizer):
    """In Markdown they add no HTML, no link, no column and no line."""
    harmless, attacked = as_markdown(sample.report(), localizer), as_markdown(hostile_report(), localizer)
    assert "<" not in attacked
    assert Outline(attacked).elements == []
    assert "](" not in attacked.replace("\\](", "")
    assert "https://" not in attacked
    assert [line.count("|") - line.count("\\|") for line in attacked.splitlines() if line.startswith("|")].count(8) == 7
    assert abs(len(attacked.splitlines()) - len(harmless.splitlines())) <= 1


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", "a\\_b"),
        ("a|b", "a\\|b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("a\n\n# b", "a # b"),
        ("http://x", "http\\://x"),
        ("\\", "\\\\"),
        ("売上", "売上"),
    ],
)
def test_escape_markdown(text, escaped):
    """What Markdown or HTML would read as more than text is escaped."""
    assert escape_markdown(text) == escaped


def test_secrets_are_masked(localizer):
    """A value that came from the environment is masked wherever it would be said."""
    report = replace(sample.report(), project="hunter2-project")
    for text in (
        as_html(report, localizer, redact=lambda said: said.replace("hunter2", "***")),
        as_markdown(report, localizer, redact=lambda said: said.replace("hunter2", "***")),
    ):
        assert "hunter2" not in text
        assert "***" in text.replace("\\*", "*")


def test_no_price_no_column(localizer):
    """Where nothing has a price there is no column of costs, and the page says so."""
    report = sample.report()
    bare = MethodNotes(
        excluded=(), maintenance=(), maintenance_us=0, rate_notes=(), priced=False, unpriced_us=0, disclosure=0
    )
    unpriced = replace(
        report,
        method=bare,
        figures=ComparedFigure(
            *(
                replace(figures, cost=None, cost_by_table_hours=None)
                for figures in (report.figures.this, report.figures.this, report.figures.this)
            )
        ),
        headline=Message("{what} this week.", {"what": Message("Cost")}),
        incidents=IncidentList(tuple(replace(row, cost=None) for row in report.incidents.rows), 0),
        tables=tuple(replace(table, cost=None) for table in report.tables),
        owners=tuple(replace(owner, cost=None) for owner in report.owners),
        diagnosis=None,
    )
    for text in (as_html(unpriced, localizer), as_markdown(unpriced, localizer)):
        assert "¥" not in text
        assert "￥" not in text
        assert localizer.text("No hourly rate is configured, so the cost of downtime is not shown.") in text


def test_nothing_to_compare_with(localizer):
    """In the first week there are dashes, not zeros, beside the figures, and no explanation of a change."""
    report = sample.report()
    first = replace(report, figures=ComparedFigure(report.figures.this, None, None), change=None)
    page = Outline(as_html(first, localizer))
    assert "\N{EN DASH}" in page.text
    assert "change" not in page.values("id")


def test_onset_is_an_interval(localizer):
    """Where the beginning of an incident is uncertain, its row says between which moments; else it says nothing."""
    ends = (datetime(2026, 11, 11, 2, tzinfo=UTC), datetime(2026, 11, 11, 4, tzinfo=UTC))
    moments = (ends[0], datetime(2026, 11, 11, 3, tzinfo=UTC), ends[1])
    rows = [sample.row(1, "t", Message("x"), occurred_at=at, earliest=ends[0], latest=ends[1]) for at in moments]
    said = [onset_range(row) for row in rows]
    assert [str(one.text) for one in said if one] == [
        "or later, up to {latest:time}",
        "between {earliest:time} and {latest:time}",
        "or as early as {earliest:time}",
    ]
    report = replace(sample.report(), incidents=IncidentList(tuple(rows), 0))
    for text in (as_html(report, localizer), as_markdown(report, localizer)):
        assert all(one.render(localizer) in text for one in said if one)
    assert onset_range(sample.row(1, "t", Message("x"))) is None


def test_open_incident_goes_on():
    """In a week that is not over an open incident is ongoing; only after one that is over does it continue after it."""
    over, running = sample.report(), sample.report(as_of=sample.WEEK.start + timedelta(days=3))
    assert "continues after this week" in as_html(over, VOICES["en"])
    assert "continues after this week" not in as_html(running, VOICES["en"])
    assert " · ongoing" in as_html(running, VOICES["en"])
    assert "; ongoing" in as_markdown(running, VOICES["en"])


@pytest.mark.parametrize(
    ("part", "english", "japanese"),
    [
        (Fraction(0), "0.0%", "0.0%"),
        (Fraction(1, 10**9), "<0.1%", "0.1%未満"),
        (Fraction(1, 2000), "<0.1%", "0.1%未満"),
        (Fraction(6, 10_000), "0.1%", "0.1%"),
        (Fraction(1, 8), "12%", "12%"),
        (Fraction(9949, 10_000), "99%", "99%"),
        (Fraction(995, 1000), ">99%", "99%超"),
        (1 - Fraction(1, 10**20), ">99%", "99%超"),
        (Fraction(1), "100%", "100%"),
    ],
)
def test_shares_follow_one_rule(part, english, japanese):
    """In tables, sentences and on the terminal a share is 0% or 100% only if it is exactly that."""
    assert VOICES["en"].format(part, "ratio") == PlainEnglish().format(part, "ratio") == english
    assert VOICES["ja"].format(part, "ratio") == japanese
    said = diagnosis_sentences(Diagnosis(Lever.REPAIR, 1 - part, 0, 1, None))[0]
    assert said.render(VOICES["en"]).startswith(f"Resolve faster: {english} of")
    assert str(said).startswith(f"Resolve faster: {english} of")
    report = sample.report()
    tables = (report.tables[0], replace(report.tables[1], part=part))
    assert f"¥30,500 {english}" in Outline(as_html(replace(report, tables=tables), VOICES["en"])).text


def test_half_an_incident():
    """A median between two counts is reported with its half."""
    report = sample.report()
    halves = replace(report.figures, median=replace(report.figures.this, n=Fraction(9, 2), cost=Fraction(1)))
    assert "4.5" in Outline(as_html(replace(report, figures=halves), VOICES["en"])).text


def test_every_section_has_its_templates():
    """Each section has a template for the page and one for Markdown, and no template is left over."""
    from importlib.resources import files

    folder = files("templates") / "report"
    for kind, suffix in (("html", ".html.j2"), ("markdown", ".md.j2")):
        names = {
            entry.name.removesuffix(suffix) for entry in (folder / kind).iterdir() if not entry.name.startswith("_")
        }
        assert names == set(SECTIONS)


def test_file_is_small():
    """The page stays far below the size at which mail programs cut it off."""
    rows = sample.rows() * 5
    page = as_html(replace(sample.report(), incidents=IncidentList(rows, 10_000)), VOICES["ja"])
    assert len(page.encode()) < 100_000
