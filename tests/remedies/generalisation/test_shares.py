"""A share of rows is the number of rows that a person means by it, whatever floating point made of it."""

from fractions import Fraction
from itertools import product

import pandas as pd
import pytest

from remedies.generalisation.criteria import rows_of
from remedies.generalise import Generalise


def test_every_share_that_was_divided_is_its_number_of_rows() -> None:
    """A part divided by all rows is that part, by division, by a decimal, and by what is left of the others."""
    for rows in (*range(1, 200), 997, 5_000, 1_000_003, 10**9):
        for part in {0, 1, 2, rows // 3, rows // 2, rows - 1} - {-1, rows}:
            if 0 <= part < rows:
                assert rows_of(part / rows, rows) == part
    for rows, tenths in product((10, 30, 1000), range(10)):
        assert rows_of(tenths / 10, rows) == rows_of(tenths * 0.1 if tenths < 10 else 0.0, rows) == tenths * rows // 10
        assert rows_of(1 - (10 - tenths) / 10, rows) == tenths * rows // 10


@pytest.mark.parametrize(
    ("limit", "rows", "wanted"),
    [
        (0.29, 100, 29),
        (0.1666, 12, 1),
        (0.166666666666, 12, 1),  # typed so, it is less than 2/12
        (1 - 2**-53, 10, 9),
        (0.0, 10, 0),
        (1e-300, 10, 0),
        (0.3333, 9, 2),
        (1 / 3, 9, 3),
    ],
)
def test_a_share_that_is_less_allows_fewer_rows(limit: float, rows: int, wanted: int) -> None:
    """Nothing but the last digits of a float is rounded."""
    assert rows_of(limit, rows) == wanted


@pytest.mark.parametrize("suppress", [2 / 12, "2/12", "16.6666666666666666666667%", 1 - 10 / 12])
@pytest.mark.parametrize("search", ["incognito", "datafly"])
def test_a_share_of_a_whole_number_of_rows_allows_that_number(search: str, suppress: float | str) -> None:
    """Two of twelve rows may leave, so the others stay as they are."""
    frame = pd.DataFrame({"age": [30] * 10 + [50, 70]})
    words = {"columns": ("age",), "k": 5, "hierarchies": {"age": {"type": "flat"}}, "search": search}
    bill = Generalise.model_validate({**words, "suppress": suppress}).apply(frame).bill
    assert (bill.rows_suppressed, bill.cells_changed["age"]) == (2, bill.cells_changed["age"])
    assert bill.guarantee.reached["k"] == 10
    less = Generalise.model_validate({**words, "suppress": float(Fraction(2, 12)) - 1e-9}).apply(frame).bill
    assert less.rows_suppressed == 0
