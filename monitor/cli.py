"""The command line: `tablewatch`. Commands live in `monitor/commands/`, one file each; a folder there is a group."""

import gc
import importlib
import os
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    "5 nothing selected, 70 bug, 130 interrupted."
)
_PREFIX: Final = "TABLEWATCH"
_PANELS = ("Watch", "Incidents and cost", "Set up", "Disclosure")
_COMMON: Final = re.compile(
    "alert|backup|check|config|demo|doctor|downtime|import|incident|init|privacy|product|release|report|run|serve|"
    "silence|status|suggest|table"
)
"""The commands that `--help` lists on one screen; `--help --all` lists all."""
_FORMER: Final[Mapping[str, str]] = {
    **{name: f"privacy {name}" for name in ("answer", "budget", "disclosure", "local", "remedy", "risk")},
    "web": "account",
}
"""Former names of commands, which go with the next release."""
_IN_ENVIRONMENT: Final = frozenset({"--config", "--format"})
"""Options that the environment may hold as well."""
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
def command_files(folder: str = "") -> Mapping[str, str]:
    """Return the module of every command by its words, such as `privacy risk`, in the order of the alphabet.

    `folder`: of which group. A group that is a folder is one of the commands, as what is in it is not.
    """
    package, words = f"{commands.__name__}.{folder}".rstrip("."), f"{folder} ".lstrip()
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(commands.__path__[0], folder))]))
    return {
        words + name.rstrip("_").replace("_", "-"): f"{package}.{name}" for name in names if not name.startswith("_")
    }


def command_paths() -> Iterator[str]:
    """Yield the words of every file of commands: of a group that is a folder, those of its files."""
    for name in command_files():
        yield from command_files(name) if _is_folder(name) else [name]


def _is_folder(name: str) -> bool:
    return Path(commands.__path__[0], name).is_dir()


def load_command(name: str) -> typer.Typer:
    """Import the file of a command and return its Typer application, named after the file."""
    folder, _, word = name.rpartition(" ")
    application: typer.Typer = importlib.import_module(command_files(folder)[name]).app
    application.info.name = word
    return application


@cache
def sum_up_command(name: str) -> Summary:
    """Read the summary of a command from its file, without importing it."""
    module = command_files(name.rpartition(" ")[0])[name]
    file = Path(commands.__path__[0], *module.removeprefix(f"{commands.__name__}.").split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
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
        parameter.show_envvar = False
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
    """Limit a parameter to values within `input_bounds`, and warn of those from the environment; once."""
    process = parameter.process_value
    if getattr(process, "is_bounded", False):
        return

    def bounded(ctx: Any, value: Any) -> Any:
        _warn_of_environment(ctx, parameter)
        problem = problem_of(value)
        result = process(ctx, value) if problem is None else None
        if problem is None:
            problem = problem_of(result)
        if problem is not None:
            raise typer.BadParameter(problem, ctx=ctx, param=parameter)
        return result

    vars(bounded)["is_bounded"] = True
    parameter.process_value = bounded


def _warn_of_environment(ctx: Any, parameter: Any) -> None:
    """Warn of an option that the environment holds and the next release will not read there."""
    source = ctx.get_parameter_source(parameter.name)
    if source is None or source.name != "ENVIRONMENT" or _IN_ENVIRONMENT.intersection(parameter.opts):
        return
    variable = parameter.envvar or f"{ctx.auto_envvar_prefix}_{parameter.name}".upper()
    invocation: Invocation = ctx.obj
    invocation.note(f"warning: the next release does not read {variable}; write {max(parameter.opts, key=len)}")


@cache
def build_command(name: str, former: str | None = None) -> Any:
    """Build the command, or the group of commands, of a file, with the shared options; once a process.

    `former`: the name by which it is called, if that is one that goes.
    """
    if _is_folder(name):
        summary = sum_up_command(name)
        return _with_shared_options(CommandFolder(name=name, help=summary.text, rich_help_panel=summary.panel))
    command: Any = typer.main.get_command(load_command(name))
    command.no_args_is_help = False  # that help would go to stdout; see _show_usage
    command.params = [parameter for parameter in command.params if parameter.name not in _ROOT_ONLY]
    return _with_all_shared_options(command, f"{_PREFIX}_{former or name}".replace(" ", "_"))


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


@dataclass(frozen=True, slots=True)
class _Commands(Mapping[str, Any]):
    """The commands of a folder by name, each built when it is asked for."""

    folder: str

    def __getitem__(self, name: str) -> Any:
        if (words := f"{self.folder} {name}".lstrip()) not in command_files(self.folder):
            raise KeyError(name)
        return build_command(words)

    def __contains__(self, name: object) -> bool:
        return f"{self.folder} {name}".lstrip() in command_files(self.folder)

    def __iter__(self) -> Iterator[str]:
        return (words.rpartition(" ")[2] for words in command_files(self.folder))

    def __len__(self) -> int:
        return len(command_files(self.folder))

    def summary(self, name: str) -> Summary:
        """Return what is listed of a command."""
        return sum_up_command(f"{self.folder} {name}".lstrip())


class CommandFolder(typer.core.TyperGroup):
    """The commands of `monitor/commands/` or of a folder there; a file is imported when its command is called."""

    def __init__(self, **attributes: Any) -> None:
        """Take the names from the folder of the group's name; `tablewatch` is all of it."""
        super().__init__(**attributes)
        self._is_root = self.name == app.info.name
        self.commands: Any = _Commands("" if self._is_root else str(self.name))
        self._listing = False
        self.lists_all = not self._is_root

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of the commands; for the help those that it lists, by panel."""
        if not self._listing:
            return list(self.commands)
        return sorted((name for name in self.commands if self.lists_all or _COMMON.fullmatch(name)), key=self._place)

    def _place(self, name: str) -> tuple[int, str]:
        panel = self.commands.summary(name).panel
        return _PANELS.index(panel) if panel in _PANELS else len(_PANELS), name

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a file; for the list of commands, only its summary."""
        if self._is_root and cmd_name in _FORMER:
            name = _FORMER[cmd_name]
            ctx.obj.note(f"warning: '{cmd_name}' is '{name}'; the old name goes with the next release")
            return build_command(name, cmd_name)
        if cmd_name not in self.commands:
            return None
        if not self._listing:
            return self.commands[cmd_name]
        summary = self.commands.summary(cmd_name)
        panel = summary.panel if self._is_root else None
        return typer.core.TyperCommand(cmd_name, help=summary.text, rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command, the command, and the rest of the arguments."""
        return super().resolve_command(ctx, _renamed_report(args, ctx.obj) if args[:1] == ["report"] else args)

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
            self.epilog = _CODES if self._is_root else None


_FORMER_REPORTS: Final = {"weekly": "--week", "monthly": "--month", "quarterly": "--quarter"}
"""Former commands of `report`, each with its option for another period than the last complete one."""


def _renamed_report(arguments: Sequence[str], invocation: Invocation) -> list[str]:
    """Return the arguments of a report with `--period`; `report weekly --week 2026-W46` goes with the next release."""
    former = next((word for word in arguments if word in _FORMER_REPORTS), None)
    if former is None or "--period" in arguments:
        return list(arguments)
    option = _FORMER_REPORTS[former]
    words = [part for word in arguments for part in (word.split("=", 1) if word.startswith(f"{option}=") else [word])]
    words.remove(former)
    if option in words:
        at = words.index(option)
        words[at] = "--period"
        if words[at + 1 : at + 2] == ["current"]:
            words[at + 1] = f"current-{option.removeprefix('--')}"
    else:
        words += ["--period", former]
    invocation.note(f"warning: 'report {former}' is 'report --period ...'; the old name goes with the next release")
    return words


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
