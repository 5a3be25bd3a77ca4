"""Warnings are notified once when they begin and once when they end, whatever fails or holds them back."""

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from checks import Kind, Severity
from incidents import WarningSpell
from store import DeliveryState
from tests.monitor.alerts.machine import NotificationMachine, run
from tests.monitor.alerts.made import NOW

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


class Warned(NotificationMachine):
    """Any history of warnings, with incidents beside them, reported on the way."""

    alerts = ALERTS

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
            self.made = tx.warnings.save(spell, self.now).id

    @rule(table=st.sampled_from(TABLES))
    def fail(self, table):
        """An incident begins and ends."""
        check = f"c{self.now}-{self.made}"
        self.desk.end(self.desk.open(table, self.now, check=check), self.now)
        self.now += timedelta(seconds=1)

    @rule(hours=st.integers(1, 9))
    def silence(self, hours):
        """A user silences alerts."""
        self.desk.silence("orders", until=max(self.now, NOW) + timedelta(hours=hours))

    def keys_in(self, payload):
        """Return which warnings a message is about."""
        return map(_key, payload["warnings"])

    def heard(self):
        """Return what each channel heard of each warning, in order: why, and whether it was over."""
        results = defaultdict(list)
        for message in self.messages():
            for each in message.payload["warnings"] if message.state is DeliveryState.SENT else ():
                results[message.channel, _key(each)].append((each["reason"], each["over"]))
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
        """A channel that was notified of the beginning is notified of the end; none misses what lasts."""
        with self.store.reading() as tx:
            spells = tx.warnings.get_many(range(1, self.made + 1))
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
                key = (channel, (spell.series, spell.began_at.isoformat()))
                if key in self.lost:
                    continue
                if spell.ended_at is None:
                    assert heard[key] == [("first", False)], key
                else:
                    assert heard[key] in ([], [("first", True)], [("first", False), ("resolved", True)]), key
                    assert heard[key] or (channel, spell.id) not in owed, key


def _key(warning):
    return warning["series"], warning["began_at"]


TestWarned = run(Warned, 12)
