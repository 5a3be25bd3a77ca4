"""Warnings that open no incident: notified once when they begin and once when they end, to their routes."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from checks import Kind, Severity
from incidents import WarningSpell
from monitor.alerts.decision_record import RECHECK_AFTER
from monitor.alerts.message import compose
from monitor.alerts.notify import notify
from monitor.alerts.trial_message import TrialMessageKind, trial_message
from monitor.config import ConfigError, load
from monitor.config.selector import select
from monitor.scan.recorder import retire
from monitor.scan.run import run_checks
from store import IncidentFilter, StoreError
from tests.monitor.alerts.made import NOW, at, project
from tests.monitor.shop import build_shop

ROUTES = """
  routes:
    - {match: {outcome: warn, table: orders}, to: [desk]}
    - {match: {outcome: warn, domain: sales}, to: [crew]}
    - {to: [audit]}
"""
DAILY = ROUTES.replace("to: [desk]}", 'to: [desk], digest: {at: "08:00"}}')
EIGHT = at(20)
HOUR = timedelta(hours=1)


def _begin(desk, table="orders", when=NOW, series=None):
    spell = WarningSpell(
        series=series or f"{table}.not-null",
        table=table,
        check_id=f"{table}.not-null",
        kind=Kind.QUALITY,
        severity=Severity.WARNING,
        title="{nulls:count} of {rows:count} rows have no id",
        title_values={"nulls": 3, "rows": 26115},
        began_at=when,
    )
    with desk.store.writing() as tx:
        return tx.warnings.save(spell, when)


def _end(desk, spell, when):
    with desk.store.writing() as tx:
        tx.warnings.save(replace(spell, passing_since=when, passes=2, ended_at=when), when)


def _told(desk, now):
    """Announce, let the messages arrive, and return them: channel, and reason and table of each warning."""
    notify(desk.project, desk.store, now)
    with desk.store.writing() as tx:
        waiting = tx.deliveries.lease(now, holder="me", lease_until=now + HOUR, limit=99)
        for delivery in waiting:
            tx.deliveries.mark_sent(delivery.id, now, "me")
    return [
        (item.channel, [(each["reason"], each["table"]) for each in item.payload["warnings"]], item.payload["ids"])
        for item in waiting
    ]


def _messages(desk):
    with desk.store.reading() as tx:
        return [delivery.payload for delivery in tx.deliveries.since(at(-99), 99)[::-1]]


def test_a_warning_is_told_once_when_it_begins_and_once_when_it_ends(desk_of):
    """To all routes that are for it, and to no other; no reminder is sent."""
    desk = desk_of(ROUTES)
    spell = _begin(desk)
    first = [("first", "orders")]
    assert _told(desk, at(0.1)) == [("desk", first, []), ("crew", first, [])]
    for hours in (1, 26, 50, 99):
        assert _told(desk, at(hours)) == []
    _end(desk, spell, at(100))
    last = [("resolved", "orders")]
    assert _told(desk, at(101)) == [("desk", last, []), ("crew", last, [])]
    assert _told(desk, at(200)) == []


def test_the_message_says_what_a_person_has_to_know(desk_of):
    """In the language of its channel; the webhook has the warning under a key of its own, and no incident."""
    desk = desk_of(ROUTES)
    spell = _begin(desk)
    _told(desk, at(0.1))
    _end(desk, spell, at(5))
    _told(desk, at(6))
    english, japanese, over, _ = _messages(desk)
    assert english["title"] == "[warning] orders: 3 of 26,115 rows have no id"
    assert "警告" in japanese["title"]
    assert over["title"] == "[warning, ended] orders: 3 of 26,115 rows have no id"
    (warning,) = english["warnings"]
    assert warning == {
        "table": "orders",
        "check_id": "orders.not-null",
        "series": "orders.not-null",
        "kind": "quality",
        "severity": "warning",
        "title": "3 of 26,115 rows have no id",
        "reason": "first",
        "over": False,
        "began_at": "2026-11-20T03:00:00+00:00",
        "ended_at": None,
        "domain": "sales",
        "tier": "gold",
        "products": [],
        "why": "It is billed twice.",
        "runbook": "https://wiki/orders",
    }
    assert over["warnings"][0]["ended_at"] == "2026-11-20T08:00:00+00:00"
    assert (english["counts"]["warnings"], english["incidents"]) == (1, [])
    facts = dict(english["blocks"][0]["facts"])
    assert facts["Check"] == "orders.not-null"
    assert facts["Why it matters"] == "It is billed twice."
    assert facts["Runbook"] == "https://wiki/orders"
    assert "incident" not in json.dumps(english["blocks"])
    assert "orders.not-null" in compose(english).html


def test_a_warning_beside_incidents_is_counted_apart(desk_of):
    """One message for a table has both; the title counts both, the list of incidents has no warning."""
    desk = desk_of(ROUTES + "    - {to: [desk]}\n")
    desk.open("orders", at(0))
    desk.open("orders", at(0), check="range")
    _begin(desk)
    notify(desk.project, desk.store, at(0.1))
    message = next(payload for payload in _messages(desk) if payload["channel"] == "desk")
    assert message["title"] == "[error] orders: 2 incidents; 1 warning"
    assert message["ids"] == [1, 2] == [each["id"] for each in message["incidents"]]
    assert (message["counts"]["incidents"], message["counts"]["warnings"]) == (2, 1)
    assert len(message["warnings"]) == 1


def test_a_digest_has_warnings_once(desk_of):
    """In the digest after its beginning and in the one after its end, not in those between."""
    desk = desk_of(DAILY)
    spell = _begin(desk, when=at(1))
    assert [channel for channel, *_ in _told(desk, at(2))] == ["crew"]
    assert _told(desk, EIGHT) == [("desk", [("first", "orders")], [])]
    assert _messages(desk)[-1]["title"] == "Digest: 0 opened, 0 still open, 0 resolved; 1 warning"
    assert _told(desk, EIGHT + 24 * HOUR) == []
    _end(desk, spell, EIGHT + 25 * HOUR)
    _told(desk, EIGHT + 26 * HOUR)
    assert _told(desk, EIGHT + 48 * HOUR) == [("desk", [("resolved", "orders")], [])]


def test_silences_quiet_hours_and_open_incidents_upstream_hold_warnings_back(desk_of):
    """What is over by the end of a silence is never reported, what quiet hours kept back is reported afterwards."""
    desk = desk_of("""
  routes: [{match: {outcome: warn}, to: [desk], quiet_hours: nights}, {to: [audit]}]
  quiet_hours: {nights: {start: "22:00", end: "07:00"}}
""")
    desk.silence("orders", until=at(3))
    spell = _begin(desk)
    assert _told(desk, at(1)) == []
    _end(desk, spell, at(2))
    assert _told(desk, at(4)) == []
    night = _begin(desk, "stray", at(11))
    assert _told(desk, at(12)) == []
    _end(desk, night, at(13))
    assert _told(desk, at(19)) == [("desk", [("first", "stray")], [])]
    assert _messages(desk)[-1]["warnings"][0]["over"]
    desk.open("orders", at(20))
    _begin(desk, "lines", at(20.5))
    assert [channel for channel, *_ in _told(desk, at(21))] == ["audit"]
    with desk.store.reading() as tx:
        (waiting,) = tx.outbox.waiting(9)
    assert waiting.decision["channels"]["desk"]["held_by"] == "downstream"


def test_the_cap_counts_warnings(desk_of):
    """What there is no room for is summed up in one message, as for incidents."""
    desk = desk_of("  hourly_cap: 2\n  routes: [{match: {outcome: warn}, to: [desk]}]")
    for number in range(5):
        _begin(desk, f"t{number}")
    notify(desk.project, desk.store, at(1))
    (message,) = _messages(desk)
    assert (message["storm"], message["counts"]["warnings"]) == (True, 5)
    assert message["title"] == "[warning] 5 tables: 5 warnings"


def test_a_beginning_that_was_given_up_makes_its_end_silent(desk_of):
    """A channel never hears the end of what it did not hear begin."""
    desk = desk_of(ROUTES)
    spell = _begin(desk)
    notify(desk.project, desk.store, at(1))
    desk.give_up(at(1))
    _end(desk, spell, at(2))
    assert _told(desk, at(3)) == []


def test_a_warning_keeps_its_transitions_until_it_is_over_and_old(desk_of):
    """They name the notified channels: without them its end would not be notified."""
    desk = desk_of(ROUTES)
    spell = _begin(desk)
    _told(desk, at(1))
    keep = {"keep_measurements": HOUR, "keep_incidents": HOUR}
    with desk.store.writing() as tx:
        assert tx.prune(**keep, now=at(500)).warnings == 0
    _end(desk, spell, at(501))
    with desk.store.writing() as tx:
        assert tx.prune(**keep, now=at(900)).warnings == 0  # its end is not reported yet
    assert len(_told(desk, at(901))) == 2
    with desk.store.writing() as tx:
        pruned = tx.prune(**keep, now=at(1000))
        assert (pruned.warnings, tx.outbox.of_warnings([spell.id])) == (1, [])


def test_at_most_one_warning_of_a_series_lasts(desk_of):
    """Two processes that begin one at the same moment cannot both."""
    desk = desk_of(ROUTES)
    _begin(desk)
    with pytest.raises(StoreError):
        _begin(desk)


WARN = """
      - {type: not_null, columns: [customer], max_ratio: 0.9, warn: {max_ratio: 0}}
alerts:
  channels: {desk: {apprise: "json://localhost:9/"}}
  routes: [{match: {outcome: warn}, to: [desk]}]
"""


@pytest.fixture
def shop(tmp_path):
    """Return a shop with a check that warns when a customer is missing."""
    return build_shop(tmp_path, WARN)


def _run(shop, store):
    shop.clock.advance(HOUR)
    made = shop.project()
    result = run_checks(made, select([], made.config), store=store)
    notify(made, store, shop.clock.now() + RECHECK_AFTER)
    with store.reading() as tx:
        assert tx.incidents.matching(IncidentFilter()) == []
        messages = tx.deliveries.since(shop.clock.now() - 99 * HOUR, 99)[::-1]
    assert result.exit_code == 0
    return [each["reason"] for message in messages for each in message.payload["warnings"]]


def _spoil(shop):
    shop.sql("UPDATE orders SET customer = NULL WHERE id = 1")


def test_runs_that_warn_begin_a_warning_and_open_no_incident(shop):
    """The first of them is reported, then the first of two that pass; whatever runs in between is no news."""
    with shop.project().open_store() as store:
        assert _run(shop, store) == []
        _spoil(shop)
        assert _run(shop, store) == _run(shop, store) == ["first"]
        shop.sql("UPDATE orders SET customer = 'ann'")
        assert _run(shop, store) == ["first"]
        with store.writing() as tx:
            for delivery in tx.deliveries.lease(shop.clock.now(), holder="me", lease_until=shop.clock.now(), limit=9):
                tx.deliveries.mark_sent(delivery.id, shop.clock.now(), "me")
        assert _run(shop, store) == ["first", "resolved"]
        assert _run(shop, store) == ["first", "resolved"]


def test_nothing_is_followed_without_a_route_for_it(shop):
    """Without such a route there are no warnings in the store; a later route is notified at the next run."""
    text = shop.config.read_text(encoding="utf-8")
    shop.config.write_text(text.replace("match: {outcome: warn}, ", ""), encoding="utf-8")
    _spoil(shop)
    with shop.project().open_store() as store:
        assert _run(shop, store) == []
        with store.reading() as tx:
            assert tx.warnings.lasting() == {}
        shop.config.write_text(text, encoding="utf-8")
        assert _run(shop, store) == ["first"]


def test_the_warning_of_a_check_or_segment_that_is_gone_ends(shop):
    """A segment without rows any more, and a check that is no longer configured, warn of nothing."""
    text = shop.config.read_text(encoding="utf-8")
    by = text.replace("warn: {max_ratio: 0}}", "warn: {max_ratio: 0}, by: {columns: [id], values: [1]}}")
    shop.config.write_text(by, encoding="utf-8")
    shop.sql("INSERT INTO orders VALUES (1, NULL, 5.0, '2026-11-20 08:00')")
    with shop.project().open_store() as store:
        assert _run(shop, store) == ["first"]
        with store.reading() as tx:
            (series,) = tx.warnings.lasting()
        assert series.startswith("orders.not-null[")
        shop.config.write_text(by.replace("values: [1]", "values: [2]"), encoding="utf-8")
        shop.sql("DELETE FROM orders WHERE id = 1")
        _run(shop, store)
        with store.reading() as tx:
            assert tx.warnings.lasting() == {}
        shop.config.write_text(text, encoding="utf-8")
        shop.sql("UPDATE orders SET customer = NULL; INSERT INTO orders VALUES (3, 'ann', 5.0, '2026-11-20 08:00')")
        _run(shop, store)
        with store.reading() as tx:
            assert [*tx.warnings.lasting()] == ["orders.not-null"]
        shop.config.write_text(text.replace("type: not_null", "id: renamed, type: not_null"), encoding="utf-8")
        retire(shop.project(), store)
        with store.reading() as tx:
            assert tx.warnings.lasting() == {}


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ("{match: {outcome: warn}, to: [desk], unacknowledged_for: 1h}", "a warning cannot be acknowledged"),
        ("{match: {outcome: warn, severity: error}, to: [desk]}", "'error' matches none"),
    ],
)
def test_a_route_that_can_match_nothing_is_refused(tmp_path, route, problem):
    """No alert is expected that cannot come."""
    with pytest.raises(ConfigError, match=problem):
        project(tmp_path, f"  routes: [{route}]")


def test_a_channel_of_single_incidents_gets_no_warnings(tmp_path):
    """A page or a ticket is about an incident."""
    project(tmp_path, ROUTES)
    file = tmp_path / "tablewatch.yaml"
    text = file.read_text(encoding="utf-8").replace(
        'desk: {apprise: "json://localhost:9/"}', f'desk: {{pagerduty: {{routing_key: "{"a" * 32}"}}}}'
    )
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"shows each incident as one thing \(pagerduty\), and a warning opens none"):
        load(file, environment={})


def test_a_trial_message_can_look_like_a_warning(tmp_path):
    """`alert test CHANNEL --as warning` shows one, marked as a test."""
    message = trial_message(project(tmp_path, ROUTES), "desk", TrialMessageKind.WARNING, now=at(0))
    assert message.payload["title"].startswith("[test] [warning] orders: ")
    assert (len(message.payload["warnings"]), message.payload["incidents"]) == (1, [])
