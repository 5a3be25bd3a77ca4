"""Hierarchies in ARX's form: a line for each value without a head, the value first, then its ancestors.

`17;15-19;0-19;*`. A line whose first cell is empty is that of NULL. Files are UTF-8, with a byte order mark or not;
cells stand in `"` where they hold the delimiter, a quote or a line break.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Final

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import Rows, refuse

DELIMITER: Final = ";"
_DELIMITERS: Final = (DELIMITER, ",", "\t", "|")
_MARK: Final = "\N{BYTE ORDER MARK}"
_QUOTED: Final = frozenset('"\r\n' + _MARK)


def read_rows(path: Path | str, *, delimiter: str | None = None) -> Rows:
    """Read the lines of a file as they are, empty ones left out, whether they make a hierarchy or not.

    `delimiter`: one character; None takes the one of `;` `,` tab `|` that gives most lines one number of cells.

    Raises:
        Misfit: the file cannot be read, is no UTF-8, or has a quote that does not close.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Misfit(f"{path} cannot be read ({type(error).__name__}); expected a hierarchy file") from None
    except UnicodeDecodeError as error:
        raise Misfit(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    try:
        return rows_of(text, delimiter=delimiter)
    except csv.Error as error:
        raise Misfit(f"{path} is not a CSV file: {error}") from None


def rows_of(text: str, *, delimiter: str | None = None) -> Rows:
    """Read the lines of a text, as `read_rows`.

    Raises:
        csv.Error: a cell is longer than 131,072 characters, or has a bare carriage return.
    """
    return _split(text, _likely(text) if delimiter is None else delimiter)


def read_hierarchy(path: Path | str, *, delimiter: str | None = None) -> Hierarchy:
    """Read a hierarchy file.

    Raises:
        Misfit: as `read_rows`, or its lines make no hierarchy; all of their faults at once.
    """
    from remedies.generalisation._faults import row_faults

    rows = read_rows(path, delimiter=delimiter)
    refuse(row_faults(rows, written=True), about=str(path))
    return Hierarchy.of({row[0]: row[1:] for row in rows})


def write_hierarchy(hierarchy: Hierarchy, path: Path | str, *, delimiter: str = DELIMITER) -> None:
    """Write a hierarchy file, which `read_hierarchy` and ARX read back as it was.

    Raises:
        Misfit: there is no level above the values: a line needs two cells.
    """
    Path(path).write_bytes(text_of_hierarchy(hierarchy, delimiter=delimiter).encode("utf-8"))


def text_of_hierarchy(hierarchy: Hierarchy, *, delimiter: str = DELIMITER) -> str:
    """Return what `write_hierarchy` writes.

    Raises:
        Misfit: as there.
    """
    if not hierarchy.height:
        raise Misfit("a hierarchy without a level above its values cannot be written; add a root, such as '*'")
    lines = zip(*hierarchy.levels, strict=True)
    return "".join(delimiter.join(_quoted(cell, delimiter) for cell in line) + "\n" for line in lines)


def _split(text: str, delimiter: str) -> Rows:
    cells = csv.reader(io.StringIO(text.removeprefix(_MARK), newline=""), delimiter=delimiter, strict=True)
    return [row for row in cells if row]


def _likely(text: str) -> str:
    """Return the delimiter that splits most lines into one number of cells; of equally good ones the first."""
    results = {delimiter: _alike(text, delimiter) for delimiter in _DELIMITERS}
    return max(_DELIMITERS, key=lambda delimiter: results[delimiter])


def _alike(text: str, delimiter: str) -> int:
    try:
        lengths = Counter(map(len, _split(text, delimiter)))
    except csv.Error:
        return 0
    return max((lines for cells, lines in lengths.items() if cells > 1), default=0)


def _quoted(cell: str, delimiter: str) -> str:
    plain = delimiter not in cell and _QUOTED.isdisjoint(cell)
    return cell if plain else '"' + cell.replace('"', '""') + '"'
