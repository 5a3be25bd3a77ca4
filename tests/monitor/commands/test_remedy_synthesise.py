"""`tablewatch privacy remedy synthesise`: domains are declared, and the file is read again."""

import csv
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from monitor.cli import run
from monitor.releases.disclosure.table_ref import table_ref_of
from monitor.releases.treatment.randomise_table import synthesise_into
from monitor.terminal.output import Invocation
from remedies.synthesise import Synthesise

DOMAINS = ("--domain", "sex=F,M", "--domain", "born=1900..2009:10")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table of 306 people, some with NULL or undeclared values, and no configuration."""
    rows = [f"secret {number},{'FM'[number % 2]},{1900 + number % 100}" for number in range(300)]
    rows += ["secret,F,", "secret,,1950", "secret,X,1950", "secret,F,3000", "secret,F,1950", "secret,M,1950"]
    (tmp_path / "people.csv").write_text("\n".join(["person,sex,born", *rows]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = run(["privacy", "remedy", "synthesise", *words], Invocation())
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    return code, said.out + said.err


def test_a_table_is_drawn_and_its_loss_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many rows, of the declared columns; each measured table with its error."""
    code, said = _said("people.csv", "made.csv", *DOMAINS, "--epsilon", "2", capsys=capsys)
    assert code == 0
    assert "EPSILON 2" in said
    assert "sex x born" in said
    assert "that of the tree, not of the table" in said
    with (here / "made.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 306
    assert {row["sex"] for row in rows} <= {"F", "M", ""}
    assert {row["born"] for row in rows} <= {*map(str, range(1900, 2010, 10)), ""}


def test_zcdp_of_persons_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A noisy number of rows, rho and delta; the person's column does not leave."""
    words = ("--rho", "0.5", "--delta", "1e-9", "--adjacency", "add-remove", "--unit", "person", "--format", "json")
    code, said = _said("people.csv", "made.parquet", *DOMAINS, *words, capsys=capsys)
    found: Any = json.loads(said)
    reached = found["bill"]["guarantee"]["reached"]
    assert code == 0
    assert (reached["rho"], reached["delta"], reached["unit"]) == ("0.5", "1e-09", "person")
    assert found["columns"] == ["sex", "born"]
    assert found["records"] == reached["rows"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((*DOMAINS,), "expected one of 'epsilon' and 'rho'"),
        (("--epsilon", "1"), "no column is named"),
        (("--columns", "sex,town", *DOMAINS, "--epsilon", "1"), "column 'town' has no declared domain"),
        (("--domain", "town=a,b", "--epsilon", "1"), "column 'town' not found"),
        ((*DOMAINS, "--epsilon", "1", "--adjacency", "near"), "adjacency"),
        ((*DOMAINS, "--rho", "1"), "'rho' needs a 'delta'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reason: str
) -> None:
    """With what to declare; no file is written."""
    code, said = _said("people.csv", "made.csv", *words, capsys=capsys)
    assert code == 2
    assert reason in said
    assert not (here / "made.csv").exists()


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_values_of_every_kind_are_read_again(here: Path, end: str) -> None:
    """Dates, moments, fractions, truth values, and texts that a spreadsheet would take for formulas."""
    domains: dict[str, Any] = {
        "day": tuple(date(2020, 1, day) for day in range(1, 6)),
        "at": (datetime.fromisoformat("2020-01-01T10:00"), datetime.fromisoformat("2021-01-01")),
        "share": (0.0, 0.1, 0.2),
        "ill": (True, False),
        "text": ("=1+1", '-a,"b"\n', "z"),
    }
    rows = {name: [values[row % len(values)] for row in range(60)] for name, values in domains.items()}
    pd.DataFrame(rows).to_parquet(here / "kinds.parquet")
    place = table_ref_of(str(here / "kinds.parquet"), Invocation())
    remedy = Synthesise.model_validate({"domains": domains, "epsilon": 9})
    bill = synthesise_into(place, remedy, here / f"made.{end}", limit=None, progress=lambda _: None)
    assert bill.rows == 60
    assert (here / f"made.{end}").exists()
