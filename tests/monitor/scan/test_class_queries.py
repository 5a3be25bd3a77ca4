"""Questions about the same classes are one statement, and each check gets its own answer."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from checks import Measurement, Status
from checks._catalog import load_catalog
from checks._judge import judge
from monitor.clock import SimulatedClock
from monitor.scan.planner import plan
from monitor.scan.results import Subject, Target
from monitor.scan.scanner import scan_source
from sources import SourceSpec, open_source
from tests.monitor.shop import NOW

ROWS = "sex,born,city,ill\nf,1,x,flu\nf,1,x,cold\nf,1,y,flu\nm,1,x,flu\nm,1,x,\nm,2,x,flu\n"


@pytest.fixture
def spec(tmp_path: Path) -> SourceSpec:
    """Return a source of one CSV file, `people`."""
    (tmp_path / "people.csv").write_text(ROWS, encoding="utf-8")
    return SourceSpec("files", tmp_path, files="*.csv")


def _subject(**checks):
    made = [(f"people.{name}", load_catalog()[given.pop("type")](**given)) for name, given in checks.items()]
    return Subject("people", "people", tuple(made))


def _k(*names, **given):
    return {"type": "k_anonymity", "quasi_identifiers": names, "k": 2, **given}


def _looked(spec, subject):
    (table_result,) = scan_source([Target(subject, spec)], clock=SimulatedClock(NOW), plans={})
    return {one.check_id.removeprefix("people."): one.answer for one in table_result.measured}


def test_one_statement_for_one_set_of_quasi_identifiers(spec):
    """In whatever order a set is named, and whatever the limits are; another set or another filter is another one."""
    same = {"a": _k("sex", "born"), "b": _k("born", "sex", k=3)}
    others = {"c": _k("sex"), "d": _k("sex", "born", where="city = 'x'"), "e": _k("born", "sex", where="city = 'x'")}
    subject = _subject(**same, **others)
    with open_source(spec) as source:
        families = plan(subject, source).union_queries
    asking = sorted(sorted(one.removeprefix("people.") for one in family.wanted_by) for family in families)
    assert asking == [["a", "b"], ["c"], ["d", "e"]]
    shared = next(family for family in families if len(family.wanted_by) == 2)
    assert len(shared.parts) == 2 + 1  # sizes and patterns are asked once for both, and `sex` is text


def test_each_check_gets_its_own_answer(spec):
    """Answers of different shapes come back under the names that the checks gave them, and can be judged."""
    subject = _subject(a=_k("sex", "born"), b=_k("born", "sex", k=3), c=_k("sex"))
    answers = _looked(spec, subject)
    assert all(isinstance(answer, Measurement) for answer in answers.values())
    checks = {check_id.removeprefix("people."): check for check_id, check in subject.checks}
    outcomes = {name: judge(checks[name], answer) for name, answer in answers.items()}
    assert {name: outcome.observed["k"] for name, outcome in outcomes.items()} == {"a": 1, "b": 1, "c": 3}
    assert {name: outcome.observed["damage"] for name, outcome in outcomes.items()} == {
        "a": {"sex": 0, "born": 1},
        "b": {"sex": 2, "born": 3},
        "c": {},
    }
    assert outcomes["c"].status is Status.PASS


def test_a_check_that_does_not_fit_leaves_the_others(spec):
    """An unknown column is the error of the check that names it."""
    answers = _looked(spec, _subject(a=_k("sex"), b=_k("sexx")))
    assert isinstance(answers["a"], Measurement)
    assert "column 'sexx' not found; did you mean 'sex'" in str(answers["b"].message)


_SENSITIVE = {"quasi_identifiers": ("sex", "born"), "sensitive": ("salary",)}
_OF_SALARIES = {
    "k": {"type": "k_anonymity", "quasi_identifiers": ("sex", "born"), "k": 2, "other_readings": False},
    "distinct": {"type": "l_diversity", "l": 2, **_SENSITIVE},
    "recursive": {"type": "l_diversity", "l": 2, "variant": "recursive", "c": 2, "warn": {"l": 3}, **_SENSITIVE},
    "equal": {"type": "t_closeness", "t": 0.5, **_SENSITIVE},
    "ordered": {"type": "t_closeness", "t": 0.5, "distance": "ordered", **_SENSITIVE},
    "tree": {"type": "t_closeness", "t": 0.5, "hierarchy": {"1": ["a"], "2": ["a"], "3": ["b"]}, **_SENSITIVE},
}


def _with_salaries(folder, kind):
    """Return a source of that kind which holds `people` with salaries."""
    rows = "('f', 1, 1), ('f', 1, 2), ('f', 1, 2), ('m', 1, 3), ('m', 1, NULL), (NULL, 2, 3)"
    types = "sex TEXT, born INTEGER, salary INTEGER"
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
            connection.execute(f"CREATE TABLE people ({types})")
            connection.execute(f"INSERT INTO people VALUES {rows}")
        return SourceSpec("shop", folder, url="sqlite:///shop.db")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people ({types})")
        connection.execute(f"INSERT INTO people VALUES {rows}")
    return SourceSpec("shop", folder, url="duckdb:///shop.duckdb")


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_k_l_and_t_of_one_set_are_one_statement_and_one_scan(tmp_path, kind):
    """The classes of k are made from the pairs of the sensitive column, which l and every distance of t share."""
    spec, subject = _with_salaries(tmp_path, kind), _subject(**{name: dict(one) for name, one in _OF_SALARIES.items()})
    with open_source(spec) as source:
        (family,) = plan(subject, source).union_queries
        assert not plan(subject, source).queries
    assert family.wanted_by == {f"people.{name}" for name in _OF_SALARIES}
    assert len(re.findall(r"(?:FROM|JOIN)\s+(?:\S+\.)?\"?people\b", family.template.sql)) == 1
    answers, checks = _looked(spec, subject), dict(subject.checks)
    seen = {name: judge(checks[f"people.{name}"], answer).observed for name, answer in answers.items()}
    assert {one["classes"] for one in seen.values()} == {3}
    assert (seen["k"]["k"], seen["distinct"]["l_distinct"], seen["recursive"]["l_recursive"]) == (1, 1, 1)
    assert seen["equal"]["t"] == seen["equal"]["t_exact"] == pytest.approx(2 / 3)
    assert seen["ordered"]["t_exact"] == pytest.approx((1 / 6 + 3 / 6 + 2 / 6) / 3)
    assert seen["ordered"]["t"] == pytest.approx((1 / 5 + 3 / 5) / 2)  # without the NULL, as the stricter reading
    assert seen["tree"]["t"] == pytest.approx(2 / 3)
