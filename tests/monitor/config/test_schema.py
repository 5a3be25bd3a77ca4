"""The JSON Schema for editors."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from checks._catalog import load_catalog
from monitor.config.schema import json_schema, schema_text


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the generated schema."""
    return json_schema()


def _typed_errors(schema: dict[str, Any], value: object) -> list[str]:
    return [error.json_path for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def test_it_is_a_schema(schema: dict[str, Any]) -> None:
    """It is valid by the rules of its own dialect, and needs nothing from anywhere else."""
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["required"]) == {"version", "project", "sources", "tables"}
    assert all(reference.startswith("#/$defs/") for reference in _references(schema))


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [reference for inner in value.values() for reference in _references(inner)]
    return [reference for inner in value for reference in _references(inner)] if isinstance(value, list) else []


def test_every_check_is_a_branch_told_apart_by_its_type(schema: dict[str, Any]) -> None:
    """Editors complete the keys of a check once its type is written; a new check is there by itself."""
    checks = schema["$defs"]["Table"]["properties"]["checks"]["items"]
    assert set(checks["discriminator"]["mapping"]) == set(load_catalog())
    for word, reference in checks["discriminator"]["mapping"].items():
        branch = schema["$defs"][reference.removeprefix("#/$defs/")]
        assert branch["properties"]["type"]["const"] == word
        assert "type" in branch["required"]
        assert branch["additionalProperties"] is False


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, []),
        ({"locale": "fr"}, ["$.locale"]),
        ({"locale": "${LOCALE}"}, []),
        ({"projekt": "x"}, ["$"]),
        ({"sources": {"a": {"files": "x", "concurrency": "many"}}}, ["$.sources.a.concurrency"]),
        ({"sources": {"a": {"files": "x", "concurrency": "${N:-2}"}}}, []),
        ({"sources": {"a": {"files": "x", "query_timeout": "soon"}}}, ["$.sources.a.query_timeout"]),
        ({"tables": [{"name": "t", "source": "a", "checks": [{"type": "not_nul"}]}]}, ["$.tables[0].checks[0]"]),
        ({"tables": [{"name": "t", "source": "a", "checks": [{"type": "not_null", "columns": ["a"]}]}]}, []),
        ({"tables": [{"name": "t", "source": "a", "schedule": "hourly"}]}, ["$.tables[0].schedule"]),
        ({"tables": [{"name": "t", "source": "a", "schedule": "cron: 0 6 * * mon-fri"}]}, []),
    ],
)
def test_it_accepts_and_refuses_what_loading_does(
    schema: dict[str, Any], change: dict[str, Any], wrong: list[str]
) -> None:
    """Mistakes that the models find are found by an editor too, and `${VAR}` may stand for any value."""
    value = {"version": 1, "project": "p", "sources": {"a": {"files": "x"}}, "tables": [], **change}
    assert _typed_errors(schema, value) == wrong


@pytest.mark.parametrize("name", ["weather.yaml", "shop.yaml"])
def test_the_shared_examples_fit(schema: dict[str, Any], reference_data: Path, name: str) -> None:
    """The published examples are valid by the schema."""
    path = reference_data.parent / "examples" / name
    if not path.is_file():
        pytest.skip("the shared examples are not beside the reference data")
    value = json.loads(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8")), default=str))
    assert _typed_errors(schema, value) == []


def test_the_text_of_its_file_is_the_same_schema(schema: dict[str, Any]) -> None:
    """What `config schema --write` and `init` write is what editors get elsewhere."""
    assert json.loads(schema_text()) == schema
