"""A file that turns out to be broken after its first rows were read."""

from pathlib import Path

import pytest

from sources import QueryFailed, SourceSpec, open_source


def test_a_file_that_breaks_late_is_a_failed_query(tmp_path: Path) -> None:
    """Arrow's reader calls it an error of files; it is reported like any other statement that fails."""
    lines = [f"{number},x" for number in range(400_000)]
    (tmp_path / "late.csv").write_bytes(("a,b\r\n" + "\r\n".join(lines) + "\r\n").encode() + b"7\r\n")
    spec = SourceSpec(name="lake", base=tmp_path, files="late.csv", table="late")
    with open_source(spec) as source:
        asked = source.columns(source.compile(source.table("late")))
        with pytest.raises(QueryFailed, match="line 400002: 1 cell, but the first row has 2") as error:
            list(asked)
    assert "399999" not in str(error.value)
