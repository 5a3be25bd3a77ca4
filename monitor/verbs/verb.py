"""What a verb is, which fields it takes, and on whose behalf it acts. Its import is cheap: `--help` waits."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeAlias, TypeVar

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from monitor.config.project import Project
    from monitor.triage.time_parsing import TypedTimes
    from store import Store

Done = TypeVar("Done")


class Access(StrEnum):
    """The right that a route requires."""

    PUBLIC = "public"
    READ = "read"
    RESPOND = "respond"
    RELEASE = "release"
    ADMINISTER = "administer"
    ASK = "ask"
    OWN_ACCOUNT = "own-account"


@dataclass(frozen=True, slots=True)
class Typed:
    """How a command takes a field, where that does not follow from its name and type.

    `argument`: by its place, not as an option. `option`: its name. `removal`: the option that gives None explicitly.
    `asked`: it is a secret, which a command asks for.
    """

    metavar: str | None = None
    option: str | None = None
    argument: bool = False
    removal: str | None = None
    asked: bool = False


def _one_line(text: str) -> str:
    from monitor.triage.create import tidy

    tidied = tidy(text)
    if not tidied:
        raise ValueError("expected a text that is not empty")
    return tidied


def _lines(text: str) -> str:
    """Return a text with its lines, without other control characters and blank lines around it."""
    lines = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text.replace("\r\n", "\n"))
    cleaned = "\n".join(line.rstrip() for line in lines.split("\n")).strip("\n")
    if not cleaned:
        raise ValueError("expected a text that is not empty")
    return cleaned


Number: TypeAlias = Annotated[int, Ge(1), Le(2**63 - 1)]
"""The number of a row; databases hold no larger."""
Name: TypeAlias = Annotated[str, MinLen(1), MaxLen(500)]
_NOT_EMPTY: Final = Field(json_schema_extra={"minLength": 1})
Line: TypeAlias = Annotated[str, MaxLen(500), AfterValidator(_one_line), _NOT_EMPTY]
Text: TypeAlias = Annotated[str, MaxLen(10_000), AfterValidator(_one_line), _NOT_EMPTY]
Lines: TypeAlias = Annotated[str, MaxLen(10_000), AfterValidator(_lines), _NOT_EMPTY]
"""A text of several lines, which pages read as Markdown."""
_LENGTH: Final = "([0-9]{1,5}w)?([0-9]{1,5}d)?([0-9]{1,6}h)?([0-9]{1,8}m)?([0-9]{1,9}s)?"
_ISO: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
Time: TypeAlias = Annotated[
    str,
    MaxLen(60),
    Typed(metavar="TIME"),
    Field(json_schema_extra={"pattern": f"^({_ISO}|now|[0-9]{{1,5}}[wdhms] ago)$", "examples": ["2026-11-11T10:10Z"]}),
]
"""ISO 8601, a local time of the project, or '2h ago'."""
Length: TypeAlias = Annotated[
    str,
    MaxLen(20),
    Typed(metavar="LENGTH"),
    Field(json_schema_extra={"pattern": f"^{_LENGTH}$", "minLength": 2, "examples": ["2h"]}),
]
"""Such as 2h or 1d."""


class Query(BaseModel):
    """The values of a path and of a query string; others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Query):
    """No query and no body."""


class Body(BaseModel):
    """The fields of a verb."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Acting:
    """On whose behalf a verb acts, on what, and how it checks rights and tells more than its result.

    `name` is the person or program, `proof` how that is known (a password, a token, a user of the machine).
    `check_table` raises where the actor may not act on a table. `owners`: in whose name the actor acts only.
    `named` returns what a field is called where it was given: `--until` of a command.
    `ask` returns a secret that was not given, where a person can be asked at once.
    `administers`: it may change the accounts of others. `session`: the digest of that of its browser.
    """

    project: "Project"
    store: "Store"
    name: str
    proof: str | None = None
    check_table: Callable[[str], None] = lambda _: None
    owners: frozenset[str] = frozenset()
    note: Callable[[str], None] = lambda _: None
    named: Callable[[str], str] = str
    ask: Callable[[], str | None] = lambda: None
    administers: bool = True
    session: bytes | None = None

    @property
    def actor(self) -> str:
        """Return the name to record."""
        return self.name if self.proof is None else f"{self.name} ({self.proof})"

    def times(self, now: datetime) -> "TypedTimes":
        """Return what reads the times of fields at a moment."""
        from monitor.triage.time_parsing import TimeReader, TypedTimes

        return TypedTimes(TimeReader(self.project.config.timezone, now), self.note, self.named)

    def end(self, now: datetime, *, length: str | None, until: str | None) -> datetime:
        """Return when something ends that is given by its length or by its end.

        Raises:
            Stop: neither was given, or both, or it is no time.
        """
        from monitor.terminal.problem import ExitCode, Problem, Stop

        if (length is None) == (until is None):
            message = f"use either {self.named('for')} or {self.named('until')}"
            raise Stop(ExitCode.USAGE, Problem("usage", message, hint=f"{self.named('for')} 2h"))
        times = self.times(now)
        return times.moment("until", until) or now + times.length("for", length or "")


@dataclass(frozen=True, slots=True)
class Verb(Generic[Done]):
    """A verb of a group such as `incident`: what it takes, who may use it, what it does, and how it is described.

    `target` has the fields of its path, which a command takes as arguments. `act` gets the target and the body and
    returns what was changed. `summary` is one sentence without a full stop; `detail` follows it in the help. `tool` is
    its name among those of assistants, if it is one. `whole`: the configuration must be free of errors as a whole.
    `creates`: there need not be a store yet. `recorded`: the name of who acts is recorded, so the command takes `--by`.
    `secret`: a field or what it returns is one, so that no answer is stored to be given again.
    """

    name: str
    target: type[BaseModel]
    body: type[Body]
    act: Callable[[Acting, Any, Any], Done]
    summary: str
    example: str
    detail: str = ""
    access: Access = Access.RESPOND
    tool: str | None = None
    whole: bool = False
    creates: bool = False
    recorded: bool = True
    secret: bool = False
