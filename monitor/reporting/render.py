"""Render a report to one HTML file or to Markdown; `monitor.reporting.report_json` gives the JSON form.

Everything a template writes is escaped, in both formats: names of tables, titles, owners and causes were written by
others.
"""

import base64
import hashlib
import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.bccache import Bucket
from markupsafe import Markup

from incidents.downtime import HOUR_US
from monitor.reporting.filters import filters, texts
from monitor.reporting.model import PeriodReport
from monitor.reporting.responsive_tables import with_cards
from monitor.reporting.scope import ScopeTitles
from monitor.reporting.words import PERIOD_WORDS
from monitor.terminal.localizer import Localizer
from monitor.terminal.redaction import one_line, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SECTIONS: Final = (
    "headline",
    "timeline",
    "domains",
    "coverage",
    "figures",
    "change",
    "diagnosis",
    "parts",
    "owners",
    "trend",
    "tables",
    "by_domain",
    "products",
    "patterns",
    "contracts",
    "releases",
    "incidents",
    "scan_costs",
    "audit",
    "method",
)
"""The sections in order; each has a template of its name for every format."""

RELEASE_STYLES: Final = ("report/report.css", "release/release.css", "release/plot.css")
"""The style sheets of the pages about releases."""
_FIRST_HEADING: Final = 3
"""Level of the headings of a text within a page, whose own are the title and the sections."""
_LINKS: Final = ("http://", "https://", "mailto:")
_REFERENCES: Final = re.compile(
    r"(https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]])|(?<![\w&/#])#(\d{1,18})\b|(?<![\w.@/])@([\w][\w.-]{0,99})"
    r"|(?<![\w/-])([A-Z][A-Z0-9_]{0,49}-\d{1,9})(?![\w-])"
)
"""An address, the number of an incident, the name of a person, or the key of a ticket, in a comment."""
_MARKDOWN_SIGNS: Final = re.compile(r"([\\`*_\[\]|~]|:(?=//))")


def as_html(
    report: PeriodReport, localizer: Localizer, *, redact: Callable[[str], str] = str, scopes: ScopeTitles | None = None
) -> str:
    """Return one self-contained page: no script, nothing fetched, the style allowed by its hash only.

    `scopes`: what its reader may choose instead of its scope; None makes a page that leads nowhere.
    """
    style = styled("report/report.css")
    return with_cards(_render("html", report, localizer, masking(redact), scopes=scopes, **style))


def styled(*names: str) -> Mapping[str, Any]:
    """Return our own style sheets as one, and the hash by which a page's security policy allows it."""
    folder = importlib.resources.files("templates")
    style = "\n".join(folder.joinpath(*name.split("/")).read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {"style": Markup(style), "style_hash": f"sha256-{digest}"}  # noqa: S704 - our own files


def as_markdown(report: PeriodReport, localizer: Localizer, *, redact: Callable[[str], str] = str) -> str:
    """Return Markdown (with GitHub's tables) for a chat or a pull request."""

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else escape_markdown(redact(str(value)))

    return without_gaps(_render("md", report, localizer, finalize))


def show_hours_as_length(env: Environment) -> None:
    """Make the filter `length` format hours: JSON shapes have hours, reports microseconds."""
    show = env.filters["show"]
    env.filters["length"] = lambda hours: show(None if hours is None else round(hours * HOUR_US), "hours")


def without_gaps(text: str) -> str:
    """Return a text whose paragraphs are one blank line apart."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escape_markdown(value: str) -> Markup:
    """Escape what Markdown or HTML would read as more than text; one line, whatever the value holds."""
    signs_escaped = _MARKDOWN_SIGNS.sub(r"\\\1", one_line(value))
    return Markup(signs_escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))  # noqa: S704 - escaped here


def markdown_html(
    text: str, *, is_comment: bool = False, ticket_url: Callable[[str], str | None] = lambda _: None
) -> str:
    """Render Markdown that a person wrote (CommonMark, with tables) as HTML.

    HTML in it stays text, images are not fetched, links lead to http, https or mail; the highest of its headings are on
    the third level. A comment keeps its lines, and addresses, `#9` and `@mia` in it are links,
    and so are keys of tickets that `ticket_url` has an address for.
    """
    reader = _markdown_reader(breaks=is_comment)
    tokens = reader.parse(text)
    headings = [token for token in tokens if token.type in {"heading_open", "heading_close"}]
    highest = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - highest + _FIRST_HEADING)}"
    for part in (child for token in tokens for child in token.children or () if child.type == "link_open"):
        part.attrSet("rel", "noreferrer")
        if not str(part.attrGet("href")).lower().startswith(_LINKS):
            del part.attrs["href"]
    for token in tokens if is_comment else ():
        if token.children:
            token.children = list(_with_references(token.children, ticket_url))
    rendered: str = reader.renderer.render(tokens, reader.options, {})
    return rendered


def _with_references(tokens: "Sequence[Token]", ticket_url: Callable[[str], str | None]) -> "Iterator[Token]":
    """Yield the tokens of a line, with addresses, incidents and people as links where they are in none yet."""
    from markdown_it.token import Token

    within = 0
    for token in tokens:
        within += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type != "text" or within:
            yield token
            continue
        at = 0
        for match in _REFERENCES.finditer(token.content):
            address, number, person, ticket = match.groups()
            place = f"/incidents/{number}" if number else f"/search?text={quote(person)}" if person else None
            href = address or place or ticket_url(ticket)
            if href is None:
                continue
            yield Token("text", "", 0, content=token.content[at : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": href, "rel": "noreferrer"})
            yield Token("text", "", 0, content=match[0])
            yield Token("link_close", "a", -1)
            at = match.end()
        yield Token("text", "", 0, content=token.content[at:])


@cache
def _markdown_reader(*, breaks: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "breaks": breaks}).enable("table").disable("image")


def masking(redact: Callable[[str], str]) -> Callable[[Any], Any]:
    """Return the `finalize` of an environment: mask secrets, show control characters."""

    def finalize(value: Any) -> Any:
        return visible(redact(value), keep="\n") if type(value) is str else value

    return finalize


class _CompiledTemplates(BytecodeCache):
    """Cache of compiled templates for all environments: compiling takes as long as rendering.

    It depends on a template's text alone: constants pass no filter and no `finalize` before they are rendered.
    """

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _CompiledTemplates()


def environment(localizer: Localizer, currency: str, finalize: Callable[[Any], Any]) -> Environment:
    """Return the environment of report templates: filters, texts, and automatic escaping."""
    env = Environment(
        loader=PackageLoader("templates", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=pass_context(lambda _, value: finalize(value)),
        optimized=False,
        bytecode_cache=_COMPILED,
    )
    env.filters.update(filters(localizer, currency))
    env.globals.update(texts(localizer))
    return env


def _render(
    suffix: str, report: PeriodReport, localizer: Localizer, finalize: Callable[[Any], Any], **more: Any
) -> str:
    template = environment(localizer, report.currency, finalize).get_template(f"report/report.{suffix}.j2")
    return template.render(**period_values(report, localizer), sections=SECTIONS, **more)


def period_values(report: PeriodReport, localizer: Localizer) -> Mapping[str, Any]:
    """Return the variables of report templates."""
    return {
        "report": report,
        "words": PERIOD_WORDS[type(report.period)],
        "language": localizer.language,
        "dates": localizer.format((report.period.first, report.period.last), "dates"),
    }


def page(name: str, localizer: Localizer, *, redact: Callable[[str], str], **values: Any) -> str:
    """Return a page by the name of its template; everything that others wrote is escaped, and what is secret masked."""
    style = styled(*RELEASE_STYLES)
    template = environment(localizer, "", masking(redact)).get_template(f"release/{name}.html.j2")
    return with_cards(template.render(language=localizer.language, zone=localizer.zone.key, **style, **values))
