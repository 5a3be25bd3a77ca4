"""Pages: the templates of `templates/web` in the reader's language, with secrets masked, and the files that they load.

htmx (0BSD) lies beside our style sheet and script, and is never fetched.
"""

import importlib.resources
import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
from zoneinfo import ZoneInfo

from jinja2 import Environment
from pydantic import BaseModel
from starlette.responses import Response

from checks import Severity
from incidents import Resolution, State
from monitor.config.project import Project
from monitor.reporting.render import environment, markdown_html, masking, show_hours_as_length
from monitor.reporting.responsive_tables import with_cards
from monitor.terminal.localizer import Localizer
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import visible
from monitor.web import pictures
from monitor.web.access import ALLOWED
from monitor.web.call import Call
from monitor.web.problems import WebError
from monitor.web.words import page_words

LANGUAGES: Final = ("en", "ja")
_LANGUAGE: Final = re.compile(r"\s*([A-Za-z]{2})(?:-[A-Za-z0-9]+)*\s*(?:;.*)?")
_FILES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "tablewatch.css": ("text/css", ("report/report.css", "release/plot.css", "web/static/web.css")),
        "htmx.js": ("text/javascript", ("web/static/htmx.min.js",)),
        "keys.js": ("text/javascript", ("web/static/keys.js",)),
        "live.js": ("text/javascript", ("web/static/live.js",)),
    }
)
"""The type of each file and what it is made of; nothing else is served, whatever a path says."""


class Pages:
    """The pages of a project, in each language."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._environments: Mapping[str, Environment] = {name: self._environment(name) for name in LANGUAGES}

    def _environment(self, language: str) -> Environment:
        project = self._project
        env = environment(
            Localizer(language, project.config.timezone), project.currency.code, masking(project.loaded.redactor)
        )
        env.filters["place"] = lambda name: quote(str(name), safe="")
        show_hours_as_length(env)
        env.filters["rough"] = lambda value: env.filters["number"](None if value is None else float(f"{value:.2g}"))
        zone = ZoneInfo(project.config.timezone)
        env.filters["local_minute"] = lambda moment: moment.astimezone(zone).strftime("%Y-%m-%dT%H:%M")
        env.filters["instant"] = datetime.fromisoformat
        env.filters["markdown"] = lambda text: markdown_html(visible(project.loaded.redactor(text), keep="\n"))
        env.filters["comment"] = lambda text: markdown_html(
            visible(project.loaded.redactor(text), keep="\n"), is_comment=True, ticket_url=partial(_ticket_url, project)
        )
        env.tests["link"] = lambda text: urlsplit(text).scheme in {"https", "http"} and len(text.split()) == 1
        env.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str)
        env.filters["address"] = lambda query, **changed: _address(query, changed)
        env.filters["cards"] = lambda text: with_cards(str(text))
        env.globals.update(
            has_products=bool(project.config.products),
            has_budgets=bool(project.config.budgets),
            project_name=project.config.project,
            zone=project.config.timezone,
            language=language,
            asset=lambda name: f"/static/{name}?v={asset_versions()[name]}",
            words=page_words(),
            picture=pictures,
            shared=_SharedContents(env),
            states=tuple(State),
            severities=tuple(Severity),
            resolutions=tuple(Resolution),
            causes=project.config.incidents.choices,
            allowed=lambda principal: () if principal is None else ALLOWED[principal.grant.role],
        )
        return env

    def language(self, accepted: str) -> str:
        """Return the first language of an `Accept-Language` header that pages have, else the project's."""
        for part in accepted.split(","):
            match = _LANGUAGE.fullmatch(part)
            if match is not None and match[1].lower() in LANGUAGES:
                return match[1].lower()
        return self._project.config.locale

    def render(self, template: str, *, language: str, **context: Any) -> str:
        """Return a page by the name of its template.

        `context`: the path, the principal, the model `page`, the moment `now`, and `monitoring`, None for who may not
        read it.
        """
        return self._environments[language].get_template(f"web/{template}.html.j2").render(context)

    def refused(self, error: WebError, **context: Any) -> str:
        """Return the page of an error."""
        return self.render("error", page=error, **context)


def _ticket_url(project: Project, key: str) -> str | None:
    """Return the address of a ticket in the service of a channel, by its key."""
    channels = (project.channel(name) for name in project.config.alerts.channels)
    urls = (channel.kind.ticket_url(channel.settings, key) for channel in channels if channel is not None)
    return next((url for url in urls if url is not None), None)


class _SharedContents:
    """Content that is the same for all readers, cached as long as its model: `shared(template, page)` in a template.

    It is rendered without the reader and the path; a template that asks for either fails.
    """

    def __init__(self, env: Environment) -> None:
        self._environment = env
        self._last: dict[str, tuple[BaseModel, str]] = {}

    def __call__(self, name: str, page: BaseModel) -> str:
        """Return the content of a model as HTML, rendered once for as long as readers are shown the same model."""
        model, content = self._last.get(name, (None, ""))
        if model is not page:
            content = with_cards(self._environment.get_template(f"web/{name}.html.j2").render(page=page))
            self._last[name] = page, content
        return content


def _address(query: BaseModel, changed: Mapping[str, Any]) -> str:
    """Return the query string of a list with some fields changed; what is as it is by default is left out."""
    values = {**query.model_dump(mode="json", exclude_defaults=True), **changed}
    pairs = [
        (name, item)
        for name, value in values.items()
        for item in (value if isinstance(value, list | tuple) else [value])
        if item is not None
    ]
    return f"?{urlencode(pairs)}" if pairs else "?"


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
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(content, media_type=_FILES[call.query.name][0], headers=headers)
