"""An approved release leaves as a file that is read again and proved, or nothing leaves."""

import csv
import os
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.releases import certificate, gate, treat
from monitor.releases import export as export_module
from monitor.releases.state import ReleaseDecision
from monitor.releases.treatment.output import check_not_read
from monitor.terminal.problem import Stop
from store import ReleaseEventKind, StoredCounts
from tests.monitor.releases.desk import COLUMNS, Desk, people, rows_of


def _held(desk: Desk) -> str:
    with desk.decisions() as decisions:
        found = decisions.standing()
        assert found.decision is ReleaseDecision.HELD
        return found.summary


def _exports(desk: Desk) -> int:
    with desk.decisions() as decisions, decisions.store.reading() as tx:
        return len(tx.release_events.matching("extract", ReleaseEventKind.EXPORTED))


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_what_leaves_is_what_may(desk: Desk, out: str) -> None:
    """No direct identifier, every other column, all rows in another order; the registry has the file's hash."""
    found = desk.given_out(out, limits={"k": 5, "l": 2})
    rows = rows_of(desk.folder / out, "SELECT born, sex, ill FROM output")
    given = [tuple(map(str, row)) for row in people()[["born", "sex", "ill"]].itertuples(index=False)]
    assert Counter(tuple(map(str, row)) for row in rows) == Counter(given)
    assert [tuple(map(str, row)) for row in rows] != given
    body = found.event.body
    assert (body["rows"], body["columns"], body["columns_left_out"]) == (
        40,
        ["born", "sex", "ill"],
        ["id"],
    )
    assert body["reached"]["k"] == 10  # type: ignore[index, call-overload] # what a proof has
    assert _exports(desk) == 1
    assert desk.files() == sorted([out, "people.parquet", "tablewatch.yaml"])


@pytest.mark.parametrize("remedy", ["generalise", "mondrian", "fixed"])
def test_a_column_that_holds_only_null_blocks_no_release(desk: Desk, remedy: str) -> None:
    """Whether its hierarchy is declared or not; it leaves as it is, and the file is proved."""
    parts = COLUMNS | {"died": "quasi-identifier", "note": "quasi-identifier"}
    found = desk.write(people().assign(died=pd.Series(dtype="Int64"), note=pd.Series(dtype="string"))).given_out(
        remedy=remedy,
        columns=parts,
        limits={"k": 5, "l": 2},
        hierarchies={name: {"type": "intervals", "widths": [10, 20]} for name in ("born", "died")},
        remedies=[
            {"remedy": "generalise"},
            {"remedy": "generalise", "id": "mondrian", "search": "mondrian"},
            {"remedy": "generalise", "id": "fixed", "levels": {"born": 1, "died": 2}},
        ],
    )
    assert rows_of(desk.folder / "out.parquet", "SELECT DISTINCT died, note FROM output") == [(None, None)]
    assert found.event.body["reached"]["k"] >= 5  # type: ignore[index, call-overload, operator] # what a proof has


def test_nothing_leaves_without_an_approval(desk: Desk) -> None:
    """Nor with that of another remedy, an expired one, or one of another configuration."""
    with pytest.raises(Stop, match="not approved"):
        desk.export()
    desk.write(expires_after="1h").approve()
    with pytest.raises(Stop, match="was approved with 'as-it-is', not with 'suppress'"):
        desk.export(remedy="suppress")
    desk.clock.advance(timedelta(hours=1))
    with pytest.raises(Stop, match="has expired"):
        desk.export()
    desk.approve()
    desk.write(expires_after="2h")
    with pytest.raises(Stop, match="configuration of the release has changed"):
        desk.export()
    with desk.decisions() as decisions:
        decisions.approve("as-it-is", by="desk", note="again")
        decisions.hold(note="wait", by="desk")
    with pytest.raises(Stop, match="put on hold by desk"):
        desk.export()
    assert desk.files() == ["people.parquet", "tablewatch.yaml"]


def test_a_table_that_changed_after_the_approval_is_on_hold(desk: Desk) -> None:
    """Even where it keeps every limit still: an approval is of the content that was reviewed."""
    desk.approve()
    desk.write(people(48))
    with pytest.raises(Stop, match="the table has changed since"):
        desk.export()
    assert "the table has changed since" in _held(desk)
    assert "out.parquet" not in desk.files()


def test_rows_in_another_order_are_the_same_table(desk: Desk) -> None:
    """An approval is of rows, not of their places."""
    desk.approve()
    desk.write(people()[::-1])
    assert desk.export().event.body["rows"] == 40


def test_a_table_that_changes_during_the_export_is_on_hold(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at again once the file is proved, before the file gets its name."""
    desk.approve()
    write = treat.write_treated

    def writes_and_changes(*words: object) -> object:
        found = write(*words)  # type: ignore[arg-type] # as it was called
        people(48).to_parquet(desk.folder / "people.parquet")
        return found

    monkeypatch.setattr(export_module, "write_treated", writes_and_changes)
    with pytest.raises(Stop, match="the table has changed since"):
        desk.export()
    assert "the table has changed since" in _held(desk)
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


def test_an_approval_that_is_taken_back_during_the_export_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hold during the export stops it."""
    desk.approve()
    write = treat.write_treated

    def writes_and_is_held(*words: object) -> object:
        with desk.decisions() as decisions:
            decisions.hold(note="stop", by="desk")
        return write(*words)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(export_module, "write_treated", writes_and_is_held)
    with pytest.raises(Stop, match="is no longer approved: put on hold by desk"):
        desk.export()
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


def test_a_hold_at_the_last_moment_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """After everything was looked at once more, before the export is on record."""
    desk.approve()
    made = certificate.certificate

    def holds_and_certifies(*words: object, **more: object) -> object:
        with desk.decisions() as decisions:
            decisions.hold(note="stop", by="desk")
        return made(*words, **more)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(export_module, "certificate", holds_and_certifies)
    with pytest.raises(Stop, match="is no longer approved: put on hold by desk"):
        desk.export()
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


def test_a_column_that_appeared_does_not_leave(desk: Desk) -> None:
    """The file is given out without it, and the release is on hold afterwards."""
    desk.approve()
    desk.write(people().assign(salary=range(40)))
    found = desk.export()
    assert found.notes[0] == "column salary was added after the approval and is not exported"
    assert found.event.body["columns"] == ["born", "sex", "ill"]
    assert "column salary was added after the approval" in _held(desk)
    with pytest.raises(Stop, match="does not classify salary"):
        desk.approve()


def test_a_column_that_is_gone_holds(desk: Desk) -> None:
    """What was approved is not there any more."""
    desk.approve()
    desk.write(people().drop(columns="ill"))
    with pytest.raises(Stop, match="no column ill"):
        desk.export()
    assert "no column ill" in _held(desk)


def test_an_unclassified_column_cannot_be_approved(desk: Desk) -> None:
    """An unclassified column cannot be exported; nor can a column that is not there."""
    desk.write(columns={name: one for name, one in COLUMNS.items() if name != "ill"})
    with pytest.raises(Stop, match="does not classify ill"):
        desk.approve()
    desk.write(columns={**COLUMNS, "town": "other"})
    with pytest.raises(Stop, match="names town, which is not there"):
        desk.approve()


@pytest.mark.parametrize("by", ["crew", "CREW", " The  crew", "crew@example.org", "ｃｒｅｗ"])  # noqa: RUF001 - other signs that look the same
def test_nobody_approves_a_table_of_his_own(desk: Desk, by: str) -> None:
    """By whatever name the owner is called."""
    with pytest.raises(Stop, match="owns 'people'"):
        desk.approve(by=by)


def test_only_approvers_approve(desk: Desk) -> None:
    """Where some are named; by their name too."""
    desk.write(approvers=["desk"])
    with pytest.raises(Stop, match=r"'m\.mori' is not one of the approvers"):
        desk.approve(by="m.mori")
    desk.approve(by="privacy desk")


def test_pseudonyms_are_the_same_within_a_release_and_in_no_other(desk: Desk) -> None:
    """A person keeps one name in a release, and no other release has it."""
    desk.more = {
        "releases": {"other": {"table": "people", "columns": COLUMNS, "limits": {"k": 5}, "pseudonyms": ["id"]}}
    }
    desk.more["releases"]["other"] |= {"person_key": "id"}
    desk.given_out("one.parquet", pseudonyms=["id"], person_key="id")
    desk.export("two.parquet")
    names = [dict(rows_of(desk.folder / out, "SELECT id, born FROM output")) for out in ("one.parquet", "two.parquet")]
    assert names[0] == names[1]
    assert len(names[0]) == 40
    assert not {f"p{number}" for number in range(40)} & names[0].keys()
    assert all(len(name) == 24 for name in names[0])
    desk.approve(name="other")
    desk.write(re_release="warn")
    desk.export("other.parquet", name="other")
    others = {row[0] for row in rows_of(desk.folder / "other.parquet", "SELECT id FROM output")}
    assert len(others) == 40
    assert not others & names[0].keys()


def test_no_statistics_and_no_metadata_of_pandas_leave(desk: Desk) -> None:
    """A minimum of a column may be the value of a person who is not in the file any more."""
    desk.given_out(remedy="suppress", limits={"k": 2})
    file = pq.ParquetFile(desk.folder / "out.parquet")
    assert file.schema_arrow.metadata is None
    assert file.metadata.metadata is None
    group = file.metadata.row_group(0)
    assert not any(group.column(place).is_stats_set for place in range(group.num_columns))


@pytest.mark.parametrize(
    "sign",
    ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", " =", "\ufeff=", "\x0b\u3000@"],
)
def test_no_cell_of_a_csv_file_is_a_formula(desk: Desk, sign: str) -> None:
    """An apostrophe stands before it; numbers below zero stay numbers."""
    frame = people().assign(ill=[f"{sign}cmd|calc" if number // 8 % 2 else "a=b" for number in range(40)], born=-5)
    desk.write(frame)
    desk.given_out("out.csv")
    with (desk.folder / "out.csv").open(encoding="utf-8", newline="") as opened:
        cells = {row["ill"] for row in csv.DictReader(opened)}
    assert cells == {f"'{sign}cmd|calc", "a=b"}
    assert {row[0] for row in rows_of(desk.folder / "out.csv", "SELECT born FROM output")} == {"-5"}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("x;=1+1", "x;'=1+1"),
        ("x;y\n -1;;@a", "x;y\n '-1;;'@a"),
        ("=a;=b", "'=a;'=b"),
        ("\t=a", "'\t'=a"),
        ("a; b;c=d", "a; b;c=d"),
    ],
)
def test_no_part_of_a_cell_is_a_formula(desk: Desk, given: str, left: str) -> None:
    """Where a spreadsheet parts cells by semicolons, as in much of Europe, a part is a cell of its own."""
    desk.write(people().assign(ill=given))
    desk.given_out("out.csv")
    with (desk.folder / "out.csv").open(encoding="utf-8", newline="") as opened:
        assert {row["ill"] for row in csv.DictReader(opened)} == {left}


@pytest.mark.parametrize("cell", ["=1+1", "x;=1+1"])
def test_a_cell_that_runs_is_found_in_the_bytes(desk: Desk, cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were they not made harmless, the file would be rejected."""
    desk.write(people().assign(ill=cell))
    monkeypatch.setattr("monitor.releases.treatment.output.escape_cells", lambda cells: cells)
    with pytest.raises(Stop, match="a spreadsheet would execute cells of column 'ill' as formulas"):
        desk.given_out("out.csv")
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


@pytest.mark.parametrize("name", ["=born", "born;=1"])
def test_a_column_that_is_called_like_a_formula_leaves_as_parquet_only(desk: Desk, name: str) -> None:
    """Under another name, it would not be among those that the proof groups by."""
    desk.write(people().rename(columns={"born": name}))
    columns = {name if word == "born" else word: one for word, one in COLUMNS.items()}
    with pytest.raises(Stop, match=f"the name of column '{name}' would be executed as a formula"):
        desk.given_out("out.csv", columns=columns)
    assert desk.export("out.parquet").event.body["quasi_identifiers"] == [name, "sex"]


@pytest.mark.parametrize(
    ("files", "out", "would"),
    [
        ("in/*.parquet", "in/out.parquet", True),
        ("in/**/*.parquet", "in/deep/er/out.parquet", True),
        ("in/**/*.parquet", "in/out.parquet", True),
        ("in/**/*.parquet", "out.parquet", False),
        ("in/*.parquet", "in/out.csv", False),
        ("in/*.parquet", "in/deep/out.parquet", False),
        ("in/people.parquet", "in/out.parquet", False),
    ],
)
def test_an_output_does_not_become_a_part_of_the_table(desk: Desk, files: str, out: str, would: bool) -> None:
    """Where all files of a folder are one table, it would hold next time what was made of it."""
    (desk.folder / "in" / "deep" / "er").mkdir(parents=True)
    people().to_parquet(desk.folder / "in" / "people.parquet")
    desk.source = {"files": files, "table": "people"}
    desk.write()
    with desk.decisions() as decisions:
        if not would:
            check_not_read(desk.folder / out, decisions.case.place)
            return
        with pytest.raises(Stop, match="would be an input file"):
            check_not_read(desk.folder / out, decisions.case.place)


def test_a_file_that_breaks_a_limit_leaves_nothing(desk: Desk) -> None:
    """Nor is it on record."""
    desk.write(people(41))
    desk.approve()
    desk.write(pd.concat([people(40), people(41).tail(1).assign(sex="X")]), limits={"k": 5})
    desk.approve()
    with pytest.raises(Stop, match="1 of 41 records are in equivalence classes smaller than 5"):
        desk.export()
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


@pytest.mark.parametrize("problem", [OSError(28, os.strerror(28)), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write_treated", "verify_release"])
def test_whatever_goes_wrong_leaves_nothing(
    desk: Desk, step: str, problem: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk or Ctrl-C, while it is written or read again: no file, no draft, nothing on record."""
    desk.approve()

    def breaks(*words: object) -> None:
        del words
        raise problem

    monkeypatch.setattr(export_module, step, breaks)
    with pytest.raises((Stop, KeyboardInterrupt)):
        desk.export()
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 0)


def test_a_file_that_cannot_get_its_name_is_on_record(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be an export on record without a file, never a file without a record."""
    desk.approve()

    replace = Path.replace

    def breaks(self: Path, target: Path) -> Path:
        if target.suffix == ".parquet":
            raise OSError(28, os.strerror(28))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", breaks)
    with pytest.raises(Stop, match="the disk is full"):
        desk.export()
    assert (desk.files(), _exports(desk)) == (["people.parquet", "tablewatch.yaml"], 1)


def test_two_exports_at_once_cannot_miss_each_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who ends second was not compared with who ended first, and has to be repeated."""
    desk.write(person_key="id").approve()
    check = gate.ExportPermission.check_again
    ended: list[int] = []

    def another_ends(passed: gate.ExportPermission) -> None:
        if not ended:
            ended.append(1)
            desk.export("first.parquet")
        check(passed)

    monkeypatch.setattr(gate.ExportPermission, "check_again", another_ends)
    with pytest.raises(Stop, match="another export of 'people' finished while this one was running"):
        desk.export("second.parquet")
    assert desk.files() == ["first.parquet", "people.parquet", "tablewatch.yaml"]
    assert desk.export("second.parquet").event.body["earlier"][0]["persons_exposed"] == 0  # type: ignore[index, call-overload] # the first


def test_rows_that_are_all_of_one_person_hide_nobody(desk: Desk) -> None:
    """People are counted and not rows, whether the release says whose a row is or a direct identifier repeats."""
    desk.write(people().assign(id=[f"p{number % 8}" for number in range(40)]))
    for words in ({}, {"person_key": "id"}):
        with pytest.raises(Stop, match="8 people are in a group with fewer than 4 others"):
            desk.given_out(**words)


def test_rows_that_a_pseudonym_links_have_to_be_alike_together(desk: Desk) -> None:
    """Of a person with rows in several groups, all groups together say who it is."""
    frame = people(80).assign(id=[f"p{number // 2}" for number in range(80)])
    frame.loc[79, "born"] = 1961  # one person with another pair of groups than all
    desk.write(frame)
    desk.given_out("rows.parquet", person_key="id", re_release="warn")
    with pytest.raises(Stop, match="1 person is in a group with fewer than 4 others"):
        desk.given_out(person_key="id", pseudonyms=["id"])


def test_types_are_those_of_the_table(desk: Desk) -> None:
    """A file has no other columns or types than what it was made of."""
    desk.given_out()
    schema = pq.read_schema(desk.folder / "out.parquet")
    assert [(field.name, str(field.type)) for field in schema] == [
        ("born", "int64"),
        ("sex", "string"),
        ("ill", "string"),
    ]
    assert pa.types.is_int64(schema.field("born").type)


def test_a_column_that_identifies_records_does_not_leave_without_a_word(desk: Desk) -> None:
    """A ticket that is called `other` is named by the export, in the certificate, and refused where a limit says so."""
    frame = people().assign(ticket=[f"T-{number}" for number in range(40)])
    desk.write(frame, columns={**COLUMNS, "ticket": "other"}).approve()
    found = desk.export("first.parquet")
    assert "'ticket' identifies 40 of 40 records uniquely and is not treated" in found.notes
    uniqueness: Any = found.event.body["uniqueness"]
    assert {"columns": ["ticket"], "records": 40} in uniqueness["unique"]
    desk.write(person_key="id", limits={"k": 5, "unclassified_uniqueness": 0.5}, re_release="warn").approve()
    with pytest.raises(Stop, match=r"'ticket' \(40 of 40\); classify or drop them"):
        desk.export("second.parquet")


def test_a_sensitive_column_without_a_limit_on_its_values_is_said(desk: Desk) -> None:
    """On the certificate, too."""
    desk.write(people(), limits={"k": 5}).approve()
    assert any("no limit on l or t" in note for note in desk.export("first.parquet").notes)


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_an_export_that_cannot_get_its_name_is_not_on_record(desk: Desk, kind: str) -> None:
    """No export, and none of its people: what is at the place is looked at before anything is recorded."""
    desk.write(people(80), person_key="id").approve()
    place = desk.folder / "out.parquet"
    {"folder": place.mkdir, "link": lambda: place.symlink_to("elsewhere"), "pipe": lambda: os.mkfifo(place)}[kind]()
    with pytest.raises(Stop):
        desk.export("out.parquet")
    with desk.decisions() as decisions, decisions.store.reading() as tx:
        assert not tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
        assert not StoredCounts(decisions.store).releases("people exports")
