"""`tablewatch privacy risk`: of a file without any configuration, and of configured tables."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from monitor.cli import run
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode
from tests.monitor.commands.terminal import Terminal

PEOPLE = (
    "sex,born,zip,ill\nf,1980,100,flu\nf,1980,100,cold\nm,1980,100,flu\nm,1981,101,\nm,1981,101,flu\nF ,1980,100,flu\n"
)
CONFIG = """\
version: 1
project: clinic
sources: {lake: {files: "*.csv"}}
tables:
  - name: people
    source: lake
    columns: {sex: quasi-identifier, born: quasi-identifier, zip: other, ill: other}
  - {name: voters, source: lake}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of six people, and no configuration."""
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _risk(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["privacy", "risk", *words], Invocation())
    said = capsys.readouterr()
    return code, said.out, said.err


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out, err = _risk(*words, "--format", "json", capsys=capsys)
    value = json.loads(out)
    assert err == ""
    assert value.get("exit_code", code) == code
    return value


def test_a_file_without_any_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict and the column that does the damage come first; a broken limit leaves with 1."""
    code, out, err = _risk("people.csv", "--quasi-identifiers", "sex,born", "--k", "2", capsys=capsys)
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == (
        "AT RISK  people.csv: 2 of 6 records are in equivalence classes smaller than 2; sex contributes most"
    )
    assert "with normalised spelling, k is" not in out  # m, 1980 is alone in any spelling
    assert "cold" not in out
    value = _value("people.csv", "-q", "sex,born", "--k", "2", capsys=capsys)
    assert (value["schema"], value["ok"], value["verdict"]) == ("tablewatch.risk/1", False, "fail")
    (found,) = value["results"]
    assert found["observed"]["damage"] == {"sex": 2, "born": 1}


def test_within_limits(capsys: pytest.CaptureFixture[str]) -> None:
    """What is not measured is said beside a good verdict."""
    code, out, _ = _risk("people.csv", "-q", "zip", "--k", "2", capsys=capsys)
    assert code == 0
    assert out.startswith("WITHIN LIMITS  people.csv: every record shares its quasi-identifiers with at least 1 other")
    assert "Within limits is not proof of anonymity." in out


def test_parquet_and_globs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parquet files are read too, and a glob is one table."""
    frame = pd.read_csv(here / "people.csv")
    for number in range(2):
        frame.to_parquet(here / f"part-{number}.parquet")
    assert _value("part-0.parquet", "-q", "zip", capsys=capsys)["results"][0]["observed"]["rows"] == 6
    assert _value("part-*.parquet", "-q", "zip", capsys=capsys)["results"][0]["observed"]["rows"] == 12


@pytest.mark.disclosure
def test_all_measures_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Sensitive columns and a sampling fraction add theirs; the worst comes first."""
    value = _value(
        *("people.csv", "-q", "zip", "-s", "ill", "--k", "2", "--l", "2", "--t", "0.9", "--sampling-fraction", "0.1"),
        capsys=capsys,
    )
    kinds = {one["type"]: one["status"] for one in value["results"]}
    assert kinds.keys() == {"k_anonymity", "l_diversity", "t_closeness", "population_uniqueness"}
    assert value["results"][0]["status"] == value["verdict"]
    code, out, _ = _risk(
        "people.csv", "-q", "zip", "-s", "ill", "--k", "2", "--sampling-fraction", "0.1", capsys=capsys
    )
    assert code in {0, 1, 3}
    assert "l-diversity" in out


TOWN = "gender,born\n" + "f,1980\n" * 4 + "m,1980\n" * 8 + "m,1981\n" * 5 + "F ,1980\n" * 10
TOWN_IS = ("-q", "sex,born", "--population", "town.csv", "--population-columns", "sex=gender")


def test_a_population_file_adds_journalist_risk_and_delta_presence(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who does not know who is in the file has more people to choose from; how certain presence is."""
    (here / "town.csv").write_text(TOWN, encoding="utf-8")
    value = _value("people.csv", *TOWN_IS, "--k", "5", "--max-presence", "0.45", capsys=capsys)
    found = {one["type"]: one for one in value["results"]}
    assert found["k_anonymity"]["observed"]["journalist_highest_risk"] == 0.25
    assert found["k_anonymity"]["observed"]["journalist_records_at_risk"] == 2
    assert (found["delta_presence"]["status"], found["delta_presence"]["observed"]["delta_max"]) == ("fail", 0.5)
    assert found["delta_presence"]["expected"]["max"] == 0.45
    code, out, err = _risk("people.csv", *TOWN_IS, "--k", "2", capsys=capsys)
    assert (code, err) == (1, "")
    lines = {line.rsplit("  ")[0].strip(): line.split()[-1] for line in out.splitlines() if "  " in line}
    assert lines["highest risk among the population (journalist)"] == "25%"
    assert "delta-presence: for every person of town.csv, the probability of being in the table is 10% to 50%" in out


def test_a_population_of_configured_tables(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one source; its quasi-identifiers are those that the configuration classifies."""
    (here / "voters.csv").write_text(TOWN, encoding="utf-8")
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    words = ("people", "--population", "voters", "--population-columns", "sex=gender", "--k", "2")
    value = _value(*words, capsys=capsys)
    assert value["quasi_identifiers"] == ["sex", "born"]
    assert {one["type"]: one["status"] for one in value["results"]} == {"k_anonymity": "fail", "delta_presence": "pass"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--population-columns", "sex=gender"), "need --population"),
        (("--max-presence", "0.5"), "need --population"),
        (("--population", "twon.csv"), "there is no such file"),
        (("--population", "town.csv"), "column 'sex' not found in town.csv"),
        (("--population", "town.csv", "--population-columns", "zip=gender"), "'zip' is not a quasi-identifier"),
        (("--population", "few.csv"), "at least 5 rows are not in few.csv: it is not a population of this table"),
    ],
)
def test_a_population_that_is_none(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    """It is wrong usage, whatever k is."""
    (here / "town.csv").write_text(TOWN, encoding="utf-8")
    (here / "few.csv").write_text("sex,born\nf,1980\n", encoding="utf-8")
    (here / "people.csv").write_text("sex,born\n" + "f,1980\n" * 6, encoding="utf-8")
    code, out, _ = _risk("people.csv", "-q", "sex,born", "--k", "2", *words, "--format", "json", capsys=capsys)
    assert code == 2
    assert said in out


def test_a_configured_table_knows_its_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the name in the configuration, with the columns that it classifies."""
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    value = _value("people", "--k", "2", capsys=capsys)
    assert (value["table"], value["quasi_identifiers"]) == ("people", ["sex", "born"])
    assert not (here / "tablewatch.db").exists()
    _, out, _ = _risk("peeple", "--format", "json", capsys=capsys)
    assert "it is neither a configured table nor a file; did you mean 'people'?" in out


def test_subsets(capsys: pytest.CaptureFixture[str]) -> None:
    """Which columns single out how many, the fewest columns first; a limit can be set."""
    value = _value("subsets", "people.csv", "-q", "sex,born,zip", "--known", "2", capsys=capsys)
    assert value["ok"]
    assert value["observed"]["sets"][0] == {
        "columns": ["sex"],
        "uniques": 1,
        "distinction": 0.5,
        "separation": pytest.approx(11 / 15),
    }
    code, out, _ = _risk("subsets", "people.csv", "-q", "sex,zip", "--max-unique", "0.1", capsys=capsys)
    assert code == 1
    assert out.startswith("AT RISK  people.csv: sex together identify 1 of 6 records")
    code, out, _ = _risk("subsets", "people.csv", "-q", "sex,zip", capsys=capsys)
    assert code == 0
    assert out.startswith("people.csv: sets of up to 2 columns identify at most 2 of 6 records, by sex, zip")


def test_suggest(capsys: pytest.CaptureFixture[str]) -> None:
    """Names come first, then how well values tell records apart; no value is shown."""
    value = _value("suggest", "people.csv", capsys=capsys)
    assert {one["column"]: one["suggestion"] for one in value["columns"]} == {
        "sex": "quasi-identifier",
        "born": "quasi-identifier",
        "zip": "quasi-identifier",
        "ill": "quasi-identifier",
    }
    assert "cold" not in json.dumps(value)


@pytest.mark.parametrize(
    ("column", "suggestion"),
    [
        ("customer-id", "direct-identifier"),
        ("customerId", "direct-identifier"),
        ("last name", "direct-identifier"),
        ("patientAge", "quasi-identifier"),
        ("wage", "sensitive"),
        ("paid", "other"),
    ],
)
def test_suggest_reads_words(here: Path, capsys: pytest.CaptureFixture[str], column: str, suggestion: str) -> None:
    """Words of a name are separated by whatever stands between them."""
    (here / "named.csv").write_text(f"{column}\n1\n1\n", encoding="utf-8")
    (found,) = _value("suggest", "named.csv", capsys=capsys)["columns"]
    assert found["suggestion"] == suggestion


def test_suggest_looks_at_content(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns without a telling name are recognised by their values, none of which is printed."""
    rows = [
        f"ann{number}@example.org,41111111111111{'11' if number % 2 else '29'},192.0.2.{number % 250},"
        f"090-1234-{5000 + number},she called Mr Miller about order {number},{number % 2},Tokyo"
        for number in range(300)
    ]
    text = "\n".join(["a,b,c,d,note,store_id,name", *rows])
    (here / "content.csv").write_text(text, encoding="utf-8")
    code, out, err = _risk("suggest", "content.csv", "--format", "json", capsys=capsys)
    assert code == 0
    columns = {item["column"]: item for item in json.loads(out)["columns"]}
    kinds = {name: item["content"] and item["content"]["kind"] for name, item in columns.items()}
    assert kinds == {
        "a": "email",
        "b": "card",
        "c": "ip",
        "d": "phone",
        "note": "named_text",
        "store_id": None,
        "name": None,
    }
    assert {columns[name]["suggestion"] for name in ("a", "b", "c", "d", "note")} == {"direct-identifier"}
    assert columns["store_id"]["suggestion"] != "direct-identifier"
    assert columns["store_id"]["why"] == "2 values in 300 rows, too few for what it is called"
    assert columns["name"]["suggestion"] == "other"
    assert columns["a"]["why"] == "100% of 300 sampled rows: e-mail addresses"
    _, shown, _ = _risk("suggest", "content.csv", capsys=capsys)
    for value in ("ann1", "4111", "192.0.2", "090-1234", "Miller", "Tokyo"):
        assert value not in out + err + shown


def test_linkage_of_two_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The voter list attack, with columns that are called otherwise there."""
    (here / "sub").mkdir()
    (here / "sub" / "voters.csv").write_text("sex,year,name\nf,1980,Ann\nm,1980,Bob\nm,1990,Cid\n", encoding="utf-8")
    value = _value("linkage", "people.csv", "sub/voters.csv", "--on", "sex,born=year", capsys=capsys)
    assert value["status"] == "fail"
    code, out, _ = _risk("linkage", "people.csv", "sub/voters.csv", "--on", "sex,born=year", capsys=capsys)
    assert code == 1
    assert out.startswith("AT RISK  people.csv: 3 of 6 rows match exactly one row of sub/voters.csv")
    assert "Ann" not in out
    none = _value(
        "linkage", "people.csv", "sub/voters.csv", "--on", "sex,born=year", "--max-unique", "1", capsys=capsys
    )
    assert none["ok"]


@pytest.mark.parametrize("words", [("linkage", "--on", "sex"), ("table", "-q", "sex", "--population")])
def test_a_broken_file_of_two_is_named_as_it_was_typed(
    here: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two files of one name that one is named which cannot be read, and no columns of the other are offered."""
    (here / "sub").mkdir()
    (here / "sub" / "people.csv.gz").write_bytes(gzip.compress(PEOPLE.encode())[:-12])
    order = (words[0], "people.csv", *words[1:], "sub/people.csv.gz")
    if words[0] == "linkage":
        order = (*words[:1], "people.csv", "sub/people.csv.gz", *words[1:])
    assert _risk(*order, capsys=capsys) == (
        2,
        "",
        "error: 'sub/people.csv.gz' is truncated or not gzip-compressed (EOFError)\n\n",
    )


def test_linkage_within_a_tolerance(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number may be off by a number, a day by a duration; each is said as it is meant."""
    (here / "friends.csv").write_text("born,seen\n1983,2020-01-05\n", encoding="utf-8")
    (here / "visits.csv").write_text("born,seen\n1981,2020-01-03\n1982,2020-01-04\n", encoding="utf-8")
    words = ("linkage", "visits.csv", "friends.csv", "--on", "born,seen", "--tolerance")
    assert _value(*words, "born=1,seen=1d", capsys=capsys)["observed"]["uniquely_matched"] == 1
    assert _value(*words, "born=2.5,seen=2d", capsys=capsys)["observed"]["uniquely_matched"] == 2
    code, out, _ = _risk(*words, "born=-1", "--format", "json", capsys=capsys)
    assert code == 2
    assert "a number not below 0, or a duration such as 3d" in out


def test_linkage_of_configured_tables(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one source; a table and a file beside it are not."""
    (here / "voters.csv").write_text("sex,born\nf,1980\nm,1980\n", encoding="utf-8")
    (here / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    assert _value("linkage", "people", "voters", "--on", "sex,born", capsys=capsys)["status"] == "fail"
    code, out, _ = _risk("linkage", "people", "voters.csv", "--on", "sex", "--format", "json", capsys=capsys)
    assert code == 2
    assert "are in different sources" in out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("people.csv",), 2, "no quasi-identifiers are named"),
        (("subsets", "people.csv"), 2, "no quasi-identifiers are named"),
        (("nope.csv", "-q", "a"), 2, "there is no such file"),
        (("people.csv", "-q", "sexx"), 2, "column 'sexx' not found; did you mean 'sex'"),
        (("people.csv", "-q", "sex,born,sex"), 2, "quasi_identifiers: each column once; seen twice: sex"),
        (("people.csv", "-q", "sex", "--k", "1"), 2, "k: expected at least 2"),
        (("suggest", "nope"), 2, "neither a configured table nor a file"),
        (("linkage", "people.csv", "nope.csv", "--on", "sex"), 2, "there is no such file"),
        (("linkage", "people.csv", "people.csv", "--on", ","), 2, "no shared column is named"),
        (("people.csv", "-q", "sex", "--t", "0.2"), 2, "need a sensitive column"),
        (("people.csv", "-q", "sex", "--l", "3"), 2, "need a sensitive column"),
        (("people.csv", "-q", "sex", "--max-population-unique", "0.1"), 2, "needs either --sampling-fraction or"),
        (("empty.csv", "-q", "sex"), 3, "no rows to evaluate"),
    ],
)
def test_what_is_wrong_is_said(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, said: str
) -> None:
    """Wrong usage leaves with 2, what cannot be evaluated with 3; an empty file is not anonymous."""
    (here / "empty.csv").write_text("sex,born\n", encoding="utf-8")
    ended, out, _ = _risk(*words, "--format", "json", capsys=capsys)
    assert ended == code
    assert said in out


@pytest.mark.parametrize(
    ("rows", "code", "said", "k"),
    [
        ("one\n", 1, "1 of 1 records are in equivalence classes smaller than 2", 1),
        ("1.5\n2.25\n1.5\n2.25\n", 0, "x: floating-point quasi-identifier", 2),
        ("1\n1.0\nten\nten\n", 1, "2 of 4 records are in equivalence classes smaller than 2", 1),
        ("東京\n東京\n\N{FULLWIDTH LATIN CAPITAL LETTER T}okyo\nTOKYO \n", 1, "2 of 4 records", 1),
        (
            "2026-01-01 09:00:00+09:00\n2026-01-01 00:00:00Z\n",
            0,
            "every record shares its quasi-identifiers with at least 1 other",
            2,
        ),
        (
            "2026-01-01 09:00:00+09:00\n2026-01-01 09:00:00\n",
            1,
            "2 of 2 records are in equivalence classes smaller than 2",
            1,
        ),
    ],
    ids=["one row", "floats", "mixed types", "spellings", "one moment", "a zone or none"],
)
def test_values_that_are_hard_to_compare(
    here: Path, capsys: pytest.CaptureFixture[str], rows: str, code: int, said: str, k: int
) -> None:
    """Values count as they would be exported, times with a zone as moments; none is shown."""
    (here / "hard.csv").write_text(f"x,y\n{rows.replace(chr(10), ',a' + chr(10))}", encoding="utf-8")
    ended, out, err = _risk("hard.csv", "-q", "x", "--k", "2", capsys=capsys)
    assert (ended, err) == (code, "")
    assert said in out
    value = _value("hard.csv", "-q", "x", "--k", "2", capsys=capsys)
    assert value["results"][0]["observed"]["k"] == k
    assert "okyo" not in out.lower()
    assert out.count("floating-point") == ("1.5" in rows)
    if "ten" in rows or "東京" in rows:
        assert "with normalised spelling, k is 2; informational" in out


def test_groups_are_named_by_their_sizes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar says which sizes it holds, whatever bars are empty; only the last one has no end."""
    rows = [1.5] + [2.5] * 7 + [3.5] * 2000
    pd.DataFrame({"x": rows}).to_parquet(here / "bars.parquet")
    code, out, _ = _risk("bars.parquet", "-q", "x", capsys=capsys)
    assert code == 1
    bars = [line.split()[:3] for line in out.split("group of", 1)[1].splitlines()[1:4]]
    assert bars == [["1", "1", "1"], ["5-9", "1", "7"], ["1,000+", "1", "2,000"]]
    assert "floating-point columns, grouped by exact equality: x" in out


def test_a_file_of_nothing_but_missing_values(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of which nothing is known are alike, since NULL is a value of its own."""
    (here / "nothing.csv").write_text("x,y\n,\n,\n,\n", encoding="utf-8")
    seen = _value("nothing.csv", "-q", "x,y", "--k", "3", capsys=capsys)["results"][0]["observed"]
    assert (seen["rows"], seen["classes"], seen["k"], seen["k_wildcard"]) == (3, 1, 3, 3)


def test_a_file_of_a_million_values(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every record in it is unique, and no name is shown."""
    frame = pd.DataFrame({"name": [f"canary {number}" for number in range(1_000_000)]})
    frame.to_parquet(here / "many.parquet")
    code, out, _ = _risk("many.parquet", "-q", "name", "--k", "2", capsys=capsys)
    assert code == 1
    assert "1,000,000 of 1,000,000 records are in equivalence classes smaller than 2; name contributes most" in out
    assert "canary" not in out


def test_a_release_is_remembered_and_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was given away once is compared with what the table is now; the store holds keyed hashes only."""
    lines = [f"{number},{'ab'[number // 3 % 2]},{'xy'[number % 2]}" for number in range(6)]
    (here / "people.csv").write_text("id,age,city\n" + "\n".join(lines) + "\n", encoding="utf-8")
    checks = "[{type: re_release, person: [id], quasi_identifiers: [age], k: 2}]"
    text = "version: 1\nproject: p\nsources: {lake: {files: '*.csv'}}\ntables:\n"
    table = f"  - {{name: people, source: lake, checks: {checks}}}\n"
    (here / "tablewatch.yaml").write_text(text + table, encoding="utf-8")
    value = _value("remember", "people", "--as", "spring", capsys=capsys)
    assert [(one["rows"], one["problem"]) for one in value["checks"]] == [(6, None)]
    again, out, _ = _risk("remember", "people", "--as", "spring", "--format", "json", capsys=capsys)
    assert again == 2
    assert "spring" in out
    code, out, _ = _risk("remember", "voters", "--as", "spring", "--format", "json", capsys=capsys)
    assert (code, "table 'voters' is not in the configuration" in out) == (5, True)


@pytest.mark.parametrize(
    ("name", "content", "words", "message", "hint"),
    [
        ("empty.csv", "", (), "'empty.csv' is empty", "a line with the names of the columns"),
        ("x.pdf", "%PDF", (), "'x.pdf': a .pdf file cannot be read as a table", "write the table as .csv"),
        (
            "p.csv",
            "age,sex\n1,m\n",
            ("--sensitive", "sx"),
            "column 'sx' not found; did you mean 'sex'?",
            "privacy risk suggest p.csv",
        ),
    ],
)
def test_what_is_no_table_says_what_is_wrong_and_what_to_do(
    terminal: Terminal, name: str, content: str, words: tuple[str, ...], message: str, hint: str
) -> None:
    """An empty file, a file of another kind and a missing column are wrong usage, each with what to do."""
    (terminal.folder / name).write_text(content, encoding="utf-8")
    (error,) = terminal.refused("privacy", "risk", name, "--quasi-identifiers", "age", *words)
    assert message in error["message"]
    assert hint in error["hint"]


_ON_ONE_FILE: Final = (
    ("privacy", "risk", "table", "FILE", "-q", "a"),
    ("privacy", "risk", "suggest", "FILE"),
    ("privacy", "risk", "subsets", "FILE", "-q", "a"),
    ("privacy", "risk", "linkage", "FILE", "FILE", "--on", "a"),
    ("privacy", "remedy", "generalise", "FILE", "out.csv", "-q", "a", "--hierarchy", "a=5"),
    ("privacy", "remedy", "microaggregate", "FILE", "out.csv", "--columns", "a", "--k", "2"),
    ("privacy", "remedy", "code", "FILE", "out.csv", "--top", "a=5"),
)


@pytest.mark.parametrize("words", _ON_ONE_FILE, ids=lambda words: words[1])
def test_a_file_that_cannot_be_read_is_wrong_usage(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """For all commands, whatever is wrong with the file; a source that does not answer is not."""
    (terminal.folder / "short.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8")
    (terminal.folder / "broken.parquet").write_text("PAR1", encoding="utf-8")
    (terminal.folder / "private.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    monkeypatch.setattr("os.access", lambda path, _: path != "private.csv")
    for name, message in (
        ("short.csv", "line 3: 1 cell"),
        ("broken.parquet", "not Parquet"),
        ("private.csv", "denied"),
    ):
        (error,) = terminal.refused(*(name if word == "FILE" else word for word in words))
        assert message in error["message"]
    (terminal.folder / "shop.sqlite").unlink()
    assert terminal(*("orders" if word == "FILE" else word for word in words)).code == ExitCode.NOT_EVALUATED


@pytest.mark.disclosure
def test_a_model_that_settles_nothing_hides_no_risk(terminal: Terminal) -> None:
    """A population model that cannot be fitted is reported beside what was measured, and does not take its place."""
    rows = "".join(f"{number},{number}\n" for number in range(8))
    (terminal.folder / "unique.csv").write_text("age,zip\n" + rows, encoding="utf-8")
    words = (
        "privacy",
        "risk",
        "unique.csv",
        "-q",
        "age,zip",
        "--k",
        "2",
        "--sampling-fraction",
        "0.1",
        "--format",
        "json",
    )
    left = terminal(*words)
    assert (left.code, '"status": "fail"' in left.out) == (1, True)
