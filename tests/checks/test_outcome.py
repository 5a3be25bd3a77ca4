"""Sentences that are stored once and read in any language."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Message, format_duration


class Shouting:
    """A localizer that cannot be mistaken for English."""

    def text(self, text):
        """Shout a text, but not the names of its places."""
        return text.replace("rows", "ROWS")

    def plural(self, one, many, number):
        """Have one form for one and another for all others."""
        return self.text(one if number == 1 else many)

    def format(self, value, kind):
        """Show the kind of each value."""
        return f"<{value}:{kind}>"


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("{x:count} rows", 26115, "26,115 rows"),
        ("{x:count} rows", 3.0, "3 rows"),
        ("{x:duration}", 7920.0, "2 h 12 min"),
        ("{x:duration}", timedelta(minutes=90), "1 h 30 min"),
        ("{x:duration}", timedelta(hours=26), "1 d 2 h"),
        ("{x:hours}", timedelta(hours=26, minutes=5), "26 h 5 min"),
        ("{x:hours}", timedelta(hours=1234), "1,234 h"),
        ("{x:hours}", timedelta(), "0 min"),
        ("{x:ratio}", 0.0251, "2.5%"),
        ("{x:ratio}", 0.796, "80%"),
        ("{x:number}", 1234.5, "1,234.5"),
        ("{x:number}", 1234567, "1,234,567"),
        ("{x:time}", datetime(2026, 11, 20, 9, 15, 2, 500, tzinfo=UTC), "2026-11-20T09:15:02+00:00"),
        ("{x:time}", "2026-11-20T09:15:02.000500Z", "2026-11-20T09:15:02+00:00"),
        ("{x:time}", "unchanged", "unchanged"),
        ("{x}", "unchanged", "unchanged"),
        ("{x:count}", "unchanged", "unchanged"),
        ("{x}", ["a", "b"], "a, b"),
        ("no place", None, "no place"),
        ("{{x}} is kept", None, "{x} is kept"),
    ],
)
def test_kinds(text, value, said):
    """Each place says its value by its kind; texts and lists of them are said as they are."""
    assert str(Message(text, {"x": value})) == said


def test_values_are_no_templates():
    """Braces in a value stay what they are."""
    assert str(Message("column {name}", {"name": "{name} {0} {x:count}"})) == "column {name} {0} {x:count}"


@pytest.mark.parametrize(("number", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_singular(number, said):
    """A sentence that counts has a form for one."""
    assert str(Message("{n:count} rows", {"n": number}, one="{n:count} row", counted="n")) == said


def test_another_localizer():
    """A localizer translates the text and formats each value by its kind."""
    message = Message(
        "{n:count} rows of {table}", {"n": 5, "table": "rows"}, one="{n:count} row of {table}", counted="n"
    )
    assert message.render(Shouting()) == "<5:count> ROWS of rows"


def test_same_sentence_with_other_values():
    """A sentence is written once and given its values where it is said."""
    sentence = Message("{n:count} rows", one="{n:count} row", counted="n")
    assert str(sentence.given(n=1)) == "1 row"
    assert sentence.values == {}


@given(st.integers(-(10**7), 10**7))
def test_duration_says_its_two_largest_units(seconds):
    """A length of time is said to within one part in its second unit."""
    said = format_duration(seconds)
    parts = said.removeprefix("-").split()
    sizes = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
    amounts = [int(count) * sizes[unit] for count, unit in zip(parts[::2], parts[1::2], strict=True)]
    assert len(amounts) <= 2
    assert 0 <= abs(seconds) - sum(amounts) < sizes[parts[-1]]
    assert said.startswith("-") == (seconds < 0)
