"""The command line: `tablewatch`. Commands live in `monitor/commands/`, one file each; see there how to add one."""

import gc
import importlib
import os
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
import typer.core
import typer.main

from monitor import commands
from monitor.terminal.console import StdoutLost, discard_stdout, guard_streams
from monitor.terminal.input_bounds import problem_of
from monitor.terminal.internal_error import crash_hook
from monitor.terminal.output import Format, Invocation, remember_config, remember_format
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.process_hardening import end_process, harden_process
from monitor.terminal.version import version as installed_version

if TYPE_CHECKING:
    from sources import MissingExtra
    from store import StoreError

_CODES = (
    "Exit codes: 0 ok, 1 a check failed, 2 usage or configuration, 3 could not evaluate and nothing failed, "
    "5 nothing selected, 70 bug, 130 interrupted. Options can also be given as TABLEWATCH_<COMMAND>_<OPTION>."
)
_PREFIX: Final = "TABLEWATCH"
_PANELS = ("Watch", "Incidents and cost", "Set up", "Disclosure")
_COMMON: Final = re.compile(
    "alert|backup|check|config|demo|doctor|downtime|import|incident|init|release|remedy|report|risk|run|serve|silence|"
    "status|suggest|table"
)
"""The commands that `--help` lists on one screen; `--help --all` lists all."""
_ROOT_ONLY = frozenset({"install_completion", "show_completion"})
"""Options that Typer gives to every application, but that make sense at the root only."""
_SUMMARY = re.compile(r'"""`tablewatch [^`]+`: (?P<first>.)(?P<rest>.*?)(\.(\s|"|$)|"|$)')
_PANEL = re.compile(r'rich_help_panel="(?P<panel>[^"]+)"')


@dataclass(frozen=True, slots=True)
class Summary:
    """What is listed of a command: a sentence, and the panel it is listed in."""

    text: str
    panel: str | None


@cache
def command_files() -> Mapping[str, str]:
    """Return the module of every command by the command's name, in the order of the alphabet."""
    modules = sorted(
        module.name for module in pkgutil.iter_modules(commands.__path__) if not module.name.startswith("_")
    )
    return {module.rstrip("_"): f"{commands.__name__}.{module}" for module in modules}


def load_command(name: str) -> typer.Typer:
    """Import the file of a command and return its Typer application, named after the file."""
    application: typer.Typer = importlib.import_module(command_files()[name]).app
    application.info.name = name
    return application


@cache
def sum_up_command(name: str) -> Summary:
    """Read the summary of a command from its file, without importing it."""
    file = Path(commands.__path__[0], command_files()[name].rpartition(".")[2]).with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    summary, panel = _SUMMARY.match(text), _PANEL.search(text)
    sentence = f"{summary['first'].upper()}{summary['rest']}." if summary else ""
    return Summary(sentence, panel["panel"] if panel else None)


def _shared(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="Configuration file or folder.", callback=remember_config, expose_value=False
        ),
    ] = None,
    output_format: Annotated[
        Format | None,
        typer.Option("--format", help="Output format: text or JSON.", callback=remember_format, expose_value=False),
    ] = None,
) -> None:
    """Declare the options that every command has."""


@cache
def _shared_options() -> Sequence[Any]:
    form = typer.Typer(add_completion=False)
    form.command()(_shared)
    shared = typer.main.get_command(form).params
    shared[-1].name = "format"  # so that its environment twin ends in FORMAT
    return shared


def _with_shared_options(command: Any) -> Any:
    """Return a command with the shared options that it does not declare itself."""
    own = {word for parameter in command.params for word in parameter.opts}
    command.params += [option for option in _shared_options() if not own.intersection(option.opts)]
    _refuse_repeats(command)
    for parameter in command.params:
        parameter.show_envvar = False  # the twins follow one rule, said in the docs; listing them doubles every page
        _limit_parameter(parameter)
    return command


def _refuse_repeats(command: Any) -> None:
    """Refuse an option of one value that is given twice: the first would be dropped without a word."""
    make_parser = command.make_parser

    def make_strict(ctx: Any) -> Any:
        parser = make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: Sequence[str]) -> Any:
            values, rest, given = parse(args)
            for option, times in Counter(given).items():
                if times > 1 and option.param_type_name == "option" and not (option.multiple or option.count):
                    message = f"it is given {times} times; expected once"
                    raise typer.BadParameter(message, ctx=ctx, param=option)
            return values, rest, given

        parser.parse_args = parse_args
        return parser

    command.make_parser = make_strict


def _limit_parameter(parameter: Any) -> None:
    """Limit a parameter to values within `input_bounds`; once, also where commands share it."""
    process = parameter.process_value
    if getattr(process, "is_bounded", False):
        return

    def bounded(ctx: Any, value: Any) -> Any:
        problem = problem_of(value)
        result = process(ctx, value) if problem is None else None
        if problem is None:
            problem = problem_of(result)
        if problem is not None:
            raise typer.BadParameter(problem, ctx=ctx, param=parameter)
        return result

    vars(bounded)["is_bounded"] = True
    parameter.process_value = bounded


@cache
def build_command(name: str) -> Any:
    """Build the command, or the group of commands, of a file, with the shared options; once a process."""
    command: Any = typer.main.get_command(load_command(name))
    command.no_args_is_help = False  # that help would go to stdout; see _show_usage
    command.params = [parameter for parameter in command.params if parameter.name not in _ROOT_ONLY]
    return _with_all_shared_options(command, f"{_PREFIX}_{name}")


def _with_all_shared_options(command: Any, prefix: str) -> Any:
    """Return a command, or a group with all that is in it, with the shared options and environment twins."""
    for name, inner in getattr(command, "commands", {}).items():
        _with_all_shared_options(inner, f"{prefix}_{name}")
    _name_environment_variables(command, prefix)
    return _with_shared_options(command)


def _name_environment_variables(command: Any, prefix: str) -> None:
    """Name the environment variable of an option after the option, where its parameter has another name."""
    for parameter in command.params:
        word = max(parameter.opts, key=len).lstrip("-").replace("-", "_")
        if parameter.param_type_name == "option" and word != parameter.name:
            parameter.envvar = f"{prefix}_{word}".replace("-", "_").upper()


def _summary_command(name: str) -> typer.core.TyperCommand:
    summary = sum_up_command(name)
    return typer.core.TyperCommand(name, help=summary.text, rich_help_panel=summary.panel)


def _panel_first(name: str) -> tuple[int, str]:
    panel = sum_up_command(name).panel
    return _PANELS.index(panel) if panel in _PANELS else len(_PANELS), name


class CommandFolder(typer.core.TyperGroup):
    """The commands of `monitor/commands/`; a file is imported when its command is called or listed."""

    def __init__(self, **attributes: Any) -> None:
        """Take the names from the folder."""
        super().__init__(**attributes)
        self.commands = dict.fromkeys(command_files(), self)  # for "did you mean"; get_command gives the real ones
        self._listing = False
        self.lists_all = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of the commands; for the help those that it lists, by panel."""
        if not self._listing:
            return list(command_files())
        return sorted((name for name in command_files() if self.lists_all or _COMMON.fullmatch(name)), key=_panel_first)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - Typer's signature
        """Return the command of a file; for the list of commands, only its summary."""
        if cmd_name not in command_files():
            return None
        return _summary_command(cmd_name) if self._listing else build_command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, which lists the commands."""
        self._listing = True
        if not self.lists_all:
            others = ", ".join(name for name in command_files() if not _COMMON.fullmatch(name))
            self.epilog = f"More commands (--help --all): {others}.\n\n{_CODES}"
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False
            self.epilog = _CODES


_NO_COMMAND: Final = re.compile(r"No such command '(?P<name>[^']*)'")
_FEW_COMMANDS: Final = 12
_OTHER_WORDS: Final[Mapping[str, Sequence[str]]] = {
    "watch": ["run"],
    "start": ["run"],
    "validate": ["config check"],
    "log": ["incident list", "alert log"],
    "logs": ["incident list", "alert log"],
}
"""Commands by words that other tools have for them."""
_NO_OPTION: Final = re.compile(r"No such option: (?P<option>\S+)")
_OTHER_OPTIONS: Final[Mapping[str, str]] = {
    "--json": "'--format json'",
    "--quiet": "'--only-failed', or '> /dev/null' and the exit code",
    "-q": "'--only-failed', or '> /dev/null' and the exit code",
    "--verbose": "'--all', '--show-rows 10' or '--show-sql'",
    "-v": "'--all', '--show-rows 10' or '--show-sql'",
}
"""What `check` has for options of other tools; of other commands, only what all have."""

app = typer.Typer(
    name="tablewatch",
    cls=CommandFolder,
    help="Data quality monitoring: checks, incidents, data downtime and its cost.",
    epilog=_CODES,
    context_settings={"auto_envvar_prefix": _PREFIX, "help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tablewatch {installed_version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_show_version,
            is_eager=True,
            allow_from_autoenv=False,
        ),
    ] = False,
) -> None:
    """Take the options that stand before the command."""


@cache
def _build_root() -> Any:
    return _with_shared_options(typer.main.get_command(app))


def run(arguments: Sequence[str], invocation: Invocation) -> int:
    """Run one command and return its exit code. Unexpected errors are not caught."""
    root = _build_root()
    root.lists_all = "--all" in arguments and {*arguments} <= {"--all", "--help", "-h"}
    try:
        code = root.main(
            ["--help"] if root.lists_all else list(arguments),
            prog_name="tablewatch",
            standalone_mode=False,
            obj=invocation,
        )
    except StdoutLost as stop:
        invocation.format = Format.HUMAN  # on standard error: the other stream is gone
        invocation.show(stop.problems)
        return int(stop.code)
    except Stop as stop:
        return _show_stop(stop, invocation)
    except typer.TyperException as error:
        return _show_usage(error, arguments, invocation)
    except typer.Abort:
        return int(ExitCode.INTERRUPTED)
    except _outside_errors() as error:  # in the middle of a command
        return _show_stop(_stop_for(error), invocation)
    return code if isinstance(code, int) else int(ExitCode.OK)


def _show_stop(stop: Stop, invocation: Invocation) -> int:
    """Show the problems that ended a command, with `--format github` as annotations; return its exit code."""
    problems = stop.problems
    if problems and invocation.format == "github":
        from monitor.integrations.github import problems_as_annotations, repository

        invocation.write(problems_as_annotations(problems, root=repository(), redact=invocation.redactor))
    elif problems:
        invocation.show(problems)
    return int(stop.code)


def _outside_errors() -> "tuple[type[MissingExtra], type[StoreError]]":
    from sources import MissingExtra  # here, since only what was raised asks for them: `--help` loads no database
    from store import StoreError

    return MissingExtra, StoreError


def _stop_for(error: "MissingExtra | StoreError") -> Stop:
    """Return how a missing package ends a command, or a store that was locked, full or taken away."""
    if isinstance(error, ImportError):
        return Stop(ExitCode.USAGE, Problem(f"{error.extras[0]}.missing", error.reason, hint=error.hint))
    return Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error)))


def _show_usage(error: typer.TyperException, arguments: Sequence[str], invocation: Invocation) -> int:
    context = getattr(error, "ctx", None)
    if _wants_json(arguments, getattr(context, "auto_envvar_prefix", None)):
        invocation.format = Format.JSON
    message = _format_usage_error(error, getattr(context, "command", None))
    if context is not None and message == "Missing command" and not invocation.as_json:
        with redirect_stdout(sys.stderr):
            context.get_help()
        return int(ExitCode.USAGE)
    hint = f"see '{context.command_path} --help'" if context is not None else None
    invocation.show([Problem("usage", message[:1].lower() + message[1:], hint=hint)])
    return int(ExitCode.USAGE)


def _format_usage_error(error: typer.TyperException, group: Any) -> str:
    """Format a usage error of Typer with the value that was given and what was expected."""
    message = error.format_message().rstrip(".")
    if (unknown := _NO_COMMAND.match(message)) is not None:
        return f"no such command '{unknown['name']}'{_suggest_commands(unknown['name'], group)}"
    if (wrong := _NO_OPTION.match(message)) is not None and (hint := _other_option(wrong["option"], group)):
        return f"no such option: {wrong['option']}; did you mean {hint}?"
    before, result, expected = message.partition(": Input should be ")
    if not result:
        return message.replace(": Value error, ", ": ")
    cause: Any = error.__cause__
    return f"{before}: '{cause.errors()[0]['input']}' is not {expected.partition(',')[0]}"


def _other_option(option: str, command: Any) -> str | None:
    """Return what a command has for an option of another tool; None if it has nothing for it."""
    is_check = getattr(command, "name", None) == "check"
    return _OTHER_OPTIONS.get(option) if is_check or option == "--json" else None


def _suggest_commands(name: str, group: Any) -> str:
    """Suggest the commands of a group nearest to a word; without any, list the commands if there are few."""
    from sources import nearest

    commands = list(getattr(group, "commands", ()))
    other = _OTHER_WORDS.get(name, ()) if "check" in commands and "run" in commands else ()
    near = other or nearest(name, commands, most=3)
    if near:
        return f"; did you mean {' or '.join(repr(item) for item in near)}?"
    return f"; known: {', '.join(commands)}" if 0 < len(commands) <= _FEW_COMMANDS else ""


def _wants_json(arguments: Sequence[str], prefix: str | None) -> bool:
    """Check the raw arguments for the JSON format: a usage error may precede the parsing of the option."""
    parts = [word.removeprefix("--format=") for word in arguments if word.startswith("--format=")]
    parts += [after for word, after in pairwise(arguments) if word == "--format"]
    if parts:
        return Format.JSON in parts
    return Format.JSON in {os.environ.get("TABLEWATCH_FORMAT"), os.environ.get(f"{prefix}_FORMAT")}


_ALLOCATIONS: Final = 100_000
"""Objects between two searches for garbage; with Python's 700, searching imports takes a tenth of a command."""


def main() -> None:
    """Run the command line; the entry point of `tablewatch`."""
    gc.set_threshold(_ALLOCATIONS)
    harden_process()
    guard_streams()
    invocation = Invocation()
    sys.excepthook = crash_hook(invocation)
    code = run(sys.argv[1:], invocation)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except StdoutLost as stop:
        invocation.format = Format.HUMAN
        invocation.show(stop.problems)
        code = int(stop.code)
    gc.freeze()  # what is left is not searched for garbage when the interpreter ends
    end_process(code)
