"""Columns that are to be left out of an output: said by name, or all that are classified as direct identifiers."""

from collections.abc import Collection, Sequence
from typing import Annotated, Final

import typer

from monitor.commands._risk_verdict import names_in
from monitor.frame.problem import ExitCode, Problem, Stop

Drop = Annotated[str | None, typer.Option("--drop", metavar="A,B,...", help="Leave these columns out of OUT.")]
DropIdentifiers = Annotated[
    bool, typer.Option("--drop-identifiers", help="Leave out all that are classified as direct identifiers.")
]

_NONE: Final = Problem(
    "remedy.drop", "no column of the table is classified as a direct identifier", hint="name them: --drop A,B"
)


def dropped(
    said: str | None, *, identifiers: bool, named: Sequence[str], there: Sequence[str], needed: Collection[str]
) -> tuple[str, ...]:
    """Give the columns that are to be left out, in the order of the table.

    Args:
        said: names with commas in between.
        identifiers: whether direct identifiers are to be left out too.
        named: the direct identifiers of the table.
        there: all of its columns.
        needed: those that are treated, or have a limit.

    Raises:
        Stop: a column is not there or is needed, or there is no direct identifier.
    """
    from checks import did_you_mean

    wanted = {*names_in(said), *(named if identifiers else ())}
    if identifiers and not named:
        raise Stop(ExitCode.USAGE, _NONE)
    problems = [
        Problem("remedy.drop", f"--drop: column '{name}' not found{did_you_mean(name, there)}")
        for name in sorted(wanted - set(there))
    ]
    problems += [
        Problem("remedy.drop", f"--drop: column '{name}' is treated or has a limit; name it in one place")
        for name in sorted(wanted & set(needed))
    ]
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    return tuple(name for name in there if name in wanted)
