"""`tablewatch config`: check and show the configuration."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.commands._ci_formats import ConfigFormat
from monitor.commands._output_pages import Force
from monitor.terminal.console import activity
from monitor.terminal.output import Invocation, count, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from monitor.config import Loaded

app = typer.Typer(help="Validate and show the configuration.", rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Validate and show the configuration."""


@app.command()
def check(
    ctx: typer.Context,
    _: Annotated[
        ConfigFormat | None,
        typer.Option(
            "--format",
            help="Output format.",
            callback=remember_format,
            show_default="human",
            envvar="TABLEWATCH_CONFIG_CHECK_FORMAT",
        ),
    ] = None,
) -> None:
    """List all errors of the configuration, with file, line and column.

    Example: tablewatch config check -c tablewatch.yaml
    """
    from monitor.config import load_for
    from monitor.doctor.config_checks import NOT_CHECKED, deep_problems, missing_runbooks, unchecked_tables

    invocation: Invocation = ctx.obj
    with _sarif_of_problems(invocation):
        loaded = load_for(invocation)
        with activity("validating against sources and Great Expectations"):
            problems = deep_problems(loaded)
        if problems:
            unsure = all(problem.code == NOT_CHECKED for problem in problems)
            raise Stop(ExitCode.NOT_EVALUATED if unsure else ExitCode.USAGE, *problems)
    notes = [*loaded.notes, *unchecked_tables(loaded.config), *missing_runbooks(loaded)]
    if invocation.format == ConfigFormat.SARIF:
        _write_sarif(invocation, [], notes)
        return
    if invocation.format == ConfigFormat.GITHUB:
        _annotate_notes(invocation, notes)
    for note in notes:
        invocation.note(f"note: {_say(note)}")
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


def _annotate_notes(invocation: Invocation, notes: "Sequence[Problem]") -> None:
    from monitor.integrations.github import problems_as_annotations, repository

    redact = invocation.redactor
    invocation.write(problems_as_annotations(notes, root=repository(), level="notice", redact=redact))


@app.command()
def show(
    ctx: typer.Context,
    redacted: Annotated[
        bool, typer.Option("--redacted/--reveal", help="Mask passwords and values from the environment or files.")
    ] = True,
    defaults: Annotated[bool, typer.Option("--defaults", help="Include default values.")] = False,
) -> None:
    """Show the effective configuration: files merged, variables substituted.

    Example: tablewatch config show --defaults
    """
    from monitor.config import load_for
    from monitor.terminal.redaction import Redactor

    invocation: Invocation = ctx.obj
    loaded = load_for(invocation)
    values = _in_force(loaded, redacted=redacted, defaults=defaults)
    if not redacted:
        invocation.redactor = Redactor(urls=False)
    result = {
        "schema": "tablewatch.config/1",
        "files": [str(path) for path in loaded.files],
        "digest": loaded.digest,
        "config": values,
    }
    invocation.emit(result, lambda console: _print_yaml(console, values))


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


def _say(note: Problem) -> str:
    place = f" ({note.file}:{note.line}:{note.column})" if note.file is not None else ""
    return f"{note.message}{place}"


def _summary(result: dict[str, Any]) -> str:
    files = ", ".join(result["files"]) if len(result["files"]) <= 3 else f"{len(result['files'])} files"
    return f"ok  {result['project']}: {count(result['tables'], 'table')}, {count(result['checks'], 'check')} in {files}"


def _in_force(loaded: "Loaded", *, redacted: bool, defaults: bool) -> Any:
    if not defaults:
        return loaded.values(redacted=redacted)
    whole = loaded.config.model_dump(mode="json")
    return _lay_over(whole, loaded.values(redacted=redacted)) if redacted else whole


def _lay_over(whole: Any, masked: Any) -> Any:
    """Put masked values over the whole configuration; where they are of another kind than in the model, they win."""
    if isinstance(whole, dict) and isinstance(masked, dict):
        return {**whole, **{key: _lay_over(whole.get(key), value) for key, value in masked.items()}}
    if isinstance(whole, list) and isinstance(masked, list) and len(whole) == len(masked):
        return [_lay_over(*pair) for pair in zip(whole, masked, strict=True)]
    return masked


def _print_yaml(console: "Console", values: Any) -> None:
    import yaml

    from monitor.terminal.console import print_plain

    print_plain(console, yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=110))
