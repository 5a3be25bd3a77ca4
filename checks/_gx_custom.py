"""Our checks as expectations of Great Expectations: importing this module registers them.

    from checks._gx_custom import ExpectTableToBeFresh

Each gives the verdict of the check of the same name: it measures what the check measures and lets the check judge. What
the check could not judge (no rows, no zone for a naive column, text that is no time) is raised, so that Great
Expectations records an exception; it is neither success nor a value out of bounds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import ibis
from great_expectations.compatibility import pydantic
from great_expectations.compatibility.sqlalchemy import sqlalchemy as sa  # type: ignore[attr-defined] # its own door
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.row_conditions import RowConditionType
from great_expectations.validator.metric_configuration import MetricConfiguration
from ibis.backends.sql.datatypes import PostgresType, SQLiteType
from pydantic import ValidationError

from checks._contract import CheckError, Measurement, Status
from checks._gx_measure import BATCH, measure, measure_frame
from checks._judge import judge
from checks.freshness import Freshness
from sources._moments import register

_DIALECTS: Final = {"sqlite": "sqlite", "postgresql": "postgres"}
_TYPES: Final = {"sqlite": SQLiteType, "postgres": PostgresType}
_FRESHNESS: Final = ("column", "max_age", "skew", "timezone", "expected", "as_of")


class NoVerdictError(CheckError):
    """The check could not be judged."""


def _freshness(arguments: Mapping[str, Any]) -> Freshness:
    given = {name: arguments[name] for name in _FRESHNESS if name != "as_of" and arguments.get(name) is not None}
    try:
        return Freshness.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}") from None


def _now(arguments: Mapping[str, Any]) -> datetime:
    as_of = arguments.get("as_of")
    if as_of is None:
        return datetime.now(UTC)
    moment = datetime.fromisoformat(as_of)
    if moment.tzinfo is None:
        raise ValueError("'as_of' is an ISO time with an offset")
    return moment.astimezone(UTC)


class FreshnessMetric(TableMetricProvider):
    """What the freshness check measures: the newest row that is not in the future, and how many rows are."""

    metric_name = "tablewatch.freshness"
    value_keys = _FRESHNESS

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805 - the decorator makes it a class method
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Measurement:
        frame, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        column = [name for name in frame.columns if name == metric_value_kwargs["column"]]
        return measure_frame(_freshness(metric_value_kwargs), frame[column], now=_now(metric_value_kwargs))

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(
        cls,  # noqa: N805 - the decorator makes it a class method
        execution_engine: SqlAlchemyExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> Measurement:
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        dialect = _dialect(execution_engine)
        table = ibis.table(_schema(metrics["table.column_types"], execution_engine), name=BATCH)
        run = _runner(execution_engine, rows)
        return measure(_freshness(metric_value_kwargs), table, run, dialect=dialect, now=_now(metric_value_kwargs))

    @classmethod
    def _get_evaluation_dependencies(
        cls,
        metric: MetricConfiguration,
        configuration: Any = None,
        execution_engine: Any = None,
        runtime_configuration: dict[str, Any] | None = None,
    ) -> dict[str, MetricConfiguration]:
        needed: dict[str, MetricConfiguration] = super()._get_evaluation_dependencies(
            metric, configuration, execution_engine, runtime_configuration
        )
        if isinstance(execution_engine, SqlAlchemyExecutionEngine):
            needed["table.column_types"] = MetricConfiguration(
                "table.column_types", metric.metric_domain_kwargs, {"include_nested": True}
            )
        return needed


def _dialect(execution_engine: SqlAlchemyExecutionEngine) -> str:
    name = str(execution_engine.engine.dialect.name)
    if name not in _DIALECTS:
        raise NotImplementedError(f"expected a batch of {' or '.join(_DIALECTS)} or a frame, not of {name}")
    return _DIALECTS[name]


def _schema(columns: Sequence[Mapping[str, Any]], execution_engine: SqlAlchemyExecutionEngine) -> Mapping[str, Any]:
    """Give Ibis' types of the columns, by their names."""
    read = _TYPES[_dialect(execution_engine)].from_string
    dialect = execution_engine.engine.dialect
    kinds = {str(one["name"]): one["type"] for one in columns}  # a type of SQLAlchemy, or on some engines its name
    return {
        name: read(str(kind) if isinstance(kind, str) else kind.compile(dialect=dialect))
        for name, kind in kinds.items()
    }


def _runner(execution_engine: SqlAlchemyExecutionEngine, rows: Any) -> Callable[[str], Sequence[Mapping[str, Any]]]:
    """Give what runs a statement on the rows of a batch, in place of the table it names."""
    dialect = execution_engine.engine.dialect
    selected = sa.select(sa.text("*")).select_from(rows) if isinstance(rows, sa.sql.expression.TableClause) else rows
    batch = str(selected.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))

    def run(sql: str) -> Sequence[Mapping[str, Any]]:
        text = re.sub(f'"?{BATCH}"?', lambda _: f"({batch})", sql).replace(
            ":", r"\:"
        )  # a colon would begin a parameter
        with execution_engine.get_connection() as connection:
            if dialect.name == "sqlite":
                register(connection.connection.driver_connection)  # the functions that read text as moments
            return [dict(row) for row in connection.execute(sa.text(text)).mappings()]

    return run


class ExpectTableToBeFresh(BatchExpectation):
    """The newest row is not older than a length of time; rows in the future do not count.

    The arguments are those of the check `freshness`: `max_age` and `skew` are texts such as 26h, `timezone` is the IANA
    zone of naive values, `expected` says when rows are expected. `as_of` is an ISO time with an offset to judge at
    (now, if not given).
    """

    column: str
    max_age: str
    skew: str | None = None
    timezone: str | None = None
    expected: dict[str, Any] | None = None
    as_of: str | None = None
    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    metric_dependencies: ClassVar[tuple[str, ...]] = ("tablewatch.freshness",)
    success_keys: ClassVar[tuple[str, ...]] = _FRESHNESS
    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")

    @pydantic.root_validator(skip_on_failure=True)
    def _arguments_are_those_of_the_check(cls, values: dict[str, Any]) -> dict[str, Any]:  # noqa: N805 - pydantic 1
        _freshness(values)
        _now(values)
        return values

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        measurement: Measurement = metrics["tablewatch.freshness"]
        outcome = judge(_freshness(self.dict()), measurement)
        if outcome.status is Status.UNKNOWN:
            raise NoVerdictError(str(outcome.message))
        result = {"observed_value": outcome.observed.get("age_s"), "details": dict(outcome.observed)}
        return {"success": outcome.status is Status.PASS, "result": result}
