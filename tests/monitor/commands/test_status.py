"""`tablewatch status`: show table health."""

from datetime import timedelta
from typing import Any

import pytest

from checks import Kind, Severity
from incidents.verbs import IncidentReport, report
from monitor.commands import status
from monitor.config import load
from monitor.config.project import Project
from store import DaemonRecord, History
from tests.monitor.commands.terminal import NOW, Terminal

SCHEDULED = {"    domain: sales\n": "    domain: sales\n    schedule: every 1h\n"}


def _health(value: Any) -> dict[str, str]:
    return {one["table"]: one["health"] for one in value["tables"]}


def test_before_the_first_check_nothing_is_known(terminal: Terminal) -> None:
    """A table that was never looked at is not healthy, and one without checks is not monitored."""
    value = terminal.json("status")
    assert value["schema"] == "tablewatch.status/1"
    assert _health(value) == {"orders": "not-yet-checked", "refunds": "not-yet-checked", "totals": "not-monitored"}
    assert value["summary"] == {
        "degraded": 0,
        "unknown": 0,
        "warning": 0,
        "not-yet-checked": 2,
        "not-monitored": 1,
        "healthy": 0,
        "total": 3,
    }
    assert (value["last_run_at"], value["last_run_age_s"]) == (None, None)
    assert "test-shop  3 tables: 2 not-yet-checked, 1 not-monitored" in terminal("status").out


def test_health_is_the_worst_of_the_checks(terminal: Terminal) -> None:
    """A failing check degrades its table; the last run, open incidents and counts are shown; the exit code stays 0."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check").code == 1
    with terminal.at(NOW + timedelta(minutes=30)):
        value = terminal.json("status")
        said = terminal("status")
    assert _health(value) == {"orders": "degraded", "refunds": "healthy", "totals": "not-monitored"}
    orders = value["tables"][0]
    assert (orders["domain"], orders["owner"], orders["tier"]) == ("sales", "crew", "gold")
    assert orders["checks"] == {"pass": 1, "warn": 0, "fail": 1, "unknown": 0, "not_yet_checked": 0, "total": 2}
    assert (orders["last_run_age_s"], value["last_run_age_s"]) == (1800.0, 1800.0)
    assert (orders["open_incidents"], value["open_incidents"]) == ([1], 1)
    assert said.code == 0
    assert "orders   degraded       1 pass, 1 fail  30 min ago  #1    crew" in said.out


def test_what_is_open_on_a_table_that_was_taken_out_is_shown(terminal: Terminal) -> None:
    """A report of a person on a table that was renamed stays open and is named; an incident of its check is closed."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check").code == 1
    terminal("incident", "open", "--table", "orders", "--title", "the board is wrong")
    terminal.configure(**{"name: orders\n": "name: sales.orders\n    table: orders\n", "[orders]": "[sales.orders]"})
    assert "open on tables that are not in the configuration: #1 on orders, #2 on orders" in terminal("status").out
    assert "note: 1 incident closed: the check is no longer configured" in terminal("check").err
    assert terminal.json("status")["incidents_elsewhere"] == [{"incident": 2, "table": "orders"}]
    assert "note:" not in terminal("check").err


def test_an_outage_of_many_tables_fits_a_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many tables the worst are listed, and how many more there are."""
    terminal.sql("ALTER TABLE refunds RENAME TO elsewhere")
    terminal("check")
    monkeypatch.setattr(status, "_MOST", 1)
    lines = terminal("status").out
    assert "and 2 more tables; --format json has all" in lines
    assert "\norders" not in lines
    monkeypatch.setattr(status, "_MOST", 0)
    monkeypatch.setattr(status, "_ALL", 0)
    assert "and 2 more tables and 1 healthy tables; --format json" in terminal("status").out


def test_a_warn_is_shown_with_the_severity_of_its_incident(terminal: Terminal) -> None:
    """A softer limit that is exceeded is no error, whatever a fail of the check would be."""
    check = "{type: volume, min: 1, warn: {min: 3}}"
    terminal.configure(**{"{type: not_null, columns: [customer]}": check, "cost:": "alerts: {open_on: warn}\ncost:"})
    assert "2 rows, at least 3 expected · warning · incident #1 · owner crew" in terminal("check", "orders").out
    assert terminal.json("incident", "show", "1")["severity"] == "warning"


def test_what_could_not_be_evaluated_is_unknown(terminal: Terminal) -> None:
    """A check that could not be evaluated makes its table unknown, with the reason; a failure beside it weighs more."""
    terminal("check")
    terminal.sql("ALTER TABLE refunds RENAME TO elsewhere")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check")
        value = terminal.json("status")
        said = terminal("status").out
    assert _health(value)["refunds"] == "unknown"
    (silent,) = value["tables"][1]["not_evaluated"]
    assert (silent["check_id"], silent["reason"]) == ("refunds.not-null", "misconfigured")
    assert (value["not_evaluated"], "refunds.not-null  misconfigured: " in said) == (1, True)
    terminal.json("incident", "open", "--table", "refunds", "--title", "x")
    assert _health(terminal.json("status"))["refunds"] == "degraded"


def test_a_check_that_is_overdue_says_nothing_any_more(terminal: Terminal) -> None:
    """When a scheduled run is missed, the last result is old news: unknown, whatever it was."""
    terminal.configure(**SCHEDULED)
    terminal("check")
    with terminal.at(NOW + timedelta(hours=1)):
        assert _health(terminal.json("status"))["orders"] == "healthy"
    with terminal.at(NOW + timedelta(hours=3)):
        value = terminal.json("status")
    assert _health(value)["orders"] == "unknown"
    assert {one["reason"] for one in value["tables"][0]["not_evaluated"]} == {"not-run"}
    assert value["tables"][0]["not_evaluated"][0]["message"] == "scheduled every 1h, last run 3 h ago"


def test_warnings_are_between(terminal: Terminal) -> None:
    """A broken softer limit is a warning; a check that has not run yet is known to be nothing."""
    warned = "{type: not_null, columns: [customer], max_ratio: 0.9, warn: {max_ratio: 0}}"
    terminal.configure(**{"{type: not_null, columns: [customer]}": warned})
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    assert terminal("check").code == 0
    assert _health(terminal.json("status"))["orders"] == "warning"
    more = "{type: not_null, columns: [id]}]"
    terminal.configure(**{more: f"{more[:-1]}, {{id: new, type: not_null, columns: [id]}}]"})
    value = terminal.json("status")
    assert _health(value)["refunds"] == "not-yet-checked"
    assert value["tables"][1]["checks"]["not_yet_checked"] == 1


def test_a_release_at_risk_does_not_make_a_table_unhealthy(terminal: Terminal) -> None:
    """A disclosure incident gates a release; the table's data may be as good as ever."""
    terminal("check")
    project = Project(load(terminal.folder / "tablewatch.yaml"))
    seen = IncidentReport("refunds", "k below 5", Severity.CRITICAL, Kind.DISCLOSURE)
    with project.open_store() as store, store.writing() as tx:
        tx.incidents.add_histories([History([report(seen, detected_at=NOW, now=NOW)], NOW, "tablewatch")])
    value = terminal.json("status")
    assert _health(value)["refunds"] == "healthy"
    assert value["tables"][1]["open_incidents"] == [1]


PEOPLE = """
releases:
  extract:
    table: orders
    audience: a university
    columns: {id: other, customer: quasi-identifier}
    limits: {k: 2}
  other: {table: orders, columns: {id: other, customer: quasi-identifier}, limits: {k: 3}}
  bare: {table: orders}
"""


def _with_releases(terminal: Terminal) -> None:
    terminal.configure(**{"    upstream: [refunds]\n": "    upstream: [refunds]\n" + PEOPLE})


def _releases(terminal: Terminal) -> dict[str, Any]:
    return {one["release"]: one for one in terminal.json("status")["releases"]}


def test_a_release_is_on_hold_while_a_disclosure_check_fails(terminal: Terminal) -> None:
    """Since when, and by which check or incident; it is clear again when the incident is over."""
    _with_releases(terminal)
    assert [release["state"] for release in _releases(terminal).values()] == ["hold"] * 3
    terminal("check")
    terminal.sql("UPDATE orders SET customer = 'ann'")
    for hour in (1, 2):
        with terminal.at(NOW + timedelta(hours=hour)):
            terminal("check")
            found = _releases(terminal)["extract"]
            assert found["state"] == ("hold" if hour == 1 else "clear")  # one passing run is not enough
            if hour == 1:
                assert found["since"] == NOW.isoformat()
                held = {"check_id": "orders.extract-k-anonymity", "reason": "incident", "since": NOW.isoformat()}
                assert found["held_by"] == [{**held, "incident": 1}]
            else:
                assert (found["since"], found["held_by"]) == ((NOW + timedelta(hours=1)).isoformat(), [])
                said = terminal("status").out
    assert (found["table"], found["audience"]) == ("orders", "a university")
    lines = {line.split()[0]: line.split() for line in said.splitlines() if line and line[0] != " "}
    assert lines["extract"][:5] == ["extract", "orders", "clear", "1", "h"]
    assert lines["other"][2] == "hold"
    assert lines["other"][-2:] == ["orders.other-k-anonymity", "#2"]
    assert "clear: passes the configured limits; neither proof of anonymity nor legal advice" in said


def test_a_release_holds_on_what_nobody_knows(terminal: Terminal) -> None:
    """Nothing that was asked, a check that never ran and one that could not be evaluated are no clearance."""
    _with_releases(terminal)
    terminal.sql("UPDATE orders SET customer = 'ann'; INSERT INTO orders VALUES (3, 'ann')")
    held = _releases(terminal)["extract"]["held_by"]
    assert [(one["check_id"], one["reason"], one["since"]) for one in held] == [
        ("orders.extract-classification", "not-yet-checked", None),
        ("orders.extract-k-anonymity", "not-yet-checked", None),
    ]
    terminal("check")
    found = _releases(terminal)
    assert {name: one["state"] for name, one in found.items()} == {"extract": "clear", "other": "clear", "bare": "hold"}
    assert [one["reason"] for one in found["bare"]["held_by"]] == ["no-limits"]
    terminal.sql("DELETE FROM orders")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check")
        found = _releases(terminal)
    (held,) = found["extract"]["held_by"]
    assert (held["check_id"], held["reason"]) == ("orders.extract-k-anonymity", "no-data")
    assert held["since"] == NOW.isoformat()


def test_a_disclosure_that_a_person_reports_holds_every_release_of_the_table(terminal: Terminal) -> None:
    """An incident without a check is about the table, so about all that is given of it."""
    _with_releases(terminal)
    terminal.sql("UPDATE orders SET customer = 'ann'; INSERT INTO orders VALUES (3, 'ann')")
    terminal("check")
    project = Project(load(terminal.folder / "tablewatch.yaml"))
    seen = IncidentReport("orders", "a name in a note", Severity.CRITICAL, Kind.DISCLOSURE)
    with project.open_store() as store, store.writing() as tx:
        tx.incidents.add_histories([History([report(seen, detected_at=NOW, now=NOW)], NOW, "tablewatch")])
    found = _releases(terminal)
    assert [one["state"] for one in found.values()] == ["hold"] * 3
    assert found["other"]["held_by"] == [
        {"check_id": None, "reason": "incident", "since": NOW.isoformat(), "incident": 1}
    ]


def test_many_healthy_tables_are_counted(terminal: Terminal) -> None:
    """Beyond forty tables a person sees those with problems; programs get all."""
    many = "".join(
        f"  - {{name: t{i}, source: shop, table: refunds, checks: [{{type: not_null, columns: [id]}}]}}\n"
        for i in range(45)
    )
    terminal.configure(**{"  - name: totals\n    source: shop\n    upstream: [refunds]\n": many})
    terminal("check")
    assert "and 47 healthy tables; --format json has all" in terminal("status").out
    assert len(terminal.json("status")["tables"]) == 47


def test_a_store_that_cannot_be_read_leaves_with_3(terminal: Terminal) -> None:
    """Without the store nothing is known, and that is no success."""
    (terminal.folder / "store.db").write_bytes(b"x" * 5000)
    (error,) = terminal.refused("status", code=3)
    assert error["code"] == "store"


@pytest.mark.parametrize("words", [("status",), ("table", "list"), ("downtime",), ("incident", "list")])
def test_a_configuration_with_errors_leaves_with_2(terminal: Terminal, words: tuple[str, ...]) -> None:
    """A configuration that cannot be loaded is refused by every command, with its place."""
    terminal.configure(**{"tier: gold": "teir: gold"})
    (error,) = terminal.refused(*words)
    assert (error["code"], error["line"]) == ("config.unknown_key", 16)


BUDGETS = """
budgets:
  orders:
    total: 0.25
    statistics: {hourly: {schedule: every 1h, statistic: count, epsilon: 0.1}}
"""


def test_standing_statistics_are_listed(terminal: Terminal) -> None:
    """Each with its slots, and how many answers its budget still covers; a person reads the same."""
    with (terminal.folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write(BUDGETS)
    (before,) = terminal.json("status")["statistics"]
    assert (before["state"], before["answers_left"], before["last_slot"]) == ("no-budget", None, None)
    assert terminal("privacy", "budget", "create", "orders").code == 0
    (waits,) = terminal.json("status")["statistics"]
    assert waits == {
        "table": "orders",
        "statistic": "hourly",
        "state": "waits",
        "schedule": "every 1h",
        "cost": "0.1",
        "answers_left": 2,
        "last_slot": None,
        "last_slot_ended_at": None,
        "next_slot": None,
    }
    assert "orders/hourly  waits  -          -                     2" in terminal("status").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("timezone: Asia/Tokyo", "timezone: Asia/Tokio"),  # a value that is not valid
        ("    tier: gold\n", "    tier: gold\n    teir: gold\n"),  # a key that does not exist
        ("    tier: gold\n", "    tier: [gold\n"),  # no YAML at all
        ("version: 1\n", "version: 1\n\tversion: 2\n"),  # no YAML from the beginning on
        ("owners: {desk", "owners: {desk: ${NO_SUCH_VARIABLE}, crew: {}}\nother: {desk"),
        ("sqlite:///store.db", 'sqlite:///store.db", oddness: "1'),  # an error in the section of the store itself
    ],
)
def test_while_the_file_is_wrong_the_tables_are_shown_first(terminal: Terminal, before: str, after: str) -> None:
    """With errors in the file, status shows the tables as the store knows them, then the errors, and leaves with 2."""
    terminal.sql("INSERT INTO orders VALUES (3, NULL)")
    terminal("check")
    terminal.configure(**{before: after})
    errors = terminal("config", "check").err
    said = terminal("status")
    assert said.code == 2
    assert errors
    assert said.err == errors
    assert "the configuration on disk has errors; showing the last recorded runs" in said.out
    assert "orders   degraded  1 pass, 1 fail" in said.out
    assert "no daemon is running" in said.out
    value = terminal("status", "--format", "json")
    assert value.code == 2
    assert (value.json["schema"], value.json["ok"], value.json["config_loaded_at"]) == (
        "tablewatch.status/1",
        False,
        None,
    )
    assert value.json["errors"] == terminal("config", "check", "--format", "json").json["errors"]
    assert _health(value.json) == {"orders": "degraded", "refunds": "healthy"}
    assert (value.json["open_incidents"], value.json["tables"][0]["checks"]["total"]) == (1, 2)


def test_what_the_daemon_goes_on_with_is_shown(terminal: Terminal) -> None:
    """While a daemon runs, status says since when it has had its configuration and shows what that checked."""
    terminal("check", "refunds")
    with terminal.at(NOW + timedelta(hours=1)):
        terminal("check", "orders")
        project = Project(load(terminal.folder / "tablewatch.yaml"))
        moment = NOW + timedelta(minutes=30)
        alive = DaemonRecord("1", "host", 7, "1.0", moment, terminal.now, moment, config_error="'teir' is unknown")
        with project.open_store() as store, store.writing() as tx:
            tx.daemons.save(alive)
        terminal.configure(**{"    tier: gold\n": "    teir: gold\n"})
        said = terminal("status")
        value = terminal("status", "--format", "json").json
    assert said.code == 2
    assert "a daemon keeps using the one it loaded at 2026-11-20 09:30 UTC" in said.out
    assert "does not use all of the configuration on disk: 'teir' is unknown" in said.out
    assert value["config_loaded_at"] == moment.isoformat()
    assert _health(value) == {"orders": "healthy", "refunds": "healthy"}


def test_without_a_store_only_the_errors_are_shown(terminal: Terminal) -> None:
    """A file with errors and no store to look into is refused as before, and no store is made."""
    (terminal.folder / "store.db").unlink()
    terminal.configure(**{"    tier: gold\n": "    teir: gold\n"})
    said = terminal("status")
    assert (said.code, said.out) == (2, "")
    assert not (terminal.folder / "store.db").exists()


def test_secrets_stay_secret_in_a_file_with_errors(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came from the environment is masked, also where the file could not be read as a whole."""
    terminal("check")
    monkeypatch.setenv("PLACE", "store.db")
    terminal.configure(**{"sqlite:///store.db": "sqlite:///${PLACE}", "    tier: gold\n": "    tier: [gold\n"})
    said = terminal("status")
    assert "refunds" in said.out
    assert "store.db" not in said.out + said.err
    assert "store.db" not in terminal("status", "--format", "json").out
