"""Each expectation of Great Expectations, broken over planted tables: its results would show values, ours do not."""

import ast
import json
from importlib.metadata import files

import pytest

from tests.privacy.cases import EXPECTATIONS, REFUSED
from tests.privacy.place import NOW
from tests.privacy.planted import PLANTS, Harvest


@pytest.fixture(scope="module")
def asked(new_place):
    """Return a place where every expectation was asked, by the SQL engine and on a frame."""
    place = new_place()
    harvest = Harvest(place.tokens, loaded_at=NOW)
    for name in ("sqlite", "csv"):
        source = PLANTS[name](place.folder / "data", harvest)
        place.add(name, source)
        place.expect(name)
    place.configure()
    place.session(
        ("check", ["check", "type:expectation", "--format", "json"]), ("check-human", ["check", "csv.expected"])
    )
    return place


def test_every_expectation_has_a_canary():
    """A new version's expectations cannot be forgotten here."""
    listing = next(
        one
        for one in files("great-expectations") or ()
        if str(one).endswith("great_expectations/expectations/core/__init__.py")
    )
    imports = [node for node in ast.walk(ast.parse(listing.read_text())) if isinstance(node, ast.ImportFrom)]
    built_in = {alias.name for node in imports for alias in node.names}
    assert set(EXPECTATIONS) | REFUSED == {one for one in built_in if one.startswith(("Expect", "Unexpected"))}


def test_each_was_broken_or_could_not_be_evaluated(asked):
    """They were not all passed over: on each route most of them are broken by the planted values."""
    results = json.loads(asked.said("check"))["results"]
    assert len(results) == 2 * len(EXPECTATIONS)
    for source in ("sqlite", "csv"):
        failed = [result for result in results if result["table"].startswith(source) and result["status"] == "fail"]
        assert len(failed) > 35


def test_no_value_is_anywhere(asked):
    """Not in what is said, stored or left."""
    leaks = asked.leaks()
    assert not leaks, "\n".join(leaks[:20])
