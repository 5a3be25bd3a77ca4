"""`tablewatch import incidents`: the history that a ticket system exports."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._options import By, who
from monitor.terminal.console import progress
from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop, not_read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.console import Console

    from monitor.config.project import Project
    from monitor.triage.ticket_comparison import TicketComparison
    from monitor.triage.ticket_import import ImportCounts
    from monitor.triage.ticket_reader import TicketReader

_SHOWN = 20

Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="COLUMN=FIELD",
        help="Column mapping to fields: table, title, detected, occurred, resolved, resolution, severity, "
        "found_by, cause, id. Repeatable.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Constant value for every row, such as severity=error. Repeatable.",
    ),
]
Value = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD:THEIRS=OURS",
        help="Value mapping from the ticket system, such as severity:Highest=critical, for table, severity, "
        "resolution and found_by; an empty value after = means none, for any field, such as 'resolved:?='. "
        "Repeatable.",
    ),
]
Zone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Time zone of times without an offset; by default the project's.")
]
TimeFormat = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Time format, such as '%d/%m/%Y %H:%M'. Repeatable; ISO 8601 with an offset is always accepted.",
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Text encoding of the file, such as shift_jis or cp1252.")]
Update = Annotated[
    bool,
    typer.Option("--update", help="Update existing incidents from tickets that have changed."),
]
OpenAsUnknown = Annotated[
    bool,
    typer.Option("--open-as-unknown", help="Skip rows without an end time, whose end is unknown."),
]
Partial = Annotated[bool, typer.Option("--partial", help="Import valid rows even if others are invalid.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Dry run: read everything, write nothing.")]
AnyTable = Annotated[bool, typer.Option("--any-table", help="Allow tables that are not in the configuration.")]


def import_incidents(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="CSV file of incidents.")],
    map_: Map = None,
    set_: Set = None,
    value: Value = None,
    timezone: Zone = None,
    time_format: TimeFormat = None,
    encoding: Encoding = "utf-8",
    update: Update = False,
    partial: Partial = False,
    open_as_unknown: OpenAsUnknown = False,
    dry_run: DryRun = False,
    any_table: AnyTable = False,
    by: By = None,
) -> None:
    """Import incidents from the CSV export of a ticket system. Importing it again adds nothing.

    Without --partial nothing is written unless every row is valid. Invalid rows are listed with line and reason.
    Tickets changed since their last import are listed too; --update applies these changes, and nothing else.

    Example: tablewatch import incidents tickets.csv --map Dataset=table --map Opened=detected --map Key=id --dry-run
    """
    from monitor.config.project import Project
    from monitor.terminal.input_bounds import check_regular
    from monitor.triage.errors import explained
    from monitor.triage.ticket_columns import RowReader
    from monitor.triage.ticket_import import TicketImport, TicketsRefused
    from monitor.triage.ticket_mapping import TicketMapping, UnreadableTickets
    from monitor.triage.ticket_reader import TicketReader
    from monitor.triage.time_parsing import TimeReader

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    times = TimeReader(_zone(project, timezone), project.clock.now(), tuple(time_format or ()), relative=False)
    try:
        plan = TicketMapping.of(map_ or (), set_ or (), value or ())
        row_reader = RowReader(project.config, times, any_table=any_table)
        tickets = TicketReader(file, plan, row_reader, open_as_unknown=open_as_unknown, encoding=encoding)
        check_regular(file)
        tickets.check_header()
        with project.open_store() as store, explained(times.zone), progress("importing rows", _lines(file)) as advance:
            intake = TicketImport(store, times.now, times.zone, who(by), update=update, partial=partial)
            taken = (intake.dry_run if dry_run else intake.run)(tickets, advance)
    except UnreadableTickets as error:
        raise Stop(ExitCode.USAGE, error.problem) from None
    except OSError as error:
        raise Stop(ExitCode.USAGE, not_read("import.unreadable", file, error)) from None
    except TicketsRefused as error:
        raise Stop(ExitCode.USAGE, *_problems(error.tickets)) from None
    assumed = {
        "timezone": tickets.assumed_zone,
        "fixed": taken.assumed("resolution"),
        "person": taken.assumed("found_by"),
        "open": taken.lasting,
    }
    result = {
        "schema": "tablewatch.import/1",
        "file": str(file),
        "dry_run": dry_run,
        **_counts(tickets, taken),
        "updated": taken.applicable if update and not dry_run else 0,
        "assumed": assumed,
    }
    _print_assumptions(invocation, assumed, times.zone)
    invocation.emit(result, lambda console: _draw(console, result, taken, update=update, zone=times.zone))


def _zone(project: "Project", name: str | None) -> str:
    from checks.parameters.scalars import known_zone

    try:
        return project.config.timezone if name is None else known_zone(name)
    except ValueError as error:
        raise Stop(ExitCode.USAGE, Problem("usage", f"--timezone: expected {error}")) from None


def _lines(file: Path) -> int:
    with file.open("rb") as raw:
        return sum(block.count(b"\n") for block in iter(lambda: raw.read(1 << 20), b""))


def _print_assumptions(invocation: Invocation, assumed: dict[str, int], zone: str) -> None:
    if still := assumed["open"]:
        have = "has no end and counts" if still == 1 else "have no end and count"
        invocation.note(f"note: {count(still, 'row')} {have} as open until now; --open-as-unknown skips such rows")
    texts = {
        "timezone": ("time", f"without an offset, read in {zone}", ""),
        "fixed": ("row", "without a resolution, imported as 'fixed'", ""),
        "person": ("row", "without found_by, imported as reported by a person", "; --set found_by=check if not"),
    }
    for name, (thing, what, remedy) in texts.items():
        if assumed[name]:
            invocation.note(f"note: {what}: {count(assumed[name], thing)}{remedy}")


def _problems(tickets: "TicketReader") -> "list[Problem]":
    message = f"{len(tickets.bad):,} of {tickets.rows:,} rows cannot be imported; nothing was written"
    hint = "--partial imports the valid rows"
    rows = [
        Problem("import.bad_row", refusal.reason, file=str(tickets.file), line=refusal.line) for refusal in tickets.bad
    ]
    return [Problem("import.bad_rows", message, hint=hint), *rows]


def _counts(tickets: "TicketReader", taken: "ImportCounts") -> dict[str, Any]:
    """Return what became of the rows of a file."""
    return {
        "rows": tickets.rows,
        "imported": taken.new,
        "known": taken.known,
        "differ": [_difference_as_json(item) for item in taken.differ],
        "applicable": taken.applicable,
        "refused": [{"line": item.line, "reason": item.reason} for item in tickets.bad],
        "unknown_end": tickets.endless,
        "first_id": taken.first_id,
        "last_id": taken.last_id,
    }


def _difference_as_json(ticket_comparison: "TicketComparison") -> dict[str, Any]:
    return {
        "line": ticket_comparison.line,
        "id": ticket_comparison.incident.id,
        "fields": [
            {
                "field": difference.field,
                "recorded": _plain(difference.recorded),
                "told": _plain(difference.of_ticket),
                "stays": difference.stays,
                "new": difference.is_new,
                "replaces": difference.replaces,
            }
            for difference in ticket_comparison.differences
        ],
    }


def _plain(value: "datetime | str | None") -> str | None:
    return value if value is None or isinstance(value, str) else value.isoformat()


def _draw(
    console: "Console", result: dict[str, Any], import_counts: "ImportCounts", *, update: bool, zone: str
) -> None:
    would = "would be imported" if result["dry_run"] else "imported"
    span = "" if result["first_id"] is None else f", #{result['first_id']} to #{result['last_id']}"
    text = f"{result['known']:,} {'was' if result['known'] == 1 else 'were'} already imported"
    console.print(f"{count(result['rows'], 'row')}: {result['imported']:,} {would}{span}; {text}")
    news = [ticket_comparison for ticket_comparison in import_counts.differ if ticket_comparison.is_new]
    if news:
        console.print(_sum_up(len(news), import_counts.applicable, update=update, dry_run=result["dry_run"]))
        _list(console, [_format_difference(ticket_comparison, zone) for ticket_comparison in news], "that differ")
    if before := len(import_counts.differ) - len(news):
        unchanged = f"{before:,} {'differs' if before == 1 else 'differ'} as before"
        console.print(
            f"{unchanged}; recorded incidents are not changed; --format json lists {'it' if before == 1 else 'them'}"
        )
    if endless := result["unknown_end"]:
        lines = ", ".join(f"{line:,}" for line in endless[:_SHOWN]) + (" ..." if len(endless) > _SHOWN else "")
        console.print(f"{count(len(endless), 'row')} without an end skipped: line{'s'[: len(endless) > 1]} {lines}")
    refused = result["refused"]
    _list(
        console,
        [f"line {ticket_comparison['line']}: {ticket_comparison['reason']}" for ticket_comparison in refused],
        "invalid rows",
    )


def _sum_up(differ: int, applicable: int, *, update: bool, dry_run: bool) -> str:
    text = f"{differ:,} {'differs' if differ == 1 else 'differ'}"
    if not applicable:
        return f"{text}; recorded incidents are not changed"
    which = "them" if applicable == differ > 1 else "it" if differ == 1 else f"what can be changed in {applicable:,}"
    if not update:
        return f"{text}; --update applies {which}"
    return f"{text}; {applicable:,} {'would be updated' if dry_run else 'updated'}"


def _format_difference(ticket_comparison: "TicketComparison", zone: str) -> str:
    parts = []
    for difference in ticket_comparison.differences:
        if not difference.is_new:
            continue
        shown = difference.recorded is not None or difference.of_ticket is not None
        change = f" {_format(difference.recorded, zone)} -> {_format(difference.of_ticket, zone)}" if shown else ""
        stays = f" stays: {difference.stays}" if difference.stays else ""
        replaces = f", replacing the correction by {difference.replaces}" if difference.replaces else ""
        parts.append(f"{difference.field}{change}{stays}{replaces}")
    return f"line {ticket_comparison.line}, #{ticket_comparison.incident.id}: {'; '.join(parts)}"


def _format(value: "datetime | str | None", zone: str) -> str:
    from monitor.triage.create import tidy
    from monitor.triage.time_parsing import format_time

    if value is None:
        return "none"
    return tidy(value) if isinstance(value, str) else format_time(value, zone)


def _list(console: "Console", lines: "Sequence[str]", what: str) -> None:
    for line in islice(lines, _SHOWN):
        console.print(f"  {line}")
    if len(lines) > _SHOWN:
        console.print(f"  and {len(lines) - _SHOWN:,} more {what}; --format json lists all")
