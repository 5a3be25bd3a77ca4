"""The OpenAPI 3.1 document, made of the route table and of the models alone, and the page that shows it to people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from monitor.summaries.shapes import Shape
from monitor.terminal.version import version
from monitor.web.access import ALLOWED
from monitor.web.call import WebRoute
from monitor.web.problems import ErrorReply

_PLACE: Final = "#/components/schemas/{model}"
_PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_REFUSALS: Final = {
    400: "the request cannot be read",
    401: "not signed in, or the token does not hold",
    403: "the role does not allow it",
    404: "there is no such thing",
    409: "not possible now; `available` names what is",
    413: "the body is too large",
    415: "the body is of another type",
    422: "the values are not valid",
    429: "too much at once by this client; try again later",
    503: "the store cannot be used now, or too much is asked for at once",
}


def document(routes: Sequence[WebRoute]) -> dict[str, Any]:
    """Return the document of the routes that programs call."""
    schemas, definitions = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_PARAMETER.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tablewatch", "version": version()},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


_Schemas: TypeAlias = Mapping[Any, Any]


def _schemas(routes: Sequence[WebRoute]) -> tuple[_Schemas, dict[str, Any]]:
    models: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(ErrorReply, "serialization"): None}
    for route in routes:
        if route.reply is not None:
            models[route.reply, "serialization"] = None
        if route.body is not None:
            models[route.body, "validation"] = None
    schemas, definitions = models_json_schema(list(models), ref_template=_PLACE)
    return schemas, definitions


def _operation(route: WebRoute, schemas: _Schemas) -> dict[str, Any]:
    error = _content(schemas[ErrorReply, "serialization"])
    statuses = [status for status in _REFUSALS if route.body is not None or status not in {409, 413, 415}]
    operation: dict[str, Any] = {
        "operationId": _PARAMETER.sub(r"\1", f"{route.method.lower()}{route.path}").replace("/", "_").replace(".", "_"),
        "summary": route.summary,
        "description": f"For roles: {', '.join(role for role in ALLOWED if route.access in ALLOWED[role])}.",
        "parameters": _parameters(route),
        "responses": {str(status): {"description": _REFUSALS[status], "content": error} for status in statuses},
    }
    if route.reply is not None:
        reply = _content(schemas[route.reply, "serialization"], route.media_type)
        operation["responses"] |= {
            str(status): {"description": route.summary, "content": reply} for status in {200, route.status}
        }
    if route.body is not None:
        is_required = any(field.is_required() for field in route.body.model_fields.values())
        operation["requestBody"] = {
            "required": is_required,
            "content": _content(schemas[route.body, "validation"]),
        }
    return operation


def _parameters(route: WebRoute) -> list[dict[str, Any]]:
    schema = route.query.model_json_schema(ref_template=_PLACE)
    inner = schema.get("$defs", {})
    in_path = set(_PARAMETER.findall(route.path))
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path or name in schema.get("required", ()),
            "schema": _inlined(value, inner),
        }
        for name, value in schema.get("properties", {}).items()
    ]


def _inlined(value: Any, inner: Mapping[str, Any]) -> Any:
    """Return a schema with what it refers to in its place: parameters have no definitions of their own."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            return _inlined(inner[reference.rpartition("/")[2]], inner)
        return {key: _inlined(item, inner) for key, item in value.items()}
    return [_inlined(item, inner) for item in value] if isinstance(value, list) else value


def _content(schema: Any, media_type: str = "application/json") -> dict[str, Any]:
    return {media_type: {"schema": _event_content(schema) if media_type == "text/event-stream" else schema}}


def _event_content(schema: Any) -> dict[str, Any]:
    """Return the schema of a server-sent event whose data is JSON, in the form that OpenAPI 3.2 gives to events."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
    return {"type": "object", "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": data}}


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
                fields=tuple(_api_fields(operation, document["components"]["schemas"])),
            )
            for path, methods in document["paths"].items()
            if path.startswith("/api/")
            for method, operation in methods.items()
        )
    )


def _api_fields(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[ApiField]:
    for value in operation["parameters"]:
        yield ApiField(
            name=value["name"], place=value["in"], type=_type_name(value["schema"], schemas), required=value["required"]
        )
    body = operation.get("requestBody", {"content": {}})["content"].get("application/json")
    if body is None:
        return
    schema = _followed(body["schema"], schemas)
    for name, value in schema.get("properties", {}).items():
        is_required = name in schema.get("required", ())
        yield ApiField(name=name, place="body", type=_type_name(value, schemas), required=is_required)


def _followed(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return schema if reference is None else schemas[reference.rpartition("/")[2]]


def _type_name(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return the type of a value in a few words."""
    schema = _followed(schema, schemas)
    if "anyOf" in schema:
        kinds = [_type_name(part, schemas) for part in schema["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any")
