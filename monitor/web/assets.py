"""The files that pages load: our style sheet and script; htmx (0BSD) lies beside them and is never fetched."""

import importlib.resources
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel
from starlette.responses import Response

from monitor.terminal.problem import Problem
from monitor.web.call import Call
from monitor.web.problems import WebError

_FILES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "tablewatch.css": ("text/css", ("report/report.css", "release/plot.css", "web/static/web.css")),
        "htmx.js": ("text/javascript", ("web/static/htmx.min.js",)),
        "live.js": ("text/javascript", ("web/static/live.js",)),
    }
)
"""The type of each file and what it is made of; nothing else is served, whatever a path says."""


class AssetName(BaseModel):
    """The name of a file, in the path."""

    name: str


@cache
def assets() -> Mapping[str, bytes]:
    """Return the content of each file."""
    folder = importlib.resources.files("templates")
    return {
        name: b"\n".join(folder.joinpath(*part.split("/")).read_bytes() for part in parts)
        for name, (_, parts) in _FILES.items()
    }


@cache
def asset_versions() -> Mapping[str, str]:
    """Return a word for the content of each file: browsers keep a file until it changes."""
    return {name: sha256(content).hexdigest()[:12] for name, content in assets().items()}


def serve_asset(call: Call) -> Response:
    """Return a file.

    Raises:
        WebError: there is none of that name.
    """
    content = assets().get(call.query.name)
    if content is None:
        raise WebError(404, Problem("request.not_found", "there is no such file"))
    kept = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(content, media_type=_FILES[call.query.name][0], headers=kept)
