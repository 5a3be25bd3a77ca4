"""Drawing tables: nothing is cut off, nothing is too wide, and what people copy stays in one piece."""

import io
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from monitor.terminal.console import make_console
from monitor.terminal.tables import draw_table

_WORDS = st.text(st.sampled_from("abc. 売上金額🎉"), max_size=40)
_FIGURES = st.sampled_from(["0 min", "239 h 18 min", "JPY 18,706,148,559", "-"])
_COLUMNS = ("~table", ">downtime", "state", ">cost", "~what")
_LOG = ("when", ">#", "~channel", "id", "~message", "~error")
_MESSAGE = (
    "2026-11-26 21:57",
    "10",
    "data-platform-chat",
    "msg_a9c81912987b502056",
    "two incidents of orders",
    "refused",
)


def _drawn(width: int, columns: Sequence[str], *rows: Sequence[str | None]) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, soft_wrap=True, markup=False, emoji=False, highlight=False)
    draw_table(console, columns, rows)
    return file.getvalue()


def _signs(text: str) -> Counter[str]:
    return Counter(sign for sign in text if not sign.isspace())


@example(57, [("a" * 12, "0 min", "open", "239 h 18 min", "a" * 13)])  # exactly enough room
@given(st.integers(8, 200), st.lists(st.tuples(_WORDS, _FIGURES, st.just("open"), _FIGURES, _WORDS), max_size=4))
def test_nothing_is_cut_off_and_nothing_is_too_wide(width: int, rows: list[tuple[str, ...]]) -> None:
    """Whatever room there is, every sign of a row that holds anything is printed, within the terminal."""
    text = _drawn(width, _COLUMNS, *rows)
    shown = _signs("".join(cell for row in rows for cell in row if cell != "-"))
    assert not shown - _signs(text)
    assert max(cell_len(line) for line in text.splitlines()) <= max(width, 9)  # "    ", a sign of two cells, or a name
    assert all(line == line.rstrip() for line in text.splitlines())


@given(st.lists(st.tuples(*[st.text(st.sampled_from("ab. 売"), min_size=1, max_size=60)] * 6), max_size=4))
def test_a_pipe_gets_each_row_in_one_line(rows: list[tuple[str, ...]]) -> None:
    """Who searches or cuts the output has whole rows, however long they are."""
    file = io.StringIO()
    console = make_console(str, stderr=False)
    console.file = file
    draw_table(console, _LOG, rows)
    assert len(file.getvalue().splitlines()) == 1 + len(rows)


@pytest.mark.parametrize("width", range(67, 140, 7))
def test_ids_times_and_figures_stay_in_one_piece(width: int) -> None:
    """What users copy or compare is never broken, and texts are broken between words."""
    text = _drawn(width, _LOG, _MESSAGE)
    for cell in ("2026-11-26 21:57", "msg_a9c81912987b502056", "data-platform-chat", "incidents"):
        assert cell in text
    figures = _drawn(width, _COLUMNS, ("a name " * 12, "239 h 18 min", "open", "JPY 18,706,148,559", "what " * 12))
    assert "239 h 18 min" in figures
    assert "JPY 18,706,148,559" in figures


def test_texts_at_the_end_go_below_their_row() -> None:
    """Where they would be narrow; two of them have their names, one is named in the head."""
    two = _drawn(72, _LOG, _MESSAGE, (*_MESSAGE[:4], None, None))
    assert two.splitlines()[1:] == [
        "2026-11-26 21:57  10  data-platform-chat  msg_a9c81912987b502056",
        "    message: two incidents of orders",
        "    error: refused",
        "2026-11-26 21:57  10  data-platform-chat  msg_a9c81912987b502056",
    ]
    one = _drawn(50, ("state", "~table", "~what"), ("open", "orders-of-the-north", "seven keys are there twice"))
    assert one.splitlines() == [
        "state  table",
        "    what",
        "open   orders-of-the-north",
        "    seven keys are there twice",
    ]


def test_names_break_after_their_signs() -> None:
    """A name that has no room breaks where it can be read on."""
    lines = _drawn(30, ("~check", ">downtime"), ("daily_revenue.primary-key", "239 h 18 min")).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["check", "daily_revenue.", "primary-key"]


def test_what_may_be_left_out_is_the_last_to_fit_and_is_told() -> None:
    """In a terminal with room for it, it is there; with none for anything, all of it goes below the first column."""
    columns, row = (
        ("~table", ">incidents", "?>table hours", ">cost"),
        ("orders", "12", "129 h 16 min", "JPY 14,831,095"),
    )
    assert "129 h 16 min" in _drawn(47, columns, row)
    narrower = _drawn(46, columns, row)
    assert "129 h 16 min" not in narrower
    assert narrower.splitlines()[-1] == "not shown on this narrow terminal: table hours"
    assert _drawn(24, columns, row).splitlines() == [
        "table",
        "orders",
        "    incidents: 12",
        "    table hours: 129 h",
        "    16 min",
        "    cost: JPY 14,831,095",
    ]


def test_a_column_goes_before_a_text_becomes_a_thread_of_words() -> None:
    """A text of several words keeps twenty cells while a column may be left out for it."""
    row = ("the new field is in sen; the loader divides by 100", "6 h 38 min", "172 h 16 min to 228 h 16 min")
    text = _drawn(50, ("~cause", ">downtime", "?>range"), row)
    assert text.splitlines()[1:] == [
        "the new field is in sen; the loader     6 h 38 min",
        "divides by 100",
        "not shown on this narrow terminal: range",
    ]
