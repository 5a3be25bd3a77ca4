"""`tablewatch downtime`: figures of a window, and the estimate before there are any."""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from monitor.cli import run
from monitor.commands.downtime import GroupedBy
from monitor.summaries.grouping import GROUPINGS
from monitor.terminal.output import Invocation
from tests.monitor.commands.terminal import NOW, Terminal

# FIGURES.md section 1: occurred, detected, resolved; C is not yet known at the end of January, D is still open
JANUARY = """\
table,title,occurred,detected,resolved
orders,A1,2026-01-05T00:00Z,2026-01-05T04:00Z,2026-01-05T13:00Z
orders,A2,2026-01-05T10:00Z,2026-01-05T12:00Z,2026-01-05T20:00Z
refunds,B,2026-01-05T06:00Z,2026-01-05T07:00Z,2026-01-05T09:00Z
totals,C,2026-01-31T20:00Z,2026-02-01T02:00Z,2026-02-01T08:00Z
refunds,D,2026-01-20T00:00Z,2026-01-20T06:00Z,
"""
WINDOW = ("--from", "2026-01-01T00:00Z", "--to", "2026-02-01T00:00Z")
AS_OF = ("--as-of", "2026-02-01T00:00Z")
D_HOURS = 12 * 24.0


@pytest.fixture
def january(terminal: Terminal) -> Terminal:
    """Return a terminal with the incidents of January in its store."""
    (terminal.folder / "january.csv").write_text(JANUARY, encoding="utf-8")
    terminal.json("import", "incidents", "january.csv", "--set", "severity=critical")
    return terminal


def _by(value: Any, figure: str) -> dict[str | None, Any]:
    return {row["key"]: row[figure] for row in value["by"]}


def test_time_to_acknowledge_stands_beside_the_other_two(terminal: Terminal) -> None:
    """It has a line once an incident was acknowledged; those resolved without that are counted apart."""
    detected = ("--occurred", "3h ago", "--detected", "2h ago")
    for table in ("orders", "refunds"):
        terminal.json("incident", "open", "--table", table, "--title", "x", *detected)
    terminal.json("incident", "resolve", "2", "--as", "fixed")
    assert "TTA" not in terminal("downtime").out
    terminal.json("incident", "ack", "1")
    with terminal.at(NOW + timedelta(hours=1)):
        value, text = terminal.json("downtime"), terminal("downtime").out
    assert (value["n_acknowledged"], value["n_unacknowledged"]) == (1, 1)
    assert value["tta_h"] == {"min": 2.0, "mean": 2.0, "median": 2.0, "p90": 2.0, "max": 2.0}
    assert re.search("TTA, time to acknowledge( +2 h){5}\n", text)


def test_a_time_that_no_incident_has_yet_has_no_row(terminal: Terminal) -> None:
    """An incident that is open and not acknowledged has a time to detection alone."""
    terminal.json("incident", "open", "--table", "orders", "--title", "late", "--occurred", "2026-11-20T10:10+09:00")
    out = terminal("downtime").out
    assert "TTD, time to detection" in out
    assert "TTA" not in out
    assert "TTR" not in out


def test_the_published_shape(january: Terminal) -> None:
    """The JSON has the keys of DESIGN.md section 9, and those figures that section 1 of FIGURES.md says."""
    value = january.json("downtime", *WINDOW, *AS_OF)
    assert value["schema"] == "tablewatch.downtime/1"
    assert (value["from"], value["to"], value["as_of"]) == (
        "2026-01-01T00:00:00+00:00",
        "2026-02-01T00:00:00+00:00",
        "2026-02-01T00:00:00+00:00",
    )
    assert (value["n"], value["n_occurred"]) == (4, 4)  # C is not known yet
    assert value["undetected_h"] == 4 + 2 + 1 + 6
    assert value["repair_h"] == 9 + 8 + 2 + D_HOURS - 6
    assert value["downtime_h"] == value["downtime_h_low"] == value["downtime_h_high"] == 26 + D_HOURS
    assert value["ttd_h"] == {
        "min": 1.0,
        "mean": 3.25,
        "median": 3.0,
        "p90": pytest.approx(5.4),
        "max": 6.0,
    }
    assert value["ttr_h"] == {
        "min": 2.0,
        "mean": pytest.approx(19 / 3),
        "median": 8.0,
        "p90": pytest.approx(8.8),
        "max": 9.0,
    }
    assert value["table_hours"] == 20 + 3 + D_HOURS  # A1 and A2 overlap
    assert value["open"] == [
        {
            "id": 5,
            "table": "refunds",
            "occurred_at": "2026-01-20T00:00:00+00:00",
            "detected_at": "2026-01-20T06:00:00+00:00",
            "age_h": D_HOURS,
        }
    ]
    assert value["cost"] == {
        "amount": 102_000 * 23 + 14_000 * 3 + 14_000 * 288,
        "table_hours_amount": 102_000 * 20 + 14_000 * 291,
        "currency": "JPY",
    }
    assert isinstance(value["cost"]["amount"], int)
    assert value["by"][0] == {
        "key": "refunds",
        "n": 2,
        "n_occurred": 2,
        "undetected_h": 7.0,
        "repair_h": 284.0,
        "downtime_h": 291.0,
        "downtime_h_low": 291.0,
        "downtime_h_high": 291.0,
        "table_hours": 291.0,
        "cost": 4_074_000,
    }
    assert (value["lever"], value["found_by_person"], value["unobserved_h"]) == ("repair", 4, 0.0)


def test_what_is_known_later_belongs_to_its_time(january: Terminal) -> None:
    """As of now C is part of January, and what was open then is still counted to the end of the window only."""
    value = january.json("downtime", *WINDOW)
    assert (value["n"], value["n_occurred"]) == (5, 5)
    assert value["undetected_h"] == 13 + 4
    assert value["downtime_h"] == 26 + D_HOURS + 4
    february = january.json("downtime", "--from", "2026-02-01T00:00Z", "--to", "2026-03-01T00:00Z", "--by", "table")
    assert (february["n"], february["n_occurred"]) == (2, 0)
    assert _by(february, "downtime_h") == {"refunds": 28 * 24.0, "totals": 8.0}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("table", {"refunds": 291.0, "orders": 23.0, "totals": 4.0}),
        ("owner", {"desk": 291.0, "crew": 23.0, None: 4.0}),
        ("root-owner", {"desk": 291.0, "crew": 23.0, None: 4.0}),
        ("domain", {None: 295.0, "sales": 23.0}),
        ("check", {None: 318.0}),
        ("severity", {"critical": 318.0}),
    ],
)
def test_downtime_is_split_up(january: Terminal, by: str, expected: dict[str | None, float]) -> None:
    """The parts of any grouping add up to the whole; those without owner stand under null; the costliest come first."""
    value = january.json("downtime", *WINDOW, "--by", by)
    assert value["grouped_by"] == by
    assert _by(value, "downtime_h") == expected
    assert sum(expected.values()) == value["downtime_h"]
    costs = [row["cost"] for row in value["by"]]
    assert costs == sorted(costs, reverse=True)


def test_the_options_know_every_grouping() -> None:
    """`--by` takes each grouping there is, and days."""
    assert [one.value for one in GroupedBy if one is not GroupedBy.DAY] == [
        "table",
        "domain",
        "owner",
        "check",
        "severity",
        "cause",
        "root-owner",
    ]
    assert {one.value for one in GroupedBy} == {*GROUPINGS, "day"}


def test_downtime_goes_to_who_must_repair_the_cause(january: Terminal) -> None:
    """With a root incident named, downtime is shown under the owner of the root by root-owner, not by owner."""
    january.json("incident", "root", "5", "1")  # D on refunds was caused by A1 on orders
    assert _by(january.json("downtime", *WINDOW, "--by", "root-owner"), "downtime_h")["crew"] == 23.0 + D_HOURS
    assert _by(january.json("downtime", *WINDOW, "--by", "owner"), "downtime_h")["crew"] == 23.0


def test_days_are_those_of_the_project(january: Terminal) -> None:
    """By day every day of the window has a row, the days are the project's, and their hours add up."""
    value = january.json("downtime", *WINDOW, *AS_OF, "--by", "day")
    keys = [row["key"] for row in value["by"]]
    assert (keys[0], keys[-1], len(keys)) == ("2026-01-01", "2026-02-01", 32)  # the window begins at 09:00 in Tokyo
    assert all(before < after for before, after in pairwise(keys))
    assert _by(value, "downtime_h")["2026-01-05"] == 13 + 5 + 3  # A1, A2 to midnight in Tokyo, B
    assert sum(row["downtime_h"] for row in value["by"]) == pytest.approx(value["downtime_h"])
    drawn = january("downtime", *WINDOW, *AS_OF, "--by", "day").out
    rows = [match[1] for line in drawn.splitlines() if (match := re.fullmatch(r"\S+ +([.!#?m_-]{32}) *", line))]
    assert {sign for signs in rows for sign in signs} >= {"!", "-"}
    assert "! bad, before detection  # bad, after detection  ? unknown  - not monitored" in drawn


def test_without_incidents_there_is_nothing_to_divide(terminal: Terminal) -> None:
    """A window without incidents has no statistics (null) and no downtime (0); the default window is 28 days to now."""
    with terminal.at(NOW - timedelta(days=40)):
        terminal("check")
    value = terminal.json("downtime")
    assert datetime.fromisoformat(value["to"]) == datetime.fromisoformat(value["as_of"]) == NOW
    assert datetime.fromisoformat(value["from"]) == NOW - timedelta(days=28)
    assert (value["n"], value["downtime_h"], value["cost"]["amount"], value["lever"]) == (0, 0.0, 0, None)
    assert set(value["ttd_h"].values()) == set(value["ttr_h"].values()) == {None}
    assert (value["by"], value["open"]) == ([], [])
    assert "0 min in 0 incidents, JPY 0" in terminal("downtime").out


FIGURES = ("n", "n_occurred", "undetected_h", "repair_h", "downtime_h", "downtime_h_low", "downtime_h_high")


def _all_null(value: Any) -> bool:
    known = [*(value[name] for name in (*FIGURES, "table_hours", "unobserved_h", "unpriced_h"))]
    known += [value["cost"]["amount"], value["cost"]["table_hours_amount"], *value["ttd_h"].values()]
    return set(known) == {None}


def test_before_any_check_nothing_is_known(terminal: Terminal) -> None:
    """Of a time before the first check figures are null, not nothing, and it says since when there are some."""
    said = terminal("downtime", "--format", "json")
    assert _all_null(said.json)
    assert said.json["watched_since"] is None
    assert "no check has run yet with the store" in said.err
    assert "monitoring had not started; no check had run by then" in terminal("downtime").out
    terminal("check", "orders")
    with terminal.at(NOW + timedelta(hours=2)):
        value = terminal.json("downtime", "--from", "2026-08-01", "--to", "2026-08-02", "--by", "day")
        assert _all_null(value)
        assert {row["downtime_h"] for row in value["by"]} == {None}
        assert datetime.fromisoformat(value["watched_since"]) == NOW
        page = terminal("downtime", "--from", "2026-08-01", "--to", "2026-08-02", "--by", "day").out
    assert "monitoring had not started; the first check ran on Fri 2026-11-20 18:00" in page
    assert "0 min" not in page
    assert "JPY 0" not in page


def test_a_window_in_part_before_monitoring_says_so(terminal: Terminal) -> None:
    """A fresh project says since when it watches, which tables came later, and which are not watched yet."""
    terminal("check", "orders")
    with terminal.at(NOW + timedelta(hours=2)):
        page = terminal("downtime", "--by", "day").out
        value = terminal.json("downtime", "--by", "day")
    assert "0 min in 0 incidents, JPY 0" in page
    assert "monitored     since Fri 2026-11-20 18:00; before that, only reported incidents" in page
    assert "not monitored refunds; no check had run by then" in page
    assert (value["n"], value["downtime_h"]) == (0, 0.0)
    assert [row["downtime_h"] for row in value["by"]] == [None] * 28 + [0.0]
    with terminal.at(NOW + timedelta(hours=3)):
        terminal("check", "refunds")
    with terminal.at(NOW + timedelta(hours=4)):
        page = terminal("downtime", "--from", "2h").out
        earlier = terminal("downtime", "--from", "3h", "--as-of", "2h ago").out
    assert "monitored     for part of this period only: refunds" in page
    assert "not monitored refunds" in earlier


def test_what_was_reported_before_monitoring_counts(terminal: Terminal) -> None:
    """An incident that a person logged in a time before any check is counted, and said to be all that is known."""
    times = ("--occurred", "2026-08-01 01:00", "--detected", "2026-08-01 03:00", "--resolved", "2026-08-01 04:00")
    terminal.json("incident", "open", "--table", "orders", "--title", "a", *times, "--as", "fixed")
    words = ("downtime", "--from", "2026-08-01", "--to", "2026-08-03", "--by", "day")
    value = terminal.json(*words)
    assert (value["n"], value["downtime_h"], value["cost"]["amount"]) == (1, 3.0, 306_000)
    assert [row["downtime_h"] for row in value["by"]] == [3.0, 0.0]  # no check ever ran: what people report is all
    terminal("check")
    with terminal.at(NOW + timedelta(hours=1)):
        value = terminal.json(*words)
    assert [row["downtime_h"] for row in value["by"]] == [3.0, None]  # since then it is known that it was unobserved
    assert "monitored     no checks ran in this period; these incidents were reported" in terminal(*words).out


def test_an_incident_without_length_is_counted_where_it_occurred(terminal: Terminal) -> None:
    """A window whose only incident ended as it began is known, also by table."""
    at = "2026-08-01 01:00"
    times = ("--occurred", at, "--detected", at, "--resolved", at)
    terminal.json("incident", "open", "--table", "orders", "--title", "a", *times, "--as", "fixed")
    value = terminal.json("downtime", "--from", "2026-08-01", "--to", "2026-08-03", "--by", "table")
    assert (value["n"], value["n_occurred"], value["downtime_h"]) == (0, 1, 0.0)
    assert _by(value, "n_occurred") == {"orders": 1}


def test_where_nothing_could_be_evaluated_nothing_is_known(terminal: Terminal) -> None:
    """Checks that ran and saw nothing make no figure known; an incident that does not count changes nothing of that."""
    terminal.sql("DROP TABLE orders; DROP TABLE refunds")
    terminal("check")
    times = ("--occurred", "3h ago", "--detected", "2h ago", "--resolved", "1h ago")
    terminal.json("incident", "open", "--table", "orders", "--title", "a", *times, "--as", "false-positive")
    with terminal.at(NOW + timedelta(days=1)):
        value = terminal.json("downtime", "--by", "day")
        page = terminal("downtime").out
        assert _all_null(value)
        assert value["excluded"]["false-positive"] == {"n": 1, "hours": 2.0}
        assert {row["downtime_h"] for row in value["by"]} == {None}
        assert "no check was evaluated in this period, so downtime is unknown" in page
        assert "not counted   false-positive 1 incident, 2 h" in page
        terminal.json("incident", "open", "--table", "orders", "--title", "b", *times, "--as", "fixed")
        page = terminal("downtime").out
    assert "2 h in 1 incident" in page
    assert "monitored     no check was evaluated in this period; these incidents are recorded" in page


def test_what_is_no_longer_kept_is_not_called_nothing(terminal: Terminal) -> None:
    """A window older than incidents are kept is not called one without incidents."""
    storage = 'storage: {url: "sqlite:///store.db"'
    terminal.configure(**{storage: f"{storage}, keep_incidents: 10d"})
    with terminal.at(NOW - timedelta(days=40)):
        terminal("check")
    words = ("downtime", "--from", "2026-11-01", "--to", "2026-11-05")
    assert _all_null(terminal.json(*words))
    assert "incidents of this period are past retention" in terminal(*words).out
    page = terminal("downtime", "--from", "2026-11-01").out
    assert "0 min in 0 incidents" in page
    assert "kept          incidents resolved before Tue 2026-11-10 18:00 may be past retention" in page


def test_without_rates_there_is_no_price(terminal: Terminal) -> None:
    """Where no rate is configured, costs are null, which is not nothing."""
    rates = "  tiers: {gold: {per_hour: 100000}, silver: {per_hour: 12000}}\n"
    roles = "  roles: [{role: engineer, headcount: 2, hourly: 4000, share: 0.25}]\n"
    terminal.configure(**{rates: "", roles: ""})
    terminal.json("incident", "open", "--table", "orders", "--title", "x", "--occurred", "2h ago")
    value = terminal.json("downtime")
    assert value["cost"] == {"amount": None, "table_hours_amount": None, "currency": "JPY"}
    assert (value["by"][0]["cost"], value["unpriced_h"]) == (None, None)
    assert "JPY" not in terminal("downtime").out
    assert terminal.json("table", "show", "orders")["downtime"]["to_date"]["cost"] is None


def test_a_weekend_costs_what_business_hours_say(terminal: Terminal) -> None:
    """From Friday 18:00 to Monday 10:00 at 12,000 with 0.2 outside 09-19 costs 172,800, in the project's zone."""
    hours = '  business_hours: {days: mon-fri, start: "09:00", end: "19:00", outside_factor: 0.2}\n'
    tiers = "  tiers: {gold: {per_hour: 100000}, silver: {per_hour: 12000}}\n"
    roles = "  roles: [{role: engineer, headcount: 2, hourly: 4000, share: 0.25}]\n"
    terminal.configure(**{tiers: tiers + hours, roles: ""})
    times = ("--occurred", "2026-11-13 18:00", "--detected", "2026-11-13 18:00", "--resolved", "2026-11-16 10:00")
    terminal.json("incident", "open", "--table", "refunds", "--title", "x", *times, "--as", "fixed")
    assert terminal.json("downtime")["cost"]["amount"] == 172_800
    assert "(JPY 12,000 an hour, business hours)" in terminal("incident", "show", "1").out


def test_planned_work_and_false_alarms_are_printed_not_counted(terminal: Terminal) -> None:
    """Planned work is taken out, resolutions that are no downtime are left out, and both hours are shown."""
    work = '{domains: [sales], start: "2026-11-10T00:00", end: "2026-11-10T02:00", reason: move}'
    terminal.configure(**{"tables:\n": f"maintenance: [{work}]\ntables:\n"})
    times = ("--occurred", "2026-11-10 01:00", "--detected", "2026-11-10 03:00", "--resolved", "2026-11-10 04:00")
    terminal.json("incident", "open", "--table", "orders", "--title", "a", *times, "--as", "fixed")
    terminal.json("incident", "open", "--table", "refunds", "--title", "b", *times, "--as", "expected")
    value = terminal.json("downtime")
    assert (value["n"], value["undetected_h"], value["repair_h"]) == (1, 1.0, 1.0)
    assert value["excluded"]["expected"] == {"n": 1, "hours": 3.0}
    assert value["excluded"]["maintenance"] == {"n": 1, "hours": 1.0}
    assert value["excluded"]["duplicate"] == {"n": 0, "hours": 0.0}
    assert value["cost"]["amount"] == 204_000
    said = terminal("downtime").out
    assert "not counted   maintenance 1 incident, 1 h; expected 1 incident, 3 h" in said


def test_time_in_which_nobody_looked_is_shown(terminal: Terminal) -> None:
    """A scheduled check that is overdue, and one that could not be evaluated, leave their table unobserved."""
    schedule = "    domain: sales\n"
    terminal.configure(**{schedule: f"{schedule}    schedule: every 1h\n"})
    terminal("check", "orders", "refunds")
    terminal.sql("ALTER TABLE refunds RENAME TO elsewhere")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check", "refunds")
    with terminal.at(NOW + timedelta(hours=5)):
        value = terminal.json("downtime", "--from", "5h")
        said = terminal("downtime", "--from", "5h").out
        earlier = terminal.json("downtime", "--from", "5h", "--as-of", "2h ago")
    assert value["unobserved_h"] == 4.0 + 4.0  # orders overdue after an hour, refunds unknown since then
    assert earlier["unobserved_h"] == 2.0 + 2.0
    assert "not observed  8 h: orders 4 h, refunds 4 h" in said


def test_the_lever_is_named_only_when_low_and_high_agree(terminal: Terminal) -> None:
    """Where it depends on when exactly the data went bad, no lever is named and the range is shown."""
    terminal("check", "orders")
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    with terminal.at(NOW + timedelta(hours=10)):
        terminal("check", "orders")
    with terminal.at(NOW + timedelta(hours=12)):
        terminal.json("incident", "resolve", "1", "--as", "fixed", "--force")
        value = terminal.json("downtime")
        said = terminal("downtime").out
    assert (value["downtime_h_low"], value["downtime_h_high"], value["lever"]) == (2.0, 12.0, None)
    assert "range         2 h to 12 h, depending on the actual start of the problems" in said
    assert "Notice sooner" not in said
    assert "Repair faster" not in said
    assert "depends on the actual start of the problem" in said


def test_the_page_for_a_person(january: Terminal) -> None:
    """A person reads the figures, what would help most, what is open and what was costly."""
    heaviest = "incident 5 accounts for 63% of the cost, and 98% of its duration came after detection."
    lines = [line.rstrip() for line in january("downtime", *WINDOW, *AS_OF).out.splitlines()]
    assert lines == [
        "data downtime  Thu 2026-01-01 09:00 to Sun 2026-02-01 09:00 (Asia/Tokyo)",
        "314 h in 4 incidents, JPY 6,420,000",
        "undetected    13 h  4.1%",
        "repair        301 h  96%",
        "table hours   311 h, JPY 6,114,000, overlapping incidents counted once",
        "monitored     no checks ran in this period; these incidents were reported",
        "",
        "of an incident           min        mean  median         p90  max",
        "TTD, time to detection   1 h  3 h 15 min     3 h  5 h 24 min  6 h",
        "TTR, time to resolution  2 h  6 h 20 min     8 h  8 h 48 min  9 h",
        "",
        "table    incidents  undetected  repair  downtime  table hours           cost",
        "refunds          2         7 h   284 h     291 h        291 h  JPY 4,074,000",
        "orders           2         6 h    17 h      23 h         20 h  JPY 2,346,000",
        "",
        f"reading       Reduce time to resolution on refunds: {heaviest}",
        "              Across all incidents, 96% of the downtime came after detection.",
        "              4 of 4 incidents were reported by people: no check covers them yet.",
        "highest cost  refunds 63%, orders 37% of JPY 6,420,000",
        "open          #5 refunds since Tue 2026-01-20 09:00, 288 h",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "2026-11-02", "--to", "2026-11-01"), "--from must be before --to"),
        (("--from", "2026-11-01", "--to", "2026-11-01"), "--from must be before --to"),
        (("--as-of", "2026-11-21"), "--as-of is in the future"),
        (("--from", "2020-01-01", "--by", "day"), "--by day takes at most 400 days"),
        (("--from", "last week"), "--from: 'last week' is not a valid time"),
    ],
)
def test_windows_that_cannot_be_are_refused(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    """A window that ends before it begins, and a knowledge of the future, are refused."""
    (error,) = terminal.refused("downtime", *words)
    assert said in error["message"]


def test_a_window_may_reach_into_the_future(terminal: Terminal) -> None:
    """Of a window that is not over, what is known so far is shown."""
    terminal.json("incident", "open", "--table", "orders", "--title", "x", "--occurred", "2h ago")
    value = terminal.json("downtime", "--from", "2026-11-16", "--to", "2026-11-23", "--by", "day")
    assert value["downtime_h"] == 2.0
    assert value["by"][-1]["key"] == "2026-11-20"
    assert "as of Fri 2026-11-20 18:00" in terminal("downtime", "--from", "2026-11-16", "--to", "2026-11-23").out


def test_a_window_of_the_future_is_said_to_be_empty_yet(terminal: Terminal) -> None:
    """Nothing found is not the same as nothing known."""
    assert "it has no data yet" in terminal("downtime", "--from", "2026-12-01", "--to", "2026-12-08").err


def test_what_no_check_found_was_found_by_a_person(terminal: Terminal) -> None:
    """By check, the incidents that people reported have a line of their own."""
    terminal.json("incident", "open", "--table", "orders", "--title", "x", "--occurred", "2h ago")
    assert "(reported by a person)" in terminal("downtime", "--by", "check").out


# --- estimate ---------------------------------------------------------------------------------------------------------

ROLES = ("--role", "engineer:2:4000:0.25", "--role", "analyst:10:5000:0.2")
ARTICLE = ("--tables", "1000", "--incidents-per-table-year", "1/15", "--ttd", "4h", "--ttr", "9h", *ROLES)


def _estimate(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(["downtime", "estimate", *words], Invocation())
    return code, capsys.readouterr().out


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder without a configuration."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("nowhere")
def test_the_planning_figure_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    """The article's example: 866.67 hours, 10,400,000 JPY (never 10,404,000), 2,080,000 saved; no config is needed."""
    code, out = _estimate(capsys, *ARTICLE, "--improve", "20%", "--format", "json")
    assert code == 0
    assert json.loads(out) == {
        "schema": "tablewatch.estimate/1",
        "incidents": pytest.approx(1000 / 15),
        "downtime_h": pytest.approx(13000 / 15),
        "hourly_cost": 12_000,
        "annual_cost": 10_400_000,
        "saving": 2_080_000,
        "currency": "JPY",
        "lever": "repair",
    }


@pytest.mark.usefixtures("nowhere")
def test_the_planning_figure_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """Hours are rounded to be read only: 867 hours still cost 10,400,000."""
    code, out = _estimate(capsys, *ARTICLE, "--improve", "1/5")
    assert code == 0
    assert out.splitlines() == [
        "incidents      66.7 a year on 1,000 tables",
        "each           4 h time to detection + 9 h time to resolution",
        "downtime       867 h a year",
        "an hour costs  JPY 12,000",
        "a year costs   JPY 10,400,000",
        "saving         JPY 2,080,000 a year, with 20% less downtime",
        "reading        Resolve faster: 69% of the downtime came after detection.",
        "               Review alert routing, missing runbooks and pipelines that are slow to re-run.",
    ]


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("words", "figures"),
    [
        (("--tables", "15"), {"incidents": 1.0, "downtime_h": 13.0, "hourly_cost": 0, "saving": None}),
        (("--tables", "15", "--role", "engineer:1:4000:1/4"), {"hourly_cost": 1_000, "annual_cost": 13_000}),
        (("--tables", "15", "--role", "analysts:10:5000:100%"), {"hourly_cost": 50_000}),
        (("--tables", "15", "--loss-per-hour", "100000"), {"hourly_cost": 100_000, "annual_cost": 1_300_000}),
        (("--tables", "3", "--incidents-per-table-year", "1/3", "--ttd", "20m", "--ttr", "0s"), {"lever": "detect"}),
        (("--tables", "1", "--incidents-per-table-year", ".5", "--ttd", "1h", "--ttr", "1h"), {"downtime_h": 1.0}),
        (
            ("--tables", "15", "--loss-per-hour", "0.333", "--currency", "eur"),
            {"annual_cost": 4.33, "currency": "EUR"},
        ),
    ],
)
def test_other_planning_figures(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], figures: dict[str, Any]
) -> None:
    """Ratios may be fractions, percentages or decimals; money has the decimals of its currency."""
    code, out = _estimate(capsys, *words, "--format", "json")
    value = json.loads(out)
    assert code == 0
    assert {name: value[name] for name in figures} == figures


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--role", "engineer:2:4000"), "--role: expected NAME:HEADCOUNT:HOURLY:SHARE"),
        (("--role", "engineer:two:4000:0.2"), "--role engineer: expected a number"),
        (("--role", "engineer:2:4000:1.2"), "a share of the downtime from 0 to 1"),
        (("--incidents-per-table-year", "1/0"), "--incidents-per-table-year: expected a number"),
        (("--incidents-per-table-year", "-1"), "--incidents-per-table-year: expected a number"),
        (("--ttd", "4"), "--ttd: expected a duration"),
        (("--improve", "120%"), "at most 100%"),
        (("--currency", "Y"), "--currency: expected a code of three letters"),
        (("--tables", "0"), "--tables"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    """Numbers that cannot be read, or cannot be, are refused with the option that holds them."""
    code, out = _estimate(capsys, "--tables", "10", *words, "--format", "json")
    assert code == 2
    assert said in json.loads(out)["error"]


def test_the_clock_of_the_test_is_the_one_of_the_product(terminal: Terminal) -> None:
    """What is said to be now is the moment at which the terminal's clock stands."""
    with terminal.at(datetime(2026, 12, 1, tzinfo=UTC)):
        assert terminal.json("downtime")["as_of"] == "2026-12-01T00:00:00+00:00"


def test_an_estimate_is_in_the_currency_of_the_configuration(terminal: Terminal) -> None:
    """Without --currency the configuration's is used; without a configuration, or with a wrong one, yen."""
    terminal.configure(**{"currency: JPY": "currency: EUR"})
    assert terminal.json("downtime", "estimate", "--tables", "10")["currency"] == "EUR"
    assert terminal.json("downtime", "estimate", "--tables", "10", "--currency", "usd")["currency"] == "USD"
    terminal.configure(**{"currency: JPY": "currencies: EUR"})
    said = terminal("downtime", "estimate", "--tables", "10")
    assert (said.code, "amounts are in JPY; see --currency" in said.err) == (0, True)
    (terminal.folder / "tablewatch.yaml").unlink()
    assert terminal.json("downtime", "estimate", "--tables", "10")["currency"] == "JPY"


@pytest.fixture
def alarms(terminal: Terminal) -> Terminal:
    """Return a terminal with four alarms of a check: fixed with a cause, false, closed by a run, and one that lasts."""
    config = terminal.folder / "tablewatch.yaml"
    config.write_text(config.read_text() + "incidents: {causes: [late upstream, Code change]}\n")
    for hour, words in enumerate((("fixed", "--cause", "LATE upstream"), ("false-positive",), (), None)):
        with terminal.at(NOW + timedelta(days=9 * hour)):
            terminal.sql("INSERT INTO orders VALUES (9, NULL)")
            terminal("check")
            if words is None:
                break
        with terminal.at(NOW + timedelta(days=9 * hour, hours=1)):
            terminal.sql("DELETE FROM orders WHERE id = 9")
            if words:
                terminal("incident", "resolve", str(hour + 1), "--as", words[0], *words[1:], "--force")
        for later in (2, 3):
            with terminal.at(NOW + timedelta(days=9 * hour, hours=later)):
                terminal("check")
    return terminal


def test_causes_resolutions_returns_and_precision(alarms: Terminal) -> None:
    """Each is in the JSON with its figures: counted here from what was done."""
    with alarms.at(NOW + timedelta(days=27, hours=5)):
        value = alarms.json("downtime", "--by", "cause")
        text = alarms("downtime").out
        by_cause = alarms("downtime", "--by", "cause").out
    assert [by_cause.count(word) for word in ("undetected", "late upstream", "(none given)")] == [2, 1, 1]
    unseen = 2 * (9 * 24 - 3)  # before the last two, since the run in which the check last passed
    figures = ("n", "downtime_h_low", "downtime_h", "downtime_h_high", "cost")
    assert {row["key"]: [row[name] for name in figures] for row in value["causes"]} == {
        "late upstream": [1, 1.0, 1.0, 1.0, 102_000],
        None: [2, 2.0 + 5.0, 7.0 + unseen, 7.0 + unseen, (7 + unseen) * 102_000],
    }
    assert sum(row["downtime_h"] for row in value["causes"]) == value["downtime_h"]
    assert {row["key"]: row["downtime_h_low"] for row in value["by"]} == {"late upstream": 1.0, None: 7.0}
    assert {row["key"]: (row["n"], row["counts"], row["downtime_h_low"]) for row in value["resolutions"]} == {
        "fixed": (2, True, 3.0),
        "false-positive": (1, False, 1.0),
        None: (1, True, 5.0),
    }
    (check,) = value["repeats"]["checks"]
    # the false one is no incident that came back; the third came back 18 days after the first, the last 9 after it
    assert check == {"key": "orders.not-null", "n": 3, "returned": 2, "reopened": 0, "anew": 2}
    whole = value["precision"]["all"]
    assert (whole["alarms"], whole["real"], whole["false"], whole["unanswered"]) == (4, 1, 1, 2)
    assert (whole["precision_least"], whole["precision"], whole["precision_most"]) == (0.25, 0.5, 0.75)
    assert value["precision"]["checks"][0]["check_id"] == "orders.not-null"
    assert re.search(r"late upstream +1 +1 h +- +JPY 102,000", text)
    assert re.search(r"false-positive +1 +\(214 h\)", text)
    assert re.search(r"orders\.not-null +3 +2 +0", text)
    assert re.search(r"all checks +1 +0 +1 +2 +50% +9\.5% to 91% +25% to 75%", text)


def test_a_cause_outside_of_the_list_is_refused_with_the_list(alarms: Terminal) -> None:
    """So that figures have few causes; `other` is always one, and a cause can be corrected later."""
    with alarms.at(NOW + timedelta(days=28)):
        (error,) = alarms.refused("incident", "resolve", "1", "--as", "fixed", "--cause", "late upsteam")
        assert error["message"] == (
            "'late upsteam' is not a cause of the list 'incidents.causes'; did you mean 'late upstream'?"
        )
        assert error["hint"] == "one of: late upstream, Code change, other"
        alarms("incident", "resolve", "1", "--as", "fixed", "--cause", "Other")
        assert alarms.json("incident", "show", "1")["cause"] == "other"
        opened = ("incident", "open", "--table", "orders", "--title", "x", "--detected", "2h ago")
        (error,) = alarms.refused(*opened, "--resolved", "1h ago", "--as", "fixed", "--cause", "weather")
        assert error["code"] == "cause.unknown"
        alarms("incident", "resolve", "3", "--as", "fixed", "--cause", "code change")
        value = alarms.json("downtime")
    assert {row["key"]: row["n"] for row in value["causes"]} == {"other": 1, "Code change": 1, None: 1}


def test_causes_from_before_the_list_are_one_row(terminal: Terminal) -> None:
    """What was written freely stays recorded, and is counted together once there is a list."""
    times = ("--detected", "3h ago", "--resolved", "2h ago", "--as", "fixed")
    for cause in ("a broken load", "weather"):
        terminal("incident", "open", "--table", "orders", "--title", cause, *times, "--cause", cause)
    assert {row["key"] for row in terminal.json("downtime")["causes"]} == {"a broken load", "weather"}
    config = terminal.folder / "tablewatch.yaml"
    config.write_text(config.read_text() + "incidents: {causes: [late upstream]}\n")
    assert [(row["key"], row["n"]) for row in terminal.json("downtime")["causes"]] == [("(not in the list)", 2)]
