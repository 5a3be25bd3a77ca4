"""How scheduled queries are: answered, not answered, out of budget; and for how many answers that lasts."""

from datetime import timedelta

import pytest

from monitor.summaries.scheduled_queries import StatisticWord, statistics_of
from remedies.differential_privacy.epsilon import NANO
from tests.monitor.daemon.counted import HOUR, CountedPlant
from tests.monitor.shop import NOW


@pytest.fixture
def plant(tmp_path):
    """Return a plant with a statistic of 0.1 an hour, and no budget in the ledger yet."""
    plant = CountedPlant(tmp_path)
    plant.declare(total=0.25)
    yield plant
    plant.store.close()


def _state(plant):
    with plant.store.reading() as tx:
        (found,) = statistics_of(plant.project(), tx)
    return found


def test_the_life_of_a_statistic(plant):
    """Without a budget, waiting, answered, not answered because its table is away, and out of budget."""
    assert _state(plant).word is StatisticWord.NO_BUDGET
    plant.create()
    assert (_state(plant).word, _state(plant).left) == (StatisticWord.WAITS, 2)
    plant.go(plant.work())
    found = _state(plant)
    assert (found.word, found.left, found.slot.slot, found.next_slot) == (
        StatisticWord.ANSWERED, 1, NOW, NOW + HOUR,
    )  # fmt: skip
    with plant.away():
        plant.go(plant.work(once=True))
    assert _state(plant).word is StatisticWord.NOT_ANSWERED
    plant.go(plant.work())
    assert (_state(plant).word, _state(plant).left) == (StatisticWord.SPENT, 0)
    plant.ledger.change_total("orders", "row", NANO, reason="agreed", actor="ann", now=NOW)
    assert (_state(plant).word, _state(plant).left) == (StatisticWord.ANSWERED, 8)


def test_it_is_told_to_programs(plant):
    """Times in UTC, the cost as the exact text that was configured."""
    plant.create()
    plant.go(plant.work(), every=timedelta())
    assert _state(plant).to_json() == {
        "table": "orders",
        "statistic": "hourly",
        "state": "answered",
        "schedule": "every 1h",
        "cost": "0.1",
        "answers_left": 1,
        "last_slot": "2026-11-20T09:00:00+00:00",
        "last_slot_ended_at": "2026-11-20T09:00:00+00:00",
        "next_slot": "2026-11-20T10:00:00+00:00",
    }
