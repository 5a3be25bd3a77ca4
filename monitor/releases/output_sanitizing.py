"""Make a table ready to leave: only what may, and pseudonyms for names."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from monitor.releases.columns import ReleaseColumns

if TYPE_CHECKING:
    import pandas as pd


def read_columns(case: ReleaseColumns, columns: Sequence[str], *, blind: bool = False) -> "pd.DataFrame":
    """Read some columns of the table, and the person key where the release has one, with Arrow's types.

    `blind`: so that how a value is read does not depend on the others.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.releases.treatment.randomise_table import blind as blinded
    from monitor.releases.treatment.table_reader import read

    wanted = [*columns, *([case.release.person_key] if case.release.person_key else [])]
    return read(blinded(case.place) if blind else case.place, tuple(dict.fromkeys(wanted)))


def with_pseudonyms(frame: "pd.DataFrame", case: ReleaseColumns) -> "pd.DataFrame":
    """Return a copy in which direct identifiers are pseudonyms: keyed hashes that mean nothing in any other release."""
    column_names = [name for name in case.release.pseudonyms if name in frame.columns]
    if not column_names:
        return frame
    key = case.secret(b"pseudonyms")
    return frame.assign(**{name: _hashed(frame[name], key + name.encode()) for name in column_names})


def one_of_each(frame: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    """Return a copy in which zero and NaN are written in one way each.

    Engines take them for one value, bytes do not.
    """
    from pandas.api.types import is_float_dtype

    floats = [name for name in columns if name in frame.columns and is_float_dtype(frame[name].dtype)]
    return frame.assign(**{name: _one_of_each(frame[name]) for name in floats})


def _one_of_each(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute

    cells = pa.array(column)
    for alike, item in ((compute.is_nan(cells), float("nan")), (compute.equal(cells, pa.scalar(0.0, cells.type)), 0.0)):
        cells = compute.if_else(alike, pa.scalar(item, cells.type), cells)
    return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index, name=column.name)


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
