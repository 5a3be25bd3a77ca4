"""Which check asks what an expectation asks, in the words of the configuration.

Only equal questions are translated; what differs in a corner carries a remark. Where Great Expectations has a defect
the check gives the right answer (`checks.gx.twins`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, isfinite
from string import Formatter
from typing import Any, Final

from checks.gx.arguments import QUERY_ARGUMENT
from checks.parameters.numbers import decimal

_TYPES: Final[Mapping[str, str]] = {
    "bigint": "int64", "bool": "boolean", "boolean": "boolean", "date": "date", "datetime": "timestamp",
    "datetime64[ns]": "timestamp", "double precision": "float64", "doubletype": "float64", "float64": "float64",
    "int": "int", "int32": "int32", "int64": "int64", "integer": "int", "integertype": "int", "longtype": "int64",
    "smallint": "int16", "str": "string", "string": "string", "stringtype": "string", "text": "string",
    "timestamp": "timestamp", "varchar": "string",
}  # fmt: skip
"""Great Expectations' names of types, whatever the backend, and what a `schema` check calls them."""

_BATCH: Final = ("batch", "", None)
"""How the name of the table stands in a query: without width and conversion."""
_AGGREGATES: Final = {
    "expect_column_max_to_be_between": "max",
    "expect_column_mean_to_be_between": "mean",
    "expect_column_min_to_be_between": "min",
    "expect_column_stdev_to_be_between": "stddev",
    "expect_column_sum_to_be_between": "sum",
    "expect_column_unique_value_count_to_be_between": "distinct",
}


@dataclass(frozen=True, slots=True)
class Native:
    """A check as configured, without its id, and in which corner it differs from the expectation."""

    check: Mapping[str, Any]
    remark: str | None = None


def native_of(expectation: str, kwargs: Mapping[str, Any], *, table: str) -> Native | None:
    """Return the check that asks what an expectation (its type in snake_case) asks of a table.

    None if there is none.
    """
    try:
        if expectation in _AGGREGATES:
            return _metric(_AGGREGATES[expectation], kwargs)
        if expectation == "unexpected_rows_expectation":
            return _sql(kwargs, table)
        translate = _NATIVES.get(expectation)
        return None if translate is None else translate(kwargs)
    except KeyError:  # an argument that the expectation itself cannot do without
        return None


def _takes(kwargs: Mapping[str, Any], *names: str) -> bool:
    """Check whether there is no argument but these: one more asks something else."""
    return set(kwargs) <= set(names)


def _not_null(kwargs: Mapping[str, Any]) -> Native | None:
    if not _takes(kwargs, "column", "mostly"):
        return None
    return _mostly_there(kwargs["column"], kwargs.get("mostly", 1))


def _proportion_there(kwargs: Mapping[str, Any]) -> Native | None:
    if not _takes(kwargs, "column", "min_value"):
        return None
    return _mostly_there(kwargs["column"], kwargs.get("min_value", 0))


def _mostly_there(column: str, mostly: object) -> Native | None:
    if not _is_number(mostly):
        return None
    missing = float(1 - Decimal(str(mostly)))
    return Native({"type": "not_null", "columns": [column], **({"max_ratio": missing} if missing else {})})


def _unique(kwargs: Mapping[str, Any]) -> Native | None:
    return Native({"type": "unique", "columns": [kwargs["column"]]}) if _takes(kwargs, "column") else None


def _compound_unique(kwargs: Mapping[str, Any]) -> Native | None:
    if not _takes(kwargs, "column_list", "ignore_row_if"):
        return None
    check = {"type": "unique", "columns": list(kwargs["column_list"])}
    match kwargs.get("ignore_row_if", "all_values_are_missing"):
        case "any_value_is_missing":
            return Native(check)
        case "never":
            return Native({**check, "nulls": "equal"})
        case "all_values_are_missing":
            remark = "rows in which all these columns are NULL are now duplicates of each other"
            return Native({**check, "nulls": "equal"}, remark)
    return None


def _accepted_values(kwargs: Mapping[str, Any]) -> Native | None:
    values = kwargs.get("value_set")
    if not _takes(kwargs, "column", "value_set") or not isinstance(values, list) or not values:
        return None
    if not all(isinstance(value, str | int | float) for value in values):
        return None
    return Native({"type": "accepted_values", "column": kwargs["column"], "values": values})


def _range(kwargs: Mapping[str, Any]) -> Native | None:
    limits = _limits(kwargs)
    if limits is None or not _takes(kwargs, "column", "min_value", "max_value", "strict_min", "strict_max"):
        return None
    strict = {f"exclusive_{end}": True for end in ("min", "max") if kwargs.get(f"strict_{end}")}
    return Native({"type": "range", "column": kwargs["column"], **limits, **strict})


def _metric(aggregate: str, kwargs: Mapping[str, Any]) -> Native | None:
    limits = _limits(kwargs)
    if limits is None or not _takes(kwargs, "column", "min_value", "max_value"):
        return None
    return Native({"type": "metric", "aggregate": aggregate, "column": kwargs["column"], **limits})


def _row_count(kwargs: Mapping[str, Any]) -> Native | None:
    limits = _limits(kwargs)
    if limits is None or not _takes(kwargs, "min_value", "max_value", "strict_min", "strict_max"):
        return None
    if "min" in limits:
        low = limits["min"]
        low = decimal(low)
        limits["min"] = max(0, floor(low) + 1 if kwargs.get("strict_min") else ceil(low))
    if "max" in limits:
        high = limits["max"]
        high = decimal(high)
        limits["max"] = max(0, ceil(high) - 1 if kwargs.get("strict_max") else floor(high))
    return Native({"type": "volume", **limits})


def _row_count_equal(kwargs: Mapping[str, Any]) -> Native | None:
    value = kwargs.get("value")
    if not _takes(kwargs, "value") or not isinstance(value, int) or value < 0:
        return None
    return Native({"type": "volume", "min": value, "max": value})


def _columns_set(kwargs: Mapping[str, Any]) -> Native | None:
    names = kwargs.get("column_set")
    if not _takes(kwargs, "column_set", "exact_match") or not isinstance(names, list) or not names:
        return None
    more = {} if kwargs.get("exact_match", True) else {"extra": "allow"}
    return Native({"type": "schema", "columns": names, **more})


def _columns_list(kwargs: Mapping[str, Any]) -> Native | None:
    names = kwargs.get("column_list")
    if not _takes(kwargs, "column_list") or not isinstance(names, list) or not names:
        return None
    return Native({"type": "schema", "columns": names, "order": True})


def _column_exists(kwargs: Mapping[str, Any]) -> Native | None:
    if not _takes(kwargs, "column"):
        return None
    return Native({"type": "schema", "columns": [kwargs["column"]], "extra": "allow"})


def _column_type(kwargs: Mapping[str, Any]) -> Native | None:
    type_name = _TYPES.get(str(kwargs.get("type_")).lower())
    if type_name is None or not _takes(kwargs, "column", "type_"):
        return None
    remark = f"type {kwargs['type_']} is asked for as {type_name}"
    return Native({"type": "schema", "columns": {kwargs["column"]: type_name}, "extra": "allow"}, remark)


def _sql(kwargs: Mapping[str, Any], table: str) -> Native | None:
    query = kwargs.get(QUERY_ARGUMENT)
    if not _takes(kwargs, QUERY_ARGUMENT) or not isinstance(query, str):
        return None
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    try:
        pieces = [*Formatter().parse(query)]
    except ValueError:
        return None
    if not {(name, spec, conversion) for _, name, spec, conversion in pieces} <= {_BATCH, (None, None, None)}:
        return None  # another name, or a width: `{batch:>999999999}` would be a gigabyte
    text = "".join(piece + (quoted if name is not None else "") for piece, name, _, _ in pieces)
    return Native({"type": "sql", "query": text})


def _freshness(kwargs: Mapping[str, Any]) -> Native | None:
    if not _takes(kwargs, "column", "max_age", "skew", "timezone", "expected"):
        return None
    return Native({"type": "freshness", **kwargs})


def _disclosure(kind: str, *names: str) -> Callable[[Mapping[str, Any]], Native | None]:
    """Return the translation of one of our own expectations, whose arguments are those of its check."""

    def native(kwargs: Mapping[str, Any]) -> Native | None:
        return Native({"type": kind, **kwargs}) if _takes(kwargs, "quasi_identifiers", *names) else None

    return native


def _limits(kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `min` and `max`; None where there is neither, or one that is no number."""
    results = {end: kwargs[f"{end}_value"] for end in ("min", "max") if f"{end}_value" in kwargs}
    return results if results and all(_is_number(value) for value in results.values()) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_NATIVES: Final[Mapping[str, Callable[[Mapping[str, Any]], Native | None]]] = {
    "expect_column_distinct_values_to_be_in_set": _accepted_values,
    "expect_column_proportion_of_non_null_values_to_be_between": _proportion_there,
    "expect_column_to_exist": _column_exists,
    "expect_column_type_to_be": _column_type,
    "expect_column_values_to_be_between": _range,
    "expect_column_values_to_be_in_set": _accepted_values,
    "expect_column_values_to_be_of_type": _column_type,
    "expect_column_values_to_be_unique": _unique,
    "expect_column_values_to_not_be_null": _not_null,
    "expect_compound_columns_to_be_unique": _compound_unique,
    "expect_table_columns_to_match_ordered_list": _columns_list,
    "expect_table_columns_to_match_set": _columns_set,
    "expect_table_row_count_to_be_between": _row_count,
    "expect_table_row_count_to_equal": _row_count_equal,
    "expect_table_to_be_fresh": _freshness,
    "expect_table_to_be_k_anonymous": _disclosure("k_anonymity", "k", "max_average_risk"),
    "expect_table_to_be_l_diverse": _disclosure("l_diversity", "sensitive", "l", "variant", "c"),
    "expect_table_to_be_t_close": _disclosure("t_closeness", "sensitive", "t", "distance", "hierarchy"),
}
