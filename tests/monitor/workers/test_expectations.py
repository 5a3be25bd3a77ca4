"""Great Expectations in the workers: what it does to one costs the table that check alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from checks import Measurement
from checks.expectation import Expectation
from checks.gx.caller import PRELOAD
from monitor.clock import SystemClock
from monitor.workers import ENGINES, Ended, Overdue, Pool, TableScanned, WorkerDied
from sources import SourceSpec
from tests.monitor.workers.conftest import CHECKS, LONG, ROOT, Ear, job, target

_MODULE = '''
import great_expectations.expectations as gxe
from pathlib import Path
from tests.monitor.workers.deadly import WAYS


class ExpectDeed(gxe.ExpectTableRowCountToBeBetween):
    """Do what no expectation should, once it has said so."""

    how: str
    place: str = ""

    def _validate(self, *rest, **named):
        if self.place:
            Path(self.place).write_text(self.how)
        WAYS[self.how](self.place)
        return super()._validate(*rest, **named)
'''
_ROWS = Expectation(expectation="ExpectTableRowCountToEqual", kwargs={"value": 2})


def _deed(how: str, place: Path | None = None) -> Expectation:
    kwargs = {"how": how, "place": "" if place is None else str(place), "min_value": 1}
    return Expectation(expectation="deeds:ExpectDeed", kwargs=kwargs)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Yield two workers that have Great Expectations and find our own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "deeds.py").write_text(_MODULE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        patch.syspath_prepend(str(folder))
        with Pool(size=2, clock=SystemClock(), preload=(*ENGINES, *PRELOAD)) as pool:
            yield pool


@pytest.fixture
def ear(pool: Pool) -> Ear:
    """Listen to these workers."""
    return Ear(pool)


def _found(ear: Ear) -> dict[str, dict[str, object]]:
    return {
        event.table_result.target.subject.name: {
            one.check_id.partition(".")[2]: one.answer for one in event.table_result.measured
        }
        for event in ear.of(TableScanned)
    }


def test_it_runs_in_the_worker_itself(ear: Ear, shop: SourceSpec, tmp_path: Path) -> None:
    """Verdicts come with the measurements of the table, in the order of its checks, on a file as on a database."""
    (tmp_path / "f.csv").write_text("id\n1\n2\n")
    files = SourceSpec("files", tmp_path, files="*.csv")
    ear.run(*(job(target(spec, table, (("gx", _ROWS), *CHECKS))) for spec, table in ((shop, "a"), (files, "f"))))
    for answers in _found(ear).values():
        assert list(answers) == ["gx", "not-null", "volume"]
        assert answers["gx"].frame_result == {"met": True, "violations": 0, "elements": None}
    workers = ear.pool.processes[1:]
    assert [Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in workers] == [""] * len(workers)


@pytest.mark.parametrize(
    ("how", "cause"),
    [("leave", "exit status 0"), ("segv", "signal 11 (SIGSEGV)"), ("gorge", "it took more than 0.9 GB of memory")],
)
def test_one_that_ends_its_worker_is_to_blame_and_no_other(ear: Ear, shop: SourceSpec, how: str, cause: str) -> None:
    """It is known at once, so that the rest of its table and of its job are looked at."""
    ear.pool._allowed = 900_000_000
    checks = (("first", _ROWS), ("deed", _deed(how)), ("last", _ROWS), *CHECKS)
    crashing = job(target(shop, "a", checks), target(shop, "b"))
    ear.run(crashing)
    assert ear.of(WorkerDied) == [WorkerDied(crashing.id, "a", "a.deed", cause)]
    found = _found(ear)
    assert list(found) == ["a", "b"]
    assert list(found["a"]) == ["first", "deed", "last", "not-null", "volume"]
    assert found["a"].pop("deed").reason == "bug"
    assert all(isinstance(answer, Measurement) for answers in found.values() for answer in answers.values())


@pytest.mark.parametrize("how", ["hang", "deaf", "stop"])
def test_one_that_hangs_is_ended_at_the_query_timeout(ear: Ear, shop: SourceSpec, tmp_path: Path, how: str) -> None:
    """It alone is `unknown(timeout)`, also where it holds the interpreter."""
    place = tmp_path / "hangs"
    hung = job(target(shop, "a", (("deed", _deed(how, place)), ("gx", _ROWS), *CHECKS)), deadline=3 * LONG)
    ear.pool.submit(hung)
    ear.until_there(place)
    assert not ear.of(Overdue)
    ear.pass_time(shop.query_timeout)
    ear.until(lambda _: ear.of(Ended))
    assert ear.of(Overdue) == [Overdue(hung.id, "a", "a.deed")]
    answers = _found(ear)["a"]
    deed = answers.pop("deed")
    assert (deed.reason, str(deed.message)) == (
        "timeout", "no answer from Great Expectations within 1 h (query_timeout of the source)",
    )  # fmt: skip
    assert all(isinstance(answer, Measurement) for answer in answers.values())


def test_the_time_of_the_table_goes_on_when_it_is_sent_again(ear: Ear, shop: SourceSpec, tmp_path: Path) -> None:
    """Two that hang take the table no longer than its own deadline."""
    places = tmp_path / "first", tmp_path / "second"
    checks = (*((place.name, _deed("hang", place)) for place in places), *CHECKS)
    hung = job(target(shop, "a", checks), deadline=LONG + timedelta(minutes=30))
    ear.pool.submit(hung)
    ear.until_there(places[0])
    ear.pass_time(shop.query_timeout)
    ear.until_there(places[1])
    ear.pass_time(timedelta(minutes=30))
    ear.until(lambda _: len(ear.of(Overdue)) == 2)
    assert [event.check_id for event in ear.of(Overdue)] == ["a.first", None]
    table_result = ear.of(Overdue)[1].table_result
    assert {one.answer.reason for one in table_result.measured} == {"timeout"}
    assert "see run_timeout of the source" in str(table_result.measured[0].answer.message)


def test_a_frame_beyond_the_cap_is_not_handed_over(ear: Ear, tmp_path: Path) -> None:
    """A table of a file with more rows than its source hands over is not judged by a part of it."""
    (tmp_path / "f.csv").write_text("id\n1\n2\n3\n")
    files = SourceSpec("files", tmp_path, files="*.csv")
    capped = target(
        files, "f", (("gx", Expectation(expectation="ExpectColumnValuesToNotBeNull", kwargs={"column": "id"})),)
    )
    ear.run(job(replace(capped, subject=replace(capped.subject, frame_rows=2))))
    assert _found(ear)["f"]["gx"].frame_result["reason"] == "misconfigured"


def test_an_expectation_that_came_later_is_imported_by_the_worker(shared_pool: Pool, shop: SourceSpec) -> None:
    """Where the process that forks has not imported Great Expectations, the worker does, outside the query timeout."""
    ear = Ear(shared_pool)
    with closing(sqlite3.connect(shop.base / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO a VALUES (NULL)")
    nulls = Expectation(expectation="ExpectColumnValuesToNotBeNull", kwargs={"column": "id"})
    ear.run(job(target(replace(shop, query_timeout=timedelta(minutes=5)), "a", (("gx", nulls),))))
    assert _found(ear)["a"]["gx"].frame_result == {"met": False, "violations": 1, "elements": 3}
