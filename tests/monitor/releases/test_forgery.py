"""Decisions, exports and remembered people cannot be forged with SQL: export, `doctor` and `verify` notice it."""

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.config import load
from monitor.doctor.budgets import examine_ledger
from monitor.doctor.finding import FindingStatus
from monitor.releases import export as export_module
from monitor.releases.export import write_treated
from monitor.terminal.problem import Stop
from store._ledger_chain import EntryKind, LedgerFact, LedgerHead, follow

from .desk import NOW, Desk, people

COLUMNS = "release, kind, actor, note, body, recorded_us"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a desk whose release was approved, exported, put on hold and approved again."""
    desk = Desk(tmp_path).write(people(), person_key="id", re_release="warn")
    desk.approve()
    desk.export("first.parquet")
    with desk.decisions() as decisions:
        decisions.hold(note="the contract has ended", by="desk")
    return desk


def _sql(desk: Desk, *statements: str) -> None:
    connection = sqlite3.connect(desk.folder / "store.db")
    with connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        for statement in statements:
            connection.execute(statement)
    connection.close()


def _problems(desk: Desk) -> Sequence[str]:
    findings = examine_ledger(load(desk.config))
    return [finding.message for finding in findings if finding.verdict is FindingStatus.ERROR]


def _forged_entry(desk: Desk) -> str:
    """Insert the approval again with an entry that follows in the chain, as an attacker would who knows this code."""
    connection = sqlite3.connect(desk.folder / "store.db")
    number, head = connection.execute("SELECT number, hash FROM ledger_entry ORDER BY number DESC").fetchone()
    (last,) = connection.execute("SELECT max(id) FROM release_event").fetchone()
    (body,) = connection.execute("SELECT body FROM ledger_entry WHERE kind = 'release' ORDER BY number").fetchone()
    connection.close()
    text = json.dumps({**json.loads(body), "event": last + 1}, sort_keys=True, separators=(",", ":"))
    entry = follow(LedgerHead(number, head), LedgerFact(EntryKind.RELEASE, text, "desk", NOW + timedelta(hours=1)))
    us = int(entry.fact.recorded_at.timestamp() * 1_000_000)
    return (
        "INSERT INTO ledger_entry (number, kind, body, actor, recorded_us, previous, hash) VALUES "
        f"({entry.number}, 'release', '{text}', 'desk', {us}, x'{head.hex()}', x'{entry.hash.hex()}')"
    )


AGAIN = f"INSERT INTO release_event ({COLUMNS}) SELECT {COLUMNS} FROM release_event WHERE kind = 'approved' LIMIT 1"
FORGERIES: dict[str, tuple[Callable[[Desk], Sequence[str]], str]] = {
    "the actor of an approval": (
        lambda _: ["UPDATE release_event SET actor = 'director' WHERE kind = 'approved'"],
        "the approval of release 'extract' .* was changed",
    ),
    "the date of an approval": (
        lambda _: ["UPDATE release_event SET recorded_us = recorded_us + 86400000000 WHERE kind = 'approved'"],
        "the approval of release 'extract' .* was changed",
    ),
    "the note of a hold": (
        lambda _: ["UPDATE release_event SET note = 'nothing' WHERE kind = 'held'"],
        "the hold of release 'extract' .* was changed",
    ),
    "a hold undone by the old approval": (lambda _: [AGAIN], "the approval of release 'extract' .* not in the ledger"),
    "a hold removed": (lambda _: ["DELETE FROM release_event WHERE kind = 'held'"], "was removed"),
    "a hold turned into an approval": (
        lambda _: ["UPDATE release_event SET kind = 'approved' WHERE kind = 'held'"],
        "the approval of release 'extract' .* was changed",
    ),
    "an export removed": (lambda _: ["DELETE FROM release_event WHERE kind = 'exported'"], "was removed"),
    "a hold removed with its entry": (
        lambda _: [
            "DELETE FROM release_event WHERE kind = 'held'",
            "DELETE FROM ledger_entry WHERE number = (SELECT max(number) FROM ledger_entry)",
        ],
        "the ledger ends at entry 2, but its anchor confirms 3",
    ),
    "all entries removed": (
        lambda _: ["DELETE FROM ledger_entry"],
        "its anchor confirms 3",
    ),
    "an approval with an entry that follows": (
        lambda desk: [AGAIN, _forged_entry(desk)],
        "the approval of release 'extract' .* was changed",
    ),
    "an entry pointed at another fact": (
        lambda _: ["""UPDATE ledger_entry SET body = replace(body, '"event":3', '"event":9') WHERE number = 3"""],
        "it was changed: its hash does not match its content",
    ),
}


@pytest.mark.parametrize("forgery", list(FORGERIES))
def test_a_forged_decision_stops_exports_and_is_diagnosed(desk: Desk, forgery: str) -> None:
    """Whatever is changed with SQL, triggers dropped: no file leaves, and the diagnosis says what does not fit."""
    statements, problem = FORGERIES[forgery]
    assert not _problems(desk)
    _sql(desk, *statements(desk))
    before = desk.files()
    with pytest.raises(Stop, match=f"cannot be trusted: .*{problem}"):
        desk.export("second.parquet")
    assert desk.files() == before
    assert any(re.search(problem, text) for text in _problems(desk))


PERSONS = {
    "a person taken out": "DELETE FROM released_row WHERE person = (SELECT min(person) FROM released_row)",
    "a person in another class": "UPDATE released_row SET class_signature = zeroblob(16) WHERE person = "
    "(SELECT min(person) FROM released_row)",
    "a person with more rows": "UPDATE released_row SET copies = 2 WHERE person = "
    "(SELECT min(person) FROM released_row)",
    "a sensitive value": "DELETE FROM released_value WHERE value = (SELECT min(value) FROM released_value)",
    "all told apart otherwise": "UPDATE release SET digest = zeroblob(16)",
}


@pytest.mark.parametrize("forgery", list(PERSONS))
def test_forged_persons_stop_exports_and_are_diagnosed(desk: Desk, forgery: str) -> None:
    """The people of an earlier export decide what the next one exposes: they are as recorded, or nothing leaves."""
    desk.approve()
    _sql(desk, PERSONS[forgery])
    with pytest.raises(Stop, match=r"cannot be trusted: the people of 'extract .*' were changed"):
        desk.export("second.parquet")
    assert "second.parquet" not in desk.files()
    assert any("were changed after they were recorded" in text for text in _problems(desk))


def test_removed_persons_are_diagnosed(desk: Desk) -> None:
    """A release whose people are gone cannot be compared, and the ledger knows that there were some."""
    _sql(desk, "DELETE FROM released_row", "DELETE FROM released_value", "DELETE FROM release")
    assert any("were removed" in text for text in _problems(desk))


def test_after_a_person_has_looked_every_release_is_on_hold(desk: Desk) -> None:
    """The record is taken as it is, for a reason; nothing leaves before another approval."""
    _sql(desk, AGAIN, *PERSONS.values())
    with desk.decisions() as decisions:
        project, now = decisions.case.project, desk.clock.now()
        ledger = project.release_ledger(decisions.store)
        assert ledger.adopt(reason="looked at by the board", actor="board", now=now)
        assert not ledger.adopt(reason="once more", actor="board", now=now)
        assert not ledger.verify().flaws
        assert "put on hold by board" in decisions.standing().summary
    with pytest.raises(Stop, match="cannot be exported: put on hold"):
        desk.export("second.parquet")
    desk.approve()
    desk.export("second.parquet")
    assert not _problems(desk)


def test_another_signature_key_is_noticed(desk: Desk) -> None:
    """Without the key that signed them, nothing on record can be verified."""
    (desk.folder / "store.db.key").write_text("0" * 64, encoding="ascii")
    with pytest.raises(Stop, match="was changed after it was recorded, or the signature key was"):
        desk.export("second.parquet")


def test_the_owner_of_today_cannot_have_approved(desk: Desk) -> None:
    """Who approved and then became the table's owner has approved his own table."""
    desk.approve()
    _own(desk)
    with pytest.raises(Stop, match="'desk' owns 'people'"):
        desk.export("second.parquet")


def _own(desk: Desk) -> None:
    text = desk.config.read_text(encoding="utf-8")
    desk.config.write_text(text.replace("owner: crew", "owner: desk"), encoding="utf-8")


def _rename(desk: Desk) -> None:
    text = desk.config.read_text(encoding="utf-8")
    desk.config.write_text(text.replace("  extract:", "  other:"), encoding="utf-8")


CHANGES: dict[str, tuple[Callable[[Desk], Any], str]] = {
    "the owner": (_own, "'desk' owns 'people'"),
    "the limits": (lambda desk: desk.write(limits={"k": 9}), "the configuration of the release has changed"),
    "the approvers": (lambda desk: desk.write(approvers=["crew"]), "the configuration of the release has changed"),
    "no release": (_rename, "release 'extract' is not in the configuration"),
    "an error": (lambda desk: desk.config.write_text("tables: 7"), "missing key"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_the_configuration_counts_as_it_is_when_the_file_leaves(
    desk: Desk, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration that changes while the export runs is read again before the export goes on record."""
    desk.approve()
    happens, problem = CHANGES[change]

    def writes_and_changes(*words: Any) -> object:
        happens(desk)
        return write_treated(*words)

    monkeypatch.setattr(export_module, "write_treated", writes_and_changes)
    with pytest.raises(Stop) as stopped:
        desk.export("second.parquet")
    assert problem in str(stopped.value.problems[0].message)
    assert "second.parquet" not in desk.files()
