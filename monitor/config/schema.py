"""The JSON Schema of the configuration, generated from the models and the catalogue of checks, for editors."""

from collections.abc import Mapping
from types import GenericAlias
from typing import Any, get_args

from pydantic import BaseModel, create_model
from pydantic.json_schema import models_json_schema

from checks import load_catalog
from monitor.config.model import Config, Table
from monitor.config.patterns import TablePattern
from monitor.config.scalars import Deferred, SchemaOfText
from monitor.terminal.redaction import json_text

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SUBSTITUTION = {"type": "string", "pattern": r"^\$\{.+\}$", "description": "A value from the environment or a file."}
_LEAVES = frozenset({"integer", "number", "boolean"})
_ANNOTATIONS = ("title", "description", "default", "examples")
_SCHEMAS = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf")
_NAMED_SCHEMAS = frozenset({"properties", "$defs"})


def json_schema() -> dict[str, Any]:
    """Return the schema of `tablewatch.yaml`: every check and hierarchy is a branch, distinguished by `type`."""
    from remedies.generalisation.spec import SPECS

    models: dict[str, type[BaseModel]] = {"": _whole_config()}
    models |= {word: check for word, check in load_catalog().items() if issubclass(check, BaseModel)}
    references, schema = models_json_schema(
        [(model, "validation") for model in (*models.values(), *SPECS.values())],
        ref_template="#/$defs/{model}",
        schema_generator=SchemaOfText,
    )
    definitions = schema["$defs"]
    of = {word: references[model, "validation"]["$ref"] for word, model in models.items()}
    checks = {word: reference for word, reference in of.items() if word}
    hierarchies = {word: references[model, "validation"]["$ref"] for word, model in SPECS.items()}
    for reference in (*checks.values(), *hierarchies.values()):
        _require_type(definitions[_name(reference)])
    for name in ("Table", "TablePattern"):
        definitions[name]["properties"]["checks"]["items"] = _one_of(checks)
    definitions["Release"]["properties"]["hierarchies"]["additionalProperties"] = _one_of(hierarchies)
    _lay_flat(definitions)
    definitions["Substitution"] = _SUBSTITUTION
    root = definitions.pop(_name(of[""]))
    root["properties"]["tables"]["items"] = {
        "if": {"required": ["match"]},
        "then": {"$ref": "#/$defs/TablePattern"},
        "else": {"$ref": "#/$defs/Table"},
    }
    whole = {"$schema": DIALECT, **root, "title": "Tablewatch configuration", "$defs": definitions}
    allowed: dict[str, Any] = _allow_substitution(whole)
    allowed["$defs"] = {name: allowed["$defs"][name] for name in sorted(allowed["$defs"])}
    return allowed


def _whole_config() -> type[BaseModel]:
    """Return the configuration with its deferred sections in their places."""
    sections: dict[str, Any] = {"tables": (tuple[Table | TablePattern, ...], Config.model_fields["tables"])}
    for name, field in Config.model_fields.items():
        key, value, *_ = (*get_args(field.annotation), None, None)
        for metadata in getattr(value, "__metadata__", ()):
            if isinstance(metadata, Deferred):
                sections[name] = (GenericAlias(dict, (key, metadata.model)), field)
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, **sections)


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json_text(json_schema()) + "\n"


def _one_of(branches: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a mapping that one of these models describes, by its `type`."""
    return {
        "type": "object",
        "required": ["type"],
        "discriminator": {"propertyName": "type", "mapping": branches},
        "oneOf": [{"$ref": reference} for reference in branches.values()],
    }


def _lay_flat(definitions: dict[str, Any]) -> None:
    """Add `schedule` to the keys of each statistic, as in a file."""
    query = definitions.pop("ScheduledQuery")
    schedule, statistic = query["properties"]["schedule"], query["properties"]["ask"]
    for reference in statistic["discriminator"]["mapping"].values():
        branch = definitions[_name(reference)]
        branch["required"] = ["schedule", "statistic", *branch.get("required", [])]
        branch["properties"] = {"schedule": schedule, **branch["properties"]}
        branch["properties"]["statistic"].pop("default", None)
    named = definitions["Budget"]["properties"]["statistics"]
    place = "patternProperties" if "patternProperties" in named else "additionalProperties"
    flat = {"type": "object", "required": ["schedule", "statistic"], **statistic}
    named[place] = dict.fromkeys(named[place], flat) if place == "patternProperties" else flat


def _name(reference: str) -> str:
    return reference.removeprefix("#/$defs/")


def _require_type(check: dict[str, Any]) -> None:
    """Make `type` required, so that editors can tell which keys belong to the check."""
    check["required"] = ["type", *(name for name in check.get("required", []) if name != "type")]
    check["properties"]["type"].pop("default", None)


def _allow_substitution(schema: Any) -> Any:
    """Allow `${VAR}` wherever a number, a boolean or a text with a pattern is allowed."""
    if isinstance(schema, list):
        return [_allow_substitution(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema is _SUBSTITUTION:
        return schema
    if _is_narrow(schema):
        outside = {name: schema[name] for name in _ANNOTATIONS if name in schema}
        inside = {name: value for name, value in schema.items() if name not in outside}
        return {"anyOf": [inside, {"$ref": "#/$defs/Substitution"}], **outside}
    changed = {name: _allow_substitution(schema[name]) for name in _SCHEMAS if name in schema}
    for name in _NAMED_SCHEMAS & set(schema):
        changed[name] = {key: _allow_substitution(value) for key, value in schema[name].items()}
    return {**schema, **changed}


def _is_narrow(schema: dict[str, Any]) -> bool:
    """Check whether `${VAR}` would not fit: no text fits, or not every text."""
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    return "pattern" in schema or "enum" in schema or (not kinds.isdisjoint(_LEAVES) and "string" not in kinds)
