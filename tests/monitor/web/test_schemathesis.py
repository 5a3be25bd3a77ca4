"""The API against requests that are made of its own document: none breaks it, each answer is in the document."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from monitor.config.selector import select
from monitor.scan.run import run_checks
from tests.monitor.web.ledger import charge, open_budget
from tests.monitor.web.site import Site
from tests.tiers import examples

CONFIGURATION: Final = """
[checks.negative_data_rejection]
expected-statuses = ["4xx"]
"""
"""Any refusal will do."""
HOOKS: Final = """
# in the place of positive_data_acceptance: a state, or a rule across fields, may refuse what the schema allows
import schemathesis


@schemathesis.check
def what_the_schema_allows_is_understood(ctx, response, case):
    if not case.meta.generation.mode.is_positive or response.status_code not in (400, 415, 422):
        return
    problem = response.json()["errors"][0]
    if problem["message"].endswith(("expected a whole number", "1970 to 8999", "between 1971 and 8999")):
        return  # 306.0 is a whole number for JSON Schema, not for strict JSON; no format of a schema bounds years
    of_one_field = problem["code"].startswith("request.") and (problem.get("field") or response.status_code != 422)
    assert not of_one_field, f"{problem}: {dict(case.headers or {})} {case.query}"
"""
EXAMPLES: Final = examples(6)
"""Requests to an address in each phase of random ones, at most."""


@contextmanager
def open_everything(site: Site, folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a site that has one of everything; yield its address, and the cookie of an administrator."""
    now = site.clock.now()
    charge(open_budget(site.store, folder / "anchor", now), "first", "0.25", now)
    run_checks(site.project, select(["orders"], site.project.config), store=site.store)
    site.schedule("orders", "refunds")
    for number in range(3):
        site.incident(f"number {number}")
    with site.served() as host:
        yield f"http://{host}", site.cookie()


@pytest.mark.schemathesis
def test_nothing_breaks_and_nothing_is_undocumented(site: Site, tmp_path: Path) -> None:
    """All checks of schemathesis at every address of the API, as an administrator: each answer is in the document.

    One worker: Python 3.11 cannot parse in two threads.
    """
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    (tmp_path / "hooks.py").write_text(HOOKS)
    environment = {**os.environ, "PYTHONWARNINGS": "", "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(tmp_path)}
    with open_everything(site, tmp_path) as (address, cookie):
        words = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/v1/openapi.json",
            "--header", f"Cookie: {cookie}", "--header", "Sec-Fetch-Site: same-origin",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance", "--phases", "examples,coverage,fuzzing",
            "--max-examples", str(EXAMPLES), "--seed", "18", "--no-shrink",
            "--continue-on-failure",
            "--generation-database", "none", "--warnings", "off", "--no-color",
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert "No issues found" in done.stdout
