"""The API against requests that are made of its own document: no 5xx, and nothing that the document does not have."""

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

CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
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
    """Valid and invalid requests to every address of the API, as an administrator: each answer is in the document.

    The twins with `.json` are left out: they are the same routes. One worker: Python 3.11 cannot parse in two threads.
    """
    with open_everything(site, tmp_path) as (address, cookie):
        words = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/v1/openapi.json",
            "--header", f"Cookie: {cookie}", "--header", "Sec-Fetch-Site: same-origin",
            "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
            "--max-examples", str(EXAMPLES), "--seed", "18", "--no-shrink",
            "--exclude-path-regex", r"\.json$", "--continue-on-failure",
            "--generation-database", "none", "--warnings", "off", "--no-color",
        ]  # fmt: skip
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONWARNINGS": ""}
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert "No issues found" in done.stdout
