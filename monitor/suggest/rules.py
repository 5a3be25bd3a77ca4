"""Propose checks of columns from what was counted: NULL, limits, lists of values, marks of NULL; and of the schema."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from checks import ColumnClass
from checks.risk import Separation
from checks.schema import is_type_name
from monitor.releases.disclosure.column_suggestions import suggested
from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics, ValueCount
from monitor.suggest.proposal import (
    ENOUGH_ROWS,
    ENOUGH_WITH_NAME,
    MOST_MISSING,
    Confidence,
    Proposal,
    breaks_at_most,
    confidence_of,
    is_identifier,
    missing_mass,
    share,
    words_of,
)

MARKS: Final = frozenset(
    {"", "na", "n/a", "#n/a", "null", "\\n", "none", "nil", "nan", "?", "??", "-", "--", ".", "unknown", "missing"}
)
"""Texts that stand for a missing value, in small letters."""
_WORDS: Final = frozenset({"none", "unknown", "missing", "nil", "na"})
"""Marks that may as well be a value, such as the country code of Namibia."""
_NUMBER: Final = re.compile(r"[-+]?9+([.,]9+)?([eE][-+]?9+)?")
_ALMOST_ALL: Final = 0.99
_FEW_NULLS: Final = 0.001
_MOST_ACCEPTED: Final = 50
_MOST_SPELLINGS: Final = 300
"""Values of a column that are compared with each other to find misspelt ones."""
_TIMES_RARER: Final = 50
"""How much more frequent the right spelling is than one with another letter; `Meyer` and `Mayer` are two names."""
_TIMES_RARER_STYLE: Final = 5
"""The same where only letter case, white space or punctuation differ."""
_SHORTEST: Final = 5
"""Letters from which on one letter may be wrong: `Oslo` and `Osla` may be two places."""
_NO_LETTERS: Final = re.compile(r"[\W_]+")
_FEWEST_QUASI_IDENTIFIERS: Final = 2
_TOUCHES_ZERO: Final = 0.01
_NATURAL: Final[Mapping[str, tuple[int, int]]] = {
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 60),
    "latitude": (-90, 90),
    "lat": (-90, 90),
    "longitude": (-180, 360),
    "lon": (-180, 360),
    "lng": (-180, 360),
    "percent": (0, 100),
    "percentage": (0, 100),
    "humidity": (0, 100),
}
"""Limits that follow from what a column is called, by the last word of its name."""


def volume(table: TableStatistics) -> Proposal:
    """Return a check that notices an empty table, or one that lost half of its rows."""
    least = table.rows // 2 if table.rows >= ENOUGH_WITH_NAME else 1
    why = f"{table.rows:,} rows" + ("; half of them, to detect a load that lost most rows" if least > 1 else "")
    return Proposal("volume", (), why, Confidence.HIGH, {"type": "volume", "min": least})


def schema(table: TableStatistics, *, types_declared: bool) -> Proposal:
    """Return a check that notices a column that is gone; its type too where a catalogue declares types."""
    names = [column.name for column in table.columns]
    check: dict[str, Any] = {"type": "schema", "columns": names, "extra": "allow"}
    why = f"{len(names)} columns; their types follow from the values of files, so only names are checked"
    if types_declared:
        check["columns"] = {column.name: _accepted_type(column.type) for column in table.columns}
        why = f"{len(names)} columns with declared types"
    return Proposal("schema", (), why, Confidence.HIGH, check)


def _accepted_type(name: str) -> str | None:
    """Return a type as a configuration takes it; None, which is any type, where it takes the name for another."""
    name = re.sub(r"^string\(\d+\)$", "string", name)
    return name if is_type_name(name) else None


def not_null(table: TableStatistics, key: Collection[str]) -> Iterator[Proposal]:
    """Yield one check for the columns that surely hold no NULL, and one for the others; few NULLs may be a fault.

    `key`: columns that are left out, since the check of the key looks at them.
    """
    sure: list[str] = []
    unsure: list[str] = []
    faulty: list[ColumnStatistics] = []
    for column in table.columns:
        if column.name in key:
            continue
        if column.filled == table.rows:
            named = is_identifier(column.name)
            sure_column = confidence_of(table.rows, named=named) is Confidence.HIGH
            (sure if sure_column else unsure).append(column.name)
        elif 0 < table.rows - column.filled <= _most_nulls(table, column):
            faulty.append(column)
    at_most = breaks_at_most(table.scanned)
    why = f"no NULL in {table.scanned:,} rows"
    for names, confidence in ((sure, Confidence.HIGH), (unsure, Confidence.LOW)):
        if names:
            check = {"type": "not_null", "columns": names}
            yield Proposal("not_null", tuple(names), why, confidence, check, breaks_at_most=at_most)
    if faulty:
        names = [column.name for column in faulty]
        nulls = max(table.rows - column.filled for column in faulty)
        check = {"id": "few-nulls", "type": "not_null", "columns": names}
        why = f"NULL in only {nulls:,} of {table.rows:,} rows" + (" or fewer" if len(names) > 1 else "")
        at_most = breaks_at_most(table.rows, nulls)
        yield Proposal("not_null", tuple(names), why, Confidence.LOW, check, breaks_at_most=at_most)


def _most_nulls(table: TableStatistics, column: ColumnStatistics) -> float:
    """Return how many NULLs may still be a fault; where the name is that of an identifier, more of them."""
    if is_identifier(column.name):
        return 0.05 * table.rows
    return _FEW_NULLS * table.rows


def ranges(table: TableStatistics) -> Iterator[Proposal]:
    """Yield limits of numbers: natural ones, zero where values reach it and never pass, else those that were seen."""
    for column in table.columns:
        limits = _limits(column)
        if limits is None:
            continue
        low, high, why, confidence, observed = limits
        check: dict[str, Any] = {"type": "range", "column": column.name}
        check |= {key: _plain(limit) for key, limit in (("min", low), ("max", high)) if limit is not None}
        at_most = breaks_at_most(column.filled)
        why += f"; at most {share(at_most or 1.0)} of rows break it, 95 %"
        yield Proposal("range", (column.name,), why, confidence, check, breaks_at_most=at_most, holds_values=observed)


def _limits(column: ColumnStatistics) -> tuple[Any, Any, str, Confidence, bool] | None:
    """Return the limits, why, how sure, and whether they are values of the table."""
    if column.low is None or column.high is None or column.distinct < 2 or is_identifier(column.name):
        return None
    n = column.filled
    natural = _NATURAL.get(words_of(column.name).rpartition("_")[2])
    if natural is not None and natural[0] <= column.low and column.high <= natural[1] and n >= ENOUGH_WITH_NAME:
        return *natural, f"follows from the name; holds for {n:,} rows", Confidence.HIGH, False
    if n < ENOUGH_ROWS:
        return None
    if column.family is ColumnFamily.NUMBER and column.low >= 0 and column.high <= 1 and column.high > 0.9:
        return 0, 1, f"a share: from 0 to 1 in {n:,} rows", Confidence.LOW, False
    if 0 <= column.low <= Decimal(str(_TOUCHES_ZERO)) * Decimal(str(column.high)):
        return 0, None, f"values reach down to 0 and never pass it in {n:,} rows", Confidence.HIGH, False
    why = f"the smallest and largest of {n:,} rows"
    return column.low, column.high, why, Confidence.LOW, True


def accepted_values(table: TableStatistics) -> Iterator[Proposal]:
    """Yield lists of values of columns that have stopped to show new ones."""
    for column in table.columns:
        if not _has_list(column):
            continue
        faults = misspelt(column.values)
        whole = column.family is ColumnFamily.WHOLE
        texts = [value.text for value in column.values if value.text not in faults]
        values: list[Any] = sorted(map(int, texts)) if whole else sorted(texts)
        if not 2 <= len(values) <= _MOST_ACCEPTED:
            continue
        missing = missing_mass(column.counted, column.singletons - _singletons(column, faults)) or 0.0
        if missing >= MOST_MISSING:
            continue
        broken = sum(value.rows for value in column.values if value.text in faults)
        chance = f"about {share(missing)}" if missing else f"at most {share(3 / column.counted)}"
        why = f"{len(values)} values in {column.counted:,} rows; the next row holds another with a chance of {chance}"
        if faults:
            why += f"; {len(faults)} more look misspelt"
        yield Proposal(
            "accepted_values",
            (column.name,),
            why,
            Confidence.LOW if faults or whole else Confidence.HIGH,
            {"type": "accepted_values", "column": column.name, "values": values},
            breaks_at_most=breaks_at_most(column.counted, broken),
            holds_values=True,
        )


def _has_list(column: ColumnStatistics) -> bool:
    natural = words_of(column.name).rpartition("_")[2] in _NATURAL
    families = {ColumnFamily.TEXT, ColumnFamily.WHOLE}
    few = 2 <= column.sampled_distinct <= _MOST_SPELLINGS and column.complete
    return (
        column.family in families
        and few
        and column.counted >= ENOUGH_ROWS
        and not natural
        and (not is_identifier(column.name))
    )


def _singletons(column: ColumnStatistics, faults: frozenset[str]) -> int:
    return sum(value.rows == 1 for value in column.values if value.text in faults)


def null_marks(tables: Sequence[TableStatistics]) -> Mapping[str, Proposal]:
    """Return the texts of CSV that stand for NULL, each a setting `csv.null_values` of the source of these tables.

    A mark is sure where all else in its columns is numbers, and no other column of the source holds it: a setting is of
    the whole source, and `NA` may be a country elsewhere.
    """
    places: dict[str, list[tuple[ColumnStatistics, ValueCount]]] = {}
    for column in (column for table in tables for column in table.columns):
        for value in column.values if column.family is ColumnFamily.TEXT else ():
            if value.text.strip().lower() in MARKS and value.text:
                places.setdefault(value.text, []).append((column, value))
    results = {}
    for mark, where in places.items():
        sure = [_is_number_beside_marks(column) for column, _ in where]
        if not any(sure) and mark.strip().lower() in _WORDS:
            continue
        names = [column.name for column, _ in where]
        rows = sum(value.rows for _, value in where)
        why = f"'{mark}' in {rows:,} rows of {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}"
        why += "; all else there is numbers" if all(sure) else ""
        confidence = Confidence.HIGH if all(sure) else Confidence.LOW
        setting = {"csv": {"null_values": [mark]}}
        results[mark] = Proposal("null_values", tuple(dict.fromkeys(names)), why, confidence, setting=setting)
    return results


def quasi_identifiers(table: TableStatistics) -> Iterator[Proposal]:
    """Yield the classification of columns that are called as what people know of each other, from two of them on."""
    unknown_values = Separation(uniques=0, distinction=None, separation=None)
    kinds = {column.name: suggested(column.name, column.type, unknown_values) for column in table.columns}
    names = [name for name, kind in kinds.items() if kind is ColumnClass.QUASI_IDENTIFIER]
    if len(names) >= _FEWEST_QUASI_IDENTIFIERS:
        setting = {"columns": dict.fromkeys(names, ColumnClass.QUASI_IDENTIFIER.value)}
        why = "named as what people may know of a person; `tablewatch privacy risk suggest` counts those they identify"
        yield Proposal("quasi_identifiers", tuple(names), why, Confidence.LOW, setting=setting)


def _is_number_beside_marks(column: ColumnStatistics) -> bool:
    marks = sum(value.rows for value in column.values if value.text.strip().lower() in MARKS)
    numbers = sum(shape.rows for shape in column.shapes if _NUMBER.fullmatch(shape.text))
    return 0 < _ALMOST_ALL * (column.counted - marks) <= numbers


def _plain(value: Any) -> Any:
    """Return a limit as it is written: a whole number where it is one."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def misspelt(values: Sequence[ValueCount]) -> frozenset[str]:
    """Return the values that look like another spelling of a more frequent one.

    That is one which is 5 times as frequent and differs in letter case, white space or punctuation only, or one which
    is 50 times as frequent and, from five letters on, differs by one letter that was left out, added, changed or
    swapped with the next. Digits are never taken for letters: `A1` and `A2` are two codes.
    """
    return frozenset(
        value.text for value in values if any(_is_misspelling_of(value, other) for other in values if other != value)
    )


def _is_misspelling_of(value: ValueCount, other: ValueCount) -> bool:
    if other.rows < _TIMES_RARER_STYLE * value.rows:
        return False
    first, second = _letters_only(value.text), _letters_only(other.text)
    if first == second:
        return bool(first)
    return other.rows >= _TIMES_RARER * value.rows and _is_one_letter_off(first, second)


def _is_one_letter_off(first: str, second: str) -> bool:
    if min(len(first), len(second)) < _SHORTEST or _digits(first) != _digits(second):
        return False
    return _one_slip(first, second)


def _letters_only(text: str) -> str:
    return _NO_LETTERS.sub("", text).casefold()


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _one_slip(first: str, second: str) -> bool:
    """Check whether two texts differ by one letter, or by two neighbours that are swapped."""
    if abs(len(first) - len(second)) > 1:
        return False
    start = next(
        (at for at, (letter, other_letter) in enumerate(zip(first, second, strict=False)) if letter != other_letter),
        min(len(first), len(second)),
    )
    rest, other = first[start:], second[start:]
    if len(rest) == len(other):
        return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    return rest[1:] == other or rest == other[1:]
