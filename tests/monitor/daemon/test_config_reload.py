"""A changed configuration is taken over as a whole; what the store was too busy for is done later."""

from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from incidents import Resolution
from monitor.alerts.operational import Operation
from monitor.config.project import Project
from monitor.config.team_fallback import load_apart
from monitor.daemon import config_reload as module
from monitor.daemon.config_reload import ConfigWatch, Reloader, rehearse, unwatched
from monitor.daemon.observer import Observer
from monitor.daemon.presence import DaemonPresence
from monitor.daemon.timetable import Timetable
from monitor.scan.recorder import retire
from store import IncidentFilter, StoreBusy
from tests.monitor.daemon.plant import Plant


@pytest.fixture
def plant(tmp_path):
    """Return a plant of which the table is bad, and known to be."""
    plant = Plant(tmp_path)
    yield plant
    plant.store.close()


def _reloader(plant):
    project, work = plant.project(), plant.work()
    plant.turn(work)
    watch = ConfigWatch(Path(plant.folder / "tablewatch.yaml"), project.loaded)
    observer = Observer(plant.store, lambda: project, plant.clock, plant.on_event)
    presence = DaemonPresence(plant.store, plant.clock, project.loaded)
    found = Reloader(project, watch, plant.store, work=work, observer=observer, presence=presence)
    found.begin()
    return found


def test_incidents_of_checks_that_are_gone_are_closed_though_the_store_was_busy(plant, monkeypatch):
    """The configuration is in use at once; the incidents are closed when the store can be written."""
    plant.configure({"orders": "every 15m"}, checks="{type: volume, min: 100}")
    reloader = _reloader(plant)
    plant.configure({"orders": "every 15m"})
    with monkeypatch.context() as busy:
        busy.setattr(module, "retire", mock.Mock(side_effect=StoreBusy("locked")))
        reloader.reload()
        assert [check.type for table in reloader.project.config.tables for check in table.checks] == [
            "primary_key",
            "not_null",
        ]
    with plant.store.reading() as tx:
        assert [incident.resolution for incident in tx.incidents.matching(IncidentFilter())] == [None]
    reloader.retry()
    with plant.store.reading() as tx:
        assert [incident.resolution for incident in tx.incidents.matching(IncidentFilter())] == [Resolution.NO_ACTION]


def test_a_configuration_that_the_store_is_too_busy_for_is_used_later(plant, monkeypatch):
    """Until then the old one is in use, whole."""
    reloader = _reloader(plant)
    before = reloader.project
    plant.configure({"orders": "every 15m", "more": "every 1h"})
    with monkeypatch.context() as busy:
        busy.setattr(reloader._work, "adopt", mock.Mock(side_effect=StoreBusy("locked")))
        reloader.reload()
        reloader.retry()
        assert reloader.project is before
    reloader.retry()
    assert [table.name for table in reloader.project.config.tables] == ["orders", "more"]


def test_tables_that_nobody_looks_at_are_named(plant):
    """Three of them at most; of all tables, that nothing will happen."""
    assert unwatched(plant.project()) == ()
    plant.configure({"orders": "every 15m", **{f"t{number}": "every 1h" for number in range(4)}})
    path = plant.folder / "tablewatch.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("schedule: 'every 1h', ", ""), encoding="utf-8")
    said = "4 tables have no schedule and are checked only by 'tablewatch check': t0, t1, t2, ..."
    assert unwatched(plant.project()) == (said,)
    path.write_text(path.read_text(encoding="utf-8").replace("schedule: 'every 15m', ", ""), encoding="utf-8")
    assert [line.partition(",")[0] for line in unwatched(plant.project())] == ["no table has a schedule"]


def test_a_configuration_that_is_wrong_in_one_way_after_another_is_told_once(plant):
    """Repairs by trial are not reported one by one; the status says what is wrong now, and its end is reported."""
    reloader = _reloader(plant)
    path = plant.folder / "tablewatch.yaml"
    text = path.read_text(encoding="utf-8")
    for wrong in ("tabels", "tabless"):
        path.write_text(f"{text}{wrong}: 1\n", encoding="utf-8")
        reloader.reload()
        assert wrong in reloader._presence.config_error
        assert not reloader._observer.metrics.config_ok
    path.write_text(text, encoding="utf-8")
    reloader.reload()
    assert reloader._presence.config_error is None
    assert reloader._observer.metrics.config_ok
    assert [one.operation for one in plant.happened] == [Operation.CONFIG_FAILED, Operation.CONFIG_FINE]


TEAMS = "teams: {shop: {folder: shop, tables: ['shop.*'], sources: [shop]}}\n"
TABLE = "tables: [{name: shop.orders, source: shop, table: orders, schedule: every 15m, checks: [CHECK]}]\n"


def _write_team(plant, check):
    folder = plant.folder / "shop"
    folder.mkdir(exist_ok=True)
    (folder / "a.yaml").write_text(TABLE.replace("CHECK", check), encoding="utf-8")
    plant.configure({"orders": "every 15m"}, more=TEAMS)


def test_a_team_with_an_error_keeps_its_tables_and_the_rest_is_taken_over(plant):
    """Operators hear of it once; the team's table is looked at as before, and its incident lasts."""
    _write_team(plant, "{type: volume, min: 100}")
    reloader = _reloader(plant)
    (plant.folder / "shop" / "a.yaml").write_text("storage: {}\n", encoding="utf-8")
    plant.configure({"orders": "every 15m", "more": "every 1h"}, more=TEAMS)
    reloader.reload()
    reloader.reload()
    assert [table.name for table in reloader.project.config.tables] == ["orders", "more", "shop.orders"]
    assert "team 'shop' keeps its previous files: " in reloader._presence.config_error
    assert "may not define 'storage'" in reloader._presence.config_error
    with plant.store.reading() as tx:
        assert [incident.resolution for incident in tx.incidents.matching(IncidentFilter())] == [None]
    _write_team(plant, "{type: volume, min: 1}")
    reloader.reload()
    assert reloader._presence.config_error is None
    assert [table.name for table in reloader.project.config.tables] == ["orders", "shop.orders"]
    assert [event.operation for event in plant.happened] == [Operation.CONFIG_FAILED, Operation.CONFIG_FINE]


def test_a_table_that_moves_into_a_broken_file_of_a_team_keeps_its_incident(plant):
    """It may be in there; once the file can be read and has it not, the incident is closed."""
    _write_team(plant, "{type: volume, min: 100}")
    whole = (plant.folder / "shop" / "a.yaml").read_text(encoding="utf-8")
    teams = "teams: {shop: {folder: shop, tables: [shop.*], sources: [shop]}, web: {folder: web, tables: [shop.*]}}\n"
    (plant.folder / "web").mkdir()
    (plant.folder / "web" / "a.yaml").write_text("contracts: {}\n", encoding="utf-8")
    plant.configure({"orders": "every 15m"}, more=teams)
    reloader = _reloader(plant)
    (plant.folder / "shop" / "a.yaml").write_text("tables: []\n", encoding="utf-8")
    for text, resolution in ((f"{whole}storage: {{}}\n", None), ("tables: []\n", Resolution.NO_ACTION)):
        (plant.folder / "web" / "a.yaml").write_text(text, encoding="utf-8")
        reloader.reload()
        assert [table.name for table in reloader.project.config.tables] == ["orders"]
        with plant.store.reading() as tx:
            assert [incident.resolution for incident in tx.incidents.matching(IncidentFilter())] == [resolution]


def test_a_team_that_is_left_out_at_the_start_keeps_its_incidents(plant):
    """Nothing is known of its checks, so none of them is gone."""
    _write_team(plant, "{type: volume, min: 100}")
    plant.turn(plant.work())
    (plant.folder / "shop" / "a.yaml").write_text("tables: [", encoding="utf-8")
    project = Project(load_apart(plant.folder / "tablewatch.yaml"), plant.clock)
    assert [table.name for table in project.config.tables] == ["orders"]
    assert retire(project, plant.store) == 0
    (plant.folder / "shop" / "a.yaml").write_text("contracts: {}\n", encoding="utf-8")
    assert retire(plant.project(), plant.store) == 1


WARNINGS = """
alerts:
  channels: {desk: {apprise: "json://localhost:9/"}}
  routes: [{match: {outcome: warn}, to: [desk]}]
"""


def test_a_team_that_is_left_out_at_the_start_keeps_its_warnings(plant):
    """No message says that they ended, nor that they begin again when the files of the team are mended."""
    _write_team(plant, "{type: volume, min: 1, warn: {min: 100}}")
    plant.configure({"orders": "every 15m"}, more=TEAMS + WARNINGS)
    plant.turn(plant.work())
    (plant.folder / "shop" / "a.yaml").write_text("tables: [", encoding="utf-8")
    retire(Project(load_apart(plant.folder / "tablewatch.yaml"), plant.clock), plant.store)
    with plant.store.reading() as tx:
        assert [*tx.warnings.lasting()] == ["shop.orders.volume"]
    (plant.folder / "shop" / "a.yaml").write_text("contracts: {}\n", encoding="utf-8")
    retire(plant.project(), plant.store)
    with plant.store.reading() as tx:
        assert not tx.warnings.lasting()


def test_a_new_file_of_a_team_is_noticed(plant):
    """The folder of the team is watched, not only the files that were there."""
    _write_team(plant, "{type: volume, min: 1}")
    watch = ConfigWatch(plant.folder / "tablewatch.yaml", plant.project().loaded)
    (plant.folder / "shop" / "b.yaml").write_text(
        TABLE.replace("CHECK", "{type: volume, min: 1}").replace("shop.orders", "shop.more"), encoding="utf-8"
    )
    assert [watch.has_changed() for _ in range(3)] == [False, True, False]
    assert [table.name for table in watch.reload().config.tables] == ["orders", "shop.orders", "shop.more"]


def _fail_for(monkeypatch, table):
    """Have the daemon fail, by an error of its own, whenever it plans a table."""
    planned = Timetable.first

    def fail(timetable, now):
        if timetable.table == table:
            raise ZeroDivisionError("4711")
        return planned(timetable, now)

    monkeypatch.setattr(Timetable, "first", fail)


def test_an_error_of_ours_refuses_the_file_and_the_daemon_goes_on(plant, monkeypatch):
    """Whatever a changed file provokes is a refusal with a report; what is right again is used."""
    reloader = _reloader(plant)
    _fail_for(monkeypatch, "more")
    plant.configure({"orders": "every 15m", "more": "every 1h"})
    reloader.reload()
    error = reloader._presence.config_error
    assert "internal error (ZeroDivisionError) while it was adopted" in error
    report = Path(error.partition(" is in ")[2].partition(";")[0].strip())
    assert "in fail" in report.read_text(encoding="utf-8")
    assert "4711" not in report.read_text(encoding="utf-8")
    assert [table.name for table in reloader.project.config.tables] == ["orders"]
    plant.configure({"orders": "every 15m", "other": "every 1h"})
    reloader.reload()
    assert reloader._presence.config_error is None
    assert [table.name for table in reloader.project.config.tables] == ["orders", "other"]


def test_an_error_of_ours_in_a_file_of_a_team_is_the_teams(plant, monkeypatch):
    """At the start such a team is left out, at a reload it keeps its files; all others are monitored."""
    _write_team(plant, "{type: volume, min: 1}")
    use = partial(rehearse, clock=plant.clock)
    path = plant.folder / "tablewatch.yaml"
    before = load_apart(path, use=use)
    assert [table.name for table in before.config.tables] == ["orders", "shop.orders"]
    _fail_for(monkeypatch, "shop.orders")
    loaded = load_apart(path, use=use)
    assert [table.name for table in loaded.config.tables] == ["orders"]
    assert loaded.left_out == {"shop"}
    assert "internal error (ZeroDivisionError) while it was read" in loaded.apart["shop"]
    monkeypatch.undo()
    (plant.folder / "shop" / "a.yaml").write_text(TABLE.replace("CHECK", "{type: volume}"), encoding="utf-8")
    _fail_for(monkeypatch, "shop.more")
    text = TABLE.replace("shop.orders", "shop.more").replace("CHECK", "{type: volume, min: 1}")
    (plant.folder / "shop" / "b.yaml").write_text(text, encoding="utf-8")
    loaded = load_apart(path, before, use=use)
    assert [table.name for table in loaded.config.tables] == ["orders", "shop.orders"]
    assert list(loaded.apart) == ["shop"]
    assert not loaded.left_out
