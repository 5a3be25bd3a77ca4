"""A Dagster asset check that runs Tablewatch's checks of a table, by the command of an environment of its own.

    TABLEWATCH=/opt/tablewatch/bin/tablewatch TABLEWATCH_CONFIG=/srv/shop dagster dev -f asset_check.py

A failed check fails the asset check, by the worst severity; one that could not be evaluated is no pass. `blocking`
keeps downstream assets from being made.
"""

import json
import os
import subprocess

import dagster as dg

_ERRORS = {"error", "critical"}


def run_checks(*selector: str) -> list[dict]:
    """Return the results of the checks that words choose.

    Raises:
        RuntimeError: nothing was checked.
    """
    program, config = os.environ.get("TABLEWATCH", "tablewatch"), os.environ["TABLEWATCH_CONFIG"]
    line = [program, "-c", config, "check", "--format", "json", "--", *selector]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 3}:  # 1: a check failed; 3: one could not be evaluated
        raise RuntimeError(f"tablewatch ended with exit code {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)["results"]


@dg.asset
def orders() -> None:
    """Load the table."""


@dg.asset_check(asset=orders, blocking=True)
def tablewatch_orders() -> dg.AssetCheckResult:
    """Run the checks of table `orders`."""
    results = run_checks("orders")
    failed = [line for line in results if line["status"] == "fail"]
    unknown = [line for line in results if line["status"] == "unknown"]
    is_error = bool(unknown) or any(line["severity"] in _ERRORS for line in failed)
    return dg.AssetCheckResult(
        passed=not failed and not unknown,
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        metadata={
            "checks": len(results),
            "failed": [line["check_id"] for line in failed],
            "not_evaluated": [line["check_id"] for line in unknown],
            "incidents": sorted({line["incident"] for line in results if line["incident"] is not None}),
        },
    )


defs = dg.Definitions(assets=[orders], asset_checks=[tablewatch_orders])
