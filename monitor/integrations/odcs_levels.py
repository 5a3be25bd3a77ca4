"""Service levels of the Open Data Contract Standard (ODCS 3.1): ages of data become checks, the others promises.

https://bitol-io.github.io/open-data-contract-standard/v3.1.0/service-level-agreement/. Names of levels are read without
regard to case, and by their synonyms. A level that cannot be put is refused with a reason.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from checks.parameters.scalars import say
from monitor.config.scalars import parse_budget
from monitor.integrations.odcs_document import ContractPart, length_of
from monitor.integrations.odcs_quality import NotExpressible, too_old
from monitor.integrations.odcs_tables import ContractTable, slug

_SYNONYMS: Final = {
    "av": "availability",
    "re": "retention",
    "fy": "frequency",
    "ly": "latency",
    "td": "timetodetect",
    "tn": "timetonotify",
    "tr": "timetorepair",
}
_AGES: Final = frozenset({"freshness", "latency", "frequency"})
_TIMES: Final = {
    "timetodetect": "time_to_detect",
    "timetonotify": "time_to_notify",
    "timetorepair": "time_to_repair",
}
_DAILY: Final = timedelta(days=1)
_CLOCK: Final = re.compile(r"(?P<clock>[0-2]\d:[0-5]\d)(?::00)?(?P<offset>Z|[+-]\d\d:?\d\d)?")

Add = Callable[[ContractPart, ContractTable, dict[str, Any]], None]
"""Adds a check to a table, or names the part as not taken."""


def read_levels(
    document: ContractPart, tables: Mapping[str, ContractTable], name: str, add: Add
) -> Mapping[str, Mapping[str, Any]]:
    """Read the service levels of a contract: add checks, and return the entries of `contracts` by their name.

    Args:
        document: the contract.
        tables: its tables, by their name there.
        name: its name in the configuration.
        add: adds a check.
    """
    reader = _Levels(document, tables, name, add)
    for level in document.parts("slaProperties"):
        reader.read(level)
        level.skip()
    return reader.promises


class _Levels:
    def __init__(self, document: ContractPart, tables: Mapping[str, ContractTable], name: str, add: Add) -> None:
        self._document, self._tables, self._name, self._add = document, tables, name, add
        self.promises: dict[str, dict[str, Any]] = {}

    def read(self, level: ContractPart) -> None:
        """Read a level."""
        name = re.sub("[^a-z]", "", str(level.plain("property")).lower())
        name = _SYNONYMS.get(name, name)
        tables = self._named(level)
        if tables is None:
            return
        if name in _TIMES or name in {"availability", "downtime"}:
            self._read_promise(level, name, [table.name for table, _ in tables])
        elif name in _AGES or name in {"retention", "timeofavailability"}:
            for table, column in tables:
                self._read_age(level, name, table, column)
        else:
            level.refuse("no check or service level is made of this property")

    def _named(self, level: ContractPart) -> Sequence[tuple[ContractTable, str | None]] | None:
        """Return the tables that a service level is about, with the column where one is named; None if refused."""
        element = level.text("element") or self._document.text("slaDefaultElement")
        if element is None:
            return [(table, None) for table in self._tables.values()]
        named = []
        for word in (part.strip() for part in element.split(",")):
            table_name, _, column = word.partition(".")
            if not column and table_name not in self._tables and len(self._tables) == 1:
                table_name, column = next(iter(self._tables)), word  # of the only table a column is enough
            table = self._tables.get(table_name)
            if table is None or (column and column not in table.columns):
                level.refuse(f"its element '{word}' is neither a table nor a column of the contract", "element")
                return None
            named.append((table, table.columns[column] if column else None))
        return named

    def _read_age(self, level: ContractPart, name: str, table: ContractTable, column: str | None) -> None:
        """Add a check of how old rows may be, the newest ones or all of them."""
        if column is None:
            level.refuse("its element names no column with the time of a row, such as orders.loaded_at")
            return
        zone = {"timezone": table.zones[column]} if column in table.zones else {}
        fresh = {"type": "freshness", "column": column, **zone}
        if name == "timeofavailability":
            by = _in_utc(str(level.plain("value")).strip())
            if by is None:
                level.refuse("its value is not a time of the day with an offset, such as 09:00-08:00")
                return
            due = {"max_age": say(_DAILY), "expected": {"by": by, "timezone": "UTC"}}
            self._add(level, table, {**fresh, **due, "id": slug(f"available-{column}")})
            return
        length = length_of(level.plain("value"), level.plain("unit"))
        if length is None:
            level.refuse("its value is no length of time: a number with a unit such as d, h or m, or ISO 8601")
        elif name == "retention":
            self._add_oldest(level, table, column, length)
        else:
            self._add(level, table, {**fresh, "max_age": say(length), "id": slug(f"{name}-{column}")})

    def _add_oldest(self, level: ContractPart, table: ContractTable, column: str, length: timedelta) -> None:
        try:
            check = too_old(column, table.relation, seconds=int(length.total_seconds()))
        except NotExpressible as error:
            level.refuse(str(error))
        else:
            self._add(level, table, {**check, "id": slug(f"retention-{column}")})

    def _read_promise(self, level: ContractPart, name: str, tables: Sequence[str]) -> None:
        """Read a service level that is judged from the incident log; one contract holds those about the same tables."""
        value, unit = level.plain("value"), level.plain("unit")
        promised: str | float | None
        if name == "availability":
            key, promised = name, share_of(value, unit)
            expected = "a percentage such as 99.5, or a share with another unit than percent"
        elif name == "downtime":
            key, promised = name, _budget_of(value)
            expected = "downtime in a longer time, such as 2h per 30d"
        else:
            length = length_of(value, unit)
            key, promised = _TIMES[name], None if length is None else say(length)
            expected = "a length of time: a number with a unit such as d, h or m, or ISO 8601"
        whole = set(tables) == {table.name for table in self._tables.values()}
        contract = self._name if whole else slug(f"{self._name}-{'-'.join(tables)}")
        entry = self.promises.setdefault(contract, {"tables": list(dict.fromkeys(tables))})
        if promised is None:
            level.refuse(f"its value is not {expected}")
        elif key in entry:
            level.refuse("the contract has this service level already, and one is judged")
        else:
            entry[key] = promised


def _budget_of(value: Any) -> str | None:
    """Return an error budget as the configuration has it; None if it is none."""
    try:
        return str(parse_budget(value))
    except ValueError:
        return None


def _in_utc(text: str) -> str | None:
    """Return a time of the day with an offset as one of UTC."""
    match = _CLOCK.fullmatch(text)
    if match is None or match["offset"] is None:
        return None
    try:
        moment = datetime.fromisoformat(f"2026-01-02T{match['clock']}{match['offset']}")
    except ValueError:
        return None
    return f"{moment.astimezone(UTC):%H:%M}"


def share_of(value: Any, unit: Any) -> float | None:
    """Return a share (0 to 1) of a percentage, or of a share with another unit than percent."""
    words = str(value).strip()
    percent = words.endswith("%") or str(unit or "percent").strip().casefold() in {"percent", "%", "pct"}
    try:
        number = Decimal(words.removesuffix("%").strip())
    except InvalidOperation:
        return None
    share = number / 100 if percent else number
    return float(share) if share.is_finite() and 0 < share <= 1 else None
