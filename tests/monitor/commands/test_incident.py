"""`tablewatch incident`: logging what no check found, and working on incidents."""

from datetime import timedelta
from typing import Any

import pytest

from checks import Kind, Severity
from incidents import FoundBy, Resolution, State
from monitor.verbs.words import FoundByWord, KindWord, ResolutionWord, SeverityWord, StateWord
from tests.monitor.commands.terminal import NOW, Terminal

OPEN = ("incident", "open", "--table", "orders", "--title", "amounts x100")
OCCURRED = ("--occurred", "2026-11-20T10:10+09:00")


def _keys(value: Any) -> set[str]:
    return set(value)


def test_the_words_of_options_are_those_of_the_packages_below() -> None:
    """The words that options take are written down twice; they are the same words in the same order."""
    for option, word in (
        (SeverityWord, Severity),
        (StateWord, State),
        (ResolutionWord, Resolution),
        (FoundByWord, FoundBy),
        (KindWord, Kind),
    ):
        assert [one.value for one in option] == [one.value for one in word]


def test_a_person_logs_what_no_check_found(terminal: Terminal) -> None:
    """An incident that a person found is open, with its TTD so far, its downtime and its cost."""
    value = terminal.json(*OPEN, *OCCURRED, "--found-by", "person")
    assert value["schema"] == "tablewatch.incident/1"
    assert (value["id"], value["table"], value["title"], value["state"]) == (1, "orders", "amounts x100", "open")
    assert (value["found_by"], value["severity"], value["owner"]) == ("person", "error", "crew")
    assert value["occurred_at"] == "2026-11-20T01:10:00+00:00"
    assert value["occurrence_method"] == "person"
    assert value["detected_at"] == NOW.isoformat()
    assert (value["ttd_h"], value["ttr_h"], value["downtime_h"]) == (pytest.approx(47 / 6), None, pytest.approx(47 / 6))
    assert value["cost"] == {"amount": 799_000, "currency": "JPY"}  # 7 h 50 min at 100,000 + 2,000
    assert value["events"][0]["actor"] == "m.mori"
    assert "ack" in value["available"]
    assert terminal.json("incident", "show", "1") == value


def test_a_past_incident_is_logged_whole(terminal: Terminal) -> None:
    """With --detected, --resolved and --as an incident of the past is written down with its TTR."""
    times = ("--detected", "2026-11-20 12:10", "--resolved", "2026-11-20T13:10", "--as", "fixed", "--cause", "unit")
    value = terminal.json(*OPEN, *OCCURRED, *times, "--by", "s.sato")
    assert (value["state"], value["resolution"], value["cause"]) == ("resolved", "fixed", "unit")
    assert (value["ttd_h"], value["ttr_h"], value["downtime_h"]) == (2.0, 1.0, 3.0)
    assert value["cost"]["amount"] == 306_000
    assert [event["actor"] for event in value["events"]] == ["s.sato (OS user m.mori)"] * 2


def test_the_zone_of_a_time_is_said_when_it_was_assumed(terminal: Terminal) -> None:
    """A time without an offset is the project's, and stderr says so once; one with an offset needs no note."""
    said = terminal(*OPEN, "--occurred", "2026-11-20 10:10", "--detected", "2026-11-20 11:00")
    assert said.code == 0
    assert said.err == "note: times without an offset are interpreted in Asia/Tokyo, the time zone of the project\n"
    assert terminal.json("incident", "show", "1")["occurred_at"] == "2026-11-20T01:10:00+00:00"
    assert "offset" not in terminal(*OPEN, *OCCURRED).err


def test_the_same_report_twice_is_one_incident(terminal: Terminal) -> None:
    """A report that was sent twice is one incident, also when it was resolved in between."""
    again = (*OPEN, *OCCURRED, "--detected", "2h ago")
    assert terminal.json(*again)["id"] == 1
    said = terminal(*again)
    assert said.code == 0
    assert "already logged as incident #1" in said.err
    terminal.json("incident", "resolve", "1", "--as", "fixed")
    assert terminal.json(*again)["state"] == "resolved"
    assert len(terminal.json("incident", "list")["incidents"]) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--occurred", "2026-11-21T10:10+09:00"), "incident.impossible_order", "occurred 2026-11-21 10:10:00+09:00"),
        (("--detected", "2026-11-20T19:00+09:00"), "incident.impossible_order", "is after now"),
        ((*OCCURRED, "--detected", "9h ago"), "incident.impossible_order", "is after detected"),
        (
            ("--detected", "2h ago", "--resolved", "3h ago", "--as", "fixed"),
            "incident.impossible_order",
            "is after resolved",
        ),
        (("--resolved", "1h ago", "--as", "fixed"), "usage", "--resolved needs --detected"),
        (("--detected", "2h ago", "--resolved", "1h ago"), "usage", "--resolved and --as go together"),
        (("--as", "fixed"), "usage", "--resolved and --as go together"),
        (("--cause", "x"), "usage", "--cause goes with --resolved"),
        (("--occurred", "yesterday"), "time.unreadable", "--occurred: 'yesterday' is not a valid time"),
        (("--occurred", "2026-11-19"), "time.unreadable", "expected a date and time"),
        (("--by", " "), "usage", "--by is empty"),
    ],
)
def test_what_cannot_be_is_refused_by_name(terminal: Terminal, words: tuple[str, ...], code: str, said: str) -> None:
    """Times that cannot follow one another, or options that do not go together, are refused and nothing is written."""
    (error,) = terminal.refused(*OPEN, *words)
    assert error["code"] == code
    assert said in error["message"]
    assert terminal.json("incident", "list")["incidents"] == []


def test_a_title_of_nothing_is_refused(terminal: Terminal) -> None:
    """A title says something; control signs say nothing, and never reach a terminal."""
    (error,) = terminal.refused("incident", "open", "--table", "orders", "--title", " \x1b ")
    assert error["message"] == "--title: expected a text that is not empty"
    terminal.json("incident", "open", "--table", "orders", "--title", "\x1b[31mred\x07 {no} place\n[b]売上[/b]")
    said = terminal("incident", "show", "1")
    assert "#1  orders  [31mred {no} place [b]売上[/b]  OPEN  error" in said.out
    assert "\x1b" not in said.out


def test_a_table_that_is_not_configured_needs_a_word(terminal: Terminal) -> None:
    """An unknown table is a typing error with a proposal, unless --any-table says that it is meant."""
    (error,) = terminal.refused("incident", "open", "--table", "order", "--title", "x")
    assert (error["code"], error["hint"]) == ("table.unknown", "did you mean 'orders'?")
    (error,) = terminal.refused("incident", "open", "--table", "zzz", "--title", "x")
    assert error["hint"] == "known: orders, refunds, totals; see 'tablewatch table list'"
    value = terminal.json("incident", "open", "--table", "old.orders", "--title", "x", "--any-table")
    assert (value["table"], value["owner"]) == ("old.orders", None)


def test_an_incident_through_its_life(terminal: Terminal) -> None:
    """Every verb changes the incident, adds to its history, and the verbs that are possible follow its state."""
    terminal.json(*OPEN, *OCCURRED)
    assert terminal.json("incident", "ack", "1")["state"] == "acknowledged"
    assert terminal.json("incident", "assign", "1", "s.sato")["assignee"] == "s.sato"
    assert terminal.json("incident", "snooze", "1", "--for", "2h")["snoozed_until"] == "2026-11-20T11:00:00+00:00"
    until = terminal.json("incident", "snooze", "1", "--until", "2026-11-21T09:00")
    assert until["snoozed_until"] == "2026-11-21T00:00:00+00:00"
    terminal.json("incident", "comment", "1", "the supplier changed the unit", "--by", "s.sato")
    with terminal.at(NOW + timedelta(hours=1)):
        value = terminal.json("incident", "resolve", "1", "--as", "fixed", "--cause", "unit of amounts")
    assert (value["state"], value["resolution"], value["cause"]) == ("resolved", "fixed", "unit of amounts")
    assert (value["snoozed_until"], value["ttr_h"]) == (None, 1.0)
    assert value["available"] == ["resolve", "reopen", "merge", "comment", "correct", "root"]
    with terminal.at(NOW + timedelta(hours=4)):
        value = terminal.json("incident", "reopen", "1", "--occurred", "1h ago")
    assert len(value["episodes"]) == 2
    assert value["downtime_h"] == pytest.approx(47 / 6 + 1 + 1)  # the two healthy hours are not counted
    kinds = ["opened", "acknowledged", "assigned", "snoozed", "snoozed", "commented", "resolved", "reopened"]
    assert [event["kind"] for event in value["events"]] == kinds
    assert value["events"][5] == {
        "recorded_at": NOW.isoformat(),
        "actor": "s.sato (OS user m.mori)",
        "kind": "commented",
        "change": {"text": "the supplier changed the unit", "kind": "commented"},
    }


def test_times_are_corrected_and_figures_with_them(terminal: Terminal) -> None:
    """A person puts times right; the figures follow, the history keeps what was said before."""
    terminal.json(*OPEN, *OCCURRED)
    value = terminal.json("incident", "correct", "1", "--occurred", "2026-11-20T12:00+09:00", "--detected", "1h ago")
    assert (value["occurred_at"], value["ttd_h"]) == ("2026-11-20T03:00:00+00:00", 5.0)
    (error,) = terminal.refused("incident", "correct", "1", "--occurred", "now", "--detected", "1h ago")
    assert error["code"] == "incident.impossible_order"
    (error,) = terminal.refused("incident", "correct", "1")
    assert "nothing to correct" in error["message"]
    (error,) = terminal.refused("incident", "correct", "1", "--resolved", "now")
    assert "has not ended" in error["message"]
    (error,) = terminal.refused("incident", "correct", "1", "--occurred", "5h ago", "--episode", "2")
    assert "has no episode" in error["message"]
    terminal.json("incident", "resolve", "1", "--as", "fixed")
    value = terminal.json("incident", "correct", "1", "--resolved", "30m ago", "--episode", "1")
    assert value["ttr_h"] == 0.5
    assert [event["kind"] for event in value["events"]] == ["opened", "corrected", "resolved", "corrected"]


def test_resolving_says_how(terminal: Terminal) -> None:
    """Resolving needs --as; resolving once more corrects how it ended and leaves when it ended."""
    terminal.json(*OPEN, *OCCURRED)
    (error,) = terminal.refused("incident", "resolve", "1")
    assert "--as" in error["message"]
    terminal.json("incident", "resolve", "1", "--as", "fixed", "--resolved", "now", "--cause", "unit")
    with terminal.at(NOW + timedelta(hours=5)):
        value = terminal.json("incident", "resolve", "1", "--as", "false-positive")
    assert (value["resolution"], value["resolved_at"], value["cause"]) == ("false-positive", NOW.isoformat(), "unit")
    assert (value["counts"], value["downtime_h"], value["cost"]["amount"]) == (False, 0.0, 0)
    assert "not counted as downtime: false-positive" in terminal("incident", "show", "1").out


def test_what_still_fails_is_not_over(terminal: Terminal) -> None:
    """An incident whose check still fails is resolved with --force only, and its own check resolves it otherwise."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check", "orders").code == 1
    (error,) = terminal.refused("incident", "resolve", "1", "--as", "fixed")
    assert (error["code"], "still fails" in error["message"]) == ("incident.not_allowed", True)
    assert error["hint"] == "--force does it anyway"
    with terminal.at(NOW + timedelta(minutes=5)):
        assert terminal.json("incident", "resolve", "1", "--as", "fixed", "--force")["state"] == "resolved"
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check", "orders")
        value = terminal.json("incident", "show", "1")
    assert (value["state"], value["regressed"], len(value["episodes"])) == ("open", True, 2)
    terminal.sql("DELETE FROM orders WHERE id = 3")
    with terminal.at(NOW + timedelta(hours=2)):
        terminal("check", "orders")
        assert terminal.json("incident", "resolve", "1", "--as", "fixed")["state"] == "resolved"


def test_a_check_that_cannot_be_evaluated_has_not_passed(terminal: Terminal) -> None:
    """A check that failed and then could not be evaluated still counts as failing."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check", "orders")
    terminal.sql("ALTER TABLE orders RENAME TO elsewhere")
    with terminal.at(NOW + timedelta(hours=1)):
        assert terminal("check", "orders").code == 3
        (error,) = terminal.refused("incident", "resolve", "1", "--as", "fixed")
    assert "still fails" in error["message"]


def test_duplicates_are_merged_and_causes_named(terminal: Terminal) -> None:
    """A duplicate ends without counting; a cause may be named and taken back, but nothing causes itself."""
    for title in ("a", "b", "c"):
        terminal.json("incident", "open", "--table", "refunds", "--title", title, *OCCURRED)
    value = terminal.json("incident", "merge", "2", "1")
    assert (value["state"], value["resolution"], value["merged_into"]) == ("resolved", "duplicate", 1)
    (error,) = terminal.refused("incident", "merge", "3", "2")
    assert "was itself merged into #1" in error["message"]
    assert terminal.json("incident", "root", "3", "1")["root"] == 1
    (error,) = terminal.refused("incident", "root", "1", "3")
    assert "#1 -> #3 -> #1" in error["message"]
    assert terminal.json("incident", "root", "3", "--none")["root"] is None
    (error,) = terminal.refused("incident", "root", "3")
    assert "use either CAUSE_ID or --none" in error["message"]


def test_a_merge_is_seen_from_both_sides_and_says_what_it_leaves_out(terminal: Terminal) -> None:
    """The one that goes on names its duplicates; time that only the duplicate covered is reported."""
    for occurred in ("5h ago", "2h ago"):
        terminal.json("incident", "open", "--table", "refunds", "--title", occurred, "--occurred", occurred)
    (error,) = terminal.refused("incident", "merge", "1", "one")
    assert "'one' is not a number such as 41" in error["message"]
    merged = terminal("incident", "merge", "#1", "#2")
    assert "3 h of #1 are not covered by #2 and are no longer counted" in merged.err
    assert terminal.json("incident", "show", "2")["duplicates"] == [1]
    assert "merged        #1" in terminal("incident", "show", "2").out


def test_a_merge_into_what_is_not_counted_needs_a_word(terminal: Terminal) -> None:
    """Downtime never vanishes into an incident that does not count: it is refused, or forced and said how much."""
    for title in ("a", "b"):
        terminal.json("incident", "open", "--table", "refunds", "--title", title, *OCCURRED)
    before = terminal.json("downtime")["downtime_h"]
    terminal.json("incident", "resolve", "2", "--as", "false-positive")
    one = terminal.json("downtime")["downtime_h"]
    assert one == before / 2
    (error,) = terminal.refused("incident", "merge", "1", "2")
    assert "#2 is not counted as downtime, since it ended as false-positive" in error["message"]
    merged = terminal("incident", "merge", "2", "1")
    assert (merged.code, merged.err) == (0, "")
    assert terminal.json("downtime")["downtime_h"] == one
    terminal.json("incident", "open", "--table", "refunds", "--title", "c", *OCCURRED)
    terminal.json("incident", "resolve", "3", "--as", "expected")
    forced = terminal("incident", "merge", "1", "3", "--force")
    assert "of #1 are not covered by #3 and are no longer counted" in forced.err
    assert terminal.json("downtime")["downtime_h"] is None or terminal.json("downtime")["downtime_h"] == 0


def test_who_noticed_is_told_of_each_episode(terminal: Terminal) -> None:
    """A person who reopens what a check found noticed the second episode, not the check."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check", "orders")
    terminal.json("incident", "resolve", "1", "--as", "fixed", "--force")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal.json("incident", "reopen", "1", "--by", "m.mori")
        lines = [line for line in terminal("incident", "show", "1").out.splitlines() if line.startswith("detected")]
    assert "by orders.not-null" in lines[0]
    assert "by m.mori" in lines[1]


def test_slips_of_the_hand_are_pointed_out(terminal: Terminal) -> None:
    """A wrong year and a second report of one thing are logged, with a word of doubt."""
    logged = terminal("incident", "open", "--table", "refunds", "--title", "x", "--occurred", "2025-11-20T10:00Z")
    assert "to correct it: tablewatch incident correct 1" in logged.err
    with terminal.at(NOW + timedelta(minutes=1)):
        again = terminal("incident", "open", "--table", "refunds", "--title", "x")
    assert "#1, still open, has the same title" in again.err
    assert "tablewatch incident merge 2 1" in again.err


def test_a_resolved_one_is_not_reopened_beside_an_open_one(terminal: Terminal) -> None:
    """Two open incidents of one check cannot be: the second is refused by the number of the first."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check", "orders")
    terminal.json("incident", "resolve", "1", "--as", "expected", "--force")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check", "orders")
        assert [one["id"] for one in terminal.json("incident", "list", "--state", "open")["incidents"]] == [2]
        (error,) = terminal.refused("incident", "reopen", "1")
    assert "while #2" in error["message"]


@pytest.mark.parametrize("verb", ["show", "ack", "comment"])
def test_an_unknown_number_is_refused(terminal: Terminal, verb: str) -> None:
    """A number that is not in the store is named; like a table that is not there it is exit code 5."""
    (error,) = terminal.refused("incident", verb, "99", *(["x"] if verb == "comment" else []), code=5)
    assert (error["code"], "#99" in error["message"]) == ("incident.not_found", True)


def test_verbs_that_do_not_fit_are_refused_with_those_that_do(terminal: Terminal) -> None:
    """A verb that does not fit the state is refused and the possible ones are named."""
    terminal.json(*OPEN)
    terminal.json("incident", "ack", "1")
    (error,) = terminal.refused("incident", "ack", "1")
    assert "is acknowledged: ack is not possible; possible: assign" in error["message"]
    (error,) = terminal.refused("incident", "snooze", "1", "--until", "1h ago")
    assert error["code"] == "incident.impossible_order"
    for words in ((), ("--for", "1h", "--until", "now")):
        (error,) = terminal.refused("incident", "snooze", "1", *words)
        assert "use either --for or --until" in error["message"]
    (error,) = terminal.refused("incident", "snooze", "1", "--for", "soon")
    assert "--for: expected a duration" in error["message"]


def _log(terminal: Terminal, table: str, title: str, *words: str) -> None:
    terminal.json("incident", "open", "--table", table, "--title", title, *words)


def test_the_list_is_filtered(terminal: Terminal) -> None:
    """Filters of different kinds narrow one another, the same filter given again adds; the newest come first."""
    _log(terminal, "orders", "old", "--detected", "20d ago", "--resolved", "19d ago", "--as", "fixed")
    _log(terminal, "refunds", "b", "--detected", "2h ago", "--severity", "critical")
    _log(terminal, "totals", "c", "--detected", "1h ago", "--severity", "info")
    _log(terminal, "orders", "d", "--detected", "30m ago")

    def titles(*words: str) -> list[str]:
        return [one["title"] for one in terminal.json("incident", "list", *words)["incidents"]]

    assert titles() == ["d", "c", "b", "old"]
    assert titles("--state", "open") == ["d", "c", "b"]
    assert titles("--state", "open", "--state", "resolved", "--table", "orders") == ["d", "old"]
    assert titles("--owner", "crew") == ["d", "old"]
    assert titles("--owner", "crew", "--table", "refunds") == []
    assert titles("--owner", "desk", "--severity", "critical", "--severity", "info") == ["b"]
    assert titles("--since", "7d") == ["d", "c", "b"]
    assert titles("--since", "2026-11-01") == ["d", "c", "b", "old"]
    assert titles("--since", "2026-11-02") == ["d", "c", "b"]
    value = terminal.json("incident", "list", "--limit", "2")
    assert (value["schema"], value["more"], len(value["incidents"])) == ("tablewatch.incidents/1", True, 2)
    assert _keys(value["incidents"][0]) < _keys(terminal.json("incident", "show", "4"))
    (error,) = terminal.refused("incident", "list", "--owner", "crw")
    assert error["hint"] == "did you mean 'crew'?"


def test_the_list_for_a_person(terminal: Terminal) -> None:
    """The list says in words where each incident stands, one line each in a pipe, in any script."""
    assert terminal("incident", "list").out == "no incidents\n"
    _log(terminal, "orders", "金額が百倍になっている 🎉" * 6)
    _log(terminal, "refunds", "b", "--detected", "2h ago", "--resolved", "1h ago", "--as", "expected")
    said = terminal("incident", "list", "--limit", "1")
    assert said.err == "note: there are more than 1; see --limit\n"
    lines = terminal("incident", "list").out.splitlines()
    assert lines[0].split() == ["#", "table", "severity", "state", "detected", "downtime", "what"]
    assert "expected" in lines[-1]
    assert "not counted" in lines[-1]
    assert (len(lines), lines[-2].count("百倍")) == (3, 6)


def test_show_tells_the_story(terminal: Terminal) -> None:
    """`show` tells the times and how they are known, the lengths, the cost, the history and what is possible."""
    terminal.json(*OPEN, *OCCURRED)
    with terminal.at(NOW + timedelta(minutes=42)):
        terminal.json("incident", "resolve", "1", "--as", "fixed", "--cause", "unit", "--by", "s.sato")
        said = terminal("incident", "show", "1").out
    assert said.splitlines() == [
        "#1  orders  amounts x100  RESOLVED (fixed)  error",
        "occurred      Fri 2026-11-20 10:10  reported by a person",
        "detected      Fri 2026-11-20 18:00  by a person  TTD 7 h 50 min",
        "resolved      Fri 2026-11-20 18:42  TTR 42 min",
        "total         downtime 8 h 32 min  cost JPY 870,400 (JPY 102,000 an hour)",
        "owner         crew",
        "cause         unit",
        "note          no check detected this; adding one reduces TTD",
        "history (Asia/Tokyo)",
        "  Fri 2026-11-20 18:00  opened, error, by m.mori",
        "  Fri 2026-11-20 18:42  resolved as fixed at Fri 2026-11-20 18:42, cause: unit, by s.sato (OS user m.mori)",
        "now           resolve, reopen, merge, comment, correct, root",
    ]


def test_show_tells_what_a_check_found(terminal: Terminal) -> None:
    """An incident of a check shows between which runs the data went bad, and every kind of event has its words."""
    terminal("check", "orders")
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check", "orders")
        for words in (("ack", "1"), ("snooze", "1", "--for", "1h"), ("assign", "1", "me"), ("comment", "1", "hm")):
            terminal.json("incident", *words)
        _log(terminal, "refunds", "late")
        terminal.json("incident", "root", "1", "2")
        said = terminal("incident", "show", "1").out
    assert "between Fri 2026-11-20 18:00 and Fri 2026-11-20 19:00" in said
    assert "by orders.not-null  TTD 1 h" in said
    for words in (
        "acknowledged",
        "snoozed until",
        "assigned to me",
        "comment: hm",
        "caused by #2",
        "assigned      to me",
    ):
        assert words in said


def test_options_have_environment_twins(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option can be given as TABLEWATCH_<COMMAND>_<OPTION>, also one whose name is a word of Python."""
    monkeypatch.setenv("TABLEWATCH_INCIDENT_OPEN_TABLE", "orders")
    monkeypatch.setenv("TABLEWATCH_INCIDENT_OPEN_TITLE", "x")
    monkeypatch.setenv("TABLEWATCH_INCIDENT_RESOLVE_AS", "expected")
    assert terminal.json("incident", "open")["title"] == "x"
    assert terminal.json("incident", "resolve", "1")["resolution"] == "expected"


def test_a_store_that_cannot_be_read_is_no_answer(terminal: Terminal) -> None:
    """A damaged store leaves with 3 and is left as it was."""
    store = terminal.folder / "store.db"
    store.write_bytes(b"no database at all, but long enough to be looked at" * 40)
    before = store.read_bytes()
    (error,) = terminal.refused("incident", "list", code=3)
    assert error["code"] == "store"
    assert store.read_bytes() == before


def test_who_corrects_an_end_sees_whose_it_was(terminal: Terminal) -> None:
    """Resolving what another user resolved a moment ago shows both ends, so that neither is overwritten unseen."""
    terminal.json("incident", "open", "--table", "orders", "--title", "x")
    assert terminal("incident", "resolve", "1", "--as", "fixed", "--by", "ann").out.count("resolved as") == 1
    ends = terminal("incident", "resolve", "1", "--as", "expected", "--by", "bob").out
    assert ends.index("resolved as fixed") < ends.index("by ann") < ends.index("by bob")


def test_the_rows_are_selected(terminal: Terminal) -> None:
    """The SELECT of an incident names columns and no value; where no row alone breaks a check, that is said."""
    terminal.sql("INSERT INTO orders VALUES (2, NULL)")
    sqls = terminal("check", "--show-sql", "--show-rows", "5")
    number = next(
        one["incident"] for one in terminal("check", "--format", "json").json["results"] if one["type"] == "not_null"
    )
    selected = terminal("incident", "show", str(number), "--sql")
    assert 'WHERE "t0"."customer" IS NULL' in selected.out
    assert selected.out.strip() in sqls.out
    assert "bob" not in sqls.out
    assert "rows are not shown" in sqls.err
    assert terminal.json("incident", "show", str(number), "--sql")["sql"] == selected.out.strip()
    logged = terminal.json(*OPEN, *OCCURRED)["id"]
    refused = terminal("incident", "show", str(logged), "--sql")
    assert (refused.code, "no rows to list" in refused.err) == (3, True)
