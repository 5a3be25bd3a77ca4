"""What is said beside an answer names everything that its accuracy leaves out."""

from typing import Any, Final

import pytest

from remedies.differential_privacy.answers import STATISTICS
from tests.remedies.differential_privacy.answers.exact import terms_of

DOMAIN: Final[dict[str, Any]] = {
    "sex": ["F", "M"],
    "city": {"values": ["Tokyo", "other"], "other": "other"},
    "born": {"range": [1930, 2009], "width": 10},
    "age": {"range": [0, 99], "width": 10, "other": 45},
    "spent": {"low": 1, "high": 200, "grid": "0.5"},
}
CUT: Final = (
    "of a customer with more than 3 rows, 3 rows chosen at random count; the number of ignored rows is not shown."
)


def covered(words: dict[str, Any], **declared: Any) -> list[tuple[Any, Any]]:
    """Return the words and sentences that go with a request."""
    terms = terms_of(domain=DOMAIN, **declared)
    asked = STATISTICS[words["statistic"]].model_validate({**words, "epsilon": "1"})
    return [(one["of"], one["text"]) for one in asked.not_covered(terms)]


def test_a_cut_and_rows_without_a_unit_are_named_and_not_counted() -> None:
    """Where rows of a unit are cut every answer says so, and what rows without a unit are; no number of rows."""
    assert covered({"statistic": "count"}, unit="customer", rows_per_unit=3) == [
        ("rows-cut", CUT),
        ("no-unit", "rows in which customer is NULL count together as one customer."),
    ]
    (cut, _) = covered({"statistic": "count"}, unit="customer")
    assert "more than 1 row, 1 row chosen at random counts" in cut[1]
    both = covered({"statistic": "count"}, unit=["from", "to"], pairs=["from", "to"])
    assert both[1][1] == "rows in which from and to are NULL count together as one pair of from, to."
    assert covered({"statistic": "count"}) == []


@pytest.mark.parametrize("statistic", ["sum", "mean", "quantile"])
def test_what_null_and_numbers_outside_the_limits_count_as_is_named(statistic: str) -> None:
    """Of a column of numbers: what NULL is taken for, what outside the limits is taken for, and the grid."""
    ((of, text),) = covered({"statistic": statistic, "column": "spent"})
    assert of == "values"
    assert text == (
        "in spent, NULL counts as 1, numbers outside 1 to 200 as the nearest limit, and all are rounded to multiples "
        "of 0.5."
    )
    ((_, text),) = covered({"statistic": statistic, "column": "age"})
    assert text.startswith("in age, NULL counts as 45, numbers outside 0 to 99 as the nearest limit")


def test_what_null_and_values_that_are_not_declared_are_counted_as_is_named() -> None:
    """Of a column that is counted by cell: the cell of the rest."""
    found = covered({"statistic": "histogram", "by": ["sex", "city", "born", "age"]})
    assert [text for _, text in found] == [
        "in sex, NULL and values that are not declared are counted in '(other)'.",
        "in city, NULL and values that are not declared are counted as other.",
        "in born, NULL and numbers outside 1930 to 2009 are counted in '(other)'.",
        "in age, NULL and numbers outside 0 to 99 are counted as 40.",
    ]


def test_which_rows_a_comparison_leaves_out_is_named() -> None:
    """A row without a value is not meant, unless the declaration says what it is taken for."""
    found = covered({"statistic": "count", "where": ["sex = F", "city != Tokyo", "born < 1990"]})
    assert found == [
        ("where", "rows in which sex is NULL are not meant by 'sex = F'."),
        ("where", "city is compared with NULL and values that are not declared taken for other."),
        ("where", "rows in which born is NULL are not meant by 'born < 1990'."),
    ]
