"""What the machines of laws about notifications share: time, crashes, silences of channels, and an end in calm."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from monitor.alerts.notify import notify
from store._outbox import OutboxWriter
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import NOW, project
from tests.tiers import examples


class Crash(BaseException):
    """The process dies."""


class NotificationMachine(RuleBasedStateMachine):
    """A store with notifications; what happens in it is up to subclasses."""

    alerts: str

    @initialize()
    def begin(self):
        """Make an empty store."""
        self.folder = Path(tempfile.mkdtemp())
        self.project = project(self.folder, self.alerts)
        self.store = self.project.open_store()
        self.desk = Desk(self.project, self.store)
        self.now = NOW
        self.lost = set()
        self.made = 0

    def teardown(self):
        """Let everything calm down, check that every channel knows the state, and clean up."""
        if not hasattr(self, "store"):
            return
        try:
            self.calm_down()
            self.everybody_knows_the_truth()
        finally:
            self.store.close()
            shutil.rmtree(self.folder)

    def calm_down(self):
        """End all snoozes and silences: three days pass, and everything arrives."""
        end = self.now + timedelta(days=3)
        while self.now < end:
            notify(self.project, self.store, self.now)
            self.desk.arrive(self.now)
            self.now += timedelta(minutes=30)

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
                self.lost |= {(delivery.channel, key) for key in self.keys_in(delivery.payload)}

    def messages(self):
        """Return every message so far, the oldest first."""
        with self.store.reading() as tx:
            return tx.deliveries.since(NOW - timedelta(days=1), 10_000)[::-1]


def run(machine, most):
    """Return a test of a machine that generates so many histories."""
    machine.TestCase.settings = settings(
        max_examples=examples(most),
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    return machine.TestCase
