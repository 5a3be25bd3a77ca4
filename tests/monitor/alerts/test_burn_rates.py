"""Error budgets that are spent too fast are reported once when that begins, and once when it ends."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks import Severity
from incidents import Resolution
from monitor.alerts.burn_rates import BurnAlerts
from monitor.alerts.message import compose
from monitor.clock import SimulatedClock
from monitor.config.project import Project
from monitor.daemon.notifier import Notifier
from store import MessageSubject, Scope, open_store
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import NOW, at, project

ROUTES = """  error_budgets: true
  routes: [{match: {severity: error}, to: [desk]}, {match: {table: board}, to: [crew]}]
"""
BUDGET = ("version: 1\n", "version: 1\nslo: {'tier:gold': {downtime: 10h per 30d}}\n")
HELD = ROUTES.replace("to: [desk]", "to: [desk], quiet_hours: now") + (
    '  quiet_hours: {now: {start: "12:00", end: "13:00", let_through: [critical]}}\n'
)


@pytest.fixture
def store(tmp_path):
    """Return a store."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        yield store


def _told(store):
    """Return what channels were notified of budgets, the oldest first: channel, operation, contract, severity."""
    with store.reading() as tx:
        rows = tx.deliveries.since(NOW - timedelta(days=9), 99, subject=MessageSubject.OPERATIONS)
    names = ("operation", "name", "severity")
    return [(row.channel, *(row.payload[name] for name in names)) for row in reversed(rows)]


BEGIN = ("desk", "budget-burning", "slo:orders", "critical")
END = ("desk", "budget-calm", "slo:orders", None)


def test_it_is_told_at_its_beginning_and_at_its_end_also_after_a_restart(tmp_path, store):
    """An hour down of ten in thirty days is a rate of 72: reported once, whichever daemon looks, until it is over."""
    made = project(tmp_path, ROUTES, changed=BUDGET)
    desk, alerts = Desk(made, store), BurnAlerts()
    assert alerts.step(made, store, NOW) == 0
    incident = desk.open(when=NOW)  # it occurred an hour before
    assert [alerts.step(made, store, NOW + timedelta(minutes=1)) for _ in range(2)] == [1, 0]
    assert BurnAlerts().step(made, store, NOW + timedelta(minutes=2)) == 0
    assert _told(store) == [BEGIN]
    desk.end(incident, at(0.1))
    # a tenth of the period has more than its share for three days, a 120th for six hours
    assert [BurnAlerts().step(made, store, at(hours)) for hours in (0.15, 2, 5.9)] == [0, 0, 0]
    after = BurnAlerts()
    assert [after.step(made, store, at(6.2)), after.step(made, store, at(7))] == [1, 0]
    assert BurnAlerts().step(made, store, at(8)) == 0
    assert _told(store) == [BEGIN, END]


def test_the_message_names_the_rates_and_what_is_spent(tmp_path, store):
    """In the language of the channel, with the tables; the payload names contract and severity."""
    made = project(tmp_path, ROUTES.replace("[desk]", "[desk, crew]"), changed=BUDGET)
    Desk(made, store).open(when=NOW)
    BurnAlerts().step(made, store, NOW + timedelta(minutes=1))
    with store.reading() as tx:
        english, japanese = sorted(tx.deliveries.since(NOW - timedelta(days=1), 9), key=lambda row: row.channel)[::-1]
    text = compose(english.payload)
    lines = text.text.replace("\N{NO-BREAK SPACE}", " ")
    assert text.title == "[tablewatch] the error budget of slo:orders is being spent too fast"
    assert "Severity: critical" in lines
    assert "Burn rate: 72 in the last 1 h and 72 in the last 5 min; alerts above 14.4" in lines
    assert "Error budget: 1 h 1 min of 10 h of downtime spent in 30 d" in lines
    assert "Tables: orders" in lines
    assert "slo:orders のエラーバジェットの消費が速すぎます" in compose(japanese.payload).title


def test_a_higher_severity_is_told_again_and_a_lower_one_is_not(tmp_path, store):
    """With more allowed it is first a warning, then critical, then nothing more until it is over."""
    anybody = ROUTES.replace("{match: {severity: error}, to: [desk]}", "{to: [desk]}")
    generous = project(tmp_path, anybody, changed=(BUDGET[0], BUDGET[1].replace("10h", "9d")))
    strict = project(tmp_path, anybody, changed=BUDGET)
    desk, alerts = Desk(strict, store), BurnAlerts()
    incident = desk.open(when=NOW)
    assert [alerts.step(generous, store, at(hours)) for hours in (1, 20, 40)] == [0, 0, 1]
    assert [severity for *_, severity in _told(store)] == ["warning"]
    assert [alerts.step(strict, store, at(40.1)), alerts.step(generous, store, at(40.2))] == [1, 0]
    assert [severity for *_, severity in _told(store)] == ["warning", "critical"]
    desk.end(incident, at(40.3), Resolution.FALSE_POSITIVE)  # then it was no downtime
    assert alerts.step(strict, store, at(40.4)) == 1
    assert _told(store)[-1] == END


def test_while_a_team_is_left_out_nobody_hears_that_it_is_over(tmp_path, store):
    """What it promises is not known until its files are mended; of what is promised no more, the end is reported."""
    made = project(tmp_path, ROUTES, changed=BUDGET)
    Desk(made, store).open(when=NOW)
    alerts = BurnAlerts()
    assert alerts.step(made, store, at(0.1)) == 1
    less = project(tmp_path, ROUTES)
    broken = Project(replace(less.loaded, left_out=frozenset({"shop"})), less.clock)
    assert [alerts.step(item, store, at(0.2)) for item in (broken, made, less)] == [0, 0, 1]
    assert _told(store) == [BEGIN, END]


def test_without_a_route_the_owner_hears_of_it(tmp_path, store):
    """As of an incident on the table."""
    made = project(tmp_path, ROUTES.replace("severity: error", "table: lines"), changed=BUDGET)
    Desk(made, store).open(when=NOW)
    BurnAlerts().step(made, store, at(0.1))
    assert _told(store) == [BEGIN]


@pytest.mark.parametrize("hold", ["silence", "quiet hours"])
def test_silences_and_quiet_hours_delay_it(tmp_path, store, hold):
    """It is reported when they end, if it still is spent too fast."""
    alerts = HELD.replace(", let_through: [critical]", "") if hold == "quiet hours" else ROUTES
    made = project(tmp_path, alerts, changed=BUDGET)
    Desk(made, store).open(when=NOW)
    if hold == "silence":
        with store.writing() as tx:
            tx.silences.add(
                scope=Scope.DOMAIN, name="sales", starts_at=NOW, until=at(1), reason="we look at it", by="mia"
            )
    burn = BurnAlerts()
    assert [burn.step(made, store, at(hours)) for hours in (0.1, 0.9, 1.1)] == [0, 0, 1]


def test_quiet_hours_let_a_severity_through(tmp_path, store):
    """As for alerts of incidents."""
    made = project(tmp_path, HELD, changed=BUDGET)
    Desk(made, store).open(when=NOW)
    assert BurnAlerts().step(made, store, at(0.1)) == 1


def test_the_cap_of_a_channel_delays_what_is_above_it(tmp_path, store):
    """Of three budgets one is reported in each hour, also by another daemon; so are the ends, and nothing is lost."""
    whole = (BUDGET[0], BUDGET[1].replace("tier:gold", "*"))
    made = project(tmp_path, "  error_budgets: true\n  hourly_cap: 1\n  routes: [{to: [desk]}]\n", changed=whole)
    desk, alerts = Desk(made, store), BurnAlerts()
    incidents = [desk.open(table=table, when=NOW) for table in ("orders", "lines", "board")]
    assert [alerts.step(made, store, at(hours)) for hours in (0.1, 0.2, 1.05)] == [1, 0, 0]
    assert [BurnAlerts().step(made, store, at(hours)) for hours in (1.1, 1.2, 2.1, 2.2)] == [1, 0, 1, 0]
    names = ["slo:board", "slo:lines", "slo:orders"]
    assert sorted(name for _, _, name, _ in _told(store)) == names
    for incident in incidents:
        desk.end(incident, at(2.3), Resolution.FALSE_POSITIVE)
    assert [BurnAlerts().step(made, store, at(hours)) for hours in (3, 3.1, 4.1, 4.2, 5.1, 6.1)] == [0, 1, 1, 0, 1, 0]
    assert sorted(name for _, end, name, _ in _told(store) if end == "budget-calm") == names


def test_messages_about_incidents_leave_less_of_the_cap(tmp_path, store):
    """A channel that was given as many messages about incidents hears of the budget when the hour is over."""
    made = project(tmp_path, ROUTES + "  hourly_cap: 1\n", changed=BUDGET)
    desk, alerts = Desk(made, store), BurnAlerts()
    desk.open(when=NOW)
    assert desk.told(at(0.1))
    assert [alerts.step(made, store, at(hours)) for hours in (0.2, 1, 1.1)] == [0, 0, 1]


@pytest.mark.parametrize("wanted", ["true", "false"])
def test_a_daemon_tells_it_where_that_is_configured(tmp_path, store, wanted):
    """It looks once a minute; without the key nothing is reported."""
    made = project(tmp_path, ROUTES.replace("true", wanted), changed=BUDGET)
    Desk(made, store).open(when=NOW, severity=Severity.INFO)
    clock = SimulatedClock(at(0.1))
    notifier = Notifier(store, clock, holder="me")
    notifier.notify(Project(made.loaded, clock))
    notifier.finish(made, seconds=60.0)
    assert _told(store) == ([BEGIN] if wanted == "true" else [])
