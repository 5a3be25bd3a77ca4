"""A daemon that does not do what it is there for sends no heartbeat."""

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.daemon.background_jobs import BackgroundJobs
from monitor.daemon.daemon import DaemonProcess
from monitor.workers import PoolState
from tests.monitor.daemon.plant import PlacedPool, Plant


@pytest.fixture
def plant(tmp_path):
    """Return a plant."""
    plant = Plant(tmp_path)
    yield plant
    plant.store.close()


@pytest.fixture
def daemon(plant):
    """Return a daemon that has just been made."""
    return DaemonProcess(plant.project(), plant.folder / "tablewatch.yaml", plant.store, pool=plant.pool)


def test_a_loop_that_stands_still_for_a_minute_is_not_well(plant, daemon):
    """It waits for the store 20 s at most, so after a minute something is wrong."""
    assert daemon.is_well
    plant.clock.advance(timedelta(seconds=59))
    assert daemon.is_well
    plant.clock.advance(timedelta(seconds=1))
    assert not daemon.is_well


def test_a_store_that_takes_nothing_is_not_well(daemon):
    """As long as it does not."""
    daemon._work.problem = "the disk is full"
    assert not daemon.is_well


def test_no_workers_is_not_well(daemon, monkeypatch):
    """Nothing is looked at then."""
    state = PoolState(size=2, alive=0, busy=0, silent=0, waiting=0, trouble=None)
    monkeypatch.setattr(PlacedPool, "state", state)
    assert daemon.is_well
    monkeypatch.setattr(PlacedPool, "state", replace(state, trouble="no process"))
    assert not daemon.is_well


@pytest.mark.parametrize(("seconds", "well"), [(0.0, True), (119.0, True), (120.0, False)])
def test_alerts_that_are_not_decided_on_are_not_well(plant, daemon, monkeypatch, seconds, well):
    """Undelivered alerts make the daemon unwell, whether a bug or a server that hangs is in the way."""
    daemon._background = BackgroundJobs({}, plant.clock)
    monkeypatch.setattr(BackgroundJobs, "failing_for", lambda _, name: seconds if name == "alerts" else 0.0)
    assert daemon.is_well is well
