"""Artifacts of dbt: what each word means, which runs are complete, and what is not taken."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks import OccurrenceMethod, Status, UnknownReason
from monitor.integrations.dbt import UnreadableArtifact, import_artifacts, read_artifacts
from store import IncidentFilter
from tests.monitor.integrations.artifacts import aged, entry_of_test, metadata, write_run_results, write_sources
from tests.monitor.shop import NOW, Shop

IDS, AMOUNTS, FRESH = "test.shop.ids.1", "test.shop.amounts.2", "source.shop.raw.orders"


class Target:
    """The target folder of a dbt project, and the project that imports it."""

    def __init__(self, shop: Shop) -> None:
        self.folder = shop.folder / "target"
        self.folder.mkdir()
        self.project = shop.project()
        self.store = self.project.open_store()

    def take(self, **options: Any) -> dict[str, Any]:
        """Import the folder; return the runs by file."""
        return dict(import_artifacts(self.project, self.store, read_artifacts(self.folder, **options)).runs)

    def outcomes(self, **options: Any) -> dict[str, tuple[str, str | None]]:
        """Import the folder; return status and reason of each check."""
        return {
            item.check_id.removeprefix("orders."): (item.outcome.status.value, item.outcome.reason)
            for run in self.take(**options).values()
            for item in run.results
        }

    def run(self, hour: int, word: str, **options: Any) -> list[Any]:
        """Import the run of an hour of the day, in which one test came to a result; return what was read."""
        at = NOW - timedelta(hours=12 - hour)
        entry = entry_of_test(IDS, word, at=at)
        write_run_results(self.folder, entry, select=["orders"], at=at, invocation=str(hour), **options)
        return list(self.take().values())

    @property
    def lasting(self) -> int:
        """Return how many incidents are not resolved."""
        with self.store.reading() as tx:
            return sum(incident.resolution is None for incident in tx.incidents.matching(IncidentFilter()))


@pytest.fixture
def target(shop: Shop) -> Iterator[Target]:
    """Return the folder, empty."""
    made = Target(shop)
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("pass", (Status.PASS, None)),
        ("Pass", (Status.PASS, None)),
        ("warn", (Status.WARN, None)),
        ("fail", (Status.FAIL, None)),
        ("error", (Status.UNKNOWN, UnknownReason.MISCONFIGURED)),
        ("skipped", (Status.UNKNOWN, UnknownReason.NO_DATA)),
    ],
)
def test_each_word_of_a_test_is_an_outcome(target: Target, word: str, outcome: object) -> None:
    """An error and a skipped test are unknown, never a pass."""
    write_run_results(target.folder, entry_of_test(IDS, word), select=["orders"])
    assert target.outcomes() == {"ids": outcome}


def test_a_word_that_is_not_known_is_not_taken(target: Target) -> None:
    """It could mean anything; the check keeps its last result."""
    write_run_results(
        target.folder, entry_of_test(IDS, "partial success"), entry_of_test(AMOUNTS, "pass"), select=["orders"]
    )
    (run,) = target.take().values()
    assert [item.check_id for item in run.results] == ["orders.amounts"]
    assert [item.name for item in run.not_taken] == [IDS]


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("pass", "pass"), ("warn", "warn"), ("error", "fail"), ("Error", "fail"), ("runtime error", "unknown")],
)
@pytest.mark.parametrize("name", ["sources.json", "freshness.json"])
def test_each_word_of_freshness_is_an_outcome(target: Target, name: str, word: str, outcome: str) -> None:
    """`error` says that the source is too old; dbt 2 writes the words with capitals, and another file."""
    write_sources(target.folder, aged(FRESH, word, 30), name=name)
    assert target.outcomes()["fresh"][0] == outcome


def test_a_stale_source_occurred_at_its_deadline(target: Target) -> None:
    """The newest row plus `error_after` bounds it, which is sharper than the last good run."""
    write_sources(target.folder, aged(FRESH, "pass", 1, at=NOW - timedelta(hours=40)), at=NOW - timedelta(hours=40))
    target.take()
    write_sources(target.folder, aged(FRESH, "error", 30), invocation="another")
    (run,) = target.take().values()
    assert str(run.results[0].outcome.message) == "fresh: the newest row is 1 d 6 h old, reported by dbt"
    with target.store.reading() as tx:
        (incident,) = tx.incidents.matching(IncidentFilter())
    assert incident.last.onset.method is OccurrenceMethod.FRESHNESS_DEADLINE
    assert incident.last.onset.at == NOW - timedelta(hours=6)


def test_a_renamed_test_is_unknown_and_its_new_name_is_named(target: Target) -> None:
    """A complete run without a result of a configured test is no pass."""
    write_run_results(target.folder, entry_of_test("test.shop.new_name.9", "pass"), entry_of_test(AMOUNTS, "pass"))
    (run,) = target.take().values()
    assert {item.check_id: item.outcome.status for item in run.results} == {
        "orders.ids": Status.UNKNOWN,
        "orders.amounts": Status.PASS,
    }
    assert [item.name for item in run.not_taken] == ["test.shop.new_name.9"]


@pytest.mark.parametrize(
    ("which", "selection", "complete"),
    [
        ("test", {}, True),
        ("build", {}, True),
        ("build", {"select": ["orders"]}, False),
        ("test", {"exclude": ["orders"]}, False),
        ("build", {"resource_types": ["model"]}, False),
        ("retry", {}, False),
        ("run", {}, False),
    ],
)
def test_only_a_run_of_everything_is_complete(
    target: Target, which: str, selection: dict[str, list[str]], complete: object
) -> None:
    """What was not selected keeps its last result; so does what a retry leaves out."""
    write_run_results(target.folder, entry_of_test(IDS, "pass"), which=which, **selection)
    assert ("amounts" in target.outcomes()) is complete


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"empty": True}, "--empty"),
        ({"sample": "3 days"}, "--sample"),
        ({"sample": {"start": "2026-11-19T00:00:00Z", "end": "2026-11-20T00:00:00Z"}}, "--sample"),
        ({"limit": 0}, "--limit"),
        ({"limit": 500}, "--limit"),
    ],
)
@pytest.mark.parametrize("word", ["pass", "warn", "fail"])
def test_a_run_that_did_not_read_all_rows_is_no_evidence(
    target: Target, options: dict[str, Any], named: str, word: str
) -> None:
    """Its results are unknown, the option is named, and an incident stays open."""
    target.run(0, "fail")
    for hour in (1, 2):
        (run,) = target.run(hour, word, **options)
        assert run.results[0].outcome.reason is UnknownReason.NO_DATA
        assert named in str(run.results[0].outcome.message)
        assert any(named in item.reason for item in run.not_taken)
    assert target.lasting == 1


@pytest.mark.parametrize("options", [{"limit": -1}, {"limit": None}, {"sample": None}, {"vars": {}}, {"defer": False}])
def test_an_option_that_changes_nothing_changes_nothing(target: Target, options: dict[str, Any]) -> None:
    """Two runs that pass resolve the incident."""
    target.run(0, "fail")
    assert [run.results[0].outcome.status for hour in (1, 2) for run in target.run(hour, "pass", **options)] == [
        "pass"
    ] * 2
    assert target.lasting == 0


_OTHERS = [
    ("target", "prod", "dev"),
    ("vars", {"day": "2026-11-20"}, {"day": "2026-11-19"}),
    ("defer", True, False),
    ("favor_state", False, True),
]


@pytest.mark.parametrize(("name", "first", "second"), _OTHERS)
def test_a_run_with_other_options_than_the_one_that_opened_an_incident_is_no_evidence(
    target: Target, name: str, first: object, second: object
) -> None:
    """It may have read other tables; runs with the same options resolve it."""
    target.run(0, "fail", **{name: first})
    for hour in (1, 2):
        (run,) = target.run(hour, "pass", **{name: second})
        outcome = run.results[0].outcome
        option = f"--{name.replace('_', '-')}"
        assert (outcome.reason, str(outcome.message)) == (
            UnknownReason.NO_DATA,
            f"ids: dbt ran with other options ({option}) than in the run that opened incident 1",
        )
    assert target.lasting == 1
    for hour in (3, 4):
        target.run(hour, "pass", **{name: first})
    assert target.lasting == 0


def test_an_incident_of_an_earlier_build_is_resolved_by_runs_with_any_options(target: Target, shop: Shop) -> None:
    """The options of the run that opened it were not stored: that they differ is not known."""
    target.run(0, "fail", target="prod")
    with closing(sqlite3.connect(shop.folder / "store.db")) as connection, connection:
        connection.execute("UPDATE measurement SET observed = json_remove(observed, '$.options')")
    for hour in (1, 2):
        target.run(hour, "pass", target="prod")
    assert target.lasting == 0


@pytest.mark.parametrize(("name", "first", "second"), _OTHERS)
def test_declared_options_decide_whatever_opened_an_incident(
    target: Target, shop: Shop, name: str, first: object, second: object
) -> None:
    """A run under others is unknown with and without an incident, and what is declared may be corrected."""
    target.run(0, "fail", **{name: second})
    text = shop.config.read_text().replace("timezone: UTC}", f"timezone: UTC, dbt: {{{name}: {json.dumps(first)}}}}}")
    shop.config.write_text(text)
    target.project = shop.project()
    (run,) = target.run(1, "fail", **{name: second})
    assert str(run.results[0].outcome.message).endswith("than its source declares")
    for hour in (2, 3):
        target.run(hour, "pass", **{name: first})
    assert target.lasting == 0


def test_variables_are_stored_as_a_keyed_hash(target: Target, shop: Shop) -> None:
    """They may be secrets."""
    target.run(0, "fail", vars={"password": "canary-7f3a"}, target="prod")
    with target.store.reading() as tx:
        observed = tx.results.latest(["orders.ids"])["orders.ids"].observed
    assert observed["options"]["target"] == "prod"
    target.store.close()
    assert b"canary-7f3a" not in b"".join(path.read_bytes() for path in shop.folder.glob("store.db*"))


def test_partial_says_that_nothing_is_missing(target: Target) -> None:
    """Freshness files do not say what was selected: `--partial` does."""
    write_sources(target.folder)
    assert target.outcomes(partial=True) == {}
    assert target.outcomes() == {"fresh": ("unknown", UnknownReason.NO_DATA)}


def test_models_and_unit_tests_are_no_checks(target: Target) -> None:
    """A model that was built says nothing of its data, and a unit test checks code."""
    entries = (
        entry_of_test("model.shop.orders", "success"),
        entry_of_test("unit_test.shop.sums", "fail"),
        entry_of_test(IDS, "pass"),
    )
    write_run_results(target.folder, *entries, select=["orders"])
    (run,) = target.take().values()
    assert [item.check_id for item in run.results] == ["orders.ids"]
    assert [item.name for item in run.not_taken] == ["unit_test.shop.sums"]


def test_no_text_of_dbt_is_stored(target: Target, shop: Shop) -> None:
    """Its messages hold SQL and data values."""
    write_run_results(target.folder, entry_of_test(IDS, "fail", 3), entry_of_test(AMOUNTS, "error"))
    target.take()
    target.store.close()
    assert b"canary-7f3a" not in b"".join(path.read_bytes() for path in shop.folder.glob("store.db*"))


def test_keys_that_newer_versions_leave_out_are_not_needed(target: Target) -> None:
    """Dbt 2 leaves out `failures`, `timing` and `message` of some entries; then the invocation says when."""
    entry = {"unique_id": IDS, "status": "fail", "static_analysis_off_reason": None}
    content = {"metadata": metadata("run-results/v6"), "results": [entry], "args": {"which": "retry"}}
    (target.folder / "run_results.json").write_text(json.dumps(content))
    (run,) = target.take().values()
    assert run.results[0].measured_at == NOW - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("which", "command"), [("generate", "dbt docs generate"), ("run", "dbt run"), ("compile", "dbt compile")]
)
def test_results_of_a_command_without_tests_say_what_to_do(target: Target, which: str, command: str) -> None:
    """Each command of dbt writes over the results of the one before."""
    write_run_results(target.folder, {"unique_id": "model.shop.orders", "status": "success"}, which=which)
    (run,) = target.take().values()
    (item,) = run.not_taken
    assert item.name == "run_results.json"
    assert (
        item.reason == f"written by '{command}', which runs no test; run 'dbt build' or 'dbt test', then import at once"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "no artifact of dbt"),
        ('{"metadata": {"invocation_id": "x", "generated_at": "yesterday"}}', "generated_at"),
        ('{"metadata": {"invocation_id": "x", "generated_at": "2026-11-20T09:00:00Z"}}', "no list 'results'"),
        ("[" * 100_000, "not readable JSON"),
    ],
)
def test_what_is_no_artifact_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error says what was seen and in which file."""
    path = tmp_path / "run_results.json"
    path.write_text(text)
    with pytest.raises(UnreadableArtifact, match=message) as caught:
        read_artifacts(path)
    assert caught.value.problem.file == str(path)


def test_a_folder_without_results_says_what_to_run(tmp_path: Path) -> None:
    """So does one that is not there."""
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnreadableArtifact):
            read_artifacts(folder)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(entries=st.lists(_JSON | st.fixed_dictionaries({"unique_id": st.just(IDS), "status": _JSON, "timing": _JSON})))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_entry_of_any_shape_is_a_bug_or_a_pass(target: Target, entries: list[Any]) -> None:
    """What cannot be read is named, and the check has no result of it."""
    content = {"metadata": metadata("run-results/v6", invocation=repr(entries)[:200]), "results": entries}
    (target.folder / "run_results.json").write_text(json.dumps(content))
    outcomes = target.outcomes(partial=True)
    assert "pass" not in {status for status, _ in outcomes.values()}
