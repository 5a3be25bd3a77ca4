"""`tablewatch privacy risk`: assess the re-identification risk of a table."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.core

from monitor.commands._options import limits_in_words, names_in, number_in, pairs_in, who
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from checks import Check, Outcome
    from monitor.releases.disclosure.assessment import RiskAssessment
    from monitor.releases.disclosure.table_ref import TableRef
    from monitor.scan.results import CheckResult


class _TableByDefault(typer.core.TyperGroup):
    """Takes what is no command of the group for a table: `risk people.csv` is `risk table people.csv`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["table", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_TableByDefault,
    help="Assess the re-identification risk of a table or file.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)

Name = Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="A configured table, or a CSV or Parquet file.")]
Columns = Annotated[str | None, typer.Option("--quasi-identifiers", "-q", metavar="A,B,...", help="Quasi-identifiers.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", "-s", metavar="A,B,...", help="Sensitive columns.")]
Diversity = Annotated[
    float | None, typer.Option("--l", help="Minimum distinct sensitive values per equivalence class; by default 2.")
]
Distance = Annotated[
    float | None, typer.Option("--t", help="Maximum distance between the sensitive values of a class and of the table.")
]
SamplingFraction = Annotated[
    float | None, typer.Option(help="Sampling fraction of the population: estimates population uniqueness.")
]
Weight = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Sampling weights: adds individual risks, instead of the fraction.")
]
GroupKey = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Households: adds the risk where one member names the others.")
]
PopulationUnique = Annotated[float | None, typer.Option(help="Maximum share of population uniques.")]
Population = Annotated[
    str | None,
    typer.Option(metavar="TABLE_OR_FILE", help="Population table: adds journalist risk and delta-presence."),
]
PopulationColumns = Annotated[
    str | None, typer.Option(metavar="A=B,...", help="Quasi-identifiers with a different name in --population.")
]
Presence = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Maximum presence probability of a person of --population; by default 1, no limit."
    ),
]
_NO_POPULATION: Final = Problem("risk.no_population", "--population-columns and --max-presence need --population")
_NO_SENSITIVE: Final = Problem(
    "risk.no_sensitive",
    "--l and --t need a sensitive column",
    hint="--sensitive a,b,c; or classify the table's columns",
)
_NO_FRACTION: Final = Problem(
    "risk.no_sampling_fraction",
    "--max-population-unique needs either --sampling-fraction or --weight",
    hint="--sampling-fraction 0.01, if the table is a hundredth of the population",
)
_NOTHING_SHARED: Final = Problem("risk.nothing_shared", "no shared column is named", hint="--on a,b=c")


@app.callback()
def _group() -> None:
    """Assess the re-identification risk of a table or file. Results are not stored.

    `risk TABLE` is `risk table TABLE`.
    """


@app.command()
def table(
    ctx: typer.Context,
    name: Name,
    quasi_identifiers: Columns = None,
    sensitive: Sensitive = None,
    k: Annotated[int, typer.Option("--k", help="Minimum equivalence class size.")] = 5,
    l: Diversity = None,
    t: Distance = None,
    sampling_fraction: SamplingFraction = None,
    max_population_unique: PopulationUnique = None,
    weight: Weight = None,
    group_key: GroupKey = None,
    population: Population = None,
    population_columns: PopulationColumns = None,
    max_presence: Presence = None,
) -> None:
    """Assess a table or a file: k-anonymity, l-diversity, t-closeness, population uniqueness, delta-presence.

    Exits with 1 if a limit is broken, with 3 if something could not be evaluated.

    Example: tablewatch privacy risk people.csv --quasi-identifiers birth_year,postcode,sex --sensitive diagnosis --k 5
    """
    from checks import ColumnClass
    from monitor.clock import SystemClock
    from monitor.releases.disclosure.assessment import RiskRequest, assess_risk, columns_meant
    from monitor.releases.disclosure.table_ref import table_beside
    from sources import require_extra

    invocation: Invocation = ctx.obj
    if population is None and (population_columns is not None or max_presence is not None):
        raise Stop(ExitCode.USAGE, _NO_POPULATION)
    if (sampling_fraction is None) is (weight is None) and (max_population_unique is not None or weight is not None):
        raise Stop(ExitCode.USAGE, _NO_FRACTION)
    if sampling_fraction is not None or max_population_unique is not None:
        require_extra("scipy")
    with table_beside(name, population, invocation) as table_ref, limits_in_words():
        hidden = columns_meant(table_ref, names_in(sensitive), ColumnClass.SENSITIVE)
        if not hidden and (l is not None or t is not None):
            raise Stop(ExitCode.USAGE, _NO_SENSITIVE)
        question = RiskRequest(
            quasi_identifiers=_quasi_identifiers(table_ref, name, quasi_identifiers),
            sensitive=hidden,
            k=k,
            l=2 if l is None else l,
            t=t,
            sampling_fraction=sampling_fraction,
            max_population_unique_fraction=max_population_unique,
            weight=weight,
            group_key=group_key,
            population=population,
            population_columns=pairs_in(population_columns),
            max_presence=max_presence,
        )
        with activity(f"assessing {table_ref.name}"):
            risk_assessment = assess_risk(table_ref, question, SystemClock())
    _conclude_assessment(invocation, risk_assessment)


@app.command()
def subsets(
    ctx: typer.Context,
    name: Name,
    quasi_identifiers: Columns = None,
    known: Annotated[int, typer.Option(min=1, max=5, help="Maximum number of columns an attacker knows.")] = 3,
    max_unique: Annotated[float, typer.Option(help="Maximum share of records that a column set may identify.")] = 1.0,
) -> None:
    """Show how many records are identified by small sets of columns.

    Exits with 1 if a set identifies more than --max-unique.

    Example: tablewatch privacy risk subsets people.csv --quasi-identifiers birth_year,postcode,sex --known 2
    """
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.reporting.terminal_views.risk import draw_sets

    invocation: Invocation = ctx.obj
    table_ref = table_ref_of(name, invocation)
    quasi = _quasi_identifiers(table_ref, name, quasi_identifiers)
    given = {"quasi_identifiers": quasi, "known": known, "max_unique_fraction": max_unique}
    result = _ask(table_ref, "reidentification_by_subset", given)
    _conclude(invocation, result, "tablewatch.risk-subsets/1", draw_sets)


@app.command()
def linkage(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE_OR_FILE", help="Table or file to be released.")],
    auxiliary: Annotated[str, typer.Argument(metavar="AUXILIARY", help="Auxiliary table or file of an attacker.")],
    on: Annotated[str, typer.Option(metavar="A,B=C,...", help="Shared columns; B=C where the names differ.")],
    tolerance: Annotated[
        str | None, typer.Option(metavar="A=3,B=2d,...", help="Matching tolerance of numbers and times.")
    ] = None,
    max_unique: Annotated[float, typer.Option(help="Maximum share of records that match uniquely.")] = 0.0,
) -> None:
    """Show how many records match exactly one record of another table.

    Exits with 1 if more than --max-unique do.

    Example: tablewatch privacy risk linkage hospital.csv voters.csv --on birth_date,postcode,sex
    """
    from monitor.releases.disclosure.table_ref import table_beside
    from monitor.reporting.terminal_views.risk import draw_linkage

    invocation: Invocation = ctx.obj
    shared = pairs_in(on)
    if not shared:
        raise Stop(ExitCode.USAGE, _NOTHING_SHARED)
    with table_beside(name, auxiliary, invocation) as table_ref:
        given: dict[str, Any] = {"auxiliary": auxiliary, "on": shared, "max_unique_fraction": max_unique}
        if tolerance is not None:
            given["tolerance"] = {name: number_in(far) for name, far in pairs_in(tolerance).items()}
        result = _ask(table_ref, "linkage", given)
    _conclude(invocation, result, "tablewatch.risk-linkage/1", draw_linkage)


@app.command()
def suggest(
    ctx: typer.Context,
    name: Name,
    hierarchies: Annotated[
        bool, typer.Option("--hierarchies", help="Propose hierarchies, a release to paste.")
    ] = False,
) -> None:
    """Suggest what each column says of people, by its values, how well they distinguish records, and its name.

    At most 2,000 values of a column are read, and none is shown or kept.

    Example: tablewatch privacy risk suggest people.csv
    """
    from checks import Status
    from monitor.clock import SystemClock
    from monitor.releases.disclosure.column_suggestions import ColumnProfile
    from monitor.releases.disclosure.hierarchy_proposals import release_to_paste
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.reporting.terminal_views.risk import draw_columns
    from monitor.terminal.redaction import visible

    invocation: Invocation = ctx.obj
    table_ref = table_ref_of(name, invocation)
    with activity(f"counting the values of {table_ref.name}"):
        (profiled,) = table_ref.ask([ColumnProfile()], SystemClock())
    if profiled.outcome.status is Status.UNKNOWN:
        raise Stop(_code(profiled.outcome), Problem("risk.unknown", str(profiled.outcome.message)))
    columns: Any = profiled.outcome.observed["columns"]
    result = {"schema": "tablewatch.risk-suggest/1", "ok": True, "table": table_ref.name, "columns": columns}
    block = None
    if hierarchies:
        proposals, block = release_to_paste(table_ref, columns)
        result |= {"hierarchies": proposals, "release": block}

    def draw(console: "Console") -> None:
        draw_columns(console, table_ref.name, columns)
        if block is not None:
            console.print()
            console.print(visible(block, keep="\n"), soft_wrap=True, markup=False, highlight=False)

    invocation.emit(result, draw)


@app.command()
def remember(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TABLE", help="A configured table with a check of type re_release.")],
    as_: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="Name of the release."),
    ],
) -> None:
    """Record a table as published, as keyed hashes only, to compare later states with it.

    Exits with 3 if a check could not record it.

    Example: tablewatch privacy risk remember crm.customers --as spring-extract
    """
    from monitor.config.project import Project
    from monitor.releases.remember import ReleaseNotStored, remember_release
    from monitor.triage.create import unknown_table
    from monitor.triage.errors import explained

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    if (problem := unknown_table(name, project.config)) is not None:
        raise Stop(ExitCode.NOTHING_SELECTED, problem)
    with project.open_store() as store, explained():
        try:
            with activity(f"reading {name}"):
                releases = remember_release(project, store, table=name, name=as_, actor=who(None))
        except ReleaseNotStored as error:
            raise Stop(ExitCode.USAGE, Problem("risk.not_remembered", str(error))) from None
    left_out = any(item.problem is not None for item in releases)
    result = {
        "schema": "tablewatch.risk-remember/1",
        "ok": not left_out,
        "table": name,
        "name": as_,
        "at": releases[0].released_at.isoformat(),
        "checks": [
            {"check_id": item.check_id, "rows": item.rows, "without_person": item.unnamed, "problem": item.problem}
            for item in releases
        ],
    }

    def draw(console: "Console") -> None:
        for item in releases:
            rows = "1 row has" if item.unnamed == 1 else f"{item.unnamed:,} rows have"
            unnamed = f"; {rows} no person key" if item.unnamed else ""
            remembered = f"{item.rows:,} rows are recorded as {as_}{unnamed}"
            console.print(f"{item.check_id}: {item.problem or remembered}")

    invocation.emit(result, draw)
    raise Stop(ExitCode.NOT_EVALUATED if left_out else ExitCode.OK)


def _quasi_identifiers(table_ref: "TableRef", name: str, text: str | None) -> tuple[str, ...]:
    """Return the quasi-identifiers that were named, else those that the configuration classifies so.

    Raises:
        Stop: there is none.
    """
    from checks import ColumnClass
    from monitor.releases.disclosure.assessment import columns_meant

    names = columns_meant(table_ref, names_in(text), ColumnClass.QUASI_IDENTIFIER)
    if not names:
        raise Stop(
            ExitCode.USAGE,
            Problem(
                "risk.no_quasi_identifier",
                "no quasi-identifiers are named",
                hint=f"--quasi-identifiers a,b,c; 'tablewatch privacy risk suggest {name}' suggests columns",
            ),
        )
    return names


def _ask(table_ref: "TableRef", kind: str, given: dict[str, Any]) -> "CheckResult":
    """Ask a table one check.

    Raises:
        Stop: a limit is out of range.
    """
    from checks import load_catalog
    from monitor.clock import SystemClock

    with limits_in_words():
        model: Any = load_catalog()[kind]
        check: Check = model(**given)
    with activity(f"assessing {table_ref.name}"):
        (result,) = table_ref.ask([check], SystemClock())
    return result


def _conclude(
    invocation: Invocation, check_result: "CheckResult", schema: str, draw: "Callable[[Console, CheckResult], None]"
) -> None:
    """Show what one check found, and leave with its exit code."""
    from checks import Status

    code = _code(check_result.outcome)
    if check_result.outcome.status is Status.UNKNOWN:
        message = str(check_result.outcome.message)
        hint = _columns_hint(check_result.table, message) if _could_not_be_asked(check_result) else None
        raise Stop(code, Problem("risk.unknown", message, hint=hint))
    result = {"schema": schema, "ok": code is ExitCode.OK, "exit_code": int(code), "table": check_result.table}
    invocation.emit({**result, **_as_json(check_result)}, lambda console: draw(console, check_result))
    raise Stop(code)


def _conclude_assessment(invocation: Invocation, risk_assessment: "RiskAssessment") -> None:
    """Show what several checks found, and leave with the exit code of the worst."""
    from monitor.reporting.terminal_views.risk import draw_assessment

    code = _code(risk_assessment.results[0].outcome)
    unfit = dict.fromkeys(
        str(result.outcome.message) for result in risk_assessment.results if _could_not_be_asked(result)
    )
    if not unfit and code is ExitCode.USAGE:
        unfit = {str(risk_assessment.results[0].outcome.message): None}
    if unfit:
        name = risk_assessment.name
        problems = [Problem("risk.misconfigured", item, hint=_columns_hint(name, item)) for item in unfit]
        raise Stop(ExitCode.USAGE, *problems)
    result = {
        "schema": "tablewatch.risk/1",
        "ok": code is ExitCode.OK,
        "exit_code": int(code),
        "table": risk_assessment.name,
        "quasi_identifiers": list(risk_assessment.question.quasi_identifiers),
        "sensitive": list(risk_assessment.question.sensitive),
        "verdict": risk_assessment.status.value,
        "results": [_as_json(result) for result in risk_assessment.results],
        "special_uniques": risk_assessment.special_as_json(),
    }
    invocation.emit(result, lambda console: draw_assessment(console, risk_assessment))
    raise Stop(code)


def _could_not_be_asked(result: "CheckResult") -> bool:
    """Check whether a question did not fit the table, so that nothing was measured: a column that it does not have."""
    from checks import UnknownReason

    return result.outcome.reason is UnknownReason.MISCONFIGURED and not result.outcome.observed


def _columns_hint(name: str, message: str) -> str | None:
    """Return where the columns of a table are listed, if that is what a problem is about: not of a broken file."""
    return f"'tablewatch privacy risk suggest {name}' lists the columns of the table" if "column" in message else None


def _code(outcome: "Outcome") -> ExitCode:
    """Return the exit code; a question that does not fit the table is wrong usage."""
    from checks import Status, UnknownReason

    if outcome.reason is UnknownReason.MISCONFIGURED:
        return ExitCode.USAGE
    return {Status.FAIL: ExitCode.FAILED, Status.UNKNOWN: ExitCode.NOT_EVALUATED}.get(outcome.status, ExitCode.OK)


def _as_json(check_result: "CheckResult") -> dict[str, Any]:
    return {
        "type": check_result.check.type,
        "status": check_result.outcome.status.value,
        "message": str(check_result.outcome.message),
        "reason": check_result.outcome.reason.value if check_result.outcome.reason else None,
        "observed": dict(check_result.outcome.observed),
        "expected": dict(check_result.outcome.expected),
    }
