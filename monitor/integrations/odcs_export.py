"""Write tables of the configuration as a contract of the Open Data Contract Standard (ODCS 3.1).

Columns come from the source where it can be reached, else from the checks. A check whose meaning the standard has is
written in its words, a `sql` check as a query of quality; `contracts` become `slaProperties`. The rest
is named. Nothing of a table but names and types is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from checks import Check
from monitor.config import Config, Table
from monitor.config.promised import promised_contracts
from monitor.integrations.odcs_quality import Relation
from monitor.integrations.results import IgnoredItem

_WORDS: Final = {
    "string": "string", "text": "string", "varchar": "string", "date": "date", "timestamp": "timestamp",
    "datetime": "timestamp", "time": "time", "int": "integer", "integer": "integer", "number": "number",
    "decimal": "number", "numeric": "number", "float": "number", "boolean": "boolean", "bool": "boolean",
    "array": "array", "struct": "object",
}  # fmt: skip
"""The standard's words for families of types, narrower families first."""
_PROMISES: Final = {
    "time_to_detect": "timeToDetect",
    "time_to_notify": "timeToNotify",
    "time_to_repair": "timeToRepair",
}
_UNITS: Final = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "m"))


@dataclass(frozen=True, slots=True)
class ExportedContract:
    """The document as plain data, and the checks that ODCS cannot express."""

    document: Mapping[str, Any]
    left_out: Sequence[IgnoredItem]


@dataclass(slots=True)
class _Sheet:
    """The properties of a table by column, and its rules as a whole."""

    table: Table
    relation: Relation
    columns: dict[str, dict[str, Any]]
    quality: list[dict[str, Any]] = field(default_factory=list)
    ages: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[IgnoredItem] = field(default_factory=list)

    def column(self, name: str) -> dict[str, Any]:
        """Return a column; one that the source did not name is added."""
        return self.columns.setdefault(name, {"name": name})

    def rule(self, check: Any, name: str | None, **rule: Any) -> None:
        """Add a rule of quality to a column, or to the table."""
        about = {"id": check.name, **rule} | ({"severity": check.severity.value})
        if check.why:
            about["description"] = check.why
        place = self.quality if name is None else self.column(name).setdefault("quality", [])
        place.append(about)


def contract_of(
    config: Config,
    tables: Sequence[Table],
    columns: Mapping[str, Mapping[str, str | None]],
    dialects: Mapping[str, str],
) -> ExportedContract:
    """Return the contract of some tables.

    Args:
        config: the configuration that they are of.
        tables: those to write.
        columns: by table, the columns of the source with the names of their types; empty where it was not reached.
        dialects: by source, sqlglot's name of its dialect.
    """
    sheets = [
        _Sheet(
            table,
            Relation(dialects[table.source], table.table or table.name),
            {name: {"name": name, **_typed(_logical(kind))} for name, kind in columns.get(table.name, {}).items()},
        )
        for table in tables
    ]
    for sheet in sheets:
        for check in sheet.table.checks:
            _write_check(sheet, check)
    name = tables[0].name if len(tables) == 1 else config.project
    levels = [*(level for sheet in sheets for level in sheet.ages), *_promises(config, tables)]
    owners = {owner for table in tables if (owner := config.owner_of(table)) is not None}
    domains = {table.domain for table in tables if table.domain is not None}
    document: dict[str, Any] = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"{config.project}.{name}",
        "name": name,
        "version": "1.0.0",
        "status": "active",
        **({"domain": domains.pop()} if len(domains) == 1 else {}),
        **({"team": {"name": owners.pop()}} if len(owners) == 1 else {}),
        "schema": [_schema(sheet) for sheet in sheets],
        **({"slaProperties": levels} if levels else {}),
    }
    return ExportedContract(document, [item for sheet in sheets for item in sheet.left_out])


def _schema(sheet: _Sheet) -> dict[str, Any]:
    table = sheet.table
    return {
        "name": table.name,
        "physicalName": table.table or table.name,
        "physicalType": "table",
        "logicalType": "object",
        **({"description": table.description} if table.description else {}),
        "properties": list(sheet.columns.values()),
        **({"quality": sheet.quality} if sheet.quality else {}),
    }


def _logical(kind: str | None) -> str | None:
    """Return the standard's word for a type of Ibis, or for a family of types."""
    from checks.schema import family_of

    return None if kind is None else _WORDS.get(family_of(kind, _WORDS) or kind.casefold())


def _typed(kind: str | None) -> dict[str, str]:
    return {} if kind is None else {"logicalType": kind}


def _write_check(sheet: _Sheet, check: Any) -> None:
    """Write a check in the words of the standard; else name it."""
    reason = _why_not(check)
    if reason is None:
        writer = _WRITERS.get(check.type)
        reason = (
            f"the standard has no word for a check of type {check.type}" if writer is None else writer(sheet, check)
        )
    if reason is not None:
        sheet.left_out.append(IgnoredItem(sheet.table.check_id(check), reason))


def _why_not(check: Check) -> str | None:
    if check.where is not None:
        return "the standard has no filter of rows"
    if check.segments is not None:
        return "the standard has no segments"
    if check.learned_numbers or check.is_pooled:
        return "the standard has no learned limits"
    return None


def _write_schema(sheet: _Sheet, check: Any) -> str | None:
    if check.columns is None:
        return "its columns are those last accepted, which the configuration does not name"
    types = check.columns if isinstance(check.columns, Mapping) else dict.fromkeys(check.columns)
    for name, kind in types.items():
        column = sheet.column(name)
        if "logicalType" not in column:
            column.update(_typed(_logical(kind)))
    return (
        None if check.extra == "allow" and not check.order else "the standard cannot forbid columns, or fix their order"
    )


def _write_not_null(sheet: _Sheet, check: Any) -> str | None:
    for name in check.columns:
        if check.max_ratio:
            sheet.rule(check, name, metric="nullValues", mustBeLessOrEqualTo=_percent(check.max_ratio), unit="percent")
        else:
            sheet.column(name)["required"] = True
    return None


def _write_unique(sheet: _Sheet, check: Any) -> str | None:
    if check.nulls == "equal":
        return "the standard does not say that two NULLs are equal"
    if len(check.columns) == 1:
        sheet.column(check.columns[0])["unique"] = True
    else:
        arguments = {"properties": list(check.columns)}
        sheet.rule(check, None, metric="duplicateValues", mustBe=0, arguments=arguments)
    return None


def _write_key(sheet: _Sheet, check: Any) -> str | None:
    for position, name in enumerate(check.columns, 1):
        sheet.column(name).update(primaryKey=True, primaryKeyPosition=position, required=True)
    return None


def _write_values(sheet: _Sheet, check: Any) -> str | None:
    if not check.allow_null:
        return "the standard's lists of values allow NULL; add a not_null check"
    limit = _limit(check.max_ratio)
    sheet.rule(check, check.column, metric="invalidValues", arguments={"validValues": list(check.values)}, **limit)
    return None


def _write_pattern(sheet: _Sheet, check: Any) -> str | None:
    sheet.rule(
        check, check.column, metric="invalidValues", arguments={"pattern": check.pattern}, **_limit(check.max_ratio)
    )
    return None


def _write_range(sheet: _Sheet, check: Any) -> str | None:
    ends = (("minimum", check.min, check.exclusive_min), ("maximum", check.max, check.exclusive_max))
    limits = {
        (f"exclusive{name.capitalize()}" if strict else name): end for name, end, strict in ends if end is not None
    }
    if check.max_ratio or not all(isinstance(end, int | float) for end in map(_plain, limits.values())):
        return "the standard's ranges are of numbers, and hold for all rows"
    options = sheet.column(check.column).setdefault("logicalTypeOptions", {})
    options.update({name: _plain(end) for name, end in limits.items()})
    return None


def _write_reference(sheet: _Sheet, check: Any) -> str | None:
    if check.column is None or not isinstance(check.references, str) or check.max_ratio:
        return "the standard's relationships at a column are of one column, and hold for all rows"
    relationships = sheet.column(check.column).setdefault("relationships", [])
    relationships.append({"type": "foreignKey", "to": check.references})
    return None


def _write_volume(sheet: _Sheet, check: Any) -> str | None:
    if check.window is not None or check.min_ratio is not None or check.max_ratio is not None:
        return "the standard counts all rows, and knows no usual number"
    match check.min, check.max:
        case int(low), int(high):
            limit: dict[str, Any] = {"mustBeBetween": [low, high]} if low != high else {"mustBe": low}
        case int(low), None:
            limit = {"mustBeGreaterOrEqualTo": low}
        case _:
            limit = {"mustBeLessOrEqualTo": check.max}
    sheet.rule(check, None, metric="rowCount", **limit)
    return None


def _write_sql(sheet: _Sheet, check: Any) -> str | None:
    query = f"SELECT count(*) FROM ({check.query.strip().rstrip(';')}) AS bad_rows"
    if "${" in query or "{" in query:
        return "its query has braces, which the standard takes for placeholders"
    limit = {"mustBe": 0} if check.max == 0 else {"mustBeLessOrEqualTo": int(check.max)}
    sheet.rule(check, None, type="sql", query=query, **limit)
    return None


def _write_freshness(sheet: _Sheet, check: Any) -> str | None:
    from checks.freshness import Expected

    if check.time != "scan":
        return "the standard has no time of the catalogue"
    if check.epoch is not None:
        return "the standard has no numbers since 1970"
    by = None if check.expected is None else check.expected.by
    is_daily = (
        check.max_age == timedelta(days=1) and by is not None and check.expected == Expected(by=by, timezone="UTC")
    )
    if check.max_age is None or (check.expected is not None and not is_daily):
        return "the standard counts all hours, or wants rows of the last day at a time of every day (UTC)"
    column = sheet.column(check.column)
    if check.timezone is not None:
        options = column.setdefault("logicalTypeOptions", {})
        if column.setdefault("logicalType", "timestamp") != "timestamp":
            return "the standard has time zones of timestamps only"
        if options.setdefault("defaultTimezone", check.timezone) != check.timezone:
            return "the standard has one time zone for a column"
    element = {"element": f"{sheet.table.name}.{check.column}"}
    if by is not None:
        sheet.ages.append({"property": "timeOfAvailability", "value": f"{by:%H:%M}+00:00", **element})
    else:
        value, unit = _in_units(check.max_age)
        sheet.ages.append({"property": "freshness", "value": value, "unit": unit, **element})
    return None


_WRITERS: Final = {
    "schema": _write_schema,
    "not_null": _write_not_null,
    "unique": _write_unique,
    "primary_key": _write_key,
    "accepted_values": _write_values,
    "pattern": _write_pattern,
    "range": _write_range,
    "foreign_key": _write_reference,
    "volume": _write_volume,
    "sql": _write_sql,
    "freshness": _write_freshness,
}


def _promises(config: Config, tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    """Yield what is promised of tables by contracts and by `slo`, where every table is written."""
    written = {table.name for table in tables}
    for contract in (promised.contract for promised in promised_contracts(config)):
        if not written.issuperset(contract.tables):
            continue
        about = {} if set(contract.tables) == written else {"element": ", ".join(contract.tables)}
        for name, length in contract.times.items():
            value, unit = _in_units(length)
            yield {"property": _PROMISES[name], "value": value, "unit": unit, **about}
        if contract.availability is not None:
            yield {
                "property": "availability",
                "value": float(contract.availability * 100),
                "unit": "percent",
                **about,
            }
        if contract.downtime is not None:
            yield {"property": "downtime", "value": str(contract.downtime), **about}


def _in_units(length: timedelta) -> tuple[int | str, str]:
    """Return a length of time in the largest unit that divides it."""
    for size, unit in _UNITS:
        if length % size == timedelta():
            return length // size, unit
    return f"PT{length // timedelta(seconds=1)}S", "s"


def _limit(max_ratio: float) -> dict[str, Any]:
    return {"mustBeLessOrEqualTo": _percent(max_ratio), "unit": "percent"} if max_ratio else {"mustBe": 0}


def _percent(share: float) -> float:
    return round(share * 100, 10)


def _plain(value: Any) -> Any:
    """Return a limit as a number of YAML, where it is one."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value
