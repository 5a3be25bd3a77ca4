"""Read what a person says of a table that is to be generalised, and look whether it fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from monitor.commands._options import with_progress
from monitor.commands._remedy_options import columns_of, dropped, limits_said, release_of
from monitor.commands._risk_verdict import limits_in_words, names_in
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.config import Release
    from monitor.releases.disclosure.table_ref import TableRef
    from monitor.releases.treatment.generalise_table import RecodingRequest

Folder = Annotated[
    Path | None,
    typer.Option(
        "--hierarchies",
        metavar="FOLDER",
        help="Folder of hierarchies: age.csv in ARX format, or age.yaml.",
    ),
]
Inline = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="A=5,10,20",
        help="Interval widths; or A=month,year, A=mask:1,2 (last characters hidden), A=flat, A=FILE. Repeatable.",
    ),
]
Suppress = Annotated[str, typer.Option(metavar="2%", help="Maximum share of records that may be suppressed.")]
By = Annotated[
    str | None,
    typer.Option(metavar="MEASURE", help="loss, precision, steps, discernibility, class-size, entropy or kl."),
]
Budget = Annotated[
    str | None, typer.Option(metavar="30s", help="Time limit of the search; returns the best result so far.")
]

_NO_COLUMNS: Final = Problem("remedy.no_columns", "no column is named: name the quasi-identifiers", hint="-q a,b,c")


@dataclass(frozen=True, slots=True)
class GeneralisationOptions:
    """What was said of a table: its columns, what may become of them, and the limits."""

    given: str
    columns: str | None
    release: str | None
    k: int | None
    diversity: Sequence[str] | None
    closeness: Sequence[str] | None
    folder: Path | None = None
    inline: Sequence[str] = ()
    drop: str | None = None
    drop_identifiers: bool = False


@dataclass(frozen=True, slots=True)
class GeneralisationRequest:
    """A table, and what is to be alike in it.

    `columns`: the quasi-identifiers that are treated. `every`: those, and all others that are classified so: what the
    output is grouped by. `there`: all columns. `named`: direct identifiers among those that leave. `limits`: as a
    remedy has them. `drop`: columns that do not leave.
    """

    place: "TableRef"
    release: "Release | None"
    columns: tuple[str, ...]
    every: tuple[str, ...]
    there: Sequence[str]
    named: Sequence[str]
    limits: Mapping[str, Any]
    drop: tuple[str, ...]


def parse_request(generalisation_options: GeneralisationOptions, invocation: Invocation) -> GeneralisationRequest:
    """Find the table, its release and its columns.

    Raises:
        Stop: there is no such table, release or column, no column is named, or one that is needed shall be left out;
            or the table cannot be read.
    """
    from checks import did_you_mean
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.table_reader import columns_in

    place = table_ref_of(generalisation_options.given, invocation)
    release = release_of(place, generalisation_options.release, invocation)
    known = columns_of(place, release, "quasi-identifier")
    columns = tuple(names_in(generalisation_options.columns)) or known
    if not columns:
        raise Stop(ExitCode.USAGE, _NO_COLUMNS)
    there = columns_in(place)
    for name in columns:
        if name not in there:
            message = f"column '{name}' not found{did_you_mean(name, there)}"
            raise Stop(ExitCode.USAGE, Problem("remedy.misfit", message))
    names = [name for name in columns_of(place, release, "direct-identifier") if name in there]
    limits = limits_said(
        place,
        release,
        k=generalisation_options.k,
        diversity=generalisation_options.diversity,
        closeness=generalisation_options.closeness,
    )
    needed = {*columns, *limits["l"], *limits["t"]}
    drop = dropped(
        generalisation_options.drop,
        identifiers=generalisation_options.drop_identifiers,
        names=names,
        there=there,
        needed=needed,
    )
    return GeneralisationRequest(
        place=place,
        release=release,
        columns=columns,
        every=tuple(name for name in dict.fromkeys((*columns, *known)) if name not in drop),
        there=there,
        named=[name for name in names if name not in drop],
        limits=limits,
        drop=drop,
    )


def ask(
    generalisation_options: GeneralisationOptions, words: Mapping[str, Any], invocation: Invocation
) -> "tuple[RecodingRequest, GeneralisationRequest]":
    """Find the table and the hierarchies, and count the combinations. `words`: what else the remedy takes.

    Raises:
        Stop: something does not fit, or the table cannot be read; of hierarchies every fault is told.
    """
    from monitor.releases.treatment.declared_hierarchies import check_hierarchies, hierarchies_for
    from monitor.releases.treatment.generalise_table import RecodingRequest
    from remedies.generalise import Generalise

    generalisation_request = parse_request(generalisation_options, invocation)
    declared = hierarchies_for(
        generalisation_request.columns,
        inline=generalisation_options.inline,
        folder=generalisation_options.folder,
        declared={} if generalisation_request.release is None else generalisation_request.release.hierarchies,
        others=generalisation_request.there,
    )
    given = {name: value for name, value in words.items() if value is not None}
    with limits_in_words(""):
        remedy = Generalise.model_validate(
            {
                "columns": generalisation_request.columns,
                "hierarchies": declared,
                **generalisation_request.limits,
                **given,
            }
        )
    question = RecodingRequest.of(generalisation_request.place, remedy, generalisation_request.every)
    with_progress(remedy.name, lambda _: question.check_size())
    with_progress(remedy.name, lambda _: check_hierarchies(remedy, question.counts))
    return question, generalisation_request
