"""`tablewatch import incidents`: the history of a ticket system."""

import csv
import secrets
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import load
from monitor.triage.ticket_columns import RowReader
from monitor.triage.ticket_mapping import TicketMapping
from monitor.triage.ticket_reader import TicketReader
from monitor.triage.time_parsing import TimeReader
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

MAPS = (
    "--map",
    "Key=id",
    "--map",
    "Data set=table",
    "--map",
    "Summary=title",
    "--map",
    "Opened=detected",
    "--map",
    "Began=occurred",
    "--map",
    "Closed=resolved",
    "--map",
    "Outcome=resolution",
    "--map",
    "Priority=severity",
)
HEADER = "Key;Data set;Summary;Opened;Began;Closed;Outcome;Priority\n"
GOOD = (
    "T-1;orders;amounts x100;2026-11-11 15:46;2026-11-11 10:10;2026-11-11 16:28;fixed;critical\n"
    'T-2;refunds;"late; again";2026-11-12T09:00+09:00;;;;\n'
)


def _write(terminal: Terminal, text: str, *, name: str = "tickets.csv", encoding: str = "utf-8") -> None:
    (terminal.folder / name).write_text(text, encoding=encoding)


def _incidents(terminal: Terminal) -> list[Any]:
    found: list[Any] = terminal.json("incident", "list", "--limit", "1000")["incidents"]
    return found


def test_history_is_imported(terminal: Terminal) -> None:
    """Each row is an incident with the times, words and texts of its columns; others have their defaults."""
    _write(terminal, HEADER + GOOD)
    said = terminal("import", "incidents", "tickets.csv", *MAPS, "--format", "json")
    assert said.json == {
        "schema": "tablewatch.import/1",
        "file": "tickets.csv",
        "dry_run": False,
        "rows": 2,
        "imported": 2,
        "known": 0,
        "differ": [],
        "applicable": 0,
        "updated": 0,
        "refused": [],
        "unknown_end": [],
        "first_id": 1,
        "last_id": 2,
        "assumed": {"timezone": 3, "fixed": 0, "person": 2, "open": 1},
    }
    assert said.err == (
        "note: 1 row has no end and counts as open until now; --open-as-unknown skips such rows\n"
        "note: without an offset, read in Asia/Tokyo: 3 times\n"
        "note: without found_by, imported as reported by a person: 2 rows; --set found_by=check if not\n"
    )
    late, amounts = _incidents(terminal)
    assert (late["title"], late["state"], late["severity"]) == ("late; again", "open", "error")
    assert (late["occurred_at"], late["occurrence_method"]) == ("2026-11-12T00:00:00+00:00", "first-observation")
    assert (amounts["state"], amounts["resolution"], amounts["severity"]) == ("resolved", "fixed", "critical")
    assert (amounts["ttd_h"], amounts["ttr_h"], amounts["found_by"]) == (5.6, 0.7, "person")


def test_importing_twice_adds_nothing(terminal: Terminal) -> None:
    """A row that was imported before is known again by its ticket's id, else by title and time; nothing is changed."""
    _write(terminal, HEADER + GOOD)
    terminal.json("import", "incidents", "tickets.csv", *MAPS)
    terminal.json("incident", "resolve", "2", "--as", "expected")
    before = _incidents(terminal)
    _write(terminal, HEADER + GOOD + "T-3;totals;new;2026-11-13T09:00Z;;;;\n")
    value = terminal.json("import", "incidents", "tickets.csv", *MAPS)
    assert (value["rows"], value["imported"], value["known"], value["first_id"]) == (3, 1, 2, 3)
    assert _incidents(terminal)[1:] == before
    without_id = [word for pair in zip(MAPS[2::2], MAPS[3::2], strict=True) for word in pair]
    assert terminal.json("import", "incidents", "tickets.csv", *without_id)["imported"] == 3
    assert terminal.json("import", "incidents", "tickets.csv", *without_id)["imported"] == 0


BAD = (
    "T-4;ordres;x;2026-11-11T10:00Z;;;;\n"  # line 4
    "T-5;orders;x;2026-11-11T10:00Z;2026-11-11T11:00Z;;;\n"
    "T-6;orders;x;2026-11-11T10:00Z;;2026-11-11T09:00Z;;\n"
    "T-7;orders;x;11/11/2026;;;;\n"
    "T-8;orders;x;2027-01-01T00:00Z;;;;\n"
    "T-9;orders;x;2026-11-11T10:00Z;;2026-11-11T12:00Z;done;huge\n"
    "T-10;orders;;;;;fixed;\n"
    "T-1;orders;x;2026-11-11T10:00Z;;;;\n"
    "T-11;orders;too few\n"
    '"T-12";orders;"a title\nof two lines";2026-11-11T10:00Z;now;;;\n'
    "T-13;orders;x;2026-11-11T10:00Z;;;;\n"  # good again: line 15
)
REASONS = {
    4: "the table is not in the configuration; did you mean 'orders'?; --value table:THEIRS=OURS maps its name",
    5: "occurred is after detected; expected occurred first",
    6: "detected is after resolved; expected detected first",
    7: "the value is not a valid time; expected 2026-11-11T10:10+09:00, '2026-11-11 10:10', '2026/11/11 10:10' or",
    8: "detected is after now",
    9: "resolution: the value is not one of fixed, no-action, expected, false-positive, duplicate; --value resolution:",
    10: "no title; no detected; resolution without a resolved time",
    11: "duplicates line 2",
    12: "has 3 values, expected 8",
    13: "occurred: the value is not a valid time",
}


def test_nothing_is_written_unless_every_row_is_good(terminal: Terminal) -> None:
    """Every bad row is listed with its line and the reason, and without --partial not even the good ones are kept."""
    _write(terminal, HEADER + GOOD + BAD)
    errors = terminal.refused("import", "incidents", "tickets.csv", *MAPS)
    assert errors[0]["message"] == "10 of 13 rows cannot be imported; nothing was written"
    assert {error["line"]: error["file"] for error in errors[1:]} == dict.fromkeys(REASONS, "tickets.csv")
    for error in errors[1:]:
        assert REASONS[error["line"]] in error["message"]
        assert not any(cell in error["message"] for cell in ("ordres", "19:00:00", "11/11/2026", "done", "huge"))
    assert _incidents(terminal) == []


def test_good_rows_are_kept_when_the_user_says_so(terminal: Terminal) -> None:
    """With --partial the good rows are imported and the bad ones listed."""
    _write(terminal, HEADER + GOOD + BAD)
    value = terminal.json("import", "incidents", "tickets.csv", *MAPS, "--partial")
    assert (value["rows"], value["imported"]) == (13, 3)
    assert [one["line"] for one in value["refused"]] == list(REASONS)
    said = terminal("import", "incidents", "tickets.csv", *MAPS, "--partial").out
    assert said.startswith("13 rows: 0 imported; 3 were already imported\n  line 4: the table is not")
    assert len(_incidents(terminal)) == 3


def test_a_dry_run_writes_nothing(terminal: Terminal) -> None:
    """A dry run reads and judges everything, says what would be imported, and writes nothing."""
    _write(terminal, HEADER + GOOD)
    value = terminal.json("import", "incidents", "tickets.csv", *MAPS, "--dry-run")
    assert (value["dry_run"], value["imported"], value["first_id"]) == (True, 2, None)
    assert (
        "2 rows: 2 would be imported; 0 were already imported"
        in terminal("import", "incidents", "tickets.csv", *MAPS, "--dry-run").out
    )
    assert _incidents(terminal) == []


def test_columns_named_like_fields_need_no_map(terminal: Terminal) -> None:
    """A column that has a field's name is that field; what all rows share may be set; fields have synonyms."""
    _write(terminal, "title,detected,when\nx,2026-11-11T10:00Z,2026-11-11T09:00Z\n")
    words = ("--set", "table=orders", "--set", "severity=info", "--set", "found-by=check", "--map", "when=occurred_at")
    terminal.json("import", "incidents", "tickets.csv", *words)
    (incident,) = _incidents(terminal)
    assert (incident["table"], incident["severity"], incident["found_by"]) == ("orders", "info", "check")
    assert incident["ttd_h"] == 1.0


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(",", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-8"), ("|", "utf-8")]
)
def test_the_dialect_is_recognised(terminal: Terminal, delimiter: str, encoding: str) -> None:
    """Comma, semicolon, tab or bar, with or without a byte order mark, quoted line breaks and all."""
    row = delimiter.join(("table", "title", "detected", "note")) + "\r\n"
    row += delimiter.join(("orders", '"売上が ""変"""', "2026-11-11T10:00Z", '"a\r\nb, c; d"')) + "\r\n\r\n"
    _write(terminal, row, encoding=encoding)
    assert terminal.json("import", "incidents", "tickets.csv")["imported"] == 1
    assert _incidents(terminal)[0]["title"] == '売上が "変"'


def test_times_are_read_as_the_system_writes_them(terminal: Terminal) -> None:
    """A pattern and a zone say how times are written; those that clocks show twice are refused."""
    _write(terminal, "table,title,detected\norders,a,29/2/2016 01:16\norders,b,1/11/2015 01:30\n")
    words = ("--time-format", "%d/%m/%Y %H:%M", "--timezone", "America/New_York")
    errors = terminal.refused("import", "incidents", "tickets.csv", *words)
    assert (errors[1]["line"], "is ambiguous in America/New_York" in errors[1]["message"]) == (3, True)
    terminal.json("import", "incidents", "tickets.csv", *words, "--partial")
    assert _incidents(terminal)[0]["detected_at"] == "2016-02-29T06:16:00+00:00"


def test_rows_that_do_not_say_how_they_ended(terminal: Terminal) -> None:
    """A resolved ticket without a word on how it ended counts as fixed, and that is said."""
    _write(terminal, "table,title,detected,resolved\norders,a,2026-11-11T10:00Z,2026-11-11T11:00Z\n")
    said = terminal("import", "incidents", "tickets.csv")
    assert "note: without a resolution, imported as 'fixed': 1 row" in said.err
    assert _incidents(terminal)[0]["resolution"] == "fixed"


@pytest.mark.parametrize(
    ("column", "tables"), [("Labels", ["orders", "refunds"]), ("Labels#2", ["refunds"]), ("Labels#1", ["orders"])]
)
def test_a_repeated_column_can_be_mapped(terminal: Terminal, column: str, tables: list[str]) -> None:
    """The first cell that is not empty counts, or that of the column that is numbered."""
    rows = ",orders,,a,2026-11-11T10:00Z", ",,refunds,b,2026-11-11T11:00Z"
    first = ["x", "Labels", "Labels", "title", "detected"]
    lines = [row for row, table in zip(rows, ("orders", "refunds"), strict=True) if table in tables]
    _write(terminal, "\n".join([",".join(first), *lines, ""]))
    assert terminal.json("import", "incidents", "tickets.csv", "--map", f"{column}=table")["imported"] == len(tables)
    listed = terminal.json("incident", "list")["incidents"]
    assert sorted(incident["table"] for incident in listed) == tables


def test_other_tables_need_a_word(terminal: Terminal) -> None:
    """History of tables that are no longer configured comes in with --any-table."""
    _write(terminal, "table,title,detected\nold,a,2026-11-11T10:00Z\n")
    terminal.refused("import", "incidents", "tickets.csv")
    assert terminal.json("import", "incidents", "tickets.csv", "--any-table")["imported"] == 1


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("table,title,detected\n", ("--map", "Opend=detected"), "column 'Opend' is not in the file"),
        ("table,title,when\n", (), "no column for detected"),
        ("table,title,detected,detected\n", (), "column 'detected' occurs more than once"),
        ("table,title,detected\n", ("--map", "detected"), "--map takes COLUMN=FIELD"),
        ("table,title,detected\n", ("--map", "x=opened"), "'opened' is not a field of an incident"),
        ("table,title,detected\n", ("--map", "a=id", "--map", "b=id"), "id is mapped from two columns or values"),
        ("table,title,detected\n", ("--set", "severity"), "--set takes FIELD=VALUE"),
        ("table,title,detected\n", ("--set", "severity="), "--set takes FIELD=VALUE"),
        ("table,title,detected\n", ("--set", "severity=eror"), "--set severity=eror: 'eror' is not one of info"),
        ("table,title,detected\n", ("--value", "severity=high"), "--value takes FIELD:THEIRS=OURS"),
        ("table,title,detected\n", ("--value", "severity:=error"), "--value takes FIELD:THEIRS=OURS"),
        ("table,title,detected\n", ("--value", "severty:high=error"), "'severty' is not a field of an incident"),
        ("table,title,detected\n", ("--value", "title:a=b"), "'title' is not a field with values to map"),
        ("table,title,detected\n", ("--value", "severity:high=criticl"), "did you mean 'critical'?"),
        (
            "table,title,detected\n",
            ("--value", "severity:high=error", "--value", "severity:High=info"),
            "'High' is mapped twice for severity",
        ),
        ("table,title,detected\n", ("--encoding", "shiftjis8"), "'shiftjis8' is not a text encoding"),
        ("table,title,detected\n", ("--encoding", "hex"), "'hex' is not a text encoding"),
        ("table,title,detected\n", ("--timezone", "Asia/Tokio"), "--timezone: expected an IANA time zone"),
        ("", (), "the file is empty"),
        ('table,title,detected\norders,"x,2026\n', (), "the record that starts here cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said(terminal: Terminal, text: str, words: tuple[str, ...], said: str) -> None:
    """A file, a column or a mapping that cannot be is refused as a whole."""
    _write(terminal, text)
    (error,) = terminal.refused("import", "incidents", "tickets.csv", *words)
    assert said in error["message"]


def test_files_that_are_no_text(terminal: Terminal) -> None:
    """A missing file and one that is not written as said are refused with what to do."""
    (error,) = terminal.refused("import", "incidents", "none.csv")
    assert error["message"] == "none.csv does not exist"
    (terminal.folder / "folder.csv").mkdir()
    (error,) = terminal.refused("import", "incidents", "folder.csv")
    assert error["message"] == "folder.csv cannot be read (is a directory)"
    _write(terminal, "table,title,detected\norders,売上,2026-11-11T10:00Z\n", encoding="shift_jis")
    (error,) = terminal.refused("import", "incidents", "tickets.csv")
    assert "not valid UTF-8 text" in error["message"]
    assert "--encoding shift_jis" in error["hint"]


@pytest.mark.parametrize(
    ("written", "said"),
    [("shift_jis", "Shift_JIS"), ("cp932", "shift_jis"), ("utf-16", "utf-16"), ("utf-8-sig", "utf8")],
)
def test_files_of_other_encodings(terminal: Terminal, written: str, said: str) -> None:
    """A file of another encoding is read when it is named; Shift_JIS with the signs that Windows adds to it."""
    title = "売上①" if written == "cp932" else "売上"
    _write(terminal, f"table,title,detected\norders,{title},2026-11-11T10:00Z\n", encoding=written)
    assert terminal.json("import", "incidents", "tickets.csv", "--encoding", said)["imported"] == 1
    assert _incidents(terminal)[0]["title"] == title


def test_words_of_the_ticket_system_are_translated(terminal: Terminal) -> None:
    """Its words for tables, severities and resolutions can be given a meaning, whatever their case; or none at all."""
    _write(
        terminal,
        "table,title,detected,resolved,resolution,severity\n"
        "Order DB,a,2026-11-11T10:00Z,2026-11-11T11:00Z,Won't do,HIGHEST\n"
        "orders,b,2026-11-12T10:00Z,,Unresolved,Highest\n",
    )
    words = ("--value", "severity:Highest=critical", "--value", "resolution:won't do=expected")
    errors = terminal.refused("import", "incidents", "tickets.csv", *words)
    assert "the table is not in the configuration" in errors[1]["message"]
    assert "resolution: the value is not one of fixed" in errors[2]["message"]
    assert not any(cell in str(errors) for cell in ("Order DB", "Unresolved"))
    more = ("--value", "table:Order DB=orders", "--value", "resolution:Unresolved=")
    terminal.json("import", "incidents", "tickets.csv", *words, *more)
    late, early = _incidents(terminal)
    assert (early["table"], early["severity"], early["resolution"]) == ("orders", "critical", "expected")
    assert (late["state"], late["severity"]) == ("open", "critical")


def test_a_resolution_for_all_is_for_those_that_have_ended(terminal: Terminal) -> None:
    """A resolution set for the whole file holds for the tickets that have ended; the others are open."""
    _write(
        terminal,
        "table,title,detected,resolved\norders,a,2026-11-11T10:00Z,2026-11-11T11:00Z\norders,b,2026-11-12T10:00Z,\n",
    )
    value = terminal.json("import", "incidents", "tickets.csv", "--set", "resolution=no-action")
    assert (value["imported"], value["assumed"]["fixed"]) == (2, 0)
    assert [incident["resolution"] for incident in _incidents(terminal)] == [None, "no-action"]


def test_who_noticed_is_assumed_aloud(terminal: Terminal) -> None:
    """Tickets that do not say who noticed count as found by a person, which is said; what is set is not assumed."""
    _write(terminal, "table,title,detected\norders,a,2026-11-11T10:00Z\n")
    note = "note: without found_by, imported as reported by a person: 1 row; --set found_by=check if not"
    assert note in terminal("import", "incidents", "tickets.csv", "--dry-run").err
    assert "who noticed" not in terminal("import", "incidents", "tickets.csv", "--set", "found_by=check").err
    assert _incidents(terminal)[0]["found_by"] == "check"


def test_times_of_several_forms(terminal: Terminal) -> None:
    """A file may write times in several ways: each pattern that is given, and ISO 8601 with an offset."""
    _write(
        terminal,
        "table,title,detected,resolved\n"
        "orders,a,11/11/2026 19:00,11-Nov-26 08:30 PM\norders,b,2026-11-12T10:00:00.000+0000,\n",
    )
    words = ("--time-format", "%d/%m/%Y %H:%M", "--time-format", "%d-%b-%y %I:%M %p")
    assert terminal.json("import", "incidents", "tickets.csv", *words)["assumed"]["timezone"] == 2
    late, early = _incidents(terminal)
    assert (early["detected_at"], early["ttr_h"]) == ("2026-11-11T10:00:00+00:00", 1.5)
    assert late["detected_at"] == "2026-11-12T10:00:00+00:00"


@pytest.mark.postgres
def test_history_is_imported_into_postgresql(terminal: Terminal, postgres_url: str) -> None:
    """A team's store on PostgreSQL takes the same import, once, and the same verbs."""
    import psycopg

    name = f"imported_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address = f"{postgres_url.rpartition('/')[0]}/{name}"
    terminal.configure(**{"sqlite:///store.db": address})
    _write(terminal, HEADER + GOOD)
    assert terminal.json("import", "incidents", "tickets.csv", *MAPS)["imported"] == 2
    assert terminal.json("import", "incidents", "tickets.csv", *MAPS)["known"] == 2
    assert terminal.json("incident", "open", "--table", "orders", "--title", "x", "--occurred", "1h ago")["id"] == 3
    assert terminal.json("incident", "resolve", "3", "--as", "fixed")["state"] == "resolved"
    assert terminal.json("downtime", "--by", "owner")["n"] == 3
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


_STOP = "SELECT RAISE(ABORT, 'no room')"


def _in_store(terminal: Terminal, statement: str) -> None:
    with closing(sqlite3.connect(terminal.folder / "store.db")) as connection:
        connection.executescript(statement)


def test_thousands_of_rows_are_one_transaction(terminal: Terminal) -> None:
    """An import that fails on its way leaves nothing: all chunks are one transaction."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = "".join(f"orders,t{i},{(start + timedelta(minutes=i)).isoformat()}\n" for i in range(2500))
    _write(terminal, f"table,title,detected\n{rows}")
    terminal.json("incident", "list")  # makes the store
    _in_store(terminal, f"CREATE TRIGGER full BEFORE INSERT ON incident WHEN NEW.id > 1500 BEGIN {_STOP}; END")
    terminal.refused("import", "incidents", "tickets.csv", code=3)
    assert _incidents(terminal) == []
    _in_store(terminal, "DROP TRIGGER full")
    value = terminal.json("import", "incidents", "tickets.csv")
    assert (value["imported"], value["last_id"] - value["first_id"]) == (2500, 2499)


def test_a_bad_row_of_a_later_batch_takes_all_back(terminal: Terminal) -> None:
    """Good rows are written while the file is read; one bad row at its end, or an unreadable one, takes them back."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = "".join(f"orders,t{i},{(start + timedelta(minutes=i)).isoformat()}\n" for i in range(2500))
    for last, message in (
        ("orders,x,soon\n", "1 of 2,501 rows cannot be imported; nothing was written"),
        ('orders,"x,2026\n', "the record that starts here cannot be read (unexpected end of data)"),
    ):
        _write(terminal, f"table,title,detected\n{rows}{last}")
        errors = terminal.refused("import", "incidents", "tickets.csv")
        assert (errors[0]["message"], errors[-1]["line"]) == (message, 2502)
        assert _incidents(terminal) == []
    (terminal.folder / "tickets.csv").write_bytes(f"table,title,detected\n{rows}orders,".encode() + b"\xff,x\n")
    (error,) = terminal.refused("import", "incidents", "tickets.csv")
    assert "not valid UTF-8 text" in error["message"]
    assert _incidents(terminal) == []


def test_rows_across_batches_are_told_apart(terminal: Terminal) -> None:
    """A duplicate is found in a later batch, a short row keeps its line, and each batch reads its own cells."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = "".join(f"{i},orders,t,{(start + timedelta(minutes=i)).isoformat()},\n" for i in range(1500))
    _write(terminal, f"id,table,title,detected,severity\n{rows}7,orders,t,2026-01-02T00:00Z,info\nshort\n")
    value = terminal.json("import", "incidents", "tickets.csv", "--partial")
    assert [(item["line"], item["reason"]) for item in value["refused"]] == [
        (1502, "duplicates line 9"),
        (1503, "has 1 value, expected 5"),
    ]
    assert (value["rows"], value["imported"], value["last_id"]) == (1502, 1500, 1500)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["orders", "nope"]), st.text(max_size=20), st.sampled_from(["x", "2026-11-11T10:00Z"])
        )
    )
)
def test_every_row_is_good_or_has_a_reason(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    """No row is lost: each is either a report or a refusal, whatever the texts hold."""
    folder: Path = tmp_path_factory.mktemp("tickets")
    (folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("table", "title", "detected"), *rows])
    row_reader = RowReader(load(folder / "tablewatch.yaml").config, TimeReader("UTC", NOW, relative=False))
    reader = TicketReader(folder / "tickets.csv", TicketMapping({}, {}), row_reader)
    good = [ticket for batch in reader.batches() for ticket in batch]
    assert (reader.rows, reader.good) == (len(rows), len(good))
    assert all(one.reason for one in reader.bad)


MARKS = "table,title,detected,occurred,resolved\n" + "".join(
    f"orders,row {number},2026-11-11T10:0{number}Z,{occurred},{resolved}\n"
    for number, (occurred, resolved) in enumerate([("?", "2026-11-11T11:00Z"), ("N/A", "?"), ("", "n/a"), ("-", "")])
)


def test_marks_of_no_value_in_columns_of_times(terminal: Terminal) -> None:
    """What stands for no time is declared, whatever its case; without that it is refused, and not shown."""
    _write(terminal, MARKS)
    errors = terminal.refused("import", "incidents", "tickets.csv")
    assert "resolved: the value is not a valid time" in errors[2]["message"]
    assert "--value resolved:THEIRS= marks it as empty" in errors[2]["message"]
    assert not any(cell in str(errors[1:]) for cell in ("'?'", "N/A", "n/a"))
    marks = [f"{name}:{mark}=" for name in ("occurred", "resolved") for mark in ("?", "N/A", "-")]
    value = terminal.json("import", "incidents", "tickets.csv", *(word for mark in marks for word in ("--value", mark)))
    assert (value["imported"], value["assumed"]["open"]) == (4, 3)
    assert [incident["state"] for incident in _incidents(terminal)].count("open") == 3


def test_a_time_is_not_translated_into_another(terminal: Terminal) -> None:
    """A mark in a column of times can only stand for no value."""
    _write(terminal, MARKS)
    (error,) = terminal.refused("import", "incidents", "tickets.csv", "--value", "resolved:?=2026-11-11T10:00Z")
    assert "not a field with values to map" in error["message"]


def test_rows_without_an_end_are_announced(terminal: Terminal) -> None:
    """That they count until now is said, in a dry run too; they can be left out instead, each with its line."""
    _write(
        terminal,
        "table,title,detected,resolved\norders,a,2026-11-11T10:00Z,2026-11-11T11:00Z\n"
        "orders,b,2026-11-12T10:00Z,\norders,c,2026-11-13T10:00Z,\n",
    )
    result = terminal("import", "incidents", "tickets.csv", "--dry-run").err
    assert "note: 2 rows have no end and count as open until now; --open-as-unknown skips such rows" in result
    value = terminal.json("import", "incidents", "tickets.csv", "--open-as-unknown")
    assert (value["rows"], value["imported"], value["unknown_end"], value["assumed"]["open"]) == (3, 1, [3, 4], 0)
    said = terminal("import", "incidents", "tickets.csv", "--open-as-unknown")
    assert "2 rows without an end skipped: lines 3, 4" in said.out
    assert "count as open" not in said.err


def test_a_row_without_an_end_does_not_reopen_what_is_not_known_to_last(terminal: Terminal) -> None:
    """With --open-as-unknown a known ticket that lost its end stays as it is recorded."""
    _write(terminal, "table,title,detected,resolved\norders,a,2026-11-11T10:00Z,2026-11-11T11:00Z\n")
    terminal.json("import", "incidents", "tickets.csv")
    _write(terminal, "table,title,detected,resolved\norders,a,2026-11-11T10:00Z,\n")
    value = terminal.json("import", "incidents", "tickets.csv", "--update", "--open-as-unknown")
    assert (value["unknown_end"], value["differ"]) == ([2], [])
    assert _incidents(terminal)[0]["state"] == "resolved"
