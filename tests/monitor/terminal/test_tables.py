"""Drawing tables: nothing is cut off, nothing is too wide."""

import io
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from monitor.terminal.tables import draw_table

_WORDS = st.text(st.sampled_from("abc 売上金額🎉"), max_size=40)
_FIGURES = st.sampled_from(["0 min", "239 h 18 min", "JPY 18,706,148,559", "-"])
_COLUMNS = ("~table", ">downtime", "state", ">cost", "~what")


def _drawn(width: int, rows: list[tuple[str, ...]]) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, soft_wrap=True, markup=False, emoji=False, highlight=False)
    draw_table(console, _COLUMNS, rows)
    return file.getvalue()


def _signs(text: str) -> Counter[str]:
    return Counter(sign for sign in text if not sign.isspace())


@example(57, [("a" * 12, "0 min", "open", "239 h 18 min", "a" * 13)])  # exactly enough room
@given(st.integers(40, 200), st.lists(st.tuples(_WORDS, _FIGURES, st.just("open"), _FIGURES, _WORDS), max_size=4))
def test_nothing_is_cut_off_and_nothing_is_too_wide(width: int, rows: list[tuple[str, ...]]) -> None:
    """Whatever room there is, every sign is printed, within the terminal and within 100 columns."""
    text = _drawn(width, rows)
    shown = Counter[str]()
    for name in _COLUMNS:
        shown += _signs(name.lstrip(">~"))
    for row in rows:
        for cell in row:
            shown += _signs(cell or "-")
    assert _signs(text) == shown
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= min(width, 100)


def test_figures_stay_in_one_piece_while_there_is_room() -> None:
    """Texts are folded before figures are: at 80 columns a long name takes several lines, a figure one."""
    text = _drawn(80, [("a name " * 12, "239 h 18 min", "open", "JPY 18,706,148,559", "what " * 12)])
    assert "239 h 18 min" in text
    assert "JPY 18,706,148,559" in text
    assert len(text.splitlines()) > 3
