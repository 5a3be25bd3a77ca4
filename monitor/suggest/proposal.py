"""What a proposal is: a check as it would be configured, why, how sure that is, and what it finds now.

How sure a proposal is has one of three words, and only these meanings:

    declared   the source's catalogue states it
    high       no row breaks it, and either at least 3,000 rows show it (then at most 0.1 % of rows break it, at 95 %),
               or at least 30 rows show it and the name of the column says the same
    low        anything else: a person has to decide

`init` writes what is declared or high and passes now as a check, all else as a comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from checks import Status
from checks.sampling.beta import beta_quantile

ENOUGH_ROWS: Final = 3_000
"""Rows without exception from which on at most 0.1 % of all rows break a rule, at 95 %: 3 / 3,000."""
ENOUGH_WITH_NAME: Final = 30
MOST_MISSING: Final = 0.001
"""The largest Good-Turing estimate of the rows that hold a value which was not seen, for a list of accepted values."""

_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s.\-]+")
_IDENTIFIER: Final = re.compile(r"(^|_)(id|ids|uuid|guid|key|pk|no|nr|num|number)$")
_UNIQUE_NAME: Final = re.compile(r"(^|_)(e_?mail|sku|isbn|ean|iban|slug|token|hash|barcode|vin|login|username)$")


class Confidence(StrEnum):
    """The confidence of a proposal; see the module."""

    DECLARED = "declared"
    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class CurrentOutcome:
    """The outcome of a proposed check on the table as it is now."""

    status: Status
    message: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A check that is proposed for a table, or a setting of its source.

    `check`: as it stands under `checks`; None for a setting. `setting`: as it stands in the source's or the table's
    section. `breaks_at_most`: the share of rows that break it, at most, at 95 %; None where rows say nothing of it.
    `holds_values`: whether the check holds values of the table. `now`: None where it was not tried.
    """

    kind: str
    columns: tuple[str, ...]
    why: str
    confidence: Confidence
    check: Mapping[str, Any] | None = None
    setting: Mapping[str, Any] | None = None
    breaks_at_most: float | None = None
    holds_values: bool = False
    now: CurrentOutcome | None = None

    @property
    def fails_now(self) -> bool:
        """Check whether the proposed check would open an incident at once."""
        return self.now is not None and self.now.status is Status.FAIL

    @property
    def active(self) -> bool:
        """Check whether it may be switched on without a review: sure, tried, and passing."""
        tried = self.check is None or (self.now is not None and self.now.status is Status.PASS)
        return self.confidence is not Confidence.LOW and tried


def breaks_at_most(rows: int, broken: int = 0) -> float | None:
    """Return the upper 95 % limit of the share of rows that break a rule which `broken` of `rows` rows break.

    Without exceptions this is the rule of three, 3 / rows; else the limit of Clopper and Pearson.
    """
    if not rows:
        return None
    if not broken:
        return min(1.0, 3 / rows)
    if broken >= rows:
        return 1.0
    return beta_quantile(broken + 1, rows - broken, 0.95)


def missing_mass(rows: int, singletons: int) -> float | None:
    """Return the Good-Turing estimate of the share of rows whose value has not been seen yet."""
    return singletons / rows if rows else None


def confidence_of(rows: int, *, named: bool) -> Confidence:
    """Return how sure a rule is that no row breaks; `named`: the name of the column says the same as the rows."""
    enough = rows >= (ENOUGH_WITH_NAME if named else ENOUGH_ROWS)
    return Confidence.HIGH if enough else Confidence.LOW


@lru_cache(10_000)
def words_of(name: str) -> str:
    """Return a column's name in small letters with `_` between its words: `AlbumId` is `album_id`."""
    return _BETWEEN_WORDS.sub("_", name).lower()


def is_identifier(name: str) -> bool:
    """Check whether a column is called as identifiers are."""
    return _IDENTIFIER.search(words_of(name)) is not None


def is_unique_by_name(name: str) -> bool:
    """Check whether a column is called as what has no two alike."""
    return is_identifier(name) or _UNIQUE_NAME.search(words_of(name)) is not None


def share(value: float) -> str:
    """Return a share for people: `0.03 %`, with two figures."""
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"
