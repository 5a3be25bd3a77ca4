"""Map the columns of a ticket file to fields, set constant fields, and translate words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checks import did_you_mean
from monitor.terminal.problem import Problem
from monitor.triage.create import tidy
from monitor.triage.ticket_fields import FIELDS, NAMES, word_of

_WORDS: Final = {name: field.words for name, field in FIELDS.items() if field.words is not None}
_TRANSLATED: Final = ("table", *_WORDS)
_OTHER_NAMES: Final = {"external_id": "id", "fingerprint": "id"}


class UnreadableTickets(Exception):
    """The file, or the mapping of its columns, is invalid."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def unreadable(
    message: str, file: str | None = None, line: int | None = None, hint: str | None = None
) -> UnreadableTickets:
    """Return the error with its place and a hint."""
    return UnreadableTickets(Problem("import.unreadable", message, file=file, line=line, hint=hint))


_LONGEST_NUMBER: Final = 6


@dataclass(frozen=True, slots=True)
class TicketMapping:
    """The column of each field, the fields with the same value in every row, and the translations of words.

    `meanings`: by field, then by the word of the ticket system (`_alike`); an empty one is no value.
    """

    columns: Mapping[str, str]
    constants: Mapping[str, str]
    meanings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, maps: Sequence[str], constants: Sequence[str], meanings: Sequence[str] = ()) -> "TicketMapping":
        """Read `COLUMN=FIELD`, `FIELD=VALUE` and `FIELD:THEIRS=OURS`.

        Raises:
            UnreadableTickets: one has another form, a field or a word is unknown, or a field is mapped twice.
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

    def places(self, header: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """Return the positions of each field in a row; a column named like a field needs no mapping.

        Of columns of one name, such as Jira's `Labels`, the first cell that is not empty counts; `Labels#2` is the
        second of them.

        Raises:
            UnreadableTickets: a column is missing, a required field has none, or one without a mapping has two.
        """
        wanted = {name: name for name in NAMES if name in header and name not in self.constants} | dict(self.columns)
        needed = [name for name, item in FIELDS.items() if item.is_needed]
        missing = [name for name in needed if name not in wanted and name not in self.constants]
        if missing:
            hint = f"columns: {', '.join(header)}; use --map COLUMN={missing[0]}"
            raise unreadable(f"no column for {' and '.join(missing)}", hint=hint)
        for column in wanted.values():
            if not _positions(header, column):
                hint = did_you_mean(column, header).removeprefix("; ") or f"columns: {', '.join(header)}"
                raise unreadable(f"column '{column}' is not in the file", hint=hint)
            if header.count(column) > 1 and column not in self.columns.values():
                hint = (
                    f"--map {column}={column} takes the first that is not empty, --map {column}#2={column} the second"
                )
                raise unreadable(f"column '{column}' occurs more than once", hint=hint)
        return {name: _positions(header, column) for name, column in wanted.items()}

    def texts(self, rows: Sequence[Sequence[str]], places: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[str]]:
        """Return the cells of each field, translated and without surrounding spaces, with the constant fields.

        A constant resolution is for resolved rows only.
        """
        ours: dict[str, Sequence[str]] = {
            name: [next(filter(None, (row[place].strip() for place in at)), "") for row in rows]
            for name, at in places.items()
        }
        for name in self.meanings.keys() & ours.keys():
            words = self.meanings[name]
            meaning = {text: words.get(_alike(text), text) for text in set(ours[name])}
            ours[name] = [meaning[text] for text in ours[name]]
        ours |= {name: [value] * len(rows) for name, value in self.constants.items()}
        if "resolution" in self.constants:
            value = self.constants["resolution"]
            ours["resolution"] = [value if end else "" for end in ours.get("resolved", [""] * len(rows))]
        return ours


def _positions(header: Sequence[str], column: str) -> Sequence[int]:
    """Return where columns of a name stand; of `Labels#2` the second `Labels` only."""
    positions = [at for at, name in enumerate(header) if name == column]
    base, sharp, number = column.rpartition("#")
    if positions or not sharp or not number.isdecimal() or len(number) > _LONGEST_NUMBER:
        return positions
    return _positions(header, base)[int(number) - 1 : int(number)] if int(number) else []


def _meanings(texts: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    meanings: dict[str, dict[str, str]] = {}
    for text in texts:
        wording, equals, ours = text.rpartition("=")
        name, colon, theirs = wording.partition(":")
        if not equals or not colon or not theirs.strip():
            raise unreadable(f"--value takes FIELD:THEIRS=OURS such as severity:Highest=critical, not '{text}'")
        current_text = _field(name, f"--value {text}", "FIELD:THEIRS=OURS", _TRANSLATED if ours.strip() else NAMES)
        words = meanings.setdefault(current_text, {})
        if _alike(theirs) in words:
            raise unreadable(f"--value {text}: '{theirs.strip()}' is mapped twice for {current_text}")
        words[_alike(theirs)] = _ours(current_text, ours, f"--value {text}") if ours.strip() else ""
    return meanings


def _alike(text: str) -> str:
    return tidy(text).casefold()


def _ours(name: str, value: str, option: str) -> str:
    """Return a value of the user; for a field with fixed words one of these."""
    if name in _WORDS:
        try:
            return word_of(_WORDS[name])(value)
        except ValueError as error:
            raise unreadable(f"{option}: {error}") from None
    return value.strip()


def _field(name: str, option: str, form: str, fields: Sequence[str] = NAMES) -> str:
    plain = name.strip().lower().replace("-", "_").removesuffix("_at")
    known = _OTHER_NAMES.get(plain, plain)
    if known not in fields:
        text = did_you_mean(plain, fields).removeprefix("; ") or f"fields: {', '.join(fields)}"
        what = (
            "not a field of an incident"
            if known not in NAMES
            else "not a field with values to map; it can only be omitted"
        )
        raise unreadable(f"{option}: '{name}' is {what}; it takes {form}", hint=text)
    return known


def _once(name: str, texts: Mapping[str, str]) -> None:
    if name in texts:
        raise unreadable(f"{name} is mapped from two columns or values; use one")
