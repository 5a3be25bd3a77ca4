"""What the keys of releases, of the store and of the limits of sources change."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.releases.columns import ReleaseColumns
from monitor.releases.plan import kinds_of, plans_of
from monitor.scan.results import targets_of
from monitor.scan.run import run_checks
from sources import open_source
from tests.monitor.config.effects.effect import ABSENT, Effect
from tests.monitor.config.effects.folder import BASE, NOW, command, folder_of, nested, project_of
from tests.monitor.releases.desk import Desk, people

_CLASSES: Final = {"id": "direct-identifier", "customer": "quasi-identifier", "amount": "sensitive"}
_RELEASE: Final = {"table": "orders", "columns": _CLASSES}


def asked(config: Mapping[str, Any]) -> object:
    """Return the checks that are asked of each table, with their parameters."""
    with project_of(config) as project:
        targets = targets_of(project, ["orders", "refunds"])
        return [[(name, repr(check)) for name, check in target.subject.checks] for target in targets]


def plans(release: Mapping[str, Any]) -> object:
    """Return the ways to treat a release of people, by name, with what they leave out."""
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder)).write(people(), **release)
        case = ReleaseColumns.of(Project(load(desk.config), desk.clock), "extract")
        return [(plan.name, str(plan)) for plan in plans_of(case, kinds_of(case))]


def kept(*, ends: bool) -> Any:
    """Return an observation: what is in the store four hundred days after a check that fails, or passes at last."""

    def observe(config: Mapping[str, Any]) -> object:
        with folder_of(config) as folder:
            project = Project(load(folder / "tablewatch.yaml", environment={}), SimulatedClock(NOW))
            return _rows_after(project, ends=ends)

    return observe


def _rows_after(project: Project, *, ends: bool) -> object:
    with project.open_store() as store:
        for good in (False, ends, ends, ends):
            Path("orders.csv").write_text(f"id,customer\n1,{'ann' if good else ''}\n", encoding="utf-8")
            run_checks(project, select(["orders"], project.config), store=store)
            project.clock.advance(timedelta(hours=1))  # type: ignore[attr-defined]  # a simulated one
        project.clock.advance(timedelta(days=400))  # type: ignore[attr-defined]  # a simulated one
        run_checks(project, select(["refunds"], project.config), store=store)
    with closing(sqlite3.connect("tablewatch.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone() for name in tables}


def settings(config: Mapping[str, Any]) -> object:
    """Return the settings of DuckDB when a source is open."""
    with project_of(config) as project, open_source(project.source_spec("lake")) as source:
        return source.fetch("SELECT current_setting('memory_limit') AS m, current_setting('threads') AS t")


def _subjects(config: Mapping[str, Any]) -> object:
    with project_of(config) as project:
        return [target.subject.frame_rows for target in targets_of(project, ["orders"])]


def _key(config: Mapping[str, Any]) -> object:
    with project_of(config) as project:
        return project.signature_key()


def _files(config: Mapping[str, Any]) -> object:
    with project_of(config) as project:
        project.open_store().close()
        return project.ledger_anchor.name, sorted(path.name for path in Path().iterdir())


def entries() -> Iterator[Effect]:
    """Yield an entry for each key."""
    released = {**BASE, "releases": {"extract": {**_RELEASE, "limits": {"k": 2, "sampling_fraction": 0.5}}}}
    for key, first, second in (
        ("table", "orders", "refunds"),
        ("audience", ABSENT, "a university"),
        ("columns", _CLASSES, {"customer": "quasi-identifier"}),
    ):
        yield Effect(f"Release.{key}", released, (first, second), asked, ("releases", "extract", key))
    populated = nested(released, "releases", "extract", "limits", max_population_unique_fraction=0.1)
    for key, first, second in (
        ("k", 2, 3),
        ("l", ABSENT, 2),
        ("t", ABSENT, 0.2),
        ("max_risk", ABSENT, 0.1),
        ("max_average_risk", ABSENT, 0.1),
        ("max_population_unique_fraction", ABSENT, 0.1),
        ("max_individual_risk", ABSENT, 0.1),
        ("sampling_fraction", 1, 0.5),
    ):
        base = populated if key == "sampling_fraction" else released
        path = ("releases", "extract", "limits", key)
        yield Effect(f"Limits.{key}", base, (first, second), asked, path)
    treated = {"remedies": [{"remedy": "suppress"}]}
    for key, first, second in (("remedy", "suppress", "generalise"), ("id", ABSENT, "other"), ("drop", [], ["sex"])):
        yield Effect(f"Recipe.{key}", treated, (first, second), plans, ("remedies", 0, key))
    yield Effect("Storage.url", BASE, ("sqlite:///one.db", "sqlite:///two.db"), _files, ("storage", "url"))
    yield Effect("Storage.ledger_anchor", BASE, (ABSENT, "anchor.json"), _files, ("storage", "ledger_anchor"))
    yield Effect("Storage.signature_key", BASE, ("a" * 32, "b" * 32), _key, ("storage", "signature_key"))
    yield Effect("Storage.keep_measurements", BASE, ("500d", "30d"), kept(ends=False), ("storage", "keep_measurements"))
    yield Effect("Storage.keep_incidents", BASE, ("500d", "30d"), kept(ends=True), ("storage", "keep_incidents"))
    yield Effect("Source.memory_limit", BASE, ("1GB", "500MB"), settings, ("sources", "lake", "memory_limit"))
    yield Effect("Source.threads", BASE, (1, 2), settings, ("sources", "lake", "threads"))
    yield Effect("Source.expectation_rows", BASE, (10, 20), _subjects, ("sources", "lake", "expectation_rows"))
    at = {**BASE, "sources": {"lake": {}}}
    checked = command(("check", "--no-store", "--format", "json"))
    yield Effect("Source.url", at, ("duckdb:///a.db", "sqlite:///b.db"), checked, ("sources", "lake", "url"))
