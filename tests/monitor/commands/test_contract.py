"""`tablewatch contract show`: service levels of a period, from the store."""

from datetime import timedelta
from fractions import Fraction
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from incidents import Level, LevelResult, LevelVerdict, Window
from monitor.reporting.filters import filters
from monitor.reporting.terminal_views.contracts import draw
from monitor.summaries.service_levels import JudgedContract
from monitor.terminal.localizer import Localizer
from store import Delivery, MessageSubject, open_store
from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

PROMISES = "contracts: {board: {tables: [orders], time_to_detect: 30m, time_to_repair: 8h, availability: 0.9}}\n"


@pytest.fixture
def promised(terminal: Terminal) -> Terminal:
    """Return a terminal in a shop that promises three service levels for its orders."""
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + PROMISES, encoding="utf-8")
    return terminal


def _levels(value: Any) -> dict[str, Any]:
    (contract,) = value["contracts"]
    return {line["level"]: line for line in contract["levels"]}


def _shown(terminal: Terminal, *words: str, code: int = 0) -> Any:
    shown = terminal("contract", "show", *words, "--format", "json")
    assert shown.code == code, shown.out + shown.err
    return shown.json


def test_levels_without_incidents_are_kept_where_somebody_looked(promised: Terminal) -> None:
    """Before the first run nothing is known; after it, the time since then is."""
    assert {line["verdict"] for line in _levels(_shown(promised)).values()} == {"unknown"}
    promised("check")
    with promised.at(NOW + timedelta(hours=10)):
        levels = _levels(_shown(promised, "--from", NOW.isoformat()))
    assert {line["verdict"] for line in levels.values()} == {"kept"}
    assert levels["availability"]["seen"] == 1.0


def test_how_much_of_a_period_was_observed_stands_beside_its_levels(promised: Terminal) -> None:
    """What was kept in ten hours of 28 days says so: on the terminal, in JSON and on the page of a table."""
    promised("check")
    with promised.at(NOW + timedelta(hours=10)):
        (contract,) = _shown(promised)["contracts"]
        text = promised("contract", "show").out
        all_of_it = promised("contract", "show", "--from", NOW.isoformat()).out
    assert contract["observed_h"] == 10.0
    assert text.splitlines()[:2] == ["board  orders", "Sat 2026-10-24 04:00 to Sat 2026-11-21 04:00 (Asia/Tokyo)"]
    assert "All checks saw 10 h of 28 d." in text
    assert "All checks saw" not in all_of_it


def test_a_broken_level_names_its_incident_and_leaves_with_one(promised: Terminal) -> None:
    """Detected two hours late instead of half an hour: broken by 1.5 hours, by incident 1."""
    promised("check")
    times = ("--occurred", "3h ago", "--detected", "1h ago", "--resolved", "1h ago", "--as", "fixed")
    with promised.at(NOW + timedelta(hours=10)):
        promised.json("incident", "open", "--table", "orders", "--title", "late", *times)
        value = _shown(promised, "--from", NOW.isoformat(), code=1)
        text = promised("contract", "show", "board", "--from", NOW.isoformat())
    assert (value["schema"], value["ok"]) == ("tablewatch.contracts/1", False)
    detect = _levels(value)["time-to-detect"]
    assert (detect["verdict"], detect["promised"], detect["seen"]) == ("broken", 0.5, 2.0)
    assert (detect["missed_by"], detect["incidents"]) == (1.5, [1])
    assert _levels(value)["time-to-repair"]["verdict"] == "kept"
    assert _levels(value)["availability"]["verdict"] == "broken"  # 2 of 10 hours
    assert (text.code, "missed by 1 h 30 min: incidents #1" in text.out) == (1, True)


@pytest.mark.parametrize(
    ("locale", "words"), [("en", "missed by 16.667 percentage points"), ("ja", "16.667ポイント不足")]
)
def test_a_missed_availability_is_told_in_percentage_points(promised: Terminal, locale: str, words: str) -> None:
    """Two hours of 7.5 were down: 73.333 % is 16.667 points less than 90 %, and 16.667 % of nothing."""
    promised("check")
    times = ("--occurred", "3h ago", "--detected", "1h ago", "--resolved", "1h ago", "--as", "fixed")
    with promised.at(NOW + timedelta(hours=7, minutes=30)):
        promised.json("incident", "open", "--table", "orders", "--title", "late", *times)
        shown = promised("contract", "show", "--from", NOW.isoformat())
    assert "missed by 16.667 percentage points" in shown.out
    missed = filters(Localizer(locale, "UTC"), "JPY")["missed"]
    assert missed(Fraction(1, 6), Level.AVAILABILITY) == words
    assert missed(Fraction(1, 10**9), Level.AVAILABILITY) == words.replace("16.667", "0.001")


def test_a_table_shows_its_contracts_and_the_report_its_week(promised: Terminal) -> None:
    """The same levels, of the last 28 days and of the week."""
    promised("check")
    times = ("--occurred", "3h ago", "--detected", "1h ago", "--resolved", "1h ago", "--as", "fixed")
    promised.json("incident", "open", "--table", "orders", "--title", "late", *times)
    assert promised.json("table", "show", "refunds")["contracts"] == []
    (contract,) = promised.json("table", "show", "orders")["contracts"]
    assert (contract["contract"], contract["levels"][0]["verdict"]) == ("board", "broken")
    assert "missed by 1 h 30 min" in promised("table", "show", "orders").out
    report = promised("report", "--period", "2026-W47", "--format", "json").json
    assert report["contracts"][0]["levels"][0]["missed_by"] == 1.5
    for locale, words in (("en", "broken: missed by 1 h 30 min"), ("ja", "未達")):
        shown = promised("report", "--period", "2026-W47", "--format", "markdown", "--locale", locale)
        assert words in shown.out


def test_who_was_notified_of_an_imported_incident_is_not_known(promised: Terminal) -> None:
    """Unknown, never kept or broken: no notification was due."""
    promised("check")
    (promised.folder / "tablewatch.yaml").write_text(
        f"{CONFIG}contracts: {{board: {{tables: [orders], time_to_notify: 5m}}}}\n", encoding="utf-8"
    )
    rows = "table,title,occurred,detected,resolved\norders,late,2026-11-19T08:00Z,2026-11-19T10:00Z,2026-11-19T12:00Z\n"
    (promised.folder / "t.csv").write_text(rows, encoding="utf-8")
    promised.json("import", "incidents", "t.csv", "--set", "severity=error")
    level = _levels(_shown(promised))["time-to-notify"]
    assert (level["verdict"], level["undecided"], level["seen"]) == ("unknown", [1], None)


def test_the_first_delivered_alert_of_each_episode_counts(promised: Terminal) -> None:
    """An alert that was delivered after four minutes keeps five; without one for the second episode, it is broken."""
    promised("check")
    (promised.folder / "tablewatch.yaml").write_text(
        f"{CONFIG}contracts: {{board: {{tables: [orders], time_to_notify: 5m}}}}\n", encoding="utf-8"
    )
    promised.json("incident", "open", "--table", "orders", "--title", "late")
    with open_store(f"sqlite:///{promised.folder / 'store.db'}") as store, store.writing() as tx:
        (opening,) = tx.outbox.of_incidents([1])[1]
        decision = {"why": None, "channels": {"ops": {"delivery": "msg_a"}, "desk": {"delivery": None}}}
        tx.outbox.settle([opening.id], NOW, decision)
        tx.deliveries.add([Delivery("msg_a", "ops", MessageSubject.INCIDENTS, {}, NOW, NOW)])
        tx.deliveries.mark_sent("msg_a", NOW + timedelta(minutes=4), "one")
    with promised.at(NOW + timedelta(hours=1)):
        level = _levels(_shown(promised))["time-to-notify"]
        assert (level["verdict"], round(level["seen"] * 60), level["judged"]) == ("kept", 4, 1)
        promised("incident", "resolve", "1", "--as", "fixed", "--force")
        assert promised("incident", "reopen", "1").code == 0
    with promised.at(NOW + timedelta(hours=2)):
        level = _levels(_shown(promised, code=1))["time-to-notify"]
    assert (level["verdict"], level["seen"], level["incidents"], level["judged"]) == ("broken", 1.0, [1], 2)


def test_a_contract_that_is_not_configured_is_nothing_selected(promised: Terminal, terminal: Terminal) -> None:
    """Exit code 5, with the name that was meant."""
    (error,) = promised.refused("contract", "show", "bord", code=5)
    assert error["hint"] == "did you mean 'board'?"
    terminal.configure()
    assert terminal.refused("contract", "show", code=5)


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        ("{tables: [orders]}", "at least one of time_to_detect"),
        ("{tables: [], availability: 0.9}", "tables"),
        ("{tables: [orders], availability: 99.5}", "availability"),
        ("{tables: [orderz], availability: 0.9}", "orderz"),
    ],
)
def test_a_contract_promises_something_about_tables_that_exist(terminal: Terminal, contract: str, message: str) -> None:
    """What was written is named with its place."""
    (terminal.folder / "tablewatch.yaml").write_text(f"{CONFIG}contracts: {{board: {contract}}}\n", encoding="utf-8")
    shown = terminal("config", "check")
    assert shown.code == 2
    assert message in shown.out + shown.err


def test_an_error_budget_is_shown_on_every_surface(terminal: Terminal) -> None:
    """Four hours of downtime are more than the two of a month: broken, used up, and each surface shows that."""
    promise = "contracts: {board: {tables: [orders], downtime: 2h per 30d}}\n"
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + promise, encoding="utf-8")
    terminal("check")
    times = ("--occurred", "2h ago", "--detected", "1h ago", "--resolved", "1h ago", "--as", "fixed")
    with terminal.at(NOW + timedelta(hours=4)):
        terminal.json("incident", "open", "--table", "orders", "--title", "late", *times)
        (contract,) = _shown(terminal)["contracts"]
        budget = contract["error_budget"]
        text = terminal("contract", "show").out
    assert contract["levels"] == []
    assert (budget["allowed_h"], budget["per_h"]) == (2.0, 720.0)
    assert (budget["spent_h"], budget["spent_h_low"], budget["left_h"]) == (1.0, 1.0, 1.0)
    assert budget["verdict"] == "unknown"  # unobserved before the first run
    assert [(rate["window_h"], rate["rate"]) for rate in budget["burn_rates"]] == [(72.0, 5.0), (6.0, 60.0)]
    assert (budget["used_up_in_h"], budget["used_up_in_h_soonest"]) == (72.0, 0.0)
    assert "Error budget of board: 1 h of 2 h of downtime spent in 30 d (at least 1 h, at most " in text
    assert "Burn rate 5 in the last 3 d, 60 in the last 6 h" in text
    assert "At this rate it is used up in 3 d." in text
    assert "If all unknown time was downtime, it is used up already." in text
    assert "soonest" not in text
    with terminal.at(NOW + timedelta(days=40)):  # then a whole period was watched, or not
        terminal.json(
            "incident", "open", "--table", "orders", "--title", "again", "--occurred", "4h ago", "--detected", "1h ago"
        )
        (contract,) = _shown(terminal, code=1)["contracts"]
        assert (contract["error_budget"]["verdict"], contract["error_budget"]["used_up_in_h"]) == ("broken", 0.0)
        assert contract["error_budget"]["left_h"] == 2.0 - 4.0
        assert "It is used up already." in terminal("table", "show", "orders").out
        assert "It is used up already." in terminal("report", "--period", "2026-W53", "--format", "markdown").out
        page = terminal("report", "--period", "2026-W53", "--format", "html", "--locale", "ja").out
    assert "すでに使い切っています。" in page


SLO = """\
slo:
  "*": {ttd: 90m}
  tier:gold: {downtime: 2h per 30d, ttd: 30m, ttr: 8h}
  domain:sales: {ttd: 1h}
"""


def test_what_is_promised_by_tier_and_domain_is_judged_like_a_contract(terminal: Terminal) -> None:
    """One incident detected within 0 to 2 hours, of which one is promised: not known; the key of each promise is shown.

    A second one that a person dated breaks it. The same promises in a contract have the same figures.
    """
    same = "contracts: {board: {tables: [orders], downtime: 2h per 30d, time_to_detect: 1h, time_to_repair: 8h}}\n"
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + SLO + same, encoding="utf-8")
    terminal("check")
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    with terminal.at(NOW + timedelta(hours=2)):
        terminal("check")
    times = ("--occurred", "3h ago", "--detected", "1h ago", "--resolved", "1h ago", "--as", "fixed")
    with terminal.at(NOW + timedelta(hours=10)):
        terminal.json("incident", "open", "--table", "orders", "--title", "late", *times)
        value = _shown(terminal, "--from", NOW.isoformat(), code=1)
        text = terminal("contract", "show", "slo:orders", "--from", NOW.isoformat()).out
        sheet = terminal.json("table", "show", "orders")["contracts"]
        report = terminal("report", "--period", "2026-W47", "--format", "markdown").out
    board, orders, refunds, totals = value["contracts"]
    assert [line["contract"] for line in sheet] == ["board", "slo:orders"]
    names = ("board", "slo:orders", "slo:refunds", "slo:totals")
    assert tuple(line["contract"] for line in (board, orders, refunds, totals)) == names
    assert (board["levels"], board["error_budget"]) == (orders["levels"], orders["error_budget"])
    detect = orders["levels"][0]
    assert (detect["promised"], detect["verdict"], detect["judged"], detect["broken"]) == (1.0, "broken", 2, 1)
    assert (detect["kept"], detect["share_kept_low"], detect["share_kept_high"]) == (0, 0.0, 0.5)
    assert orders["origins"] == {
        "time-to-detect": "slo.domain:sales",
        "time-to-repair": "slo.tier:gold",
        "downtime": "slo.tier:gold",
    }
    assert refunds["origins"] == {"time-to-detect": "slo.*"}
    assert "0 to 1 of 2 in time" in text
    assert "promised by slo.domain:sales: time-to-detect; slo.tier:gold: time-to-repair, downtime" in text
    assert "Service levels of 3 tables: " in report
    assert "| tier gold | 1 | 0 | 0 | 0 |" in report
    assert "| owner The desk | " in report
    assert "0 to 1 of 2 in time" in report


@pytest.mark.parametrize("by", ["table", "owner", "domain", "tier"])
def test_groups_of_tables_add_up_the_verdicts_of_their_tables(terminal: Terminal, by: str) -> None:
    """Counted again from the contracts beside them: tables by verdict, episodes, shares, incidents."""
    board = "contracts: {board: {tables: [orders, refunds], time_to_detect: 1h}}\n"
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + SLO + board, encoding="utf-8")
    terminal("check")
    with terminal.at(NOW + timedelta(hours=10)):
        for table, lasted in (("orders", "3h"), ("refunds", "110m"), ("totals", "1h"), ("totals", "90m")):
            begun = ("--occurred", f"{lasted} ago", "--detected", "30m ago", "--resolved", "20m ago", "--as", "fixed")
            terminal.json("incident", "open", "--table", table, "--title", "late", *begun)
        value = _shown(terminal, "--by", by, "--from", NOW.isoformat(), code=1)
        text = terminal("contract", "show", "--by", by, "--from", NOW.isoformat()).out
    words = {
        "table": {"orders": "orders", "refunds": "refunds", "totals": "totals"},
        "owner": {"orders": "crew", "refunds": "desk", "totals": None},
        "domain": {"orders": "sales", "refunds": None, "totals": None},
        "tier": {"orders": "gold", "refunds": "silver", "totals": None},
    }[by]
    assert (value["by"], [item["contract"] for item in value["contracts"]]) == (by, [f"slo:{name}" for name in words])
    named = sorted({word for word in words.values() if word is not None})
    assert [group["name"] for group in value["groups"]] == [*named, *([None] if None in words.values() else [])]
    assert by == "table" or f"(no {by})" in text
    for group in value["groups"]:
        contracts = [item for item in value["contracts"] if words[item["tables"][0]] == group["name"]]
        assert sum(group["tables"].values()) == len(contracts)
        for level in group["levels"]:
            parts = [line for item in contracts for line in item["levels"] if line["level"] == level["level"]]
            judged = parts or [item["error_budget"] for item in contracts if item["error_budget"]]
            for verdict, number in level["tables"].items():
                assert number == sum(part["verdict"] == verdict for part in judged)
            for name in ("judged", "kept", "broken"):
                assert level[name] == sum(part[name] for part in parts if part["unit"] == "h")
            if level["judged"]:
                assert level["share_kept_low"] == level["kept"] / level["judged"]
                assert level["share_kept_high"] == 1 - level["broken"] / level["judged"]
            assert level["incidents"] == sorted({number for part in parts for number in part["incidents"]})


def test_only_promises_of_tables_are_grouped(promised: Terminal) -> None:
    """A contract of several tables belongs to no owner: where there is nothing else, nothing is selected."""
    (error,) = promised.refused("contract", "show", "--by", "owner", code=5)
    assert error["message"] == "no service levels of tables: 'slo' promises nothing"


@pytest.mark.parametrize("words", ["2h", "2h per 1h", "0s per 30d", "two hours per month", "2h  per 30d"])
def test_an_error_budget_is_less_time_than_its_period(terminal: Terminal, words: str) -> None:
    """What is no budget is refused with what is expected."""
    promise = f"contracts: {{board: {{tables: [orders], downtime: {words}}}}}\n"
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + promise, encoding="utf-8")
    assert "such as 2h per 30d" in terminal("config", "check").err


def test_a_level_that_many_incidents_broke_names_eight() -> None:
    """The JSON has all; a column of hundreds of numbers is not readable."""
    broken = LevelResult(Level.TIME_TO_DETECT, Fraction(1), LevelVerdict.BROKEN, incidents=tuple(range(1, 12)))
    console = Console(file=StringIO(), width=200)
    draw(console, [JudgedContract("board", ("orders",), Window(0, 1), [broken], 1, 1, None, {})], zone="Asia/Tokyo")
    assert isinstance(console.file, StringIO)
    assert "incidents #1, #2, #3, #4, #5, #6, #7, #8 and 3 more" in console.file.getvalue()
