"""`privacy remedy generalise`: a table is recoded, written, read again and proved; or nothing is left behind."""

import json
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from checks.risk import t_closeness
from monitor.cli import run
from monitor.terminal.output import Invocation
from remedies.generalisation import read_hierarchy
from remedies.generalisation._walks import SearchProgress

COLUMNS = ("-q", "age,zip,sex")
HIERARCHIES = ("--hierarchy", "age=5,10,20", "--hierarchy", "zip=mask:1,2,3,4,5", "--hierarchy", "sex=flat")
COMMON = (*COLUMNS, *HIERARCHIES, "--suppress", "5%")
GROUPS = "SELECT min(n) FROM (SELECT count(*) AS n FROM '{}' GROUP BY age, zip, sex)"
CONFIG = """\
version: 1
project: clinic
sources: {{lake: {{{source}}}}}
tables:
  - name: people
    source: lake
    columns: {{name: direct-identifier, age: quasi-identifier, zip: quasi-identifier, sex: quasi-identifier}}
releases:
  research:
    table: people
    columns:
      {{name: direct-identifier, age: quasi-identifier, zip: quasi-identifier, sex: quasi-identifier, ill: sensitive,
        income: other}}
    limits: {{k: 7, l: 2}}
    hierarchies:
      age: {{type: intervals, widths: [5, 10, 20]}}
      zip: {{type: mask, hide: [1, 2, 3, 4, 5]}}
      sex: {{type: flat}}
"""


def people(n: int = 400) -> pd.DataFrame:
    """Make a table of people whose postcodes have zeros in front, and whose illnesses have commas in them."""
    dice = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "name": [f"secret {number}" for number in range(n)],
            "age": dice.integers(18, 90, n),
            "zip": dice.choice(["01234", "01235", "22311", None], n),
            "sex": dice.choice(["f", "m"], n),
            "ill": dice.choice(["flu", 'cold, "bad"', "ulcer", None], n),
            "income": dice.lognormal(10, 1, n).round(2),
        }
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, and no configuration."""
    people().to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", "generalise", *words], Invocation())
    return code, capsys.readouterr().out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _problems(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    before = sorted(Path().iterdir())
    code, out = _said(*words, "--format", "json", capsys=capsys)
    value = json.loads(out)
    assert value["ok"] is False
    assert "secret" not in out
    assert "0123" not in out
    assert sorted(Path().iterdir()) == before
    return code, value["errors"]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_file_is_generalised_and_proved(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has k by an independent query; suppressed rows are gone, and the cells of others as they were."""
    code, out = _said("people.csv", f"safe.{end}", *COMMON, "--k", "4", capsys=capsys)
    assert code == 0
    assert out.startswith(f"VERIFIED  safe.{end}: k = ")
    assert "no other levels within the limits have less (" in out
    assert "--levels age=" in out
    assert duckdb.sql(GROUPS.format(f"safe.{end}")).fetchone()[0] >= 4  # type: ignore[index] - a row for sure
    kept = duckdb.sql(f"SELECT name, ill, income FROM 'safe.{end}'").fetchall()
    assert len(kept) >= 380
    assert set(kept) <= set(duckdb.sql("SELECT name, ill, income FROM 'people.csv'").fetchall())
    assert sorted(path.name for path in Path().iterdir()) == ["people.csv", f"safe.{end}"]


def test_json_says_levels_and_what_they_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """Levels with their names, measure and value, whether it is proved, and the whole bill."""
    value = _value("people.csv", "safe.csv", *COMMON, capsys=capsys)
    figures = value["bill"]["figures"]
    assert (value["schema"], value["quasi_identifiers"], figures["proved"]) == (
        "tablewatch.remedy/1",
        ["age", "zip", "sex"],
        True,
    )
    assert value["k"] >= 5
    assert figures["levels"]["age"] == {
        "level": value["levels"]["age"],
        "of": 4,
        "name": figures["levels"]["age"]["name"],
    }
    assert figures["value"] == pytest.approx(figures["utilities"]["total"]["loss"])
    assert value["records"] + value["records_suppressed"] == value["bill"]["rows"] == 400
    assert value["bill"]["information_lost"].keys() == {"age", "zip", "sex"}
    assert "secret" not in json.dumps(value)


def test_levels_of_a_run_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Fixed levels search nothing, and give the same file."""
    levels = _value("people.csv", "a.csv", *COMMON, "--keep-order", capsys=capsys)["levels"]
    fixed = ",".join(f"{name}={level}" for name, level in levels.items())
    value = _value("people.csv", "b.csv", *COMMON, "--levels", fixed, "--keep-order", capsys=capsys)
    assert (value["bill"]["figures"]["search"], value["bill"]["figures"]["proved"]) == ("fixed levels", None)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize("search", ["mondrian", "datafly"])
def test_other_searches_are_proved_alike(search: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Mondrian and Datafly promise no optimum, but k."""
    limit = () if search == "mondrian" else ("--suppress", "5%")
    value = _value(
        "people.csv", "safe.csv", *COLUMNS, *HIERARCHIES, *limit, "--search", search, "--l", "ill=2", capsys=capsys
    )
    assert value["bill"]["figures"]["search"] == search
    assert value["bill"]["guarantee"]["reached"]["l"]["ill"] >= 2
    assert duckdb.sql(GROUPS.format("safe.csv")).fetchone() == (value["k"],)


def test_mondrian_cuts_numbers_without_a_hierarchy(capsys: pytest.CaptureFixture[str]) -> None:
    """A number is cut where the data are, a text without a hierarchy is kept or lost as a whole."""
    value = _value("people.csv", "safe.csv", *COLUMNS, "--search", "mondrian", capsys=capsys)
    ages = duckdb.sql("SELECT DISTINCT age FROM 'safe.csv' WHERE age LIKE '%-%'").fetchall()
    assert len(ages) > 4
    assert value["levels"] is None


def test_limits_on_sensitive_columns_are_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """Each l is counted by the engine, t against the values of the input, and beside it against those of the output."""
    limits = ("--l", "ill=2:entropy", "--t", "ill=0.4")
    value = _value("people.csv", "safe.csv", *COMMON, *limits, capsys=capsys)
    reached = value["bill"]["guarantee"]["reached"]
    assert reached["l"]["ill"] >= 2
    assert 0 < reached["t"]["ill"]["t"] <= 0.4
    assert reached["t"]["ill"]["t_of_output"] > 0
    diversity = duckdb.sql(
        "SELECT min(n) FROM (SELECT count(DISTINCT ill) AS n FROM 'safe.csv' GROUP BY age, zip, sex)"
    )
    assert diversity.fetchone() >= (2,)


def test_numbers_are_looked_at_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    """The t of incomes counts how far they lie apart, in a file of numbers read again from CSV."""
    value = _value("people.csv", "safe.csv", *COMMON, "--t", "income=0.5:ordered", "--budget", "30s", capsys=capsys)
    assert 0 < value["bill"]["guarantee"]["reached"]["t"]["income"]["t"] <= 0.5


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "csv"])
def test_a_configured_table_brings_its_release(kind: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns, hierarchies and limits are those of the table's only release; a direct identifier is warned of."""
    source = {
        "sqlite": "url: 'sqlite:///people.db'",
        "duckdb": "url: 'duckdb:///people.db'",
        "csv": "files: people.csv",
    }
    if kind == "sqlite":
        with closing(sqlite3.connect(here / "people.db")) as connection:
            people().to_sql("people", connection, index=False)
    elif kind == "duckdb":
        with duckdb.connect(str(here / "people.db")) as connection:
            connection.sql("CREATE TABLE people AS SELECT * FROM 'people.csv'")
    (here / "tablewatch.yaml").write_text(CONFIG.format(source=source[kind]), encoding="utf-8")
    code, out = _said("people", "safe.parquet", "--suppress", "5%", capsys=capsys)
    assert code == 0
    assert "direct identifiers are still included: name" in out
    value = _value("people", "safe.parquet", "--suppress", "5%", "--force", capsys=capsys)
    assert value["direct_identifiers"] == ["name"]
    assert value["bill"]["guarantee"]["limits"]["k"] == 7
    assert value["bill"]["guarantee"]["limits"]["l"] == {"ill": {"l": 2, "kind": "distinct"}}
    assert duckdb.sql(GROUPS.format("safe.parquet")).fetchone() >= (7,)


def test_a_folder_of_hierarchies(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ARX's files and declarations are taken by the names of their columns; the command line comes first."""
    folder = here / "hierarchies"
    folder.mkdir()
    (folder / "adult_hierarchy_sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    (folder / "age.yaml").write_text("{type: intervals, widths: [30]}", encoding="utf-8")
    (folder / "zip.yaml").write_text("{type: mask, keep: [2]}", encoding="utf-8")
    value = _value(
        *("people.csv", "safe.csv", *COLUMNS, "--hierarchies", "hierarchies", "--hierarchy", "age=40"), capsys=capsys
    )
    assert [one["of"] for one in value["bill"]["figures"]["levels"].values()] == [2, 2, 1]


def test_faults_of_hierarchies_are_told_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its kind and file; a value without a path is counted, never shown."""
    (here / "age.csv").write_text("18;young;*\n18;old;*\n", encoding="utf-8")
    (here / "sex.csv").write_text("f;*\n", encoding="utf-8")
    words = ("--hierarchy", "age=age.csv", "--hierarchy", "sex=sex.csv", "--hierarchy", "zip=flat")
    code, errors = _problems("people.csv", "safe.csv", *COLUMNS, *words, capsys=capsys)
    assert code == 2
    assert [(error["code"], error["file"]) for error in errors] == [
        ("hierarchy.duplicate", "age.csv"),
        ("hierarchy.missing-value", "age.csv"),
        ("hierarchy.not-monotone", "age.csv"),
        ("hierarchy.missing-value", "sex.csv"),
    ]
    assert errors[3]["message"].startswith("column 'sex': 1 value of the table without a line")


def test_null_is_a_value_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A missing postcode stays missing up to the level where all others are one, which it joins."""
    levels = "age=4,zip=2,sex=1"
    _value("people.csv", "some.csv", *COMMON, "--levels", levels, capsys=capsys)
    assert duckdb.sql("SELECT DISTINCT zip FROM 'some.csv' ORDER BY zip").fetchall() == [
        ("012**",),
        ("223**",),
        (None,),
    ]
    _value("people.csv", "all.csv", *COMMON, "--levels", "age=4,zip=6,sex=0", capsys=capsys)
    assert duckdb.sql("SELECT DISTINCT zip FROM 'all.csv'").fetchall() == [("*",)]


def test_texts_that_look_like_numbers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """In the proof, `01` and `1` are two values, though a reader of CSV may take both for a one."""
    pd.DataFrame({"code": ["01"] * 2 + ["1"] * 8 + ["2"] * 9}).to_parquet("codes.parquet")
    words = ("-q", "code", "--hierarchy", "code=flat", "--levels", "code=0", "--k", "2")
    assert _value("codes.parquet", "safe.csv", *words, capsys=capsys)["k"] == 2


def test_parquet_holds_no_statistics_and_no_metadata(capsys: pytest.CaptureFixture[str]) -> None:
    """A reader of the file's footer learns no smallest value, and nothing of pandas; untouched columns keep types."""
    _value("people.csv", "safe.parquet", *COMMON, "--levels", "age=3,zip=0,sex=0", "--k", "2", capsys=capsys)
    with pq.ParquetFile("safe.parquet") as file:
        assert file.metadata.metadata is None
        assert [file.metadata.row_group(0).column(number).statistics for number in range(6)] == [None] * 6
        assert [str(field.type) for field in file.schema_arrow] == ["string"] * 5 + ["double"]


def test_an_analysis_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """What a query says before and after; of lines only how many, since they are data."""
    query = "SELECT sex, avg(income) AS income, count(*) AS n FROM data GROUP BY sex"
    words = ("people.csv", "safe.csv", *COMMON, "--levels", "age=4,zip=1,sex=0")
    change = _value(*words, "--analysis", query, capsys=capsys)["analysis"]["change"]
    assert (change["keys"], change["lines_before"], change["lines_after"]) == (["sex"], 2, 2)
    assert change["figures"]["n"]["largest"] < 0.05
    code, out = _said(*words, "--force", "--analysis", "SELECT avg(age) AS age FROM data", capsys=capsys)
    assert code == 0
    assert "The analysis cannot be compared: " in out
    assert "columns above level 0 are text" in out


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM 'people.csv'", "the analysis reads the file"),
        ("SELECT avg(age) FROM people", "the analysis reads from 'people'; the table is named `data`"),
        ("SELECT 1", "the analysis reads from no table"),
        ("DELETE FROM data", "the analysis"),
        ("SELECT avg(agee) FROM data", "the analysis: column 'agee' not found; did you mean 'age'?"),
        ("SELECT sum(sex) AS n FROM data", "the analysis: source"),
    ],
)
def test_an_analysis_only_reads_the_table(query: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever else is asked for is refused before any work is done."""
    code, (error,) = _problems("people.csv", "safe.csv", *COMMON, "--analysis", query, capsys=capsys)
    assert code == 2
    assert error["message"].startswith(said)


def test_what_is_not_proved_is_not_given_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Treating one of three declared quasi-identifiers proves nothing about all: exit code 1, and no file."""
    (here / "tablewatch.yaml").write_text(CONFIG.format(source="files: people.csv"), encoding="utf-8")
    code, (error,) = _problems("people", "safe.csv", "-q", "age", capsys=capsys)
    assert code == 1
    assert error["message"].startswith("the output failed verification and is not published: ")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "no column is named"),
        (("-q", "agee", "--hierarchy", "agee=5"), 2, "column 'agee' not found; did you mean 'age'?"),
        (("-q", "age"), 2, "no hierarchy for age"),
        (("-q", "age,agee"), 2, "column 'agee' not found; did you mean 'age'?"),
        (("-q", "age", "--hierarchy", "age=0.5x"), 2, "--hierarchy 'age=0.5x': not a known form"),
        (("-q", "age", "--hierarchy", "zip=flat"), 2, "--hierarchy 'zip=flat': 'zip' is not a quasi-identifier here"),
        (("-q", "sex", "--hierarchy", "sex=5"), 2, "column 'sex': "),
        (
            (*COLUMNS, *HIERARCHIES, "--hierarchy", "age=flat"),
            2,
            "--hierarchy 'age=flat': 'age' already has a hierarchy",
        ),
        ((*COLUMNS, *HIERARCHIES, "--t", "ill=0.2:nowhere.csv"), 2, "column 'ill': nowhere.csv cannot be read"),
        ((*COLUMNS, *HIERARCHIES, "--t", "ill=0.2:nowhere.yaml"), 2, "nowhere.yaml: cannot be read"),
        ((*COLUMNS, *HIERARCHIES, "--t", "ill=0.2:far"), 2, "t.ill.distance: expected one of 'equal', 'ordered'"),
        ((*COLUMNS, *HIERARCHIES, "--t", "ill:ill.csv"), 2, "'ill' is not a column limit"),
        (("-q", "age", "--hierarchies", "nowhere"), 2, "nowhere cannot be read"),
        ((*COLUMNS, *HIERARCHIES, "--k", "1"), 2, "k: expected at least 2"),
        ((*COLUMNS, *HIERARCHIES, "--k", "401"), 2, "400 records cannot form a class of 401"),
        ((*COLUMNS, *HIERARCHIES, "--suppress", "many"), 2, "suppress: expected a number"),
        ((*COLUMNS, *HIERARCHIES, "--by", "taste"), 2, "by: expected one of 'loss'"),
        ((*COLUMNS, *HIERARCHIES, "--levels", "age=9"), 2, "column 'age' has no level 9; its levels are 0 to 4"),
        ((*COLUMNS, *HIERARCHIES, "--levels", "agee=1"), 2, "'levels' names a column"),
        ((*COLUMNS, *HIERARCHIES, "--levels", "age=1,age=2"), 2, "'age' is named twice"),
        ((*COLUMNS, *HIERARCHIES, "--analysis", "WITH data AS (SELECT 1) FROM data"), 2, "the analysis "),
        (
            (*COLUMNS, *HIERARCHIES, "--analysis", "WITH data AS (SELECT 1 a) SELECT a FROM data"),
            2,
            "the analysis redefines",
        ),
        ((*COLUMNS, *HIERARCHIES, "--levels", "age=1", "--by", "kl"), 2, "fixed 'levels' leave nothing"),
        ((*COLUMNS, *HIERARCHIES, "--levels", "age=1"), 1, "at these levels "),
        ((*COLUMNS, *HIERARCHIES, "--l", "ill=9"), 1, "no generalisation meets the limits"),
        ((*COLUMNS, *HIERARCHIES, "--l", "age=2"), 2, "both quasi-identifier and sensitive: age"),
        ((*COLUMNS, *HIERARCHIES, "--l", "ill"), 2, "'ill' is not a column limit"),
        ((*COLUMNS, *HIERARCHIES, "--t", "ill=0.1:ordered"), 2, "column 'ill' holds string values"),
        ((*COLUMNS, *HIERARCHIES, "--release", "spring"), 2, "release 'spring' is not in the configuration"),
    ],
)
def test_wrong_usage_is_told_and_leaves_nothing(
    words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message says what was seen and expected, shows no value, and no file is made."""
    found, errors = _problems("people.csv", "safe.csv", *words, capsys=capsys)
    assert (found, errors[0]["message"][: len(said)]) == (code, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "loss"), r": loss [0-9.]+ %, no other levels within the limits have less \("),
        (("--by", "precision"), r": precision 0\.[0-9]{4}, no other levels within the limits have more \("),
    ],
)
def test_measures_are_written_as_elsewhere(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loss in per cent, as in the table below; precision as its definition has it, where more is better."""
    code, out = _said("people.csv", "safe.csv", *COLUMNS, *HIERARCHIES, *words, capsys=capsys)
    assert code == 0
    assert re.search(said, out)
    figures = _value("people.csv", "safe.csv", *COLUMNS, *HIERARCHIES, *words, "--force", capsys=capsys)["bill"][
        "figures"
    ]
    assert figures["value"] == pytest.approx(figures["utilities"]["total"][words[1]])


@pytest.mark.parametrize("command", ["generalise", "lattice"])
def test_strange_hierarchies_are_warned_of(here: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A strange file is obeyed, with a note. What is declared in words is not."""
    lines = [f"{age};{'0-20' if age < 30 else '30-99'};{level};*" for age in range(120) for level in ("0-99",)]
    (here / "age.csv").write_text("\n".join(lines), encoding="utf-8")
    words = ("-q", "age,sex", "--hierarchy", "age=age.csv", "--hierarchy", "sex=flat", "--format", "json")
    given = ("people.csv", "safe.csv") if command == "generalise" else ("people.csv",)
    assert run(["remedy", command, *given, *words], Invocation()) == 0
    result = json.loads(capsys.readouterr().out)["warnings"]
    assert {"column": "age", "file": "age.csv", "kind": "misplaced", "level": 1} in [
        {name: value for name, value in one.items() if name != "message"} for one in result
    ]
    force = ("--force",) if command == "generalise" else ()
    assert run(["remedy", command, *given, *words[:-2], *force], Invocation()) == 0
    assert capsys.readouterr().out.startswith("WARNING  age.csv: column 'age': level 1 ")


def test_a_column_that_is_not_cut_is_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Mondrian gives labels to those columns alone of which a part has several values."""
    words = ("-q", "sex,income", "--hierarchy", "sex=flat", "--search", "mondrian", "--k", "150")
    code, out = _said("people.csv", "safe.csv", *words, capsys=capsys)
    assert code == 0
    assert re.search(r"\nsex +unchanged +0.00 % +0\nincome +several labels per value ", out)


def test_ctrl_c_leaves_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Who ends the search has no file, not even a draft."""

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("remedies.generalisation.optimal_search.optimum", pressed)
    code, _ = _said("people.csv", "safe.csv", *COMMON, capsys=capsys)
    assert code == 130
    assert [path.name for path in Path().iterdir()] == ["people.csv"]


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_gives_the_best_so_far_to_who_has_set_a_budget(
    times: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a budget, the first one ends the search, and the output is proved as always; the second one ends it all."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs this in the background has none
    result = SearchProgress.tell

    def pressed(course: SearchProgress, done: float) -> None:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        result(course, done)

    monkeypatch.setattr(SearchProgress, "tell", pressed)
    code, out = _said("people.csv", "safe.csv", *COMMON, "--budget", "1h", "--format", "json", capsys=capsys)
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    if times == 1:
        assert json.loads(out)["bill"]["figures"]["proved"] is False
        assert duckdb.sql(GROUPS.format("safe.csv")).fetchone() >= (5,)
    else:
        assert code == 130
        assert [path.name for path in Path().iterdir()] == ["people.csv"]


def test_a_link_to_nothing_is_not_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was meant for another file, also with --force."""
    (here / "safe.csv").symlink_to(here / "elsewhere.csv")
    for force in ((), ("--force",)):
        code, (error,) = _problems("people.csv", "safe.csv", *COMMON, *force, capsys=capsys)
        assert (code, error["message"]) == (2, "'safe.csv' is a symbolic link, not a file that can be replaced")
    assert (here / "safe.csv").is_symlink()


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_sensitive_values_may_be_near_by_a_hierarchy(here: Path, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Illnesses of one kind are near: the t is that of `checks.risk`, and NULL is a value of its own."""
    lines = 'flu;airways;*\n"cold, ""bad""";airways;*\nulcer;stomach;*\n'
    (here / "ill.csv").write_text(lines, encoding="utf-8")
    words = ("people.csv", f"safe.{end}", *COMMON, "--t", "ill=0.3:ill.csv")
    value = _value(*words, capsys=capsys)
    columns = {"age": "VARCHAR", "zip": "VARCHAR"}
    after = duckdb.sql(f"FROM read_csv('safe.{end}', types = {columns})" if end == "csv" else f"FROM 'safe.{end}'").df()
    wanted = t_closeness(after, ["age", "zip", "sex"], "ill", hierarchy=read_hierarchy("ill.csv"), reference=people())
    assert value["bill"]["guarantee"]["limits"]["t"] == {"ill": {"t": 0.3, "distance": "hierarchical"}}
    reached = value["bill"]["guarantee"]["reached"]["t"]["ill"]
    assert reached["t"] == pytest.approx(wanted.columns["ill"].t)
    assert 0 < reached["t"] <= 0.3


def test_a_table_without_rows_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is said of its hierarchies."""
    Path("people.csv").write_text("age\n", encoding="utf-8")
    code, (error,) = _problems("people.csv", "safe.csv", "-q", "age", "--hierarchy", "age=5", capsys=capsys)
    assert (code, error["message"][:30]) == (2, "0 records cannot form a class ")


def test_masks_from_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    """The first characters are hidden, and the level says so."""
    words = ("-q", "zip", "--hierarchy", "zip=mask-left:1,4", "--levels", "zip=2", "--k", "2")
    value = _value("people.csv", "safe.csv", *words, capsys=capsys)
    assert value["bill"]["figures"]["levels"]["zip"]["name"] == "first 4 characters hidden"
    assert set(duckdb.sql("SELECT zip FROM 'safe.csv'").fetchall()) == {("****4",), ("****5",), ("****1",), (None,)}
