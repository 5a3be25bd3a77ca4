"""The OpenAPI 3.1 document, made of the route table and of the models alone, and the page that shows it to people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from monitor.summaries.shapes import Shape
from monitor.terminal.version import version
from monitor.verbs.incident import IncidentNumber
from monitor.web.access import ALLOWED
from monitor.web.call import WebRoute
from monitor.web.idempotency import HEADER, KEY, LONGEST
from monitor.web.problems import PROBLEM_TYPE, STATUSES, ErrorReply

_PLACE: Final = "#/components/schemas/{model}"
_PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_REFUSALS: Final = {
    400: "the request cannot be read",
    401: "not signed in, or the token does not hold",
    403: "the role does not allow it",
    404: "there is no such thing",
    409: "not possible now; `available` names what is",
    412: "the incident is at another version than If-Match names",
    413: "the body is too large",
    415: "the body is of another type",
    422: "the values are not valid",
    429: "too much at once by this client; try again later",
    503: "the store cannot be used now, or too much is asked for at once",
}


_HEADERS: Final[Mapping[str, Any]] = {
    "ETag": {"description": "What If-None-Match takes", "schema": {"type": "string"}},
    "Location": {"description": "The address of what was made", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds until it may be asked for again", "schema": {"type": "integer"}},
}


def document(routes: Sequence[WebRoute], *, server: str, session: str) -> dict[str, Any]:
    """Return the document of the routes that programs call, at the address of a server; `session` is its cookie."""
    schemas, definitions = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_PARAMETER.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tablewatch", "version": version()},
        "servers": [{"url": server.rstrip("/") or "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(map(_tag, routes))],
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": session},
            },
        },
        "security": [{"token": []}, {"session": []}],
    }


def _tag(route: WebRoute) -> str:
    """Return what an address is about: its first word."""
    return route.path.split("/")[3]


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
    error = _content(schemas[ErrorReply, "serialization"], PROBLEM_TYPE)
    is_write = route.body is not None
    statuses = [status for status in _REFUSALS if is_write or status not in {409, 412, 413, 415}]
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{_words(route.path)}",
        "tags": [_tag(route)],
        "summary": route.summary,
        "description": f"For roles: {', '.join(role for role in ALLOWED if route.access in ALLOWED[role])}.",
        "parameters": [*_parameters(route), *_conditions(route)],
        "responses": {
            str(status): {
                "description": _REFUSALS[status],
                "content": error,
                **({"headers": _some("Retry-After")} if status in {429, 503} else {}),
            }
            for status in statuses
        },
    }
    if route.reply is not None:
        reply = _content(schemas[route.reply, "serialization"], route.media_type)
        operation["responses"] |= {
            str(status): {
                "description": route.summary,
                "content": reply,
                **({} if is_write or _is_stream(route) else {"headers": _some("ETag")}),
            }
            for status in {200, route.status}
        }
        if not is_write and not _is_stream(route):
            operation["responses"]["304"] = {"description": "It is as If-None-Match names it", "headers": _some("ETag")}
    if route.body is not None:
        is_required = any(field.is_required() for field in route.body.model_fields.values())
        operation["requestBody"] = {
            "required": is_required,
            "content": _content(schemas[route.body, "validation"]),
        }
    return operation


def _words(path: str) -> str:
    """Return what follows `/api/v1/` as one word."""
    return re.sub("[^a-z]+", "_", _PARAMETER.sub(r"\1", path.removeprefix("/api/v1/"))).strip("_")


def _some(name: str) -> dict[str, Any]:
    return {name: _HEADERS[name]}


def _is_stream(route: WebRoute) -> bool:
    return route.media_type == "text/event-stream"


def _conditions(route: WebRoute) -> Iterator[dict[str, Any]]:
    """Yield the headers on which an answer depends."""
    if route.body is None:
        named = () if _is_stream(route) else (("If-None-Match", "An ETag that is known: 304 if it still holds."),)
    elif route.query is IncidentNumber:
        named = (("If-Match", "The ETag of the incident that was read: 412 if it was changed since."),)
    else:
        named = ()
    for name, text in named:
        yield {"name": name, "in": "header", "required": False, "description": text, "schema": {"type": "string"}}
    if route.body is not None:
        yield {
            "name": HEADER,
            "in": "header",
            "required": False,
            "description": "Under the same key, a request is carried out once, and answered again for a day.",
            "schema": {"type": "string", "pattern": f"^{KEY}$", "maxLength": LONGEST},
        }


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


class ApiProblem(Shape):
    """A problem by its code, which the `type` of a refusal names, and its status."""

    code: str
    status: int


class ApiPage(Shape):
    """The operations of the API, in the order of the document, and the problems that have a status of their own."""

    operations: tuple[ApiOperation, ...]
    problems: tuple[ApiProblem, ...]


def api_page(document: Mapping[str, Any]) -> ApiPage:
    """Return the page of an OpenAPI document."""
    return ApiPage(
        problems=tuple(ApiProblem(code=code, status=status) for code, status in STATUSES.items()),
        operations=tuple(
            ApiOperation(
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                roles=operation["description"],
                fields=tuple(_api_fields(operation, document["components"]["schemas"])),
            )
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ),
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
