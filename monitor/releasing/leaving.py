"""Make a table ready to leave: only what may, pseudonyms for names, rows in random order, cells that run nowhere."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import Case

if TYPE_CHECKING:
    import pandas as pd

RUNS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - a spreadsheet runs these, too
"""How a cell begins that a spreadsheet takes for a formula (OWASP, CSV injection)."""

_UNSEEN: Final = ((0, 32), (127, 160), (0xAD, 0xAD), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x2064))
UNSEEN: Final = "".join(chr(sign) for first, last in _UNSEEN for sign in range(first, last + 1)) + "\u3000\ufeff"
"""Blanks, controls and marks that nobody sees, which a reader may pass over before a formula."""
PARTS: Final = re.compile("[;\t\r\n]")
"""Where a spreadsheet may begin another cell, though the file parts cells by commas alone."""
_AFTER: Final = re.compile(f"({PARTS.pattern}[{re.escape(UNSEEN)}]*)(?=[=+@＝＋－＠-])")  # noqa: RUF001 - as above


def read_columns(case: Case, columns: Sequence[str], *, blind: bool = False) -> "pd.DataFrame":
    """Read some columns of the table, and the person key where the release has one, with Arrow's types.

    `blind`: so that how a value is read does not depend on the others.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.treatment.given import read
    from monitor.treatment.randomised import blind as blinded

    wanted = [*columns, *([case.release.person_key] if case.release.person_key else [])]
    return read(blinded(case.place) if blind else case.place, tuple(dict.fromkeys(wanted)))


def with_pseudonyms(frame: "pd.DataFrame", case: Case) -> "pd.DataFrame":
    """Give a copy in which direct identifiers are pseudonyms: keyed hashes that mean nothing in any other release."""
    named = [name for name in case.release.pseudonyms if name in frame.columns]
    if not named:
        return frame
    key = case.secret(b"pseudonyms")
    return frame.assign(**{name: _hashed(frame[name], key + name.encode()) for name in named})


def shuffled(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Give the rows in random order, without an index: a place in a sorted table tells of values."""
    from remedies.differential_privacy._randomise import random_order

    return frame.iloc[random_order(len(frame))].reset_index(drop=True)


def harmless(frame: "pd.DataFrame", out: Path) -> "pd.DataFrame":
    """Give a copy whose texts no spreadsheet runs: in CSV, an apostrophe stands before what looks like a formula.

    Raises:
        Stop: a column's name looks like one; by another name, nobody would find the column again.
    """
    from pandas.api.types import is_string_dtype

    if out.suffix != ".csv":
        return frame
    for name in map(str, frame.columns):
        if name.startswith(RUNS) or _AFTER.search(name):
            message = f"a spreadsheet would take the name of column '{name}' for a formula"
            hint = "write a .parquet file, or give out a view that calls it otherwise"
            raise Stop(ExitCode.USAGE, Problem("release.formula", message, hint=hint))
    texts = [name for name in frame.columns if is_string_dtype(frame[name].dtype)]
    return frame.assign(**{name: _quoted(frame[name]) for name in texts})


def one_of_each(frame: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    """Give a copy in which zero and NaN are written in one way each: engines take them for one value, bytes do not."""
    from pandas.api.types import is_float_dtype

    floats = [name for name in columns if name in frame.columns and is_float_dtype(frame[name].dtype)]
    return frame.assign(**{name: _one_of_each(frame[name]) for name in floats})


def _one_of_each(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute

    cells = pa.array(column)
    for alike, one in ((compute.is_nan(cells), float("nan")), (compute.equal(cells, pa.scalar(0.0, cells.type)), 0.0)):
        cells = compute.if_else(alike, pa.scalar(one, cells.type), cells)
    return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index, name=column.name)


def _quoted(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Put an apostrophe before whatever a spreadsheet would run."""
    several = column.str.contains(PARTS).fillna(value=False).astype(bool)
    if several.any():
        column = column.copy()
        column[several] = [_AFTER.sub(r"\1'", text) for text in column[several]]
    begins = column.str.startswith(RUNS) | column.str.lstrip(UNSEEN).str.startswith(RUNS)
    risky = begins.fillna(value=False).astype(bool)
    return column.where(~risky, "'" + column) if risky.any() else column


def _hashed(column: "pd.Series[Any]", key: bytes) -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa

    from remedies.generalisation import texts_of

    made = blake2b(key, digest_size=32).digest()
    cells = [
        None if text is None else blake2b(text.encode("utf-8", "surrogatepass"), key=made, digest_size=12).hexdigest()
        for text in texts_of(column)
    ]
    return pd.Series(cells, index=column.index, name=column.name, dtype=pd.ArrowDtype(pa.string()))
