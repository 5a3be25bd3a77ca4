"""A Prefect flow with a task that runs Tablewatch's checks, by the command of an environment of its own.

    TABLEWATCH=/opt/tablewatch/bin/tablewatch TABLEWATCH_CONFIG=/srv/shop python flow.py

The task fails if a check fails or could not be evaluated, so that what depends on it does not run.
"""

import json
import os
import subprocess

from prefect import flow, task


class ChecksNotPassed(Exception):
    """A check failed, or could not be evaluated."""


@task
def check_tables(*selector: str) -> dict:
    """Run the checks that words choose, and return how many did what.

    Raises:
        ChecksNotPassed: a check failed, or could not be evaluated.
        RuntimeError: nothing was checked.
    """
    program, config = os.environ.get("TABLEWATCH", "tablewatch"), os.environ["TABLEWATCH_CONFIG"]
    line = [program, "-c", config, "check", "--format", "json", "--", *selector]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 3}:  # 1: a check failed; 3: one could not be evaluated
        raise RuntimeError(f"tablewatch ended with exit code {done.returncode}: {done.stderr[-2000:]}")
    document = json.loads(done.stdout)
    wrong = [line for line in document["results"] if line["status"] in {"fail", "unknown"}]
    if wrong:
        incidents = sorted({line["incident"] for line in wrong if line["incident"] is not None})
        raise ChecksNotPassed(f"{', '.join(line['check_id'] for line in wrong)}; incidents {incidents}")
    return document["summary"]


@flow
def shop() -> dict:
    """Load the table, then check it."""
    return check_tables("orders")


if __name__ == "__main__":
    shop()
