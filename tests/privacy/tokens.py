"""Tokens to plant, and how to find them again however they are written.

Every token begins with a mark that occurs nowhere else, so that a look at an artefact is a handful of searches whatever
the number of tokens, and a part of a value that was cut off is found too. What follows the mark is unique: it says
which cell leaked.
"""

import base64
import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

WORD: Final = "qzxvkwj"
SECRET: Final = "wkzjqvx"  # noqa: S105 - the mark of secrets that are planted
DIGITS: Final = "7391"
YEAR: Final = 2739

_Coding: TypeAlias = tuple[bytes, re.Pattern[bytes], Callable[[bytes], Iterator[bytes]]]
_Pattern: TypeAlias = tuple[bytes, re.Pattern[bytes], re.Pattern[bytes]]

_SEPARATORS: Final = rb"(?:[,.'_ \xa0]|\xc2\xa0|\xe2\x80\xaf|\xe2\x80\x99|&nbsp;|&#160;|&#x27;)"
# what to look for quickly, and what must then stand there: before the place, and from it on
_NUMBERS: Final = tuple(
    (begin, re.compile(rb"(?:^|[^0-9.])$"), re.compile(begin.replace(b".", rb"\.") + rest))
    for begin, rest in (
        (b"7391", rb"[0-9]{5}(?![0-9])"),
        (b"739", _SEPARATORS + rb"1[0-9]{2}" + _SEPARATORS + rb"[0-9]{3}(?![0-9])"),
        (b"73", _SEPARATORS + rb"91" + _SEPARATORS + rb"[0-9]{2}" + _SEPARATORS + rb"[0-9]{3}(?![0-9])"),
        (b"7.391", rb"[0-9]{3,}(?=[eE]\+?0*8|\s?(?:\xc3\x97|\*)\s?10)"),
        (b"739.1", rb"[0-9]{3,}(?=\s?[mM](?![a-z]))"),
    )
)
_DAYS: Final = (
    (b"2739", re.compile(rb"(?:^|[^0-9])$"), re.compile(rb"2739(?:(?:[-/]| ?\xe5\xb9\xb4|, ?)[0-9]|\.[0-9]{1,2}\.)")),
    (b"2739", re.compile(rb"[A-Za-z]{3,9}\.? [0-9]{1,2},?[-/. ]$"), re.compile(rb"2739(?![0-9])")),
    (b"2739", re.compile(rb"[0-9]{1,2}[-/. ](?:[0-9]{1,2}|[A-Za-z]{3,9})[-/. ]$"), re.compile(rb"2739(?![0-9])")),
)
_EPOCH: Final = date(1970, 1, 1)


class Tokens:
    """Gives tokens, each once, and the same ones in every run."""

    def __init__(self) -> None:
        self._given = 0
        self.numbers: set[str] = set()
        """The whole numbers that were given, and the whole parts of the others."""

    def _next(self) -> int:
        self._given += 1
        return self._given

    def word(self) -> str:
        """Return a word: letters only, so that quoting and escaping leave it whole."""
        tail, number = "", self._next()
        for _ in range(4):
            number, rest = divmod(number, 26)
            tail += chr(ord("a") + rest)
        return WORD + tail

    def whole(self) -> int:
        """Return a whole number of nine digits."""
        number = f"{DIGITS}{self._next() * 61_981 % 100_000:05d}"  # far apart: no mean or sum is a token by chance
        self.numbers.add(number)
        return int(number)

    def decimal(self) -> Decimal:
        """Return a number with two decimals."""
        return Decimal(f"{self.whole()}.{self._given % 90 + 10}")

    def day(self) -> date:
        """Return a day of a far year."""
        return date(YEAR, 1, 1) + timedelta(days=self._next() % 365)


def found_in(content: bytes, numbers: Collection[str]) -> Iterator[str]:
    """Yield a line for every token in an artefact: how it is written, and what stands around it.

    Words and days are found by their marks; a number has to be one of `numbers`, since a mean of tokens looks like one.
    """
    for view, seen in _views(content):
        for mark in (WORD, SECRET):
            yield from _around(mark, view, seen, _everywhere(mark.encode(), seen.lower()))
            yield from _around(mark, f"{view}, backwards", seen, _everywhere(mark[::-1].encode(), seen.lower()))
        yield from _around("number", view, seen, _numbers(seen, numbers))
        yield from _around("day", view, seen, _days(seen))
    folded = re.sub(rb"(?:=?\r?\n|\\n)[ \t]*", b"", content)  # as mail folds base64
    for needle, run, decoded in _CODINGS:
        for at in _everywhere(needle, folded):
            coded = _whole_run(folded, at, run)
            if any(_says_token(plain, numbers) for plain in decoded(coded)):
                yield f"coded: {coded[:90]!r}"


def _whole_run(content: bytes, at: int, run: re.Pattern[bytes]) -> bytes:
    """Return the unbroken run of code letters around a place, as far as a few hundred letters away."""
    begin = max(0, at - 300)
    ahead = re.search(rb"(?:" + run.pattern + rb")*$", content[begin:at])
    after = re.match(rb"(?:" + run.pattern + rb")*", content[at : at + 300])
    return (ahead[0] if ahead else b"") + (after[0] if after else b"")


def _says_token(plain: bytes, numbers: Collection[str]) -> bool:
    low = plain.lower()
    return (
        any(mark.encode() in low for mark in (WORD, SECRET))
        or any(True for _ in _numbers(plain, numbers))
        or any(True for _ in _days(plain))
    )


def _views(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the artefact as it is, and with each way of escaping undone."""
    yield "raw", content
    if b"\0" in content:
        yield "UTF-16 or UTF-32", content.replace(b"\0", b"")
    if b"%" in content:
        yield "URL-encoded", unquote_to_bytes(content)
        yield "URL-encoded twice", unquote_to_bytes(unquote_to_bytes(content))
    if b"&" in content:
        yield "HTML-escaped", html.unescape(content.decode("utf-8", "replace")).encode("utf-8", "replace")
    if b"\\" in content:
        plain = re.sub(rb"\\+u00([0-9a-fA-F]{2})|\\+x([0-9a-fA-F]{2})", _as_byte, content)
        yield "JSON-escaped", plain


def _numbers(content: bytes, planted: Collection[str]) -> Iterator[int]:
    for at, match in _candidates(content, _NUMBERS):
        digits = re.sub(rb"[^0-9]", b"", match[0]).decode()
        cut_off = len(digits) < 9 and any(number.startswith(digits) for number in planted)
        if cut_off or digits[:9] in planted:  # more than nine: 7.39112345678e8
            yield at


def _days(content: bytes) -> Iterator[int]:
    return (at for at, _ in _candidates(content, (*_DAYS, *_EPOCHS)))


def _candidates(content: bytes, patterns: Iterable[_Pattern]) -> Iterator[tuple[int, re.Match[bytes]]]:
    for begin, before, there in patterns:
        for at in _everywhere(begin, content):
            match = there.match(content, at)
            if match is not None and before.search(content[max(0, at - 20) : at]):
                yield at, match


def _as_byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1] or match[2], 16)])


def _everywhere(needle: bytes, content: bytes) -> Iterator[int]:
    at = content.find(needle)
    while at >= 0:
        yield at
        at = content.find(needle, at + 1)


def _around(what: str, view: str, content: bytes, places: Iterator[int]) -> Iterator[str]:
    for at in places:
        yield f"{what} ({view}): {content[max(0, at - 50) : at + 40]!r}"


def _base64(mark: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of a mark at each of its three alignments, without the letters that neighbours share."""
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + mark + b"\0" * 3)
        begin = -(-before * 8 // 6)
        end = (before + len(mark)) * 8 // 6
        yield coded[begin:end]


def _from_base64(coded: bytes) -> Iterator[bytes]:
    """Decode a run of letters from each of the four places at which a group may begin."""
    coded = coded.translate(bytes.maketrans(b"-_", b"+/"))
    for skipped in range(4):
        part = coded[skipped:]
        part = part[: len(part) // 4 * 4 + (len(part) % 4 if len(part) % 4 > 1 else 0)]
        yield base64.b64decode(part + b"=" * (-len(part) % 4))


def _from_hex(coded: bytes) -> Iterator[bytes]:
    for skipped in range(2):
        part = coded[skipped:]
        yield bytes.fromhex(part[: len(part) // 2 * 2].decode())


def _codings() -> list[_Coding]:
    """Return what quickly tells that a mark may be coded here, the letters of the code, and how to undo it."""
    marks = [mark.encode() for mark in (WORD, SECRET, WORD.upper(), DIGITS, f"{YEAR}")]
    base = {one for mark in marks for one in _base64(mark)}
    base |= {one.translate(bytes.maketrans(b"+/", b"-_")) for one in base}
    sixteen = {spelt for mark in marks for spelt in (mark.hex().encode(), mark.hex().upper().encode())}
    letters, digits = re.compile(rb"[A-Za-z0-9+/_-]"), re.compile(rb"[0-9A-Fa-f]")
    return [*((one, letters, _from_base64) for one in base), *((one, digits, _from_hex) for one in sixteen)]


def _epochs() -> list[_Pattern]:
    """Find the days as seconds, milliseconds, microseconds or nanoseconds since 1970."""
    days = [(date(YEAR, 1, 1) + timedelta(days=number) - _EPOCH).days for number in range(366)]
    seconds = sorted(str(day * 86_400) for day in days)
    whole = re.compile(rf"(?:{'|'.join(seconds)})(?:000){{0,3}}(?![0-9])".encode())
    begins = sorted({second[:5].encode() for second in seconds})
    return [(begin, re.compile(rb"(?:^|[^0-9.])$"), whole) for begin in begins]


_CODINGS: Final = _codings()
_EPOCHS: Final = _epochs()
