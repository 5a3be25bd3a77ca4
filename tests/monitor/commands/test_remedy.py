"""`tablewatch privacy remedy`: a file is treated, written, read again and proved; or nothing is left behind."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from remedies import _compiled

CONFIG = """\
version: 1
project: clinic
sources: {lake: {files: "people.csv"}}
tables:
  - name: people
    source: lake
    columns: {name: direct-identifier, age: quasi-identifier, income: quasi-identifier, city: other, ill: sensitive}
"""
SWEEPS = ("--sweeps", "2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of forty people, and no configuration."""
    dice = np.random.default_rng(1)
    table = {
        "name": [f"secret {number}" for number in range(40)],
        "age": dice.integers(18, 90, 40),
        "income": dice.lognormal(10, 1, 40).round(2),
        "city": dice.choice(["Oslo", "京都"], 40),
        "ill": dice.choice(["flu", None], 40),
    }
    pd.DataFrame(table).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _remedy(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["privacy", "remedy", "microaggregate", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out, said.err


def _problem(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code, out, _ = _remedy(*words, "--format", "json", capsys=capsys)
    value = json.loads(out)
    assert value["ok"] is False
    assert "secret" not in out
    return code, value["errors"][0]["message"]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_file_is_treated_and_proved(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has all rows and columns, the untreated cells as they were, and k by an independent query."""
    code, out, _ = _remedy(
        *("people.csv", f"safe.{end}", "--columns", "age,income", "--k", "4", *SWEEPS, "--keep-order"), capsys=capsys
    )
    assert code == 0
    assert out.startswith(
        f"VERIFIED  safe.{end}: k = 4 on age, income: each of 40 records is in an equivalence class with at least 3 "
        "others\n"
    )
    counts = duckdb.sql(f"SELECT count(*) FROM 'safe.{end}' GROUP BY age, income").fetchall()
    assert min(counts) >= (4,)
    before, after = (
        duckdb.sql(f"SELECT name, city, ill FROM '{file}'").fetchall() for file in ("people.csv", f"safe.{end}")
    )
    assert before == after
    assert sorted(path.name for path in Path().iterdir()) == ["people.csv", f"safe.{end}"]


@pytest.mark.parametrize(("kept", "method", "notes"), [(False, "best", 1), (True, "best", 0), (False, "mdav", 0)])
def test_the_first_run_on_a_machine_says_why_it_takes_longer(
    kept: bool, method: str, notes: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The search is compiled once, beside the result."""
    monkeypatch.setattr(_compiled, "is_kept", lambda _: kept)
    code, out, err = _remedy("people.csv", "a.csv", "--columns", "age", "--k", "4", "--method", method, capsys=capsys)
    assert (code, err.count("compiling the search"), out.count("compiled")) == (0, notes, 0)


def test_json_says_what_was_reached(capsys: pytest.CaptureFixture[str]) -> None:
    """Method, k on the output, loss, lower bound, seconds, and the bill; the sweeps replay it."""
    words = ("--columns", "age,income", "--keep-order")
    _, out, _ = _remedy("people.csv", "a.csv", *words, "--format", "json", capsys=capsys)
    value: Any = json.loads(out)
    assert (value["schema"], value["ok"], value["method"], value["output"]) == (
        "tablewatch.remedy/1",
        True,
        "best",
        "a.csv",
    )
    assert value["k"] >= 5
    assert 0 < value["lower_bound"] <= value["information_loss"] < 100
    assert value["seconds"] > 0
    sweeps = ",".join(map(str, value["bill"]["figures"]["sweeps"]))
    _remedy("people.csv", "b.csv", *words, "--sweeps", sweeps, capsys=capsys)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_columns_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """Names and levels are said on the command line; levels in the type of the column."""
    words = (
        "--columns",
        "age,city,ill",
        "--nominal",
        "city",
        "--ordinal",
        "ill=none<flu",
        "--weights",
        "age=2",
        *SWEEPS,
    )
    code, out, _ = _remedy("people.csv", "safe.csv", *words, "--format", "json", capsys=capsys)
    assert code == 0
    figures = json.loads(out)["bill"]["figures"]
    assert figures["mismatches"] is not None
    assert figures["rank_loss"] is not None
    assert min(duckdb.sql("SELECT count(*) FROM 'safe.csv' GROUP BY age, city, ill").fetchall()) >= (5,)


def test_texts_that_look_like_numbers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """In the proof, `01` and `1` are two values, though a reader of CSV may take both for a one."""
    codes = ["01"] * 3 + ["1"] * 4 + ["2"] * 9
    pd.DataFrame({"code": codes, "age": [30] * 16}).to_parquet("codes.parquet")
    words = ("--columns", "code,age", "--nominal", "code", "--k", "3", *SWEEPS)
    _, out, _ = _remedy("codes.parquet", "safe.csv", *words, "--format", "json", capsys=capsys)
    assert json.loads(out)["k"] == 3


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")], ids=["in memory", "in bounded memory"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_column_that_is_only_classified_has_one_zero(
    end: str, memory: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record cannot be identified by the sign of a zero, not in a column that was left as it was either."""
    pd.DataFrame({"age": [1, 2] * 4, "rate": [0.0, -0.0] * 4}).to_parquet(here / "people.parquet")
    (here / "tablewatch.yaml").write_text(
        "version: 1\nproject: clinic\nsources: {lake: {files: people.parquet}}\n"
        "tables:\n  - {name: people, source: lake, columns: {age: quasi-identifier, rate: quasi-identifier}}\n",
        encoding="utf-8",
    )
    words = ("people", f"safe.{end}", "--columns", "age", "--k", "8", "--sweeps", "0", *memory)
    code, _, _ = _remedy(*words, capsys=capsys)
    assert code == 0
    read = f"read_csv('safe.{end}', all_varchar = true)" if end == "csv" else f"'safe.{end}'"
    found = duckdb.sql(f"SELECT DISTINCT rate::VARCHAR FROM {read}").fetchall()
    assert [value.removesuffix(".0") for (value,) in found] == ["0"]


@pytest.mark.parametrize("search", ["incognito", "mondrian", "datafly"])
def test_both_zeros_are_one_value_to_a_hierarchy(search: str, here: Path) -> None:
    """An engine returns 0.0 for one combination and -0.0 for another; neither ends the command as a bug."""
    frame = pd.DataFrame({"rate": [0.0, -0.0, 5e-324, 0.0] * 4, "zip": ["a", "b"] * 8})
    frame.to_parquet(here / "zeros.parquet")
    hierarchies = ("--hierarchy", "rate=flat", "--hierarchy", "zip=flat")
    words = ("generalise", "zeros.parquet", "safe.csv", "-q", "rate,zip", "--k", "2", "--search", search)
    assert run(["privacy", "remedy", *words, *hierarchies], Invocation()) == 0
    assert "-0" not in (here / "safe.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")], ids=["in memory", "in bounded memory"])
@pytest.mark.parametrize(
    "code",
    [pa.array([2**64 - 1, 2**64 - 2] * 4, pa.uint64()), pa.array([None, ""] * 4, pa.string())],
    ids=["long numbers", "empty texts"],
)
def test_what_a_reader_would_take_for_one_value_is_two(
    code: pa.Array, memory: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column that is only classified is counted by its exact texts: here nothing is given out."""
    pq.write_table(pa.table({"age": [1, 2] * 4, "code": code}), here / "people.parquet")
    (here / "tablewatch.yaml").write_text(
        "version: 1\nproject: clinic\nsources: {lake: {files: people.parquet}}\n"
        "tables:\n  - {name: people, source: lake, columns: {age: quasi-identifier, code: quasi-identifier}}\n",
        encoding="utf-8",
    )
    words = ("people", "safe.csv", "--columns", "age", "--k", "5", "--sweeps", "0", *memory)
    left, message = _problem(*words, capsys=capsys)
    assert left == 1
    assert "8 of 8 records are in equivalence classes smaller than 5" in message


def test_a_configured_table_knows_its_quasi_identifiers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --columns those classified so are treated."""
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    code, out, _ = _remedy("people", "safe.csv", "--format", "json", *SWEEPS, capsys=capsys)
    assert (code, json.loads(out)["quasi_identifiers"]) == (0, ["age", "income"])


@pytest.mark.parametrize("memory", [(), ("--memory", "1GB")])
def test_columns_are_left_out(memory: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Direct identifiers leave with --drop-identifiers only, and other columns by name; what is treated stays."""
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    words = ("people", "safe.parquet", "--drop-identifiers", "--drop", "city", *SWEEPS, *memory)
    code, out, _ = _remedy(*words, "--format", "json", capsys=capsys)
    assert (code, json.loads(out)["dropped"]) == (0, ["name", "city"])
    assert list(pd.read_parquet("safe.parquet").columns) == ["age", "income", "ill"]
    _, message = _problem("people", "other.csv", "--drop", "age", *memory, capsys=capsys)
    assert message == "--drop: column 'age' is treated or has a limit; name it only once"


def test_what_is_not_proved_is_not_given_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Treating one of two declared quasi-identifiers proves nothing about both: exit code 1, and no file."""
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    code, message = _problem("people", "safe.csv", "--columns", "age", *SWEEPS, capsys=capsys)
    assert code == 1
    assert message.startswith(
        "the output failed verification and is not published: 40 of 40 records are in equivalence classes smaller "
        "than 5"
    )
    assert sorted(path.name for path in here.iterdir()) == ["people.csv", "tablewatch.yaml"]


def test_parquet_holds_no_statistics_and_no_metadata(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader of the file's footer learns no smallest value, and nothing of pandas."""
    _remedy("people.csv", "safe.parquet", "--columns", "age,income", *SWEEPS, capsys=capsys)
    with pq.ParquetFile("safe.parquet") as file:
        assert file.metadata.metadata is None
        group = file.metadata.row_group(0)
        assert [group.column(number).statistics for number in range(5)] == [None] * 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("people.csv", "safe.csv"), "no column is named"),
        (("people.csv", "safe.csv", "--columns", "agee"), "column 'agee' not found; did you mean 'age'?"),
        (
            ("people.csv", "safe.csv", "--columns", "name"),
            "column 'name' holds values of type string; expected numbers, dates or times: name it in 'nominal' or",
        ),
        (
            ("people.csv", "safe.csv", "--columns", "age", "--nominal", "city"),
            "'nominal' names a column that is not in 'columns': city; name it there too",
        ),
        (("people.csv", "safe.csv", "--columns", "age", "--k", "1"), "k: expected at least 2"),
        (("people.csv", "safe.csv", "--columns", "age", "--k", "41"), "40 records cannot form a class of 41"),
        (("people.csv", "safe.csv", "--columns", "age", "--budget", "soon"), "budget: "),
        (("people.csv", "safe.csv", "--columns", "age", "--method", "pca"), "method: expected one of 'best', 'npn'"),
        (("people.csv", "safe.csv", "--columns", "age", "--sweeps", "x"), "sweeps.0: expected a whole number"),
        (
            ("people.csv", "safe.csv", "--columns", "age", "--weights", "age=x"),
            "weights.age: expected a number",
        ),
        (("people.csv", "safe.csv", "--columns", "age,ill", "--ordinal", "ill=a<b"), "column 'ill' holds"),
        (("people.csv", "safe.xlsx", "--columns", "age"), "'safe.xlsx' is neither a .csv nor a .parquet file"),
        (("people.csv", "none/safe.csv", "--columns", "age"), "the folder of 'none/safe.csv' does not exist"),
        (("people.csv", "people.csv", "--columns", "age", "--force"), "'people.csv' is the input file"),
        (("peple.csv", "safe.csv", "--columns", "age"), "'peple.csv': there is no such file"),
    ],
)
def test_wrong_usage_is_told_and_leaves_nothing(
    words: tuple[str, ...], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message says what was seen and expected, shows no value, and no file is made."""
    code, message = _problem(*words, capsys=capsys)
    assert code == 2
    assert message.startswith(said)
    assert [path.name for path in here.iterdir()] == ["people.csv"]


def test_an_output_that_exists_is_replaced_on_demand_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --force nothing is overwritten."""
    (here / "safe.csv").write_text("mine", encoding="utf-8")
    words = ("people.csv", "safe.csv", "--columns", "age", *SWEEPS)
    assert _problem(*words, capsys=capsys) == (2, "'safe.csv' exists")
    assert (here / "safe.csv").read_text(encoding="utf-8") == "mine"
    assert _remedy(*words, "--force", capsys=capsys)[0] == 0
    assert (here / "safe.csv").read_text(encoding="utf-8").startswith('"name","age"')


def test_an_empty_table_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table without records is not k-anonymous."""
    (here / "people.csv").write_text("age,income\n", encoding="utf-8")
    code, message = _problem("people.csv", "safe.csv", "--columns", "age", capsys=capsys)
    assert (code, message) == (2, "0 records cannot form a class of 5; expected at least k records, or a smaller k")
