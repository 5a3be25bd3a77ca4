"""The application over a small shop; without the extra `[web]` nothing here can be collected."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.shop import build_shop

collect_ignore_glob = [] if find_spec("starlette") and find_spec("argon2") else ["test_*.py"]


@pytest.fixture
def web_section() -> str:
    """Return the section `web` of the configuration; a module overrides it."""
    return ""


@pytest.fixture
def site(tmp_path: Path, web_section: str) -> Iterator[Any]:
    """Return the application."""
    from tests.monitor.web.site import TABLES, Site

    shop = build_shop(tmp_path)
    text = shop.config.read_text().replace("owners: {desk: {name: The desk}}", "owners: {desk: {}, crew: {}}")
    shop.config.write_text(text.rstrip() + TABLES + web_section)
    project = shop.project()
    with project.open_store() as store:
        yield Site(project, store, shop.clock)
