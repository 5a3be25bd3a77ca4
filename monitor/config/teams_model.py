"""Teams that keep a part of the configuration in a folder of their own, and what their files may define."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal, TypeAlias

from annotated_types import MinLen
from pydantic import Field

from monitor.config.scalars import Section

TeamSection: TypeAlias = Literal["tables", "contracts", "products", "maintenance", "alerts"]

_WILD = frozenset("*?[")


class Team(Section):
    """A team with a folder of its own: its files may define what is granted here, and nothing else.

    Names are granted by patterns (`*`, `?`, `[...]`).
    """

    folder: Annotated[str, MinLen(1)] = Field(
        description="Folder of its files, below that of this file; every *.yaml and *.yml in it is the team's."
    )
    may: tuple[TeamSection, ...] = Field(
        ("tables", "contracts", "products", "maintenance"),
        description="Sections that it may write; of `alerts` the channels and the routes.",
    )
    tables: Annotated[tuple[str, ...], MinLen(1)] = Field(description="Tables that it may define and make promises of.")
    sources: tuple[str, ...] = Field((), description="Sources that its tables may be in; each is granted as a whole.")
    owners: tuple[str, ...] = Field((), description="Owners that it may name; by default none.")
    domains: tuple[str, ...] = Field((), description="Domains that its tables may be in; by default none.")
    channels: tuple[str, ...] = Field((), description="Channels that it may define and send to; by default none.")
    variables: tuple[str, ...] = Field((), description="Environment variables that it may read; by default none.")


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Check whether a name matches one of some patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_covered(pattern: str, granted: Iterable[str]) -> bool:
    """Check whether all that a pattern matches is matched by one that was granted, as far as that is certain.

    That is so of a name that matches, of the same pattern, and of one that begins with all that stands before the `*`
    at the end of a granted one.
    """
    if not _WILD & set(pattern):
        return fits(pattern, granted)
    certain = pattern[: min(pattern.index(sign) for sign in _WILD & set(pattern))]
    return any(
        pattern == other or (other.endswith("*") and not _WILD & set(other[:-1]) and certain.startswith(other[:-1]))
        for other in granted
    )
