"""Generalisation hierarchies: read, and refused."""

import pytest

from checks.risk import Hierarchy

CSV = 'a;A;*\nb;A;*\n"c;d";C;*\n'


def test_forms_agree():
    """ARX's text and a mapping make the same hierarchy; a byte order mark and other delimiters are read."""
    made = Hierarchy.of({"a": ["A", "*"], "b": ["A", "*"], "c;d": ["C", "*"]})
    assert Hierarchy.from_csv(CSV) == made
    assert Hierarchy.from_csv("\N{BYTE ORDER MARK}" + CSV.replace("\n", "\r\n") + "\r\n") == made
    assert Hierarchy.from_csv("a,A,*\nb,A,*\n", delimiter=",") == Hierarchy.of({"a": ["A", "*"], "b": ["A", "*"]})
    assert (made.values, made.height, made.partitions) == (("a", "b", "c;d"), 2, 2)
    assert made.nodes().tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]


def test_levels_that_tell_nothing_apart_are_no_partitions():
    """A root that is repeated counts once, and one that is not written is there."""
    assert Hierarchy.of({"a": ["*", "*"], "b": ["*", "*"]}).partitions == 1
    assert Hierarchy.of({"a": ["A"], "b": ["B"]}).partitions == 2
    assert Hierarchy.of({"a": []}).partitions == 1


def test_unknown_values_are_counted():
    """Only how many there are."""
    assert Hierarchy.from_csv(CSV).missing(["a", "x", "x", "y"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "without a value"),
        ("\n\n", "without a value"),
        ("a,A\nb,A\n", "expected 'value;ancestor;...'"),
        ("a;*\na;*\n", "1 values come more than once"),
        ("a;A;*\nb;*\nc;C;*\n", "1 of 3 values of a hierarchy have another number of ancestors than 2"),
        ("a;A;X\nb;A;Y\n", "at level 1 of a hierarchy there are 1 more parents than nodes"),
    ],
)
def test_what_is_no_hierarchy_is_counted_and_not_shown(text, message):
    """Messages say how many values are wrong, never which."""
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_csv(text)


def test_levels_are_equally_long():
    """Made by hand, level by level, a hierarchy is looked at all the same."""
    with pytest.raises(ValueError, match="differ in length"):
        Hierarchy((("a", "b"), ("*",)))
    with pytest.raises(ValueError, match="without a value"):
        Hierarchy(())


def test_adult(reference_data):
    """ARX's own hierarchies of Adult are read: nine, with as many values and levels as they have."""
    shapes = {}
    for file in sorted((reference_data / "adult" / "hierarchies").glob("*.csv")):
        made = Hierarchy.from_csv(file.read_text(encoding="utf-8"))
        shapes[file.stem.removeprefix("adult_hierarchy_")] = (len(made.values), made.height, made.partitions)
    assert shapes["age"] == (100, 4, 4)
    assert shapes["native-country"] == (41, 2, 2)
    assert len(shapes) == 9
