"""Every key of the configuration has an effect: two values of it, and something that differs by them.

To add a key, add an entry to the table of its area in `effects`. What a key changes is observed in this process; the
few keys for which that would need a server, a daemon or minutes name the test that shows their effect.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from monitor.channels import KINDS
from tests.monitor.config.effects import (
    of_alerts,
    of_budgets,
    of_channels,
    of_checks,
    of_hierarchies,
    of_project,
    of_releases,
)
from tests.monitor.config.effects.effect import Effect
from tests.monitor.config.effects.elsewhere import ELSEWHERE, LABELS
from tests.monitor.config.effects.schema_keys import schema_keys

ROOT = Path(__file__).resolve().parents[3]
AREAS = (of_checks, of_hierarchies, of_project, of_alerts, of_channels, of_budgets, of_releases)
EFFECTS = tuple(effect for area in AREAS for effect in area.entries())
SHOWN = {*(effect.key for effect in EFFECTS), *(shown.key for shown in ELSEWHERE), *LABELS}


@pytest.mark.parametrize(
    "effect",
    [pytest.param(effect, marks=[getattr(pytest.mark, name) for name in effect.needs]) for effect in EFFECTS],
    ids=str,
)
def test_two_values_of_a_key_differ_in_what_is_observed(effect: Effect) -> None:
    """A key that changes nothing would be documented in vain."""
    first, second = effect.observations()
    assert first != second


def test_every_key_of_the_schema_has_an_entry() -> None:
    """A new key comes with an entry that shows its effect."""
    assert sorted({*schema_keys()} - SHOWN) == []


def test_every_entry_is_of_a_key_of_the_schema() -> None:
    """A key that went takes its entry along."""
    assert sorted(SHOWN - {*schema_keys(sections=True)}) == []


def test_few_effects_are_shown_elsewhere() -> None:
    """Where a key can be observed here, it is; only settings of channels need a server by their nature."""
    services = {"Channel", *(kind.settings.__name__ for kind in KINDS.values())}
    keys = [key for key in schema_keys() if key.partition(".")[0] not in services]
    elsewhere = [shown.key for shown in ELSEWHERE if shown.key.partition(".")[0] not in services]
    assert len(elsewhere) < len(set(keys)) / 11


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_a_test_that_shows_an_effect_elsewhere_exists_and_names_the_key() -> None:
    """The test is in its module, and the module writes the key."""
    for shown in ELSEWHERE:
        file, _, name = shown.test.partition("::")
        assert name in _functions(ROOT / file), shown
        key = rf"\b{shown.key.rpartition('.')[2]}\b"
        assert re.search(key, (ROOT / file).read_text(encoding="utf-8")), shown
