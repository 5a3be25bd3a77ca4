"""Choose the column that tells when a row came, by its name and by what it holds: times, ISO text, or an epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from monitor.suggest.profile import ColumnFamily, ColumnStatistics, TableStatistics
from monitor.suggest.proposal import is_identifier, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS: Final[Mapping[str, int]] = {"seconds": 1, "milliseconds": 1000}
"""How many of a unit make a second; the units are those of `epoch` of `freshness`."""
_ARRIVAL_NAMES: Final = (
    "loaded|(^|_)(load|etl|dwh)(_|$)",
    "ingested|extracted|emitted|imported|received|batched|synced",
    "inserted|(^|_)insert(_|$)",
    "updated|(^|_)update(_|$)",
    "modified",
    "created",
)
"""What columns are called that tell when a row came, as patterns of their words; the first is preferred."""
_OTHER_TIMES: Final = re.compile("birth|born|dob|hire|expir|due|valid|until|deadline|end", re.IGNORECASE)
"""Names of times that are not those at which something happened and was recorded."""

_ISO_SHAPE: Final = re.compile(r"9999-99-99([Aa ]99:99(:99(\.9+)?)?( ?([Aa]|[+-]99(:?99)?))?)?")
"""The shape of ISO 8601 text that checks read, with `9` for a digit and `A` or `a` for a letter."""
_ALMOST_ALL: Final = 0.99
_PLAUSIBLE_SINCE: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCK_SKEW: Final = timedelta(days=1)


def is_arrival_name(column: str) -> bool:
    """Check whether a column is called as those that tell when a row came."""
    return _rank(column) < len(_ARRIVAL_NAMES)


def arrival_column(table: TableStatistics, now: datetime) -> str | None:
    """Choose the column that most probably tells when a row came; None if none holds times.

    Names of arrival times go first, of these timestamps; else timestamps, dates, ISO text and epochs, in this order.
    """
    choices: list[tuple[bool, bool, int, int, str]] = []
    for column in table.columns:
        kind, named = _kind(column, now), is_arrival_name(column.name)
        if kind is not None and (named or not _OTHER_TIMES.search(column.name)):
            choices.append((not named, kind > 0, _rank(column.name), kind, column.name))
    best = min(choices, key=lambda choice: choice[:4], default=None)
    return None if best is None else best[-1]


def epoch_of(column: ColumnStatistics | None, now: datetime) -> str | None:
    """Return the unit in which every number of a column is a time since 2000; None if there is none."""
    if column is None or column.family is not ColumnFamily.WHOLE or column.distinct < 2 or is_identifier(column.name):
        return None
    first, last = _PLAUSIBLE_SINCE.timestamp(), (now + _CLOCK_SKEW).timestamp()
    units = (unit for unit, many in SECONDS.items() if first * many <= column.low and column.high <= last * many)
    return next(units, None)


def _kind(column: ColumnStatistics, now: datetime) -> int | None:
    """Return 0 for a column of timestamps, 1 of dates, 2 of ISO text, 3 of an epoch, and None of all else."""
    if not column.filled:
        return None
    if column.family is ColumnFamily.TIME:
        return int(column.type == "date")
    if column.family is ColumnFamily.TEXT:
        iso = sum(shape.rows for shape in column.shapes if _ISO_SHAPE.fullmatch(shape.text))
        return 2 if 0 < _ALMOST_ALL * column.counted <= iso else None
    return 3 if epoch_of(column, now) is not None else None


def _rank(column: str) -> int:
    """Return the place of a column's name among those of arrival times; others come last."""
    name = words_of(column)
    return next((at for at, word in enumerate(_ARRIVAL_NAMES) if re.search(word, name)), len(_ARRIVAL_NAMES))
