"""Daily limits: checks of low severity are delayed first, none is forgotten, and daemons keep one limit together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.clock import SimulatedClock
from monitor.daemon.work_loop import DaemonIdentity, WorkLoop
from monitor.scan.results import ScanCost, TableResult
from sources import ReadVolume
from store import SkipReason, Slot
from tests.monitor.daemon.plant import PlacedPool, Plant
from tests.monitor.shop import NOW

DAY = NOW.date()
HOUR = timedelta(hours=1)
SEVERITIES = ("info", "warning", "error", "critical")


class CostlyPool(PlacedPool):
    """A pool whose looks cost what they are said to, by table."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(clock)
        self.costs: dict[str, ScanCost] = {}

    def events(self, timeout: float) -> list:
        """Return what was found, at its price."""
        return [
            replace(event, table_result=self._priced(event.table_result)) if hasattr(event, "table_result") else event
            for event in super().events(timeout)
        ]

    def _priced(self, table_result: TableResult) -> TableResult:
        return replace(table_result, cost=self.costs[table_result.target.subject.name])


class CostlyPlant(Plant):
    """A plant with tables of given severities and costs, and a limit of their source."""

    def __init__(self, folder: Path, limit: str = "{seconds: 100}") -> None:
        super().__init__(folder)
        self.limit = limit
        self.pool = CostlyPool(self.clock)

    def tables(self, tables: dict[str, tuple[str, str, float]]) -> None:
        """Configure tables: severity, schedule and seconds of each."""
        lines = "".join(
            f"  - {{name: {name}, source: shop, table: orders, schedule: '{schedule}', "
            f"checks: [{{type: primary_key, columns: [id], severity: {severity}}}]}}\n"
            for name, (severity, schedule, _) in tables.items()
        )
        self.configure({}, more=lines)
        file = self.folder / "tablewatch.yaml"
        text = file.read_text().replace("timezone: UTC", f"timezone: UTC, daily_limit: {self.limit}")
        file.write_text(text.replace("project: plant", "project: plant\ntimezone: UTC"))
        self.pool.costs = {name: ScanCost(seconds) for name, (_, _, seconds) in tables.items()}

    def spent(self, day: date = DAY) -> float:
        """Return the seconds that were spent on a day."""
        with self.store.reading() as tx:
            return tx.costs.of_source("shop", day).seconds

    def slots(self) -> Sequence[Slot]:
        """Return all slots that were run, by their time."""
        with self.store.reading() as tx:
            return sorted(tx.slots.since(NOW - HOUR, 10_000), key=lambda slot: (slot.slot, slot.table))

    def ran(self, table: str) -> list[datetime]:
        """Return the slots of a table that were run."""
        return [slot.slot for slot in self.slots() if slot.table == table]

    def delayed(self) -> list[str]:
        """Name the tables that are delayed."""
        with self.store.reading() as tx:
            return [row.table for row in tx.schedule.delayed()]

    def go(self, *works: WorkLoop, until: datetime, step: timedelta = HOUR) -> None:
        """Let time pass, with a few steps of each daemon after each."""
        while self.clock.now() < until:
            for work in works:
                self.turn(work, steps=4)
            self.clock.advance(step)


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[CostlyPlant]:
    """Return a plant whose source may be asked for 100 seconds a day."""
    plant = CostlyPlant(tmp_path)
    yield plant
    plant.store.close()


MIDNIGHT = datetime.combine(DAY + timedelta(days=1), datetime.min.time(), NOW.tzinfo)


def test_low_severity_is_delayed_first_and_runs_when_the_day_ends(plant: CostlyPlant) -> None:
    """What higher severities still need today is kept for them; the delayed table runs in the new day, once."""
    plant.tables({"low": ("warning", "every 1h", 10), "high": ("error", "every 1h", 6)})
    work = plant.work()
    plant.go(work, until=MIDNIGHT)
    assert len(plant.ran("high")) == (MIDNIGHT - NOW) // HOUR
    assert plant.delayed() == ["low"]
    assert plant.spent() <= 100
    before = len(plant.ran("low"))
    plant.clock.advance(timedelta(minutes=1))
    plant.turn(work, steps=4)
    assert len(plant.ran("low")) == before + 1
    assert plant.delayed() == []
    with plant.store.reading() as tx:
        skips = [skip for skip in tx.schedule.skips(NOW, 100) if skip.table == "low"]
    assert {skip.reason for skip in skips} == {SkipReason.LIMIT}
    assert sum(skip.count for skip in skips) > 0


def test_time_that_a_delay_left_unobserved_counts_as_such(plant: CostlyPlant) -> None:
    """A delayed table was not looked at: the store has that as a gap of its checks, never as a pass."""
    plant.tables({"low": ("warning", "every 1h", 60)})
    work = plant.work()
    plant.go(work, until=MIDNIGHT + 2 * HOUR)
    with plant.store.reading() as tx:
        (gap,) = tx.results.gaps(NOW, MIDNIGHT + 2 * HOUR)
    assert gap.check_id == "low.primary-key"
    assert gap.end - gap.start >= MIDNIGHT - NOW - 3 * HOUR


def test_critical_checks_are_never_delayed_and_count(plant: CostlyPlant) -> None:
    """Critical tables run at each slot, beyond the limit too; then nothing else does."""
    plant.tables({"top": ("critical", "every 1h", 60), "other": ("error", "every 1h", 1)})
    work = plant.work()
    plant.go(work, until=NOW + 5 * HOUR)
    assert len(plant.ran("top")) == 5
    assert plant.spent() >= 300
    assert plant.delayed() == ["other"]


def test_what_a_person_runs_is_not_blocked_but_counts(plant: CostlyPlant) -> None:
    """An ad-hoc check runs beyond the limit; what it costs delays what the daemon would run."""
    from monitor.config.selector import select
    from monitor.scan.run import run_checks

    plant.tables({"low": ("warning", "every 1h", 1)})
    plant.limit = "{rows: 1}"
    project = plant.project()
    with mock.patch("monitor.scan.scanner.ScanCost", lambda _, volume: ScanCost(200.0, volume)):
        for _ in range(2):
            assert run_checks(project, select([], project.config), store=plant.store).summary["pass"] == 1
    assert plant.spent() == 400
    plant.turn(plant.work())
    assert plant.ran("low") == []
    assert plant.delayed() == ["low"]


def test_rows_are_limited_where_the_engine_tells(plant: CostlyPlant) -> None:
    """A limit of rows holds for what is reported; seconds are then unlimited."""
    plant.limit = "{rows: 25}"
    plant.tables({"low": ("warning", "every 1h", 1000)})
    plant.pool.costs = {"low": ScanCost(1000.0, ReadVolume(10))}
    plant.go(plant.work(), until=NOW + 6 * HOUR)
    assert len(plant.ran("low")) == 2
    assert plant.delayed() == ["low"]


def test_bytes_are_limited_where_the_engine_tells(plant: CostlyPlant) -> None:
    """The same for bytes; a run of which the engine tells nothing counts for none."""
    plant.limit = "{bytes: 1000}"
    plant.tables({"low": ("warning", "every 1h", 1), "untold": ("info", "every 1h", 1)})
    plant.pool.costs["low"] = ScanCost(1.0, ReadVolume(None, 400))
    plant.go(plant.work(), until=NOW + 6 * HOUR)
    assert len(plant.ran("low")) == 2
    assert plant.delayed() == ["low"]


def test_a_new_limit_is_used_at_once(plant: CostlyPlant) -> None:
    """When the configuration has a larger limit, delayed tables are run; without one too."""
    plant.tables({"low": ("warning", "every 1h", 60)})
    work = plant.work()
    plant.go(work, until=NOW + 3 * HOUR)
    assert (len(plant.ran("low")), plant.delayed()) == (1, ["low"])
    plant.limit = "{seconds: 130}"
    plant.tables({"low": ("warning", "every 1h", 60)})
    work.adopt(plant.project())
    plant.turn(work, steps=4)
    assert (len(plant.ran("low")), plant.delayed()) == (2, [])


STARVING = {
    "costlier than the limit": {"big": ("error", "every 1h", 150)},
    "beside critical ones": {"top": ("critical", "every 6h", 20), "big": ("error", "every 1h", 90)},
    "many alike": dict.fromkeys("abcd", ("error", "every 1h", 60)),
    "daily ones of higher severity": {
        "e1": ("error", "cron: 0 0 * * *", 50),
        "e2": ("error", "cron: 0 0 * * *", 50),
        "low": ("warning", "cron: 0 0 * * *", 40),
    },
}


@pytest.mark.parametrize("case", STARVING)
def test_no_table_waits_for_ever(plant: CostlyPlant, case: str) -> None:
    """Who waits longest comes first, and after a whole day it is run while anything is left, whatever it costs."""
    plant.tables(STARVING[case])
    plant.go(plant.work(), until=MIDNIGHT + timedelta(days=6))
    for table in STARVING[case]:
        assert len([slot for slot in plant.ran(table) if slot >= MIDNIGHT + timedelta(days=1)]) >= 2


def test_one_that_waits_in_vain_keeps_nothing_from_others(plant: CostlyPlant) -> None:
    """What is kept for a table that waits is kept until it is looked at; where it does not fit, others run that day."""
    plant.tables(
        {"top": ("critical", "every 12h", 15), "big": ("warning", "every 1h", 90), "low": ("info", "every 1h", 1)}
    )
    work = plant.work()
    plant.go(work, until=MIDNIGHT + timedelta(days=1), step=timedelta(minutes=20))
    assert len([slot for slot in plant.ran("low") if slot >= MIDNIGHT]) >= 23


def test_each_run_from_cron_looks_at_what_is_delayed(plant: CostlyPlant) -> None:
    """A daemon that runs once what is due at its start runs a delayed table too, as soon as it fits."""
    plant.tables({"low": ("warning", "every 1h", 60)})
    while plant.clock.now() < MIDNIGHT + HOUR:
        me = DaemonIdentity("me", alone=True, only_until=plant.clock.now())
        plant.clock.advance(timedelta(milliseconds=5))  # until the configuration is adopted
        plant.turn(WorkLoop(plant.store, plant.pool, plant.project(), me=me, listener=plant), steps=6)
        plant.clock.advance(HOUR)
    assert len(plant.ran("low")) == 2


def test_the_log_says_it_once(plant: CostlyPlant) -> None:
    """A line names the code, the source and the table when it begins to be delayed, and not at each new look."""
    plant.tables({"low": ("warning", "every 1h", 60)})
    with mock.patch("monitor.daemon.claims.LOG") as log:
        plant.go(plant.work(), until=NOW + 6 * HOUR)
    lines = [call.args[1] for call in log.warning.call_args_list if "daily-limit" in str(call.args)]
    what = "low (warning) delayed, until the day ends at the latest"
    assert lines == [f"source shop: daily-limit: {what}; today 1 run, 1 min in the engine"]


SCHEDULES = st.sampled_from(["every 1h", "every 3h", "cron: 0 * * * *"])
TABLES = st.lists(st.tuples(st.sampled_from(SEVERITIES), SCHEDULES, st.integers(1, 40)), min_size=1, max_size=5)


@settings(max_examples=12, deadline=None)
@given(TABLES, st.integers(30, 200), st.integers(1, 2))
def test_spending_goes_beyond_the_limit_by_critical_checks_only(
    tables: list[tuple[str, str, int]], limit: int, daemons: int
) -> None:
    """Once costs are known, no run of a day that is not critical begins beyond the limit, with several daemons too."""
    with TemporaryDirectory() as folder:
        plant = CostlyPlant(Path(folder), f"{{seconds: {limit}}}")
        try:
            named = {f"t{number}": (word, every, float(cost)) for number, (word, every, cost) in enumerate(tables)}
            plant.tables(named)
            works = [plant.work(holder=f"d{number}", alone=daemons == 1) for number in range(daemons)]
            plant.go(*works, until=MIDNIGHT + timedelta(days=1))
            critical = {name for name, (word, _, _) in named.items() if word == "critical"}
            with plant.store.reading() as tx:
                paid = tx.costs.by_table(MIDNIGHT.date(), MIDNIGHT.date())
            assert sum(spending.seconds for (_, name), spending in paid.items() if name not in critical) <= limit
            for name in critical:
                assert paid["shop", name].runs == (8 if named[name][1] == "every 3h" else 24)
        finally:
            plant.store.close()
