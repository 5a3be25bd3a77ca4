"""A small valid configuration to break in one place at a time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from monitor.config import ConfigError, Loaded, load
from monitor.terminal.problem import Problem

SMALL = """\
version: 1
project: shop
timezone: Asia/Tokyo
sources:
  files: {files: "data/*.csv"}
owners:
  crew: {name: The crew, email: crew@example.org}
tables:
  - name: orders
    source: files
    owner: crew
    checks:
      - {type: not_null, columns: [id]}
"""

Load = Callable[..., Loaded]
Problems = Callable[..., Sequence[Problem]]


@pytest.fixture
def small() -> str:
    """Return the text of a small valid configuration."""
    return SMALL


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """Return a function that loads a text as `tablewatch.yaml`."""

    def load_it(text: str, environment: Mapping[str, str] | None = None) -> Loaded:
        path = tmp_path / "tablewatch.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, environment=environment or {})

    return load_it


@pytest.fixture
def problems_of(load_text: Load) -> Problems:
    """Return a function that loads a broken text and gives its problems."""

    def problems(text: str, environment: Mapping[str, str] | None = None) -> Sequence[Problem]:
        with pytest.raises(ConfigError) as caught:
            load_text(text, environment)
        return caught.value.problems

    return problems
