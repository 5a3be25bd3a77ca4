"""A daemon's work on scheduled queries, without processes."""

from contextlib import contextmanager
from datetime import timedelta

from monitor.answers.data_set import DataSet
from remedies.differential_privacy.epsilon import NANO
from tests.monitor.daemon.plant import Plant
from tests.monitor.shop import NOW

HOUR = timedelta(hours=1)
COUNT = "{schedule: every 1h, statistic: count, epsilon: 0.1}"


class CountedPlant(Plant):
    """A plant whose only table has no schedule, and a budget of 1 with statistics."""

    def declare(self, statistics=None, *, total=1, tables=None, **said):
        """Write the configuration."""
        lines = "".join(f"      {name}: {one}\n" for name, one in (statistics or {"hourly": COUNT}).items())
        more = f"budgets:\n  orders:\n    total: {total}\n    statistics:\n{lines}"
        self.configure(tables or {}, more=more, **said)

    def configure(self, schedules, *, more="", **said):
        super().configure(schedules, more=more, **said)
        if "orders" not in schedules:
            path = self.folder / "tablewatch.yaml"
            table = "tables:\n  - {name: orders, source: shop}\n"
            path.write_text(path.read_text(encoding="utf-8").replace("tables:\n", table, 1), encoding="utf-8")

    @staticmethod
    def kill(work):
        """Release what the system releases of a daemon's process that is killed; the daemon is not used any more."""
        for held in work._held.values():
            held.release()

    @property
    def ledger(self):
        return self.project().ledger(self.store)

    def create(self):
        """Create the budget."""
        budget = DataSet.of(self.project(), "orders").budget
        self.ledger.create(budget, actor="ann", now=self.clock.now())

    @property
    def spent(self):
        """Return what was charged, in thousandths of epsilon."""
        return self.ledger.balance("orders", "row").spent * 1000 // NANO

    @property
    def answers(self):
        """Return the ids of what was answered, oldest first."""
        return [answer.request_id for answer in reversed(self.ledger.answers("orders", "row"))]

    @property
    def told(self):
        """Return what operators heard."""
        return [(one.operation, one.name) for one in self.happened]

    def slots(self):
        with self.store.reading() as tx:
            slots = tx.slots.since(NOW - timedelta(days=1000), 1000)
        return [(slot.table, slot.slot, slot.state) for slot in reversed(slots)]

    def go(self, work, times=1, *, every=HOUR):
        """Let so many periods pass."""
        for _ in range(times):
            self.turn(work, steps=6)
            self.clock.advance(every)

    @contextmanager
    def away(self):
        """Let the shop be away in the block."""
        shop, hidden = self.folder / "shop.sqlite", self.folder / "hidden"
        shop.rename(hidden)
        try:
            yield
        finally:
            hidden.rename(shop)
