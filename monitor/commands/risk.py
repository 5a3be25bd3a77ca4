"""`tablewatch risk`: how likely it is that records of a table or a file are found again."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from monitor.frame.output import Invocation
from monitor.frame.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from checks import Check, Outcome
    from monitor.conclude import CheckResult
    from monitor.disclosure.place import Place


class _TableByDefault(typer.core.TyperGroup):
    """Takes what is no command of the group for a table: `risk people.csv` is `risk table people.csv`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["table", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_TableByDefault,
    help="Say how likely it is that records of a table or a file are found again.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)

Columns = Annotated[
    str | None, typer.Option("--quasi-identifiers", "-q", metavar="A,B,...", help="Columns that somebody may know.")
]


@app.callback()
def _group() -> None:
    """Say how likely it is that records of a table or a file are found again. Nothing is remembered.

    `risk TABLE` is `risk table TABLE`.
    """


@app.command()
def table(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="A configured table, or a CSV or Parquet file.")],
    quasi_identifiers: Columns = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", "-s", metavar="A,B,...", help="Columns that nobody should learn.")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="The smallest group of records that are alike.")] = 5,
    l: Annotated[float, typer.Option("--l", help="Distinct sensitive values in each group.")] = 2,  # noqa: E741 - its name
    t: Annotated[
        float | None, typer.Option("--t", help="Largest distance of a group's sensitive values from those of all.")
    ] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="Share of the population in the table: estimates who is unique in it.")
    ] = None,
    max_population_unique: Annotated[
        float | None, typer.Option(help="Largest share of the population that may be unique in it.")
    ] = None,
) -> None:
    """Assess a table or a file: k-anonymity, l-diversity, t-closeness, population uniqueness.

    Leaves with 1 if a limit is broken, with 3 if something could not be evaluated.

    Example: tablewatch risk people.csv --quasi-identifiers birth_year,postcode,sex --sensitive diagnosis --k 5
    """
    from checks import ColumnClass
    from monitor.clock import SystemClock
    from monitor.disclosure.assess import Question, assess, columns_meant
    from monitor.disclosure.place import place_of

    invocation: Invocation = ctx.obj
    place = place_of(name, invocation)
    quasi = columns_meant(place, _names(quasi_identifiers), ColumnClass.QUASI_IDENTIFIER)
    if not quasi:
        raise Stop(ExitCode.USAGE, _no_quasi_identifier(name))
    question = Question(
        quasi_identifiers=quasi,
        sensitive=columns_meant(place, _names(sensitive), ColumnClass.SENSITIVE),
        k=k,
        l=l,
        t=t,
        sampling_fraction=sampling_fraction,
        max_population_unique_fraction=max_population_unique,
    )
    with _limits_in_words():
        found = assess(place, question, SystemClock())
    worst = found.results[0].outcome
    code = _code(worst)
    if code is ExitCode.USAGE:
        raise Stop(code, Problem("risk.misconfigured", str(worst.message)))
    result = {
        "schema": "tablewatch.risk/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "table": found.name,
        "quasi_identifiers": list(question.quasi_identifiers),
        "sensitive": list(question.sensitive),
        "verdict": found.status.value,
        "results": [_as_json(one) for one in found.results],
    }

    def draw(console: "Console") -> None:
        from monitor.pages.risk import draw_assessment

        draw_assessment(console, found)

    invocation.emit(result, draw)
    raise Stop(code)


@app.command()
def subsets(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="A configured table, or a CSV or Parquet file.")],
    quasi_identifiers: Columns = None,
    known: Annotated[int, typer.Option(min=1, max=5, help="How many columns somebody knows at most.")] = 3,
    max_unique: Annotated[float, typer.Option(help="Largest share of the records that a set may single out.")] = 1.0,
) -> None:
    """Show which few columns, known together, single out how many records.

    Leaves with 1 if a set singles out more than --max-unique.

    Example: tablewatch risk subsets people.csv --quasi-identifiers birth_year,postcode,sex --known 2
    """
    from checks import ColumnClass
    from monitor.disclosure.assess import columns_meant
    from monitor.disclosure.place import place_of
    from monitor.pages.risk import draw_sets

    invocation: Invocation = ctx.obj
    place = place_of(name, invocation)
    quasi = columns_meant(place, _names(quasi_identifiers), ColumnClass.QUASI_IDENTIFIER)
    if not quasi:
        raise Stop(ExitCode.USAGE, _no_quasi_identifier(name))
    given = {"quasi_identifiers": quasi, "known": known, "max_unique_fraction": max_unique}
    found = _ask(place, "reidentification_by_subset", given)
    _conclude(invocation, found, "tablewatch.risk-subsets/1", lambda console: draw_sets(console, found, most=20))


@app.command()
def linkage(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="What is to be given away.")],
    auxiliary: Annotated[str, typer.Argument(metavar="AUXILIARY", help="What somebody has: a table or file.")],
    on: Annotated[str, typer.Option(metavar="A,B=C,...", help="Columns that both have; B=C where the names differ.")],
    tolerance: Annotated[
        str | None, typer.Option(metavar="A=3,B=2d,...", help="How far numbers and times may be apart.")
    ] = None,
    max_unique: Annotated[float, typer.Option(help="Largest share of the records that may be matched uniquely.")] = 0.0,
) -> None:
    """Show how many records match one and only one record of a table that somebody has.

    Leaves with 1 if more than --max-unique do.

    Example: tablewatch risk linkage hospital.csv voters.csv --on birth_date,postcode,sex
    """
    from monitor.disclosure.place import beside

    invocation: Invocation = ctx.obj
    with beside(name, auxiliary, invocation) as (place, other):
        given: dict[str, Any] = {"auxiliary": other, "on": _pairs(on), "max_unique_fraction": max_unique}
        if tolerance is not None:
            given["tolerance"] = _pairs(tolerance)
        found = _ask(place, "linkage", given)

    def draw(console: "Console") -> None:
        from monitor.pages.risk import draw_flat

        draw_flat(console, found)

    _conclude(invocation, found, "tablewatch.risk-linkage/1", draw)


@app.command()
def suggest(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="A configured table, or a CSV or Parquet file.")],
) -> None:
    """Suggest which columns are quasi-identifiers, by their names and by how well each tells records apart.

    Example: tablewatch risk suggest people.csv
    """
    from checks import Status
    from monitor.clock import SystemClock
    from monitor.disclosure.place import place_of
    from monitor.disclosure.suggest import Columns as Counted
    from monitor.pages.risk import draw_columns

    invocation: Invocation = ctx.obj
    place = place_of(name, invocation)
    (found,) = place.ask([Counted()], SystemClock())
    if found.outcome.status is Status.UNKNOWN:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("risk.unknown", str(found.outcome.message)))
    columns: Any = found.outcome.observed["columns"]
    result = {"schema": "tablewatch.risk-suggest/1", "ok": True, "table": place.name, "columns": columns}
    invocation.emit(result, lambda console: draw_columns(console, place.name, columns))


@app.command()
def remember(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE", help="A configured table with a check of type re_release.")],
    as_: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="What the release is called.", envvar="TABLEWATCH_RISK_REMEMBER_AS"),
    ],
) -> None:
    """Remember a table as it is given away now, so that later states are compared with it; as keyed hashes only.

    Leaves with 3 if one of several checks could not remember it.

    Example: tablewatch risk remember crm.customers --as spring-extract
    """
    from monitor.desk.refusals import explained
    from monitor.releases import NotRemembered, remember_release
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store() as store, explained():
        try:
            kept = remember_release(project, store, table=name, name=as_)
        except NotRemembered as error:
            raise Stop(ExitCode.USAGE, Problem("risk.not_remembered", str(error))) from None
    left_out = any(one.problem is not None for one in kept)
    result = {
        "schema": "tablewatch.risk-remember/1",
        "ok": not left_out,
        "table": name,
        "name": as_,
        "at": kept[0].released_at.isoformat(),
        "checks": [
            {"check_id": one.check_id, "rows": one.rows, "without_person": one.unnamed, "problem": one.problem}
            for one in kept
        ],
    }

    def draw(console: "Console") -> None:
        for one in kept:
            unnamed = f"; {one.unnamed:,} rows name nobody" if one.unnamed else ""
            remembered = f"{one.rows:,} rows are remembered as {as_}{unnamed}"
            console.print(f"{one.check_id}: {one.problem or remembered}")

    invocation.emit(result, draw)
    raise Stop(ExitCode.NOT_EVALUATED if left_out else ExitCode.OK)


def _ask(place: "Place", kind: str, given: dict[str, Any]) -> "CheckResult":
    from checks._catalog import load_catalog
    from monitor.clock import SystemClock

    with _limits_in_words():
        model: Any = load_catalog()[kind]
        check: Check = model(**given)
    (found,) = place.ask([check], SystemClock())
    return found


def _conclude(invocation: Invocation, found: "CheckResult", schema: str, draw: Any) -> None:
    """Show what one check found, and leave with its exit code."""
    from checks import Status

    code = _code(found.outcome)
    if found.outcome.status is Status.UNKNOWN:
        raise Stop(code, Problem("risk.unknown", str(found.outcome.message)))
    result = {"schema": schema, "ok": code is ExitCode.OK, "exit_code": int(code), "table": found.table}
    invocation.emit({**result, **_as_json(found)}, draw)
    raise Stop(code)


def _code(outcome: "Outcome") -> ExitCode:
    """Give the exit code; a question that does not fit the table is wrong usage."""
    from checks import Status, UnknownReason

    if outcome.reason is UnknownReason.MISCONFIGURED:
        return ExitCode.USAGE
    return {Status.FAIL: ExitCode.FAILED, Status.UNKNOWN: ExitCode.NOT_EVALUATED}.get(outcome.status, ExitCode.OK)


def _as_json(one: "CheckResult") -> dict[str, Any]:
    return {
        "type": one.check.type,
        "status": one.outcome.status.value,
        "message": str(one.outcome.message),
        "reason": one.outcome.reason.value if one.outcome.reason else None,
        "observed": dict(one.outcome.observed),
        "expected": dict(one.outcome.expected),
    }


@contextmanager
def _limits_in_words() -> "Iterator[None]":
    """Turn what pydantic says of a limit into a problem.

    Raises:
        Stop: a limit is out of range.
    """
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        problems = [
            Problem("risk.limit", f"{'.'.join(map(str, one['loc'])) or 'limits'}: {one['msg'].lower()}")
            for one in error.errors(include_url=False, include_input=False)
        ]
        raise Stop(ExitCode.USAGE, *problems) from None


def _names(said: str | None) -> "Sequence[str]":
    return [part.strip() for part in (said or "").split(",") if part.strip()]


def _pairs(said: str) -> dict[str, str]:
    """Read `a,b=c` as {a: a, b: c}."""
    pairs = (part.partition("=") for part in _names(said))
    return {name.strip(): (other or name).strip() for name, _, other in pairs}


def _no_quasi_identifier(name: str) -> Problem:
    return Problem(
        "risk.no_quasi_identifier",
        "no quasi-identifier is named: which columns may somebody know from elsewhere?",
        hint=f"--quasi-identifiers a,b,c; 'tablewatch risk suggest {name}' says which columns to think about",
    )
