"""`doctor` on scheduled queries: which are not answered, and whose budget runs out first."""

from datetime import timedelta

import pytest

from monitor.config import load
from monitor.doctor.budgets import examine_statistics
from monitor.doctor.finding import FindingStatus
from tests.monitor.daemon.counted import COUNT, CountedPlant


@pytest.fixture
def plant(tmp_path):
    """Return a plant with two statistics of one budget."""
    plant = CountedPlant(tmp_path)
    plant.declare({"hourly": COUNT, "large": COUNT.replace("0.1", "0.3")}, total=0.75)
    yield plant
    plant.store.close()


def _found(plant):
    findings = examine_statistics(load(plant.folder / "tablewatch.yaml"))
    return [(finding.verdict, finding.message) for finding in findings]


def test_without_a_budget_nothing_is_said(plant):
    """That a budget was not created is said of the budget."""
    assert _found(plant) == []


def test_what_is_answered_is_well_and_says_how_long(plant):
    """The one that runs out first is named."""
    plant.create()
    plant.go(plant.work(), every=timedelta())
    ((verdict, message),) = _found(plant)
    assert verdict is FindingStatus.OK
    assert message.startswith("2 scheduled queries active; ")
    assert message.endswith("orders/large, which runs out of budget first, has 1 answer left")


def test_what_is_not_answered_is_told(plant):
    """One whose table was away, and one whose budget is spent."""
    plant.create()
    plant.go(plant.work())
    with plant.away():
        plant.go(plant.work(once=True))
    slot = "2026-11-20 10:00Z"
    assert _found(plant) == [
        (FindingStatus.WARNING, f"orders/hourly was not answered for {slot}"),
        (FindingStatus.WARNING, f"orders/large was not answered for {slot}"),
    ]
    plant.go(plant.work())
    spent, well = _found(plant)
    assert spent == (
        FindingStatus.WARNING, "orders/large no longer runs: its remaining budget is less than its cost",
    )  # fmt: skip
    assert well[0] is FindingStatus.OK


def test_without_statistics_nothing_is_said(plant):
    """Most projects have none."""
    plant.configure({"orders": "every 1h"})
    assert _found(plant) == []
