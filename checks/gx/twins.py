"""Which expectations together ask what a check asks.

Only equal questions are twins: same rows, same limits, same treatment of NULL. They still differ where Great
Expectations has a defect (an empty table passes, for one); `tests/checks/gx/test_agreement.py` lists those and runs
every pair over random tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from checks import accepted_values, expectation, freshness, metric, not_null, primary_key, schema, sql, unique, volume
from checks import range as value_range
from checks._contract import Check, CheckError, CheckParameters, ColumnClass, Zones
from checks._learned import LearnsLimits
from checks.gx.arguments import QUERY_ARGUMENT, snake_case
from checks.k_anonymity import KAnonymityCheck
from checks.l_diversity import LDiversityCheck
from checks.parameters.numbers import is_time, plain
from checks.t_closeness import TClosenessCheck

Twin: TypeAlias = tuple[str, dict[str, Any]]
"""An expectation: its type in snake_case and its arguments."""


class NoTwinError(CheckError):
    """Great Expectations has no expectation that asks this. The text says why."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The expectations that together ask what a check asks, and what is lost on the way."""

    expectations: Sequence[Twin]
    remark: str | None = None


def twins_of(check: Check, zones: Zones, classified: Mapping[str, ColumnClass] = MappingProxyType({})) -> Twins:
    """Return the expectations that together ask what a check asks.

    `zones` are those of the table's naive time columns, `classified` what its columns say of people.

    Raises:
        NoTwinError: there are none.
    """
    if check.where is not None:
        raise NoTwinError("its filter is SQL, which a row condition cannot express")
    if check.segments is not None:
        raise NoTwinError("it is judged in each segment of the table, and an expectation of the whole")
    if isinstance(check, LearnsLimits) and check.learns:
        raise NoTwinError("its limits are learned from earlier measurements, which an expectation does not see")
    if isinstance(check, freshness.Freshness):
        if check.time != "scan":
            raise NoTwinError("it asks the catalogue, which an expectation does not read")
        return Twins([_fresh(check, zones)])
    if isinstance(check, KAnonymityCheck | LDiversityCheck | TClosenessCheck):
        return _disclosure(check, classified)
    for kind, twins in _TWINS.items():
        if isinstance(check, kind):
            return twins(check)
    raise NoTwinError("there is no such expectation")


def _not_null(check: not_null.NotNull) -> Twins:
    mostly = {"mostly": float(1 - Decimal(str(check.max_ratio)))} if check.max_ratio else {}
    return Twins([("expect_column_values_to_not_be_null", {"column": name, **mostly}) for name in check.columns])


def _primary_key(check: primary_key.PrimaryKey) -> Twins:
    filled = [("expect_column_values_to_not_be_null", {"column": name}) for name in check.columns]
    return Twins([_without_duplicates(check.columns), *filled])


def _unique(check: unique.Unique) -> Twins:
    if check.nulls == "distinct":
        return Twins([_without_duplicates(check.columns)])
    if len(check.columns) == 1:
        raise NoTwinError("Great Expectations ignores NULL in the uniqueness of a single column")
    arguments = {"column_list": list(check.columns), "ignore_row_if": "never"}
    return Twins([("expect_compound_columns_to_be_unique", arguments)])


def _without_duplicates(columns: Sequence[str]) -> Twin:
    if len(columns) == 1:
        return "expect_column_values_to_be_unique", {"column": columns[0]}
    arguments = {"column_list": list(columns), "ignore_row_if": "any_value_is_missing"}
    return "expect_compound_columns_to_be_unique", arguments


def _accepted_values(check: accepted_values.AcceptedValues) -> Twins:
    _refuse_share(check.max_ratio)
    if any(is_time(value) for value in check.values):
        raise NoTwinError("Great Expectations does not support dates in JSON")
    twins: list[Twin] = [
        (
            "expect_column_values_to_be_in_set",
            {"column": check.column, "value_set": [_number(value) for value in check.values]},
        )
    ]
    if not check.allow_null:
        twins.append(("expect_column_values_to_not_be_null", {"column": check.column}))
    return Twins(twins)


def _range(check: value_range.Range) -> Twins:
    _refuse_share(check.max_ratio)
    if is_time(check.min) or is_time(check.max):
        raise NoTwinError("Great Expectations does not support dates in JSON")
    arguments = {"column": check.column, "min_value": _number(check.min), "max_value": _number(check.max)}
    strict = {"strict_min": check.exclusive_min or None, "strict_max": check.exclusive_max or None}
    return Twins([("expect_column_values_to_be_between", _given({**arguments, **strict}))])


def _number(value: Any) -> Any:
    """Return a number that Great Expectations, which computes in doubles, reads as it is written."""
    number = plain(value) if isinstance(value, Decimal) else value
    if isinstance(value, Decimal) and isinstance(number, str):
        raise NoTwinError("a number has more digits than the doubles of Great Expectations")
    return number


def _refuse_share(max_ratio: float) -> None:
    if max_ratio:
        raise NoTwinError("Great Expectations uses the share of non-NULL values, this check the share of all rows")


def _volume(check: volume.Volume) -> Twins:
    if check.window is not None or check.min_ratio is not None or check.max_ratio is not None:
        raise NoTwinError("Great Expectations stores no history to compare with")
    limits = _given({"min_value": check.min, "max_value": check.max})
    return Twins([("expect_table_row_count_to_be_between", limits)])


def _schema(check: schema.Schema) -> Twins:
    if check.columns is None:
        raise NoTwinError("Great Expectations stores no history to compare with")
    names = list(check.columns)
    omitted = []
    if isinstance(check.columns, dict):
        omitted.append("types (Great Expectations' names for them depend on the database)")
    if check.order and check.extra == "allow":
        omitted.append("order (it is not compared where more columns are allowed)")
    remark = f"only the names of the columns are exported, without their {' and '.join(omitted)}" if omitted else None
    if check.order and check.extra == "forbid":
        return Twins([("expect_table_columns_to_match_ordered_list", {"column_list": names})], remark)
    more = {"exact_match": False} if check.extra == "allow" else {}
    return Twins([("expect_table_columns_to_match_set", {"column_set": names, **more})], remark)


_AGGREGATES: Final = {
    "distinct": "expect_column_unique_value_count_to_be_between",
    "max": "expect_column_max_to_be_between",
    "mean": "expect_column_mean_to_be_between",
    "min": "expect_column_min_to_be_between",
    "stddev": "expect_column_stdev_to_be_between",
    "sum": "expect_column_sum_to_be_between",
}


def _metric(check: metric.Metric) -> Twins:
    if check.max_deviation is not None:
        raise NoTwinError("Great Expectations stores no history to compare with")
    if check.tolerance:
        raise NoTwinError("Great Expectations does not support a tolerance")
    limits = _given({"min_value": _number(check.min), "max_value": _number(check.max)})
    if check.aggregate in _AGGREGATES:
        return Twins([(_AGGREGATES[check.aggregate], {"column": check.column, **limits})])
    raise NoTwinError(f"there is no expectation for {check.aggregate}")


def _sql(check: sql.Sql) -> Twins:
    if check.max:
        raise NoTwinError("Great Expectations expects a query to return no rows")
    query = check.query.replace("{", "{{").replace("}", "}}")
    return Twins([("unexpected_rows_expectation", {QUERY_ARGUMENT: query})], "it runs on SQL databases only")


def _expectation(check: expectation.Expectation) -> Twins:
    module, colon, name = check.expectation.partition(":")
    remark = f"import {module} before Great Expectations loads the suite" if colon else None
    return Twins([(snake_case(name or check.expectation), check.model_dump(mode="json")["kwargs"])], remark)


def _fresh(check: freshness.Freshness, zones: Zones) -> Twin:
    kwargs = check.model_dump(
        mode="json", include={"column", "epoch", "max_age", "skew", "expected"}, exclude_defaults=True
    )
    zone = check.timezone or (None if check.column is None else zones.of(check.column))
    if check.expected is not None:
        kwargs["expected"] = {"timezone": check.timezone or zones.calendar, **kwargs["expected"]}
    return "expect_table_to_be_fresh", {**kwargs, **({} if zone is None else {"timezone": zone})}


_DISCLOSURE: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "k_anonymity": ("expect_table_to_be_k_anonymous", frozenset({"k", "max_average_risk"})),
    "l_diversity": ("expect_table_to_be_l_diverse", frozenset({"l", "variant", "c"})),
    "t_closeness": ("expect_table_to_be_t_close", frozenset({"t", "distance", "hierarchy"})),
}
"""Our own expectations, and which of their arguments are those of the check."""


def _disclosure(
    check: KAnonymityCheck | LDiversityCheck | TClosenessCheck, classified: Mapping[str, ColumnClass]
) -> Twins:
    if check.refers_to and not check.keeps:
        raise NoTwinError("it reads a second table, which an expectation of one batch cannot")
    kind, names = _DISCLOSURE[check.type]
    kwargs: dict[str, Any] = {"quasi_identifiers": _columns(check, "quasi_identifiers", classified)}
    if not isinstance(check, KAnonymityCheck):
        kwargs["sensitive"] = _columns(check, "sensitive", classified)
    kwargs |= check.model_dump(mode="json", include=set(names), exclude_defaults=True)
    return Twins([(kind, kwargs)], "it counts all rows on each run" if check.keeps else None)


def _columns(check: CheckParameters, field: str, classified: Mapping[str, ColumnClass]) -> list[str]:
    """Return the columns that a check names, else those that the table's configuration classifies so."""
    word = ColumnClass.SENSITIVE if field == "sensitive" else ColumnClass.QUASI_IDENTIFIER
    results = list(getattr(check, field)) or [name for name, column_class in classified.items() if column_class is word]
    if not results:
        raise NoTwinError(f"it names no column in '{field}', and the table classifies none as such")
    return results


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


_TWINS: Final[Mapping[type[Any], Callable[[Any], Twins]]] = {
    accepted_values.AcceptedValues: _accepted_values,
    expectation.Expectation: _expectation,
    metric.Metric: _metric,
    not_null.NotNull: _not_null,
    primary_key.PrimaryKey: _primary_key,
    schema.Schema: _schema,
    sql.Sql: _sql,
    unique.Unique: _unique,
    value_range.Range: _range,
    volume.Volume: _volume,
}
