"""Outputs of remedies carry no order of their input, and run nothing in a spreadsheet, whatever remedy and format."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from monitor.cli import run
from monitor.terminal.output import Invocation

PEOPLE = 600
SEX = ("--domain", "sex=F,M", "--epsilon", "1")
REMEDIES: dict[str, tuple[str, ...]] = {
    "microaggregate": ("microaggregate", "--columns", "income", "--k", "3", "--sweeps", "1"),
    "streamed": ("microaggregate", "--columns", "income", "--k", "3", "--sweeps", "1", "--memory", "800MB"),
    "generalise": ("generalise", "-q", "zip", "--hierarchy", "zip=mask:1,2", "--k", "3"),
    "suppress": ("suppress", "-q", "sex", "--k", "3"),
    "code": ("code", "--top", "income=30000"),
    "randomise": ("randomise", *SEX),
}
RARE = 1e-9


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, sorted by the year of birth, as CSV and Parquet."""
    dice = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": range(PEOPLE),
            "born": np.sort(dice.normal(1970, 20, PEOPLE)),
            "sex": dice.choice(["F", "M"], PEOPLE),
            "zip": dice.integers(100, 200, PEOPLE).astype(str),
            "income": dice.lognormal(10, 1, PEOPLE).round(2),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", *words], Invocation())
    return code, capsys.readouterr().out


def _bill(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)["bill"]


def _treat(name: str, given: str, out: str, *words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    command, *options = REMEDIES[name]
    return _bill(command, given, out, *options, *words, capsys=capsys)


def _rows(file: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return duckdb.sql(f"SELECT {columns} FROM '{file}'").fetchall()


def _check_random(numbers: Sequence[int]) -> None:
    """Check that no more rows stand in their place than by chance, and that the order tells nothing of the input's."""
    order = np.asarray(numbers)
    fixed = int((order == np.arange(len(order))).sum())
    assert stats.poisson.sf(fixed - 1, 1) > RARE
    assert stats.spearmanr(order, np.arange(len(order))).pvalue > RARE
    assert stats.spearmanr(order[1:], order[:-1]).pvalue > RARE


@pytest.mark.combinations
@pytest.mark.parametrize("name", list(REMEDIES))
@pytest.mark.parametrize(("given", "end"), [("csv", "csv"), ("csv", "parquet"), ("parquet", "csv")])
def test_the_order_of_the_input_is_not_in_the_output(
    name: str, given: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A register in the order of the input identifies no person by position; the rows are those of --keep-order."""
    bill = _treat(name, f"people.{given}", f"safe.{end}", capsys=capsys)
    assert (bill["row_order"], bill["not_protected"]) == ("random", [])
    kept = _treat(name, f"people.{given}", f"kept.{end}", "--keep-order", capsys=capsys)
    assert (kept["row_order"], kept["not_protected"]) == ("input", ["row-order"])
    _check_random([int(number) for (number,) in _rows(f"safe.{end}", "number")])
    assert [int(number) for (number,) in _rows(f"kept.{end}", "number")] == list(range(PEOPLE))
    columns = "number, born, zip, income" if name == "randomise" else "*"
    assert sorted(_rows(f"safe.{end}", columns)) == sorted(_rows(f"kept.{end}", columns))


@pytest.mark.parametrize("name", list(REMEDIES))
def test_a_person_reads_that_the_order_is_not_protected(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only where it is that of the input."""
    command, *options = REMEDIES[name]
    for words, said in (((), False), (("--keep-order", "--force"), True)):
        code, out = _said(command, "people.csv", "safe.csv", *options, *words, capsys=capsys)
        assert code == 0
        assert ("Not protected: the order of the rows" in out) is said


def test_two_runs_give_two_orders(capsys: pytest.CaptureFixture[str]) -> None:
    """No seed repeats the order."""
    for out in ("a.csv", "b.csv"):
        _treat("microaggregate", "people.csv", out, capsys=capsys)
    first, second = (Path(out).read_text().splitlines() for out in ("a.csv", "b.csv"))
    assert first != second
    assert sorted(first) == sorted(second)


def test_no_epsilon_holds_in_the_order_of_the_input(capsys: pytest.CaptureFixture[str]) -> None:
    """In a sorted table a place tells of the value, so the order counts as what leaves unchanged."""
    words = ("randomise", "people.csv", "safe.csv", *SEX, "--drop-rest")
    figures = _bill(*words, capsys=capsys)["figures"]
    assert (figures["epsilon"], figures["unchanged"], figures["shuffled"]) == ("1", [], True)
    figures = _bill(*words, "--keep-order", "--force", capsys=capsys)["figures"]
    assert (figures["epsilon"], figures["unchanged"], figures["shuffled"]) == (None, ["(order of rows)"], False)
    assert figures["pk"] is None


CELLS = ("=1+1", "+a", "-a", "@a", "\t=1", " =1", "\u3000=1", "x;=1", "-5", "+5.5", "plain", None)
LEAVE = ("'=1+1", "'+a", "'-a", "'@a", "'\t'=1", "' =1", "'\u3000=1", "x;'=1", "-5", "+5.5", "plain", "")


@pytest.mark.parametrize("name", list(REMEDIES))
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_no_cell_of_an_output_runs_in_a_spreadsheet(name: str, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An apostrophe stands before formulas in CSV; numbers stay numbers, and Parquet files stay as they are."""
    frame = pd.read_parquet("people.parquet").assign(note=(CELLS * PEOPLE)[:PEOPLE])
    frame.to_parquet("people.parquet", index=False)
    _treat(name, "people.parquet", f"safe.{end}", capsys=capsys)
    if end == "parquet":
        assert {note for (note,) in _rows("safe.parquet", "note")} == set(CELLS)
        return
    with Path("safe.csv").open(encoding="utf-8", newline="") as opened:
        assert {row["note"] for row in csv.DictReader(opened)} == set(LEAVE)


@pytest.mark.combinations
@pytest.mark.parametrize("column", ["=1+1", "@sum", "\u3000-x", "a;=b"])
@pytest.mark.parametrize("name", list(REMEDIES))
def test_no_column_is_called_like_a_formula_in_csv(
    name: str, column: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused, and leaves nothing; in Parquet, or dropped, it leaves."""
    pd.read_parquet("people.parquet").assign(**{column: 1}).to_parquet("people.parquet", index=False)
    command, *options = REMEDIES[name]
    before = sorted(here.iterdir())
    code, out = _said(command, "people.parquet", "safe.csv", *options, "--format", "json", capsys=capsys)
    assert (code, json.loads(out)["errors"][0]["code"]) == (2, "release.formula")
    assert sorted(here.iterdir()) == before
    assert _treat(name, "people.parquet", "safe.parquet", capsys=capsys)["rows"] == PEOPLE


def test_a_sensitive_value_that_is_a_formula_is_compared_as_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Closeness to the input is measured on the values that the cells of the CSV file stand for."""
    frame = pd.read_parquet("people.parquet")
    frame.assign(ill=np.resize(["=1", "+2x", "flu"], PEOPLE)).to_parquet("people.parquet", index=False)
    words = ("suppress", "people.parquet", "safe.csv", "-q", "sex", "--k", "3", "--t", "ill=0.9", "--l", "ill=2")
    reached = _bill(*words, capsys=capsys)["guarantee"]["reached"]
    assert 0 <= reached["t"]["ill"]["t"] < 0.2
    assert reached["l"]["ill"] == 3


def test_a_domain_of_formulas_is_randomised_and_counted_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The file is looked at for the values that its cells stand for, and so are its counts."""
    frame = pd.read_parquet("people.parquet")
    frame.assign(rhesus=np.resize(["+", "-", "=?"], PEOPLE)).to_parquet("people.parquet", index=False)
    words = ("randomise", "people.parquet", "safe.csv", "--domain", "rhesus=+,-,=?", "--epsilon", "5", "--drop-rest")
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    Path("bill.json").write_text(out)
    assert {row for (row,) in duckdb.sql("SELECT rhesus FROM read_csv('safe.csv', all_varchar = true)").fetchall()} == {
        "'+",
        "'-",
        "'=?",
    }
    code, out = _said("reconstruct", "safe.csv", "--mechanism", "bill.json", "--format", "json", capsys=capsys)
    assert code == 0, out
    cells = {cell["by"]["rhesus"]: cell["estimate"] for cell in json.loads(out)["cells"]}
    assert cells == pytest.approx({"+": 200, "-": 200, "=?": 200}, abs=60)


def test_values_that_would_be_one_text_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two values of a domain stay two values."""
    frame = pd.read_parquet("people.parquet")
    frame.assign(a=np.resize(["=1", "'=1"], PEOPLE)).to_parquet("people.parquet", index=False)
    words = ("randomise", "people.parquet", "safe.csv", "--domain", "a==1,'=1", "--epsilon", "5", "--drop-rest")
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert (code, json.loads(out)["errors"][0]["code"]) == (2, "release.formula")
    assert not (here / "safe.csv").exists()
