"""Find expectations by name, make them, and say what is wrong with how they are declared.

Runs where Great Expectations is called; each function is handed `gx`, the library, by its door
(`checks.gx.worker_door`).
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from checks._errors import Misconfigured
from checks._outcome import Message
from checks.gx.arguments import snake_case
from checks.gx.caller import OURS
from sources import did_you_mean


def no_provider(name: str, route: str) -> Message:
    """Describe that an expectation cannot be evaluated on a route, and where it can."""
    if route == "sql":
        text = "{expectation} has no implementation for SQL databases; it works on files and DuckDB only"
        return Message(text, {"expectation": name})
    text = "{expectation} has no implementation for data frames; it works on SQLite and PostgreSQL only"
    return Message(text, {"expectation": name})


def make(gx: Any, name: str, kwargs: Mapping[str, Any]) -> Any:
    """Make an expectation.

    Raises:
        Misconfigured: there is none of this name, or its arguments do not fit.
    """
    kind = _find(gx, name)
    try:
        return kind(**kwargs)
    except gx.compatibility.pydantic.ValidationError as error:
        first = error.errors()[0]
        argument = str(first["loc"][0])
        hint = did_you_mean(argument, kind.__fields__) if first["type"] == "value_error.extra" else ""
        place = "" if argument == "__root__" else f"{argument}: "
        raise Misconfigured(f"{name} does not take these kwargs: {place}{first['msg']}{hint}") from None


def _find(gx: Any, name: str) -> Any:
    module_name, colon, class_name = name.partition(":")
    if not colon:
        entries = {item.expectation_type: item for item in _built_in(gx)}
        if result := entries.get(snake_case(name)):
            return result
        names = [entry.__name__ for entry in entries.values()] if name[:1].isupper() else entries
        raise Misconfigured(f"expectation '{name}' not found{did_you_mean(name, names)}")
    try:
        custom = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError as error:
        raise Misconfigured(
            f"'{module_name}' cannot be imported ({type(error).__name__}); is it on PYTHONPATH?"
        ) from None
    if not _is_expectation(gx, custom):
        raise Misconfigured(f"'{name}' is not an expectation class of Great Expectations")
    return custom


def _built_in(gx: Any) -> Sequence[Any]:
    custom = vars(sys.modules[OURS]).values() if OURS in sys.modules else ()
    return [item for item in (*vars(gx.expectations).values(), *custom) if _is_expectation(gx, item)]


def _is_expectation(gx: Any, value: Any) -> bool:
    is_kind = isinstance(value, type) and issubclass(value, gx.expectations.Expectation)
    return is_kind and not value.is_abstract()


def problem(gx: Any, name: str, kwargs: Mapping[str, Any], route: str | None) -> str | None:
    """Describe what is wrong with an expectation on a route (`sql`, `frame` or any), None where nothing is."""
    try:
        expectation = make(gx, name, kwargs)
    except Misconfigured as error:
        return str(error)
    return None if route is None or _has_providers(gx, expectation, route) else str(no_provider(name, route))


def _has_providers(gx: Any, expectation: Any, route: str) -> bool:
    """Check whether every metric that an expectation asks for can be computed on a route."""
    engines = gx.execution_engine
    if route == "frame":
        engine = engines.PandasExecutionEngine()
    else:
        engine = engines.SqlAlchemyExecutionEngine(connection_string="sqlite://")  # in memory: no table is looked at
    try:
        metrics = expectation.get_validation_dependencies(execution_engine=engine).metric_configurations.values()
    except gx.exceptions.MetricResolutionError:
        return True  # it looks at the table before it says what it wants, so it knows this engine
    try:
        for metric in metrics:
            gx.expectations.registry.get_metric_provider(metric.metric_name, engine)
    except gx.exceptions.MetricProviderError:
        return False
    return True
