"""The types of `tablewatch.checks` for editors and type checkers, made from the catalogue of checks."""

import json
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

from checks import load_catalog

_HEAD: Final = '''"""Checks as objects; written by `python -m docs.refresh` from the catalogue of checks."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Literal, TypedDict, Unpack

from checks import Check
'''
_COMMON: Final = "_Common"
_PLAIN: Final = {"integer": "int", "number": "float | Decimal", "boolean": "bool", "null": "None"}
_TEXTS: Final = {"15m": "timedelta", "date": "date"}
"""What Python has for a text, by the first example or the format of its schema."""
_LITERAL: Final = "Literal["
_WIDTH: Final = 120


def check_stubs() -> str:
    """Return the stub of the module: a function for each type of check, and once what all of them take."""
    models: Mapping[str, Any] = load_catalog()
    schemas = {kind: model.model_json_schema(mode="validation") for kind, model in models.items()}
    keys = [{key: json.dumps(value) for key, value in schema["properties"].items()} for schema in schemas.values()]
    common = [key for key, text in keys[0].items() if all(own.get(key) == text for own in keys)]
    first = next(iter(schemas.values()))
    lines = [_HEAD, f"class {_COMMON}(TypedDict, total=False):", '    """What every check takes."""', ""]
    for key in common:
        lines += [f"    {key}: {_type(first['properties'][key], first)}", *_doc(first["properties"][key], 4)]
    for kind, schema in schemas.items():
        lines += ["", *_function(kind, schema, common)]
    return "\n".join(lines) + "\n"


def _function(kind: str, schema: Mapping[str, Any], common: list[str]) -> Iterator[str]:
    own = {key: value for key, value in schema["properties"].items() if key not in common and key != "type"}
    yield f"def {kind}("
    yield "    *,"
    for key, value in sorted(own.items(), key=lambda item: item[0] not in schema.get("required", [])):
        default = "" if key in schema.get("required", []) else " = ..."
        yield f"    {key}: {_type(value, schema)}{default},"
    yield f"    **common: Unpack[{_COMMON}],"
    yield ") -> Check:"
    yield from _wrapped(f'"""{schema["description"].partition(chr(10) * 2)[0]}', 4)
    yield ""
    yield "    Args:"
    for key, value in own.items():
        about = value.get("description") or "See docs/checks.md."
        yield from _wrapped(f"{key}: {about}", 8)
    yield "        **common: What every check takes."
    yield ""
    yield "    Raises:"
    yield "        InvalidInput: a parameter is wrong."
    yield '    """'


def _doc(value: Mapping[str, Any], indent: int) -> Iterator[str]:
    if value.get("description"):
        yield from _wrapped(f'"""{value["description"]}"""', indent)


def _wrapped(text: str, indent: int) -> Iterator[str]:
    text = " ".join(text.replace("\\", "\\\\").split())
    yield from wrap(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + (4 if indent > 4 else 0)),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _type(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the Python type of what may be given, as one union."""
    return _union(_types(value, schema))


def _union(types: Iterable[str]) -> str:
    names = list(dict.fromkeys(types))
    if "str" in names and _PLAIN["number"] in names:  # any value of a column; a text may be a date
        names.insert(names.index("str") + 1, "date")
    if _PLAIN["number"] in names and "int" in names:  # a type checker takes an int for a float
        names.remove("int")
    literals = [name for name in names if name.startswith(_LITERAL)]
    if len(literals) > 1:
        words = ", ".join(name.removeprefix(_LITERAL).removesuffix("]") for name in literals)
        names = [f"{_LITERAL}{words}]", *(name for name in names if name not in literals)]
    return " | ".join(names) or "Any"


def _types(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in value:
        yield from _types(schema["$defs"][value["$ref"].rpartition("/")[2]], schema)
    elif "anyOf" in value or "oneOf" in value:
        shared = {key: value[key] for key in ("examples",) if key in value}
        for choice in value.get("anyOf", value.get("oneOf", ())):
            yield from _types({**shared, **choice}, schema)
    elif isinstance(value.get("type"), list):
        for kind in value["type"]:
            yield from _types({**value, "type": kind}, schema)
    elif "enum" in value or "const" in value:
        yield f"{_LITERAL}{', '.join(json.dumps(item) for item in value.get('enum', [value.get('const')]))}]"
    elif value.get("type") == "string":
        yield "str"
        signs = (value.get("format"), *value.get("examples", ())[:1])
        yield from (_TEXTS[sign] for sign in signs if sign in _TEXTS)
    elif value.get("type") == "array":
        yield from _arrays(value, schema)
    elif value.get("type") == "object":
        inner = value.get("additionalProperties")
        yield f"Mapping[str, {_type(inner, schema) if isinstance(inner, dict) and inner else 'Any'}]"
    else:
        yield _PLAIN.get(value.get("type", ""), "Any")


def _arrays(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a list may be; a text is no list of texts."""
    parts = value.get("prefixItems", [value["items"]] if isinstance(value.get("items"), dict) else [])
    inner = _union(item for part in parts for item in _types(part, schema))
    yield from ("list[str]", "tuple[str, ...]") if inner == "str" else (f"Sequence[{inner}]",)
