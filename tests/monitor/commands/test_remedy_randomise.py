"""`tablewatch privacy remedy randomise`: over declared domains, written, read again, and proved by its mechanism."""

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
from remedies import Guarantee, Refused
from remedies.differential_privacy import Mechanism
from remedies.randomise import Randomise

DOMAINS = ("--domain", "sex=F,M", "--domain", "born=1930..2009:10", "--other", "sex=F")
CONFIG = """\
version: 1
project: clinic
sources: {{lake: {{{source}}}}}
tables: [{{name: people, source: lake}}]
budgets:
  people:
    total: 10
    domain:
      sex: {{values: [F, M], other: F}}
      born: {{range: [1930, 2009], width: 10}}
      income: {{low: 0, high: 1000}}
releases:
  research:
    table: people
    limits: {{epsilon: {limit}}}
    remedies:
      - {{remedy: randomise, drop: {drop}, epsilon: 2, joint: true, rows_per_unit: 2,
          domain: {{sex: {{values: [M, F], other: M}}, born: {{range: [1900, 2099], width: 50}}}}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of people, and no configuration."""
    lines = [f"secret {number},{'FM'[number % 2]},{1930 + number % 80}" for number in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["name,sex,born", *lines, "secret,,1999"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", "randomise", *words], Invocation())
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    return code, said.out


def _value(*words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    code, out = _said(*words, "--format", "json", capsys=capsys)
    assert code == 0, out
    return json.loads(out)


def _problems(*words: str, code: int = 2, capsys: pytest.CaptureFixture[str]) -> list[str]:
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    found, out = _said(*words, "--format", "json", capsys=capsys)
    assert found == code, out
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
    return [one["message"] for one in json.loads(out)["errors"]]


def _configure(here: Path, *, drop: str = "rest", limit: str = "5", source: str = "files: people.csv") -> None:
    text = CONFIG.format(source=source, drop=drop, limit=limit)
    (here / "tablewatch.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("joint", [(), ("--joint",)])
def test_epsilon_is_stated_where_no_column_leaves_unchanged(
    end: str, joint: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has the randomised columns, values of their domains, as many rows; the proof is the mechanism."""
    before = Path("people.csv").read_bytes()
    out = f"safe.{end}"
    value = _value("people.csv", out, *DOMAINS, "--epsilon", "1.0", "--drop-rest", *joint, capsys=capsys)
    assert (value["schema"], value["epsilon"], value["unchanged"]) == ("tablewatch.remedy/1", "1", [])
    asked = "SELECT count(*), count(DISTINCT sex), min(born), max(born), count(DISTINCT born) FROM '{}'"
    assert duckdb.sql(asked.format(out)).fetchone() == (201, 2, 1930, 2000, 8)
    assert duckdb.sql(f"DESCRIBE FROM '{out}'").fetchall()[1][:2] == ("born", "BIGINT")
    mechanism = Mechanism.read(value["bill"]["guarantee"]["reached"])
    assert mechanism.joint is bool(joint)
    assert (mechanism.rows, mechanism.ranges, mechanism.others) == (201, {"born": (1930, 2009, 10)}, {"sex": "F"})
    assert Path("people.csv").read_bytes() == before


def test_nothing_of_the_table_is_in_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """How many cells were changed comes from the table that was given, so the bill has it not."""
    value = _value("people.csv", "safe.csv", *DOMAINS, "--epsilon", "1", "--drop-rest", capsys=capsys)
    known = {"remedy", "rows", "rows_suppressed", "information_lost", "guarantee", "figures"}
    assert set(value["bill"]) == {*known, "row_order", "not_protected"}
    assert "changed" not in json.dumps(value).replace("unchanged", "")


def test_a_column_that_leaves_unchanged_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Then no epsilon holds."""
    value = _value("people.csv", "safe.csv", *DOMAINS, "--epsilon", "1", capsys=capsys)
    assert (value["epsilon"], value["pk"], value["unchanged"]) == (None, None, ["name"])
    assert value["bill"]["guarantee"]["reached"]["epsilon_of_row"] == "1"
    names = duckdb.sql("SELECT list_sort(list(name)) FROM 'safe.csv'").fetchone()
    assert names == duckdb.sql("SELECT list_sort(list(name)) FROM 'people.csv'").fetchone()
    code, out = _said("people.csv", "safe.csv", *DOMAINS, "--epsilon", "1", "--force", capsys=capsys)
    assert code == 0
    assert out.startswith("NO EPSILON  safe.csv: not randomised: name\n")


def test_a_person_reads_what_epsilon_means(capsys: pytest.CaptureFixture[str]) -> None:
    """In words that need no mathematics; Pk is never called k."""
    words = ("people.csv", "safe.csv", *DOMAINS, "--epsilon", "1", "--drop", "name")
    code, out = _said(*words, capsys=capsys)
    assert code == 0
    assert out.startswith("EPSILON 1  safe.csv: by the mechanism, for 201 rows (Pk 28.0671); verified: ")
    assert "If one row were different, the probability of any file would change at most 2.72-fold (rounded up)." in out
    assert "k =" not in out
    code, out = _said(*words, "--rows-per-unit", "3", "--force", capsys=capsys)
    assert "If all 3 rows of one person were different" in out


def test_pk_and_retention_can_be_asked_for_instead(capsys: pytest.CaptureFixture[str]) -> None:
    """Each by its own name; what they cost is said."""
    words = ("people.csv", "safe.csv", *DOMAINS, "--drop-rest", "--force")
    assert _value(*words, "--pk", "20", capsys=capsys)["pk"] >= 20
    kept = _value(*words, "--retention", "0.5", capsys=capsys)
    assert kept["retention"] == {"sex": 0.5, "born": 0.5}
    assert kept["epsilon"] == "3.295836867"  # ln 3 + ln 9
    each = _value(*words, "--retention", "sex=0.5,born=0", capsys=capsys)
    assert each["retention"] == {"sex": 0.5, "born": 0.0}


def test_a_budget_declares_domains(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the columns that are named; the command line goes before it."""
    _configure(here, limit="null", drop="[]")
    words = ("people", "safe.csv", "--epsilon", "1", "--drop", "name", "--force")
    (here / "tablewatch.yaml").write_text((here / "tablewatch.yaml").read_text().partition("releases:")[0])
    value = _value(*words, "--columns", "sex,born", capsys=capsys)
    assert value["bill"]["guarantee"]["reached"]["ranges"] == {"born": [1930, 2009, 10]}
    value = _value(*words, "--columns", "sex,born", "--domain", "born=1900..2099", capsys=capsys)
    assert value["bill"]["guarantee"]["reached"]["ranges"] == {"born": [1900, 2099, 1]}


def test_a_release_declares_all_of_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Domains, what others are taken for, epsilon, joint, rows of a person, and what is left out."""
    _configure(here)
    value = _value("people", "safe.csv", "--release", "research", capsys=capsys)
    mechanism = Mechanism.read(value["bill"]["guarantee"]["reached"])
    assert (value["columns"], value["epsilon"]) == (["sex", "born"], "2")
    assert (mechanism.joint, mechanism.rows_per_unit) == (True, 2)
    assert mechanism.domains == {"sex": ("M", "F"), "born": ("1900", "1950", "2000", "2050")}
    assert mechanism.others == {"sex": "M"}
    words = ("people", "safe.csv", "--domain", "born=1930..2009", "--force")
    value = _value(*words, capsys=capsys)  # it is the only release of the table
    assert value["columns"] == ["sex", "born"]
    assert value["bill"]["guarantee"]["reached"]["ranges"] == {"born": [1930, 2009, 1]}


@pytest.mark.parametrize(
    ("options", "words", "said"),
    [
        ({"drop": "[]"}, (), "the release has a limit on epsilon, and no epsilon is guaranteed: not randomised: name"),
        ({"limit": "1.999999999"}, (), "the table costs epsilon 2; the release allows 1.999999999"),
        ({}, ("--epsilon", "5.1"), "the table costs epsilon 5.1; the release allows 5"),
    ],
)
def test_a_release_with_a_limit_on_epsilon_refuses(
    here: Path, options: dict[str, str], words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What costs more, or an unknown amount, is not given out."""
    _configure(here, **options)
    assert _problems("people", "safe.csv", *words, code=1, capsys=capsys) == [said]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_what_is_not_as_it_was_randomised_is_not_given_out(
    here: Path, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bytes that were written are read again, and looked at."""
    seen: list[Any] = []

    def refuse(remedy: Randomise, mechanism: Mechanism, after: Any) -> Guarantee:
        if seen:  # the first look is at the frame, the second one at the file
            raise Refused(f"read again: {len(after)} rows of {', '.join(after.columns)}")
        seen.append(after)
        return guarantee(remedy, mechanism, after)

    guarantee = Randomise.guarantee
    monkeypatch.setattr(Randomise, "guarantee", refuse)
    words = ("people.csv", f"safe.{end}", *DOMAINS, "--epsilon", "1", "--drop-rest")
    assert _problems(*words, code=1, capsys=capsys) == ["read again: 201 rows of sex, born"]
    assert sorted(path.name for path in here.iterdir()) == ["people.csv"]


def test_one_person_does_not_decide_how_the_others_are_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number is the same in every spelling, also beside a word, which alone is outside of the domain."""
    words = ("in.csv", "safe.csv", "--domain", "a=1,2", "--epsilon", "1")
    (here / "in.csv").write_text("a\n1.0\n01\n1\nword\n", encoding="utf-8")
    (said,) = _problems(*words, capsys=capsys)
    assert said.startswith("column 'a' has 1 cell outside its declared domain")
    (here / "in.csv").write_text("a\n1.0\n01\n1\n1\n", encoding="utf-8")
    assert _value(*words, capsys=capsys)["records"] == 4


def test_values_of_other_sources_are_known_by_their_texts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Truth, whole floats and days; what comes out has the type of the domain, whatever was there."""
    table = pa.table({"a": [1.0, 2.0, None], "b": [True, False, True], "c": pa.array([0, 1, 0], pa.date32())})
    pq.write_table(table, here / "in.parquet")
    words = ["in.parquet", "safe.csv", "--epsilon", "30", "--domain", "a=0,1,2", "--other", "a=0"]
    words += ["--domain", "b=true,false", "--domain", "c=1970-01-01,1970-01-02"]
    assert _value(*words, capsys=capsys)["epsilon"] == "30"
    assert Path("safe.csv").read_text().splitlines()[0] == '"a","b","c"'
    with closing(sqlite3.connect(here / "in.db")) as database:
        database.execute("CREATE TABLE people (sex TEXT, born TEXT)")
        database.executemany("INSERT INTO people VALUES (?, ?)", [("F", "1999"), ("M", "1950")] * 9)
        database.commit()
    _configure(here, source='url: "sqlite:///in.db"', limit="null", drop="[]")
    assert _value("people", "safe.parquet", "--epsilon", "5", "--release", "research", capsys=capsys)["records"] == 18


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        ("0", "epsilon '0' is not above 0"),
        ("-1", "epsilon '-1' is not above 0"),
        ("nan", "epsilon 'nan' is not a plain decimal"),
        ("inf", "epsilon 'inf' is not a plain decimal"),
        ("1e308", "epsilon '1e308' is not a plain decimal"),
        ("1e0", "epsilon '1e0' is not a plain decimal"),
        ("0.1234567891", "epsilon '0.1234567891' has 10 places"),
        ("1000001", "epsilon '1000001' is above 1,000,000"),
        ("", "epsilon '' is not a plain decimal"),
    ],
)
def test_an_epsilon_that_is_none_is_refused(epsilon: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A plain decimal above 0 of at most nine places."""
    (message,) = _problems("people.csv", "safe.csv", *DOMAINS, "--epsilon", epsilon, capsys=capsys)
    assert said in message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "1"), ["no column is named"]),
        (("--epsilon", "1", "--columns", "sex"), ["column 'sex' has no declared domain; domains are never derived"]),
        (("--epsilon", "1", "--domain", "sex"), ["--domain 'sex': expected column=values"]),
        (("--epsilon", "1", "--domain", "sex=F,"), ["--domain 'sex=F,': an empty value"]),
        (("--epsilon", "1", "--domain", "sex=F,F"), ["--domain 'sex=F,F': 'values' names a value twice"]),
        (("--epsilon", "1", "--domain", "born=9..1"), ["--domain 'born=9..1': 'range' is a smaller and"]),
        (("--epsilon", "1", "--domain", "born=1..9:0"), ["--domain 'born=1..9:0': expected at least"]),
        (("--epsilon", "1", "--domain", "sex=F,M", "--domain", "sex=F,M"), ["--domain names 'sex' twice"]),
        (("--epsilon", "1", *DOMAINS, "--other", "born=2010"), ["--other 'born=2010': the domain of 'born' has no"]),
        (("--epsilon", "1", *DOMAINS, "--other", "sex=X"), ["--other 'sex=X': expected a column with a domain, once"]),
        (("--epsilon", "1", *DOMAINS, "--other", "sexx=X"), ["--other 'sexx=X': expected a column with a domain"]),
        (
            ("--epsilon", "1", "--columns", "sex", *DOMAINS),
            ["--domain names 'born', which is not one of the columns"],
        ),
        (("--epsilon", "1", "--domain", "sexx=F,M"), ["column 'sexx' not found; did you mean 'sex'?"]),
        (("--epsilon", "1", "--domain", "sex=F,M"), ["column 'sex' has 1 cell outside its declared domain, NULL"]),
        (("--epsilon", "1", *DOMAINS, "--drop", "nam"), ["column 'nam' not found; did you mean 'name'?"]),
        (("--epsilon", "1", *DOMAINS, "--drop", "sex"), ["column 'sex' is both randomised and dropped"]),
        (DOMAINS, ["missing privacy parameter"]),
        ((*DOMAINS, "--epsilon", "1", "--pk", "3"), ["expected exactly one of 'epsilon', 'pk' and 'retention'"]),
        ((*DOMAINS, "--pk", "nan"), ["invalid value for '--pk': expected a number that is finite, not 'nan'"]),
        ((*DOMAINS, "--pk", "500"), ["Pk is 500; expected a number above 1 and below the number of rows, 201"]),
        ((*DOMAINS, "--retention", "1"), ["retention: 1 is not a probability of at least 0 and below 1"]),
        ((*DOMAINS, "--retention", "nan"), ["retention: nan is not a probability of at least 0 and below 1"]),
        ((*DOMAINS, "--retention", "sex=1"), ["retention: 1 is not a probability of at least 0 and below 1"]),
        ((*DOMAINS, "--retention", "sex=0.5"), ["'retention' is missing columns: born"]),
        ((*DOMAINS, "--epsilon", "1", "--rows-per-unit", "0"), ["rows_per_unit: expected at least"]),
    ],
)
def test_wrong_usage_is_told_and_leaves_nothing(
    words: tuple[str, ...], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every message says what was seen and expected, shows no value of the table, and no file is made."""
    found = _problems("people.csv", "safe.csv", *words, capsys=capsys)
    assert [message[: len(start)] for message, start in zip(found, said, strict=False)] == said


def test_limits_are_no_domain(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Between two numbers there are others."""
    _configure(here, limit="null", drop="[]")
    (message,) = _problems("people", "safe.csv", "--columns", "income", "--epsilon", "1", capsys=capsys)
    assert message.startswith("column 'income' is declared with limits; declare all its values")
