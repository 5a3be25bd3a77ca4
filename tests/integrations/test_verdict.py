"""What the Airflow provider makes of results, without Airflow."""

import sys
from datetime import UTC, datetime, timedelta
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "integrations" / "airflow" / "tablewatch_airflow" / "verdict.py"
ASKED = datetime(2026, 11, 20, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def verdict() -> ModuleType:
    """Return the module, which knows no Airflow."""
    spec = spec_from_file_location("airflow_verdict", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for the names of their annotations
    spec.loader.exec_module(module)
    return module


def _line(check_id: str, status: str, minutes: float, **changes: Any) -> dict[str, Any]:
    measured_at = (ASKED + timedelta(minutes=minutes)).isoformat()
    line = {"check_id": check_id, "type": "unique", "status": status, "severity": "error", "reason": None}
    return line | {"measured_at": measured_at} | changes


def _page(*lines: dict[str, Any], incidents: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {"table": "orders", "check_results": list(lines), "incidents": list(incidents)}


def test_a_run_that_began_before_the_request_does_not_count(verdict: ModuleType) -> None:
    """It is waited for, also while another tool sends results of the same table."""
    old = _line("orders.a", "pass", -1)
    assert verdict.read_page(_page(old), ASKED) is None
    assert verdict.read_page(_page(old, _line("orders.x", "pass", 1, type="external")), ASKED) is None
    never = _line("orders.b", "not-yet-checked", 0, measured_at=None)
    assert verdict.read_page(_page(never), ASKED) is None


def test_what_a_run_does_not_mention_is_not_evaluated(verdict: ModuleType) -> None:
    """An old pass of a check that the run left out is no pass."""
    old, new = _line("orders.a", "pass", -1), _line("orders.b", "pass", 0)
    checks = verdict.read_page(_page(old, new), ASKED)
    assert [(check.check_id, check.status, check.reason) for check in checks] == [
        ("orders.a", "unknown", "not-run"),
        ("orders.b", "pass", None),
    ]


def test_a_status_that_is_not_known_is_no_pass(verdict: ModuleType) -> None:
    """Whatever a later version says, only pass, warn and fail are results."""
    run = verdict.CheckRun(verdict.read_page(_page(_line("orders.a", "splendid", 1)), ASKED))
    assert [check.check_id for check in run.not_evaluated] == ["orders.a"]
    assert run.as_xcom("info", None)["unknown"] == 1


@pytest.mark.parametrize(("fail_on", "failed"), [("info", 1), ("error", 1), ("critical", 0)])
def test_severity_decides_what_fails_a_task(verdict: ModuleType, fail_on: str, failed: int) -> None:
    """A failed check below `fail_on` is counted as failed, and listed as what fails the task only from there on."""
    incidents = (
        {"check_id": "orders.a", "id": 7, "state": "open"},
        {"check_id": "orders.a", "id": 3, "state": "resolved"},
    )
    run = verdict.CheckRun(verdict.read_page(_page(_line("orders.a", "fail", 1), incidents=incidents), ASKED))
    value = run.as_xcom(fail_on, "http://host")
    assert (value["fail"], len(value["failed"]), len(run.failed(fail_on))) == (1, failed, failed)
    assert value["incidents"] == [{"id": 7, "url": "http://host/incidents/7"}]


def test_an_xcom_stays_small(verdict: ModuleType) -> None:
    """Ten thousand failed checks are counted, fifty are named."""
    checks = [verdict.CheckStatus(f"t{i}.c", f"t{i}", "fail", "error", None, i) for i in range(10_000)]
    value = verdict.CheckRun(checks).as_xcom("info", None)
    assert value["checks"] == value["fail"] == 10_000
    assert {len(value[key]) for key in ("tables", "failed", "incidents")} == {50}
    assert verdict.names_of(checks).endswith("and 9990 more")
