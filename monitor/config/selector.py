"""Choose tables and checks by words: `sales.orders`, `domain:sales`, `type:freshness`, `!tier:bronze`.

A word without a field names a table or a check (`sales.orders.primary-key`); the fields are `domain`, `owner`, `tier`,
`source` and `type`. `*`, `?` and `[...]` stand for any characters. Words of one field add up, words of different fields
narrow each other: `tier:gold tier:silver type:freshness` is the freshness of gold and silver tables. A word after `!`
takes away. No word at all chooses everything.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Protocol

from checks import Check, did_you_mean
from monitor.terminal.problem import ExitCode, Problem, Stop

_NAME: Final = "name"


class SelectableTables(Protocol):
    """The part of a `Config` that selectors read; a `Config` itself selects the tables of its products."""

    @property
    def tables(self) -> Sequence[Any]:
        """Return the tables, each a `Table`."""

    def owner_of(self, table: Any) -> str | None:
        """Return who owns one of them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen checks by table (names within the table, in the order of the configuration).

    A table without checks is chosen, with none, when the words are about tables only. `unmatched` are exclusions that
    took nothing away.
    """

    tables: Mapping[str, tuple[str, ...]]
    unmatched: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tables)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    field: str
    pattern: str
    excludes: bool

    def fits(self, values: Iterable[str | None]) -> bool:
        return any(value is not None and fnmatchcase(value, self.pattern) for value in values)


def select(words: Sequence[str], config: SelectableTables) -> Selection:
    """Return the tables and checks that words choose.

    Raises:
        Stop: an unknown field (exit code 2); a word, or all of them together, that chooses nothing (exit code 5).
    """
    read = [_read(word) for word in words]
    lines = list(_lines(config))
    used = {word.text for word in read for line in lines if word.fits(line.values[word.field])}
    for word in read:
        if word.text not in used and not word.excludes:
            raise Stop(ExitCode.NOTHING_SELECTED, _nothing(word, lines))
    selected = [line for line in lines if _chooses(read, line)]
    tables: dict[str, list[str]] = {}
    for line in selected:
        tables.setdefault(line.table, []).extend([line.check] if line.check is not None else [])
    if not tables:
        hint = "terms of different fields are combined with AND; see 'tablewatch table list'"
        problem = Problem("selector.nothing", f"no table or check matches {' '.join(words)}", hint=hint)
        raise Stop(
            ExitCode.NOTHING_SELECTED, problem if words else Problem("selector.nothing", "no table is configured")
        )
    unmatched = tuple(word.text for word in read if word.excludes and word.text not in used)
    return Selection({name: tuple(names) for name, names in tables.items()}, unmatched)


@dataclass(frozen=True, slots=True)
class _Line:
    """A check of a table, or a table that has none, with the values that words are compared to."""

    table: str
    check: str | None
    values: Mapping[str, tuple[str | None, ...]]


_OF_TABLE: Final[Mapping[str, Callable[[SelectableTables, Any], str | None]]] = {
    "domain": lambda _, table: table.domain,
    "owner": lambda config, table: config.owner_of(table),
    "tier": lambda _, table: table.tier,
    "source": lambda _, table: table.source,
}
FIELDS: Final = (*_OF_TABLE, "type")


def _lines(config: SelectableTables) -> Iterator[_Line]:
    for table in config.tables:
        values = {name: (value(config, table),) for name, value in _OF_TABLE.items()}
        checks: Sequence[Check] = table.checks
        for check in checks:
            names = {_NAME: (table.name, table.check_id(check)), "type": (str(getattr(check, "type", "")),)}
            yield _Line(table.name, check.name, {**values, **names})
        if not checks:
            yield _Line(table.name, None, {**values, _NAME: (table.name,), "type": ()})


def _read(text: str) -> _Word:
    excludes = text.startswith("!")
    word = text.removeprefix("!")
    field, colon, pattern = word.partition(":")
    if not colon:
        return _Word(text, _NAME, word, excludes)
    if field not in FIELDS:
        hint = f"known: {', '.join(FIELDS)}{did_you_mean(field, FIELDS)}"
        problem = Problem("selector.unknown_field", f"unknown field '{field}' in selector '{text}'", hint=hint)
        raise Stop(ExitCode.USAGE, problem)
    return _Word(text, field, pattern, excludes)


def _chooses(words: Sequence[_Word], line: _Line) -> bool:
    matched: dict[str, bool] = {}
    for word in words:
        fits = word.fits(line.values[word.field])
        if word.excludes and fits:
            return False
        if not word.excludes:
            matched[word.field] = matched.get(word.field, False) or fits
    return all(matched.values())


def _nothing(word: _Word, lines: Iterable[_Line]) -> Problem:
    entries = {value for line in lines for value in line.values[word.field] if value is not None}
    what = "table or check" if word.field == _NAME else word.field
    text = did_you_mean(word.pattern, sorted(entries)).removeprefix("; ")
    hint = text or f"see 'tablewatch table list' for every {what}"
    return Problem("selector.nothing", f"no {what} matches '{word.pattern}'", hint=hint)
