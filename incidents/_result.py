"""What a measurement of downtime says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from checks import Severity
from incidents.spans import Window


@dataclass(frozen=True, slots=True)
class Statistics:
    """How long whole incidents took, in microseconds; p90 and median by linear interpolation."""

    min: int
    mean: Fraction
    median: Fraction
    p90: Fraction
    max: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the downtime."""

    n: int = 0
    undetected: int = 0
    repair: int = 0

    @property
    def downtime(self) -> int:
        """Return both parts together."""
        return self.undetected + self.repair


@dataclass(frozen=True, slots=True)
class ExcludedCount:
    """How many incidents, and how much of their time lies in the window."""

    n: int = 0
    time: int = 0


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that lasts: since when (of the present episode), and its age at the moment of knowing."""

    id: int
    occurred_us: int
    detected_us: int
    age: int


@dataclass(frozen=True, slots=True)
class Downtime:
    """What is known of the downtime in a window. Times in microseconds.

    `n`: incidents with any time in the window. `n_occurred`: those that occurred in it, which adds up over windows.
    `undetected_low` and `undetected_high`: the undetected part if every incident had occurred as late, or as early, as
    possible. `ttd`: over incidents detected in the window, `ttr`: over those resolved in it, `tta`: over the
    `n_acknowledged` first acknowledged in it; None without any. `n_unacknowledged` were resolved in it, and nobody had
    acknowledged them.
    `table_time`: time in which a table was down, however many incidents it had at once, summed over tables.
    `by_severity`: parts of those that have any. `excluded`: time that does not count, by resolution or `maintenance`.
    `exposure`: disclosure incidents, which are no downtime. `open`: those that lasted at the moment of knowing.
    """

    window: Window
    as_of_us: int
    n: int = 0
    n_occurred: int = 0
    undetected: int = 0
    repair: int = 0
    undetected_low: int = 0
    undetected_high: int = 0
    ttd: Statistics | None = None
    ttr: Statistics | None = None
    tta: Statistics | None = None
    n_acknowledged: int = 0
    n_unacknowledged: int = 0
    table_time: int = 0
    by_severity: Mapping[Severity, Part] = field(default_factory=lambda: MappingProxyType({}))
    excluded: Mapping[str, ExcludedCount] = field(default_factory=lambda: MappingProxyType({}))
    exposure: ExcludedCount = ExcludedCount()
    open: tuple[OpenIncident, ...] = ()

    @property
    def downtime(self) -> int:
        """Return the undetected and the repair part together."""
        return self.undetected + self.repair

    @property
    def low(self) -> int:
        """Return the downtime if every incident had occurred as late as possible."""
        return self.undetected_low + self.repair

    @property
    def high(self) -> int:
        """Return the downtime if every incident had occurred as early as possible."""
        return self.undetected_high + self.repair
