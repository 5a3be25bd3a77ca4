"""Reading YAML into values that know their place."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.yaml_nodes import MAX_DEPTH, Unreadable, find_node, plain_data, read_yaml, resolve


def _read(text: str) -> Any:
    tree, problems = read_yaml(text, "t.yaml")
    assert problems == []
    return plain_data(tree)


def _refusal(text: str) -> Any:
    with pytest.raises(Unreadable) as caught:
        read_yaml(text, "t.yaml")
    return caught.value.problem


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("NO", "NO"),
        ("no", "no"),
        ("on", "on"),
        ("Yes", "Yes"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("12:30:45", "12:30:45"),
        ("19:00", "19:00"),
        ("0123", "0123"),
        ("0o14", "0o14"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("2026-10-01", "2026-10-01"),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("1.50", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.5e-3", 0.0015),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        (".", "."),
        ("1.", "1."),
        ("e5", "e5"),
        (".e5", ".e5"),
        ("-.e5", "-.e5"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_plain_scalar_has_no_surprises(text: str, meaning: object) -> None:
    """Only true, false, null and decimal numbers without leading zeros are read as something else than text."""
    assert resolve(text) == meaning
    assert isinstance(resolve(text), type(meaning))
    if isinstance(meaning, float):
        assert resolve(text).text == text


@given(st.integers(min_value=-(10**50), max_value=10**50) | st.floats(allow_nan=False, allow_infinity=False))
def test_python_numbers_are_read_back(number: float) -> None:
    """A number as Python writes it is read as that number."""
    assert resolve(repr(number)) == number


def test_every_value_keeps_its_place() -> None:
    """Line and column of keys and values count from 1, in characters, also behind Japanese text."""
    tree, _ = read_yaml("売上: {a: '日本', b: 2}\nlist:\n  - x\n", "t.yaml")
    sales, _ = find_node(tree, ["売上"])
    assert (sales.keys["b"].line, sales.keys["b"].column) == (1, 15)
    value, _ = find_node(tree, ["売上", "b"])
    assert (value.place.line, value.place.column) == (1, 18)
    entry, _ = find_node(tree, ["list", 0])
    assert (entry.place.file, entry.place.line, entry.place.column) == ("t.yaml", 3, 5)


def test_quotes_make_text() -> None:
    """A quoted or block scalar is text whatever it looks like."""
    assert _read("a: '1'\nb: \"true\"\nc: |\n  5\n") == {"a": "1", "b": "true", "c": "5\n"}


def test_keys_stay_as_written() -> None:
    """A key is text even when it looks like a number or a boolean."""
    assert _read("1: a\ntrue: b\n0123: c") == {"1": "a", "true": "b", "0123": "c"}


def test_a_duplicate_key_names_both_places() -> None:
    """A key given twice is a problem at the second place that names the first; the first value is kept."""
    tree, problems = read_yaml("a: 1\nb: 2\na: 3\n", "t.yaml")
    assert [(problem.code, problem.line, problem.column) for problem in problems] == [("config.duplicate_key", 3, 1)]
    assert "first in line 1" in problems[0].message
    assert plain_data(tree) == {"a": 1, "b": 2}


def test_anchors_aliases_and_merges() -> None:
    """An alias repeats a value, and `<<` gives defaults that explicit keys override."""
    text = "one: &d {x: 1, y: 2}\ntwo: {y: 3, <<: *d}\nthree: *d\nfour: {<<: [*d, {z: 4}]}"
    assert _read(text)["two"] == {"x": 1, "y": 3}
    assert _read(text)["three"] == {"x": 1, "y": 2}
    assert _read(text)["four"] == {"x": 1, "y": 2, "z": 4}


def test_a_bomb_of_aliases_is_refused() -> None:
    """A few lines that would expand to a billion values are refused while they are read."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    problem = _refusal("\n".join(lines))
    assert problem.code == "config.alias"
    assert "repeat more than" in problem.message


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("a: *x", "config.alias", "there is no anchor '&x'"),
        ("a: &x [*x]", "config.alias", "contains itself"),
        ("*x : 1", "config.key", "a key must be text"),
        ("? [a]\n: b", "config.key", "a key must be text"),
        ("a: 1\n---\nb: 2", "config.documents", "second document"),
        ("", "config.empty", "empty"),
        ("# only a comment", "config.empty", "empty"),
        ("a: [1, 2", "config.syntax", "did not find expected"),
        ("a: \x01", "config.syntax", "control character"),
    ],
)
def test_what_is_no_configuration_file_is_refused(text: str, code: str, said: str) -> None:
    """Each way of not being one YAML document has its own words."""
    problem = _refusal(text)
    assert problem.code == code
    assert said in problem.message


def test_a_tab_is_named() -> None:
    """A tab in the indentation says where it is and that spaces are wanted."""
    problem = _refusal("a:\n\tb: 1")
    assert (problem.line, problem.column) == (2, 1)
    assert problem.hint is not None
    assert "spaces, not tabs" in problem.hint


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    """A file nested without end is refused before anything recurses."""
    assert _refusal(opening * 100_000).code == "config.depth"
    shallow, _ = read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH, "t.yaml")
    assert isinstance(plain_data(shallow), list)


def test_tags_are_refused() -> None:
    """An explicit tag is a problem, never a constructor."""
    _, problems = read_yaml("a: !!python/object/apply:os.system ['true']\nb: !!int '3'", "t.yaml")
    assert [problem.code for problem in problems] == ["config.tag", "config.tag"]


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))).filter(
    lambda text: text[:1] not in "+-.0123456789" or text == ""  # 0E0 is text for PyYAML and a number in YAML 1.2
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abcdefgh", min_size=1), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abcdefgh", min_size=1), _VALUES, min_size=1), st.booleans())
def test_what_pyyaml_writes_is_read_back(value: dict[str, Any], flow: bool) -> None:
    """Values that PyYAML writes are read back as they were, in block and in flow style."""
    text = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow)
    assert _read(text) == value or re.search("[\x85\u2028\u2029\ufeff]", text)
