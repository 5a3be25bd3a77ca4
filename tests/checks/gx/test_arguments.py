"""Arguments of expectations are refused when they are loaded if they could keep a process busy, or fetch something."""

from typing import Any

import pytest

from checks._errors import Misconfigured
from checks.gx.arguments import check_arguments, safe_query


@pytest.mark.parametrize("hole", ["{batch:>9999999999}", "{batch!r:>9999999999}", "{batch.real}", "{0}", "{", "{}"])
def test_a_query_has_the_table_as_its_only_hole(hole: str) -> None:
    """A width of ten digits would fill the memory; nothing but the name of the table is filled in."""
    with pytest.raises(Misconfigured, match="double other braces"):
        safe_query(f"select * from {hole}", dialect="sqlite")


def test_a_condition_that_is_nested_too_deeply_is_refused() -> None:
    """It is an error of the configuration, however deep it is."""
    condition: dict[str, Any] = {"type": "nullity"}
    for _ in range(5_000):
        condition = {"type": "and", "conditions": [condition]}
    with pytest.raises(ValueError, match="more than 20 levels"):
        check_arguments("ExpectColumnValuesToNotBeNull", {"column": "a", "row_condition": condition})


@pytest.mark.parametrize("name", ["$ref", "$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize("address", ["file:///etc/hostname", "http://127.0.0.1:9/x", "other.json", ""])
def test_a_schema_refers_to_its_own_parts_only(name: str, address: str) -> None:
    """Its library would read a file, or ask a server, and tell by the outcome what is there."""
    schema = {"properties": {"a": {"anyOf": [{}, {name: address}]}}}
    with pytest.raises(ValueError, match="its own parts only"):
        check_arguments("ExpectColumnValuesToMatchJsonSchema", {"column": "a", "json_schema": schema})
    own = {"$defs": {"n": {"type": "integer"}}, "properties": {"$ref": {"$ref": "#/$defs/n"}}}
    check_arguments("ExpectColumnValuesToMatchJsonSchema", {"column": "a", "json_schema": own})
