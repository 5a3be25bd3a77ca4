"""`tablewatch import incidents`: the history that a ticket system exports."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._words import who
from monitor.frame.output import Invocation, count
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.frame.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from monitor.desk.reported import Reported
    from monitor.desk.tickets import TicketReader, Tickets
    from monitor.wiring import Project
    from store import Store

_CHUNK = 1000
_SHOWN = 20


def import_incidents(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A table of incidents, in UTF-8.")],
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="Which column is which field: table, title, detected, occurred, resolved, resolution, severity, "
            "found_by, cause, id. May be given again.",
            envvar="TABLEWATCH_IMPORT_INCIDENTS_MAP",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="What is the same for every row, such as severity=error. May be given again.",
            envvar="TABLEWATCH_IMPORT_INCIDENTS_SET",
        ),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Zone of times without an offset; by default the project's.")
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="How times are written, such as '%d/%m/%Y %H:%M'.")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Import the good rows although others are bad.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    any_table: Annotated[
        bool, typer.Option("--any-table", help="Also for tables that are not in the configuration.")
    ] = False,
    by: Annotated[str | None, typer.Option(metavar="WHO", help="Who does this; by default the user.")] = None,
) -> None:
    """Import incidents from the table that a ticket system exports. Importing it again adds nothing.

    Without --partial nothing is written unless every row is good. Each bad row is listed with its line and the reason.

    Example: tablewatch import incidents tickets.csv --map Dataset=table --map Opened=detected --map Key=id --dry-run
    """
    from monitor.desk.refusals import explained
    from monitor.wiring import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    reader = _reader(project, map_, set_, zone=timezone, pattern=time_format, any_table=any_table)
    tickets = _read(reader, file)
    if tickets.bad and not partial:
        raise Stop(ExitCode.USAGE, *_problems(tickets, file))
    with project.open_store() as store, explained():
        numbers, known = _write(project, store, tickets.good, actor=who(by), dry_run=dry_run)
    result: dict[str, Any] = {
        "schema": "tablewatch.import/1",
        "file": str(file),
        "dry_run": dry_run,
        "rows": tickets.rows,
        "imported": len(tickets.good) - known,
        "known": known,
        "refused": [{"line": one.line, "reason": one.reason} for one in tickets.bad],
        "first_id": numbers[0] if numbers else None,
        "last_id": numbers[-1] if numbers else None,
        "assumed": {"timezone": tickets.assumed_zone, "fixed": tickets.assumed_fixed},
    }
    if tickets.assumed_zone:
        invocation.note(
            f"note: without an offset, so read in {reader.times.zone}: {count(tickets.assumed_zone, 'time')}"
        )
    if tickets.assumed_fixed:
        invocation.note(
            f"note: resolved without a word on how, so taken as 'fixed': {count(tickets.assumed_fixed, 'row')}"
        )
    invocation.emit(result, lambda console: _draw(console, result))


def _reader(
    project: "Project",
    maps: "Sequence[str] | None",
    constants: "Sequence[str] | None",
    *,
    zone: str | None,
    pattern: str | None,
    any_table: bool,
) -> "TicketReader":
    from checks._scalars import known_zone
    from monitor.desk.moments import TimeReader
    from monitor.desk.tickets import Plan, TicketReader, UnreadableTickets

    try:
        zone = project.config.timezone if zone is None else known_zone(zone)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("usage", f"--timezone: expected {error}")) from None
    try:
        plan = Plan.of(maps or (), constants or ())
    except UnreadableTickets as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    times = TimeReader(zone, project.clock.now(), pattern=pattern, relative=False)
    return TicketReader(project.config, times, plan, any_table=any_table)


def _read(reader: "TicketReader", file: Path) -> "Tickets":
    from monitor.desk.tickets import UnreadableTickets

    try:
        with progress("reading rows", _lines(file)) as advance:
            return reader.read(file, advance)
    except UnreadableTickets as error:
        raise Stop(ExitCode.USAGE, error.problem) from None


def _lines(file: Path) -> int:
    try:
        with file.open("rb") as raw:
            return sum(block.count(b"\n") for block in iter(lambda: raw.read(1 << 20), b""))
    except OSError as error:
        raise Stop(ExitCode.USAGE, Problem("import.unreadable", f"{file} cannot be read ({error.strerror})")) from None


def _problems(tickets: "Tickets", file: Path) -> "list[Problem]":
    message = f"{len(tickets.bad):,} of {tickets.rows:,} rows cannot be imported; nothing was written"
    hint = "--partial imports the good rows"
    rows = [Problem("import.bad_row", one.reason, file=str(file), line=one.line) for one in tickets.bad]
    return [Problem("import.bad_rows", message, hint=hint), *rows]


def _write(
    project: "Project", store: "Store", told: "Sequence[Reported]", *, actor: str, dry_run: bool
) -> tuple[list[int], int]:
    """Write down what is new, in one transaction. Gives its numbers, and how much was there already."""
    now = project.clock.now()
    if dry_run:
        with store.reading() as view:
            return [], sum(len(view.latest_incidents(_fingerprints(chunk))) for chunk in _chunks(told))
    from store import History

    numbers: list[int] = []
    with progress("writing incidents", len(told)) as advance, store.writing() as book:
        for chunk in _chunks(told):
            there = book.latest_incidents(_fingerprints(chunk))
            new = [History(one.changes(now), now, actor) for one in chunk if one.fingerprint not in there]
            numbers += [incident.id for incident in book.add_histories(new)]
            _each(chunk, advance)
    return numbers, len(told) - len(numbers)


def _chunks(told: "Sequence[Reported]") -> "list[Sequence[Reported]]":
    return [told[start : start + _CHUNK] for start in range(0, len(told), _CHUNK)]


def _fingerprints(told: "Sequence[Reported]") -> list[str]:
    return [one.fingerprint or "" for one in told]


def _each(told: "Sequence[Reported]", advance: "Callable[[], None]") -> None:
    for _ in told:
        advance()


def _draw(console: "Console", result: dict[str, Any]) -> None:
    refused, numbers = result["refused"], (result["first_id"], result["last_id"])
    would = "would be imported" if result["dry_run"] else "imported"
    span = "" if numbers[0] is None else f", #{numbers[0]} to #{numbers[1]}"
    console.print(
        f"{count(result['rows'], 'row')}: {result['imported']:,} {would}{span}; {result['known']:,} were there already"
    )
    for one in islice(refused, _SHOWN):
        console.print(f"  line {one['line']}: {one['reason']}")
    if len(refused) > _SHOWN:
        console.print(f"  and {len(refused) - _SHOWN:,} more bad rows; --format json lists all")
