"""Two tables compare from Python, in any form that a check takes."""

import doctest
import re
from pathlib import Path

import ibis
import pandas as pd
import polars as pl
import pytest

import tablewatch as tw
from docs.refresh import ROOT

_LEFT = {"id": [1, 2, 3], "x": [1.0, 2.5, 3.0], "note": ["a", None, "c"]}
_RIGHT = {"id": [2, 1, 4], "x": [2.5, 1.0, 3.0], "note": ["", "a", "c"]}
LEFT, RIGHT = pd.DataFrame(_LEFT), pd.DataFrame(_RIGHT)
FOUND = {"only_left": 1, "only_right": 1, "changed": 1, "columns": {"x": 0, "note": 1}}


def test_the_examples_do_what_the_page_says() -> None:
    """The examples of the page give what it shows."""
    page = (ROOT / "docs" / "comparing-tables.md").read_text(encoding="utf-8")
    [text] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    examples = doctest.DocTestParser().get_doctest(text, {}, "page", None, None)
    assert doctest.DocTestRunner().run(examples) == (0, 8)


@pytest.mark.parametrize("forms", ["frames", "files", "ibis", "mixed"])
def test_tables_of_any_form(forms: str, tmp_path: Path) -> None:
    """Frames, files and Ibis tables compare with one another."""
    left, right = (pl.DataFrame({name: list(values) for name, values in rows.items()}) for rows in (_LEFT, _RIGHT))
    left.write_parquet(tmp_path / "left.parquet")
    right.write_parquet(tmp_path / "right.parquet")
    connection = ibis.duckdb.connect()
    tables = {
        "frames": (LEFT, right),
        "files": (tmp_path / "left.parquet", tmp_path / "right.parquet"),
        "ibis": (connection.create_table("a", left), connection.create_table("b", right)),
        "mixed": (connection.create_table("c", left), RIGHT),
    }
    report = tw.diff(*tables[forms], key="id")
    [result] = report.results
    assert (result.status, result.check_id, bool(report)) == ("fail", "left.diff", False)
    assert {name: result.observed[name] for name in FOUND} == FOUND
    assert tw.diff(*tables[forms], key=["id"], columns=["x"], where="id < 3")
    assert tw.diff(*tables[forms], key="id", at_most=3)


def test_what_cannot_be_compared_is_unknown() -> None:
    """A key that is not there makes the report not ok; a wrong argument is an error."""
    report = tw.diff(LEFT, RIGHT, key="idd", names=("here", "there"))
    assert [result.reason for result in report.unknown] == ["misconfigured"]
    with pytest.raises(tw.InvalidInput, match="at_most"):
        tw.diff(LEFT, RIGHT, key="id", at_most=-1)
    with pytest.raises(tw.InvalidInput):
        tw.diff(3, RIGHT, key="id")


def test_two_tables_have_two_names() -> None:
    """One name for both would compare a table with itself."""
    connection = ibis.duckdb.connect()
    tables = [connection.create_table(name, schema=ibis.schema({"id": "int64"})) for name in "ab"]
    with pytest.raises(tw.InvalidInput, match="both tables are named 'x'"):
        tw.diff(*tables, key="id", names=("x", "x"))
