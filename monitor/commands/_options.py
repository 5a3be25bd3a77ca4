"""The words that options take, again: importing those of the packages below would cost `--help` a second."""

import getpass
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

import typer

from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from incidents import Window
    from monitor.triage.time_parsing import TypedTimes
    from remedies import Progress

_WINDOW = timedelta(days=28)
_STEPS: Final = 200
"""Steps in which the progress of work is shown that counts no pieces."""

Done = TypeVar("Done")
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


class SeverityWord(StrEnum):
    """Severity of a failure."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class KindWord(StrEnum):
    """What an incident is about."""

    QUALITY = "quality"
    DISCLOSURE = "disclosure"


class StateWord(StrEnum):
    """Where an incident stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class ResolutionWord(StrEnum):
    """How an incident ended."""

    FIXED = "fixed"
    NO_ACTION = "no-action"
    EXPECTED = "expected"
    FALSE_POSITIVE = "false-positive"
    DUPLICATE = "duplicate"


class FoundByWord(StrEnum):
    """How it was detected."""

    CHECK = "check"
    PERSON = "person"


class LocaleWord(StrEnum):
    """Which language a page speaks."""

    EN = "en"
    JA = "ja"


Locale = Annotated[LocaleWord | None, typer.Option(help="The language.", show_default="the configuration's")]


def read_number(text: str) -> int:
    """Read a number of an incident, silence or event, also as it is shown: `#41`."""
    number = str(text).removeprefix("#")
    if not re.fullmatch("[1-9][0-9]{0,17}", number):
        raise typer.BadParameter(f"'{text}' is not a number such as 41")
    return int(number)


def window_between(times: "TypedTimes", now: datetime, *, start: str | None, end: str | None) -> "Window":
    """Return the window from `--from` to `--to`; by default the last 28 days."""
    from incidents import Window

    until = times.bound("--to", end) or now
    since = times.bound("--from", start) or until - _WINDOW
    if since >= until:
        raise Stop(ExitCode.USAGE, Problem("usage", "the window is empty: --from must be before --to"))
    return Window.of(since, until)


def who(text: str | None) -> str:
    """Return who does something: whoever was named, else the name under which this machine knows its user."""
    if text is None:
        return _os_user() or "somebody"
    if not text.strip():
        raise Stop(ExitCode.USAGE, Problem("usage", "--by is empty; write a name"))
    return " ".join(text.split())


def how_known(name: str) -> str | None:
    """Return what is recorded beside a name that was typed: the user of this machine; None where that is the name."""
    user = _os_user()
    return None if user in {None, name} else f"OS user {user}"


def actor(text: str | None) -> str:
    """Return who is recorded as having done something: the name, and the user of this machine where that is another."""
    name = who(text)
    known = how_known(name)
    return name if known is None else f"{name} ({known})"


def _os_user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        return None


def check_web_installed(*, oidc: bool = False) -> None:
    """Check whether the extra `[web]` is installed, and `[oidc]` where an identity provider signs people in.

    Raises:
        Stop: it is not.
    """
    from importlib.util import find_spec

    needed = ("starlette", "uvicorn", "argon2", *(("authlib",) if oidc else ()))
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        why = f"the web application needs {', '.join(missing)}"
        extras = "web,oidc" if oidc else "web"
        raise Stop(ExitCode.USAGE, Problem("web.missing", why, hint=f"pip install 'tablewatch[{extras}]'"))


def with_progress(name: str, work: "Callable[[Progress], Done]") -> Done:
    """Do work that reports how far it is, and return what it returns.

    Raises:
        Stop: the table does not fit, or the result does not hold what is promised.
    """
    from monitor.terminal.console import progress
    from remedies import Misfit, Refused

    done = 0
    with progress(name, _STEPS, share=True) as advance:

        def tell(share: float) -> None:
            nonlocal done
            while done < int(share * _STEPS):
                done += 1
                advance()

        try:
            return work(tell)
        except Misfit as error:
            raise Stop(ExitCode.USAGE, Problem("remedy.misfit", str(error))) from None
        except Refused as error:
            raise Stop(ExitCode.FAILED, Problem("remedy.refused", str(error))) from None
