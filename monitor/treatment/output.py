"""Write a treated frame as a file that is complete and proved, or not at all."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from monitor.clock import Clock
from monitor.disclosure.place import Place
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.treatment.drafts import draft_folder
from monitor.treatment.proved import Written, k_check, reached_in

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ENDS: Final = (".csv", ".parquet")

Found = TypeVar("Found")


def check_place(out: Path, *, given: str, force: bool) -> None:
    """See that a file can be written there, before any work is done.

    Raises:
        Stop: it cannot, or it exists and `force` is not given, or it is what is read.
    """
    if out.suffix not in _ENDS:
        raise _refused(f"'{out}' is neither a .csv nor a .parquet file", "name the output after what it is to be")
    if not out.parent.is_dir():
        raise _refused(f"the folder of '{out}' does not exist", "make it first")
    if out.is_symlink() and not out.exists():
        raise _refused(f"'{out}' is a link to a file that does not exist", "name the file itself")
    if Path(given).exists() and out.exists() and out.samefile(given):
        raise _refused(f"'{out}' is the file that is read", "write to another file")
    if out.exists() and not force:
        raise _refused(f"'{out}' exists", "--force replaces it")


def check_not_read(out: Path, place: Place) -> None:
    """See that a file is none of those that a table is read from, by its name, a pattern or the configuration.

    Nor may it become one: a table that is read from all files of a folder would hold what was made of it.

    Raises:
        Stop: it is one of them, or would be.
    """
    source = place.target.source
    if source.files is None:
        return
    if not out.exists():
        pattern = (source.base.resolve() / source.files).parts
        if source.table is not None and _would_be_read(pattern, (out.parent.resolve() / out.name).parts):
            raise _refused(f"'{out}' would be a file that is read", "write to another folder, or by another name")
        return
    read = glob.iglob(source.files, root_dir=source.base, recursive=True)  # noqa: PTH207 - pathlib's matches hidden files
    if any(out.samefile(source.base / path) for path in read):
        raise _refused(f"'{out}' is a file that is read", "write to another file")


def _would_be_read(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Say whether a pattern, part by part, matches a path; `**` is any number of folders."""
    if not pattern or not path:
        return not path and all(one == "**" for one in pattern)
    if pattern[0] == "**":
        return _would_be_read(pattern[1:], path) or _would_be_read(pattern, path[1:])
    return fnmatchcase(path[0], pattern[0]) and _would_be_read(pattern[1:], path[1:])


def write_proved(frame: "pd.DataFrame", out: Path, prove: Callable[[Path], Found]) -> Found:
    """Write a frame as CSV or Parquet, and give what `prove` finds in the very bytes, before the file gets its name.

    Columns, types and rows are the frame's; no index, no metadata of pandas, no statistics of columns.

    Raises:
        Stop: the file cannot be written, or `prove` refuses it; nothing is left behind.
    """
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)

    def write_all(draft: Path) -> None:
        with sink(draft, table.schema) as write:
            write(table)

    return give_out(out, write_all, prove)


def give_out(out: Path, write: Callable[[Path], None], prove: Callable[[Path], Found]) -> Found:
    """Let `write` make a draft, and give what `prove` finds in it, before the file gets its name.

    Raises:
        Stop: the file cannot be written, or `prove` refuses it; nothing is left behind.
    """
    try:
        with draft_folder(out.parent) as folder:
            draft = folder / f"output{out.suffix}"
            write(draft)
            found = prove(draft)
            draft.replace(out)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise _refused(f"'{out}' cannot be written: {why}", "make room, or name another place") from None
    return found


def prove_k(columns: Sequence[str], *, k: int, clock: Clock, written: Written | None = None) -> Callable[[Path], int]:
    """Give what counts, in a file, how many records are alike at least: by the check `k_anonymity`, in the engine.

    The function raises Stop where these are fewer than k, or cannot be counted.
    """

    def prove(path: Path) -> int:
        (result,) = (written or Written()).place(path).ask([k_check(columns, k)], clock)
        return int(reached_in(result, columns)["k"])

    return prove


@contextmanager
def sink(draft: Path, schema: "pa.Schema") -> "Iterator[Callable[[pa.Table | pa.RecordBatch], None]]":
    """Give what writes rows to a CSV or Parquet file, whose bytes are on disk afterwards."""
    if draft.suffix == ".parquet":
        from pyarrow import parquet

        with parquet.ParquetWriter(
            draft, schema, write_statistics=False, store_schema=False, compression="zstd"
        ) as writer:
            yield writer.write
    else:
        from pyarrow import csv

        _check_csv(schema)
        with csv.CSVWriter(draft, schema) as rows:
            yield rows.write
    with draft.open("rb") as written:
        os.fsync(written.fileno())


def _check_csv(schema: "pa.Schema") -> None:
    """See that a CSV file can hold these columns.

    Raises:
        Stop: it cannot.
    """
    import pyarrow as pa

    tests = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    for field in schema:
        if any(test(field.type) for test in tests):
            message = f"a CSV file cannot hold column '{field.name}' of type {field.type}"
            raise _refused(message, "write a .parquet file, or leave out the column")


def _refused(message: str, hint: str) -> Stop:
    return Stop(ExitCode.USAGE, Problem("remedy.output", message, hint=hint))
