"""Propose checks for a table without a configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tablewatch._errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The proposed checks of a table, each with its evidence, how sure it is and what it finds now."""

    _document: Mapping[str, Any] = field(repr=False)

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The sure proposals that pass now, as `check` takes them."""
        return [{**item["check"], "id": item["id"]} for item in self.proposals if item["active"] and not item["hidden"]]

    @property
    def proposals(self) -> list[dict[str, Any]]:
        """All proposals, as in `tables` of `tablewatch.suggest/1`; `hidden` are parameters with values of the table."""
        return [dict(item) for item in self._document["tables"][0]["proposals"] if item["check"] is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return `schema`, `tables` and `settings` of the published shape `tablewatch.suggest/1`."""
        return dict(self._document)

    def __str__(self) -> str:
        """Return what `tablewatch suggest` prints, without colours."""
        from io import StringIO

        from rich.console import Console

        from monitor.reporting.terminal_views.suggestions import draw_suggestions

        console = Console(file=StringIO(), width=120, soft_wrap=True, color_system=None, markup=False, highlight=False)
        with console.capture() as text:
            (table,) = self._document["tables"]
            unnamed = [{**item, "id": None} for item in table["proposals"]]  # an id is for --accept
            draw_suggestions(console, [{**table, "proposals": unnamed}], self._document["settings"])
        return text.get().rstrip()


def suggest(
    data: Any,
    *,
    name: str | None = None,
    timezone: str | None = None,
    loaded_at: str | None = None,
    csv: Mapping[str, Any] | None = None,
    query_timeout: str | timedelta | None = None,
    show_values: bool = False,
) -> Suggestions:
    """Measure a table and propose checks for it; nothing is stored.

    Args:
        data: As for `check`; a stream is read into memory.
        name: The table's name; by default as for `check`.
        timezone: The IANA zone of naive time columns.
        loaded_at: The column with the load time of a row.
        csv: How CSV files are written, as `csv` of a source.
        query_timeout: The longest that a statement may take; one minute by default.
        show_values: Whether proposals hold values of the table: lists of values, limits.

    Raises:
        InvalidInput: the data is no table, or cannot be read.
    """
    from monitor.clock import SystemClock
    from monitor.config import ConfigError
    from monitor.scan.ad_hoc import AdHocTable, target_of
    from monitor.suggest.suggest import SuggestionTarget, suggest_checks
    from monitor.suggest.suggestion_json import SCHEMA, problems_of, settings_as_json, suggestions_as_json
    from monitor.terminal.problem import Problem
    from sources import SourceError

    source = {"timezone": timezone, "csv": csv, "query_timeout": query_timeout}
    about = AdHocTable(
        name=name,
        source={key: value for key, value in source.items() if value is not None},
        table={} if loaded_at is None else {"loaded_at": loaded_at},
    )
    try:
        target = target_of(data, about)
        results = {target.source.name: suggest_checks([SuggestionTarget(target)], SystemClock())}
    except ConfigError as error:
        raise InvalidInput(error.problems) from None
    except SourceError as error:
        raise InvalidInput([Problem("data", str(error), "data")]) from None
    if problems := [table.problem for table in problems_of(results) if table.problem is not None]:
        raise InvalidInput([Problem("data", problem, "data") for problem in problems])
    tables = suggestions_as_json(results, show_values=show_values)
    return Suggestions({"schema": SCHEMA, "tables": tables, "settings": settings_as_json(results)})
