"""What is asked in the canary test: CANARIES of the test file of each check, and expectations."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.checks.stated import stated

Case = Mapping[str, Any]

CASES: Final[Mapping[str, Sequence[Case]]] = stated("CANARIES")
"""The questions of each type; `test_every_type_of_check_has_a_canary` fails without one."""

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
"""Those that `config check` refuses: they ask two queries, or an unconfigured table."""


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
