"""`tablewatch config`: check and show the configuration."""

from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from monitor.commands._options import By, ConfigFormat, Force, known_tables
from monitor.commands._rename import Merge, Write
from monitor.commands._verb_command import add_verbs
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, count, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.verbs.configuration import CHANGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from monitor.config import Loaded
    from monitor.config.project import Project
    from monitor.doctor.config_diff import ConfigChange
    from monitor.doctor.config_rules import RuleResult
    from monitor.verbs.configuration import DraftedChange
    from store import Store

_Format: TypeAlias = Annotated[
    ConfigFormat | None,
    typer.Option("--format", help="Output format.", callback=remember_format, show_default="human"),
]

app = typer.Typer(help="Validate and show the configuration.", rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Validate and show the configuration."""


@app.command()
def check(
    ctx: typer.Context,
    _: _Format = None,
) -> None:
    """List all errors of the configuration, with file, line and column.

    Example: tablewatch config check -c tablewatch.yaml
    """
    from monitor.config import load_for
    from monitor.doctor.config_checks import (
        NOT_CHECKED,
        deep_problems,
        missing_runbooks,
        unchecked_tables,
        withheld_values,
    )

    invocation: Invocation = ctx.obj
    with _sarif_of_problems(invocation):
        loaded = load_for(invocation)
        with activity("validating against sources and Great Expectations"):
            problems = deep_problems(loaded)
        if problems:
            unsure = all(problem.code == NOT_CHECKED for problem in problems)
            raise Stop(ExitCode.NOT_EVALUATED if unsure else ExitCode.USAGE, *problems)
    notes = [*loaded.notes, *unchecked_tables(loaded.config), *missing_runbooks(loaded), *withheld_values(loaded)]
    if invocation.format == ConfigFormat.SARIF:
        _write_sarif(invocation, [], notes)
        return
    if invocation.format == ConfigFormat.GITHUB:
        _annotate(invocation, notes, level="notice")
    for note in notes:
        invocation.note(f"note: {_format(note)}")
    result = {
        "schema": "tablewatch.config-check/1",
        "ok": True,
        "project": loaded.config.project,
        "files": [str(path) for path in loaded.files],
        "digest": loaded.digest,
        "tables": len(loaded.config.tables),
        "checks": sum(len(table.checks) for table in loaded.config.tables),
        "notes": [note.as_json() for note in notes],
    }
    invocation.emit(result, lambda console: console.print(_summary(result)))


@contextmanager
def _sarif_of_problems(invocation: Invocation) -> "Iterator[None]":
    """With `--format sarif`, write the problems that end the block."""
    try:
        yield
    except Stop as stop:
        if invocation.format != ConfigFormat.SARIF:
            raise
        _write_sarif(invocation, stop.problems, [])
        raise Stop(stop.code) from None


def _write_sarif(invocation: Invocation, problems: "Sequence[Problem]", notes: "Sequence[Problem]") -> None:
    from monitor.doctor.config_checks import NOT_CHECKED
    from monitor.integrations.github import repository
    from monitor.integrations.sarif import as_sarif
    from monitor.terminal.redaction import json_text
    from monitor.terminal.version import version

    log = as_sarif(
        problems,
        notes,
        root=repository(),
        version=version(),
        not_evaluated={NOT_CHECKED},
        redact=invocation.redactor,
    )
    invocation.write(json_text(log) + "\n")


def _annotate(invocation: Invocation, problems: "Sequence[Problem]", *, level: str) -> None:
    from monitor.integrations.github import problems_as_annotations, repository

    redact = invocation.redactor
    invocation.write(problems_as_annotations(problems, root=repository(), level=level, redact=redact))


@app.command()
def show(
    ctx: typer.Context,
    redacted: Annotated[
        bool, typer.Option("--redacted/--reveal", help="Mask passwords and values from the environment or files.")
    ] = True,
    defaults: Annotated[bool, typer.Option("--defaults", help="Include default values.")] = False,
    origins: Annotated[
        bool, typer.Option("--origins", help="List each value with its file and line, and the team whose file it is.")
    ] = False,
    expanded: Annotated[
        bool,
        typer.Option("--expanded", help="List the tables that patterns of `tables` stand for, by the catalogue now."),
    ] = False,
) -> None:
    """Show the effective configuration: files merged, variables substituted.

    Example: tablewatch config show --defaults
    """
    from monitor.config import load_for
    from monitor.config.project import Project
    from monitor.terminal.redaction import Redactor

    invocation: Invocation = ctx.obj
    loaded = (
        Project.refreshed(invocation, lambda: known_tables(invocation, write=False)).loaded
        if expanded
        else load_for(invocation)
    )
    if defaults and origins:
        message = "--origins lists what is written in files, which --defaults is not"
        raise Stop(ExitCode.USAGE, Problem("usage", message, hint="leave one of them out"))
    values = _in_force(loaded, redacted=redacted, defaults=defaults, expanded=expanded)
    if not redacted:
        invocation.redactor = Redactor(urls=False)
    if origins:
        _show_origins(invocation, loaded, redacted=redacted)
        return
    result = {
        "schema": "tablewatch.config/1",
        "files": [str(path) for path in loaded.files],
        "digest": loaded.digest,
        "config": values,
    }
    invocation.emit(result, lambda console: _print_yaml(console, values))


def _show_origins(invocation: Invocation, loaded: "Loaded", *, redacted: bool) -> None:
    from monitor.doctor.config_diff import origins_of
    from monitor.terminal.console import print_plain

    origins = list(origins_of(loaded, redacted=redacted))
    text = "".join(f"{line}\n" for origin in origins for line in origin.lines())
    invocation.emit(
        lambda: {"schema": "tablewatch.config-origins/1", "origins": [origin.as_json() for origin in origins]},
        lambda console: print_plain(console, text),
    )


@app.command("test")
def check_rules(
    ctx: typer.Context,
    _: _Format = None,
) -> None:
    """Test the configuration against its own `rules`. Exits with 1 if one is broken, 3 if one is about no table.

    Example: tablewatch config test --format github
    """
    from checks import Status
    from monitor.config import load_for
    from monitor.doctor.config_rules import rule_results

    invocation: Invocation = ctx.obj
    loaded = load_for(invocation)
    results = rule_results(loaded)
    if not results:
        hint = "add some under 'rules' (docs/configuration.md)"
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("config.no_rules", "the configuration has no rules", hint=hint))
    problems = [problem for result in results for problem in result.problems]
    if invocation.format == ConfigFormat.SARIF:
        _write_sarif(invocation, problems, [])
    elif invocation.format == ConfigFormat.GITHUB:
        _annotate(invocation, problems, level="error")
    else:
        statuses = [result.status.value for result in results]
        shape = {
            "schema": "tablewatch.config-test/1",
            "ok": set(statuses) == {"pass"},
            "rules": [result.as_json() for result in results],
        }
        invocation.emit(shape, lambda console: _draw_rules(console, results))
    rule_statuses = {result.status for result in results}
    if rule_statuses != {Status.PASS}:
        raise Stop(ExitCode.FAILED if Status.FAIL in rule_statuses else ExitCode.NOT_EVALUATED)


def _draw_rules(console: "Console", results: "Sequence[RuleResult]") -> None:
    for result in results:
        broken = f", {count(len(result.problems), 'problem')}" if result.problems else ""
        tables = count(result.tables, "table") if result.tables else "no table matches, so it says nothing"
        console.print(f"{result.status.value.upper():<8}{result.name}: {tables}{broken}")
        for problem in result.problems:
            console.print(f"        {_format(problem)}")
        if result.problems and result.reason:
            console.print(f"        why: {result.reason}", style="dim")


@app.command()
def diff(
    ctx: typer.Context,
    before: Annotated[
        Path | None,
        typer.Argument(help="Another configuration, a file or folder.", show_default="that of the running daemon"),
    ] = None,
) -> None:
    """Show what this configuration changes: of the one that the daemon runs, or of another file.

    Tables are compared by name and checks by id; secrets stay masked, and `${here}` is the same in any folder.

    Example: tablewatch config diff
    """
    from monitor.config import ConfigError, load, load_for
    from monitor.config.project import Project
    from monitor.doctor.config_diff import config_changes, running_config

    invocation: Invocation = ctx.obj
    loaded = load_for(invocation)
    if before is None:
        name, old = running_config(Project(loaded))
        changes = config_changes(old.values, loaded.values())
        differs = old.digest != loaded.values_digest
    else:
        try:
            other = load(before)
        except ConfigError as error:
            invocation.redactor = error.redactor
            raise Stop(ExitCode.USAGE, *error.problems) from None
        name = str(before)
        changes, unmasked = (
            config_changes(
                other.values(redacted=redacted, relative=True), loaded.values(redacted=redacted, relative=True)
            )
            for redacted in (True, False)
        )
        differs = bool(unmasked)
    masked = differs and not changes
    invocation.emit(
        lambda: {
            "schema": "tablewatch.config-diff/1",
            "before": name,
            "changes": [change.as_json() for change in changes],
            "masked_values_differ": masked,
        },
        lambda console: _draw_changes(console, name, changes, masked=masked),
    )


def _draw_changes(console: "Console", name: str, changes: "Sequence[ConfigChange]", *, masked: bool) -> None:
    from monitor.terminal.console import print_plain

    console.print(f"compared with {name}", style="dim")
    for change in changes:
        print_plain(console, "".join(f"{line}\n" for line in change.lines()))
    if masked:
        console.print("only values that are masked differ: they come from the environment or a file")
    elif not changes:
        console.print("no difference")


@app.command()
def schema(
    ctx: typer.Context,
    write: Annotated[
        Path | None, typer.Option(help="Write it to a file, such as .tablewatch/schema.json, for editors.")
    ] = None,
    force: Force = False,
) -> None:
    """Print the JSON Schema of the configuration, for completion and validation in editors.

    Example: tablewatch config schema --write .tablewatch/schema.json
    """
    from monitor.config.project import protected_files
    from monitor.config.schema import json_schema, schema_text
    from monitor.terminal.output_file import write_text

    invocation: Invocation = ctx.obj
    if write is None:
        invocation.emit(json_schema())
        return
    write_text(write, schema_text(), protected=protected_files(invocation), force=force)
    result: dict[str, Any] = {"schema": "tablewatch.written/1", "ok": True, "files": [str(write)]}
    invocation.emit(result, lambda console: console.print(f"wrote {write}"))


@app.command()
def adopt_store(ctx: typer.Context) -> None:
    """Assign the store to this project after the project was renamed.

    Example: tablewatch config adopt-store
    """
    from monitor.config.project import Project

    invocation: Invocation = ctx.obj
    project = Project.of(invocation)
    with project.open_store(adopt=True) as store:
        name = store.name
    result = {"schema": "tablewatch.adopted/1", "ok": True, "project": project.config.project, "store": name}
    invocation.emit(result, lambda console: console.print(f"{name} is now the store of {project.config.project}"))


class RenamedWord(StrEnum):
    """What can be renamed beside tables."""

    CHECK = "check"
    DOMAIN = "domain"
    OWNER = "owner"


@app.command()
def rename(
    ctx: typer.Context,
    kind: Annotated[RenamedWord, typer.Argument(help="What it is; 'table rename' is for tables.")],
    old: Annotated[str, typer.Argument(metavar="OLD", help="The name, of a check its whole id.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new name, of a check its whole id.")],
    write: Write = False,
    merge: Merge = False,
    by: By = None,
) -> None:
    """Rename a check, domain or owner in the configuration and the store; incidents and results stay its own.

    Example: tablewatch config rename check sales.orders.not-null sales.orders.email-present --write
    """
    from monitor.commands._rename import rename as run

    run(ctx.obj, kind.value, old, new, write=write, merge=merge, by=by)


def _format(note: Problem) -> str:
    team = f", team {note.team}" if note.team is not None else ""
    return f"{note.message} ({note.place}{team})" if note.file is not None else note.message


def _summary(result: dict[str, Any]) -> str:
    files = ", ".join(result["files"]) if len(result["files"]) <= 3 else f"{len(result['files'])} files"
    return f"ok  {result['project']}: {count(result['tables'], 'table')}, {count(result['checks'], 'check')} in {files}"


def _in_force(loaded: "Loaded", *, redacted: bool, defaults: bool, expanded: bool) -> Any:
    if not defaults:
        return loaded.values(redacted=redacted, expanded=expanded)
    whole = loaded.config.model_dump(mode="json")
    return _lay_over(whole, loaded.values(redacted=redacted)) if redacted else whole


def _lay_over(whole: Any, masked: Any) -> Any:
    """Return the whole configuration with masked values in place; one of another type than the model's wins."""
    if isinstance(whole, dict) and isinstance(masked, dict):
        return {**whole, **{key: _lay_over(whole.get(key), value) for key, value in masked.items()}}
    if isinstance(whole, list) and isinstance(masked, list) and len(whole) == len(masked):
        return [_lay_over(*pair) for pair in zip(whole, masked, strict=True)]
    return masked


def _print_yaml(console: "Console", values: Any) -> None:
    import yaml

    from monitor.terminal.console import print_plain

    print_plain(console, yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=110))


def _present_change(invocation: Invocation, _project: "Project", _store: "Store", draft: "DraftedChange") -> None:
    from monitor.doctor.config_diff import config_changes

    changes = config_changes(draft.before.values(), draft.after.values())
    result = {
        "schema": "tablewatch.config-change/1",
        "file": str(draft.file),
        "changes": [change.as_json() for change in changes],
    }
    lines = [line for change in changes for line in change.lines()]
    invocation.emit(result, lambda console: console.print("\n".join(lines) or "nothing changes", markup=False))


add_verbs(app, "config", [CHANGE], _present_change)
