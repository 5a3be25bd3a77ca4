r"""Regular expressions that mean the same on every engine, and that no value can make slow.

Engines differ in what `\d`, `\w` and `$` are, in look-around and in back references, and those that try every way to
match (SQLite's through Python, PostgreSQL, Spark's through Java) can be kept busy by a pattern such as `(a+)+b`. So a
part of the syntax is read here and written again, as POSIX extended regular expressions (all that Snowflake knows):

    literals, `[...]` with ranges, `.`, groups, `|`, and the repetitions `?` `*` `+` `{n}` `{m,n}` `{m,}`

What is repeated holds no repetition of variable length, and at most three repetitions have no upper limit: the work for
a value of n letters is then bounded by a power of n, and values are bounded too (`MOST_LETTERS`). The pattern always
stands for the whole value; `^` and `$` around it are allowed and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from annotated_types import MaxLen, MinLen
from pydantic import AfterValidator, Field

MOST_LETTERS: Final = 1_000
"""Letters of a value above which it matches nothing."""
_MOST_REPEATED: Final = 255
"""PostgreSQL repeats at most so often."""
_MOST_UNBOUNDED: Final = 3
_MOST_NESTED: Final = 10
_SPECIAL: Final = frozenset(".[](){}*+?|$")
_CLASSES: Final = {"d": "[0-9]", "w": "[A-Za-z0-9_]"}


def portable(pattern: str) -> str:
    """Return a pattern as every engine reads it, anchored to the whole value and without a backslash.

    Raises:
        ValueError: it is no pattern of this syntax; the text says where and why.
    """
    inner = pattern.removeprefix("^")
    if inner.endswith("$") and not inner.endswith("\\$"):
        inner = inner[:-1]
    reader = _Reader(inner, len(pattern) - len(pattern.removeprefix("^")))
    part = reader.alternatives(0)
    if reader.at < len(inner):
        raise reader.refusal("an unexpected ')'")
    return f"^({part.text})$"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: its portable text, and whether how much it matches is fixed."""

    text: str
    fixed: bool = True


class _Reader:
    def __init__(self, pattern: str, offset: int) -> None:
        self.pattern, self.at, self._offset, self._unbounded = pattern, 0, offset, 0

    def refusal(self, problem: str) -> ValueError:
        return ValueError(f"{problem} at character {self.at + self._offset + 1} of the pattern")

    def alternatives(self, depth: int) -> _Part:
        parts = [self._sequence(depth)]
        while self._next() == "|":
            self.at += 1
            parts.append(self._sequence(depth))
        return _Part("|".join(part.text for part in parts), len(parts) == 1 and parts[0].fixed)

    def _sequence(self, depth: int) -> _Part:
        parts = []
        while self._next() not in {"", "|", ")"}:
            parts.append(self._repeated(self._atom(depth)))
        return _Part("".join(part.text for part in parts), all(part.fixed for part in parts))

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        letter = self._next()
        self.at += 1
        return letter

    def _atom(self, depth: int) -> _Part:
        letter = self._next()
        if letter == "(":
            return self._group(depth)
        if letter == "[":
            return self._class()
        if letter == "\\":
            return _Part(self._escaped())
        if letter in _SPECIAL - {"."} or letter == "^":
            raise self.refusal(f"'{letter}' cannot stand here; put a literal one in brackets, as [{letter}],")
        return _Part(self._take())

    def _group(self, depth: int) -> _Part:
        if depth >= _MOST_NESTED:
            raise self.refusal(f"more than {_MOST_NESTED} groups in each other")
        self.at += 1
        if self._next() == "?":
            if self.pattern[self.at : self.at + 2] != "?:":
                raise self.refusal("look-around and flags are not supported")
            self.at += 2
        part = self.alternatives(depth + 1)
        if self._next() != ")":
            raise self.refusal("a missing ')'")
        self.at += 1
        return _Part(f"({part.text})", part.fixed)

    def _escaped(self) -> str:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter in _CLASSES:
            self.at += 2
            return _CLASSES[letter]
        if letter == "[":  # in a class of its own, Java and Python's next versions take it for a class within a class
            raise self.refusal("a literal '[' means different things to engines; write '.' in its place,")
        if not letter or letter.isalnum() or letter in "\\^":
            raise self.refusal(f"'\\{letter}' is not supported; write a class such as [0-9]")
        self.at += 2
        return f"[{letter}]" if letter in _SPECIAL else letter

    def _class(self) -> _Part:
        end = self.pattern.find("]", self.at + 2)  # a class has at least one member
        body = self.pattern[self.at + 1 : end] if end >= 0 else ""
        members = body.removeprefix("^")
        if not members or set("[]\\^&~") & set(members) or "--" in members or "||" in members:
            raise self.refusal("a class is [...] with letters and ranges, without [ ] \\ ^ & ~ -- || in it; wrong")
        for at, letter in enumerate(members[1:-1], start=1):
            if letter == "-" and members[at - 1] > members[at + 1]:
                raise self.refusal("a range that runs backwards")
        self.at = end + 1
        return _Part(f"[{body}]")

    def _repeated(self, part: _Part) -> _Part:
        low, high, text = self._repetition()
        if not text:
            return part
        if self._next() in {"*", "+", "?", "{"}:
            raise self.refusal("a repetition of a repetition")
        if not part.fixed and high != 1:
            raise self.refusal("a repetition of something whose length varies")
        if high is None:
            self._unbounded += 1
            if self._unbounded > _MOST_UNBOUNDED:
                raise self.refusal(f"more than {_MOST_UNBOUNDED} repetitions without an upper limit")
        return _Part(part.text + text, low == high)

    def _repetition(self) -> tuple[int, int | None, str]:
        """Return how often the part before is repeated, None for without limit; the text is empty where it is not."""
        letter = self._next()
        if letter in {"*", "+", "?"}:
            self.at += 1
            return int(letter == "+"), 1 if letter == "?" else None, letter
        if letter != "{":
            return 1, 1, ""
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : max(end, self.at)].partition(",")
        numbers = [int(text) for text in (low, high) if text.isascii() and text.isdigit() and len(text) < 5]
        if end < 0 or not low or len(numbers) != bool(low) + bool(high) or max(numbers) > _MOST_REPEATED:
            raise self.refusal(f"a repetition is {{n}}, {{m,n}} or {{m,}}, up to {_MOST_REPEATED}; wrong")
        if numbers[-1] < numbers[0]:
            raise self.refusal("a repetition that runs backwards")
        text = self.pattern[self.at : end + 1]
        self.at = end + 1
        return numbers[0], None if comma and not high else numbers[-1], text


def _checked(pattern: str) -> str:
    portable(pattern)
    return pattern


Regex: TypeAlias = Annotated[
    str,
    MinLen(1),
    MaxLen(500),
    AfterValidator(_checked),
    Field(description="Regular expression for the whole value.", examples=["[A-Z]{3}-[0-9]{5}"]),
]
