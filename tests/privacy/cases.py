"""What each type of check is asked in the canary test: questions that pass, fail and cannot be answered.

A type without a case fails `test_every_type_of_check_has_a_canary`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.privacy.planted import COLUMNS

Case = Mapping[str, Any]

_GX: Final = "expectation"
_NAMES: Final = {"columns": ["name"]}

CASES: Final[Mapping[str, Sequence[Case]]] = {
    "primary_key": [
        {"columns": ["id"]},
        {"columns": ["name", "fee", "born"]},
        {"columns": ["id"], "where": "CAST(code AS INTEGER) > 5"},
        {"columns": ["nowhere"]},
    ],
    "unique": [{"columns": ["id"]}, {"columns": ["email"]}, {"columns": ["name", "seen"], "nulls": "equal"}],
    "classification": [
        {"columns": {"name": "direct-identifier", "id": "other"}},
        {"columns": dict.fromkeys(COLUMNS, "sensitive")},
        {},
    ],
    "population_uniqueness": [
        {"quasi_identifiers": ["name", "fee"], "sampling_fraction": 0.1, "max_population_unique_fraction": 0.001},
        {"quasi_identifiers": ["age"], "sampling_fraction": 1, "max_population_unique_fraction": 1},
        {"quasi_identifiers": ["nowhere"], "population_size": 9, "max_population_unique_fraction": 1},
    ],
    "reidentification_by_subset": [
        {"quasi_identifiers": ["name", "fee", "born"], "max_unique_fraction": 0},
        {"quasi_identifiers": ["age", "fee"], "max_unique_fraction": 1},
        {"quasi_identifiers": ["age", "nowhere"], "max_unique_fraction": 1},
    ],
    "k_anonymity": [
        {"quasi_identifiers": ["name", "fee", "born"], "k": 2, "warn": {"k": 3}},
        {"quasi_identifiers": ["name", "email"], "k": 2, "max_average_risk": 0.1},
        {"quasi_identifiers": ["code"], "k": 2, "where": "CAST(code AS INTEGER) > 5"},
        {"quasi_identifiers": ["name", "email"], "k": 2, "incremental": {"mode": "append", "watermark": "loaded_at"}},
        {"quasi_identifiers": ["name", "born"], "k": 2, "incremental": {"mode": "append", "watermark": "age"}},
        {"quasi_identifiers": ["name"], "k": 2, "incremental": {"mode": "append", "watermark": "code"}},
        {"quasi_identifiers": ["name", "born"], "k": 2, "population": "{relation}"},
        {"quasi_identifiers": ["name"], "k": 2, "population": "{other}", "population_columns": {"name": "age"}},
        {"quasi_identifiers": ["loaded_at"], "k": 2},
        {"quasi_identifiers": ["nowhere"], "k": 2},
        {"k": 2},
    ],
    "l_diversity": [
        {"quasi_identifiers": ["name", "fee"], "sensitive": ["email", "born"], "l": 2, "warn": {"l": 3}},
        {"quasi_identifiers": ["name"], "sensitive": ["fee"], "l": 1.5, "variant": "entropy"},
        {"quasi_identifiers": ["age"], "sensitive": ["name"], "l": 2, "variant": "recursive", "c": 2},
        {"quasi_identifiers": ["age"], "sensitive": ["name"], "l": 2, "where": "CAST(code AS INTEGER) > 5"},
        {"quasi_identifiers": ["loaded_at"], "sensitive": ["name"], "l": 2},
        {"quasi_identifiers": ["name"], "sensitive": ["name"], "l": 2},
        {"quasi_identifiers": ["name"], "l": 2},
    ],
    "t_closeness": [
        {"quasi_identifiers": ["age", "code"], "sensitive": ["name", "fee"], "t": 0.1, "warn": {"t": 0}},
        {"quasi_identifiers": ["name"], "sensitive": ["fee"], "t": 0.1, "distance": "ordered"},
        {"quasi_identifiers": ["name"], "sensitive": ["born"], "t": 1, "distance": "ordered"},
        {"quasi_identifiers": ["loaded_at"], "sensitive": ["name"], "t": 0.1},
        {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "distance": "ordered"},
        {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "hierarchy": {"ann": ["*"], "bob": ["*"]}},
        {"quasi_identifiers": ["age"], "sensitive": ["born"], "t": 0.1, "where": "CAST(code AS INTEGER) > 5"},
        {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "reference": "{other}"},
        {"quasi_identifiers": ["name"], "sensitive": ["fee"], "t": 0, "distance": "ordered", "reference": "{relation}"},
        {
            "quasi_identifiers": ["age"],
            "sensitive": ["name"],
            "t": 0.1,
            "reference": "{other}",
            "reference_columns": {"name": "age"},
        },
    ],
    "re_release": [
        {"person": ["id"], "quasi_identifiers": ["name", "fee", "born"], "k": 2},
        {"person": ["email"], "quasi_identifiers": ["code"], "k": 2, "where": "CAST(code AS INTEGER) > 5"},
        {"person": ["id"], "quasi_identifiers": ["loaded_at"], "k": 2},
        {"person": ["nowhere"], "quasi_identifiers": ["name"], "k": 2},
    ],
    "not_null": [
        {"columns": ["id", "name", "born"]},
        {"columns": ["email"], "max_ratio": 0.5, "warn": {"max_ratio": 0}},
        {"columns": ["nome"]},
    ],
    "freshness": [
        {"column": "loaded_at", "max_age": "3h"},
        {"column": "loaded_at", "max_age": "3650d"},
        {"column": "name", "max_age": "1d"},
        {"column": "age", "max_age": "1d"},
        {"column": "seen", "max_age": "1d"},
        {"column": "born", "max_age": "1d"},
        {"column": "code", "max_age": "1d", "where": "name LIKE 'q%'"},
    ],
    "volume": [
        {"min": 1000},
        {"min": 1},
        {"min_ratio": 0.5, "compare": "same_weekday"},
        {"column": "seen", "window": "1d", "min": 1},
        {"column": "name", "window": "1d", "min": 1},
        {"max": 1, "where": "CAST(code AS INTEGER) > 5"},
    ],
    "schema": [
        {"columns": {"id": "string", "name": "int", "email": "string", "missing": "date"}},
        {"columns": ["id", "name"], "order": True},
        {},
    ],
    "pattern": [{"column": "name", "pattern": "[a-z]+"}, {"column": "age", "pattern": "[0-9]"}],
    "accepted_values": [
        {"column": "name", "values": ["ann", "bob"]},
        {"column": "age", "values": [1, 2, 3]},
        {"column": "born", "values": ["2000-01-01"]},
        {"column": "age", "values": ["one", "two"]},
        {"column": "fee", "values": [1.5], "allow_null": False},
        {"column": "code", "values": ["x"], "max_ratio": 1},
    ],
    "range": [
        {"column": "age", "min": 0, "max": 120},
        {"column": "wage", "max": 10},
        {"column": "twin", "min": 0},
        {"column": "fee", "min": 10, "max": 20, "max_ratio": 1, "warn": {"max_ratio": 0}},
        {"column": "born", "min": "1900-01-01", "max": "2100-01-01"},
        {"column": "seen", "max": "2100-01-01"},
        {"column": "name", "min": 1},
        {"column": "note", "min": "1900-01-01"},
        {"column": "age", "min": 0, "where": "CAST(name AS DATE) > current_date"},
    ],
    "foreign_key": [
        {"column": "email", "references": "{other}.email"},
        {"column": "twin", "references": "{other}.twin"},
        {"columns": ["id", "name"], "references": ["{other}.id", "{other}.name"], "max_ratio": 1},
        {"column": "name", "references": "{other}.age"},
        {"column": "born", "references": "{other}.nowhere"},
    ],
    "linkage": [
        {"auxiliary": "{other}", "on": ["id", "name"]},
        {"auxiliary": "{other}", "on": ["twin"]},
        {"auxiliary": "{other}", "on": ["twin"], "max_unique_fraction": 1},
        {"auxiliary": "{other}", "on": {"born": "seen"}, "tolerance": {"born": "3650d"}, "where": "age > 5"},
        {"auxiliary": "{other}", "on": ["age", "wage"], "tolerance": {"age": 1000000, "wage": 0.5}},
        {"auxiliary": "{other}", "on": ["fee"], "tolerance": {"fee": 1e300}, "entity": "name"},
        {"auxiliary": "{other}", "on": ["age"], "entity": {"name": "email"}, "at_least": 1},
        {"auxiliary": "{other}", "on": ["name"], "tolerance": {"name": "1d"}},
        {"auxiliary": "{other}", "on": ["name"], "tolerance": {"name": 1}},
        {"auxiliary": "{other}", "on": {"name": "age"}},
        {"auxiliary": "{other}", "on": ["nowhere"]},
    ],
    "delta_presence": [
        {"population": "{relation}", "quasi_identifiers": ["name", "born"], "max": 0.5, "warn": {"max": 0.1}},
        {"population": "{relation}", "quasi_identifiers": ["name", "born"], "max": 1},
        {"population": "{other}", "quasi_identifiers": ["name", "born"], "max": 0.5},
        {"population": "{other}", "quasi_identifiers": ["code"], "max": 1, "where": "CAST(code AS INTEGER) > 5"},
        {"population": "{other}", "quasi_identifiers": ["name"], "population_columns": {"name": "age"}, "min": 0.1},
        {"population": "{other}", "max": 0.5},
    ],
    "metric": [
        {"aggregate": aggregate, "column": column, **limits}
        for aggregate in ("sum", "mean", "min", "max", "stddev")
        for column in ("fee", "id")
        for limits in ({"min": 0, "max": 10},)
    ]
    + [
        {"aggregate": "min", "column": "twin", "min": 0},
        {"aggregate": "max", "column": "wage", "min": 0, "warn": {"min": 1e12}},
        {"aggregate": "sum", "column": "age", "max_deviation": 0.1},
        {"aggregate": "distinct", "column": "name", "max": 1},
        {"aggregate": "count", "column": "name", "max": 1},
        {"aggregate": "share", "column": "name", "value": "ann", "min": 0.5},
        {"aggregate": "max", "column": "name", "max": 1},
        {"aggregate": "mean", "column": "born", "max": 1},
    ],
    "reconcile": [
        {"aggregate": aggregate, "column": column, "against": {"table": "{other}"}}
        for aggregate in ("sum", "min", "max")
        for column in ("twin", "fee")
    ]
    + [
        {"aggregate": "count", "against": {"table": "{other}"}},
        {"aggregate": "max", "column": "name", "against": {"table": "{other}"}},
        {"aggregate": "count", "against": {"table": "{other}", "column": "id", "aggregate": "max"}},
    ],
    "sql": [
        {"query": "SELECT name, email FROM {relation} WHERE age > 5"},
        {"query": "SELECT CAST(code AS INTEGER) AS n FROM {relation} WHERE CAST(code AS INTEGER) > 1"},
        {"query": "SELECT CAST(name AS DATE) AS n FROM {relation}"},
        {"query": "SELECT age / 0 AS n FROM {relation} WHERE nowhere = 1"},
        {"query": "SELECT name FROM nothing_of_this_name"},
        {"query": "SELECT name FROM {relation} WHERE name = 'nobody'"},
    ],
    "expectation": [
        {_GX: "ExpectColumnValuesToBeUnique", "kwargs": {"column": "id"}},
        {_GX: "ExpectColumnValuesToNotBeNull", "kwargs": {"column": "twin"}},
        {_GX: "ExpectColumnMaxToBeBetween", "kwargs": {"column": "age", "max_value": 3}},
        {_GX: "ExpectColumnValuesToMatchRegex", "kwargs": {"column": "name", "regex": "^[0-9]+$"}},
        {_GX: "ExpectTableToBeKAnonymous", "kwargs": {"quasi_identifiers": ["name", "fee"], "k": 2}},
        {_GX: "ExpectTableToBeLDiverse", "kwargs": {"quasi_identifiers": ["name"], "sensitive": ["email"], "l": 2}},
        {
            _GX: "ExpectTableToBeTClose",
            "kwargs": {"quasi_identifiers": ["age"], "sensitive": ["name"], "t": 0.1, "hierarchy": {"ann": ["*"]}},
        },
    ],
}
"""The cases of each type. `{relation}` is the table's name in its source, `{other}` that of the other table."""

_IN = {"column": "name", "value_set": ["ann"]}
_LIKE = {"column": "name", "like_pattern": "q%"}
_LIKES = {"column": "name", "like_pattern_list": ["q%"]}
_PAIR = {"column_A": "age", "column_B": "twin"}
_LISTED = {"column_list": ["age", "twin"]}
_AGE = {"column": "age", "min_value": 0, "max_value": 3}
_COUNT = {"min_value": 1000, "max_value": 2000}

EXPECTATIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ExpectColumnDistinctValuesToBeInSet": _IN,
    "ExpectColumnDistinctValuesToContainSet": _IN,
    "ExpectColumnDistinctValuesToEqualSet": _IN,
    "ExpectColumnKLDivergenceToBeLessThan": {
        "column": "name",
        "partition_object": {"values": ["ann"], "weights": [1.0]},
        "threshold": 0.1,
    },
    "ExpectColumnMaxToBeBetween": _AGE,
    "ExpectColumnMeanToBeBetween": _AGE,
    "ExpectColumnMedianToBeBetween": _AGE,
    "ExpectColumnMinToBeBetween": _AGE,
    "ExpectColumnMostCommonValueToBeInSet": _IN,
    "ExpectColumnPairValuesAToBeGreaterThanB": _PAIR,
    "ExpectColumnPairValuesToBeEqual": _PAIR,
    "ExpectColumnPairValuesToBeInSet": {**_PAIR, "value_pairs_set": [[1, 2]]},
    "ExpectColumnProportionOfNonNullValuesToBeBetween": {"column": "name", "min_value": 0.1, "max_value": 0.2},
    "ExpectColumnProportionOfUniqueValuesToBeBetween": {"column": "name", "min_value": 0.1, "max_value": 0.2},
    "ExpectColumnQuantileValuesToBeBetween": {
        "column": "age",
        "quantile_ranges": {"quantiles": [0.1, 0.5], "value_ranges": [[0, 1], [1, 2]]},
    },
    "ExpectColumnStdevToBeBetween": _AGE,
    "ExpectColumnSumToBeBetween": _AGE,
    "ExpectColumnToExist": {"column": "nowhere"},
    "ExpectColumnTypeToBe": {"column": "age", "type_": "STRING"},
    "ExpectColumnUniqueValueCountToBeBetween": {"column": "name", "min_value": 100, "max_value": 200},
    "ExpectColumnValueLengthsToBeBetween": {"column": "name", "min_value": 1, "max_value": 2},
    "ExpectColumnValueLengthsToEqual": {"column": "name", "value": 2},
    "ExpectColumnValueZScoresToBeLessThan": {"column": "age", "threshold": 0.1, "double_sided": True},
    "ExpectColumnValuesToBeBetween": _AGE,
    "ExpectColumnValuesToBeDateutilParseable": {"column": "name"},
    "ExpectColumnValuesToBeDecreasing": {"column": "age"},
    "ExpectColumnValuesToBeInSet": _IN,
    "ExpectColumnValuesToBeInTypeList": {"column": "name", "type_list": ["int"]},
    "ExpectColumnValuesToBeIncreasing": {"column": "name"},
    "ExpectColumnValuesToBeJsonParseable": {"column": "name"},
    "ExpectColumnValuesToBeNull": {"column": "name"},
    "ExpectColumnValuesToBeOfType": {"column": "name", "type_": "int"},
    "ExpectColumnValuesToBeUnique": {"column": "id"},
    "ExpectColumnValuesToMatchJsonSchema": {"column": "name", "json_schema": {"type": "number"}},
    "ExpectColumnValuesToMatchLikePattern": {"column": "name", "like_pattern": "x%"},
    "ExpectColumnValuesToMatchLikePatternList": {"column": "name", "like_pattern_list": ["x%"]},
    "ExpectColumnValuesToMatchRegex": {"column": "name", "regex": "^[0-9]+$"},
    "ExpectColumnValuesToMatchRegexList": {"column": "name", "regex_list": ["^[0-9]+$"]},
    "ExpectColumnValuesToMatchStrftimeFormat": {"column": "name", "strftime_format": "%Y"},
    "ExpectColumnValuesToNotBeInSet": {"column": "name", "value_set": ["ann"]},
    "ExpectColumnValuesToNotBeNull": {"column": "name"},
    "ExpectColumnValuesToNotBeOutliers": {"column": "age", "method": "iqr", "multiplier": 0.01},
    "ExpectColumnValuesToNotMatchLikePattern": _LIKE,
    "ExpectColumnValuesToNotMatchLikePatternList": _LIKES,
    "ExpectColumnValuesToNotMatchRegex": {"column": "name", "regex": "^q"},
    "ExpectColumnValuesToNotMatchRegexList": {"column": "name", "regex_list": ["^q"]},
    "ExpectCompoundColumnsToBeUnique": {"column_list": ["id", "id"]},
    "ExpectMulticolumnSumToEqual": {**_LISTED, "sum_total": 3},
    "ExpectMulticolumnValuesToBeEqual": _LISTED,
    "ExpectMulticolumnValuesToBeUnique": _LISTED,
    "ExpectSelectColumnValuesToBeUniqueWithinRecord": _LISTED,
    "ExpectTableColumnCountToBeBetween": _COUNT,
    "ExpectTableColumnCountToEqual": {"value": 99},
    "ExpectTableColumnsToMatchOrderedList": {"column_list": ["id"]},
    "ExpectTableColumnsToMatchSet": {"column_set": ["id"], "exact_match": True},
    "ExpectTableRowCountToBeBetween": _COUNT,
    "ExpectTableRowCountToEqual": {"value": 99},
    "UnexpectedRowsExpectation": {"unexpected_rows_query": "SELECT name, age FROM {batch} WHERE age > 1"},
}
"""Arguments that break each of Great Expectations' own expectations, or make it stumble over a value."""

REFUSED: Final = frozenset({"ExpectQueryResultsToMatchComparison", "ExpectTableRowCountToEqualOtherTable"})
"""Those that `config check` refuses: they ask two queries, or a table that nobody named in the configuration."""


SLIPS: Final[Mapping[str, Case]] = {
    "plan": {"id": "a-plan-slip", "type": "not_null", "columns": ["name"]},
    "driver": {"id": "driver", "type": "not_null", "columns": ["name"], "where": "name <> 'driver-slip'"},
}
"""Checks that `injected` lets stumble while they are planned and run: a table is unknown with them."""

DEADLY: Final[Case] = {"id": "deadly", "type": "not_null", "columns": ["name"], "where": "name <> 'worker-slip'"}
"""A check that ends its process."""


def checks_of(relation: str, other: str) -> list[dict[str, Any]]:
    """Return every case as the configuration takes it, for one table.

    Of each type also one whose judgement stumbles.
    """
    asked = [(kind, f"{number}", case) for kind, cases in CASES.items() for number, case in enumerate(cases, 1)]
    asked += [(kind, "bug", cases[0]) for kind, cases in CASES.items()]
    return [
        {"type": kind, "id": f"{kind.replace('_', '-')}-{end}", **_filled(case, relation=relation, other=other)}
        for kind, end, case in asked
    ]


def expectations() -> list[dict[str, Any]]:
    """Return one check for each expectation of Great Expectations."""
    return [
        {"type": "expectation", "id": name, "expectation": name, "kwargs": dict(arguments)}
        for name, arguments in EXPECTATIONS.items()
    ]


def _filled(value: Any, **names: str) -> Any:
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(item, **names) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, **names) for item in value]
    return value
