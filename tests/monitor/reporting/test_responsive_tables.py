"""Tables of a page as cards on a telephone."""

import re

import pytest

from monitor.reporting import render
from monitor.reporting.render import as_html
from monitor.reporting.responsive_tables import with_cards
from monitor.terminal.localizer import Localizer
from tests.monitor.reporting import sample

TABLE = """<table class="x"><thead><tr><td></td><th>A &amp; B</th><th>C</th></tr></thead>
<tbody><tr><th>row</th><td>1</td><td><table role="presentation"><tr><td>2</td></tr></table></td></tr>
<tr><th>all</th><td colspan="2">3</td></tr></tbody></table>"""


def test_each_cell_carries_the_head_of_its_column() -> None:
    """A cell has the head above it as its label; a row's own head and a table of layout have none."""
    page = with_cards(TABLE)
    assert '<table class="cards x">' in page
    assert '<td data-label="A &amp; B">1</td>' in page
    assert '<td data-label="C"><table role="presentation"><tr><td>2</td>' in page
    assert '<td colspan="2" data-label="A &amp; B">3</td>' in page
    assert "<th>row</th>" in page


def test_a_wide_head_labels_its_first_column() -> None:
    """A head over two columns stands with the first of them."""
    page = with_cards(
        '<table><thead><tr><th>A</th><th colspan="2">B</th></tr></thead><tr><td>1</td><td>2</td><td>3</td>'
    )
    assert '<td data-label="A">1</td><td data-label="B">2</td><td>3</td>' in page


@pytest.mark.parametrize(
    "text", ["", "<p>no table</p>", "<table><tbody><tr><td>1</td></tr></tbody></table>", "<table>"]
)
def test_what_has_no_head_stays_as_it_is(text: str) -> None:
    """A page without a table, or a table without a head, is not touched."""
    assert with_cards(text) == text


def test_nothing_but_labels_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking labels and the class out again gives the page that was rendered, whatever others wrote into it."""
    report = sample.report(project='<td data-label="x">&lt;')
    page = as_html(report, Localizer("ja", "Asia/Tokyo"))
    monkeypatch.setattr(render, "with_cards", str)
    plain = as_html(report, Localizer("ja", "Asia/Tokyo"))
    assert page != plain
    assert _without_labels(page) == _without_labels(plain)
    assert "&lt;td data-label" in page


def _without_labels(page: str) -> str:
    return re.sub(r' data-label="[^"]*"| class="cards"|(?<=class=")cards ', "", page)
