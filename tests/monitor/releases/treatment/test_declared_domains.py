"""Domains are read as they are written on a command line, and never from a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.releases.treatment.declared_domains import declared_words, domains_for, labels_of, read_cells
from monitor.terminal.problem import Stop
from remedies.differential_privacy.answers import BoundedColumn, CategoryColumn, SteppedColumn


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ("F,M", ("F", "M")),
        (" F , M ", ("F", "M")),
        ("1,2,-3", (1, 2, -3)),
        ("01,2", ("01", "2")),
        ("1,x", ("1", "x")),
        ("1.5,2.5", ("1.5", "2.5")),
        ("true,false", ("true", "false")),
        ('"Tokyo, JP","say ""hi"""', ("Tokyo, JP", 'say "hi"')),
        ("<18,18-24,56+", ("<18", "18-24", "56+")),
        ("a..b", ("a..b",)),
        ("1..3", (1, 2, 3)),
        ("-2..1", (-2, -1, 0, 1)),
        ("1930..2009:20", (1930, 1950, 1970, 1990)),
        ("1..10:4", (1, 5, 9)),
    ],
)
def test_what_is_written_is_what_can_come_out(words: str, labels: tuple[object, ...]) -> None:
    """Texts, unless all are whole numbers as they are usually written; cells by their smallest number."""
    assert labels_of(read_cells(words)) == labels
    declared = declared_words(words)
    assert labels_of(declared) == labels if isinstance(declared, SteppedColumn) else declared == labels


@pytest.mark.parametrize("words", ["", ",", "F,", "F,,M", "F,F", "1,1", "3..1", "1..1", "0..9999999", "1..9:0"])
def test_what_is_no_domain_is_refused(words: str) -> None:
    """Empty values, values twice, ranges that go down or have too many cells."""
    with pytest.raises(ValueError, match=r".+"):
        read_cells(words)


@given(st.integers(-2000, 2000), st.integers(1, 500), st.integers(1, 600))
def test_cells_of_a_range_cover_it(low: int, length: int, width: int) -> None:
    """Each number is in the cell of the largest label that is not above it."""
    cells = read_cells(f"{low}..{low + length}:{width}")
    assert isinstance(cells, SteppedColumn)
    labels = labels_of(cells)
    assert len(labels) == cells.size
    assert [cells.label(place) for place in range(cells.size)] == list(labels)
    assert labels[0] == low
    assert low + length - width < int(labels[-1]) <= low + length


def test_what_is_said_goes_before_what_is_declared() -> None:
    """Of each column by itself; without columns, those that are said and those that a release randomises."""
    declared = {
        "a": CategoryColumn(values=("x", "y")),
        "b": CategoryColumn(values=("x", "y")),
        "c": CategoryColumn(values=("x",)),
    }
    found = domains_for((), inline=["b=1..2"], others=["a=y", "b=2"], declared=declared, released=["a"])
    assert {name: (labels_of(one), one.other) for name, one in found.items()} == {
        "a": (("x", "y"), "y"),
        "b": ((1, 2), 2),
    }


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """A person corrects it in one go."""
    with pytest.raises(Stop) as caught:
        domains_for(
            ("a", "b"),
            inline=["c=1,2", "d", "a=1,1"],
            others=["b=3"],
            declared={"b": BoundedColumn.model_validate({"low": 0, "high": 1})},
        )
    assert [problem.message.split(";")[0] for problem in caught.value.problems] == [
        "--domain 'd': expected column=values",
        "--domain 'a=1,1': 'values' names a value twice",
        "--other 'b=3': expected a column with a domain, once, '=' and one of its values",
        "--domain names 'c', which is not one of the columns",
        "column 'a' has no declared domain",
        "column 'b' is declared with limits",
    ]
