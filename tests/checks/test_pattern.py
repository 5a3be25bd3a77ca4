"""Texts are written as a pattern says."""

import re
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Misconfigured, Status
from checks.parameters.regex import portable
from checks.pattern import Pattern
from tests.checks.ask import Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT

OBSERVED = {"rows", "violations"}
EFFECTS = {
    "column": ({"pattern": "[xy]"}, "b", "q"),
    "pattern": ({"column": "b"}, "[xy]", "x"),
    "max_ratio": ({"column": "b", "pattern": "x"}, 0, 0.5),
    "where": ({"column": "b", "pattern": "x"}, ABSENT, "id = 1"),
    "warn": ({"column": "b", "pattern": "x", "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"column": "b", "pattern": "x", "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [{"column": "name", "pattern": "[a-z]+"}, {"column": "age", "pattern": "[0-9]"}]


def column(kind, *values):
    """Return a table with one column of values that were loaded on the 1st, 2nd ... of November."""
    rows = [(value, datetime(2026, 11, day)) for day, value in enumerate(values, 1)]  # noqa: DTZ001 - a naive column
    return Rows({"v": kind, "loaded": "timestamp"}, rows)


def test_counts_what_is_written_otherwise(dialect):
    """The pattern stands for the whole value; NULL is allowed; a line break at the end is none of the pattern's."""
    values = ("ABC-00001", "abc-00001", None, "ABC-1", "xABC-00001", "ABC-00001x", "ABC-00001\n", "ABC-٣٣٣٣٣", "")
    with place(dialect, t=column("text", *values)) as here:
        outcome = ask(Pattern(column="v", pattern="[A-Z]{3}-[0-9]{5}"), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {"rows": 9, "violations": 7}
    assert str(outcome.message) == "v: 7 of 9 rows do not match the pattern (78%)"


def test_engines_agree_on_every_part_of_the_syntax(dialect):
    """Classes, groups, alternatives and repetitions match on every engine what Python's `re` matches."""
    patterns = ("a.c", "(ab){2}|cdab", "[^a-c]+", "[+]?[0-9]{2,3}", "x*y?", r"\d\.\d", "[-a]b", "(?:a|bc)?d")
    patterns += (r"\]\(\)\{\}\*\+\?\|\$\.",)
    values = (
        "](){}*+?|$.",
        "abc",
        "abab",
        "cdab",
        "xyz",
        "+123",
        "12",
        "xxy",
        "1.5",
        "1x5",
        "-b",
        "bcd",
        "d",
        "a\nc",
        "ü",
    )
    with place(dialect, t=column("text", *values)) as here:
        for pattern in patterns:
            wrong = [value for value in values if "\n" in value or not re.fullmatch(pattern, value, re.ASCII)]
            outcome = ask(Pattern(column="v", pattern=pattern), here)
            assert outcome.observed["violations"] == len(wrong), pattern


def test_a_value_that_is_too_long_matches_nothing(dialect):
    """More than 1,000 letters are not looked into."""
    with place(dialect, t=column("text", "a" * 1000, "a" * 1001)) as here:
        assert ask(Pattern(column="v", pattern="a+"), here).observed["violations"] == 1


def test_only_texts_have_a_pattern(dialect):
    """A column of numbers is refused, with its type."""
    with place(dialect, t=column("bigint", 1)) as here, pytest.raises(Misconfigured, match="a text column"):
        ask(Pattern(column="v", pattern="1"), here)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+", "(a|aa)+", "(a?){9}", "a**", "a+*b", "a*a*a*a*b", "a{256}", "a{3,2}", "a{", "{2}", "(?=a)", "(?i)a"),
        *(
            r"(a)\1",
            r"\b",
            r"\s",
            r"\\",
            r"\[",
            "[a",
            "[]",
            "[z-a]",
            "[a[b]",
            "[a&&b]",
            "[a--b]",
            "[||]",
            "(a",
            "a)",
            "a^b",
            "a$b",
            "a]",
            "*",
        ),
        *("(" * 11 + "a" + ")" * 11, "a" * 501, ""),
    ],
)
def test_what_engines_read_differently_or_slowly_is_refused(pattern):
    """Look-around, back references, repetitions of what varies and broken patterns are errors of the configuration."""
    with pytest.raises(ValidationError):
        Pattern(column="v", pattern=pattern)


@given(st.text(st.sampled_from("ab1()[]{}|*+?.,-^$\\ "), max_size=12))
@example(".+")
def test_what_is_accepted_is_a_pattern_and_quick(text):
    """Whatever is accepted compiles, has no backslash, and comes to an end on a value that is made to be slow."""
    try:
        pattern = portable(text)
    except ValueError:
        return
    assert "\\" not in pattern
    slow, whole = "a" * 60 + "!\n", pattern.removeprefix("^").removesuffix("$")
    expected = re.fullmatch(whole, slow) or re.fullmatch(whole, slow.removesuffix("\n"))  # as `$` means it in Python
    assert (re.search(pattern, slow) is None) is (expected is None)
