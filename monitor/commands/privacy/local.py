"""`tablewatch privacy local`: randomise values at their source, estimate counts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import Force
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.answers.local_reports import Respondents

Epsilon = Annotated[str, typer.Option(metavar="1.0", help="Epsilon of one report, at most nine decimal places.")]
DomainWords = Annotated[
    str | None,
    typer.Option("--domain", metavar="A,B,C", help="Complete domain of values; or 1930..2009:10 for bins of ten."),
]
DomainFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Alternative: file with one value per line.")]
DomainSize = Annotated[
    int | None, typer.Option(min=2, metavar="D", help="Alternative: size of the domain, values 0 to D - 1.")
]
OracleName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="GRR, SUE, OUE, BLH, OLH, SHE, THE or HR; by default the one with the lowest variance."
    ),
]
Other = Annotated[str | None, typer.Option(metavar="VALUE", help="Value used for all values outside the domain.")]
_STDIN = "-"
_OUTPUT = "local.output"

app = typer.Typer(
    help="Local differential privacy: randomise each value at its source, estimate counts.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Local differential privacy: randomise values, estimate counts. Agree on domain, epsilon and oracle in advance."""


@app.command()
def perturb(
    ctx: typer.Context,
    epsilon: Epsilon,
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="Value, or - to read it from standard input.")
    ] = None,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Alternative: file with one person's value per line.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The .jsonl or .csv file to write.")] = None,
    domain: DomainWords = None,
    domain_file: DomainFile = None,
    domain_size: DomainSize = None,
    oracle: OracleName = None,
    other: Other = None,
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order",
            help="Write the reports in input order instead of random order, to return each person's own report. Do "
            "not share that file: in a sorted file, the position reveals the value.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Randomise one person's value, or the values of a file; publish only the reports.

    Each further report of the same value costs epsilon again: store the first report and reuse it. The
    reports of a file are in random order.

    Example: tablewatch privacy local perturb yes --domain yes,no --epsilon 1
    """
    from monitor.answers.local_reports import end_of, in_random_order, written
    from monitor.config.project import protected_files
    from monitor.terminal.output_file import ProtectedFiles, check_target, write_text

    invocation: Invocation = ctx.obj
    protected = ProtectedFiles() if out is None else protected_files(invocation).reading(values, domain_file)
    if out is not None:
        check_target(out, protected=protected, force=force, code=_OUTPUT)
    texts = _values(value, values)
    people = _people(domain, domain_file, domain_size, other)
    with _in_words():
        end = ".jsonl" if out is None else end_of(out)
        chosen = people.oracle(oracle, epsilon)
        reports = people.perturb(chosen, texts)
    if not keep_order:
        reports = in_random_order(reports)
    if out is not None:
        write_text(out, written(reports, end), protected=protected, force=force, code=_OUTPUT)
    result: dict[str, Any] = {
        "schema": "tablewatch.local-reports/1",
        "ok": True,
        "oracle": chosen.name,
        "epsilon": epsilon,
        "domain_size": people.size,
        "users": len(reports),
        "row_order": "input" if keep_order else "random",
        "not_protected": ["row-order"] if keep_order else [],
        **({"reports": reports} if out is None else {"output": str(out)}),
    }
    if out is None:
        invocation.emit(result, lambda console: console.print(written(reports, end), end=""))
    else:
        text = f"{len(reports):,} reports by {chosen.name} at epsilon {epsilon}: {out}"
        text += "\nNot protected: the order of the reports, which is the input order" if keep_order else ""
        invocation.emit(result, lambda console: console.print(text))


@app.command()
def estimate(
    ctx: typer.Context,
    reports: Annotated[str, typer.Argument(metavar="REPORTS", help="A .jsonl or .csv file; - reads JSON lines.")],
    epsilon: Epsilon,
    domain: DomainWords = None,
    domain_file: DomainFile = None,
    domain_size: DomainSize = None,
    oracle: OracleName = None,
    value: Annotated[list[str] | None, typer.Option(metavar="A", help="Estimate only this value. Repeatable.")] = None,
) -> None:
    """Estimate from all reports how many people have each value, with standard errors.

    Estimates are unbiased and not clipped: those of rare values can be negative.

    Example: tablewatch privacy local estimate reports.jsonl --domain yes,no --epsilon 1
    """
    from monitor.answers.local_reports import end_of, read_reports
    from monitor.reporting.terminal_views.randomisation import draw_estimates

    invocation: Invocation = ctx.obj
    people = _people(domain, domain_file, domain_size, None)
    with _in_words():
        chosen = people.oracle(oracle, epsilon)
        end = ".jsonl" if reports == _STDIN else end_of(Path(reports))
        read = read_reports(_text(reports), end, people, chosen)
        codes = range(people.size) if value is None else people.codes(value).tolist()
        estimates = chosen.estimate(read, values=None if value is None else codes)
    rows = [
        {"value": people.label(code), "count": float(count), "standard_error": float(variance) ** 0.5}
        for code, count, variance in zip(codes, estimates.counts, estimates.variances, strict=True)
    ]
    result = {
        "schema": "tablewatch.local-estimates/1",
        "ok": True,
        "oracle": chosen.name,
        "epsilon": epsilon,
        "domain_size": people.size,
        "users": estimates.users,
        "estimates": rows,
    }
    invocation.emit(result, lambda console: draw_estimates(console, chosen, epsilon, rows, estimates.users))


@app.command()
def choose(
    ctx: typer.Context,
    epsilon: Epsilon,
    domain: DomainWords = None,
    domain_file: DomainFile = None,
    domain_size: DomainSize = None,
    users: Annotated[int, typer.Option(min=1, help="Number of respondents.")] = 10_000,
) -> None:
    """Compare frequency oracles: variance and report size for a domain size.

    Example: tablewatch privacy local choose --domain-size 14 --epsilon 1
    """
    from monitor.answers.local_reports import compared
    from monitor.reporting.terminal_views.randomisation import draw_choice

    invocation: Invocation = ctx.obj
    people = _people(domain, domain_file, domain_size, None)
    with _in_words():
        chosen = people.oracle(None, epsilon)
        rows = compared(people, epsilon, users)
    result = {
        "schema": "tablewatch.local-choice/1",
        "ok": True,
        "epsilon": epsilon,
        "domain_size": people.size,
        "users": users,
        "chosen": chosen.name,
        "oracles": rows,
    }
    invocation.emit(result, lambda console: draw_choice(console, chosen, rows, people.size, users))


def _people(words: str | None, file: Path | None, size: int | None, other: str | None) -> "Respondents":
    """Read what a person can have.

    Raises:
        Stop: it is not declared, in several ways, or makes no sense.
    """
    from monitor.answers.local_reports import Respondents
    from monitor.releases.treatment.declared_domains import declared_words, reason

    if sum(name is not None for name in (words, file, size)) != 1:
        message = "declare the domain once: --domain A,B,C, --domain-file FILE or --domain-size D"
        raise Stop(ExitCode.USAGE, Problem("local.domain", message))
    if size is not None:
        if other is not None:
            raise Stop(ExitCode.USAGE, Problem("local.domain", "--other goes with --domain or --domain-file"))
        return Respondents(size)
    try:
        declared = _listed(str(file)) if words is None else declared_words(words)
        return Respondents.of(declared, other)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("local.domain", reason(error))) from None


def _values(value: str | None, file: Path | None) -> list[str]:
    if (value is None) == (file is None):
        raise Stop(ExitCode.USAGE, Problem("local.values", "give one VALUE, or a file with --values"))
    if value is not None:
        return [sys.stdin.readline().rstrip("\r\n") if value == _STDIN else value]
    return _listed(str(file))


def _listed(place: str) -> list[str]:
    text = _text(place)
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _text(place: str) -> str:
    """Read a file, or standard input.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.terminal.input_bounds import read_text
    from monitor.terminal.problem import not_read

    try:
        return sys.stdin.read() if place == _STDIN else read_text(Path(place))
    except OSError as error:
        raise Stop(ExitCode.USAGE, not_read("local.not_read", Path(place), error)) from None
    except UnicodeDecodeError:
        raise Stop(ExitCode.USAGE, Problem("local.not_read", f"{place} is not UTF-8")) from None


@contextmanager
def _in_words() -> Iterator[None]:
    """Return in words what does not fit.

    Raises:
        Stop: something does not.
    """
    from remedies import Misfit

    try:
        yield
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("local.misfit", str(error))) from None
