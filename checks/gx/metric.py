"""The metric behind our expectations: what a check measures, on whatever engine Great Expectations has the batch on.

One metric serves all of them: the check comes as JSON, its measurement goes back.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import ibis
from great_expectations.compatibility.sqlalchemy import sqlalchemy as sa  # type: ignore[attr-defined] # its own door
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.execution_engine.sqlalchemy_execution_engine import SqlAlchemyExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.validator.metric_configuration import MetricConfiguration
from ibis.backends.sql.datatypes import PostgresType, SQLiteType
from ibis.backends.sqlite.udf import register_all

from checks._catalog import load_catalog
from checks._contract import Check, CheckParameters, Measurement
from checks.gx.measure import BATCH, dialect_of, measure, measure_frame
from sources.moments import register

METRIC: Final = "tablewatch.check"
_TYPES: Final = {"sqlite": SQLiteType, "postgres": PostgresType}


def asked(check: CheckParameters, *, columns: Sequence[str], as_of: str | None) -> Mapping[str, Any]:
    """Return the metric's arguments: the check, the columns it looks at, and the time at which it does."""
    parameters = check.model_dump(mode="json", exclude_defaults=True)
    return {"check": json.dumps({**parameters, "type": check.model_dump()["type"]}), "columns": columns, "as_of": as_of}


def moment(as_of: str | None) -> datetime:
    """Return the time to judge at: now, unless one is given.

    Raises:
        ValueError: it has no offset.
    """
    if as_of is None:
        return datetime.now(UTC)
    result = datetime.fromisoformat(as_of)
    if result.tzinfo is None:
        raise ValueError("'as_of' is an ISO time with an offset")
    return result.astimezone(UTC)


def _check(arguments: Mapping[str, Any]) -> Check:
    parameters = json.loads(arguments["check"])
    model: Any = load_catalog()[parameters["type"]]
    check: Check = model.model_validate(parameters)
    return check


def _of_frame(execution_engine: PandasExecutionEngine, **given: Any) -> Measurement:
    domain, arguments = given["metric_domain_kwargs"], given["metric_value_kwargs"]
    frame, _, _ = execution_engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    columns = [name for name in frame.columns if name in arguments["columns"]]
    return measure_frame(_check(arguments), frame[columns], now=moment(arguments["as_of"]))


def _of_sql(execution_engine: SqlAlchemyExecutionEngine, **given: Any) -> Measurement:
    domain, arguments = given["metric_domain_kwargs"], given["metric_value_kwargs"]
    rows, _, _ = execution_engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    dialect = dialect_of(execution_engine.engine.dialect.name)
    table = ibis.table(_schema(given["metrics"]["table.column_types"], execution_engine), name=BATCH)
    run = _runner(execution_engine, rows)
    return measure(_check(arguments), table, run, dialect=dialect, now=moment(arguments["as_of"]))


class CheckMetric(TableMetricProvider):
    """The measurement of a check on a batch."""

    metric_name = METRIC
    value_keys = ("check", "columns", "as_of")

    _pandas = metric_value(engine=PandasExecutionEngine)(_of_frame)
    _sqlalchemy = metric_value(engine=SqlAlchemyExecutionEngine)(_of_sql)

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


def _schema(columns: Sequence[Mapping[str, Any]], execution_engine: SqlAlchemyExecutionEngine) -> Mapping[str, Any]:
    """Return Ibis' types of the columns, by their names."""
    dialect = execution_engine.engine.dialect
    read = _TYPES[dialect_of(dialect.name)].from_string
    kinds = {
        str(column["name"]): column["type"] for column in columns
    }  # a type of SQLAlchemy, or on some engines its name
    return {
        name: read(str(kind) if isinstance(kind, str) else kind.compile(dialect=dialect))
        for name, kind in kinds.items()
    }


def _runner(execution_engine: SqlAlchemyExecutionEngine, rows: Any) -> Callable[[str], Sequence[Mapping[str, Any]]]:
    """Return what runs a statement on the rows of a batch, in place of the table it names."""
    dialect = execution_engine.engine.dialect
    selected = sa.select(sa.text("*")).select_from(rows) if isinstance(rows, sa.sql.expression.TableClause) else rows
    batch = str(selected.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))

    def run(sql: str) -> Sequence[Mapping[str, Any]]:
        text = re.sub(f'"?{BATCH}"?', lambda _: f"({batch})", sql).replace(
            ":", r"\:"
        )  # a colon would begin a parameter
        with execution_engine.get_connection() as connection:
            if dialect.name == "sqlite":
                driver = connection.connection.driver_connection
                register(driver)  # the functions that read text as moments
                register_all(driver)  # and those that Ibis calls: logarithms, among others
            return [dict(row) for row in connection.execute(sa.text(text)).mappings()]

    return run
