"""Publish suggestions: `tablewatch.suggest/1`. Without `show_values` no value of a table is in it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from monitor.suggest.proposal import Proposal
from monitor.suggest.starter import id_of
from monitor.suggest.suggest import SourceSuggestions, TableSuggestions

SCHEMA: Final = "tablewatch.suggest/1"
_VALUES: Final = ("values", "min", "max")
"""Parameters of checks that may hold values of a table."""


def suggestions_as_json(sources: Mapping[str, SourceSuggestions], *, show_values: bool) -> Sequence[Mapping[str, Any]]:
    """Return the tables of all sources with their proposals."""
    return [
        {
            "table": table.name,
            "source": source,
            "rows": None if table.statistics is None else table.rows,
            "scanned_rows": None if table.statistics is None else table.statistics.scanned,
            "sampled_rows": None if table.statistics is None else table.statistics.sampled,
            "left_out_columns": [] if table.statistics is None else list(table.statistics.left_out),
            "problem": table.problem,
            "proposals": [
                {"id": id_of(proposal, table.proposals), **_proposal(proposal, show_values=show_values)}
                for proposal in table.proposals
            ],
        }
        for source, suggestions in sources.items()
        for table in suggestions.tables
    ]


def settings_as_json(sources: Mapping[str, SourceSuggestions]) -> Sequence[Mapping[str, Any]]:
    """Return the settings that are proposed for sources."""
    return [
        {"source": source, **_proposal(proposal, show_values=True)}
        for source, suggestions in sources.items()
        for proposal in suggestions.null_values
    ]


def problems_of(sources: Mapping[str, SourceSuggestions]) -> Sequence[TableSuggestions]:
    """Return the tables that could not be read."""
    return [table for suggestions in sources.values() for table in suggestions.tables if table.problem is not None]


def _proposal(proposal: Proposal, *, show_values: bool) -> Mapping[str, Any]:
    hidden = (
        [key for key in _VALUES if key in (proposal.check or {})] if proposal.holds_values and not show_values else []
    )
    check = None if proposal.check is None else {k: v for k, v in proposal.check.items() if k not in hidden}
    now = proposal.now
    return {
        "kind": proposal.kind,
        "columns": list(proposal.columns),
        "confidence": proposal.confidence.value,
        "active": proposal.active,
        "why": proposal.why,
        "breaks_at_most": proposal.breaks_at_most,
        "check": check,
        "hidden": hidden,
        "setting": None if proposal.setting is None else dict(proposal.setting),
        "now": None if now is None else {"status": now.status.value, "message": now.message},
    }
