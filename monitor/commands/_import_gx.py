"""`tablewatch import gx`: the checks of a Great Expectations suite, in the words of the configuration."""

import errno
import json
from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.terminal.output import Invocation, count
from monitor.terminal.problem import ExitCode, Problem, Stop, not_read

if TYPE_CHECKING:
    from rich.console import Console

    from checks.gx.suite import Imported

_LARGEST = 20_000_000
_ASK_WITHIN = timedelta(seconds=8)


def import_gx(
    ctx: typer.Context,
    suite: Annotated[Path, typer.Argument(help="The suite as JSON, as saved by Great Expectations.")],
    table: Annotated[str, typer.Option(help="Configured name of the table the checks are for.")],
) -> None:
    """Print the checks of a Great Expectations suite as YAML, to be put under `checks:` of a table.

    Expectations with an equivalent check become that check, others stay expectations; those that cannot run are listed.

    Example: tablewatch import gx gx/expectations/orders.json --table sales.orders
    """
    from checks.gx.suite import NotASuiteError, to_checks

    invocation: Invocation = ctx.obj
    _note_unknown_table(table, invocation)
    try:
        imported = to_checks(_read(suite), table=table)
    except NotASuiteError as error:
        raise Stop(ExitCode.USAGE, Problem("gx.not_a_suite", str(error), file=str(suite))) from None
    _validate_expectations(imported, invocation)
    _print_notes(imported, invocation)
    result = {
        "schema": "tablewatch.import-gx/1",
        "ok": True,
        "table": table,
        "checks": imported.checks,
        "remarks": [{"expectation": note.name, "text": note.text} for note in imported.remarks],
        "left_out": [{"expectation": note.name, "text": note.text} for note in imported.left_out],
    }
    invocation.emit(result, lambda console: _print_yaml(console, {"checks": imported.checks}))


def _read(path: Path) -> Any:
    from monitor.terminal.input_bounds import read_text

    try:
        return json.loads(
            read_text(path, most=_LARGEST),
            parse_constant=_finite,
            parse_float=_number,
        )
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise Stop(
                ExitCode.USAGE, Problem("gx.too_large", "the maximum size of a suite is 20 MB", file=str(path))
            ) from None
        problem = not_read("gx.not_read", path, error)
    except UnicodeDecodeError:
        problem = Problem("gx.not_read", f"{path} is not UTF-8 text")
    except json.JSONDecodeError as error:
        problem = Problem(
            "gx.not_json", f"not JSON: {error.msg.lower()}", file=str(path), line=error.lineno, column=error.colno
        )
    except (ValueError, RecursionError) as error:
        why = (
            "values are nested too deeply" if isinstance(error, RecursionError) else "it contains a number out of range"
        )
        problem = Problem("gx.not_json", f"not readable JSON: {why}", file=str(path))
    raise Stop(ExitCode.USAGE, problem)


def _finite(text: str) -> str:
    """Return a number of JSON as it is written.

    Raises:
        ValueError: it is not finite, such as NaN or 1e400.
    """
    if not isfinite(float(text)):
        raise ValueError
    return text


def _number(text: str) -> Any:
    from checks.parameters.numbers import parse_written

    return parse_written(_finite(text))


def _note_unknown_table(table: str, invocation: Invocation) -> None:
    """Report that the table is not in the configuration.

    Legitimate for one that is still to be written, else a typo.
    """
    from monitor.config import load_for
    from monitor.triage.create import unknown_table

    try:
        config = load_for(invocation).config
    except Stop as stop:
        # checks can be translated before there is a configuration, and while it is being repaired
        if any(problem.code != "config.not_found" for problem in stop.problems):
            invocation.note(f"note: the configuration has errors, so it is unknown whether it has '{table}'")
        return
    problem = unknown_table(table, config)
    if problem is not None:
        invocation.note(f"note: {problem.message}; {problem.hint}")


def _validate_expectations(imported: "Imported", invocation: Invocation) -> None:
    """Leave out expectations that Great Expectations does not know, or whose arguments it does not take."""
    expectations = [check for check in imported.checks if check["type"] == "expectation"]
    if not expectations:
        return
    from checks.gx.caller import PRELOAD
    from checks.gx.suite import Note
    from checks.gx.worker_door import DeclaredExpectation, validate
    from monitor.workers import WorkerCalls
    from sources import MissingExtra

    declared = [DeclaredExpectation(check["expectation"], check["kwargs"]) for check in expectations]
    try:
        with WorkerCalls(PRELOAD) as caller:
            answers = validate(declared, caller, within=_ASK_WITHIN)
    except (ChildProcessError, MissingExtra, TimeoutError) as error:
        invocation.note(f"note: the expectations could not be validated with Great Expectations: {error}")
        return
    for check, answer in zip(expectations, answers, strict=True):
        if answer is not None:
            imported.checks.remove(check)
            imported.left_out.append(Note(check["expectation"], answer))


def _print_notes(imported: "Imported", invocation: Invocation) -> None:
    for note in imported.remarks:
        invocation.note(f"note: {note.name}: {note.text}")
    for note in imported.left_out:
        invocation.note(f"skipped: {note.name}: {note.text}")
    total = count(len(imported.checks), "check")
    invocation.note(f"{total}; {count(len(imported.left_out), 'expectation')} could not be translated")


def _print_yaml(console: "Console", values: Any) -> None:
    import yaml

    from monitor.terminal.console import print_plain

    print_plain(console, yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=110))
