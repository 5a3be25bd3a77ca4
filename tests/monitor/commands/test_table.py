"""`tablewatch table`: the central catalogue."""

from datetime import timedelta
from pathlib import Path

import duckdb

from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

TIMES = ("--occurred", "3h ago", "--detected", "2h ago", "--resolved", "1h ago", "--as", "fixed")
LONG_AGO = ("--occurred", "90d ago", "--detected", "90d ago", "--resolved", "89d ago", "--as", "fixed")


def test_the_list_is_the_catalogue(terminal: Terminal) -> None:
    """The list has who answers for each table, its lineage and consumers, how it is, and what its downtime cost."""
    terminal.json("incident", "open", "--table", "orders", "--title", "a", *TIMES)
    terminal.json("incident", "open", "--table", "orders", "--title", "b", *LONG_AGO)
    value = terminal.json("table", "list")
    assert value["schema"] == "tablewatch.tables/1"
    orders, refunds, totals = value["tables"]
    assert (orders["table"], orders["domain"], orders["owner"], orders["tier"]) == ("orders", "sales", "crew", "gold")
    assert (orders["consumers"], orders["upstream"], orders["downstream"]) == (["board report"], [], ["refunds"])
    assert orders["downtime"] == {
        "last_28_days": {"n": 1, "downtime_h": 2.0, "cost": 204_000},
        "to_date": {"n": 2, "downtime_h": 26.0, "cost": 2_652_000},
        "currency": "JPY",
    }
    assert refunds["downtime"]["to_date"] == {"n": 0, "downtime_h": 0.0, "cost": 0}
    assert (totals["owner"], totals["checks"]["total"], totals["health"]) == (None, 0, "not-monitored")
    lines = terminal("table", "list").out.splitlines()
    assert lines[0].split() == [
        "table",
        "domain",
        "owner",
        "tier",
        "health",
        "down",
        "to",
        "date",
        "cost",
        "to",
        "date",
    ]
    assert "JPY 2,652,000" in lines[1]


def test_the_list_takes_a_selector(terminal: Terminal) -> None:
    """A selector narrows the list; one that chooses nothing leaves with 5."""

    def names(*words: str) -> list[str]:
        return [one["table"] for one in terminal.json("table", "list", *words)["tables"]]

    assert names("domain:sales") == ["orders"]
    assert names("!tier:gold") == ["refunds", "totals"]
    terminal.refused("table", "list", "domain:nothing", code=5)


def test_a_sheet_has_everything_about_a_table(terminal: Terminal) -> None:
    """The sheet adds the whole lineage, the rate, and each check with its last result."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check", "orders")
    with terminal.at(NOW + timedelta(hours=1)):
        value = terminal.json("table", "show", "orders")
        said = [line.rstrip() for line in terminal("table", "show", "orders").out.splitlines()]
    assert value["schema"] == "tablewatch.table/1"
    assert (value["downstream"], value["downstream_all"], value["upstream_all"]) == (
        ["refunds"],
        ["refunds", "totals"],
        [],
    )
    assert (value["per_hour"], value["health"], value["open_incidents"]) == (102_000, "degraded", [1])
    key, nulls = value["check_results"]
    assert (key["status"], key["severity"], key["why"]) == ("pass", "critical", "Duplicates are billed twice.")
    assert (nulls["check_id"], nulls["status"], nulls["reason"]) == ("orders.not-null", "fail", None)
    assert nulls["measured_at"] == NOW.isoformat()
    assert said[:11] == [
        "orders  degraded",
        "domain        sales (売上)",
        "owner         crew",
        "tier          gold, JPY 102,000 an hour of downtime",
        "source        shop",
        "schedule      none: run manually or by another scheduler",
        "upstream      none",
        "downstream    refunds; further: totals",
        "consumers     board report",
        "people        The desk",
        "last 28 days  1 h of downtime in 1 incident, JPY 102,000",
    ]
    assert said[12].startswith("open          #1  orders  customer: 1 of 3 rows are NULL (33%)  OPEN  error")
    assert said[14].split() == ["check", "severity", "found", "when", "what"]


def test_a_sheet_says_what_the_checks_cost(terminal: Terminal) -> None:
    """Runs of today and of the last seven days, by the project's days; SQLite tells of no rows, so they are unknown."""
    for _ in range(2):
        terminal("check", "orders")
    cost = terminal.json("table", "show", "orders")["scan_cost"]
    assert cost["today"] == cost["last_7_days"]
    assert (cost["today"]["runs"], cost["today"]["rows_read"], cost["today"]["bytes_read"]) == (2, None, None)
    assert cost["today"]["seconds"] > 0
    assert "\nchecks cost   2 runs, " in terminal("table", "show", "orders").out
    with terminal.at(NOW + timedelta(days=7)):
        cost = terminal.json("table", "show", "orders")["scan_cost"]
        assert (cost["today"]["runs"], cost["last_7_days"]["runs"]) == (0, 0)
        assert "\nchecks cost   no runs in 7 days; today no runs\n" in terminal("table", "show", "orders").out


def test_a_sheet_says_what_an_incremental_run_read(terminal: Terminal, tmp_path: Path) -> None:
    """It has how many rows the last run read, which checks read all, and what the last full look found changed."""
    file = tmp_path / "lake.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE days AS SELECT DATE '2026-11-01' + i::INT AS day, i AS n FROM range(20) AS r(i)"
        )
    checks = "[{type: volume, min: 1}, {type: metric, aggregate: max, column: n, min: 0}]"
    table = f"  - name: days\n    source: lake\n    incremental: {{column: day}}\n    checks: {checks}\n"
    source = f"sources: {{lake: {{url: 'duckdb:///{file}'}}, "
    Path("tablewatch.yaml").write_text(CONFIG.replace("sources: {", source) + table, encoding="utf-8")
    for _ in range(2):
        terminal("check", "days")
    part = terminal.json("table", "show", "days")["incremental"]
    assert (part["rows"], part["rows_read"], part["counted"], part["in_full"]) == (20, 4, "changes", ["metric"])
    said = "incremental   4 of 20 rows read 0 s ago; all rows 0 s ago; in full on each run: metric"
    assert said in terminal("table", "show", "days").out
    with duckdb.connect(str(file)) as connection:
        connection.execute("DELETE FROM days WHERE n < 2")
    with terminal.at(NOW + timedelta(days=7)):
        terminal("check", "days")
        part = terminal.json("table", "show", "days")["incremental"]
        assert (part["recounted_because"], part["late"]) == ("due", {"figures": 1, "rows": -2})
        assert "late changes  1 figure of closed rows changed (-2 rows)" in terminal("table", "show", "days").out
    assert terminal.json("table", "show", "orders")["incremental"] is None


def test_a_sheet_says_what_was_not_evaluated(terminal: Terminal) -> None:
    """What could not be evaluated, and what was never asked, are said."""
    terminal.sql("ALTER TABLE refunds RENAME TO elsewhere")
    assert "not-yet-checked" in terminal("table", "show", "refunds").out
    terminal("check", "refunds")
    assert "not evaluated refunds.not-null  misconfigured: " in terminal("table", "show", "refunds").out
    assert "no checks configured" in terminal("table", "show", "totals").out


def test_a_circle_of_tables_ends_where_it_began(terminal: Terminal) -> None:
    """Lineage that runs in a circle is followed once."""
    terminal.configure(**{"    domain: sales\n": "    domain: sales\n    upstream: [totals]\n"})
    value = terminal.json("table", "show", "orders")
    assert (value["upstream_all"], value["downstream_all"]) == (["totals", "refunds"], ["refunds", "totals"])


def test_an_unknown_table_leaves_with_5_and_a_proposal(terminal: Terminal) -> None:
    """A name that is not in the configuration chooses nothing."""
    (error,) = terminal.refused("table", "show", "order", code=5)
    assert (error["message"], error["hint"]) == (
        "table 'order' is not in the configuration",
        "did you mean 'orders'?",
    )
