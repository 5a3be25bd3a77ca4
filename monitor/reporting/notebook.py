"""Results of checks as a fragment of HTML for a notebook: no script, nothing fetched, colours that fit any theme."""

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from monitor.terminal.redaction import visible

_COLOURS: Final = {"pass": "#1a7f37", "warn": "#8a5a00", "fail": "#b42318", "unknown": "#6639a6"}
"""Backgrounds of the status words, on which white text has a contrast of at least 5:1; all else has the page's own."""


def as_notebook_html(document: Mapping[str, Any]) -> str:
    """Return a table of the results of a `tablewatch.check/1`; everything in it is escaped."""
    environment = Environment(
        loader=PackageLoader("templates", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return environment.get_template("notebook/results.html.j2").render(document=document, colours=_COLOURS)
