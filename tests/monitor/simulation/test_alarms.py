"""Which alerts a simulation says would have been sent: those that the product itself sends."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks import Status
from incidents import Resolution
from monitor.alerts.notify import notify
from monitor.simulation.plan import RuleProposal
from tests.monitor.simulation.played import MINUTE, ROUTES, START, Play, made
from tests.tiers import examples

ALERTS = """
  remind_every: 40m
  routes:
    - {to: [desk], quiet_hours: lunch}
    - {to: [boss], unacknowledged_for: 25m}
  quiet_hours: {lunch: {start: "00:30", end: "01:10"}}
"""
CAPPED = """
  remind_every: 20m
  hourly_cap: 2
  routes: [{to: [desk]}, {to: [boss], unacknowledged_for: 25m}]
"""
DROPS = """
  remind_every: 40m
  routes: [{to: [desk], quiet_hours: lunch}]
  quiet_hours: {lunch: {start: "00:30", end: "01:10", afterwards: drop}}
"""
STEP = 5
"""Minutes: everything happens at a whole number of them, and a daemon that looks as often misses nothing."""
LOOKS = st.tuples(st.sampled_from("PPFFU"), st.integers(1, 4).map(lambda steps: STEP * steps))
WORDS = st.tuples(st.sampled_from(["acknowledge", "resolve", "snooze"]), st.sampled_from(list(Resolution)))
LETTERS = {"P": Status.PASS, "F": Status.FAIL, "U": Status.UNKNOWN}


class Desk:
    """Notifies every few minutes, as a daemon does all the time, and remembers the notifications of each channel."""

    def __init__(self, project, store):
        self.project, self.store, self.minute, self.told = project, store, 0, []

    def catch_up(self, until):
        """Let the minutes go by before one."""
        while self.minute < until:
            now = START + self.minute * MINUTE
            notify(self.project, self.store, now)
            with self.store.writing() as tx:
                for row in tx.deliveries.lease(now, holder="me", lease_until=now + MINUTE, limit=100):
                    tx.deliveries.mark_sent(row.id, now, "me")
                    self.told += [(now, row.channel, entry["reason"]) for entry in row.payload["incidents"]]
            self.minute += STEP


@given(st.lists(LOOKS | WORDS, min_size=1, max_size=7), st.sampled_from([ALERTS, CAPPED, DROPS]))
@example([("F", 20), ("F", 20), ("U", 20), ("U", 20), ("U", 20)], ALERTS).via("a reminder that quiet hours hold")
@example([("F", 20), ("F", 20), ("U", 20), ("U", 20), ("U", 20)], CAPPED).via("a reminder that the cap holds")
@example([(letter, 10) for letter in "FPPFPFPFF"], DROPS).via("that it flaps, which quiet hours drop")
@example([("F", 15), ("P", 20), ("acknowledge", None), ("U", 20)], ALERTS).via("acknowledged as the next is told")
@example([("F", 20), ("P", 15), ("U", 25), ("snooze", None), ("P", 20)], CAPPED).via("a reminder after a snooze")
@settings(max_examples=examples(8), deadline=None)
def test_the_same_configuration_gives_the_alerts_that_were_sent(happenings, alerts):
    """Reminders, quiet hours, caps, the next in line: each message comes out at its minute, for its reason."""
    folder = Path(tempfile.mkdtemp())
    try:
        project = made(folder, alerts)
        with closing(project.open_store()) as store:
            play, desk = Play(project, store), Desk(project, store)
            for happening in happenings:
                if happening[0] in LETTERS:
                    desk.catch_up(play.now + happening[1])
                    play.look(LETTERS[happening[0]], at=play.now + happening[1])
                else:
                    desk.catch_up(play.now + STEP)
                    play.say(happening[0], resolution=happening[1], after=STEP)
            desk.catch_up(play.now + 1)
            result = play.simulated(everything=True)
        for log in result.alarm_log:
            assert [(item.at, item.channel, item.reason) for item in log if item.at <= play.moment] == desk.told
    finally:
        shutil.rmtree(folder)


def _played(tmp_path, letters, alerts=ROUTES):
    project = made(tmp_path, alerts)
    play = Play(project, project.open_store())
    for hour, letter in enumerate(letters):
        play.look(LETTERS[letter], at=60 * hour)
    return play


def test_a_flapping_incident_is_reported_again_after_a_day(tmp_path):
    """A channel is notified once a day that an incident flaps, also where reminders are more frequent."""
    alerts = "  open_after: 1\n  resolve_after: 1\n  remind_every: 20m\n  routes: [{to: [desk]}]\n"
    play = _played(tmp_path, "PFPF" * 6 + "FF", alerts)
    with closing(play.store):
        play.now += 60 * 30
        result = play.simulated(everything=True)
    notices = [alarm.at - START for alarm in result.alarm_log[0] if alarm.reason == "flapping"]
    assert notices == [timedelta(days=days, hours=5) for days in range(3)]


def test_an_incident_that_does_not_open_alarms_nobody(tmp_path):
    """With `open_after: 2` the single failing run sends no message, and the other incident sends as many as before."""
    play = _played(tmp_path, "PFPPPPFFFPPP")
    with closing(play.store):
        result = play.simulated(RuleProposal(open_after=2), hours=12)
    now, best, worst = result.alarms["desk"]
    assert (now.messages, best.messages, worst.messages) == (4, 2, 2)
    assert (now.problems, worst.problems) == (2, 1)


def test_another_route_wakes_somebody_else(tmp_path):
    """A proposed configuration with other routes shows the channels it would notify, and changes no figure."""
    play = _played(tmp_path, "PFFPPP")
    other = made(tmp_path, "  routes: [{to: [boss]}]\n", name="other.yaml")
    with closing(play.store):
        result = play.simulated(other=other, hours=12)
    assert result.changes[0].changed == ("routing",)
    assert [count.messages for count in result.alarms["desk"]] == [2, 0, 0]
    assert [count.messages for count in result.alarms["boss"]] == [0, 2, 2]
    assert result.now == result.then.as_ended[0]


def test_silences_hold_in_a_simulation_too(tmp_path):
    """A silence that there was holds the alerts of a proposal back as it did."""
    play = _played(tmp_path, "PFFPPP")
    with closing(play.store):
        with play.store.writing() as tx:
            tx.silences.add(
                scope="table", name="orders", starts_at=START, until=START + timedelta(days=1), reason="x", by="mina"
            )
        result = play.simulated(everything=True, hours=12)
    assert result.alarm_log == ((), ())


def test_an_incident_upstream_speaks_for_one_below(tmp_path):
    """What was recorded of tables upstream mutes simulated incidents as it mutes real ones."""
    project = made(tmp_path)
    play = Play(project, project.open_store())
    with closing(play.store):
        for hour, letter in enumerate("PFFPPP"):
            for table in ("orders", "lines"):
                play.look(LETTERS[letter], at=60 * hour, took=table == "lines", table=table)
        result = play.simulated(everything=True, checks=("lines.not-null",), hours=12)
    assert result.now.downtime.n == 1
    assert result.alarm_log == ((), ())


def test_the_store_is_as_it_was(tmp_path):
    """A simulation writes nothing: every table of the store has the rows it had."""
    play = _played(tmp_path, "PFFPPPFFPP")
    with closing(play.store):
        before = _content(tmp_path / "store.db")
        play.simulated(RuleProposal(open_after=2))
        assert _content(tmp_path / "store.db") == before


def _content(file):

    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())
