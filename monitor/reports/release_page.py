"""Render a page about a release in the style of the weekly report."""

from collections.abc import Callable
from typing import Any

from monitor.reports.cards import with_cards
from monitor.reports.render import environment, masking, styled
from monitor.voice import Localizer


def page(name: str, voice: Localizer, *, redact: Callable[[str], str], **values: Any) -> str:
    """Give a page by the name of its template; everything that others wrote is escaped, and what is secret masked."""
    style = styled("report/weekly.css", "release/release.css")
    template = environment(voice, "", masking(redact)).get_template(f"release/{name}.html.j2")
    return with_cards(template.render(language=voice.language, zone=voice.zone.key, **style, **values))
