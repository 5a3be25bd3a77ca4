"""One file for each period: when a file was there follows from the time in its name."""

from collections.abc import Iterable
from time import strptime
from typing import Final

from sources._contract import Unreachable
from sources._spec import FileTimes

FILE_TIME: Final = "file_time"
"""The column that says when the file of a row was there."""
FILE_OF_ROW: Final = "\x1ffile"
_ENDING: Final = r"(?i)[.](csv|tsv|parquet)([.]gz)?$"


def check_periods(source: str, stems: Iterable[str], times: FileTimes) -> None:
    """Check that each file says its period in its name.

    Raises:
        Unreachable: one does not.
    """
    for stem in stems:
        try:
            strptime(stem, times.name)
        except ValueError:
            text = f"the name of file '{stem}' does not have the form '{times.name}' of file_times; narrow the glob"
            raise Unreachable(f"source '{source}': {text}") from None


def with_file_times(view: str, rows: str, times: FileTimes) -> str:
    """Return the statement that makes a view of rows, which have the path of their file, with the time of the file."""
    name = f"regexp_replace(parse_filename({_name(FILE_OF_ROW)}), {_text(_ENDING)}, '')"
    begin = f"CAST(strptime({name}, {_text(times.name)}) AS TIMESTAMP)"
    time = f"{begin} + to_microseconds({round(times.after.total_seconds() * 1_000_000)})"
    columns = f"* EXCLUDE ({_name(FILE_OF_ROW)}), {time} AS {_name(FILE_TIME)}"
    return " ".join(("CREATE OR REPLACE TEMPORARY VIEW", _name(view), "AS SELECT", columns, "FROM", _name(rows)))


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
