"""Tables of a page as cards on a telephone."""

import re

import pytest

from monitor.reports.cards import with_cards
from monitor.reports.render import as_html
from monitor.voice import BabelVoice
from tests.monitor.reports import sample

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


@pytest.mark.parametrize(
    "text", ["", "<p>no table</p>", "<table><tbody><tr><td>1</td></tr></tbody></table>", "<table>"]
)
def test_what_has_no_head_stays_as_it_is(text: str) -> None:
    """A page without a table, or a table without a head, is not touched."""
    assert with_cards(text) == text


def test_nothing_but_labels_is_added() -> None:
    """Taking labels and the class out again gives the page that was rendered, whatever others wrote into it."""
    page = as_html(sample.report(project='<td data-label="x">&lt;'), BabelVoice("ja", "Asia/Tokyo"))
    assert with_cards(page).count("<table") == page.count("<table")
    assert re.findall(r"<td[^>]*>", page)
    assert "&lt;td data-label" in page
