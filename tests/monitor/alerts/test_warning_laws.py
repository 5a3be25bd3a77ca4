"""Warnings are told once when they begin and once when they end, whatever dies when and whatever holds them back."""

import shutil
import tempfile
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from checks import Kind, Severity
from incidents import WarningSpell
from monitor.alerts.notify import notify
from store import DeliveryState
from store._outbox import OutboxWriter
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import NOW, project
from tests.tiers import examples

ALERTS = """
  hourly_cap: 3
  routes:
    - {match: {outcome: warn}, to: [desk], quiet_hours: nights}
    - {match: {outcome: warn, domain: sales}, to: [audit]}
    - {match: {outcome: warn}, to: [crew], digest: {at: "08:00"}}
    - {to: [audit]}
  quiet_hours: {nights: {start: "22:00", end: "07:00"}}
"""
CHANNELS = ("desk", "audit", "crew")
TABLES = ("orders", "stray", "t1", "t2", "t3", "t4")


class Crash(BaseException):
    """The process dies."""


class Warned(RuleBasedStateMachine):
    """Any history of warnings, with incidents beside them, told on the way."""

    @initialize()
    def begin(self):
        """Make an empty store."""
        self.folder = Path(tempfile.mkdtemp())
        self.project = project(self.folder, ALERTS)
        self.store = self.project.open_store()
        self.desk = Desk(self.project, self.store)
        self.now = NOW
        self.lost = set()
        self.spells = []

    def teardown(self):
        """Let everything calm down, and look whether everybody knows the truth."""
        if not hasattr(self, "store"):
            return
        try:
            for _ in range(48):
                notify(self.project, self.store, self.now)
                self.desk.arrive(self.now)
                self.now += timedelta(hours=1.5)
            self.everybody_knows_the_truth()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(table=st.sampled_from(TABLES))
    def turn(self, table):
        """The warning of a table begins, or ends."""
        series = f"{table}.not-null"
        self.now += timedelta(seconds=1)
        with self.store.writing() as tx:
            lasting = tx.warnings.lasting().get(series)
            if lasting is not None:
                tx.warnings.save(replace(lasting, passing_since=self.now, passes=1, ended_at=self.now), self.now)
                return
            title = ("{n:count} rows", {"n": 1})
            spell = WarningSpell(series, table, series, Kind.QUALITY, Severity.WARNING, *title, began_at=self.now)
            self.spells.append(tx.warnings.save(spell, self.now))

    @rule(table=st.sampled_from(TABLES))
    def fail(self, table):
        """An incident begins and ends."""
        check = f"c{self.now.timestamp()}-{len(self.spells)}-{self.now}"
        self.desk.end(self.desk.open(table, self.now, check=check), self.now)
        self.now += timedelta(seconds=1)

    @rule(hours=st.integers(1, 9))
    def silence(self, hours):
        """Somebody wants silence."""
        self.desk.silence("orders", until=max(self.now, NOW) + timedelta(hours=hours))

    @rule(minutes=st.sampled_from([1, 3, 10, 45, 200, 800, 3000]))
    def wait(self, minutes):
        """Time passes."""
        self.now += timedelta(minutes=minutes)

    @rule(remind=st.booleans())
    def tell(self, remind):
        """What is due is decided."""
        notify(self.project, self.store, self.now, remind=remind)

    @rule(after=st.integers(0, 6))
    def tell_and_die(self, after):
        """The process dies while it decides."""
        real, calls = OutboxWriter._set_waiting, []

        def dies(outbox, *given):
            calls.append(1)
            if len(calls) > after:
                raise Crash
            return real(outbox, *given)

        OutboxWriter._set_waiting = dies
        try:
            notify(self.project, self.store, self.now)
        except Crash:
            pass
        finally:
            OutboxWriter._set_waiting = real

    @rule()
    def restart(self):
        """Another process opens the store."""
        self.store.close()
        self.store = self.project.open_store()
        self.desk = Desk(self.project, self.store)

    @rule()
    def arrive(self):
        """What waits is delivered."""
        self.desk.arrive(self.now)

    @rule()
    def give_up(self):
        """What waits is given up."""
        with self.store.writing() as tx:
            for delivery in tx.deliveries.lease(self.now, holder="me", lease_until=self.now, limit=1000):
                tx.deliveries.mark_dead(delivery.id, self.now, "nobody answers", "me")
                self.lost |= {(delivery.channel, *_key(each)) for each in delivery.payload["warnings"]}

    def heard(self):
        """Return what each channel heard of each warning, in order: why, and whether it was over."""
        with self.store.reading() as tx:
            messages = tx.deliveries.since(NOW - timedelta(days=1), 10_000)[::-1]
        results = defaultdict(list)
        for message in messages:
            for each in message.payload["warnings"] if message.state is DeliveryState.SENT else ():
                results[message.channel, *_key(each)].append((each["reason"], each["over"]))
        return results

    @precondition(lambda self: hasattr(self, "store"))
    @invariant()
    def each_is_told_once(self):
        """A beginning, then an end; or, of what was kept back until it was over, both at once."""
        stories = {("first", False), ("resolved", True)}, {("first", True)}, {("first", False)}
        for key, story in self.heard().items():
            assert len(story) == len(set(story)), (key, story)
            assert set(story) in stories, (key, story)
            assert story == sorted(story), (key, story)

    def everybody_knows_the_truth(self):
        """Whoever heard of the beginning hears of the end; nobody who should know of what lasts does not."""
        with self.store.reading() as tx:
            spells = tx.warnings.get_many([spell.id for spell in self.spells])
            assert tx.outbox.waiting(99) == []
            changes = tx.outbox.of_warnings(spells)
        owed = {
            (channel, change.warning_id)
            for change in changes
            for channel, record in change.decision["channels"].items()
            if record["owed"]
        }
        heard = self.heard()
        for spell in spells.values():
            for channel in CHANNELS if spell.table == "orders" else ("desk", "crew"):
                key = (channel, spell.series, spell.began_at.isoformat())
                if key in self.lost:
                    continue
                if spell.ended_at is None:
                    assert heard[key] == [("first", False)], key
                else:
                    assert heard[key] in ([], [("first", True)], [("first", False), ("resolved", True)]), key
                    assert heard[key] or (channel, spell.id) not in owed, key


def _key(warning):
    return warning["series"], warning["began_at"]


Warned.TestCase.settings = settings(
    max_examples=examples(12),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
TestWarned = Warned.TestCase
