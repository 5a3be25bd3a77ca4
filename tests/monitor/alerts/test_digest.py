"""One message a day: what opened, what lasts, what was resolved; nothing twice, nothing lost."""

import tempfile
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Severity
from incidents import Acknowledged
from monitor.alerts.decision_record import RECHECK_AFTER
from monitor.alerts.digest import digest_id, last_slot, next_slot
from monitor.alerts.message import MessageComposer
from monitor.alerts.notify import notify
from monitor.config import ConfigError, load
from store import History
from tests.monitor.alerts.desk import Desk, made_opened
from tests.monitor.alerts.made import at, project
from tests.tiers import examples

DAILY = """
  routes:
    - {match: {severity: critical}, to: [crew]}
    - {to: [desk], digest: {at: "08:00"}}
"""
EIGHT = at(20)
"""08:00 in Tokyo, the next morning."""
MINUTE = timedelta(minutes=1)


@pytest.fixture
def desk(desk_of):
    """Return a store whose desk gets a digest at eight."""
    return desk_of(DAILY)


def test_a_day_is_one_message(desk):
    """Until its time a channel hears nothing; then of all tables at once: what opened, then what is over."""
    first = desk.open("orders", at(1))
    desk.open("stray", at(2), severity=Severity.WARNING)
    for hours in (1.1, 3, 12, 19.99):
        assert desk.told(at(hours)) == []
    held = desk.last()
    assert (held["action"], held["held_by"], held["until"]) == ("held", "digest", EIGHT.isoformat())
    desk.end(first, at(5))
    assert desk.told(EIGHT) == [("desk", [2, 1], ["first", "first"])]
    with desk.store.reading() as tx:
        (message,) = tx.deliveries.since(at(0), 10)
    assert message.id == digest_id("desk", EIGHT)
    assert message.payload["digest"] == EIGHT.isoformat()
    assert message.payload["title"] == "Digest: 1 opened, 0 still open, 1 resolved"


def test_what_lasts_is_in_every_digest_until_somebody_takes_care(desk):
    """The second day names it again, a resolution is named once, and a day without anything has no message."""
    lasting = desk.open("orders", at(1))
    other = desk.open("stray", at(1))
    assert desk.told(EIGHT + MINUTE) == [("desk", [1, 2], ["first", "first"])]
    desk.end(other, at(30))
    assert desk.told(at(43)) == []
    assert desk.told(at(44)) == [("desk", [1, 2], ["reminder", "resolved"])]
    assert desk.told(at(44.5)) == []
    desk.change(lasting, Acknowledged(at(50)), when=at(50))
    assert desk.told(at(68)) == []


def test_what_comes_after_the_digest_waits_for_the_next(desk):
    """At most one message a day, however soon the next incident opens; one that is made late is that day's."""
    desk.open("orders", at(1))
    assert desk.told(EIGHT + timedelta(hours=3)) == [("desk", [1], ["first"])]
    desk.open("stray", EIGHT + timedelta(hours=4))
    assert desk.told(EIGHT + timedelta(hours=5)) == []
    assert desk.told(EIGHT + timedelta(days=1)) == [("desk", [2, 1], ["first", "reminder"])]


def test_several_days_without_a_daemon_are_one_digest(desk):
    """Nothing is lost, and nothing sent for days that are over."""
    desk.open("orders", at(1))
    desk.open("stray", at(30))
    assert desk.told(EIGHT + timedelta(days=4)) == [("desk", [1, 2], ["first", "first"])]
    assert desk.told(EIGHT + timedelta(days=4, hours=1)) == []


def test_digests_of_two_times_that_are_late_are_one(desk_of):
    """What a late message reported for a newer time is not repeated for an older one that only some waited for."""
    desk = desk_of("""
  routes:
    - {match: {severity: error}, to: [desk], digest: {at: "08:00"}}
    - {to: [desk], digest: {at: "18:00"}}
""")
    desk.open("orders", at(1))
    desk.open("stray", at(1), severity=Severity.WARNING)
    assert desk.told(EIGHT + timedelta(minutes=30)) == [("desk", [1, 2], ["first", "first"])]
    assert desk.told(EIGHT + timedelta(minutes=31)) == []
    assert desk.told(EIGHT + timedelta(hours=10)) == [("desk", [1, 2], ["reminder", "reminder"])]


def test_a_route_before_it_goes_past_the_digest(desk_of):
    """A channel that another route leads to hears at once of what that matches, and of the rest in its digest."""
    desk = desk_of(DAILY.replace("[crew]", "[desk]"))
    desk.open("orders", at(1), severity=Severity.CRITICAL)
    desk.open("stray", at(1))
    assert desk.told(at(1.1)) == [("desk", [1], ["first"])]
    assert desk.told(EIGHT) == [("desk", [2], ["first"])]


def test_a_pass_that_does_not_look_at_what_lasts_makes_no_digest(desk):
    """The first pass leaves it to the pass that knows everything; nothing of it is missed by that."""
    desk.open("orders", at(1))
    desk.told(EIGHT)
    desk.open("stray", at(30))
    for seconds in (1, 2, 3):
        notify(desk.project, desk.store, at(44) + timedelta(seconds=seconds), remind=False)
    assert desk.arrive(at(44)) == []
    assert desk.told(at(44) + timedelta(seconds=4)) == [("desk", [2, 1], ["first", "reminder"])]


def test_a_silence_and_a_digest_that_was_given_up_lose_nothing(desk):
    """What a silence holds back at eight is reported the next day, and so is what did not arrive."""
    desk.silence("stray", until=at(25))
    desk.open("orders", at(1))
    desk.open("stray", at(1))
    notify(desk.project, desk.store, EIGHT)
    desk.give_up(EIGHT + MINUTE)
    assert desk.told(at(26)) == []
    assert desk.told(at(44)) == [("desk", [1, 2], ["first", "first"])]


def test_an_incident_that_raises_an_error_delays_nothing_else_of_the_digest(desk, monkeypatch):
    """There is one digest a day, so all others are in it at once, and only what raised an error is put off."""
    for number in range(5):
        desk.open(f"t{number}", at(1))
    composes = MessageComposer.incidents

    def raises(composer, batch, *given, **named):
        if any(item.incident.id == 2 for item in batch.items):
            raise KeyError("a value")
        return composes(composer, batch, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(MessageComposer, "incidents", raises)
        assert desk.told(EIGHT) == [("desk", [1, 3, 4, 5], ["first"] * 4)]
    assert desk.told(EIGHT + timedelta(days=1)) == [("desk", [2, 1, 3, 4, 5], ["first", *["reminder"] * 4])]


def test_an_outage_of_thousands_is_one_digest(desk):
    """However many tables fail at once, the digest of the day has all of them, and so has the message about a storm."""
    opened = [made_opened("orders", at(1), check=f"c{number}") for number in range(5_010)]
    with desk.store.writing() as tx:
        tx.incidents.add_histories([History([one], at(1), "tablewatch") for one in opened], announce=True)
    ((channel, ids, _),) = desk.told(EIGHT)
    assert (channel, len(ids)) == ("desk", 5_010)
    assert desk.told(EIGHT + MINUTE) == []


def test_a_channel_of_single_incidents_has_no_digest(desk_of):
    """A page or a ticket for each incident has no message of the day: the configuration is refused."""
    file = desk_of(DAILY).project.loaded.files[0]
    text = file.read_text(encoding="utf-8").replace(
        'desk: {apprise: "json://localhost:9/"}', f'desk: {{pagerduty: {{routing_key: "{"a" * 32}"}}}}'
    )
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"channel 'desk' shows each incident as one thing \(pagerduty\)"):
        load(file, environment={})


def test_a_clock_that_was_set_back_hides_nothing_from_the_digest(desk):
    """What came up by the clock of next month is in the digest of today, once."""
    desk.open("orders", at(900))
    assert desk.told(EIGHT) == []
    with desk.store.writing() as tx:
        tx.outbox.set_back(EIGHT + MINUTE)
    assert desk.told(EIGHT + timedelta(days=1)) == [("desk", [1], ["first"])]
    assert desk.told(EIGHT + timedelta(days=1, hours=1)) == []


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made aware below
    st.times().map(lambda moment: time(moment.hour, moment.minute)),
    st.sampled_from(["Asia/Tokyo", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "UTC"]),
)
def test_a_digest_is_due_once_a_day(moment, clock, zone):
    """Around each moment lie two slots, on successive local days, a day apart but for the clocks' change."""
    now = moment.replace(tzinfo=UTC)
    before, after = last_slot([clock], now, zone=zone), next_slot([clock], now, zone=zone)
    assert before <= now < after
    assert abs(after - before - timedelta(days=1)) <= timedelta(hours=1)
    days = [one.astimezone(ZoneInfo(zone)).date() for one in (before, after)]
    assert days[1] - days[0] == timedelta(days=1)


ZONES = ("Europe/Berlin", "America/St_Johns", "Asia/Tokyo", "Australia/Lord_Howe")
NEAR_CHANGES = [datetime(2026, *day, 20, tzinfo=UTC) for day in ((3, 6), (3, 28), (4, 3), (10, 2), (10, 23), (10, 31))]
"""Some days before clocks change in one of the zones, and some in which they do not."""
TWO = """
  routes:
    - {{to: [desk], digest: {{at: "{desk}"}}}}
    - {{to: [crew], digest: {{at: "{crew}"}}}}
"""
steps = st.one_of(
    st.just(("open", 0)),
    st.tuples(st.just("wait"), st.sampled_from([1, 29, 61, 240, 600, 1441, 4000])),
    st.just(("tell", 0)),
    st.tuples(st.just("zone"), st.sampled_from(ZONES)),
)


def slot_by_wall_clock(at, now, zone):
    """Return the newest minute, not after now, at which a wall clock first shows a time of its day, or a later one."""
    place, moment, newest = ZoneInfo(zone), now.replace(second=0), None
    days = {}
    for minutes in range(3 * 24 * 60):
        local = (moment - timedelta(minutes=minutes)).astimezone(place)
        if local.strftime("%H:%M") >= at:
            days[local.date()] = moment - timedelta(minutes=minutes)
    first_day = min(days)
    for day, slot in days.items():
        if day != first_day:  # of which the walk may have missed the beginning
            newest = slot if newest is None else max(newest, slot)
    return newest


@settings(deadline=None, max_examples=examples(12))
@given(
    st.sampled_from(NEAR_CHANGES),
    st.sampled_from(ZONES),
    st.tuples(*[st.sampled_from(["00:00", "01:45", "02:30", "03:00", "08:00", "23:59"])] * 2),
    st.lists(steps, min_size=5, max_size=30),
)
def test_each_message_is_in_one_digest(start, zone, ats, happenings):
    """Of two channels with hours of their own, over changes of clocks and zones and pauses: all that came up, once."""
    with tempfile.TemporaryDirectory() as folder:
        alerts = TWO.format(desk=ats[0], crew=ats[1])
        desk = Desk(project(Path(folder), alerts, zone=("timezone: Asia/Tokyo", f"timezone: {zone}")), None)
        desk.store, now, opened = desk.project.open_store(), start, {}
        known, made = {"desk": {}, "crew": {}}, {"desk": set(), "crew": set()}
        for what, value in happenings:
            if what == "open":
                opened[desk.open(f"t{len(opened)}", now).id] = now
            elif what == "wait":
                now += timedelta(minutes=value)
            elif what == "zone":
                zone = value
                now += RECHECK_AFTER  # what waits is decided again by then, for whatever reason it waits
                desk.project = project(
                    Path(folder), alerts, now=now, zone=("timezone: Asia/Tokyo", f"timezone: {zone}")
                )
            else:
                now += 2 * MINUTE  # what came up is grouped by then
                result = {channel: sorted(ids) for channel, ids, _ in desk.told(now)}
                expected = {}
                for channel, at_time in zip(("desk", "crew"), ats, strict=True):
                    slot = slot_by_wall_clock(at_time, now, zone)
                    ids = [one for one, since in opened.items() if max(since, known[channel].get(one, since)) <= slot]
                    if ids and slot not in made[channel]:
                        expected[channel] = ids
                        made[channel].add(slot)
                        known[channel] |= dict.fromkeys(ids, now)
                assert result == expected
        desk.store.close()
