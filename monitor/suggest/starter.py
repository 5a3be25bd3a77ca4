"""Write a first configuration for tables that exist: their names, and the checks that are proposed for them.

What is sure and passes now becomes a check; the rest is written as a comment with the reason, and what fails now with
what it finds. Checks that hold values of a table are comments without them unless values were asked for.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final
from unicodedata import category

from monitor.config.yaml_nodes import resolve
from monitor.integrations.proposal import COST_EXAMPLE
from monitor.suggest import FAILS
from monitor.suggest.arrival import is_arrival_name
from monitor.suggest.catalogue import TableEntry
from monitor.suggest.proposal import Proposal
from monitor.suggest.sources import SourceLocation
from monitor.suggest.suggest import SourceSuggestions, TableSuggestions

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")


def write_yaml(
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]],
    suggestions: Mapping[str, SourceSuggestions],
    *,
    project: str,
    show_values: bool = False,
) -> str:
    """Return the text of a first configuration with the tables of each source. `suggestions`: by the source's name."""
    lines = list(_head([place for place, _ in tables], suggestions, project))
    return "\n".join([*lines, *table_lines(tables, suggestions, show_values=show_values)]) + "\n"


def table_lines(
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]],
    suggestions: Mapping[str, SourceSuggestions],
    *,
    show_values: bool,
    taken: Collection[str] = (),
) -> Iterator[str]:
    """Yield the entries of tables, as they stand under `tables`. `taken`: names of other tables."""
    names = table_names(tables, taken)
    for place, results in tables:
        proposed = {table.name: table for table in suggestions[place.name].tables}
        for table in results:
            yield from _table(place, table, proposed[names[place.name, table.name]], show_values=show_values)


def table_names(
    tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]], taken: Collection[str] = ()
) -> Mapping[tuple[str, str], str]:
    """Return every table its name in the configuration.

    Where two sources have one of the same name, or it is taken, the source's too. Control characters become spaces.
    """
    every = [table.name.casefold() for _, results in tables for table in results]
    every += [name.casefold() for name in taken]
    return {
        (place.name, table.name): _shown(
            f"{place.name}.{table.name}" if every.count(table.name.casefold()) > 1 else table.name
        )
        for place, results in tables
        for table in results
    }


def _shown(name: str) -> str:
    return "".join(" " if category(letter) == "Cc" else letter for letter in name)


def _head(
    places: Sequence[SourceLocation], suggestions: Mapping[str, SourceSuggestions], project: str
) -> Iterator[str]:
    yield "# yaml-language-server: $schema=.tablewatch/schema.json"
    yield "# Written by `tablewatch init`. Editors with the YAML language server complete and check this file."
    yield "version: 1"
    yield f"project: {_scalar(project)}"
    yield "timezone: UTC                 # time zone of this file and of reports, such as Asia/Tokyo"
    yield 'storage: {url: "sqlite:///${here}/tablewatch.db"}   # the store, next to this file'
    yield ""
    yield "sources:"
    for place in places:
        yield from source_lines(place, suggestions[place.name].null_values)
    yield ""
    yield "# owners:                     # owners of tables; set them in `owner:`"
    yield "#   data-team: {name: Data team, email: data-team@example.org}"
    yield ""
    yield from COST_EXAMPLE
    yield ""
    yield "tables:"


def source_lines(place: SourceLocation, null_values: Sequence[Proposal]) -> Iterator[str]:
    """Yield the entry of a source, as it stands under `sources`."""
    yield f"  {place.name}:"
    for number, (key, text) in enumerate(place.entry.items()):
        secret = f"   # set {place.variable} before you start" if place.variable and number == 0 else ""
        value = _scalar(text, template=place.variable is not None)
        yield f"    {key}: {f'{{uri: {value}}}' if key == 'iceberg' else value}{secret}"
    marks = [
        proposal.setting["csv"]["null_values"][0] for proposal in null_values if proposal.active and proposal.setting
    ]
    if marks:
        yield f"    csv: {in_flow({'null_values': marks})}"
    for proposal in null_values:
        mark = "" if proposal.active else f"csv: {in_flow((proposal.setting or {})['csv'])}   "
        yield f"    # {mark}{comment(proposal.why)}"
    yield "    # timezone: Asia/Tokyo    # of naive time columns"


def _table(place: SourceLocation, table: TableEntry, proposed: TableSuggestions, *, show_values: bool) -> Iterator[str]:
    yield f"  - name: {_scalar(proposed.name)}"
    yield f"    source: {place.name}"
    if proposed.name != table.name:
        yield f"    table: {_scalar(table.name)}"
    yield "    # owner: data-team"
    yield "    # schedule: every 15m    # for the daemon: tablewatch run"
    for proposal in proposed.proposals:
        if proposal.setting is not None:
            yield f"    # {in_flow(proposal.setting)[1:-1]}   # {comment(proposal.why)}"
        is_time = proposal.kind == "freshness" and "epoch" not in (proposal.check or {})
        if is_time and is_arrival_name(proposal.columns[0]):
            column = in_flow(proposal.columns[0])
            yield f"    # loaded_at: {column}   # when rows came: incidents are dated by it, and `backfill` needs it"
    lines = list(check_lines(proposed, show_values=show_values)) or _unmeasured(table, proposed)
    active = any(not line.startswith("#") for line in lines)
    yield "    checks:" if active else "    checks: []   # remove [] when you add checks"
    yield from (f"      {line}" for line in lines)
    yield ""


def _unmeasured(table: TableEntry, proposed: TableSuggestions) -> Sequence[str]:
    """Return comments for a table that has no rows to propose anything from, or could not be read."""
    key = f"[{', '.join(map(in_flow, table.key))}]" if table.key else "[...]"
    why = "the table is empty" if proposed.problem is None else comment(f"not measured: {proposed.problem}")
    return [
        f"# {why}; once it has rows, `tablewatch suggest` proposes more",
        "# - {type: volume, min: 1}",
        f"# - {{type: primary_key, columns: {key}, severity: critical}}",
    ]


def check_lines(proposed: TableSuggestions, *, show_values: bool) -> Iterator[str]:
    """Yield the proposed checks of a table as lines of a YAML list, active ones first, the others as comments."""
    active = [proposal for proposal in proposed.proposals if _is_written(proposal, show_values=show_values)]
    others = [proposal for proposal in proposed.proposals if proposal not in active and proposal.check is not None]
    for proposal in active:
        yield f"- {in_flow(with_id(proposal, active))}"
    for proposal in others:
        yield f"# {note_of(proposal)}"
        if not proposal.holds_values or show_values:
            yield f"# - {in_flow(with_id(proposal, proposed.proposals))}"


def _is_written(proposal: Proposal, *, show_values: bool) -> bool:
    return proposal.active and proposal.check is not None and (show_values or not proposal.holds_values)


def note_of(proposal: Proposal) -> str:
    """Return the comment that goes before a proposal that is not switched on: why, and what fails now."""
    what = (
        f"{proposal.kind} {', '.join(proposal.columns)}".strip() if proposal.holds_values else proposal.confidence.value
    )
    failing = f"{FAILS}{proposal.now.message}; " if proposal.now is not None and proposal.fails_now else ""
    return comment(f"{what}: {failing}{proposal.why}")


def with_id(proposal: Proposal, among: Sequence[Proposal]) -> Mapping[str, Any]:
    """Return a check with an id where a table has several of its kind, since two checks cannot share a name."""
    check = proposal.check or {}
    if "id" in check or [(other.check or {}).get("type") for other in among].count(check["type"]) == 1:
        return check
    words = re.sub("[^A-Za-z0-9]+", "-", "-".join((check["type"], *proposal.columns)))
    return {"id": words.strip("-").lower()[:80], **check}


def id_of(proposal: Proposal, among: Sequence[Proposal]) -> str | None:
    """Return the name by which a proposal is accepted, that of its check; None for a setting."""
    check = None if proposal.check is None else with_id(proposal, among)
    return None if check is None else str(check.get("id", check["type"].replace("_", "-")))


def comment(text: str) -> str:
    """Return a text as it may stand in a comment: on one line."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def in_flow(value: Any) -> str:
    """Write a value in YAML's flow style so that it is read back as it is."""
    if isinstance(value, Mapping):
        entries = (f"{_in_flow(str(key), is_key=True)}: {in_flow(item)}" for key, item in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(in_flow, value)) + "]"
    if value is None:
        return "null"
    return _in_flow(value) if isinstance(value, str) else str(value)


_NOT_IN_YAML: Final = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
"""What stands in a JSON text as it is, and not, or as the end of a line, in a YAML text in double quotes."""


def _in_flow(text: str, *, is_key: bool = False) -> str:
    """Write a text; in a key nothing is filled in, so that a dollar sign is itself."""
    if re.fullmatch(r"[1-9][0-9]*[smhd]", text):  # a length of time
        return text
    is_plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_.-]*", text) and resolve(text) == text
    return text if is_plain else _quoted(text, template=is_key)


def _scalar(text: str, *, template: bool = False) -> str:
    """Write a text so that it is read back as it is; `template` lets `${...}` be filled in."""
    if not template and _PLAIN.fullmatch(text) and resolve(text) == text:
        return text
    return _quoted(text, template=template)


def _quoted(text: str, *, template: bool = False) -> str:
    quoted = json.dumps(text if template else text.replace("$", "$$"), ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda sign: f"\\u{ord(sign[0]):04x}", quoted)
