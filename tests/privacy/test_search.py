"""The search of the canary test finds what it looks for: without this, zero hits would say nothing."""

import base64
import html
import json
from urllib.parse import quote

import pytest

from tests.privacy.tokens import SECRET, Tokens, found_in

TOKENS = Tokens()
WORD, NUMBER, PRICE, DAY = TOKENS.word(), TOKENS.whole(), TOKENS.decimal(), TOKENS.day()
INTEGER = int(PRICE)


def _hits(content: bytes) -> list[str]:
    return list(found_in(b"before " + content + b" after", TOKENS.numbers))


@pytest.mark.parametrize(
    "token", [WORD, f"{SECRET}abc", str(NUMBER), str(PRICE), str(float(PRICE)), str(DAY), f"{DAY}T00:00:00"]
)
@pytest.mark.parametrize(
    "spell",
    [
        str.encode,
        lambda text: text.upper().encode(),
        lambda text: text.title().encode(),
        lambda text: f"O'{text}\"".encode(),
        lambda text: quote(text, safe="").encode(),
        lambda text: "".join(f"%{ord(letter):02x}" for letter in text).encode(),
        lambda text: "".join(f"%25{ord(letter):02X}" for letter in text).encode(),
        lambda text: html.escape(text).encode(),
        lambda text: "".join(f"&#{ord(letter)};" for letter in text).encode(),
        lambda text: "".join(f"&#x{ord(letter):x};" for letter in text).encode(),
        lambda text: json.dumps({"value": text}).encode(),
        lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
        lambda text: "".join(f"\\x{ord(letter):02x}" for letter in text).encode(),
        lambda text: json.dumps("".join(f"\\u{ord(letter):04x}" for letter in text)).encode(),
        lambda text: base64.b64encode(f"a{text}".encode()),
        lambda text: base64.b64encode(f"ab{text} and more".encode()),
        lambda text: base64.urlsafe_b64encode(f"?~\xff {text}?~\xff".encode()),
        lambda text: base64.encodebytes(f"{'abc ' * 17}{text}{' xyz' * 20}".encode()),
        lambda text: text.encode().hex().encode(),
        lambda text: text.encode().hex().upper().encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32-le"),
    ],
)  # fmt: skip
def test_a_token_is_found_however_it_is_written(token, spell):
    """Escaped, coded, in capitals: each spelling of each kind of token is a hit."""
    assert _hits(spell(token))


@pytest.mark.parametrize(
    "text",
    [
        f"{NUMBER:,}", f"{NUMBER:_}", f"{NUMBER:,}".replace(",", "."), f"{NUMBER:,}".replace(",", "\xa0"),
        f"{NUMBER:,}".replace(",", "\u202f"), f"{NUMBER:,}".replace(",", "&nbsp;"),
        f"{NUMBER:,}".replace(",", "\u2019"),
        f"{float(NUMBER)!r}", f"{NUMBER:.8e}", f"{NUMBER:.8E}", f"-{NUMBER}", f"{NUMBER / 1e6:.6f}M", f"{PRICE:,}",
        f"{NUMBER // 10_000_000},{NUMBER // 100_000 % 100:02},{NUMBER // 1000 % 100:02},{NUMBER % 1000:03}",
    ],
)  # fmt: skip
def test_a_number_is_found_in_any_grouping(text):
    """Thousands may be parted in any way, and floating point may come with an exponent."""
    assert _hits(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        f"{DAY:%d/%m/%Y}", f"{DAY:%d.%m.%Y}", f"{DAY:%B} {DAY.day}, {DAY.year}", f"{DAY:%b} {DAY.day} {DAY.year}",
        f"{DAY.day} {DAY:%B} {DAY.year}", f"{DAY.year}年{DAY.month}月{DAY.day}日", f"date({DAY.year}, {DAY.month}, 1)",
        f"{int((DAY.toordinal() - 719163) * 86400)}", f"{(DAY.toordinal() - 719163) * 86400_000_000}",
    ],
)  # fmt: skip
def test_a_day_is_found_in_any_order(text):
    """Written for people or as a time since 1970."""
    assert _hits(text.encode())


def test_a_value_that_was_cut_off_is_found():
    """The first letters of a word are enough."""
    assert _hits(WORD[:7].encode())


def test_what_is_no_token_is_no_hit():
    """A number that only looks like one (a mean), a count, a time of today, an id: none of them is a hit."""
    other = next(number for number in range(NUMBER, NUMBER + 9) if str(number) not in TOKENS.numbers)
    assert not _hits(
        f"{other} {other:,} 7391 2739 rows, 2739 s, 2739.173 h, 2026-11-20T09:00:00 0.739100001 12{NUMBER}34".encode()
    )
