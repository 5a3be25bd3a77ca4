"""Texts, numbers, money and times in the reader's language."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from babel.numbers import format_decimal
from hypothesis import given
from hypothesis import strategies as st

from checks import Message
from monitor.terminal.localizer import Localizer, Money

ENGLISH = Localizer("en", "Asia/Tokyo")
JAPANESE = Localizer("ja", "Asia/Tokyo")
SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("seconds", "kind", "english", "japanese"),
    [
        (20_160, "duration", "5 h 36 min", "5時間36分"),
        (timedelta(hours=5, minutes=36), "duration", "5 h 36 min", "5時間36分"),
        (270_000, "duration", "3 d 3 h", "3日3時間"),
        (270_000, "hours", "75 h", "75時間"),
        (4_446_060, "hours", "1,235 h 1 min", "1,235時間1分"),
        (41, "duration", "41 s", "41秒"),
        (7_248, "hours", "2 h", "2時間"),
        (432_180, "duration", "5 d", "5日"),
        (0, "duration", "0 min", "0分"),
        (0, "hours", "0 min", "0分"),
        (Fraction(7, 2), "hours", "4 s", "4秒"),
        (-90, "duration", "\u22121 min 30 s", "\u22121分30秒"),
    ],
)
def test_lengths(seconds, kind, english, japanese):
    """A length of time is shown in its largest unit and the next smaller one; `hours` knows no days."""
    assert ENGLISH.format(seconds, kind) == english.replace(" h", f"{SPACE}h").replace(" min", f"{SPACE}min").replace(
        " d", f"{SPACE}d"
    ).replace(" s", f"{SPACE}s")
    assert JAPANESE.format(seconds, kind) == japanese


@pytest.mark.parametrize(
    ("amount", "currency", "english", "japanese"),
    [("858300", "JPY", "¥858,300", "￥858,300"), ("12.5", "USD", "$12.50", "$12.50"), ("0", "EUR", "€0.00", "€0.00")],
)
def test_money(amount, currency, english, japanese):
    """Money has its currency's decimals, in the reader's form; yen have none."""
    money = Money(Decimal(amount), currency)
    assert ENGLISH.format(money, "money") == english
    assert JAPANESE.format(money, "money") == japanese


def test_times():
    """Times are shown in the localizer's zone, days and weeks in the reader's order."""
    moment = datetime(2026, 11, 11, 1, 10, tzinfo=UTC)
    assert ENGLISH.format(moment, "time") == "Wed, Nov 11, 10:10"
    assert JAPANESE.format(moment, "time") == "11月11日(水) 10:10"
    day = date(2026, 11, 9)
    assert [ENGLISH.format(day, kind) for kind in ("day", "date", "weekday")] == ["Mon, Nov 9", "Nov 9", "Mon"]
    assert [JAPANESE.format(day, kind) for kind in ("day", "date", "weekday")] == ["11月9日(月)", "11月9日", "月"]
    assert JAPANESE.format((day, date(2026, 11, 15)), "dates") == "2026年11月9日\uff5e15日"


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (26_115, "count", "26,115"),
        (0.0461, "ratio", "4.6%"),
        (0.31, "ratio", "31%"),
        (1_234_567, "number", "1,234,567"),
        (13.5, "number", "13.5"),
        ("x", "count", "x"),
        (None, "", "None"),
    ],
)
def test_numbers(value, kind, said):
    """Numbers are grouped; small shares keep a decimal; a text is left alone."""
    assert Message(f"{{value:{kind}}}", {"value": value}).render(ENGLISH) == said


@given(st.integers(-(10**20), 10**20), st.sampled_from(["en", "ja", "hi", "de"]))
def test_whole_numbers_are_those_of_babel(number, locale):
    """A whole number is shown as Babel formats it, whichever kind was asked for before."""
    localizer = Localizer(locale, "UTC")
    patterns = {"count": None, "number": "#,##0.######"}
    for kind in ("count", "number", "count"):
        assert localizer.format(number, kind) == format_decimal(number, format=patterns[kind], locale=locale)


def test_messages():
    """A message is said in the reader's language, whole, with the form that fits its number."""
    text, one = "And {n:count} more incidents.", "And {n:count} more incident."
    assert [Message(text, {"n": n}, one=one, counted="n").render(ENGLISH) for n in (1, 2)] == [
        one.replace("{n:count}", "1"),
        text.replace("{n:count}", "2"),
    ]
    assert [Message(text, {"n": n}, one=one, counted="n").render(JAPANESE) for n in (1, 2)] == [
        "ほか 1 件",
        "ほか 2 件",
    ]


def test_message_in_message():
    """A message may be a part of another one and is said in the same language."""
    part = Message("about as much as {last}", {"last": Message("last week")})
    whole = Message("{label}: {said}", {"label": Message("Cost"), "said": part})
    assert whole.render(JAPANESE) == "コスト\uff1a先週とほぼ同じ"
    assert whole.render(ENGLISH) == "Cost: about as much as last week"


def test_fall_back():
    """A text without a translation, and a language without a catalogue, speak English."""
    assert JAPANESE.text("a text that nobody translated") == "a text that nobody translated"
    assert Localizer("de", "UTC").text("Cost") == "Cost"
    assert Localizer("de", "UTC").format(20_160, "duration") == f"5{SPACE}h 36{SPACE}min"
    assert JAPANESE.text("") == ""


def test_unknown_locale():
    """A locale that does not exist is refused by name."""
    with pytest.raises(ValueError, match="locale 'xx-nowhere' not found"):
        Localizer("xx-nowhere", "UTC")


def test_a_pair_of_dates_is_one_interval():
    """In a message as by itself, with what a language writes between them."""
    message = Message("from {dates:dates}", {"dates": (date(2026, 11, 16), date(2026, 11, 22))})
    assert message.render(Localizer("en", "UTC")) == "from Nov 16\u2009\u2013\u200922, 2026"
    assert message.render(Localizer("ja", "UTC")) == "from 2026年11月16日\uff5e22日"
    assert str(message) == "from 2026-11-16 to 2026-11-22"
