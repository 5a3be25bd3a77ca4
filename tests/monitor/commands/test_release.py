"""`tablewatch release`: from HOLD to a file that is proved, as a person types it."""

import csv
import getpass
import json
from pathlib import Path
from typing import Any

import pytest

from monitor.cli import run
from monitor.config.project import Project
from monitor.terminal.output import Invocation
from tests.monitor.releases.desk import Desk, people

AGAIN = ("--by", "desk", "--note", "looked at")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Return a desk with a table of which two people stand out."""
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame.loc[frame.index[:2], "born"] = [1900, 2020]
    return Desk(tmp_path).write(frame, limits={"k": 5, "l": 2}, remedies=[{"remedy": "suppress"}], person_key="id")


def _said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code = run(["release", *words, "--format", "json"], Invocation())
    return code, json.loads(capsys.readouterr().out)


def test_a_hold_becomes_a_proved_export(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Assessed, compared, approved and exported; the input file is what it was, and the output passes by itself."""
    given = (desk.folder / "people.parquet").read_bytes()
    code, found = _said("assess", "extract", capsys=capsys)
    assert (code, found["state"]) == (1, "hold")
    assert found["why"].startswith("2 of 40 records are in equivalence classes smaller than 5")

    code, found = _said("compare", "extract", capsys=capsys)
    assert (code, found["recommended"], found["rows"], found["rows_of_table"]) == (0, "suppress", 40, 40)
    assert [one["status"] for one in found["remedies"]] == ["refused", "holds"]

    code, found = _said("export", "extract", "--remedy", "suppress", "--out", "out.csv", capsys=capsys)
    assert code == 1
    assert "not approved" in found["errors"][0]["message"]

    code, found = _said("approve", "extract", "--remedy", "suppress", *AGAIN, capsys=capsys)
    assert (code, found["decision"]) == (0, "approved")
    code, found = _said("assess", "extract", capsys=capsys)
    assert (code, found["state"], found["approved_with"]) == (0, "approved", "suppress")

    code, found = _said("export", "extract", "--remedy", "suppress", "--out", "out.csv", capsys=capsys)
    assert code == 0, found
    assert (found["export"]["rows"], found["export"]["rows_suppressed"]) == (38, 2)
    with Path("out.csv").open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert (len(rows), list(rows[0])) == (38, ["born", "sex", "ill"])
    assert not {"1900", "2020"} & {row["born"] for row in rows}
    assert (desk.folder / "people.parquet").read_bytes() == given

    code, found = _said("hold", "extract", *AGAIN, capsys=capsys)
    assert (code, found["decision"]) == (0, "held")
    code, found = _said("assess", "extract", capsys=capsys)
    assert (code, found["state"]) == (1, "hold")
    with Project.of(Invocation(config_path=desk.config)).open_store() as store, store.reading() as tx:
        events = tx.release_events.matching("extract")
    user = f"OS user {getpass.getuser()}"
    assert [event.actor for event in events] == ["desk", getpass.getuser(), f"desk ({user})"]
    assert events[0].body["signed_in_by"] == user


def test_a_changed_table_is_on_hold_once_it_is_assessed(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a column is gone; assess then says so, and does not fail."""
    desk.approve("suppress")
    desk.write(people().drop(columns="ill"))
    code, found = _said("assess", "extract", capsys=capsys)
    assert (code, found["state"]) == (1, "hold")
    assert "no column ill" in found["why"]


def test_no_file_is_written_over(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Not without --force, and never one that the table is read from."""
    desk.approve("suppress")
    Path("out.csv").write_text("mine", encoding="utf-8")
    words = ("export", "extract", "--remedy", "suppress", "--out")
    assert _said(*words, "out.csv", capsys=capsys)[0] == 2
    assert Path("out.csv").read_text(encoding="utf-8") == "mine"
    given = Path("people.parquet").read_bytes()
    code, found = _said(*words, "people.parquet", "--force", capsys=capsys)
    assert (code, Path("people.parquet").read_bytes()) == (2, given)
    assert "is a file that is read by source" in found["errors"][0]["message"]
    assert _said(*words, "out.csv", "--force", capsys=capsys)[0] == 0
    assert Path("out.csv").read_text(encoding="utf-8").startswith('"born"')


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("approve", "extract", "--remedy", "supress", *AGAIN), "has no remedy 'supress'; did you mean 'suppress'?"),
        (("export", "extract", "--remedy", "supress", "--out", "out.csv"), "did you mean 'suppress'?"),
        (("approve", "extract", "--remedy", "suppress", "--by", "crew", "--note", "x"), "owns 'people'"),
        (("hold", "extract", "--by", "desk", "--note", " "), "--note: expected a text that is not empty"),
        (("export", "extract", "--remedy", "suppress", "--out", "out.xlsx"), "neither a .csv nor a .parquet file"),
        (("export", "extract", "--remedy", "suppress", "--out", "no/out.csv"), "does not exist"),
    ],
)
def test_what_is_said_wrongly_is_said(
    desk: Desk, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to do, and nothing is done."""
    code, found = _said(*words, capsys=capsys)
    assert (code, said in found["errors"][0]["message"]) == (2, True), found
    assert desk.files() == ["people.parquet", "tablewatch.yaml"]
