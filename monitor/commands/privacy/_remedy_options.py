"""What the commands of `tablewatch privacy remedy` share: options, and what is read from them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from monitor.commands._options import limits_in_words, names_in, number_in, with_progress
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from monitor.config import Release
    from monitor.releases.disclosure.table_ref import TableRef
    from monitor.releases.treatment.generalise_table import RecodingRequest
    from remedies import RowOrder, UtilityReport


Part = TypeVar("Part")
HIERARCHY_FILES: Final = (".csv", ".yaml", ".yml")

Given = Annotated[str, typer.Argument(metavar="IN", help="A configured table, or a CSV or Parquet file.")]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The .csv or .parquet file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Write the rows in the order of IN instead of random order. With that order, an attacker can identify "
        "records by position: the report lists this as not protected.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--quasi-identifiers",
        "-q",
        metavar="A,B,...",
        help="Quasi-identifiers; by default the columns classified so.",
    ),
]
K = Annotated[int | None, typer.Option("--k", help="Minimum equivalence class size; by default the release's, or 5.")]
Diversity = Annotated[
    list[str] | None,
    typer.Option(
        "--l",
        metavar="A=2",
        help="Minimum distinct sensitive values per class; A=2.5:entropy, A=3:recursive:2 (l, c). Repeatable.",
    ),
]
Closeness = Annotated[
    list[str] | None,
    typer.Option(
        "--t",
        metavar="A=0.2",
        help="Maximum distance of a class's sensitive values from the input's; A=0.2:ordered for numbers, "
        "A=0.2:a.csv by a hierarchy. Repeatable.",
    ),
]
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
Drop = Annotated[str | None, typer.Option("--drop", metavar="A,B,...", help="Drop these columns from OUT.")]
DropIdentifiers = Annotated[
    bool, typer.Option("--drop-identifiers", help="Drop all columns classified as direct identifiers.")
]
ReleaseName = Annotated[
    str | None,
    typer.Option("--release", metavar="NAME", help="Use the columns, hierarchies and limits of this release."),
]
HidingKey = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Secret file of 16 bytes or more. Under the same key each run hides the same classes; without one, two "
        "outputs together reveal which classes were suppressed for their sensitive values.",
    ),
]

_NO_COLUMNS: Final = Problem("remedy.no_columns", "no column is named: name the quasi-identifiers", hint="-q a,b,c")
_NO_IDENTIFIER: Final = Problem(
    "remedy.drop", "no column of the table is classified as a direct identifier", hint="name them: --drop A,B"
)


def row_order(*, kept: bool) -> "RowOrder":
    """Return the order in which rows are written."""
    from remedies import RowOrder

    return RowOrder.INPUT if kept else RowOrder.RANDOM


def result_of(
    text: str, out: Path, bill: "UtilityReport", *, names: Sequence[str], dropped: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the result of a recoding as JSON.

    `names`: direct identifiers that are still in it; `dropped`: columns that are not.
    """
    return {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": text,
        "output": str(out),
        "quasi_identifiers": list(bill.guarantee.columns),
        "direct_identifiers": list(names),
        "dropped": list(dropped),
        "seconds": bill.figures["seconds"],
        "k": bill.guarantee.reached["k"],
        "records": bill.rows - bill.rows_suppressed,
        "records_suppressed": bill.rows_suppressed,
        "bill": bill.as_json(),
    }


def with_uniqueness(
    result: dict[str, Any], out: Path, treated: Sequence[str], invocation: Invocation
) -> dict[str, Any]:
    """Return the result of a remedy with the uniqueness of records by the columns that it did not treat.

    `out` is read once more, by DuckDB; a person also gets it as warnings.
    """
    from monitor.releases.disclosure.uniqueness import find_uniqueness
    from monitor.releases.treatment.table_reader import columns_in
    from monitor.releases.treatment.verify import WrittenFile
    from monitor.terminal.redaction import visible

    place = WrittenFile().place(out)
    uniqueness = find_uniqueness(place, [name for name in columns_in(place) if name not in treated], treated)
    if not invocation.as_json:
        for text in uniqueness.warnings():
            invocation.note(f"warning: {visible(text)}")
    return {**result, "uniqueness": uniqueness.as_json()}


def release_of(place: "TableRef", name: str | None, invocation: Invocation) -> "Release | None":
    """Return the release that is named, else the only one of the table, if there is one.

    Raises:
        Stop: there is none of that name, or it is of another table.
    """
    from monitor.releases.disclosure.table_ref import project_of

    project = project_of(invocation)
    releases: Mapping[str, Release] = {} if project is None else project.config.releases
    of_table = {key: release for key, release in releases.items() if release.table == place.name}
    if name is None:
        return next(iter(of_table.values())) if len(of_table) == 1 else None
    if name not in of_table:
        if name not in releases:
            raise Stop(ExitCode.USAGE, unknown_name("release", name, releases, code="remedy.no_release"))
        text = f"release '{name}' is of table '{releases[name].table}', not of '{place.name}'"
        raise Stop(ExitCode.USAGE, Problem("remedy.no_release", text))
    return of_table[name]


def columns_of(place: "TableRef", release: "Release | None", word: str) -> tuple[str, ...]:
    """Return the columns that the release, else the table's configuration, classifies so."""
    from checks import ColumnClass

    kind = ColumnClass(word)
    if release is not None and release.columns:
        return tuple(column for column, result in release.columns.items() if result is kind)
    return place.classified(kind)


def read_limits(
    place: "TableRef",
    release: "Release | None",
    *,
    k: int | None,
    diversity: Iterable[str] | None,
    closeness: Iterable[str] | None,
) -> dict[str, Any]:
    """Return the limits as a remedy takes them: those of the options, else those of the release."""
    limits = None if release is None else release.limits
    secrets = columns_of(place, release, "sensitive") if limits is not None else ()
    default_l = {name: limits.l for name in secrets if limits is not None and limits.l is not None}
    default_t = {name: limits.t for name in secrets if limits is not None and limits.t is not None}
    return {
        "k": k if k is not None else (limits.least_k if limits is not None else None) or 5,
        "l": default_l
        if diversity is None
        else each_once(_limit(item, ("l", "kind", "c")) for item in _each(diversity)),
        "t": default_t if closeness is None else each_once(map(_closeness, _each(closeness))),
    }


def each_once(parts: "Iterable[tuple[str, Part]]") -> dict[str, Part]:
    """Return a mapping of columns.

    Raises:
        Stop: a column is named twice.
    """
    columns: dict[str, Part] = {}
    for name, item in parts:
        if name in columns:
            raise Stop(ExitCode.USAGE, Problem("remedy.limit", f"'{name}' is named twice; expected each column once"))
        columns[name] = item
    return columns


def _each(parts: Iterable[str]) -> Sequence[str]:
    return [name for words in parts for name in names_in(words)]


def _closeness(text: str) -> tuple[str, Mapping[str, Any]]:
    """Read `a=0.2`, `a=0.2:ordered` or `a=0.2:a.csv` as a limit on column a."""
    from monitor.releases.treatment.declared_hierarchies import hierarchy_in

    limit, _, distance = text.partition(":")
    if not distance.strip().endswith(HIERARCHY_FILES):
        return _limit(text, ("t", "distance"))
    name, words = _limit(limit, ("t",))
    return name, {**words, "hierarchy": hierarchy_in(distance.strip())}


def _limit(text: str, words: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """Read `a=3:recursive:2` as a limit on column a."""
    name, _, limit = text.partition("=")
    parts = [part.strip() for part in limit.split(":")]
    if not limit or len(parts) > len(words):
        message = f"'{text}' is not a column limit; expected a column, '=' and a number"
        raise Stop(ExitCode.USAGE, Problem("remedy.limit", message))
    return name.strip(), {word: number_in(part) for word, part in zip(words, parts, strict=False)}


def drop_columns(
    place: "TableRef",
    text: str | None,
    *,
    identifiers: bool,
    there: Sequence[str],
    needed: Collection[str],
    release: "Release | None" = None,
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that are to be left out, in the order of the table, and the direct identifiers that stay.

    Args:
        place: the table.
        text: names with commas in between.
        identifiers: whether direct identifiers are to be left out too.
        there: all columns of the table.
        needed: those that are treated, or have a limit.
        release: whose classification of columns counts before that of the table.

    Raises:
        Stop: a column is not there or is needed, or there is no direct identifier.
    """
    from checks import did_you_mean

    names = [name for name in columns_of(place, release, "direct-identifier") if name in there]
    if identifiers and not names:
        raise Stop(ExitCode.USAGE, _NO_IDENTIFIER)
    dropped = {*names_in(text), *(names if identifiers else ())}
    problems = [
        Problem("remedy.drop", f"--drop: column '{name}' not found{did_you_mean(name, there)}")
        for name in sorted(dropped - set(there))
    ]
    problems += [
        Problem("remedy.drop", f"--drop: column '{name}' is treated or has a limit; name it only once")
        for name in sorted(dropped & set(needed))
    ]
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    return tuple(name for name in there if name in dropped), [name for name in names if name not in dropped]


@dataclass(frozen=True, slots=True)
class GeneralisationOptions:
    """The options of a command that generalises or suppresses, as they were given."""

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
    """A table, and the columns and limits of its treatment.

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


def parse_request(options: GeneralisationOptions, invocation: Invocation) -> GeneralisationRequest:
    """Find the table, its release and its columns.

    Raises:
        Stop: there is no such table, release or column, no column is named, or one that is needed shall be left out;
            or the table cannot be read.
    """
    from checks import did_you_mean
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.table_reader import columns_in

    place = table_ref_of(options.given, invocation)
    release = release_of(place, options.release, invocation)
    classified = columns_of(place, release, "quasi-identifier")
    columns = tuple(names_in(options.columns)) or classified
    if not columns:
        raise Stop(ExitCode.USAGE, _NO_COLUMNS)
    there = columns_in(place)
    for name in columns:
        if name not in there:
            message = f"column '{name}' not found{did_you_mean(name, there)}"
            raise Stop(ExitCode.USAGE, Problem("remedy.misfit", message))
    limits = read_limits(place, release, k=options.k, diversity=options.diversity, closeness=options.closeness)
    needed = {*columns, *limits["l"], *limits["t"]}
    drop, identifiers = drop_columns(
        place, options.drop, identifiers=options.drop_identifiers, there=there, needed=needed, release=release
    )
    return GeneralisationRequest(
        place=place,
        release=release,
        columns=columns,
        every=tuple(name for name in dict.fromkeys((*columns, *classified)) if name not in drop),
        there=there,
        named=identifiers,
        limits=limits,
        drop=drop,
    )


def ask(
    options: GeneralisationOptions, settings: Mapping[str, Any], invocation: Invocation
) -> "tuple[RecodingRequest, GeneralisationRequest]":
    """Find the table and the hierarchies, and count the combinations. `settings`: further parameters of the remedy.

    Raises:
        Stop: something does not fit, or the table cannot be read; every fault of the hierarchies is listed.
    """
    from monitor.releases.treatment.declared_hierarchies import check_hierarchies, hierarchies_for
    from monitor.releases.treatment.generalise_table import RecodingRequest
    from remedies.generalise import Generalise

    request = parse_request(options, invocation)
    declared = hierarchies_for(
        request.columns,
        inline=options.inline,
        folder=options.folder,
        declared={} if request.release is None else request.release.hierarchies,
        others=request.there,
    )
    given = {name: value for name, value in settings.items() if value is not None}
    with limits_in_words(""):
        settings = {"columns": request.columns, "hierarchies": declared, **request.limits, **given}
        remedy = Generalise.model_validate(settings)
    question = RecodingRequest.of(request.place, remedy, request.every)
    with_progress(remedy.name, lambda _: question.check_size())
    with_progress(remedy.name, lambda _: check_hierarchies(remedy, question.counts))
    return question, request
