"""What several commands share: options and their words, actors, windows, progress, written files, lists in options.

The words of the packages below are repeated here: importing those packages would cost `--help` a second.
"""

import getpass
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

import typer

from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from incidents import Window
    from monitor.config import Config
    from monitor.config.project import Project
    from monitor.terminal.output_file import ProtectedFiles
    from monitor.triage.time_parsing import TypedTimes
    from remedies import Progress, Remedy
    from store import ReadTransaction

_WINDOW = timedelta(days=28)
_STEPS: Final = 200
"""Steps of the progress bar of work that counts no pieces."""

Done = TypeVar("Done")
F = TypeVar("F", bound=StrEnum)

Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
By: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="WHO", help="Name recorded as the actor; by default the current user.")
]

From: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Start of the window: 2026-11-01, a time, or 7d. By default 28 days before its end.",
    ),
]
To: TypeAlias = Annotated[str | None, typer.Option(metavar="TIME", help="End of the window; by default now.")]


def known_tables(invocation: Invocation, *, write: bool = True) -> str | None:
    """Read which tables the patterns of the configuration stand for; return what is known now, None without patterns.

    Without `write`, what is new is neither kept nor logged.
    """
    from monitor.suggest.expansion import refresh_for

    refreshed = refresh_for(invocation, write=write)
    return None if refreshed is None else refreshed.text


class LocaleWord(StrEnum):
    """The language of a page."""

    EN = "en"
    JA = "ja"


Locale = Annotated[LocaleWord | None, typer.Option(help="The language.", show_default="the configuration's")]


def read_number(text: str) -> int:
    """Read a number of an incident, silence or event, also as it is shown: `#41`."""
    number = str(text).removeprefix("#")
    if not re.fullmatch("[1-9][0-9]{0,17}", number):
        raise typer.BadParameter(f"'{text}' is not a number such as 41")
    return int(number)


@contextmanager
def reading(project: "Project") -> "Iterator[ReadTransaction]":
    """Open the store of a project to read it.

    Raises:
        Stop: it cannot be used, or something is not in it.
    """
    from monitor.triage.errors import explained

    with project.open_store(existing=True) as store, explained(), store.reading() as tx:
        yield tx


def typed_times(project: "Project", invocation: Invocation, now: datetime) -> "TypedTimes":
    """Return what reads the times of options, on the project's wall clock where they have no offset."""
    from monitor.triage.time_parsing import TimeReader, TypedTimes

    return TypedTimes(TimeReader(project.config.timezone, now), invocation.note)


def window_between(times: "TypedTimes", now: datetime, *, start: str | None, end: str | None) -> "Window":
    """Return the window from `--from` to `--to`; by default the last 28 days."""
    from incidents import Window

    until = times.bound("--to", end) or now
    since = times.bound("--from", start) or until - _WINDOW
    if since >= until:
        raise Stop(ExitCode.USAGE, Problem("usage", "the window is empty: --from must be before --to"))
    return Window.of(since, until)


def check_table(config: "Config", table: str) -> None:
    """Check that a table is configured.

    Raises:
        Stop: it is not.
    """
    from monitor.triage.create import unknown_table

    if (problem := unknown_table(table, config)) is not None:
        raise Stop(ExitCode.USAGE, problem)


def who(text: str | None) -> str:
    """Return the actor of a command: the name given, else the user of this machine."""
    if text is None:
        return _os_user() or "somebody"
    if not text.strip():
        raise Stop(ExitCode.USAGE, Problem("usage", "--by is empty; write a name"))
    return " ".join(text.split())


def os_account(name: str) -> str | None:
    """Return the user of this machine, to be recorded beside a typed name; None where it is that name."""
    user = _os_user()
    return None if user in {None, name} else f"OS user {user}"


def actor(text: str | None) -> str:
    """Return the actor to record: the name, and the user of this machine where that is another."""
    name = who(text)
    account = os_account(name)
    return name if account is None else f"{name} ({account})"


def _os_user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        return None


def check_web_installed(*, oidc: bool = False) -> None:
    """Check whether the extra `[web]` is installed, and `[oidc]` where an identity provider signs people in.

    Raises:
        MissingExtra: it is not.
    """
    from sources import require_extra

    require_extra("starlette", "uvicorn", "argon2", *(("authlib", "requests") if oidc else ()))


def with_progress(name: str, work: "Callable[[Progress], Done]") -> Done:
    """Run `work` with a progress bar and return its result.

    Raises:
        Stop: the table does not fit, or the result does not meet the limits.
    """
    from monitor.terminal.console import progress
    from remedies import Misfit, Refused

    done = 0
    with progress(name, _STEPS, share=True) as advance:

        def report(share: float) -> None:
            nonlocal done
            while done < int(share * _STEPS):
                done += 1
                advance()

        try:
            return work(report)
        except Misfit as error:
            raise Stop(ExitCode.USAGE, Problem("remedy.misfit", str(error))) from None
        except Refused as error:
            raise Stop(ExitCode.FAILED, Problem("remedy.refused", str(error))) from None


class CheckFormat(StrEnum):
    """Output formats of check results."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"


class ConfigFormat(StrEnum):
    """Output formats of configuration problems."""

    HUMAN = "human"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def format_for(given: F | None, out: Path | None, by_suffix: Mapping[str, F], *, default: F, code: str) -> F:
    """Return the format given by the option, else by the extension of the file, else the default.

    `code`: of the problem.

    Raises:
        Stop: the extension is of another format than --format, or of none that is supported.
    """
    ending = "" if out is None else out.suffix.lower()
    named = by_suffix.get(ending)
    if given is None and ending and named is None:
        endings = ", ".join(by_suffix)
        text = f"{out} ends in '{ending}', expected one of {endings}; choose one of these, or use --format"
        raise Stop(ExitCode.USAGE, Problem(code, text))
    if given is not None and named not in {None, given}:
        text = f"{out} has the file type {named}, but --format is {given}; change one of them"
        raise Stop(ExitCode.USAGE, Problem(code, text))
    return given or named or default


@dataclass(frozen=True, slots=True)
class Page:
    """The target of a page: a file, or standard output if `out` is None. `code`: of write problems."""

    out: Path | None
    force: bool
    protected: "ProtectedFiles"
    code: str

    def check(self) -> None:
        """Check that the file can be written, before any work is done.

        Raises:
            Stop: it cannot.
        """
        from monitor.terminal.output_file import check_target

        if self.out is not None:
            check_target(self.out, protected=self.protected, force=self.force, code=self.code)

    def write(self, content: str | bytes, invocation: Invocation) -> None:
        """Write the page; bytes to a file only.

        Raises:
            Stop: the file cannot be written.
        """
        from monitor.terminal.output_file import write_file

        if self.out is None:
            invocation.write(str(content))
            return
        self.check()
        write_file(
            self.out,
            lambda draft: draft.write_bytes(content if isinstance(content, bytes) else content.encode()),
            lambda _: None,
            replace=self.force,
            code=self.code,
        )
        invocation.note(f"wrote {self.out}")


@contextmanager
def limits_in_words(together: str = "limits") -> Iterator[None]:
    """Raise validation errors of limits as problems. `together`: the prefix of an error about several limits.

    Raises:
        Stop: a limit is out of range.
    """
    from pydantic import ValidationError

    from checks.parameters.errors import describe_error

    try:
        yield
    except ValidationError as error:
        problems = [
            Problem("risk.limit", describe_error(item, whole=together))
            for item in error.errors(include_url=False, include_input=False)
        ]
        raise Stop(ExitCode.USAGE, *problems) from None


def names_in(text: str | None) -> Sequence[str]:
    """Read `a,b`."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def pairs_in(text: str | None) -> dict[str, str]:
    """Read `a,b=c` as {a: a, b: c}."""
    pairs = (part.partition("=") for part in names_in(text))
    return {name.strip(): (other or name).strip() for name, _, other in pairs}


def number_in(text: str) -> int | float | str:
    """Read a number; return other text, such as `3d`, unchanged."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_LEAST_KEY: Final = 16
_MOST_KEY: Final = 1 << 16


def hiding_key(file: Path | None) -> bytes | None:
    """Read the key that chooses what is hidden in addition; None without a file.

    Raises:
        Stop: the file cannot be read, is no regular file, or is shorter than 16 bytes or longer than 64 KiB.
    """
    if file is None:
        return None
    try:
        is_regular = S_ISREG(file.stat().st_mode)  # to open a pipe waits for its writer
        key = _beginning(file).strip() if is_regular else b""
    except OSError as error:
        message = f"--key: {file} cannot be read ({error.strerror}); expected a file of {_LEAST_KEY} bytes or more"
        raise Stop(ExitCode.USAGE, Problem("remedy.key", message)) from None
    if not _LEAST_KEY <= len(key) <= _MOST_KEY:
        seen = f"has {len(key):,} bytes" if is_regular else "is no regular file"
        message = f"--key: {file} {seen}; expected {_LEAST_KEY} to {_MOST_KEY:,} bytes in a file"
        raise Stop(ExitCode.USAGE, Problem("remedy.key", message, hint="openssl rand -hex 32 > FILE"))
    return key


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MOST_KEY + 1)


def note_compiling(invocation: Invocation, remedies: "Iterable[Remedy]") -> None:
    """Report why the first run on a machine takes longer, where one of the remedies has yet to be compiled."""
    if any(remedy.compiles_first() for remedy in remedies):
        invocation.note("compiling the search for this machine, once, about a minute")
