"""`tablewatch.suggest`, and the types of `tablewatch.checks`."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import tablewatch as tw
from tests.tablewatch.test_package import ROOT

ORDERS = pd.DataFrame({"id": range(1, 4001), "status": ["new", "sent"] * 2000})


def test_the_sure_proposals_of_a_frame_pass_as_checks() -> None:
    """What is sure goes to `check` as it is; a value of the table is shown on request only."""
    proposed = tw.suggest(ORDERS, name="orders")
    assert [check["type"] for check in proposed.checks] == ["volume", "primary_key", "not_null", "schema"]
    assert tw.check(ORDERS, proposed.checks, name="orders").ok
    assert "new" not in str(proposed) + str(proposed.to_dict())
    [values] = [check for check in tw.suggest(ORDERS, show_values=True).checks if check["type"] == "accepted_values"]
    assert values["values"] == ["new", "sent"]


def test_suggestions_print_as_the_command_does() -> None:
    """The text has evidence and confidence, and no option of the command line."""
    text = str(tw.suggest(ORDERS, name="orders"))
    assert text.startswith("orders  4,000 rows\n  sure:\n")
    assert "primary_key id  4,000 distinct values in 4,000 rows; named as identifiers are" in text
    assert "--accept" not in text
    assert tw.suggest(ORDERS).to_dict()["schema"] == "tablewatch.suggest/1"


def test_a_stream_is_measured_and_tried_on_the_same_rows() -> None:
    """A DuckDB relation can be read once, and suggesting reads several times."""
    relation = duckdb.sql("SELECT i AS id FROM range(40) t(i)")
    assert [item["now"]["status"] for item in tw.suggest(relation).proposals] == ["pass"] * 3


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    """As by `check`, with every problem; a file that cannot be read is one, too."""
    with pytest.raises(tw.InvalidInput, match="a int is not a table"):
        tw.suggest(5)
    with pytest.raises(tw.InvalidInput, match="no file matches"):
        tw.suggest(tmp_path / "nothing.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(tw.InvalidInput, match=r"broken\.parquet"):
        tw.suggest(tmp_path / "broken.parquet")


WRONG = """\
from datetime import date, timedelta

from stub import foreign_key, freshness, not_null, range
from stub import rnage

range(colum="a")
not_null(columns="id")
not_null(columns=["id"], severity="urgent")
range(column="a", min=date(2026, 1, 1), max=3, id="limits", why="as agreed")
freshness(column="at", max_age=timedelta(hours=3))
foreign_key(columns=["customer"], references="customers.id")
"""


def test_a_type_checker_refuses_a_wrong_name_or_value(tmp_path: Path) -> None:
    """An unknown check, an unknown parameter, a text for a list, an unknown severity; and no other line."""
    (tmp_path / "stub.pyi").write_bytes((ROOT / "tablewatch" / "checks.pyi").read_bytes())
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    words = ["--follow-imports=skip", f"--cache-dir={tmp_path}", "--config-file=", "wrong.py", "stub.pyi"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": error")[0] for line in errors] == [f"wrong.py:{line}" for line in (4, 6, 7, 8)], errors
    assert "did you mean" in errors[1]
