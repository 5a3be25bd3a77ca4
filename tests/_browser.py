"""One Chromium for all tests of a module."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.needs import chromium

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield Chromium, for one module: Playwright keeps an event loop running that asynchronous tests would meet."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(chromium()), args=list(QUIET))
        yield started
        started.close()
