"""OpenLineage: stored runs as events, and what feeds what from the events of others."""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.clock import SimulatedClock
from monitor.config import OpenLineage
from monitor.config.project import Project
from monitor.config.selector import select
from monitor.integrations.datasets import dataset_of
from monitor.integrations.openlineage import UnreadableEvents, read_lineage, run_event
from monitor.integrations.openlineage_push import EventPush
from monitor.integrations.results import log_failed_jobs
from monitor.scan.run import run_checks
from store import Store
from tests.monitor.alerts.receivers import Handler, Request, listening
from tests.monitor.shop import NOW, Shop, build_shop

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
    assert lineage.new == {"totals": {"upstream": ["orders", "refunds"]}}
    assert [item.name for item in lineage.not_taken] == ["raw.clicks"]


def _facets(event: dict[str, Any]) -> dict[str, Any]:
    fields = {"amount": {"inputFields": [{"namespace": "x", "name": "orders", "field": "price"}]}, "bad": 3}
    join = [{"namespace": "x", "name": "orders", "field": "id"}]
    owners = {"owners": [{"name": "team:Finance data", "type": "MAINTAINER"}]}
    event["outputs"][0]["facets"] = {"columnLineage": {"fields": fields, "dataset": join}, "ownership": owners}
    assertions = [
        {"assertion": "not_null", "column": "id", "success": False, "severity": "warn", "actual": "canary-7f3a"},
        {"name": "totals match", "assertion": "sum", "success": True},
        {"assertion": "no verdict"},
    ]
    event["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": assertions}}
    about = {"run": {"runId": "r1"}, "job": {"namespace": "n", "name": "load.totals"}}
    return event | about | {"eventType": "FAIL", "eventTime": NOW.isoformat(), "producer": "https://example.org"}


def test_facets_are_columns_owners_checks_results_and_failed_jobs(
    watched: tuple[Project, Store], tmp_path: Path
) -> None:
    """What is new is printed as it would stand in the configuration; results and failed runs are recorded once."""
    project, store = watched
    path = tmp_path / "events.json"
    event = _facets(_job([("x", "orders")], [("x", "totals")]))
    path.write_text(json.dumps([event, event | {"producer": "urn:tablewatch:1", "eventType": "COMPLETE"}]))
    lineage = read_lineage(project, path)
    totals, orders = lineage.new["totals"], lineage.new["orders"]
    assert totals["upstream_columns"] == {"orders": {"amount": ["price"], "*": ["id"]}}
    assert totals["owner"] == "finance-data"
    assert lineage.owners == {"finance-data": {"name": "Finance data"}}
    assert [(check["id"], check["reference"]) for check in orders["checks"]] == [
        ("not-null-id", "not_null:id"),
        ("totals-match", "totals match"),
    ]
    (run,) = lineage.runs
    assert [(result.check, result.status) for result in run.results] == [
        ("not_null:id", "warn"),
        ("totals match", "pass"),
    ]
    assert "canary-7f3a" not in run.model_dump_json()
    (job,) = lineage.failed
    assert (job.job, job.table) == ("load.totals", "totals")
    assert [len(log_failed_jobs(project, store, lineage.failed, actor="x")) for _ in range(2)] == [1, 0]
    with store.reading() as tx:
        (logged,) = tx.logged_events.between(None, None, most=9)
    assert (logged.job, logged.table, logged.note) == ("load.totals", "totals", "OpenLineage: fail")


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


_KEYS = ["name", "namespace", "facets", "columnLineage", "fields", "inputFields", "dataset", "field", "ownership"]
_KEYS += ["owners", "inputFacets", "dataQualityAssertions", "assertions", "assertion", "success"]
_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner),
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


class _Api:
    """An API of OpenLineage on the loopback that answers by a list of statuses, then 201."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = deque(statuses)
        self.run_ids: list[str] = []
        self.logins: set[str | None] = set()

    def __call__(self, handler: Handler, request: Request) -> None:
        """Take an event."""
        self.run_ids.append(json.loads(request.body)["run"]["runId"])
        self.logins.add(request.headers.get("authorization"))
        handler.say(self.statuses.popleft() if self.statuses else 201)


@pytest.fixture
def three_runs(watched: tuple[Project, Store]) -> tuple[Project, Store, list[str]]:
    """Return a project with three runs, and the ids of their events, oldest first."""
    project, store = watched
    for _ in range(2):
        run_checks(project, select(["orders"], project.config), store=store)
    return project, store, [event["run"]["runId"] for event in _events(project, store)]


def _sending_to(project: Project, address: str, **settings: Any) -> Project:
    where = OpenLineage(url=address, **settings)
    clock = SimulatedClock(NOW + timedelta(seconds=1))
    return Project(replace(project.loaded, config=project.config.model_copy(update={"openlineage": where})), clock)


def test_each_run_is_sent_once_and_in_order(three_runs: tuple[Project, Store, list[str]]) -> None:
    """What was taken is not sent again while the daemon runs; the token goes with it."""
    project, store, run_ids = three_runs
    api = _Api()
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, token="canary", allow_private=True)  # noqa: S106 - of a fake
        push = EventPush(store, there.clock)
        assert [push.step(there) for _ in range(3)] == [[], [], []]
    assert api.run_ids == run_ids
    assert api.logins == {"Bearer canary"}


def test_what_was_not_taken_is_sent_again_later(three_runs: tuple[Project, Store, list[str]]) -> None:
    """After a 503 nothing is sent for a minute, then the same run first; the problem is named once for each try."""
    project, store, run_ids = three_runs
    api = _Api(201, 503)
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, allow_private=True)
        push = EventPush(store, there.clock)
        [problem] = push.step(there)
        assert problem == "no event was taken: the answer was 503; tried again in 60 s"
        assert list(push.step(there)) == []
        assert api.run_ids == run_ids[:2]
        there.clock.advance(timedelta(seconds=61))
        assert list(push.step(there)) == []
    assert api.run_ids == [*run_ids[:2], *run_ids[1:]]
    assert api.logins == {None}


def test_an_event_that_is_refused_for_good_holds_up_no_other(three_runs: tuple[Project, Store, list[str]]) -> None:
    """It is named, by its table, and passed over."""
    project, store, run_ids = three_runs
    api = _Api(422)
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, allow_private=True)
        problems = EventPush(store, there.clock).step(there)
    assert list(problems) == ["the event of a run of orders was refused with 422; it is not sent again"]
    assert api.run_ids == run_ids


def test_a_daemon_that_starts_sends_the_last_day_again(three_runs: tuple[Project, Store, list[str]]) -> None:
    """Nothing is lost by a kill: the same runs have the same ids, and older ones are left alone."""
    project, store, run_ids = three_runs
    api = _Api()
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, allow_private=True)
        EventPush(store, there.clock).step(there)
        EventPush(store, there.clock).step(there)
        there.clock.advance(timedelta(days=2))
        EventPush(store, there.clock).step(there)
    assert api.run_ids == [*run_ids, *run_ids]


def test_a_run_that_is_stored_late_is_sent(three_runs: tuple[Project, Store, list[str]]) -> None:
    """A run that ended three minutes before the last step, and was not stored then, is sent with the next."""
    project, store, run_ids = three_runs
    api = _Api()
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, allow_private=True)
        there.clock.advance(timedelta(minutes=3))
        push = EventPush(store, there.clock)
        push.step(there)
        run_checks(project, select(["orders"], project.config), store=store)
        there.clock.advance(timedelta(seconds=10))
        push.step(there)
    assert api.run_ids[:3] == run_ids
    assert len(set(api.run_ids)) == len(api.run_ids) == 4


def test_where_it_is_configured_later_the_last_day_is_sent(three_runs: tuple[Project, Store, list[str]]) -> None:
    """A daemon that ran for days before sends what ended within a day, as after a start."""
    project, store, run_ids = three_runs
    api = _Api()
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, allow_private=True)
        before = Project(project.loaded, there.clock)
        push = EventPush(store, there.clock)
        for hours, sent in ((23, run_ids), (48, [])):
            there.clock.advance(timedelta(hours=hours))
            push.step(before)
            push.step(there)
            assert api.run_ids == sent
            api.run_ids.clear()


def test_a_private_address_is_reached_only_where_that_is_allowed(three_runs: tuple[Project, Store, list[str]]) -> None:
    """Without `allow_private` nothing is sent to the loopback, and nothing is lost; no token is in the text."""
    project, store, _ = three_runs
    api = _Api()
    with listening(api) as receiver:
        there = _sending_to(project, receiver.url, token="canary")  # noqa: S106 - of a fake
        [problem] = EventPush(store, there.clock).step(there)
    assert problem.startswith("no event was taken: ")
    assert "canary" not in problem
    assert api.run_ids == []


def test_a_token_is_not_sent_in_the_clear() -> None:
    """An address without TLS beyond this machine is refused when the configuration is read."""
    OpenLineage(url="http://marquez:5000/api/v1/lineage")
    with pytest.raises(ValueError, match="would be sent unencrypted"):
        OpenLineage(url="http://marquez:5000/api/v1/lineage", token="canary")  # noqa: S106 - no secret


_IN, _OUT = {"namespace": "x", "name": "db.orders"}, {"namespace": "x", "name": "db.refunds"}


@pytest.mark.parametrize(
    "events",
    [
        [{"inputs": [_IN], "outputs": [_OUT]}],
        [{"run": {"runId": "1"}, "inputs": [_IN]}, {"run": {"runId": "1"}, "outputs": [_OUT]}],
        [{"inputs": [{"name": "s3/o", "facets": {"symlinks": {"identifiers": [_IN]}}}], "outputs": [_OUT]}],
        [{"outputs": [_OUT | {"facets": {"columnLineage": {"fields": {"id": {"inputFields": [_IN]}}}}}]}],
    ],
)
def test_lineage_is_what_all_events_of_a_run_say(shop: Shop, events: list[Any]) -> None:
    """Inputs at the start and outputs at the end make one edge; other names and columns say it too."""
    path = shop.folder / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    assert read_lineage(shop.project(), path).upstream == {"refunds": ("orders",)}


def test_events_of_two_runs_make_no_edge(shop: Shop) -> None:
    """What one run reads says nothing of what another writes."""
    events = [{"run": {"runId": "1"}, "inputs": [_IN]}, {"run": {"runId": "2"}, "outputs": [_OUT]}]
    path = shop.folder / "events.json"
    path.write_text(json.dumps(events))
    assert read_lineage(shop.project(), path).upstream == {}
