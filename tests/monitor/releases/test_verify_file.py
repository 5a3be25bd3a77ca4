"""A file is verified against its certificate: its content, and what is counted in it again."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from monitor.releases.verify_file import FileVerification, verify_file
from monitor.terminal.problem import Stop

from .desk import Desk, people


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a desk with a table of people and a release of it."""
    return Desk(tmp_path).write(people(), limits={"k": 5, "l": 2, "t": 0.9})


def _verified(desk: Desk, name: str) -> FileVerification:
    with desk.decisions() as decisions:
        return verify_file(decisions.case.project, decisions.store, desk.folder / name)


@pytest.mark.parametrize("out", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("end", ["", ".data"])
def test_an_exported_file_is_verified_under_any_name(desk: Desk, out: str, end: str) -> None:
    """Its k, l and t are counted again, and are those of the certificate."""
    event = desk.given_out(out).event
    received = f"received [1]{end or Path(out).suffix}"
    (desk.folder / out).rename(desk.folder / received)
    verification = _verified(desk, received)
    assert verification.is_verified, verification
    assert verification.export is not None
    assert verification.export.body["sha256"] == event.body["sha256"]
    reached: Any = event.body["reached"]
    assert verification.counted == {name: reached[name] for name in verification.counted}
    assert (verification.counted["k"], verification.to_json("x")["ok"]) == (10, True)


def test_texts_that_look_like_numbers_stay_texts(desk: Desk) -> None:
    """`01` and `1` are two sensitive values in the file, as they were when it was certified."""
    frame = people().assign(ill=[("01", "1")[number // 8 % 2] for number in range(40)])
    desk.write(frame)
    desk.given_out("out.csv")
    verification = _verified(desk, "out.csv")
    assert verification.is_verified, verification
    assert verification.counted["l"] == 2


@pytest.mark.parametrize("name", ["out.csv", "other.csv"])
def test_a_changed_file_is_not_what_was_exported(desk: Desk, name: str) -> None:
    """One cell is enough; a file of the same name is named with its export."""
    desk.given_out("out.csv")
    text = (desk.folder / "out.csv").read_text(encoding="utf-8")
    (desk.folder / name).write_text(text.replace("gout", "flu", 1), encoding="utf-8")
    verification = _verified(desk, name)
    assert not verification.is_verified
    expected = "has different content" if name == "out.csv" else "no recorded export (1) has the content"
    assert expected in verification.problems[0]


def test_a_certificate_that_was_forged_verifies_nothing(desk: Desk) -> None:
    """An attacker writes the hash of another file into the record."""
    desk.given_out("out.csv")
    frame = people(3)[["born", "sex", "ill"]]
    frame.to_csv(desk.folder / "mine.csv", index=False)
    mine = _verified(desk, "mine.csv").sha256
    connection = sqlite3.connect(desk.folder / "store.db")
    with connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute(
            "UPDATE release_event SET body = json_set(body, '$.sha256', ?) WHERE kind = 'exported'", (mine,)
        )
    connection.close()
    verification = _verified(desk, "mine.csv")
    assert verification.export is not None
    assert not verification.is_verified
    assert "the export of release 'extract'" in verification.record_flaws[0]
    assert any("3 of 3 records" in problem for problem in verification.problems)


def test_the_certificate_counts_and_not_the_configuration_of_today(desk: Desk) -> None:
    """Limits that are stricter now, or a release that is gone, change nothing about a file of before."""
    desk.given_out("out.csv")
    desk.write(limits={"k": 30})
    assert _verified(desk, "out.csv").is_verified


def test_a_file_that_is_not_there_is_an_error(desk: Desk) -> None:
    """Not a file that fails."""
    desk.approve()
    with pytest.raises(Stop, match="cannot be read"):
        _verified(desk, "nothing.csv")
