"""What the commands of `tablewatch remedy` share: their options, and how what they say is read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from monitor.commands._risk_verdict import names_in, number_in
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    from monitor.config import Release
    from monitor.releases.disclosure.table_ref import TableRef
    from remedies import Remedy, RowOrder, UtilityReport


Part = TypeVar("Part")
HIERARCHY_FILES: Final = (".csv", ".yaml", ".yml")

Given = Annotated[str, typer.Argument(metavar="IN", help="A configured table, or a CSV or Parquet file.")]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The .csv or .parquet file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Write the rows in the order of IN instead of random order. Anyone who knows that order can identify "
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
ReleaseName = Annotated[
    str | None,
    typer.Option("--release", metavar="NAME", help="Use the columns, hierarchies and limits of this release."),
]


def order_of(*, kept: bool) -> "RowOrder":
    """Return the order in which rows are written."""
    from remedies import RowOrder

    return RowOrder.INPUT if kept else RowOrder.RANDOM


def note_compiling(invocation: Invocation, remedies: "Iterable[Remedy]") -> None:
    """Report why the first run on a machine takes longer, where one of the remedies has yet to be compiled."""
    if any(remedy.compiles_first() for remedy in remedies):
        invocation.note("compiling the search for this machine, once, about a minute")


def result_of(
    text: str, out: Path, bill: "UtilityReport", *, names: Sequence[str], dropped: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the published shape of what a recoding came to.

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
    """Return the result of a remedy with what the columns that it did not treat tell of single records.

    `out` is read once more, by DuckDB; what is found is also said to a person.
    """
    from monitor.releases.disclosure.uniqueness import find_uniqueness
    from monitor.releases.treatment.table_reader import columns_in
    from monitor.releases.treatment.verify import WrittenFile
    from monitor.terminal.redaction import visible

    place = WrittenFile().place(out)
    uniqueness = find_uniqueness(place, [name for name in columns_in(place) if name not in treated])
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
    current_releases = {known: release for known, release in releases.items() if release.table == place.name}
    if name is None:
        return next(iter(current_releases.values())) if len(current_releases) == 1 else None
    if name not in current_releases:
        if name not in releases:
            raise Stop(ExitCode.USAGE, unknown_name("release", name, releases, code="remedy.no_release"))
        text = f"release '{name}' is of table '{releases[name].table}', not of '{place.name}'"
        raise Stop(ExitCode.USAGE, Problem("remedy.no_release", text))
    return current_releases[name]


def columns_of(place: "TableRef", release: "Release | None", word: str) -> tuple[str, ...]:
    """Return the columns that the release, else the table's configuration, classifies so."""
    from checks import ColumnClass

    kind = ColumnClass(word)
    if release is not None and release.columns:
        return tuple(column for column, result in release.columns.items() if result is kind)
    return place.classified(kind)


def limits_said(
    place: "TableRef",
    release: "Release | None",
    *,
    k: int | None,
    diversity: Iterable[str] | None,
    closeness: Iterable[str] | None,
) -> dict[str, Any]:
    """Return the limits as a remedy takes them: what was said, else those of the release."""
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
    """Gather what is said of columns.

    Raises:
        Stop: two things are said of one.
    """
    dones: dict[str, Part] = {}
    for name, item in parts:
        if name in dones:
            raise Stop(ExitCode.USAGE, Problem("remedy.limit", f"'{name}' is named twice; expected each column once"))
        dones[name] = item
    return dones


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


Drop = Annotated[str | None, typer.Option("--drop", metavar="A,B,...", help="Drop these columns from OUT.")]
DropIdentifiers = Annotated[
    bool, typer.Option("--drop-identifiers", help="Drop all columns classified as direct identifiers.")
]

_NONE: Final = Problem(
    "remedy.drop", "no column of the table is classified as a direct identifier", hint="name them: --drop A,B"
)


def dropped(
    text: str | None, *, identifiers: bool, names: Sequence[str], there: Sequence[str], needed: Collection[str]
) -> tuple[str, ...]:
    """Return the columns that are to be left out, in the order of the table.

    Args:
        text: names with commas in between.
        identifiers: whether direct identifiers are to be left out too.
        names: the direct identifiers of the table.
        there: all of its columns.
        needed: those that are treated, or have a limit.

    Raises:
        Stop: a column is not there or is needed, or there is no direct identifier.
    """
    from checks import did_you_mean

    wanted = {*names_in(text), *(names if identifiers else ())}
    if identifiers and not names:
        raise Stop(ExitCode.USAGE, _NONE)
    problems = [
        Problem("remedy.drop", f"--drop: column '{name}' not found{did_you_mean(name, there)}")
        for name in sorted(wanted - set(there))
    ]
    problems += [
        Problem("remedy.drop", f"--drop: column '{name}' is treated or has a limit; name it only once")
        for name in sorted(wanted & set(needed))
    ]
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    return tuple(name for name in there if name in wanted)
