"""The keys of the configuration's JSON Schema."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from monitor.config.schema import json_schema

COMMON: Final = frozenset({"id", "severity", "open_on", "open_after", "resolve_after", "why", "runbook"})
"""Parameters that every check has from one class, and that are used in one place: shown once."""


def schema_keys(*, sections: bool = False) -> Iterator[str]:
    """Yield `Section.key` for each key that has more than one value.

    Keys of one value, such as `type`, say what section it is. Keys that hold `sections` are left out by default: their
    effects are those of the keys in these.
    """
    schema = json_schema()
    definitions: Mapping[str, Any] = {"Config": schema, **schema["$defs"]}
    checks = {*check_sections().values()}
    for section, definition in definitions.items():
        for key, value in _properties(definition).items():
            if _is_constant(value) or (not sections and _holds_sections(value, definitions)):
                continue
            common = section in checks and key in COMMON
            yield f"CheckParameters.{key}" if common else f"{section}.{key}"


@cache
def check_sections() -> Mapping[str, str]:
    """Return the name of the section of each check, by its type."""
    mapping = json_schema()["$defs"]["Table"]["properties"]["checks"]["items"]["discriminator"]["mapping"]
    return {kind: reference.removeprefix("#/$defs/") for kind, reference in mapping.items()}


def _properties(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys of a section, also of one that may be written in a shorter form."""
    forms = [definition, *definition.get("anyOf", ())]
    return {key: value for form in forms for key, value in form.get("properties", {}).items()}


def _is_constant(value: Mapping[str, Any]) -> bool:
    forms = [form for form in value.get("anyOf", [value]) if form.get("$ref") != "#/$defs/Substitution"]
    return all("const" in form for form in forms)


def _holds_sections(value: Any, definitions: Mapping[str, Any]) -> bool:
    if isinstance(value, list):
        return any(_holds_sections(one, definitions) for one in value)
    if not isinstance(value, dict):
        return False
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if _properties(definitions.get(name, {})):
        return True
    inner = [form for word in ("items", "else", "additionalProperties", "anyOf", "oneOf") if (form := value.get(word))]
    return _holds_sections([*inner, *value.get("patternProperties", {}).values()], definitions)
