"""How a CSV file is read when no value in it may decide that: neither a type, nor what parts cells or ends lines.

DuckDB finds the dialect of a file in its first rows: a cell with a quote or a semicolon can change how all others are
read, and an error can tell of a value. Here the delimiter is declared, or found in the header, which is no data; quotes
are doubled inside quotes (RFC 4180) unless declared otherwise; a row with too few cells has NULL in the others, and one
with too many loses them.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb

from sources._csv_encoding import PACKED_FAULTS, opened
from sources._spec import CsvOptions

_DELIMITERS: Final = (",", ";", "\t", "|")
_LONGEST_LINE: Final = 1 << 24
"""Bytes; longer rows fail to be read."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter of a file, whether its first line is a header, and the names of its columns."""

    delimiter: str
    header: bool
    columns: tuple[str, ...]
    quote: str = '"'
    escape: str = '"'
    skip: int = 0

    @classmethod
    def of(cls, path: Path, declared: CsvOptions) -> "Dialect":
        """Find the dialect of a file: where there is a header nothing else is looked at.

        Without one and without a declared delimiter it is the comma; the first row says how many columns there are.

        Raises:
            duckdb.InvalidInputException: the file does not begin as a CSV file does.
        """
        header = declared.header is not False
        entries = None if declared.delimiter is None else (declared.delimiter,)
        tried = entries or (_DELIMITERS if header else _DELIMITERS[:1])
        quote = declared.quote or '"'
        first_rows = ((item, _first(path, item, quote, declared.skip_lines)) for item in tried)
        delimiter, cells = max(first_rows, key=lambda row: len(row[1]))
        columns = _names(cells) if header else tuple(f"column{i}" for i in range(len(cells)))
        return cls(delimiter, header, columns, quote, declared.escape or quote, declared.skip_lines)

    @property
    def options(self) -> dict[str, Any]:
        """Return it as DuckDB takes it. A single thread reads, since several guess where a quoted line begins."""
        return {
            "auto_detect": False,
            "columns": dict.fromkeys(self.columns, "VARCHAR"),
            "delim": self.delimiter,
            "escape": self.escape,
            "header": self.header,
            "max_line_size": _LONGEST_LINE,
            "null_padding": True,
            "parallel": False,
            "quote": self.quote,
            "skip": self.skip,
            "strict_mode": False,
        }


def _first(path: Path, delimiter: str, quote: str, skip: int) -> Sequence[str]:
    """Return the cells of the first line after `skip` lines."""
    try:
        with opened(path, "utf-8-sig", errors="replace") as lines:
            return next(csv.reader(islice(lines, skip, None), delimiter=delimiter, quotechar=quote), [])
    except (csv.Error, *PACKED_FAULTS, TypeError):
        raise duckdb.InvalidInputException("not CSV") from None


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the columns' names as DuckDB does: without a name its place, of a repeated one with how often it came."""
    counts: dict[str, int] = {}
    names = []
    for place, cell in enumerate(cells):
        name = cell.strip() or f"column{place}"
        again = counts[name.casefold()] = counts.get(name.casefold(), -1) + 1
        names.append(f"{name}_{again}" if again else name)
    return tuple(names)
