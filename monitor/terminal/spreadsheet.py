"""Protect CSV files from spreadsheets that run cells as formulas (CSV injection, OWASP).

Every CSV file of rows that the product writes is protected: an apostrophe stands before each text that a spreadsheet
would run, and a column name that looks like a formula is refused, since the column could not be found by another name.
Numbers stay numbers, also where they are texts: `-5` is the same in a spreadsheet. Parquet files stay as they are.
"""

import csv
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SIGNS: Final = "=+@＝＋－＠-"  # noqa: RUF001 - a spreadsheet reads the full-width signs as formulas, too
_BREAKS: Final = "\t\r\n"
_INVISIBLE: Final = (
    *((0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x2064)),
    *((0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
"""Code points of blanks, controls and marks that a reader may skip before a formula."""


_CODES: Final = "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in _INVISIBLE)
_SKIPPED: Final = f"[{_CODES}]*"
_FORMULA: Final = re.compile(f"{_SKIPPED}[{_SIGNS}]|[{_BREAKS}]")
_PARTS: Final = re.compile(f"[;{_BREAKS}]")
"""Where a spreadsheet may begin another cell, although the file separates cells by commas only."""
_AFTER_BREAK: Final = re.compile(f"([;{_BREAKS}]{_SKIPPED})(?=[{_SIGNS}])")
_SUSPECT: Final = re.compile(f"(?:^|[;{_BREAKS}]){_SKIPPED}[{_SIGNS}]|^[{_BREAKS}]")
_SUSPECT_RE2: Final = re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", _SUSPECT.pattern)
_SUSPECT_LINE: Final = re.compile(f"(?:^|[;{_BREAKS}]){_SKIPPED}[{_SIGNS}]|(?:^|;)[{_BREAKS}]")
"""Finds every line that has a suspect cell, in its cells with semicolons in between."""
_NUMBER: Final = re.compile(r" *[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *")
_NUMBERS_WRITTEN: Final = ("-inf",)


def escape_text(text: str) -> str:
    """Return a text as it stands in a CSV file: with an apostrophe where a spreadsheet would begin a formula."""
    if not _SUSPECT.search(text) or _NUMBER.fullmatch(text):
        return text
    text = _AFTER_BREAK.sub(r"\1'", text)
    return f"'{text}" if _FORMULA.match(text) else text


def escape_cells(cells: "pa.Array | pa.ChunkedArray") -> "pa.Array | pa.ChunkedArray":
    """Return a column of texts as it stands in a CSV file; columns of other types as they are."""
    import pyarrow as pa
    from pyarrow import compute

    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return cells
    if isinstance(cells, pa.ChunkedArray):
        return pa.chunked_array([escape_cells(chunk) for chunk in cells.chunks], cells.type)
    suspect = compute.fill_null(compute.match_substring_regex(cells, _SUSPECT_RE2), fill_value=False)
    if not compute.any(suspect).as_py():
        return cells
    escaped = pa.array([escape_text(text) for text in compute.filter(cells, suspect).to_pylist()], cells.type)
    return compute.replace_with_mask(cells, suspect, escaped)


def escape_frame(frame: "pd.DataFrame", out: Path) -> "pd.DataFrame":
    """Return a copy of a frame whose texts are as they stand in the file `out`; only those of a CSV file differ."""
    from pandas.api.types import is_string_dtype

    if out.suffix != ".csv":
        return frame
    texts = [name for name in frame.columns if is_string_dtype(frame[name].dtype)]
    return frame.assign(**{name: _escaped(frame[name]) for name in texts})


def _escaped(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa

    escaped = escape_cells(pa.array(column, from_pandas=True))
    return pd.Series(pd.arrays.ArrowExtensionArray(escaped), index=column.index, name=column.name)


def originals(texts: Iterable[str | None], *, column: str) -> Mapping[str, str]:
    """Return, by text in a CSV file, the value that it stands for, for those values that are written otherwise.

    Raises:
        Stop: two values would be one in the file.
    """
    names = {text for text in texts if text is not None}
    changed: dict[str, str] = {}
    for text in sorted(names):
        escaped = escape_text(text)
        if escaped == text:
            continue
        if escaped in names or escaped in changed:
            message = (
                f"two values of column '{column}' would become equal in a CSV file after escaping a formula "
                "with an apostrophe"
            )
            raise _refused(message)
        changed[escaped] = text
    return changed


def restore_frame(frame: "pd.DataFrame", values: Mapping[str, Iterable[str | None]]) -> "pd.DataFrame":
    """Return a copy of a frame that was read from a CSV file, with the values that its texts stand for.

    `values`: by column, the texts that were written.

    Raises:
        Stop: two values are one in the file.
    """
    changed = {name: originals(texts, column=name) for name, texts in values.items() if name in frame.columns}
    return frame.assign(**{name: frame[name].replace(dict(item)) for name, item in changed.items() if item})


def check_names(names: Iterable[str]) -> None:
    """Check that no column name is one that a spreadsheet would run.

    Raises:
        Stop: one is.
    """
    for name in names:
        if escape_text(name) != name:
            message = f"the name of column '{name}' would be executed as a formula by a spreadsheet"
            raise _refused(message, "write a .parquet file, or rename the column in a view")


def check_cells(draft: Path, names: Sequence[str], *, heading: bool = True) -> None:
    """Read a CSV file again, and check that no cell, and no part of one, begins like a formula; numbers may.

    `names`: of the columns, for the message. `heading`: whether the first line has them.

    Raises:
        Stop: one does; the message names the column and never the cell.
    """
    if draft.suffix != ".csv":
        return
    csv.field_size_limit(sys.maxsize)
    with draft.open(encoding="utf-8", newline="") as opened:
        for line, cells in enumerate(csv.reader(opened)):
            if _SUSPECT_LINE.search(";".join(cells)) is None:
                continue
            for place, cell in enumerate(cells):
                if _runs(cell):
                    _refuse_cell(names[place] if place < len(names) else None, in_heading=heading and not line)


def _runs(cell: str) -> bool:
    return any(
        _FORMULA.match(part) and not (_NUMBER.fullmatch(part) or part in _NUMBERS_WRITTEN)
        for part in (cell, *_PARTS.split(cell))
    )


def _refuse_cell(name: str | None, *, in_heading: bool) -> None:
    column = "a column without a name" if name is None else f"column '{name}'"
    what = "the name" if in_heading else "cells"
    message = f"the output failed verification: a spreadsheet would execute {what} of {column} as formulas"
    raise Stop(ExitCode.FAILED, Problem("release.formula", message, hint="write a .parquet file"))


def _refused(message: str, hint: str = "write a .parquet file") -> Stop:
    return Stop(ExitCode.USAGE, Problem("release.formula", message, hint=hint))
