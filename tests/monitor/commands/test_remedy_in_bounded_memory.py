"""`tablewatch privacy remedy microaggregate --memory`: a file larger than memory is treated, written and proved."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation

COLUMNS = ("--columns", "age,income,height")
PEOPLE = 30_000


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, as CSV and as Parquet."""
    dice = np.random.default_rng(1)
    table = {
        "name": [f"secret {number}" for number in range(PEOPLE)],
        "age": dice.integers(18, 90, PEOPLE).astype("int16"),
        "income": dice.lognormal(10, 1, PEOPLE).round(2),
        "height": dice.normal(170, 9, PEOPLE).astype("float32"),
        "seen": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(PEOPLE), unit="s"),
        "debt": pd.array([None if number % 3 else number / 4 for number in range(PEOPLE)]),
    }
    frame = pd.DataFrame(table)
    frame.to_parquet(tmp_path / "people.parquet", index=False)
    frame.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _remedy(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code = run(["privacy", "remedy", "microaggregate", *words, "--format", "json"], Invocation())
    out = capsys.readouterr().out
    assert "secret" not in out
    return code, json.loads(out)


@pytest.mark.parametrize("given", ["csv", "parquet"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_file_is_treated_and_proved(given: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has all rows in their order, all types, the untreated cells as they were, and k by another query."""
    code, value = _remedy(
        *(f"people.{given}", f"safe.{end}", *COLUMNS, "--k", "4", "--sweeps", "1", "--memory", "800MB"),
        "--keep-order",
        capsys=capsys,
    )
    assert code == 0
    assert value["k"] >= 4
    assert 0 < value["information_loss"] < 5
    assert value["bill"]["rows"] == PEOPLE
    assert value["bill"]["figures"]["largest_group"] < 8
    assert min(duckdb.sql(f"SELECT count(*) FROM 'safe.{end}' GROUP BY age, income, height").fetchall()) >= (4,)
    names = "name, seen, debt"
    before, after = (
        duckdb.sql(f"SELECT {names} FROM '{file}'").fetchall() for file in (f"people.{given}", f"safe.{end}")
    )
    assert before == after
    if end == "parquet":
        kinds = [duckdb.sql(f"DESCRIBE FROM '{file}'").fetchall() for file in (f"people.{given}", f"safe.{end}")]
        assert kinds[0] == kinds[1]
    assert {path.name for path in Path().iterdir()} == {"people.csv", "people.parquet", f"safe.{end}"}


def test_the_same_seed_gives_the_same_file(capsys: pytest.CaptureFixture[str]) -> None:
    """With as much memory."""
    words = (*COLUMNS, "--sweeps", "1", "--memory", "1 GiB", "--seed", "3", "--keep-order")
    for out in ("a.csv", "b.csv"):
        _remedy("people.csv", out, *words, capsys=capsys)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*COLUMNS, "--memory", "much"), "'much' is not a memory size"),
        ((*COLUMNS, "--memory", "64MB"), "64MB of memory is not enough"),
        (
            (*COLUMNS, "--memory", "1GB", "--method", "mdav"),
            "--memory supports only numeric columns with the method best; --method",
        ),
        (
            (*COLUMNS, "--memory", "1GB", "--nominal", "age"),
            "--memory supports only numeric columns with the method best; --nominal",
        ),
        (("--columns", "name", "--memory", "1GB"), "column 'name' has type string; expected integers or floats"),
        (("--columns", "agee", "--memory", "1GB"), "column 'agee' not found; did you mean 'age'?"),
        (("--columns", "debt", "--memory", "1GB"), "column 'debt' has missing or infinite values"),
        (("--columns", "age", "--memory", "1GB", "--k", "30001"), "the table has 30000 records"),
        (("--columns", "age", "--memory", "1GB", "--k", "30000000"), "the smallest possible block of rows"),
    ],
)
def test_what_does_not_fit_is_told_and_leaves_nothing(
    words: tuple[str, ...], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message says what was seen and expected, shows no value, and no file is made."""
    code, value = _remedy("people.parquet", "safe.csv", *words, capsys=capsys)
    assert value["errors"][0]["message"].startswith(said)
    assert code == 2
    assert {path.name for path in here.iterdir()} == {"people.csv", "people.parquet"}


def test_what_is_not_proved_is_not_given_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Treating one of two declared quasi-identifiers proves nothing about both: exit code 1, and no file."""
    (here / "tablewatch.yaml").write_text(
        "version: 1\nproject: clinic\nsources: {lake: {files: people.csv}}\n"
        "tables:\n  - {name: people, source: lake, columns: {age: quasi-identifier, income: quasi-identifier}}\n"
    )
    words = ("people", "safe.csv", "--columns", "age", "--memory", "1GB", "--sweeps", "0")
    code, value = _remedy(*words, capsys=capsys)
    assert code == 1
    assert value["errors"][0]["message"].startswith("the output failed verification and is not published")
    assert {path.name for path in here.iterdir()} == {"people.csv", "people.parquet", "tablewatch.yaml"}
