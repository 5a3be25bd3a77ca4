"""Episodes in columns: what reports aggregate, a million at a time, in integer microseconds.

A row is one episode. Words (tables, checks) are codes into a tuple of names. All arithmetic on these is exact.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]

OPEN_END: Final = np.iinfo(np.int64).max
"""The end of an episode that lasts."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    """Give an aware time as integer microseconds since 1970 UTC, exactly."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@dataclass(frozen=True, slots=True)
class Spans:
    """Episodes, sorted by incident id and then by onset.

    Shapes: every array has one entry per episode. `incident` ids; `table`, `check`, `root_table` are codes into `names`
    (`check` is -1 for an incident that a person reported; `root_table` is the table of the root cause, else its own);
    `severity` is `Severity.rank`; `resolution` is the index in `Resolution`, -1 while open; `disclosure` marks
    disclosure incidents. Times in microseconds UTC: `occurred` within [`earliest`, `latest`], `detected`, `resolved`
    (`OPEN_END` while it lasts).
    """

    names: tuple[str, ...]
    incident: Ints
    table: Ints
    check: Ints
    root_table: Ints
    severity: Ints
    resolution: Ints
    disclosure: npt.NDArray[np.bool_]
    occurred: Ints
    earliest: Ints
    latest: Ints
    detected: Ints
    resolved: Ints
