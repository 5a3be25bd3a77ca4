"""Define how a ticket system's table is to be read: which column is which field, what is set, which words mean ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeVar

from checks import Severity, did_you_mean
from incidents import FoundBy, Resolution
from monitor.terminal.problem import Problem
from monitor.triage.create import tidy

W = TypeVar("W", bound=StrEnum)

FIELDS: Final = (
    "table",
    "title",
    "detected",
    "occurred",
    "resolved",
    "resolution",
    "severity",
    "found_by",
    "cause",
    "id",
)
"""What a column can be: times, words and texts of an incident; `id` is the ticket's own number or key."""

NEEDED: Final = ("table", "title", "detected")
WORDS: Final[Mapping[str, type[StrEnum]]] = {"severity": Severity, "resolution": Resolution, "found_by": FoundBy}
"""The fields that hold one of our words."""

_TRANSLATED: Final = ("table", *WORDS)
_OTHER_NAMES: Final = {"external_id": "id", "fingerprint": "id"}


class UnreadableTickets(Exception):
    """The file, or what its columns were said to be, cannot be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def unreadable(
    message: str, file: str | None = None, line: int | None = None, hint: str | None = None
) -> UnreadableTickets:
    """Return the error that says so, where, and what to do."""
    return UnreadableTickets(Problem("import.unreadable", message, file=file, line=line, hint=hint))


class UnknownWord(ValueError):
    """A text that is none of our words. `reason` says why without the text."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"'{tidy(text)}' {reason}")
        self.reason = reason


def word_of(words: type[W]) -> Callable[[str], W]:
    """Return what reads one of our words, whatever its case; hyphens, underscores and spaces are alike."""

    @lru_cache(maxsize=1000)  # a million rows share a few words
    def read(text: str) -> W:
        word = text.strip().lower().replace("_", "-").replace(" ", "-")
        if word not in list(words):
            raise UnknownWord(text, f"is not one of {', '.join(words)}{did_you_mean(word, words)}")
        return words(word)

    return read


@dataclass(frozen=True, slots=True)
class TicketMapping:
    """Which column holds which field, which fields are the same for every row, and what a field's words mean.

    `meanings` are by field, then by the ticket system's word as `_alike` writes it; an empty meaning is no value.
    """

    columns: Mapping[str, str]
    constants: Mapping[str, str]
    meanings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, maps: Sequence[str], constants: Sequence[str], meanings: Sequence[str] = ()) -> "TicketMapping":
        """Read `COLUMN=FIELD`, `FIELD=VALUE` and `FIELD:THEIRS=OURS`.

        Raises:
            UnreadableTickets: one is none of these, a field or a word of ours is unknown, or something is said twice.
        """
        columns: dict[str, str] = {}
        for text in maps:
            column, equals, name = text.rpartition("=")
            current_text = _field(name, f"--map {text}", "COLUMN=FIELD") if equals else None
            if current_text is None or not column.strip():
                raise unreadable(f"--map takes COLUMN=FIELD such as 'Opened at=detected', not '{text}'")
            _once(current_text, columns)
            columns[current_text] = column.strip()
        fixed: dict[str, str] = {}
        for text in constants:
            name, equals, value = text.partition("=")
            current_text = _field(name, f"--set {text}", "FIELD=VALUE") if equals else None
            if current_text is None or not value.strip():
                raise unreadable(f"--set takes FIELD=VALUE such as severity=error, not '{text}'")
            _once(current_text, {**columns, **fixed})
            fixed[current_text] = _ours(current_text, value, f"--set {text}")
        return cls(columns, fixed, _meanings(meanings))

    def places(self, header: Sequence[str]) -> Mapping[str, int]:
        """Return where each field stands in a row; a column named like a field needs no mapping.

        Raises:
            UnreadableTickets: a column is missing or there twice, or a field that every incident needs has none.
        """
        wanted = {name: name for name in FIELDS if name in header and name not in self.constants} | dict(self.columns)
        missing = [name for name in NEEDED if name not in wanted and name not in self.constants]
        if missing:
            hint = f"columns: {', '.join(header)}; use --map COLUMN={missing[0]}"
            raise unreadable(f"no column for {' and '.join(missing)}", hint=hint)
        for column in wanted.values():
            if header.count(column) != 1:
                text = "occurs more than once" if column in header else "is not in the file"
                hint = did_you_mean(column, header).removeprefix("; ") or f"columns: {', '.join(header)}"
                raise unreadable(f"column '{column}' {text}", hint=hint)
        return {name: header.index(column) for name, column in wanted.items()}

    def texts(self, rows: Sequence[Sequence[str]], places: Mapping[str, int]) -> Mapping[str, Sequence[str]]:
        """Return the cells of each field in our words, without spaces around them, with what is the same for all rows.

        How all ended holds for those that have ended.
        """
        ours: dict[str, Sequence[str]] = {name: [row[place].strip() for row in rows] for name, place in places.items()}
        for name in self.meanings.keys() & ours.keys():
            words = self.meanings[name]
            meaning = {text: words.get(_alike(text), text) for text in set(ours[name])}
            ours[name] = [meaning[text] for text in ours[name]]
        ours |= {name: [value] * len(rows) for name, value in self.constants.items()}
        if "resolution" in self.constants:
            value = self.constants["resolution"]
            ours["resolution"] = [value if end else "" for end in ours.get("resolved", [""] * len(rows))]
        return ours


def _meanings(texts: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    meanings: dict[str, dict[str, str]] = {}
    for text in texts:
        wording, equals, ours = text.rpartition("=")
        name, colon, theirs = wording.partition(":")
        if not equals or not colon or not theirs.strip():
            raise unreadable(f"--value takes FIELD:THEIRS=OURS such as severity:Highest=critical, not '{text}'")
        current_text = _field(name, f"--value {text}", "FIELD:THEIRS=OURS", _TRANSLATED if ours.strip() else FIELDS)
        words = meanings.setdefault(current_text, {})
        if _alike(theirs) in words:
            raise unreadable(f"--value {text}: '{theirs.strip()}' is mapped twice for {current_text}")
        words[_alike(theirs)] = _ours(current_text, ours, f"--value {text}") if ours.strip() else ""
    return meanings


def _alike(text: str) -> str:
    return tidy(text).casefold()


def _ours(name: str, value: str, option: str) -> str:
    """Return a value that is the user's own word: one of ours, where the field takes only those."""
    if name in WORDS:
        try:
            return word_of(WORDS[name])(value)
        except ValueError as error:
            raise unreadable(f"{option}: {error}") from None
    return value.strip()


def _field(name: str, option: str, form: str, fields: Sequence[str] = FIELDS) -> str:
    plain = name.strip().lower().replace("-", "_").removesuffix("_at")
    known = _OTHER_NAMES.get(plain, plain)
    if known not in fields:
        text = did_you_mean(plain, fields).removeprefix("; ") or f"fields: {', '.join(fields)}"
        what = (
            "not a field of an incident"
            if known not in FIELDS
            else "not a field with values to map; it can only be omitted"
        )
        raise unreadable(f"{option}: '{name}' is {what}; it takes {form}", hint=text)
    return known


def _once(name: str, texts: Mapping[str, str]) -> None:
    if name in texts:
        raise unreadable(f"{name} is mapped from two columns or values; use one")
