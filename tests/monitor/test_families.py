"""Questions about the same classes are one statement, and each check gets its own answer."""

from pathlib import Path

import pytest

from checks import Measurement, Status
from checks._catalog import load_catalog
from checks._judge import judge
from monitor.clock import SimulatedClock
from monitor.looker import look
from monitor.planner import plan
from monitor.target import Subject, Target
from sources import SourceSpec, open_source
from tests.monitor.shop import NOW

ROWS = "sex,born,city,ill\nf,1,x,flu\nf,1,x,cold\nf,1,y,flu\nm,1,x,flu\nm,1,x,\nm,2,x,flu\n"


@pytest.fixture
def spec(tmp_path: Path) -> SourceSpec:
    """Give a source of one CSV file, `people`."""
    (tmp_path / "people.csv").write_text(ROWS, encoding="utf-8")
    return SourceSpec("files", tmp_path, files="*.csv")


def _subject(**checks):
    made = [(f"people.{name}", load_catalog()[given.pop("type")](**given)) for name, given in checks.items()]
    return Subject("people", "people", tuple(made))


def _k(*names, **given):
    return {"type": "k_anonymity", "quasi_identifiers": names, "k": 2, **given}


def _looked(spec, subject):
    (looked,) = look([Target(subject, spec)], clock=SimulatedClock(NOW), plans={})
    return {one.check_id.removeprefix("people."): one.answer for one in looked.measured}


def test_one_statement_for_one_set_of_quasi_identifiers(spec):
    """In whatever order a set is named, and whatever the limits are; another set or another filter is another one."""
    same = {"a": _k("sex", "born"), "b": _k("born", "sex", k=3)}
    others = {"c": _k("sex"), "d": _k("sex", "born", where="city = 'x'"), "e": _k("born", "sex", where="city = 'x'")}
    subject = _subject(**same, **others)
    with open_source(spec) as source:
        families = plan(subject, source).families
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
    assert {name: one.observed["k"] for name, one in outcomes.items()} == {"a": 1, "b": 1, "c": 3}
    assert {name: one.observed["damage"] for name, one in outcomes.items()} == {
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
