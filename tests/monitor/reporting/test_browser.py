"""The page in a real browser: Chromium, where it is installed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.reporting import release_record
from monitor.reporting.render import as_html
from monitor.reporting.timeline import TimelineLane
from monitor.terminal.localizer import Localizer
from tests.monitor.reporting import sample
from tests.monitor.reporting import test_release_pages as release_pages

pytestmark = pytest.mark.browser

LONG = "warehouse.a_table_whose_name_nobody_ever_thought_would_be_read_on_a_telephone_2026"

CONTRASTS = """
() => {
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(e).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = numbers(element.closest('svg') ? style.fill : style.color).slice(0, 3);
    const [light, dark] = [luminance(ink), luminance(ground(element))].sort((a, b) => b - a);
    found.push([walker.currentNode.textContent.trim(), (light + 0.05) / (dark + 0.05)]);
  }
  return found;
}
"""

FILL_CONTRASTS = """
() => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const fill = (part) => luminance(getComputedStyle(document.querySelector('.timeline svg rect.' + part)).fill);
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const [undetected, repair] = ['undetected', 'repair'].map(fill);
  return {parts: ratio(undetected, repair), undetected: ratio(undetected, page), repair: ratio(repair, page)};
}
"""

NAMELESS = """
() => [...document.querySelectorAll('[role=img], [role=region], section')].filter(element => {
  const ids = (element.getAttribute('aria-labelledby') || '').split(' ').filter(id => id);
  const labels = ids.map(id => document.getElementById(id)?.textContent.trim());
  return !(element.getAttribute('aria-label') || (labels.length && labels.every(label => label)));
}).map(element => element.outerHTML)
"""

OVERLAPS = """
() => [...document.querySelectorAll('svg')].flatMap(svg =>
  ['number', 'name'].flatMap(kind => {
    const boxes = [...svg.querySelectorAll('text.' + kind)].map(t => t.getBoundingClientRect()).filter(b => b.width);
    return boxes.slice(1).filter((box, i) => box.left < boxes[i].right).map(box => [kind, box.left]);
  }))
"""


@pytest.fixture(scope="module", params=["en", "ja"])
def page_file(request, tmp_path_factory) -> Path:
    """Write a full report in each language, with a name that is far too long."""
    report = sample.report()
    rows = tuple(
        sample.row(row.id, LONG, row.title, owner=LONG, texts={"cause": LONG}) for row in report.incidents.rows
    )
    report = sample.report(incidents=type(report.incidents)(report.incidents.rows + rows, 3))
    path = tmp_path_factory.mktemp("page") / f"{request.param}.html"
    path.write_text(as_html(report, Localizer(request.param, "Asia/Tokyo")), encoding="utf-8")
    return path


class Seen:
    """A page as one reader sees it, and everything that it said or asked for."""

    def __init__(self, page, path: Path) -> None:
        self.page = page
        self.console: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(path.as_uri())

    @property
    def overflow(self) -> int:
        """Return how many pixels the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def see(browser) -> Iterator:
    """Return a way to look at a page: width, colour scheme, with or without scripts."""
    contexts = []

    def look(path: Path, *, width: int = 1200, scheme: str = "light", scripts: bool = True) -> Seen:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        return Seen(context.new_page(), path)

    yield look
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_quiet_and_fitting(see, page_file, width, scheme):
    """The page fits a telephone and a screen, says nothing on the console, and asks for nothing but itself."""
    seen = see(page_file, width=width, scheme=scheme)
    assert seen.overflow == 0
    assert seen.console == []
    assert seen.asked == [page_file.as_uri()]
    assert seen.page.evaluate(OVERLAPS) == []


def test_style_is_allowed(see, page_file):
    """The content security policy lets the page's own style through, and no other."""
    seen = see(page_file)
    assert seen.page.evaluate("getComputedStyle(document.body).maxWidth") != "none"
    seen.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\" id=\"intruder\">x</p>')")
    assert seen.page.evaluate("getComputedStyle(document.getElementById('intruder')).color") != "rgb(255, 0, 0)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(see, page_file, scheme):
    """Every text stands out from its ground by at least 4.5 to 1, in light and in dark."""
    found = see(page_file, scheme=scheme).page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert [(text, round(ratio, 2)) for text, ratio in found if ratio < 4.5] == []


def test_without_scripts(see, page_file):
    """With scripts switched off everything is there, and the tables behind the charts can be opened."""
    seen = see(page_file, scripts=False)
    details = seen.page.locator("details").first
    assert not details.locator("table").is_visible()
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    assert seen.page.locator("svg[role=img]").count() == 6


def test_keyboard(see, page_file):
    """What scrolls or opens can be reached with the keyboard, and is seen to be reached."""
    seen = see(page_file, width=360)
    reached = set()
    for _ in range(20):
        seen.page.keyboard.press("Tab")
        reached.add(seen.page.evaluate("document.activeElement.className || document.activeElement.tagName"))
    assert {"scroll", "SUMMARY"} <= reached
    outline = "getComputedStyle(document.querySelector(':focus-visible')).outlineStyle"
    seen.page.keyboard.press("Shift+Tab")
    assert seen.page.evaluate(outline) == "solid"


def test_print(see, page_file, tmp_path):
    """On paper the page is light whatever the screen was, fits A4, and repeats the head of a table on each sheet."""
    seen = see(page_file, width=794, scheme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    found = seen.page.evaluate(CONTRASTS)
    assert [(text, round(ratio, 2)) for text, ratio in found if ratio < 4.5] == []
    file = tmp_path / "report.pdf"
    seen.page.pdf(path=file, prefer_css_page_size=True)
    assert file.read_bytes().count(b"/Type /Page\n") in range(2, 9)


HEADS_AND_PAGES = """
() => [...document.querySelectorAll('details')].map(details => ({
  summary: getComputedStyle(details.querySelector('summary')).display,
  shown: details.querySelector('tbody tr').getClientRects().length > 0
    && details.querySelector('tbody').checkVisibility({contentVisibilityAuto: true, visibilityProperty: true}),
}))
"""


def test_print_shows_figures_as_tables(see, page_file):
    """On paper, where nothing can be opened, the tables behind the charts are shown beside them."""
    seen = see(page_file, width=794)
    assert not any(one["shown"] for one in seen.page.evaluate(HEADS_AND_PAGES))
    seen.page.emulate_media(media="print")
    *charts, domain = seen.page.evaluate(HEADS_AND_PAGES)
    assert charts == [{"summary": "none", "shown": True}] * 2
    assert domain == {"summary": "block", "shown": True}  # which has no other head
    assert seen.page.evaluate(OVERLAPS) == []


def test_print_keeps_together(see, page_file):
    """On paper a chart, a small table and the method stay whole; the list of incidents may go on, row by row."""
    seen = see(page_file, width=794)
    seen.page.emulate_media(media="print")
    inside = "selector => [...document.querySelectorAll(selector)].map(e => getComputedStyle(e).breakInside)"
    for selector in ("table:not(.incidents)", ".spread tbody", ".chart", "section.method", ".incidents tr"):
        assert set(seen.page.evaluate(inside, selector)) == {"avoid"}, selector
    assert set(seen.page.evaluate(inside, ".incidents, .incidents tbody")) == {"auto"}


@pytest.fixture
def lanes_file(page_file, tmp_path) -> Path:
    """Write a report whose timeline has long names of tables, in Latin and in Japanese letters."""
    timeline = sample.timeline()
    names = (LONG * 2)[:120], "販売管理" + "受注明細履歴" * 10, "sales.orders"
    lanes = tuple(TimelineLane(names[at % 3], timeline.lanes[0].bars, at) for at in range(12))
    path = tmp_path / page_file.name
    page = as_html(sample.report(timeline=replace(timeline, lanes=lanes)), Localizer(page_file.stem, "Asia/Tokyo"))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize(("media", "width"), [("screen", 390), ("screen", 680), ("print", 680)])
def test_names_of_a_timeline_fit(see, lanes_file, width, media):
    """Names of tables wrap within the page, and stand above their bars."""
    seen = see(lanes_file, width=width)
    seen.page.emulate_media(media=media)
    assert seen.overflow == 0
    lanes = seen.page.evaluate("""
      () => [...document.querySelectorAll('.lane')].map(lane => {
        const range = document.createRange();
        range.selectNodeContents(lane.querySelector('p'));
        const name = range.getBoundingClientRect();
        return [name.left, name.right, lane.querySelector('svg').getBoundingClientRect().top - name.bottom];
      })
    """)
    assert len(lanes) == 14  # twelve tables and two domains
    assert [lane for lane in lanes if lane[0] < 0 or lane[1] > width or lane[2] < 0] == []


def test_a_timeline_on_paper_breaks_between_lanes(see, lanes_file):
    """A lane stays in one piece, with its name; the weekdays stay with the last lane, the foot with the page."""
    seen = see(lanes_file, width=680)
    seen.page.emulate_media(media="print")
    style = "([what, rule]) => [...new Set([...document.querySelectorAll(what)].map(e => getComputedStyle(e)[rule]))]"
    assert seen.page.evaluate(style, [".lane", "breakInside"]) == ["avoid"]
    assert seen.page.evaluate(style, [".lane p", "breakAfter"]) == ["avoid"]
    assert seen.page.evaluate(style, [".weekdays, .timeline .legend, footer", "breakBefore"]) == ["avoid"]


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_lies_behind_bars_is_visible(see, page_file, scheme, media):
    """The hatching and the edge of planned work stand out from the page 3 to 1, and the legend shows the same look."""
    seen = see(page_file, scheme=scheme)
    seen.page.emulate_media(media=media, color_scheme=scheme)
    look = seen.page.evaluate("""
      () => {
        const style = (what) => getComputedStyle(document.querySelector(what));
        const marks = [...document.querySelectorAll('.timeline svg rect.unknown')];
        const lane = document.querySelector('.timeline .lane svg');
        return {
          fills: [...new Set(marks.map(mark => mark.getAttribute('fill').match(/#(.*)\\)/)[1]))],
          pattern: document.querySelectorAll('pattern#unobserved rect.hatch').length,
          hatch: style('pattern#unobserved rect').fill, edge: style('.timeline svg rect.maintenance').stroke,
          shade: style('.timeline svg rect.maintenance').fill, key: style('.timeline .key.maintenance').backgroundColor,
          page: style('body').backgroundColor,
          described: lane.querySelector('#' + lane.getAttribute('aria-describedby')).textContent,
        };
      }
    """)
    assert (look["fills"], look["pattern"]) == (["unobserved"], 1)
    assert look["shade"] == look["key"] != look["page"]
    assert contrast(look["hatch"], look["page"]) >= 3
    assert contrast(look["edge"], look["page"]) >= 3
    words = {
        "en": "not observed: 29 h; planned maintenance: 21 h",
        "ja": "未監視: 29時間; 計画メンテナンス: 21時間",
    }
    assert look["described"].replace("\N{NO-BREAK SPACE}", " ") == words[page_file.stem]


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours such as `rgb(0, 0, 0)` (WCAG 2)."""

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_parts_of_downtime_differ_in_grey(see, page_file, scheme, media):
    """The two parts of a bar stand out from each other and from the page by lightness alone, 3 to 1 (WCAG 1.4.11)."""
    seen = see(page_file, scheme=scheme)
    seen.page.emulate_media(media=media, color_scheme=scheme)
    ratios = seen.page.evaluate(FILL_CONTRASTS)
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < 3} == {}


def test_accessible_names(see, page_file):
    """Regions, tables and charts have names, as a screen reader finds them."""
    seen = see(page_file)
    assert seen.page.get_by_role("heading", level=1).count() == 1
    assert seen.page.evaluate(NAMELESS) == []


@pytest.fixture(scope="module", params=["record", "comparison"])
def release_file(request, tmp_path_factory) -> Path:
    """Write each page about a release, with names that are far too long."""
    localizer = Localizer("en", "Asia/Tokyo")
    if request.param == "record":
        found = release_pages.record(LONG, note=LONG * 3)
        text = release_record.record_html(found, localizer, project=LONG)
    else:
        text = release_pages.comparison_page(release_pages.comparison(LONG), localizer, LONG)
    path = tmp_path_factory.mktemp("page") / f"{request.param}.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_pages_about_releases_are_quiet_and_fit(see, release_file, width, scheme):
    """They fit a telephone and a screen, ask for nothing, and every text stands out from its ground."""
    seen = see(release_file, width=width, scheme=scheme)
    assert seen.overflow == 0
    assert (seen.console, seen.asked) == ([], [release_file.as_uri()])
    assert seen.page.evaluate(NAMELESS) == []
    seen.page.evaluate("document.querySelectorAll('svg .on').forEach(text => text.remove())")  # white, on its dark mark
    assert [(text, round(ratio, 2)) for text, ratio in seen.page.evaluate(CONTRASTS) if ratio < 4.5] == []


def test_marks_of_a_plot_lead_to_their_lines(see, tmp_path):
    """With the keyboard alone, and seen to be reached."""
    path = tmp_path / "comparison.html"
    page = release_pages.comparison_page(release_pages.comparison(), Localizer("en", "Asia/Tokyo"), "survey")
    path.write_text(page, encoding="utf-8")
    seen = see(path, scripts=True)
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.getAttribute('href')") == "#way-1"
    assert seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    seen.page.keyboard.press("Enter")
    assert seen.page.evaluate("document.querySelector(':target').id") == "way-1"


def test_pages_about_releases_are_light_on_paper(see, release_file):
    """Whatever the screen was."""
    seen = see(release_file, width=794, scheme="dark")
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    seen.page.evaluate("document.querySelectorAll('svg .on').forEach(text => text.remove())")
    assert [(text, round(ratio, 2)) for text, ratio in seen.page.evaluate(CONTRASTS) if ratio < 4.5] == []
