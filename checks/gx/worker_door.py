"""The door to Great Expectations: the only module through which the product uses it, by a `Caller` in a process apart.

Great Expectations declares and judges, through its public API: an ephemeral context, a data source, `batch.validate`.
On SQLite and PostgreSQL its SQL engine works inside the database, by a read-only URL; elsewhere it gets a pandas frame
of the columns that matter, in memory. What comes back is a verdict and counts: its results, messages and tracebacks
hold values of the table and never leave that process.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from checks._contract import Check, Frame, Misconfigured, UnknownReason
from checks._outcome import Message
from checks.expectation import Expectation
from checks.gx.arguments import runnable, snake_case
from checks.gx.caller import OURS, Caller, Raised, no_answer, raised_classes, reason_of
from checks.gx.registry import make, no_provider, problem
from sources import MissingExtra, Source, import_extra, require_extra
from sources.expressions import ops

if TYPE_CHECKING:
    import pandas as pd

_IMPORT_WITHIN: Final = timedelta(minutes=3)
"""It takes 3 s of one quiet core, and does not count against the deadline of the first question."""
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
    check_id: str | None = None

    @classmethod
    def of(cls, check: Check, source: Source, *, relation: str, frame: Frame, check_id: str | None = None) -> Self:
        """Return the request of a check of type `expectation`.

        Raises:
            TypeError: the check is of another type.
        """
        if not isinstance(check, Expectation):
            raise TypeError(f"only checks of type expectation use a data frame, not {type(check).__name__}")
        return cls(check.expectation, check.kwargs, source, relation, frame, check_id)


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


# --- asking -----------------------------------------------------------------------------------------------------------


def evaluate(request: GxRequest, caller: Caller, *, deadline: timedelta) -> Mapping[str, Any]:
    """Return the verdict of an expectation: `{met, violations, elements}`, or `{reason, message}` where there is none.

    `violations` and `elements` are None where the expectation counts nothing. The first call may take seconds, outside
    the deadline: Great Expectations is imported.

    Raises:
        SourceError: the table cannot be read, on the frame route.
    """
    url = request.source.sqlalchemy_url()
    if url is not None:
        table = next(iter(request.source.table(request.relation).op().find(ops.DatabaseTable)))
        return _ask(request, caller, _SqlTable(url, table.name, table.namespace.database), deadline)
    frame = request.source.frame(request.relation, request.frame.columns, request.frame.max_rows)
    if request.frame.max_rows == 0:
        frame = frame.head(0)
    if len(frame) > request.frame.max_rows:
        text = "more than {rows:count} rows, the maximum this source passes to Great Expectations (expectation_rows)"
        return _no_verdict(UnknownReason.MISCONFIGURED, Message(text, {"rows": request.frame.max_rows}))
    return _ask(request, caller, frame, deadline)


def validate(
    declared: Sequence[DeclaredExpectation], caller: Caller, *, within: timedelta | None = None
) -> Sequence[str | None]:
    """Format, for each expectation, what is wrong with it before any table is read; None where nothing is.

    Wrong are: an unknown name, arguments that do not fit it, no implementation for its route. `within`: the most time
    for all of them, beside the import of Great Expectations; by default a minute for each.

    Raises:
        MissingExtra: Great Expectations is not installed.
        ChildProcessError, TimeoutError: it could not be asked.
    """
    _import(caller)
    if within is None:
        return [_problem_of(current_declared, caller, _VALIDATE_WITHIN) for current_declared in declared]
    answers: list[str | None] = []
    for current_declared in declared:
        began = monotonic()
        answers.append(_problem_of(current_declared, caller, within))
        within -= timedelta(seconds=monotonic() - began)
        if within <= timedelta():
            raise TimeoutError("it takes too long for this many")
    return answers


def _import(caller: Caller, check_id: str | None = None) -> None:
    """Have Great Expectations imported, if it is not yet.

    Raises:
        MissingExtra: it is not installed.
        ChildProcessError: it cannot be imported.
    """
    require_extra("great_expectations")
    try:
        imported = caller.call(_prepare, deadline=_IMPORT_WITHIN, check_id=check_id)
    except TimeoutError:
        text = f"Great Expectations was not imported within {_IMPORT_WITHIN.seconds} s"
        raise ChildProcessError(text) from None
    if isinstance(imported, Raised):
        raise ChildProcessError(f"Great Expectations cannot be imported ({imported.classes[0]})")


def _problem_of(declared: DeclaredExpectation, caller: Caller, within: timedelta) -> str | None:
    try:
        kwargs = runnable(declared.kwargs)
    except Misconfigured as error:
        return str(error)
    answer = caller.call(_problem, declared.expectation, kwargs, declared.route, deadline=within)
    if isinstance(answer, Raised):
        return f"Great Expectations could not create {declared.expectation} ({answer.classes[0]})"
    return None if answer is None else str(answer)


def _ask(request: GxRequest, caller: Caller, table: _SqlTable | pd.DataFrame, deadline: timedelta) -> Mapping[str, Any]:
    check_id = request.check_id
    try:
        kwargs = runnable(request.kwargs, dialect=request.source.dialect)
        _import(caller, check_id)
        answer = caller.call(_evaluate, request.expectation, kwargs, table, deadline=deadline, check_id=check_id)
    except TimeoutError:
        return _no_verdict(UnknownReason.TIMEOUT, no_answer(deadline))
    except (MissingExtra, Misconfigured) as error:
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


# --- answering, in the process that the caller chooses ----------------------------------------------------------------


class _CaughtByGxError(Exception):
    def __init__(self, classes: tuple[str, ...]) -> None:
        super().__init__(*classes)
        self.classes = classes


def _library() -> Any:
    return import_extra("great_expectations")


def _prepare() -> None:
    _context()
    importlib.import_module(OURS)


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
    """Return the counts of a result without its values."""
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
    if not isinstance(table, _SqlTable):
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
