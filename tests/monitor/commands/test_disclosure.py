"""`privacy disclosure compare`: the paper's 14 counts give the corrected tables; so do counts of one's own."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation

USERS = Path(__file__).resolve().parents[3] / "examples" / "movielens-users.csv"
DOMAINS = ("--domain", "gender=F,M", "--domain", "age=<18,18-24,25-34,35-44,45-49,50-55,56+")
PAPER = (str(USERS), "--weight", "users", *DOMAINS)
CONFIG = """\
version: 1
project: clinic
sources: {lake: {files: people.csv}}
tables: [{name: people, source: lake}]
budgets:
  people:
    total: 10
    domain: {sex: {values: [F, M], other: M}, born: {range: [1930, 2009], width: 20}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, and no configuration."""
    lines = [f"{'FM'[number % 2]},{1930 + number % 80},{number}" for number in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,born,secret", *lines, "X,1999,secret"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "disclosure", "compare", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _table(out: str, title: str) -> list[list[str]]:
    """Return the cells of a table, line by line, its heading first."""
    lines = out.split(f"{title}", 1)[1].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return [line.split() for line in lines]


def test_the_papers_tables_are_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    """Retentions solve equation 6; errors and crossovers follow from them; and it says that the paper's do not."""
    code, out = _said(*PAPER, "--runs", "0", capsys=capsys)
    assert code == 0
    assert out.splitlines()[0] == "computed from the protected table, not a privacy-preserving release"
    kept = _table(out, "(table 2, corrected)")
    assert [row[:5] for row in kept[1:4]] == [
        ["0.1", "0.0113503191", "0.011", "4945.3150", "20"],
        ["1", "0.1334634167", "0.11", "818.2898", "2"],
        ["4", "0.6242631238", "0.44", "3.0259", "0.5"],
    ]
    assert "The paper uses epsilon / 9, which does not: 0.44 for 4 really costs 2.816." in out
    errors = [_table(out, f"epsilon {epsilon}: errors of its counts (table 5, corrected)") for epsilon in (0.1, 1, 4)]
    assert [rows[1][1:3] for rows in errors] == [
        ["1429.320", "1427.357"],
        ["1276.948", "1274.771"],
        ["606.441", "603.102"],
    ]
    answers = _table(out, "errors of the counts of one (table 5)")
    assert [row[3:5] for row in answers if row[1] == "1"] == [
        ["105.819029", "105.830052"],
        ["10.473564", "10.583005"],
        ["2.251318", "2.645751"],
    ]
    crossovers = _table(out, "basic / zCDP (table 6, corrected)")
    assert crossovers[1] == ["unchanged", "14", "/", "27", "121", "/", "2035", "230", "/", "6671"]


def test_programs_get_all_digits(capsys: pytest.CaptureFixture[str]) -> None:
    """With quartiles, the worst cell by its values, exact scales as texts, and the label."""
    value = _value(*PAPER, "--runs", "0", capsys=capsys)
    assert value["schema"] == "tablewatch.disclosure-comparison/1"
    assert value["label"] == "computed from the protected table, not a privacy-preserving release"
    assert (value["records"], value["delta"], value["runs"]) == (6040, 1e-6, 0)
    one = value["at"][1]
    assert one["epsilon"] == "1"
    assert one["attribute_wise"]["retention"] == pytest.approx(0.1334634167, abs=1e-8)
    assert one["pk"] == pytest.approx(818.2898, abs=1e-4)
    assert one["attribute_wise"]["as_is"]["worst_cell"] == {"gender": "M", "age": "25-34"}
    assert len(one["attribute_wise"]["as_is"]["quartiles"]) == 3
    assert one["joint"]["inverse"]["rms_l2"] == pytest.approx(681, abs=0.5)
    assert one["attribute_wise"]["inverse"]["rms_l2"] == pytest.approx(2885, abs=0.5)
    assert [answer["scale"] for answer in one["interactive"]] == ["2", "20", "200"]
    assert one["crossovers"]["as-is"] == {"error": pytest.approx(1276.948, abs=1e-3), "basic": 121, "zcdp": 2035}
    assert value["at"][2]["paper"] == {"retention": "0.44", "epsilon": pytest.approx(2.816, abs=5e-4)}


def test_ranks_and_reconstruction_are_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    """At epsilon 4 a reconstructed table is nearer than one as it came out, and keeps the order of cells."""
    value = _value(*PAPER, "--epsilon", "4", "--runs", "20", capsys=capsys)
    (one,) = value["at"]
    batch = one["attribute_wise"]
    assert batch["bayes"]["rms_l2"] < batch["as_is"]["rms_l2"]
    assert batch["as_is"]["spearman"] > 0.9
    code, out = _said(*PAPER, "--epsilon", "4", "--runs", "2", capsys=capsys)
    assert code == 0
    assert "by Bayes*" in out


def test_rows_are_counted_where_the_table_lives(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In declared cells, by the budget's domain: as a weighted table of the same counts."""
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    words = ("--epsilon", "0.01,1", "--queries", "5", "--runs", "0", "--rows-per-unit", "2")
    value = _value("people", "--by", "sex,born", *words, capsys=capsys)
    assert (value["domains"]["born"], value["records"]) == ([1930, 1950, 1970, 1990], 201)
    duckdb.sql(
        "COPY (SELECT if(sex = 'X', 'M', sex) AS sex, born - (born - 1930) % 20 AS born, count(*) AS n "
        "FROM 'people.csv' GROUP BY ALL) TO 'counts.csv'"
    )
    domains = ("--domain", "sex=F,M", "--domain", "born=1930,1950,1970,1990")
    again = _value("counts.csv", *domains, "--weight", "n", *words, capsys=capsys)
    assert again["at"] == value["at"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("people.csv",), "no column is named"),
        (
            ("people.csv", "--by", "sex"),
            "column 'sex' has no declared domain; domains are never derived from the table",
        ),
        (("people.csv", "--domain", "sex=F,M"), "column 'sex' has 1 record outside its declared domain, NULL"),
        (("people.csv", "--domain", "sexx=F,M"), "the table has no column 'sexx'; did you mean 'sex'?"),
        (("people.csv", "--domain", "born=1..2:1", "--weight", "secret"), "column 'secret' has 1 cell that are not"),
        ((str(USERS), "--weight", "user", *DOMAINS), "the table has no column 'user'; did you mean 'users'?"),
        ((*PAPER, "--epsilon", ""), "--epsilon is empty"),
        *(((*PAPER, "--epsilon", one), f"epsilon '{one}' is") for one in ("0", "-1", "nan", "inf", "1e308", "1e0")),
        ((*PAPER, "--epsilon", "0.0123456789"), "epsilon '0.0123456789' has 10 places"),
        ((*PAPER, "--queries", "0"), "--queries '0': expected numbers of answers"),
        ((*PAPER, "--queries", "1.5"), "--queries '1.5': expected numbers of answers"),
        ((*PAPER, "--delta", "2"), "delta"),
        (("people.csv", "--domain", "sex=F", "--other", "sex=F"), "expected counts of 0 or more in two or more cells"),
        (("nowhere.csv", "--domain", "sex=F,M"), "'nowhere.csv': there is no such file"),
    ],
)
def test_wrong_usage_is_told(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was seen and what is expected; never a value of the table."""
    code, out = _said(*words, "--format", "json", "--runs", "0", capsys=capsys)
    assert code == 2, out
    message = json.loads(out)["errors"][0]["message"]
    assert message[: len(said)] == said
    assert "X" not in message


def test_engines_count_alike(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite as DuckDB does, with weights and without."""
    rows = [(sex, born, number) for number, (sex, born) in enumerate([("F", 1931), ("M", 2009), (None, 1950)] * 7)]
    with closing(sqlite3.connect(here / "in.db")) as database:
        database.execute("CREATE TABLE people (sex TEXT, born INTEGER, n INTEGER)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        database.commit()
    lines = [f"{sex or ''},{born},{number}" for sex, born, number in rows]
    (here / "people.csv").write_text("\n".join(["sex,born,n", *lines]), encoding="utf-8")
    for weight in ((), ("--weight", "n")):
        found = []
        for source in ("files: people.csv", 'url: "sqlite:///in.db"'):
            (here / "tablewatch.yaml").write_text(CONFIG.replace("files: people.csv", source), encoding="utf-8")
            found.append(_value("people", "--by", "sex,born", "--runs", "0", *weight, capsys=capsys))
        assert found[0] == found[1]
        assert found[0]["records"] == (sum(number for *_, number in rows) if weight else len(rows))


@pytest.mark.parametrize("weights", [[1.5, 2.0], [-1.0, 2.0], [None, 2.0], [float("nan"), 2.0], [1e300, 2.0]])
def test_weights_are_counts(here: Path, weights: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Whole numbers, 0 or more."""
    pq.write_table(pa.table({"a": ["x", "y"], "n": weights}), here / "in.parquet")
    code, out = _said("in.parquet", "--domain", "a=x,y", "--weight", "n", "--runs", "0", capsys=capsys)
    assert (code, out) == (2, "")
