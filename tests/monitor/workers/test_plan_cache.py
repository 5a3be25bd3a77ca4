"""Plans that the daemon keeps for the workers."""

from dataclasses import replace

from monitor.scan.results import Subject
from monitor.workers.task import KeptPlans

A, B, C = (Subject(name, name, ()) for name in "abc")


def test_a_plan_is_for_exactly_what_it_was_made_for():
    """Another set of checks, or another place, gets no plan."""
    plans = KeptPlans()
    plans.keep(A, b"plan")
    assert plans.get(A) == b"plan"
    assert plans.get(replace(A, relation="other")) is None
    assert plans.get(B) is None


def test_an_empty_plan_forgets():
    """A plan that holds no more is gone."""
    plans = KeptPlans()
    plans.keep(A, b"plan")
    plans.keep(A, b"")
    assert plans.get(A) is None


def test_memory_is_bounded_and_the_least_used_go_first():
    """Beyond the bound the plan that was used longest ago is forgotten; a replaced one counts once."""
    plans = KeptPlans(most_bytes=10)
    for _ in range(5):
        plans.keep(A, b"12345")
    plans.keep(B, b"12345")
    plans.get(A)
    plans.keep(C, b"12345")
    assert [plans.get(subject) is not None for subject in (A, B, C)] == [True, False, True]
    plans.keep(C, b"12345678901")
    assert plans.get(C) is None
