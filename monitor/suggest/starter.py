"""Write a first configuration for tables that exist: their names, their declared keys, what looks worth watching.

Nothing is guessed into force: only what the engine declares becomes a check, the rest is written as a comment.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from monitor.config.yaml_nodes import resolve
from monitor.suggest.catalogue import TableEntry
from monitor.suggest.sources import SourceLocation

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")


def write_yaml(tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]], *, project: str) -> str:
    """Return the text of a first configuration with the tables of each source."""
    lines = list(_head([place for place, _ in tables], project))
    names = _names(tables)
    for place, results in tables:
        for table in results:
            lines += _table(place, table, names[place.name, table.name])
    return "\n".join(lines) + "\n"


def _names(tables: Sequence[tuple[SourceLocation, Sequence[TableEntry]]]) -> Mapping[tuple[str, str], str]:
    """Return every table its name in the configuration.

    Where two sources have one of the same name, the source's too.
    """
    every = [table.name.casefold() for _, results in tables for table in results]
    return {
        (place.name, table.name): f"{place.name}.{table.name}" if every.count(table.name.casefold()) > 1 else table.name
        for place, results in tables
        for table in results
    }


def _head(places: Sequence[SourceLocation], project: str) -> Iterator[str]:
    yield "# yaml-language-server: $schema=.tablewatch/schema.json"
    yield "# Written by `tablewatch init`. Editors with the YAML language server complete and check this file."
    yield "version: 1"
    yield f"project: {_scalar(project)}"
    yield "timezone: UTC                 # time zone of this file and of reports, such as Asia/Tokyo"
    yield 'storage: {url: "sqlite:///${here}/tablewatch.db"}   # the store, next to this file'
    yield ""
    yield "sources:"
    for place in places:
        yield from _source(place)
    yield ""
    yield "# owners:                     # owners of tables; set them in `owner:`"
    yield "#   data-team: {name: Data team, email: data-team@example.org}"
    yield ""
    yield "# cost:                       # cost of an hour of data downtime; set the tier of a table in `tier:`"
    yield "#   currency: USD"
    yield "#   tiers: {gold: {per_hour: 1000}, silver: {per_hour: 100}}"
    yield ""
    yield "tables:"


def _source(place: SourceLocation) -> Iterator[str]:
    yield f"  {place.name}:"
    for number, (key, text) in enumerate(place.entry.items()):
        secret = f"   # set {place.variable} before you start" if place.variable and number == 0 else ""
        yield f"    {key}: {_scalar(text, template=place.variable is not None)}{secret}"
    yield "    # timezone: Asia/Tokyo    # of naive time columns"


def _table(place: SourceLocation, table: TableEntry, name: str) -> Iterator[str]:
    yield f"  - name: {_scalar(name)}"
    yield f"    source: {place.name}"
    if name != table.name:
        yield f"    table: {_scalar(table.name)}"
    yield "    # owner: data-team"
    yield "    # schedule: every 15m    # for the daemon: tablewatch run"
    yield "    checks:"
    yield "      - {type: volume, min: 1}"
    if table.key:
        columns = ", ".join(map(_in_flow, table.key))
        yield f"      - {{type: primary_key, columns: [{columns}], severity: critical}}"
    else:
        yield "      # no key is declared; which columns form the key?"
        yield "      # - {type: primary_key, columns: [...], severity: critical}"
    if table.arrival is not None:
        yield f"      # - {{type: freshness, column: {_in_flow(table.arrival)}, max_age: 26h}}"
    yield ""


def _in_flow(text: str) -> str:
    return text if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text) and resolve(text) == text else _quoted(text)


def _scalar(text: str, *, template: bool = False) -> str:
    """Write a text so that it is read back as it is; `template` lets `${...}` be filled in."""
    if not template and _PLAIN.fullmatch(text) and resolve(text) == text:
        return text
    return _quoted(text, template=template)


def _quoted(text: str, *, template: bool = False) -> str:
    return json.dumps(  # a JSON text is a YAML text in double quotes
        text if template else text.replace("$", "$$"), ensure_ascii=False
    )
