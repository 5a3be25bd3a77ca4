"""List releases for a person: how each stands, until when, and what was last given out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from monitor.figures.releases import ReleaseState, ReleaseWord
from monitor.frame.plain_text import visible
from monitor.frame.tables import draw_table
from monitor.pages.incident import iso
from monitor.releasing.record import export_as_json
from store import ReleaseEvent

SCHEMA: Final = "tablewatch.release-list/1"


def list_as_json(
    states: Sequence[ReleaseState], exports: Mapping[str, ReleaseEvent], as_of: datetime
) -> dict[str, Any]:
    """Give the published form. `exports`: the newest of each release; those of others than `states` come apart."""
    known = {one.name for one in states}
    return {
        "schema": SCHEMA,
        "ok": True,
        "as_of": iso(as_of),
        "releases": [{**one.to_json(), "why": one.why, "last_export": _last(exports, one.name)} for one in states],
        "no_longer_configured": [
            {"release": name, "last_export": _last(exports, name)} for name in sorted(exports.keys() - known)
        ],
    }


def draw_list(console: Console, states: Sequence[ReleaseState], exports: Mapping[str, ReleaseEvent]) -> None:
    """Print one line for each, and below it why those that are held are."""
    if not states:
        console.print("no release is configured; they are declared under 'releases'")
    else:
        rows = [
            (
                visible(one.name),
                visible(one.release.table),
                one.word.value,
                _day(one.since),
                _approved(one),
                _day(one.standing.until),
                _said(exports.get(one.name)),
            )
            for one in states
        ]
        heads = ("~release", "~table", "state", "since", "~approved with", "expires", "~last export")
        draw_table(console, heads, rows)
        told = [(one.name, one.why) for one in states if one.why]
        if told:
            console.print()
        for name, said in told:
            console.print(Text(f"  {visible(name)}: {visible(said)}", "dim"), soft_wrap=True)
    gone = sorted(exports.keys() - {one.name for one in states})
    if gone:
        console.print(Text(f"no longer configured, and on record: {visible(', '.join(gone))}"))


def _last(exports: Mapping[str, ReleaseEvent], name: str) -> dict[str, Any] | None:
    return export_as_json(exports[name]) if name in exports else None


def _approved(one: ReleaseState) -> str | None:
    return visible(one.standing.remedy) if one.word is ReleaseWord.APPROVED and one.standing.remedy else None


def _said(event: ReleaseEvent | None) -> str | None:
    return None if event is None else f"{event.recorded_at:%Y-%m-%d} {visible(str(event.body.get('file')))}"


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d}"
