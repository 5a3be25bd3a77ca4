"""Every check on every engine that can be had: one pass over the same hostile tables comes to what plain Python does.

The pass is the product's own, with its plan and its fused statement. What only some engines can hold (NaN, decimals of
38 digits) is expected of those that can; of the others that they say so.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import pytest

from checks import UnknownReason, load_catalog
from monitor.clock import SimulatedClock
from monitor.config import load_tree
from monitor.config.project import Project
from monitor.config.python_values import node_of
from monitor.scan.results import CheckResult, targets_of
from monitor.scan.run import Engine
from tests.checks.hostile import ENGINES, LONG, NOW, TABLES, rows_of, tables_in

Row: TypeAlias = Mapping[str, Any]
Tables: TypeAlias = Mapping[str, Sequence[Row]]
Case: TypeAlias = tuple[Mapping[str, Any], Callable[[Tables], Mapping[str, Any]]]
_NOT_HERE = {
    "diff": "compares two tables, also of two engines: tests/sources/test_table_diff.py",
    "expectation": "Great Expectations asks itself: tests/checks/gx",
    "external": "other tools evaluate it",
    "re_release": "needs releases of a store: tests/checks/test_re_release.py",
}
_NO_LONG_DECIMALS = frozenset({"sqlite"})
"""Engines that have no decimals of 38 digits; `test_exact_numbers.py` has what they say instead."""


def _same(value: Any) -> Any:
    """Return a value as a key: NaN equals NaN."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _groups(rows: Iterable[Row], *columns: str) -> Mapping[tuple[Any, ...], list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(_same(row[column]) for column in columns)].append(row)
    return groups


def _not_null(*columns: str) -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        rows = tables["t"]
        return {"rows": len(rows), "nulls": {name: sum(row[name] is None for row in rows) for name in columns}}

    return {"type": "not_null", "columns": list(columns)}, expected


def _key(kind: str, *columns: str, nulls: str = "distinct") -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        groups = _groups(tables["t"], *columns)
        whole = {key: rows for key, rows in groups.items() if nulls == "equal" or None not in key}
        repeated = [len(rows) for rows in whole.values() if len(rows) > 1]
        null_keys = sum(len(rows) for key, rows in groups.items() if None in key)
        return {
            "rows": len(tables["t"]),
            "duplicate_keys": len(repeated),
            "duplicate_rows": sum(repeated),
            "null_keys": null_keys,
        }

    return {"type": kind, "columns": list(columns), **({"nulls": nulls} if kind == "unique" else {})}, expected


def _violations(
    parameters: Mapping[str, Any], holds: Callable[[Row], bool | None], where: Callable[[Row], bool] = bool
) -> Case:
    """Return a case of a check of single rows: of those that are filtered, how many do not hold."""

    def expected(tables: Tables) -> Mapping[str, Any]:
        rows = [row for row in tables["t"] if where(row)]
        return {"rows": len(rows), "violations": sum(holds(row) is False for row in rows)}

    return parameters, expected


def _between(column: str, least: Any, most: Any) -> Callable[[Row], bool | None]:
    return lambda row: None if row[column] is None else least <= row[column] <= most


def _one_of(column: str, *values: Any) -> Callable[[Row], bool | None]:
    return lambda row: None if row[column] is None else row[column] in values


def _number(parameters: Mapping[str, Any], compute: Callable[[list[Any]], Any]) -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        values = [row[parameters["column"]] for row in tables["t"]]
        return {"value": compute([value for value in values if value is not None])}

    return parameters, expected


def _total(values: Iterable[Decimal]) -> Decimal:
    scaled = sum(int(value.scaleb(9)) if abs(value) < 10 else int(str(value).replace(".", "")) for value in values)
    return Decimal(scaled).scaleb(-9) if abs(scaled) < 10**27 else Decimal(f"{scaled}E-9")


def _newest(column: str) -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        times = [row[column].replace(tzinfo=NOW.tzinfo) for row in tables["t"] if row[column] is not None]
        return {"age_s": int((NOW - max(times)).total_seconds()), "future_rows": 0}

    return {"type": "freshness", "column": column, "max_age": "1h"}, expected


def _orphans(*columns: str) -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        parents = {tuple(row[name] for name in columns) for row in tables["parents"]}
        keys = [tuple(row[name] for name in columns) for row in tables["t"]]
        return {"rows": len(keys), "orphans": sum(None not in key and key not in parents for key in keys)}

    references = [f"parents.{name}" for name in columns]
    return {"type": "foreign_key", "columns": list(columns), "references": references}, expected


def _dependency(determinant: str, dependent: str) -> Case:
    def expected(tables: Tables) -> Mapping[str, Any]:
        groups = _groups([row for row in tables["t"] if None not in (row[determinant], row[dependent])], determinant)
        counts = [Counter(_same(row[dependent]) for row in rows) for rows in groups.values()]
        violations = sum(count.total() - max(count.values()) for count in counts)
        return {"rows": len(tables["t"]), "violations": violations, "groups": sum(len(count) > 1 for count in counts)}

    return {"type": "functional_dependency", "determinant": [determinant], "dependent": dependent}, expected


def _anonymity(tables: Tables) -> Mapping[str, Any]:
    sizes = [len(rows) for rows in _groups(tables["t"], "town", "ill").values()]
    return {"rows": sum(sizes), "classes": len(sizes), "k": min(sizes), "sample_uniques": sizes.count(1)}


def _diversity(tables: Tables) -> Mapping[str, Any]:
    classes = _groups(tables["t"], "town").values()
    return {
        "rows": len(tables["t"]),
        "classes": len(classes),
        "l_distinct": min(len({row["ill"] for row in rows}) for rows in classes),
    }


def _closeness(tables: Tables) -> Mapping[str, Any]:
    """Return the largest distance (half the sum of differences of shares) of a class from the whole table."""
    whole = Counter(row["ill"] for row in tables["t"])
    distances = []
    for rows in _groups(tables["t"], "town").values():
        own = Counter(row["ill"] for row in rows)
        distances.append(sum(abs(own[value] / own.total() - whole[value] / whole.total()) for value in whole) / 2)
    return {"rows": len(tables["t"]), "t": max(distances)}


def _subsets(tables: Tables) -> Mapping[str, Any]:
    rows, sets = len(tables["t"]), []
    for columns in (["ill"], ["town"], ["ill", "town"]):
        sizes = [len(group) for group in _groups(tables["t"], *columns).values()]
        apart = 1 - sum(size * (size - 1) for size in sizes) / (rows * (rows - 1))
        distinct = {"uniques": sizes.count(1), "distinction": len(sizes) / rows}
        sets.append({"columns": columns, **distinct, "separation": apart})
    return {"rows": rows, "sets": sets}


def _linkage(tables: Tables) -> Mapping[str, Any]:
    towns = [row["town"] for row in tables["t"]]
    others = Counter(row["town"] for row in tables["parents"] if row["town"] is not None)
    matches = [others[town] for town in towns if town is not None]
    return {
        "rows": len(towns),
        "null_rows": towns.count(None),
        "matched": sum(count > 0 for count in matches),
        "uniquely_matched": matches.count(1),
    }


def _codes(rows: Iterable[Row]) -> int:
    return sum(row["code"] or 0 for row in rows)


def _presence(tables: Tables) -> Mapping[str, Any]:
    own, others = (Counter(row["town"] for row in tables[name]) for name in ("t", "parents"))
    return {
        "rows": own.total(),
        "population_rows": others.total(),
        "records_outside_population": (own - others).total(),
    }


def _distribution(tables: Tables) -> Mapping[str, Any]:
    own, others = (Counter(row["town"] for row in tables[name]) for name in ("t", "parents"))
    values = (own.keys() | others.keys()) - {None}
    return {
        "rows": own.total(),
        "reference_rows": others.total(),
        "values": len(values),
        "new": len(values - others.keys()),
        "lost": len(values - own.keys()),
    }


_TOWNS = {"quasi_identifiers": ["town", "ill"]}
_NOTES = ["é", "a", "日本'\"\\%_"]
_LONG = {"type": "range", "column": "amount", "min": f"-{LONG}", "max": "12345678901234567890123456789.012345677"}
CASES: dict[str, Case] = {
    "nulls": _not_null("id", "code", "x", "amount", "at", "wall", "note"),
    "key": _key("primary_key", "id"),
    "key-with-nulls": _key("primary_key", "code"),
    "key-of-nan": _key("unique", "x", nulls="equal"),
    "key-of-texts": _key("unique", "note"),
    "key-of-decimals": _key("unique", "amount"),
    "key-of-moments": _key("unique", "at"),
    "range-of-floats": _violations({"type": "range", "column": "x", "min": 0, "max": 10}, _between("x", 0, 10)),
    "range-of-decimals": _violations(_LONG, _between("amount", -LONG, Decimal(_LONG["max"]))),
    "accepted": _violations({"type": "accepted_values", "column": "note", "values": _NOTES}, _one_of("note", *_NOTES)),
    "pattern": _violations(
        {"type": "pattern", "column": "note", "pattern": "[a-z]+"},
        lambda row: None if row["note"] is None else re.fullmatch("[a-z]+", row["note"]) is not None,
    ),
    "where": _violations(
        {"type": "range", "column": "code", "max": 20, "where": "town = 'Köln' OR id > 7"},
        _between("code", -math.inf, 20), lambda row: row["town"] == "Köln" or row["id"] > 7,
    ),
    "rows": ({"type": "volume", "min": 1}, lambda tables: {"rows": len(tables["t"])}),
    "sum": _number({"type": "metric", "aggregate": "sum", "column": "amount", "min": 0}, _total),
    "mean": _number({"type": "metric", "aggregate": "mean", "column": "code", "min": 0}, fmean),
    "newest": _newest("at"),
    "newest-by-the-wall": _newest("wall"),
    "columns": (
        {"type": "schema", "columns": ["id", "code", "x", "amount", "at", "wall", "note", "town"]},
        lambda _: {"missing": [], "extra": ["ill"], "changed": []},
    ),
    "orphans": _orphans("code"),
    "orphans-by-text": _orphans("town", "ill"),
    "dependency": _dependency("code", "town"),
    "dependency-on-nan": _dependency("x", "code"),
    "query": _violations(
        {"type": "sql", "query": "SELECT id FROM {t} WHERE town = '東京'"}, lambda row: row["town"] != "東京",
    ),
    "reconciled": (
        {"type": "reconcile", "aggregate": "sum", "column": "code", "against": {"table": "parents"}},
        lambda tables: {"value": _codes(tables["t"]), "baseline": _codes(tables["parents"])},
    ),
    "k": ({"type": "k_anonymity", "quasi_identifiers": ["town", "ill"], "k": 2}, _anonymity),
    "l": ({"type": "l_diversity", "quasi_identifiers": ["town"], "sensitive": ["ill"], "l": 2}, _diversity),
    "classified": ({"type": "classification", "columns": {"id": "other"}}, lambda _: {"status": "fail"}),
    "present": (
        {"type": "delta_presence", "population": "parents", "quasi_identifiers": ["town"], "max": 0.5}, _presence,
    ),
    "linked": ({"type": "linkage", "auxiliary": "parents", "on": ["town"]}, _linkage),
    "unique-in-population": (
        {"type": "population_uniqueness", **_TOWNS, "sampling_fraction": 0.1, "max_population_unique_fraction": 0.001},
        lambda tables: {"rows": len(tables["t"]), "sample_uniques": _anonymity(tables)["sample_uniques"]},
    ),
    "subsets": ({"type": "reidentification_by_subset", **_TOWNS, "max_unique_fraction": 0}, _subsets),
    "distributed": ({"type": "distribution", "column": "town", "reference": "parents", "max_psi": 99}, _distribution),
    "t": ({"type": "t_closeness", "quasi_identifiers": ["town"], "sensitive": ["ill"], "t": 0.1}, _closeness),
}  # fmt: skip
_ALL = {"share": 0.999999999999}
"""A sample that leaves out one row in 100,000,000,000 runs of this test."""


def _sampled(parameters: Mapping[str, Any], *counted: tuple[str, Callable[[Row], bool]]) -> Case:
    """Return a case of a check that is estimated: so many rows are sampled, and so many of them counted."""

    def expected(tables: Tables) -> Mapping[str, Any]:
        rows = tables["t"]
        estimates = {what: {"counted": sum(map(counts, rows))} for what, counts in counted}
        return {"sample": {"rows": len(rows), "estimates": estimates}, "status": "unknown"}

    return {**parameters, "sample": _ALL}, expected


CASES |= {
    "sampled-nulls": _sampled(
        {"type": "not_null", "columns": ["code", "note"], "max_ratio": 0.5},
        ("code", lambda row: row["code"] is None),
        ("note", lambda row: row["note"] is None),
    ),
    "sampled-range": _sampled(
        {"type": "range", "column": "code", "min": 20, "max_ratio": 0.5},
        ("code", lambda row: row["code"] is not None and row["code"] < 20),
    ),
    "sampled-accepted": _sampled(
        {"type": "accepted_values", "column": "town", "values": ["東京"], "max_ratio": 0.5},
        ("town", lambda row: row["town"] not in {None, "東京"}),
    ),
    "sampled-pattern": _sampled(
        {"type": "pattern", "column": "note", "pattern": "[a-z]+", "max_ratio": 0.5},
        ("note", lambda row: row["note"] is not None and re.fullmatch("[a-z]+", row["note"]) is None),
    ),
    "sampled-share": _sampled(
        {"type": "metric", "aggregate": "share", "column": "ill", "value": "flu", "max": 0.9},
        ("share(ill)", lambda row: row["ill"] == "flu"),
    ),
    "sampled-where": (
        {"type": "not_null", "columns": ["code"], "max_ratio": 0.5, "where": "id > 3", "sample": _ALL},
        lambda tables: {"sample": {"rows": sum(row["id"] > 3 for row in tables["t"])}},
    ),
}
_NEEDS_DECIMALS = {"key-of-decimals", "range-of-decimals", "sum"}


def tree(at: str = "") -> Mapping[str, Any]:
    """Return a configuration with all cases, for tables whose names stand behind `at`."""
    checks = {
        "t": [{"id": name, **_placed(case, f"{at}t")} for name, (case, _) in CASES.items()],
        "empty": [{"id": f"empty-{name}", **CASES[name][0]} for name in _OF_EMPTY],
    }
    return {
        "version": 1,
        "project": "hostile",
        "sources": {"s": {"files": "*", "timezone": "UTC"}},
        "tables": [
            {"name": name, "source": "s", "table": f"{at}{name}", "checks": checks.get(name, [])} for name in TABLES
        ],
    }


def _results(engine: str, folder: Path, request: pytest.FixtureRequest) -> Mapping[str, CheckResult]:
    clock = SimulatedClock(NOW)
    project = Project(load_tree(node_of(tree("hostile." if engine == "spark" else ""), "")), clock)
    with tables_in(engine, folder, request) as spec:
        targets = [replace(target, source=spec) for target in targets_of(project, ["t", "empty"])]
        return {result.check.name: result for result in Engine(clock).run(targets)}


def _placed(parameters: Mapping[str, Any], relation: str) -> Mapping[str, Any]:
    query = parameters.get("query")
    return parameters if query is None else {**parameters, "query": query.format(t=relation)}


_OF_EMPTY = {
    "nulls",
    "key",
    "range-of-floats",
    "accepted",
    "rows",
    "sum",
    "newest",
    "orphans",
    "dependency",
    "k",
    "l",
    "t",
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Spark's bridge to Java leaves sockets to the collector
@pytest.mark.parametrize("engine", ENGINES)
def test_every_check_comes_to_what_plain_python_does(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What is observed of rows that no engine should stumble over."""
    results = _results(engine, tmp_path, request)
    tables = {name: rows_of(engine, name) for name in TABLES}
    wrong = {}
    for name, (_, compute) in CASES.items():
        outcome, expected = results[name].outcome, compute(tables)
        if name in _NEEDS_DECIMALS and engine in _NO_LONG_DECIMALS:
            continue
        observed = {**outcome.observed, "status": outcome.status.value}
        if not all(_alike(observed.get(key), value) for key, value in expected.items()):
            wrong[name] = (observed, expected, str(outcome.message))
    assert wrong == {}
    rows = results["empty-rows"].outcome
    assert rows.observed["rows"] == 0
    others = {
        name: results[name].outcome.reason for name in results if name.startswith("empty-") and name != "empty-rows"
    }
    allowed = {UnknownReason.NO_DATA, *([UnknownReason.MISCONFIGURED] if engine == "csv" else [])}
    assert set(others.values()) <= allowed, others  # of CSV without a row, each column that is not declared is text


def _alike(observed: Any, expected: Any) -> bool:
    if observed is None:
        return expected is None
    if isinstance(expected, Mapping):
        return all(_alike(observed.get(key), value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(observed) == len(expected) and all(map(_alike, observed, expected))
    if isinstance(expected, float):
        return math.isclose(observed, expected, rel_tol=1e-12)
    return bool((Decimal(str(observed)) if isinstance(expected, Decimal) else observed) == expected)


def test_no_check_is_left_out() -> None:
    """Each check is asked of every engine here, or says where else."""
    assert {parameters["type"] for parameters, _ in CASES.values()} | {*_NOT_HERE} == {*load_catalog()}
