"""The recipes for Dagster and Prefect, run by these tools themselves, in environments of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.monitor.shop import build_shop
from tests.needs import peer_program

ROOT = Path(__file__).parents[2]
DAGSTER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import asset_check as recipe, dagster as dg
done = dg.materialize([recipe.orders, recipe.tablewatch_orders], raise_on_error=False)
(evaluation,) = done.get_asset_check_evaluations()
metadata = {name: value.value for name, value in evaluation.metadata.items()}
print("ANSWER", json.dumps([evaluation.passed, evaluation.severity.value, done.success, metadata]))
"""
PREFECT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import flow as recipe
state = recipe.shop(return_state=True)
print("ANSWER", json.dumps([state.type.value, str(state.result(raise_on_failure=False))]))
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("tool", "script", "good", "bad"),
    [
        pytest.param(
            "dagster",
            DAGSTER,
            '[true, "WARN", true, {"checks": 2, "failed": [], "not_evaluated": [], "incidents": []}]',
            '[false, "ERROR", false, '
            '{"checks": 2, "failed": ["orders.primary-key"], "not_evaluated": [], "incidents": [1]}]',
            marks=pytest.mark.dagster,
        ),
        pytest.param(
            "prefect",
            PREFECT,
            "[\"COMPLETED\", \"{'pass': 2, 'warn': 0, 'fail': 0, 'unknown': 0, 'total': 2}\"]",
            '["FAILED", "orders.primary-key; incidents [1]"]',
            marks=pytest.mark.prefect,
        ),
    ],
)
def test_a_recipe_passes_and_fails_with_the_checks(tool: str, script: str, good: str, bad: str, tmp_path: Path) -> None:
    """Good data pass; a duplicate key fails, with the check's name and the incident, and nothing of the data."""
    python = peer_program(tool) or ""
    shop = build_shop(tmp_path)
    program = tmp_path / "tablewatch"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m monitor "$@"\n')
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "TABLEWATCH": str(program),
        "TABLEWATCH_CONFIG": str(shop.config),
        "HOME": str(tmp_path),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
    }
    line = [python, "-c", script, str(ROOT / "examples" / tool)]
    for expected in (good, bad):
        done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        answers = [text.removeprefix("ANSWER ") for text in done.stdout.splitlines() if text.startswith("ANSWER ")]
        assert answers == [expected], done.stderr[-3000:]
        shop.sql("INSERT INTO orders VALUES (2, 'canary', 1.0, '2026-11-20 08:30')")
        assert "canary" not in done.stdout + done.stderr
