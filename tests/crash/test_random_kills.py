"""Kill the daemon at random moments, again and again: no acknowledged data is lost, no message is missing or twice."""

import os
import random

import pytest

from tests.crash.invariants import Remains, Seen
from tests.crash.places import TABLES, Endpoint, Place
from tests.crash.settling import settle
from tests.monitor.alerts.receivers import listening
from tests.tiers import examples

ROUNDS = int(os.environ.get("TABLEWATCH_CRASH_ROUNDS", str(examples(100))))
SEED = int(os.environ.get("TABLEWATCH_CRASH_SEED", "20261121"))

_LONGEST_LIFE_S = 1.1
_SLOWEST = 4.0
"""On a busy machine daemons live so many times as long at most, so that three in four come to a result."""
_DAY_S = 86_400.0
_CHECKED_EVERY = 1 if ROUNDS <= 200 else 20


class _Story:
    """Lives and deaths on one store."""

    def __init__(self, nursery, place, endpoint, *, seed):
        self.nursery, self.place, self.endpoint = nursery, place, endpoint
        self.dice = random.Random(seed)
        self.seen = Seen()
        self.shift_s = 0.0
        self.killed = 0
        self.slowness = 1.0

    def round(self, *, workers=False):
        """Let a daemon live for a moment while tables change, kill it, and look at what it left."""
        self._move_the_clock()
        for name in TABLES:
            if self.dice.random() < 0.1:
                self.place.turn(name)
            if self.dice.random() < 0.1:
                self.place.turn_warning(name)
        lives_s = self.slowness * (self.dice.uniform(0.0, _LONGEST_LIFE_S) + (3.0 if workers else 0.0))
        life = self.nursery.begin("watch", self.place.folder, shift_s=self.shift_s, workers=workers)
        first = self.dice.uniform(0.0, lives_s)
        life.wait(first)
        self.place.turn(self.dice.choice(TABLES)) if self.dice.random() < 0.2 else None
        life.wait(lives_s - first)
        self._end(life)

    def _end(self, life):
        assert life.wait(0.0) is None, f"it ended by itself: {life.said()}"
        assert life.kill() == -9
        self.killed += 1
        acknowledged = life.acknowledged()
        self.seen.acknowledged += acknowledged
        self.slowness = max(1.0, self.slowness / 1.03) if acknowledged else min(_SLOWEST, self.slowness * 1.1)

    def _move_the_clock(self):
        """Let the machine sleep for eight days now and then, or its clock be set back by ten minutes."""
        chance = self.dice.random()
        if chance < 0.12:
            self.shift_s += 8 * _DAY_S
        elif chance < 0.15 and self.place.store.exists():
            self.shift_s -= 600.0
            self.seen.cuts.append(Remains(self.place.store).last_numbers())

    def look(self):
        """Look at what is left."""
        if not self.place.store.exists():
            return
        remains = Remains(self.place.store)
        remains.are_sound()
        remains.hold(self.seen.acknowledged)
        remains.leave_no_gap(self.seen.cuts)
        remains.match(self.endpoint)


@pytest.mark.timeout(max(600, 8 * ROUNDS))
def test_a_daemon_that_is_killed_at_random(nursery, tmp_path, record_property):
    """No result that was acknowledged is lost, no incident is open twice, no slot is forgotten, every alert arrives."""
    endpoint = Endpoint(SEED)
    with listening(endpoint) as receiver:
        place = Place(tmp_path, port=receiver.port, warnings=True)
        story = _Story(nursery, place, endpoint, seed=SEED)
        for number in range(ROUNDS):
            story.round(workers=number % 40 == 39)
            if number % _CHECKED_EVERY == 0:
                story.look()
        endpoint.fair = True
        settle(nursery, place, story.seen, shift_s=story.shift_s, step_s=2 * _DAY_S)
        remains = Remains(place.store)
        for name, value in zip(("lost", "doubled"), remains.count(story.seen.acknowledged), strict=True):
            record_property(name, value)
        story.look()
        remains = Remains(place.store)
        remains.fold()
        remains.are_told(endpoint)
        remains.tell_the_truth({name: name in place.bad for name in TABLES})
        remains.warn_of(place.warned)
        for name, value in {
            "kills": story.killed,
            "acknowledged": len(story.seen.acknowledged),
            "slots": remains.leave_no_gap(story.seen.cuts),
            "incidents": remains.number("SELECT count(*) FROM incident"),
            "warnings": remains.number("SELECT count(*) FROM warning"),
            "messages": len(endpoint.taken),
            "requests": endpoint.requests,
            "repeats": endpoint.repeats,
            "retried": remains.number("SELECT count(*) FROM slot WHERE attempt > 1"),
        }.items():
            record_property(name, value)
            print(name, value)  # noqa: T201 - the numbers of a soak
    assert story.killed == ROUNDS
    assert story.seen.acknowledged
    assert endpoint.taken
