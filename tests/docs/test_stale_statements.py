"""The documentation does not say of anything that it is still to come: what is documented is acted on."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from monitor.config import model as _model
from monitor.config import release_model as _release

HOUSE = Path(__file__).resolve().parents[2]
PAGES = sorted((HOUSE / "docs").glob("*.md"))
STALE = re.compile(
    r"not yet (acted on|used|implemented|supported|available)|(in|by) (this|a later|a future|the next) version"
    r"|to be (implemented|done)|coming soon|has no effect yet|\bTODO\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_says_that_something_is_still_to_come(page: Path) -> None:
    """No page says that something it documents is not acted on by this version."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert [match[0] for match in STALE.finditer(text)] == []


@cache
def _read_names() -> frozenset[str]:
    """Return the names of all attributes that the product reads."""
    names: set[str] = set()
    for room in ("monitor", "checks", "sources", "store", "remedies"):
        for path in (HOUSE / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return frozenset(names)


@pytest.mark.parametrize(
    "model", [_model.Config, _model.Table, _model.Storage, _release.Release], ids=lambda m: m.__name__
)
def test_every_key_of_the_configuration_is_read_somewhere(model) -> None:
    """A key that nothing reads has no effect: it would be documented in vain."""
    assert [name for name in model.model_fields if name not in _read_names() | {"version"}] == []
