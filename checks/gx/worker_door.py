"""The door to Great Expectations: the only module through which the product uses it, in a process of its own.

Great Expectations declares and judges, through its public API: an ephemeral context, a data source, `batch.validate`.
On SQLite and PostgreSQL its SQL engine works inside the database, by a read-only URL; elsewhere it gets a pandas frame
of the columns that matter, in memory. What comes back is a verdict and counts: its results, messages and tracebacks
hold values of the table and never leave the worker.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from time import monotonic
from typing import Any, Final, Literal, Self

import pandas as pd

from checks._contract import Check, Frame, Misconfigured, UnknownReason
from checks._message import Message
from checks.expectation import Expectation
from checks.gx.arguments import runnable, snake_case
from checks.gx.errors import raised_classes, reason_of
from checks.gx.registry import OURS, make, no_provider, problem
from checks.gx.worker import Raised, Worker
from sources import Source
from sources.expressions import ops

_VALIDATE_WITHIN: Final = timedelta(minutes=1)
_COUNTS: Final = {"result_format": "BASIC", "partial_unexpected_count": 0}


@dataclass(frozen=True, slots=True)
class GxRequest:
    """An expectation to evaluate on a table of a source that is open."""

    expectation: str
    kwargs: Mapping[str, Any]
    source: Source
    relation: str
    frame: Frame
    """What to hand over where Great Expectations has no SQL engine of ours; `max_rows` 0 hands over names and types."""

    @classmethod
    def of(cls, check: Check, source: Source, *, relation: str, frame: Frame) -> Self:
        """Return the request of a check of type `expectation`.

        Raises:
            TypeError: the check is of another type.
        """
        if not isinstance(check, Expectation):
            raise TypeError(f"only checks of type expectation use a data frame, not {type(check).__name__}")
        return cls(check.expectation, check.kwargs, source, relation, frame)


@dataclass(frozen=True, slots=True)
class DeclaredExpectation:
    """An expectation as configured, and its route: `sql` (SQLite, PostgreSQL), `frame`, or None if not yet known."""

    expectation: str
    kwargs: Mapping[str, Any]
    route: Literal["sql", "frame"] | None = None


@dataclass(frozen=True, slots=True)
class _SqlTable:
    url: str
    name: str
    schema: str | None


# --- asking, in the process of whoever asks ---------------------------------------------------------------------------


def evaluate(request: GxRequest, *, deadline: timedelta) -> Mapping[str, Any]:
    """Return the verdict of an expectation: `{met, violations, elements}`, or `{reason, message}` where there is none.

    `violations` and `elements` are None where the expectation counts nothing. The first call of a process takes
    seconds: the worker imports Great Expectations, outside the deadline.

    Raises:
        SourceError: the table cannot be read, on the frame route.
    """
    url = request.source.sqlalchemy_url()
    if url is not None:
        table = next(iter(request.source.table(request.relation).op().find(ops.DatabaseTable)))
        return _ask(request, _SqlTable(url, table.name, table.namespace.database), deadline)
    frame = request.source.frame(request.relation, request.frame.columns, request.frame.max_rows)
    if request.frame.max_rows == 0:
        frame = frame.head(0)
    if len(frame) > request.frame.max_rows:
        text = "more than {rows:count} rows, the maximum this source passes to Great Expectations (expectation_rows)"
        return _no_verdict(UnknownReason.MISCONFIGURED, Message(text, {"rows": request.frame.max_rows}))
    return _ask(request, frame, deadline)


def validate(declared: Sequence[DeclaredExpectation], *, within: timedelta | None = None) -> Sequence[str | None]:
    """Format, for each expectation, what is wrong with it before any table is read; None where nothing is.

    Wrong are: an unknown name, arguments that do not fit it, no implementation for its route. `within`: the most time
    for all of them, beside the start of the worker; by default a minute for each.

    Raises:
        ChildProcessError, TimeoutError: Great Expectations could not be asked.
    """
    if within is None:
        return [_problem_of(current_declared, _VALIDATE_WITHIN) for current_declared in declared]
    answers: list[str | None] = []
    for current_declared in declared:
        began = monotonic()
        answers.append(_problem_of(current_declared, within))
        if answers[1:]:  # the first call starts the worker
            within -= timedelta(seconds=monotonic() - began)
        if within <= timedelta():
            raise TimeoutError("it takes too long for this many")
    return answers


def _problem_of(declared: DeclaredExpectation, within: timedelta) -> str | None:
    try:
        kwargs = runnable(declared.kwargs)
    except Misconfigured as error:
        return str(error)
    answer = _WORKER.call(_problem, declared.expectation, kwargs, declared.route, deadline=within)
    if isinstance(answer, Raised):
        return f"Great Expectations could not create {declared.expectation} ({answer.classes[0]})"
    return None if answer is None else str(answer)


def close() -> None:
    """End the worker of this process, if it has one."""
    _WORKER.close()


def _ask(request: GxRequest, table: _SqlTable | pd.DataFrame, deadline: timedelta) -> Mapping[str, Any]:
    try:
        kwargs = runnable(request.kwargs, dialect=request.source.dialect)
        answer = _WORKER.call(_evaluate, request.expectation, kwargs, table, deadline=deadline)
    except TimeoutError:
        text = "no answer from Great Expectations within {deadline:duration} (query_timeout of the source)"
        return _no_verdict(UnknownReason.TIMEOUT, Message(text, {"deadline": deadline.total_seconds()}))
    except Misconfigured as error:
        return _no_verdict(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))
    except ChildProcessError as error:
        return _no_verdict(UnknownReason.BUG, Message("{problem}", {"problem": str(error)}))
    if isinstance(answer, Raised):
        return _could_not(request.expectation, answer.classes, table)
    return dict(answer)


def _could_not(expectation: str, classes: tuple[str, ...], table: _SqlTable | pd.DataFrame) -> Mapping[str, Any]:
    if "MetricProviderError" in classes:
        route = "sql" if isinstance(table, _SqlTable) else "frame"
        return _no_verdict(UnknownReason.MISCONFIGURED, no_provider(expectation, route))
    reason = reason_of(classes, sqlite=isinstance(table, _SqlTable) and table.url.startswith("sqlite"))
    values = {"expectation": expectation, "error": classes[0]}
    if reason is UnknownReason.MISCONFIGURED:
        text = "{expectation} is not applicable to this table ({error}); compare its arguments with the column types"
        return _no_verdict(reason, Message(text, values))
    return _no_verdict(reason, Message("Great Expectations could not evaluate {expectation} ({error})", values))


def _no_verdict(reason: UnknownReason, message: Message) -> Mapping[str, Any]:
    return {"reason": reason, "message": message}


# --- answering, in the worker -----------------------------------------------------------------------------------------


class _CaughtByGxError(Exception):
    def __init__(self, classes: tuple[str, ...]) -> None:
        super().__init__(*classes)
        self.classes = classes


def _library() -> Any:
    import great_expectations

    return great_expectations


def _prepare() -> None:
    _context()
    importlib.import_module(OURS)


_WORKER: Final = Worker(_prepare)


@cache
def _context() -> Any:
    return _library().get_context(mode="ephemeral")


def _evaluate(name: str, kwargs: Mapping[str, Any], table: _SqlTable | pd.DataFrame) -> Mapping[str, Any] | Raised:
    try:
        expectation = make(_library(), name, kwargs)
    except Misconfigured as error:
        return _no_verdict(UnknownReason.MISCONFIGURED, Message("{problem}", {"problem": str(error)}))
    try:
        with _batch(table) as batch:
            if "row_condition" in kwargs and not _has_rows(batch, kwargs):
                return {"empty": True}
            met = bool(_result(batch, expectation, "BOOLEAN_ONLY").success)
            if met and kwargs.get("mostly", 1) == 1:
                return {"met": True, "violations": 0, "elements": None}
            return {"met": met, **_counts(name, _result(batch, expectation, _COUNTS).result)}
    except _CaughtByGxError as error:
        return Raised(error.classes)


def _result(batch: Any, expectation: Any, result_format: str | Mapping[str, Any]) -> Any:
    result = batch.validate(expectation, result_format=result_format)
    if classes := raised_classes(result.exception_info):
        raise _CaughtByGxError(classes)
    return result


def _counts(name: str, result: Mapping[str, Any]) -> Mapping[str, int | None]:
    """Take the counts out of a result and leave its values."""
    violations = result.get("unexpected_count")
    if snake_case(name) == "unexpected_rows_expectation":
        violations = result.get("observed_value")
    elements = result.get("element_count")
    return {
        "violations": None if violations is None else int(violations),
        "elements": None if elements is None else int(elements),
    }


def _has_rows(batch: Any, kwargs: Mapping[str, Any]) -> bool:
    condition = {name: kwargs[name] for name in ("row_condition", "condition_parser") if name in kwargs}
    some = _library().expectations.ExpectTableRowCountToBeBetween(min_value=1, **condition)
    return bool(_result(batch, some, "BOOLEAN_ONLY").success)


@contextmanager
def _batch(table: _SqlTable | pd.DataFrame) -> Iterator[Any]:
    """Open a table for one request; nothing stays open or in memory after it."""
    sources = _context().data_sources
    if isinstance(table, pd.DataFrame):
        asset = sources.add_pandas("table").add_dataframe_asset("table")
        try:
            yield asset.add_batch_definition_whole_dataframe("table").get_batch({"dataframe": table})
        finally:
            sources.delete("table")
        return
    # add_postgres takes no URL whose host stands among its parameters, and differs in nothing else
    add = sources.add_sqlite if table.url.startswith("sqlite") else sources.add_sql
    source = add("table", connection_string=table.url.replace("$", "%24"))  # $NAME would be looked up as a variable
    try:
        # A plain string would be pasted into the SQL, and the first form used is the one that SQLAlchemy's cache keeps.
        quoted = _library().compatibility.sqlalchemy.quoted_name
        schema = {} if table.schema is None else {"schema_name": quoted(table.schema, quote=True)}
        asset = source.add_table_asset("table", table_name=quoted(table.name, quote=True), **schema)
        yield asset.add_batch_definition_whole_table("table").get_batch()
    finally:
        source.get_execution_engine().close()
        source.get_engine().dispose()
        sources.delete("table")


def _problem(name: str, kwargs: Mapping[str, Any], route: str | None) -> str | None:
    return problem(_library(), name, kwargs, route)
