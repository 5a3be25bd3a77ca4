"""`tablewatch privacy remedy suppress` and `code`: small remedies, written and proved as the large ones."""

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from tests.monitor.commands.test_remedy_generalise import CONFIG, people


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, and no configuration."""
    people().to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", *words], Invocation())
    return code, capsys.readouterr().out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _problem(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    before = sorted(Path().iterdir())
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert "secret" not in out
    assert sorted(Path().iterdir()) == before
    return code, json.loads(out)["errors"][0]["message"]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_records_leave_until_k_holds(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left is a part of the table, with its groups of k and more."""
    value = _value("suppress", "people.csv", f"safe.{end}", "-q", "zip,sex,ill", "--k", "15", capsys=capsys)
    counted = "SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM '{}' GROUP BY zip, sex, ill)"
    assert duckdb.sql(counted.format(f"safe.{end}")).fetchone() == (value["k"], value["records"])
    assert value["records_suppressed"] == 400 - value["records"] > 0
    before = set(duckdb.sql("FROM read_csv('people.csv', types = {zip: 'VARCHAR'})").fetchall())
    after = duckdb.sql(f"SELECT * REPLACE (zip::VARCHAR AS zip) FROM 'safe.{end}'").fetchall()
    assert len(after) == value["records"]
    if end == "parquet":
        assert set(after) <= before


def test_cells_are_blanked_by_their_worth(capsys: pytest.CaptureFixture[str]) -> None:
    """With --cells all records stay that can, and the dear column is touched less."""
    words = ("suppress", "people.csv", "safe.csv", "-q", "zip,sex,ill", "--k", "15", "--cells", "--force")
    blanked = [
        _value(*words, *weights, capsys=capsys)["bill"]["cells_blanked"]
        for weights in ((), ("--weights", "ill=9"), ("--weights", "sex=9"))
    ]
    assert blanked[1]["ill"] <= blanked[0]["ill"]
    assert blanked[2]["sex"] <= blanked[0]["sex"]
    code, out = _said(*words, capsys=capsys)
    assert code == 0
    assert out.startswith("VERIFIED  safe.csv: k = ")
    assert "cells blanked" in out


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_numbers_that_are_one_value_are_one_text(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A record cannot be identified by the sign of its zero."""
    pq.write_table(pa.table({"a": [0.0, 0.0, 0.0, -0.0, None]}), "in.parquet")
    _value("suppress", "in.parquet", f"safe.{end}", "-q", "a", "--k", "4", capsys=capsys)
    found = duckdb.sql(f"FROM read_csv('safe.{end}', all_varchar = true)" if end == "csv" else f"FROM 'safe.{end}'")
    assert {str(value) for (value,) in found.fetchall()} == {"0" if end == "csv" else "0.0"}


def test_a_column_that_is_only_classified_has_one_zero(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The proof is about all quasi-identifiers, and so is what it cannot see."""
    pq.write_table(pa.table({"a": ["x"] * 4, "b": [0.0, 0.0, 0.0, -0.0]}), here / "in.parquet")
    config = CONFIG.partition("releases:")[0].format(source="files: in.parquet")
    config = config.replace("people", "in").partition("    columns:")[0]
    (here / "tablewatch.yaml").write_text(f"{config}    columns: {{b: quasi-identifier}}\n", encoding="utf-8")
    _value("suppress", "in", "safe.parquet", "-q", "a", "--k", "4", capsys=capsys)
    assert [str(one) for one in pq.read_table("safe.parquet")["b"].to_pylist()] == ["0.0"] * 4


@pytest.mark.parametrize(
    ("values", "kind"),
    [([2**64 - 1] * 5 + [2**64 - 2] * 2, pa.uint64()), ([None] * 2 + [""] * 9, pa.string())],
    ids=["long numbers", "no text and an empty one"],
)
def test_the_exact_texts_of_a_file_are_counted(
    values: list[Any], kind: pa.DataType, capsys: pytest.CaptureFixture[str]
) -> None:
    """What two cells would be as numbers, or NULL, does not make them one."""
    pq.write_table(pa.table({"a": pa.array(values, kind), "b": [1] * len(values)}), "in.parquet")
    assert _value("suppress", "in.parquet", "safe.csv", "-q", "a", "--k", "2", capsys=capsys)["k"] == 2


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**64 - 1, 2**64 - 2, 2**63 + 1], pa.uint64()),
        ([0.1, 0.2, 1e-7], pa.float32()),
        ([Decimal("12345678901234567.89"), Decimal("12345678901234567.88"), Decimal(0)], pa.decimal128(30, 2)),
    ],
    ids=["64 bits", "32 bits", "decimals"],
)
def test_t_is_measured_whatever_numbers_a_csv_holds(
    end: str, values: list[Any], kind: pa.DataType, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a reader of CSV would round is read as what was written."""
    pq.write_table(pa.table({"a": ["x"] * 9 + ["y"] * 3, "s": pa.array(values * 4, kind)}), "in.parquet")
    for distance in ("", ":ordered"):
        words = ("suppress", "in.parquet", f"safe.{end}", "-q", "a", "--k", "2", "--t", f"s=0{distance}", "--force")
        assert _value(*words, capsys=capsys)["bill"]["guarantee"]["reached"]["t"]["s"] == {"t": 0, "t_of_output": 0}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([[1]] * 4, "a CSV file cannot contain column 'b' of type list<element: int64>"),
        ([b"\xff"] * 4, "a CSV file cannot contain column 'b' of type binary"),
    ],
)
@pytest.mark.parametrize("words", [("suppress", "-q", "a", "--k", "2"), ("code", "--top", "a=5")])
def test_what_a_csv_file_cannot_hold_is_told(
    cells: list[Any], said: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Untreated columns go into a Parquet file, or the message says which one is in the way."""
    pq.write_table(pa.table({"a": [1, 1, 1, 1], "b": cells}), "in.parquet")
    code, message = _problem(words[0], "in.parquet", "safe.csv", *words[1:], capsys=capsys)
    assert (code, message[:43]) == (2, said[:43])
    _value(words[0], "in.parquet", "safe.parquet", *words[1:], capsys=capsys)


@pytest.mark.parametrize("words", [("-q", "a"), ("-q", "b", "--l", "a=2")])
def test_days_without_end_are_told(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB takes `inf` in a CSV for a day, and Python has no such day."""
    Path("in.csv").write_text("a,b\n" + "inf,1\n-inf,1\n" * 4, encoding="utf-8")
    code, message = _problem("suppress", "in.csv", "safe.csv", *words, capsys=capsys)
    assert (code, message[:54]) == (2, "column 'a' holds days or times out of range, such as i")


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_truth_is_written_as_sqlite_has_it(here: Path, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It calls a column BOOLEAN and holds 0 and 1: so does the output, and it can be compared with the table."""
    with closing(sqlite3.connect(here / "in.db")) as table:
        table.execute("CREATE TABLE people (a TEXT, s BOOLEAN)")
        table.executemany("INSERT INTO people VALUES ('x', ?)", [(True,), (False,), (None,)] * 4)
        table.commit()
    config = CONFIG.partition("    columns:")[0].format(source='url: "sqlite:///in.db"')
    (here / "tablewatch.yaml").write_text(config, encoding="utf-8")
    value = _value("suppress", "people", f"safe.{end}", "-q", "a", "--k", "2", "--t", "s=0", capsys=capsys)
    assert value["bill"]["guarantee"]["reached"]["t"]["s"]["t"] == 0
    assert set(duckdb.sql(f"SELECT s FROM 'safe.{end}'").fetchall()) == {(0,), (1,), (None,)}


def test_nan_and_null_are_two_sensitive_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where an output is compared with its input."""
    secret = [float("nan"), None, 1.0, 2.0] * 3
    pq.write_table(pa.table({"a": ["x"] * 12, "s": secret}), "in.parquet")
    for end in ("csv", "parquet"):
        words = ("suppress", "in.parquet", f"safe.{end}", "-q", "a", "--k", "2", "--t", "s=0")
        assert _value(*words, capsys=capsys)["bill"]["guarantee"]["reached"]["t"]["s"] == {"t": 0, "t_of_output": 0}


@pytest.mark.parametrize("words", [("suppress", "-q", "zip,sex"), ("code", "--top", "age=80")])
@pytest.mark.parametrize("given", ["people", "peop*.csv"])
def test_a_file_that_is_read_is_never_replaced(
    here: Path, words: tuple[str, ...], given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even by --force, and whatever name the table has."""
    (here / "tablewatch.yaml").write_text(CONFIG.format(source="files: people.csv"), encoding="utf-8")
    before = (here / "people.csv").read_bytes()
    code, message = _problem(words[0], given, "people.csv", *words[1:], "--force", capsys=capsys)
    assert (code, message) == (2, "'people.csv' is a file that is read by source 'lake'")
    assert (here / "people.csv").read_bytes() == before


def test_a_release_says_columns_and_limits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A configured table brings its quasi-identifiers and k; a direct identifier is warned of."""
    (here / "tablewatch.yaml").write_text(CONFIG.format(source="files: people.csv"), encoding="utf-8")
    value = _value("suppress", "people", "safe.csv", "--cells", "--release", "research", capsys=capsys)
    assert (value["quasi_identifiers"], value["direct_identifiers"]) == (["age", "zip", "sex"], ["name"])
    assert value["bill"]["guarantee"]["limits"]["k"] == 7


def test_numbers_are_coded_and_stay_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The file is verified, and no number lies beyond a bound."""
    words = ("code", "people.csv", "safe.csv", "--top", "age=80,income=50000.5", "--bottom", "age=20")
    value = _value(*words, capsys=capsys)
    assert duckdb.sql("SELECT min(age), max(age), max(income), typeof(any_value(age)) FROM 'safe.csv'").fetchone() == (
        20,
        80,
        50000.5,
        "BIGINT",
    )
    assert value["bill"]["guarantee"]["limits"] == {"age": [20.0, 80.0], "income": [None, 50000.5]}
    code, out = _said(*words, "--force", capsys=capsys)
    assert code == 0
    assert out.startswith("VERIFIED  safe.csv: age lies between 20 and 80; income has no values above 50000.5")


def test_labels_stand_for_numbers_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    """With --as label the column holds texts."""
    _value("code", "people.csv", "safe.parquet", "--top", "age=80", "--as", "label", capsys=capsys)
    assert duckdb.sql(
        "SELECT max(TRY_CAST(age AS INT)) < 80, bool_or(age = '>=80') FROM 'safe.parquet'"
    ).fetchone() == (
        True,
        True,
    )


_WORDS = {
    "suppress": ("-q", "zip,sex", "--drop", "age"),
    "generalise": ("-q", "age", "--hierarchy", "age=20,40", "--drop", "sex,zip,ill"),
    "code": ("--top", "age=80"),
}


@pytest.mark.parametrize("command", [*_WORDS])
def test_columns_are_left_out(here: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, or all direct identifiers: then nothing is warned of; a quasi-identifier that is gone needs no proof."""
    config = CONFIG.partition("releases:")[0].format(source="files: people.csv")
    (here / "tablewatch.yaml").write_text(config, encoding="utf-8")
    words = (command, "people", "safe.parquet", *_WORDS[command], "--force")
    value = _value(*words, capsys=capsys)
    assert value["direct_identifiers"] == ["name"]
    gone = value["dropped"]
    assert value.get("quasi_identifiers", []) == [*{"suppress": ["zip", "sex"], "generalise": ["age"]}.get(command, [])]
    value = _value(*words, "--drop-identifiers", capsys=capsys)
    assert (value["direct_identifiers"], value["dropped"]) == ([], ["name", *gone])
    columns = [name for (name, *_) in duckdb.sql("DESCRIBE FROM 'safe.parquet'").fetchall()]
    assert columns == [name for name in people().columns if name not in ("name", *gone)]
    code, out = _said(*words, capsys=capsys)
    assert (code, "direct identifiers are still included: name; --drop-identifiers drops them" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drop", "nmae"), "--drop: column 'nmae' not found; did you mean 'name'?"),
        (("--drop", "ill,zip"), "--drop: column 'zip' is treated or has a limit"),
        (("--drop", "ill", "--l", "ill=2"), "--drop: column 'ill' is treated or has a limit"),
        (("--drop-identifiers",), "no column of the table is classified as a direct identifier"),
    ],
)
def test_what_cannot_be_left_out_is_told(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is needed, what is not there, and nothing at all."""
    code, message = _problem("suppress", "people.csv", "safe.csv", "-q", "zip,sex", *words, capsys=capsys)
    assert (code, message[: len(said)]) == (2, said)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("suppress", "people.csv", "safe.csv"), 2, "no column is named"),
        (("suppress", "people.csv", "safe.csv", "-q", "agee"), 2, "column 'agee' not found; did you mean 'age'?"),
        (("suppress", "people.csv", "safe.csv", "-q", "name"), 1, "no record would be left"),
        (
            ("suppress", "people.csv", "safe.csv", "-q", "age", "--k", "500"),
            2,
            "400 records cannot form a class of 500",
        ),
        (("suppress", "people.csv", "safe.csv", "-q", "age", "--weights", "age=2"), 2, "'weights' goes with"),
        (("suppress", "people.csv", "people.csv", "-q", "age", "--force"), 2, "'people.csv' is the input file"),
        (("suppress", "people.csv", "safe.csv", "-q", "age", "--cells", "--weights", "age=inf"), 2, "weights.age: "),
        (
            ("suppress", "people.csv", "safe.csv", "-q", "age", "--cells", "--weights", "age=1,age=2"),
            2,
            "'age' is named",
        ),
        (("suppress", "people.csv", "safe.csv", "-q", "age", "--l", "ill=2,ill=3"), 2, "'ill' is named twice"),
        (("code", "people.csv", "safe.csv"), 2, "no bound is given"),
        (("code", "people.csv", "safe.csv", "--top", "age=80,age=70"), 2, "'age' is named twice"),
        (("code", "people.csv", "safe.csv", "--top", "age=1e400", "--as", "label"), 2, "top.age: no 64-bit number"),
        (("code", "people.csv", "safe.csv", "--bottom", "age=99999999999999999999"), 2, "column 'age' has a type that"),
        (("code", "people.csv", "safe.csv", "--top", "age"), 2, "'age' is not a column bound"),
        (("code", "people.csv", "safe.csv", "--top", "agee=80"), 2, "column 'agee' not found; did you mean 'age'?"),
        (("code", "people.csv", "safe.csv", "--top", "name=80"), 2, "column 'name': "),
        (("code", "people.csv", "safe.csv", "--top", "age=many"), 2, "top.age: expected a number"),
        (("code", "people.csv", "safe.csv", "--top", "age=80.5"), 2, "column 'age' holds whole numbers"),
    ],
)
def test_wrong_usage_is_told_and_leaves_nothing(
    words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message says what was seen and expected, shows no value, and no file is made."""
    found, message = _problem(*words, capsys=capsys)
    assert (found, message[: len(said)]) == (code, said)


def _districts(path: Path) -> None:
    ills = {10007: ["hiv"] * 5}
    rows = [f"{zip_},{ill}" for zip_ in range(10000, 10040) for ill in ills.get(zip_, ["flu", "gout"] * 3)]
    path.write_text("\n".join(["zip,ill", *rows]), encoding="utf-8")


def test_two_runs_with_a_key_suppress_the_same_classes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key two outputs reveal which classes broke a limit, with one those of a changed table; it is said."""
    _districts(Path("districts.csv"))
    Path("secret.key").write_text("0123456789abcdef" * 2, encoding="utf-8")
    words = ("suppress", "districts.csv", "out.csv", "-q", "zip", "--k", "5", "--l", "ill=2", "--force")
    outputs = []
    for _ in range(2):
        value = _value(*words, "--key", "secret.key", capsys=capsys)
        assert value["bill"]["figures"]["mixed"]["repeatable"] is True
        outputs.append(set(duckdb.sql("SELECT DISTINCT zip FROM 'out.csv'").fetchall()))
    assert outputs[0] == outputs[1]
    code, out = _said(*words, capsys=capsys)
    assert code == 0
    assert "two outputs of this table together reveal which ones broke a limit" in " ".join(out.split())
    _, out = _said(*words, "--key", "secret.key", capsys=capsys)
    assert "hides the same classes only while the table stays the same" in " ".join(out.split())
    Path("short.key").write_text("0123", encoding="utf-8")
    code, message = _problem(*words, "--key", "short.key", capsys=capsys)
    assert (code, "expected 16 to" in message) == (2, True)
