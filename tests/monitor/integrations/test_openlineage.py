"""OpenLineage: stored runs as events, and what feeds what from the events of others."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.config.project import Project
from monitor.config.selector import select
from monitor.integrations.openlineage import UnreadableEvents, dataset_of, read_lineage, run_event
from monitor.scan.run import run_checks
from store import Store
from tests.monitor.shop import NOW, build_shop

CONFIG = """
version: 1
project: test-shop
storage: {{url: "sqlite:///{folder}/store.db"}}
sources:
  shop: {{url: "sqlite:///shop.sqlite", timezone: UTC}}
  pg: {{url: "postgresql://ann:secret@db.example.org/shop"}}
tables:
  - name: orders
    source: shop
    checks:
      - {{type: primary_key, columns: [id], severity: critical}}
      - {{type: not_null, columns: [customer], severity: warning}}
      - {{type: metric, aggregate: sum, column: amount, max: 5}}
      - {{type: freshness, column: nowhere, max_age: 2h}}
  - {{name: refunds, source: shop, table: returned, upstream: [orders]}}
  - {{name: totals, source: pg}}
"""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Project, Store]]:
    """Return a shop that was checked once: a duplicate key, a NULL, a sum above its limit, a missing column."""
    shop = build_shop(tmp_path)
    shop.config.write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    shop.sql("INSERT INTO orders VALUES (1, NULL, 731.25, '2026-11-20 08:00')")
    project = shop.project()
    with project.open_store() as store:
        run_checks(project, select(["orders"], project.config), store=store)
        yield project, store


def _events(project: Project, store: Store, since: datetime = NOW - timedelta(days=1)) -> list[dict[str, Any]]:
    with store.reading() as tx:
        runs = tx.results.runs_between(since, NOW + timedelta(seconds=1), most=10)
    return [run_event(project, run, results) for run, results in runs]


def test_a_run_is_an_event_with_each_check(watched: tuple[Project, Store]) -> None:
    """What could not be evaluated is skipped among the tests, and no assertion."""
    (event,) = _events(*watched)
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", NOW.isoformat())
    assert event["job"] == {"namespace": "test-shop", "name": "tablewatch.orders"}
    tests = {test["name"]: test for test in event["run"]["facets"]["test"]["tests"]}
    assert tests["orders.primary-key"] == {
        "name": "orders.primary-key",
        "status": "fail",
        "severity": "error",
        "type": "primary_key",
        "actual": "1",
    }
    assert (tests["orders.not-null"]["status"], tests["orders.not-null"]["severity"]) == ("fail", "warn")
    assert tests["orders.freshness"]["status"] == "skip"
    (dataset,) = event["inputs"]
    assertions = {item["name"]: item for item in dataset["inputFacets"]["dataQualityAssertions"]["assertions"]}
    assert assertions.keys() == {"orders.primary-key", "orders.not-null", "orders.metric"}
    assert assertions["orders.primary-key"]["column"] == "id"
    assert assertions["orders.primary-key"]["success"] is False


def test_no_number_of_the_data_is_in_an_event(watched: tuple[Project, Store]) -> None:
    """A sum is made of values; counts of rows and ages are not."""
    assert "743.25" not in json.dumps(_events(*watched))
    assert "secret" not in json.dumps(_events(*watched))


def test_a_run_keeps_its_id(watched: tuple[Project, Store]) -> None:
    """A consumer takes it once; the id is a UUID, and another run has another."""
    project, store = watched
    first, again = _events(project, store)[0], _events(project, store)[0]
    assert first["run"]["runId"] == again["run"]["runId"]
    assert re.fullmatch("[0-9a-f-]{36}", first["run"]["runId"])
    project.clock.advance(timedelta(minutes=1))  # type: ignore[attr-defined]  # a simulated clock
    run_checks(project, select(["orders"], project.config), store=store)
    with store.reading() as tx:
        runs = tx.results.runs_between(NOW, NOW + timedelta(hours=1), most=10)
    assert len({run_event(project, run, results)["run"]["runId"] for run, results in runs}) == 2


def test_only_runs_of_the_window_are_exported_the_newest_first_to_stay(watched: tuple[Project, Store]) -> None:
    """The end is not part of it; of more than asked for, the oldest are left out."""
    project, store = watched
    with store.reading() as tx:
        assert tx.results.runs_between(NOW + timedelta(seconds=1), NOW + timedelta(days=1), most=10) == []
        assert tx.results.runs_between(NOW - timedelta(days=1), NOW, most=10) == []
    assert _events(project, store, NOW)


def test_tables_have_the_names_that_others_know_them_by(watched: tuple[Project, Store]) -> None:
    """PostgreSQL by server, database and schema, without the account; other sources by our own names."""
    project, _ = watched
    assert dataset_of(project, "totals") == {
        "namespace": "postgres://db.example.org:5432",
        "name": "shop.public.totals",
    }
    assert dataset_of(project, "refunds") == {"namespace": "test-shop/shop", "name": "returned"}
    assert dataset_of(project, "gone") == {"namespace": "test-shop", "name": "gone"}


def _job(inputs: list[tuple[str, str]], outputs: list[tuple[str, str]]) -> dict[str, Any]:
    def datasets(names: list[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"namespace": namespace, "name": name} for namespace, name in names]

    return {"eventType": "COMPLETE", "inputs": datasets(inputs), "outputs": datasets(outputs)}


@pytest.mark.parametrize("form", ["lines", "list", "one"])
def test_what_jobs_read_feeds_what_they_write(watched: tuple[Project, Store], tmp_path: Path, form: str) -> None:
    """By the whole name, or by its end; what the configuration has already is not new."""
    project, _ = watched
    inputs = [("bigquery", "lake.shop.orders"), ("x", "raw.clicks"), ("test-shop/shop", "returned")]
    event = _job(inputs, [("postgres://db.example.org:5432", "shop.public.totals"), ("dbt", "shop.main.RETURNED")])
    texts = {
        "lines": f"{json.dumps(event)}\n\n{json.dumps({})}\n",
        "list": json.dumps([event]),
        "one": json.dumps(event),
    }
    path = tmp_path / "events.json"
    path.write_text(texts[form], encoding="utf-8")
    lineage = read_lineage(project, path)
    assert lineage.upstream == {"totals": ("orders", "refunds"), "refunds": ("orders",)}
    assert lineage.new == {"totals": ("orders", "refunds")}
    assert [item.name for item in lineage.not_taken] == ["raw.clicks"]


@pytest.mark.parametrize("text", ["", "{", "nothing", "\n{}\n[1"])
def test_what_is_no_event_names_its_line(watched: tuple[Project, Store], tmp_path: Path, text: str) -> None:
    """An empty file has no events; anything that is no JSON is refused."""
    path = tmp_path / "events.json"
    path.write_text(text, encoding="utf-8")
    if not text:
        assert read_lineage(watched[0], path).upstream == {}
        return
    with pytest.raises(UnreadableEvents) as caught:
        read_lineage(watched[0], path)
    assert caught.value.problem.line == text.count("\n") + 1


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "namespace", "x"]), inner),
    max_leaves=6,
)


@given(inputs=_JSON, outputs=_JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_event_of_any_shape_is_a_bug(
    watched: tuple[Project, Store], tmp_path: Path, inputs: Any, outputs: Any
) -> None:
    """Keys that are missing or of another type are left alone."""
    path = tmp_path / "events.json"
    path.write_text(json.dumps([{"inputs": inputs, "outputs": outputs}, 1, None]), encoding="utf-8")
    read_lineage(watched[0], path)
