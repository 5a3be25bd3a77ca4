"""Translate suites of Great Expectations to checks and back.

A suite that was written here carries, with each expectation, the check it comes from and a mark of its arguments: as
long as these are unchanged, reading it gives the same checks again.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from checks._catalog import load_catalog
from checks._contract import Check, CheckError, CheckParameters, ColumnClass, Severity, Zones
from checks.gx.natives import native_of
from checks.gx.twins import NoTwinError, Twin, twins_of
from checks.parameters.numbers import as_json
from sources import require_extra

_MARK: Final = "tablewatch"
_TO_GX: Final = {Severity.INFO: "info", Severity.WARNING: "warning"}
"""The others become `critical`, which is Great Expectations' default; read back, it says nothing."""
_FROM_GX: Final = {"info": "info", "warning": "warning"}
MOST_EXPECTATIONS: Final = 5_000
"""More than a table has columns; a suite of more is no work of a person."""
_MOST_LEVELS: Final = 50
_MOST_VALUES: Final = 100_000
_RUN_OPTIONS: Final = frozenset(
    {"auto", "batch_id", "catch_exceptions", "include_config", "meta", "profiler_config", "result_format"}
)


class NotASuiteError(CheckError):
    """The JSON is no suite of Great Expectations."""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on one check or expectation."""

    name: str
    text: str


@dataclass
class Imported:
    """Checks in the words of the configuration; what differs from the suite, and what could not be translated."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[Note] = field(default_factory=list)
    left_out: list[Note] = field(default_factory=list)


@dataclass
class ExportedSuite:
    """A suite in the form of Great Expectations 1.x; what differs from the checks, and those without a twin."""

    suite: dict[str, Any]
    remarks: list[Note] = field(default_factory=list)
    left_out: list[Note] = field(default_factory=list)


# --- checks to a suite ------------------------------------------------------------------------------------------------


def to_suite(
    name: str,
    checks: Iterable[Check],
    *,
    zones: Zones,
    classified: Mapping[str, ColumnClass] = MappingProxyType({}),
) -> ExportedSuite:
    """Return the suite of a table's checks.

    `zones` are those of its naive time columns, `classified` what its columns say of people.
    """
    exported = ExportedSuite({"name": name, "expectations": [], "meta": {"great_expectations_version": _gx_version()}})
    for check in checks:
        try:
            twins = twins_of(check, zones, classified)
        except NoTwinError as error:
            exported.left_out.append(Note(check.name, str(error)))
            continue
        if twins.remark is not None:
            exported.remarks.append(Note(check.name, twins.remark))
        exported.suite["expectations"] += _written(check, twins.expectations)
    return exported


def _written(check: Check, twins: Sequence[Twin]) -> Iterator[dict[str, Any]]:
    typed = display_number(check)
    for kind, kwargs in twins:
        mark = {"check": typed, "of": len(twins), "arguments": _digest(kind, kwargs)}
        item = {"type": kind, "kwargs": kwargs, "meta": {_MARK: mark}}
        item["severity"] = _TO_GX.get(check.severity, "critical")
        if typed.get("why"):
            item["notes"] = typed["why"]
        yield item


def display_number(check: Check) -> dict[str, Any]:
    """Return a check in the words of the configuration, as JSON can hold it."""
    if not isinstance(check, CheckParameters):
        raise TypeError(f"{type(check).__name__} has no parameters to export")
    parameters = check.model_dump(mode="json", exclude_defaults=True)
    return {"type": check.model_dump()["type"], **parameters}


def _digest(kind: str, kwargs: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([kind, _plain(kwargs)], sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Return a value in one spelling: Great Expectations writes 0 as 0.0."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _gx_version() -> str:
    require_extra("great_expectations")
    return version("great_expectations")


# --- a suite to checks ------------------------------------------------------------------------------------------------


def to_checks(suite: object, *, table: str) -> Imported:
    """Return the checks of a suite (1.x, or 0.x as exported to JSON) for a table.

    Raises:
        NotASuiteError: it has no list of expectations.
    """
    expectations = suite.get("expectations") if isinstance(suite, Mapping) else None
    if not isinstance(expectations, list) or not all(isinstance(expectation, Mapping) for expectation in expectations):
        raise NotASuiteError(
            "expected a suite as saved by Great Expectations: a JSON object with 'expectations', a list"
        )
    if len(expectations) > MOST_EXPECTATIONS:
        text = f"{len(expectations):,} expectations"
        raise NotASuiteError(f"expected at most {MOST_EXPECTATIONS:,} expectations, seen {text}; split the suite")
    _check_size(expectations)
    imported = Imported()
    own, others = _split(list(_well_formed(expectations, imported)))
    for check in own:
        _keep(imported, check, name=str(check["type"]))
    for other in others:
        _translate(imported, other, table)
    imported.checks = _with_ids(_merged(imported.checks))
    return imported


def _check_size(value: Any) -> None:
    """Check that values are no deeper nested, and no more, than the functions that follow them can go.

    Raises:
        NotASuiteError: they are.
    """
    level, number = [value], 0
    for _ in range(_MOST_LEVELS):
        inner = [item for outer in level for item in (outer.values() if isinstance(outer, Mapping) else outer)]
        number += len(inner)
        level = [item for item in inner if isinstance(item, Mapping | list)]
        if number > _MOST_VALUES:
            raise NotASuiteError(f"expected at most {_MOST_VALUES:,} values in all expectations; split the suite")
    if level:
        raise NotASuiteError(f"expected values nested at most {_MOST_LEVELS} levels deep")


def _well_formed(expectations: Sequence[Mapping[str, Any]], imported: Imported) -> Iterator[Mapping[str, Any]]:
    """Yield the expectations with a name and arguments; what else stands there is noted, and other metadata dropped."""
    for expectation in expectations:
        kind = expectation.get("type") or expectation.get("expectation_type")
        if not isinstance(kind, str):
            imported.left_out.append(Note("an expectation", "expected 'type', the name of an expectation, as text"))
        elif not isinstance(expectation.get("kwargs") or {}, Mapping):
            imported.left_out.append(Note(kind, "expected 'kwargs', its arguments, as an object"))
        else:
            meta = expectation.get("meta")
            yield expectation if isinstance(meta, Mapping) else {**expectation, "meta": None}


def _is_own(mark: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Check whether an expectation was written here and has the arguments with which it was written."""
    if mark.get("arguments") != _digest(str(item.get("type")), item.get("kwargs") or {}):
        return False
    check = mark.get("check")
    return isinstance(check, Mapping) and isinstance(check.get("type"), str) and isinstance(mark.get("of"), int)


def _split(expectations: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Mapping[str, Any]]]:
    """Return the checks that all their expectations still speak for, and the expectations of no such check."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    others = []
    for expectation in expectations:
        mark = (expectation.get("meta") or {}).get(_MARK)
        if isinstance(mark, Mapping) and _is_own(mark, expectation):
            parts.setdefault(json.dumps(mark["check"], sort_keys=True), []).append(expectation)
        else:
            others.append(expectation)
    own = []
    for text, entries in parts.items():
        if len(entries) == entries[0]["meta"][_MARK]["of"]:
            own.append(json.loads(text))
        else:
            others += entries
    return own, others


def _translate(imported: Imported, item: Mapping[str, Any], table: str) -> None:
    kind = str(item.get("type") or item.get("expectation_type"))
    raw = item.get("kwargs") or {}
    kwargs = {name: value for name, value in raw.items() if value is not None and name not in _RUN_OPTIONS}
    if kwargs.get("mostly") == 1:
        del kwargs["mostly"]
    try:
        native = native_of(kind, kwargs, table=table)
    except (TypeError, ValueError, ArithmeticError):  # arguments of another kind than the expectation takes
        native = None
    check = {"type": "expectation", "expectation": kind, "kwargs": kwargs} if native is None else dict(native.check)
    if _keep(imported, {**check, **_attributes(item)}, name=kind) and native is not None and native.remark:
        imported.remarks.append(Note(kind, native.remark))


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return severity and reason, if the expectation says more than its defaults."""
    notes = item.get("notes") or (item.get("meta") or {}).get("notes")
    if isinstance(notes, Mapping):
        notes = notes.get("content")
    why = " ".join(map(str, notes)) if isinstance(notes, list) else notes
    severity = _FROM_GX.get(str(item.get("severity")))
    return {**({"severity": severity} if severity else {}), **({"why": why} if isinstance(why, str) and why else {})}


def _keep(imported: Imported, check: dict[str, Any], *, name: str) -> bool:
    kind = load_catalog().get(str(check["type"]))
    if kind is None or not issubclass(kind, CheckParameters):
        imported.left_out.append(Note(name, f"there is no check of type {check['type']}"))
        return False
    try:
        kind.model_validate(check)
    except ValidationError as error:
        first = error.errors()[0]
        text = first["msg"].removeprefix("Value error, ").removeprefix(f"{name} cannot be used: ")
        imported.left_out.append(Note(name, text))
        return False
    imported.checks.append(as_json(check))
    return True


def _merged(checks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Combine checks for NULL that differ in their columns only: so people write them."""
    merged: dict[str, dict[str, Any]] = {}
    for number, check in enumerate(checks):
        alone = check["type"] != "not_null" or "id" in check
        rest = {name: value for name, value in check.items() if name != "columns"}
        key = str(number) if alone else json.dumps(rest, sort_keys=True)
        if key in merged:
            columns = merged[key]["columns"]
            columns += [name for name in check["columns"] if name not in columns]
        else:
            merged[key] = dict(check)
    return list(merged.values())


def _with_ids(checks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an id to each check whose type alone would not tell it apart."""
    types = Counter(check["type"] for check in checks if "id" not in check)
    numbers: Counter[str] = Counter()
    ids = {check["id"] for check in checks if "id" in check}
    named = []
    for check in checks:
        if "id" in check or (types[check["type"]] == 1 and check["type"].replace("_", "-") not in ids):
            named.append(check)
            continue
        free = slug = _slug(check)
        while free in ids:
            numbers[slug] += 1
            free = f"{slug}-{numbers[slug] + 1}"
        ids.add(free)
        named.append({"id": free, **check})
    return named


def _slug(check: Mapping[str, Any]) -> str:
    kwargs = check.get("kwargs", check)
    what = str(check.get("expectation", check["type"])).removeprefix("expect_").removeprefix("column_")
    current_names = ("column", "columns", "column_list", "quasi_identifiers")
    columns = next((kwargs[name] for name in current_names if kwargs.get(name)), ())
    names = columns if isinstance(columns, list | tuple) else (columns,)  # a column may be anything in a hostile suite
    return re.sub("[^A-Za-z0-9]+", "-", "-".join([what, *map(str, names)])).strip("-")[:70]
