"""Laws of the ledger, whatever happens to it; and faults that were put into it, each of which the laws must find.

A few faults show only after minutes of trying; `make soak` waits for these, too.
"""

import inspect
import os
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from store import StoredLedger, StoreError, _ledger, _ledger_audit, _ledger_chain, _ledger_repository
from store._ledger_chain import AnchorFile
from store._ledger_repository import LedgerWriter
from tests.store.ledger_machine import Crash, Ledgers

_LOOK = settings(deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=40)
_FIND = settings(
    _LOOK, max_examples=1500, phases=[Phase.generate], derandomize=True, database=None, report_multiple_bugs=False
)


def test_nothing_is_spent_twice_or_forgotten(empty_file: Path) -> None:
    """Crashes, stalls, retries, restored backups, in any order: every look is charged, and every loss is noticed."""
    run_state_machine_as_test(lambda: Ledgers(empty_file), settings=settings(_LOOK, max_examples=40))


_COVERS = "_BUDGET.c.id == budget, _BUDGET.c.spent + nano <= _BUDGET.c.total"
_SPEND = "if not tx.ledger.spend(stored.id, charge.nano):"
_DIFFERS = "(earlier.budget, earlier.nano, earlier.body) != (fact.budget, fact.nano, fact.body)"
_BEFORE = "reached(FailPoint.BEFORE_CHARGE)"
_LOST = "spent if apart else spent - stored.spent"
_BUDGETS, _STORED = (_ledger_repository, LedgerWriter), (_ledger, StoredLedger)

_FAULTS = {
    "an update without a condition": [(*_BUDGETS, "spend", _COVERS, "_BUDGET.c.id == budget, True")],
    "one more than the total": [(*_BUDGETS, "spend", "<= _BUDGET.c.total", "<= _BUDGET.c.total + 1")],
    "one less than the total": [(*_BUDGETS, "spend", "<= _BUDGET.c.total", "< _BUDGET.c.total")],
    "all budgets charged": [(*_BUDGETS, "spend", "_BUDGET.c.id == budget, ", "_BUDGET.c.id > 0, ")],
    "nothing charged": [(*_BUDGETS, "spend", "spent=_BUDGET.c.spent + nano", "spent=_BUDGET.c.spent")],
    "a total below what is spent": [(*_BUDGETS, "set_total", "_BUDGET.c.spent <= total", "True")],
    "the answer stored before the charge": [
        (*_STORED, "_reserve", _SPEND, "if left < charge.nano:"),
        (
            *(*_STORED, "_store_answer", "tx.ledger.append(fact)"),
            "tx.ledger.append(fact), tx.ledger.spend(reserved.fact.budget, reserved.fact.nano)",
        ),
    ],
    "a retry without a charge": [
        (*_STORED, "_reserve", _SPEND, f"if earlier is None and {_SPEND.removeprefix('if ')}")
    ],
    "new noise for an old request": [(*_STORED, "_reserve", "if answer is not None:", "if False:")],
    "other content under an old id": [(*_STORED, "_reserve", _DIFFERS, "False")],
    "another cost under an old id": [(*_STORED, "_reserve", _DIFFERS, "earlier.budget != fact.budget")],
    "another budget under an old id": [(*_STORED, "_reserve", _DIFFERS, "earlier.nano != fact.nano")],
    "a second answer of a request": [(*_STORED, "_store_answer", "if body is None:", "if True:")],
    "an answer without a charge": [
        (*_STORED, "_store_answer", "(reserved.hash, reserved.fact.request) != (granted.proof, request)", "False")
    ],
    "an anchor that is not written": [(*_STORED, "write", "self._advance(mark)", "pass")],
    "an anchor before the commit": [
        (*_STORED, "write", _BEFORE, f"self._advance(mark) if mark.head != anchor.head else None; {_BEFORE}")
    ],
    "an anchor that goes back": [
        (_ledger_chain, AnchorFile, "advance", "present.head.number >= anchor.head.number", "False")
    ],
    "an anchor that is not read": [(*_STORED, "_fitting_anchor", "disagreement(tx.ledger, anchor)", "None")],
    "an anchor that knows no hash": [
        (
            *(_ledger_audit, _ledger_audit, "disagreement"),
            *("ledger.hash_of(anchor.head.number) != anchor.head.hash", "False"),
        )
    ],
    "an anchor that knows of no spending": [
        (*(_ledger, _ledger, "_mark"), "[(stored.budget, stored.spent) for stored in ledger.budgets()]", "[]")
    ],
    "a charge that was overtaken and lost": [
        (*_STORED, "_advance", "tx.ledger.hash_of(mark.head.number) != mark.head.hash", "False")
    ],
    "a resumption that forgets": [(_ledger_audit, _ledger_audit, "carry_over", _LOST, "0")],
    "a resumption that takes one way for the other": [
        (_ledger_audit, _ledger_audit, "carry_over", _LOST, "spent - stored.spent")
    ],
    "a resumption that forgets budgets": [
        (
            *(_ledger_audit, _ledger_audit, "carry_over"),
            *("ledger.add_budget(budget, body=described(budget), actor=actor, now=now)", "None\n            continue"),
        )
    ],
}
_LATE = {
    "an answer without a charge",
    "an anchor that knows no hash",
    "a resumption that takes one way for the other",
    "another cost under an old id",
    "an anchor that goes back",
    "a charge that was overtaken and lost",
}
_SOUGHT = sorted(set(_FAULTS) if os.environ.get("TABLEWATCH_CRASH_EVERY") == "1" else set(_FAULTS) - _LATE)


@pytest.mark.combinations
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", _SOUGHT)
def test_a_fault_in_the_ledger_is_found(empty_file: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """What the laws do not find they do not rule out: each fault breaks one of them."""
    for module, owner, name, old, new in _FAULTS[fault]:
        _put_in(monkeypatch, module, owner, name, old, new)
    with pytest.raises((AssertionError, StoreError, Crash)):
        run_state_machine_as_test(lambda: Ledgers(empty_file), settings=_FIND)


def _put_in(monkeypatch: pytest.MonkeyPatch, module: ModuleType, owner: object, name: str, old: str, new: str) -> None:
    """Let a function do what its text says with one piece of it replaced."""
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old} is not once in {name}"
    made: dict = {}
    exec(source.replace(old, new), vars(module), made)  # noqa: S102 - our own text
    monkeypatch.setattr(function, "__code__", made[name].__code__)
