"""Print proposed checks: failing now first, then by confidence, then those that need a decision."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from monitor.terminal.output import count
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table

if TYPE_CHECKING:
    from rich.console import Console

_NAMED: Final = frozenset({"type", "id", "column", "columns", "determinant", "dependent", "severity", "timezone"})
"""Parameters that are shown elsewhere, or not at all."""
_GROUPS: Final = ("fails now", "sure", "to decide", "could not be tried")


def draw_suggestions(
    console: "Console", tables: Sequence[Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> None:
    """Print what is proposed for each table, and for the sources of tables of CSV."""
    _draw_settings(console, settings)
    for table in tables:
        console.print(_headline(table))
        groups = {group: [each for each in table["proposals"] if _group(each) == group] for group in _GROUPS}
        for group, proposals in groups.items():
            if proposals:
                console.print(f"  {group}:")
            for proposal in proposals:
                console.print(Text("    ").append(_line(proposal)))


def draw_overview(
    console: "Console", tables: Sequence[Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> None:
    """Print one row for each table: how much is proposed, and what fails now."""
    _draw_settings(console, settings)
    rows = []
    for table in tables:
        groups = [_group(proposal) for proposal in table["proposals"]]
        numbers = [f"{groups.count(group):,}" for group in ("sure", "to decide", "fails now")]
        rows.append((visible(table["table"]), None if table["rows"] is None else f"{table['rows']:,}", *numbers))
    draw_table(console, ("~table", ">rows", ">checks", ">to decide", ">fails now"), rows)
    for table in tables:
        if table["problem"] is not None:
            console.print(f"{visible(table['table'])}: not measured: {visible(table['problem'])}")
        for proposal in table["proposals"]:
            if _group(proposal) == "fails now":
                console.print(f"{visible(table['table'])}: {visible(_what(proposal))} fails now: {_message(proposal)}")


def _draw_settings(console: "Console", settings: Sequence[Mapping[str, Any]]) -> None:
    for setting in settings:
        sure = "" if setting["active"] else ", to decide"
        console.print(f"source {visible(setting['source'])}: csv.null_values{sure}: {visible(setting['why'])}")


def _headline(table: Mapping[str, Any]) -> Text:
    line = Text(visible(table["table"]), "bold")
    if table["problem"] is not None:
        return line.append(f"  not measured: {visible(table['problem'])}", "not bold")
    if not table["rows"]:
        return line.append("  no rows: nothing is proposed", "not bold")
    return line.append(f"  {'; '.join(_scope(table))}", "not bold")


def _scope(table: Mapping[str, Any]) -> Iterator[str]:
    yield count(table["rows"], "row")
    if table["scanned_rows"] < table["rows"]:
        yield f"limits from a random sample of {table['scanned_rows']:,} rows"
    if table["sampled_rows"] < table["rows"]:
        yield f"values and shapes from a random sample of {table['sampled_rows']:,} rows"
    if table["left_out_columns"]:
        yield f"{count(len(table['left_out_columns']), 'column')} not measured"


def _group(proposal: Mapping[str, Any]) -> str:
    status = None if proposal["now"] is None else proposal["now"]["status"]
    if status == "fail":
        return "fails now"
    if status == "unknown":
        return "could not be tried"
    return "sure" if proposal["active"] else "to decide"


def _line(proposal: Mapping[str, Any]) -> Text:
    why = proposal["why"]
    if _group(proposal) in {"fails now", "could not be tried"}:
        why = f"{_message(proposal)}; {why}"
    declared = "declared; " if proposal["confidence"] == "declared" else ""
    name = "" if proposal["active"] or proposal["id"] is None else f"  --accept {visible(proposal['id'])}"
    return Text(visible(_what(proposal))).append(f"  {declared}{visible(why)}{name}", "dim")


def _message(proposal: Mapping[str, Any]) -> str:
    return visible(proposal["now"]["message"])


def _what(proposal: Mapping[str, Any]) -> str:
    check = proposal["check"]
    if check is None:
        return f"{proposal['kind']} {', '.join(proposal['columns'])}"
    between = " -> " if "determinant" in check else ", "
    what = f"{check['type']} {between.join(proposal['columns'])}".strip()
    details = [f"{key}: {_in_words(value)}" for key, value in check.items() if key not in _NAMED]
    if details and check["type"] != "schema":
        what += f" ({', '.join(details)})"
    return f"{what} ({', '.join(proposal['hidden'])} hidden)" if proposal["hidden"] else what


def _in_words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
