"""What the values of columns are: patterns with checksums, dictionaries, and evidence without a value."""

import random
import string
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import ColumnClass
from monitor.releases.disclosure.column_content import BIRTHDAYS, KINDS, content_of

TODAY = date(2026, 11, 20)
DIRECT, QUASI, SENSITIVE = ColumnClass.DIRECT_IDENTIFIER, ColumnClass.QUASI_IDENTIFIER, ColumnClass.SENSITIVE


def _kind(*values: str) -> str | None:
    content = content_of([(value, 1) for value in values], TODAY)
    return None if content is None else content[0]


def _wide(text: str) -> str:
    """Return a text in full-width letters, as Japanese forms have them."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


def luhn(number: str) -> str:
    """Return a number with the digit that Luhn's formula asks for, by the table of doubled digits."""
    doubled = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
    total = sum(doubled[int(digit)] if place % 2 == 0 else int(digit) for place, digit in enumerate(reversed(number)))
    return f"{number}{-total % 10}"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("email", ["ann@example.org", "b.o+x@sub.example.co.jp"]),
        ("card", ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"]),
        ("iban", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"]),
        ("my_number", ["123456789018", "1234-5678-9018"]),
        ("ssn", ["078-05-1120", "219-09-9999"]),
        (
            "phone",
            [
                "+81 90-1234-5678",
                "03-1234-5678",
                "09012345678",
                "(415) 555-0132",
                "(03) 1234-5678",
                _wide("03-1234-5678"),
            ],
        ),
        ("ip", ["192.0.2.7", "2001:db8::1"]),
        ("mac", ["00:1b:63:84:45:e6"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"]),
        ("url", ["https://example.org/ann?x=1"]),
        (
            "street",
            ["12 Main Street", "221B Baker St, London", "東京都千代田区丸の内1-9-1", "横浜市西区みなとみらい2-2"],
        ),
        ("name", ["Ann Smith", "TANAKA, Yuki", "O'Brien Mary", "Zed Okoye"]),
        ("name", ["佐藤 健", "鈴木花子", "高橋 一郎", "タナカ タロウ"]),
        ("named_text", ["she called Mr Miller about the invoice twice", "nothing to say about this very long visit"]),
        ("named_text", ["お電話にて田中様より返品のご相談を承りました。折り返しご連絡します。"]),
        ("named_text", ["田中様より電話", "在庫確認のみ"]),
        ("named_text", ["write to ann@example.org", "left at door"]),
        ("text", ["the parcel arrived late and was wet", "all good with this order, no complaint"]),
        ("icd", ["E11.9", "I10.0"]),
        ("illness", ["Diabetes mellitus", "asthma", "flu"]),
        ("illness", ["糖尿病", "高血圧症"]),
        ("coordinates", ["35.6812,139.7671", "(-33.8688, 151.2093)", "POINT (139.7671 35.6812)"]),
        ("postcode", ["100-0005", "〒160-0022", "SW1A 1AA"]),
        ("sex", ["m", "F", "female"]),
        ("sex", ["男", "女", "不明"]),
        ("region", ["東京都", "大阪府", "北海道", "青森"]),
        ("region", ["CA", "NY", "TX"]),
    ],
)
def test_each_kind_is_recognised(kind, values):
    """Values of each kind are taken for it, in English and Japanese, also in full-width digits."""
    assert _kind(*values) == kind


@pytest.mark.parametrize(
    "values",
    [
        ["4111111111111112", "5500000000000005"],
        ["DE89370400440532013001"],
        ["123456789012"],
        ["000-12-3456", "666-12-3456"],
        ["1.2", "3.4"],
        ["999.1.1.1"],
        ["OK", "OK"],
        ["A12", "B34"],
        ["2026-01-03", "2026-02-04"],
        ["198011", "202306"],
        ["山口県", "千葉市"],
        ["git+ssh://git@example.org/a b", "left at door"],
        ["12.50", "100"],
        ["pending", "paid", "shipped"],
        ["", " "],
        [],
    ],
)
def test_what_only_looks_alike_is_of_no_kind_of_person(values):
    """A wrong checksum, a version, a code, a price, a place or a recent day is no identifier."""
    kind = _kind(*values)
    assert kind is None or KINDS[kind].column_class is QUASI


@pytest.mark.parametrize(
    "style", ["%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%Y年%m月%d日", "%Y-%m-%d 00:00:00"]
)
def test_days_of_birth_span_generations(style):
    """Days over many years are births; the same days of this year are not."""
    random_ = random.Random(7)
    days = [date(1940, 1, 1) + timedelta(days=random_.randrange(25_000)) for _ in range(200)]
    assert _kind(*(day.strftime(style) for day in days)) == "birth"
    assert _kind(*(day.replace(year=2026, month=3).strftime(style) for day in days if day.day < 29)) is None


def test_days_of_birth_by_era():
    """Years of Japanese eras count."""
    assert _kind("昭和元年12月30日", "昭和55年3月2日", "平成2年1月8日", "大正10年5月5日") == "birth"


@given(st.integers(min_value=10**13, max_value=10**14 - 1))
def test_one_wrong_digit_is_no_card(number):
    """Luhn's formula notices each wrong digit, and accepts each right one."""
    card = luhn(f"4{number}")
    assert KINDS["card"].matches(card)
    for place in range(1, len(card)):
        other = card[:place] + str((int(card[place]) + 1) % 10) + card[place + 1 :]
        assert not KINDS["card"].matches(other)


@given(st.text(alphabet=string.printable + "東京都佐藤" + _wide("01-@"), max_size=300))
def test_any_text_is_looked_at(text):
    """Whatever a text holds, it is of a known kind or none, and the share is one of rows."""
    content = content_of([(text, 3), ("x", 1)], TODAY)
    assert content is None or (0 < content[1] <= 1 and (content[0] in KINDS or content[0] == "birth"))


def test_shares_are_of_rows():
    """A value counts with its rows: one e-mail address in four of ten rows is 40 %."""
    assert content_of([("ann@example.org", 4), ("none given", 6)], TODAY) == ("email", 0.4)
    assert BIRTHDAYS.column_class is QUASI
    assert KINDS["illness"].column_class is SENSITIVE
    assert KINDS["email"].column_class is DIRECT
