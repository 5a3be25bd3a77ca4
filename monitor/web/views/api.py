"""The page of the API: what programs may ask, from the same document that they read."""

from collections.abc import Iterator, Mapping
from typing import Any

from monitor.web.views.shapes import Shape


class ApiField(Shape):
    """A value that a request takes; `place` is `path`, `query` or `body`."""

    name: str
    place: str
    type: str
    required: bool


class ApiOperation(Shape):
    """A method of an address: what it does, who may call it, what it takes."""

    method: str
    path: str
    summary: str
    roles: str
    fields: tuple[ApiField, ...]


class ApiPage(Shape):
    """The operations of the API, in the order of the document."""

    operations: tuple[ApiOperation, ...]


def api_page(document: Mapping[str, Any]) -> ApiPage:
    """Return the page of an OpenAPI document; the JSON twins of pages at other addresses are left out."""
    return ApiPage(
        operations=tuple(
            ApiOperation(
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                roles=operation["description"],
                fields=tuple(_fields(operation, document["components"]["schemas"])),
            )
            for path, methods in document["paths"].items()
            if path.startswith("/api/")
            for method, operation in methods.items()
        )
    )


def _fields(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[ApiField]:
    for value in operation["parameters"]:
        yield ApiField(
            name=value["name"], place=value["in"], type=_type(value["schema"], schemas), required=value["required"]
        )
    body = operation.get("requestBody", {"content": {}})["content"].get("application/json")
    if body is None:
        return
    schema = _followed(body["schema"], schemas)
    for name, value in schema.get("properties", {}).items():
        is_required = name in schema.get("required", ())
        yield ApiField(name=name, place="body", type=_type(value, schemas), required=is_required)


def _followed(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return schema if reference is None else schemas[reference.rpartition("/")[2]]


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return the type of a value in a few words."""
    schema = _followed(schema, schemas)
    if "anyOf" in schema:
        kinds = [_type(part, schemas) for part in schema["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any")
