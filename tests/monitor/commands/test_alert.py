"""`tablewatch alert route` and `alert log`: who hears of what, and what was decided."""

from datetime import timedelta

import pytest

from checks import Kind, Severity
from incidents import WarningSpell
from monitor.alerts.notify import notify
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.web.views.alert_log import AlertLogQuery, list_alerts
from store import DaemonRecord
from tests.monitor.commands.terminal import NOW, Terminal

ALERTS = """
alerts:
  channels: {desk: {apprise: "json://localhost:9/"}, crew: {apprise: "json://localhost:9/"}}
  routes:
    - {match: {domain: sales}, to: [crew], quiet_hours: nights}
    - {match: {severity: critical}, to: [desk]}
  quiet_hours: {nights: {start: "17:00", end: "07:00", let_through: [critical]}}
"""


def with_alerts(terminal: Terminal, alerts: str = ALERTS) -> Terminal:
    """Configure alerts."""
    path = terminal.folder / "tablewatch.yaml"
    path.write_text(path.read_text(encoding="utf-8") + alerts, encoding="utf-8")
    return terminal


def tell(terminal: Terminal, after: timedelta = timedelta(minutes=5)) -> None:
    """Let the daemon decide, a little later."""
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(terminal.now + after))
    with project.open_store() as store:
        notify(project, store, terminal.now + after)


def report(terminal: Terminal, table: str = "orders", *words: str) -> None:
    """Let a person report something."""
    terminal.json("incident", "open", "--table", table, "--title", f"{table} is odd", *words)


def test_route_explains_who_hears(terminal: Terminal) -> None:
    """Channels, the routes that lead to them, and why each other route does not."""
    with_alerts(terminal)
    value = terminal.json("alert", "route", "--table", "orders", "--severity", "error")
    assert value["schema"] == "tablewatch.alert-route/1"
    assert value["channels"] == [
        {
            "channel": "crew",
            "by": ["route 1"],
            "digest": [],
            "quiet_hours": ["nights"],
            "quiet_until": "2026-11-20T22:00:00+00:00",
        }
    ]
    assert [(step["name"], step["applies"]) for step in value["steps"]] == [
        ("route 1", True),
        ("route 2", False),
        ("owner", False),
    ]
    said = terminal("alert", "route", "--table", "orders", "--severity", "critical").out
    assert "crew" in said
    assert "it matches: severity critical" in said
    assert "now until" not in said
    assert "now until Sat 2026-11-21 07:00" in terminal("alert", "route", "--table", "orders").out
    assert "no channel is notified" in terminal("alert", "route", "--table", "totals").out


def test_route_says_which_warnings_open_incidents(terminal: Terminal) -> None:
    """Where a warn opens an incident, its channels are shown by its severity."""
    note = "where open_on is warn, a warn opens an incident: use --severity warning instead"
    with_alerts(terminal)
    assert note not in " ".join(terminal("alert", "route", "--table", "orders", "--warning").err.split())
    with_alerts(terminal, "  open_on: warn\n")
    assert note in " ".join(terminal("alert", "route", "--table", "orders", "--warning").err.split())
    assert note not in " ".join(terminal("alert", "route", "--table", "orders").err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--table", "order"), "table 'order' is not in the configuration"),
        (
            ("--table", "orders", "--kind", "qualty"),
            "'qualty' is not one of 'quality', 'disclosure'",
        ),
    ],
)
def test_route_refuses_what_it_does_not_know(terminal: Terminal, words: tuple[str, ...], message: str) -> None:
    """A slip of the hand is pointed out."""
    (error,) = terminal.refused("alert", "route", *words)
    assert message in error["message"]


def test_a_change_without_a_decision_has_the_first_reason_that_holds(terminal: Terminal) -> None:
    """Without a channel that is the reason; then that no daemon ran since, the wait of a group, the daemon's turn."""
    report(terminal, "orders")

    def why(after: timedelta) -> str | None:
        project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(terminal.now + after))
        with project.open_store() as store, store.reading() as tx:
            return list_alerts(project, tx, AlertLogQuery(), terminal.now + after).decisions[0].why

    assert why(timedelta(seconds=1)) == "no alert channel is configured"
    with_alerts(terminal)
    assert why(timedelta(seconds=1)) == "no daemon has run since; tablewatch run starts one"
    beat = terminal.now + timedelta(seconds=1)
    with Project(load(terminal.folder / "tablewatch.yaml")).open_store() as store, store.writing() as tx:
        tx.daemons.save(DaemonRecord("d", "h", 1, "1", beat, beat, beat))
    assert why(timedelta(seconds=2)) == "it waits for other changes of its table (alerts.group_wait)"
    assert why(timedelta(minutes=3)) == "the daemon decides it next"


def test_log_says_why_somebody_was_told_or_not(terminal: Terminal) -> None:
    """The log has each change with every channel, what was done and why, and the messages with what became of them."""
    with_alerts(terminal)
    assert "no changes and no deliveries" in terminal("alert", "log").out
    report(terminal, "orders")
    held = terminal("alert", "log").out.split()
    assert "no daemon has run since; tablewatch run starts one" in " ".join(held)
    tell(terminal)
    report(terminal, "refunds", "--severity", "critical")
    report(terminal, "totals")
    tell(terminal)
    value = terminal.json("alert", "log", "--since", "1h")
    assert value["schema"] == "tablewatch.alert-log/1"
    totals, refunds, orders = value["decisions"]
    assert totals["why"] == "no route matches, and the owner has no channel"
    told, held = refunds["channels"][0], orders["channels"][0]
    assert (told["channel"], told["action"], told["reason"]) == ("desk", "told", "first")
    assert (held["channel"], held["action"], held["hold"]) == ("crew", "held", "quiet hours nights")
    (message,) = value["deliveries"]
    assert (message["id"], message["state"], message["channel"]) == (told["delivery"], "waiting", "desk")
    assert message["title"] == "[critical] refunds: refunds is odd (#2)"
    assert message["next_try_at"] is not None
    said = terminal("alert", "log").out
    assert "quiet hours nights" in said
    assert "Sat 2026-11-21 07:00" in " ".join(said.split())
    assert message["id"] in said


def test_log_is_limited_and_reaches_back(terminal: Terminal) -> None:
    """Older changes are shown when asked for, newest first, with a note when some are hidden."""
    with_alerts(terminal)
    with terminal.at(NOW - timedelta(days=3)):
        report(terminal, "orders")
        report(terminal, "refunds")
        tell(terminal)
    assert terminal.json("alert", "log")["decisions"] == []
    said = terminal("alert", "log", "--since", "7d", "--limit", "1")
    assert "more than 1 entries" in said.err


def test_a_disabled_channel_is_named(terminal: Terminal) -> None:
    """The log says which channels are not used, and how to use them again."""
    with_alerts(terminal)
    with Project(load(terminal.folder / "tablewatch.yaml")).open_store() as store, store.writing() as tx:
        tx.silences.disable_channel("crew", "it answered 410 Gone", NOW)
    assert terminal.json("alert", "log")["disabled"][0]["channel"] == "crew"
    assert (
        "note: crew is disabled: it answered 410 Gone; 'tablewatch alert enable crew'" in terminal("alert", "log").err
    )


WARNED = """
alerts:
  channels: {desk: {apprise: "json://localhost:9/"}, crew: {apprise: "json://localhost:9/"}}
  routes: [{match: {outcome: warn, domain: sales}, to: [crew]}, {to: [desk]}]
"""


def test_route_explains_who_hears_of_a_warning(terminal: Terminal) -> None:
    """With --warning only routes that are for warnings apply, at severity warning at most; without, all others."""
    with_alerts(terminal, WARNED)
    value = terminal.json("alert", "route", "--table", "orders", "--warning")
    assert (value["outcome"], value["severity"]) == ("warn", "warning")
    assert [channel["channel"] for channel in value["channels"]] == ["crew"]
    assert [step["why"] for step in value["steps"]][1:] == [
        "the route is for incidents; one for warnings has 'outcome: warn'",
        "owners are notified of incidents, and warnings go by routes only",
    ]
    value = terminal.json("alert", "route", "--table", "orders")
    assert [channel["channel"] for channel in value["channels"]] == ["desk"]


def test_the_log_has_warnings_that_are_no_incidents(terminal: Terminal) -> None:
    """Under a number of their own; JSON has it beside that of incidents, of which one is null."""
    with_alerts(terminal, WARNED)
    project = Project(load(terminal.folder / "tablewatch.yaml"), SimulatedClock(terminal.now))
    spell = WarningSpell(
        "orders.range", "orders", "orders.range", Kind.QUALITY, Severity.WARNING, "odd", {}, began_at=terminal.now
    )
    with project.open_store() as store, store.writing() as tx:
        tx.warnings.save(spell, terminal.now)
    tell(terminal)
    (decision,) = terminal.json("alert", "log")["decisions"]
    assert (decision["incident"], decision["warning"], decision["change"]) == (None, 1, "opened")
    assert " w1 " in terminal("alert", "log").out
    with project.open_store() as store, store.reading() as tx:
        (line,) = list_alerts(project, tx, AlertLogQuery(), terminal.now + timedelta(minutes=5)).decisions
    assert (line.incident, line.warning, line.table) == (None, 1, "orders")


def test_on_call_shows_who_is_it_until_when(terminal: Terminal) -> None:
    """The person, the end of the shift and where messages go; a hole in the calendar has a reason and the fallback."""
    assert "no channel asks a calendar" in terminal("alert", "on-call").out
    channels = '{a: {apprise: "json://localhost:9/"}, b: {apprise: "json://localhost:9/"}, duty: {on_call: %s}}'
    rota = "{calendar: duty.ics, people: {Sato: a}, fallback: b}"
    with_alerts(terminal, f"\nalerts: {{channels: {channels % rota}}}\n")
    (row,) = terminal.json("alert", "on-call")["channels"]
    assert (row["person"], row["to"]) == (None, "b")
    assert row["problem"] == "duty.ics cannot be read: No such file or directory"
    day = f"{terminal.now:%Y%m%d}"
    event = f"BEGIN:VEVENT\nUID:1\nDTSTART:{day}T000000Z\nDTEND:{day}T235900Z\nSUMMARY:Sato\nEND:VEVENT\n"
    (terminal.folder / "duty.ics").write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{event}END:VCALENDAR\n")
    value = terminal.json("alert", "on-call")
    assert value["schema"] == "tablewatch.alert-on-call/1"
    until = f"{terminal.now:%Y-%m-%d}T23:59:00+00:00"
    duty = {"channel": "duty", "person": "Sato", "until": until, "to": "a", "problem": None, "left_out": None}
    assert value["channels"] == [duty]
    assert "Sato" in terminal("alert", "on-call").out
