"""The figures of a report: from measured downtime and its price, and the median of several periods."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from checks import Severity
from incidents import Downtime, DowntimeCost, Statistics

_SUMS = ("n", "n_occurred", "undetected_us", "repair_us", "downtime_us", "low_us", "high_us", "table_us")
_PARTS = ("min", "mean", "median", "p90", "max")


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one period, or their medians over several (then counts and sums may be fractions).

    `ttd` is over incidents detected in the period, `tta` over those first acknowledged, `ttr` over those resolved in
    it; None when there were none.
    `by_severity` is the downtime of each severity that had any.
    """

    n: Fraction
    n_occurred: Fraction
    undetected_us: Fraction
    repair_us: Fraction
    downtime_us: Fraction
    low_us: Fraction
    high_us: Fraction
    table_us: Fraction
    by_severity: Mapping[Severity, Fraction]
    ttd: Statistics | None
    tta: Statistics | None
    ttr: Statistics | None
    cost: Fraction | None
    cost_by_table_hours: Fraction | None


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """The period beside the one before and the median of the four before.

    None for an unknown time: before monitoring started, without anything that could be evaluated, or past
    retention, and nothing was reported.
    """

    this: Figures | None
    before: Figures | None
    median: Figures | None

    @property
    def severities(self) -> tuple[Severity, ...]:
        """Return the severities that any of the columns has, the worst first."""
        columns = [column for column in (self.this, self.before, self.median) if column is not None]
        return tuple(item for item in reversed(Severity) if any(item in column.by_severity for column in columns))


def figures_of(downtime: Downtime, cost: DowntimeCost | None) -> Figures:
    """Return the figures of a measured period; `cost` is None where nothing has a price."""
    return Figures(
        n=Fraction(downtime.n),
        n_occurred=Fraction(downtime.n_occurred),
        undetected_us=Fraction(downtime.undetected),
        repair_us=Fraction(downtime.repair),
        downtime_us=Fraction(downtime.downtime),
        low_us=Fraction(downtime.low),
        high_us=Fraction(downtime.high),
        table_us=Fraction(downtime.table_time),
        by_severity={severity: Fraction(part.downtime) for severity, part in downtime.by_severity.items()},
        ttd=downtime.ttd,
        tta=downtime.tta,
        ttr=downtime.ttr,
        cost=None if cost is None else cost.amount,
        cost_by_table_hours=None if cost is None else cost.table_hours_amount,
    )


def median_of(periods: Sequence[Figures]) -> Figures | None:
    """Return the median of each figure over several periods, exactly; None of no period.

    Each figure has a median of its own, so the medians of the parts need not add up to the median of the sum.
    """
    if not periods:
        return None
    sums = {name: median(getattr(period, name) for period in periods) for name in _SUMS}
    return Figures(
        **sums,
        by_severity=_median_severities([period.by_severity for period in periods]),
        ttd=_median_spread(period.ttd for period in periods),
        tta=_median_spread(period.tta for period in periods),
        ttr=_median_spread(period.ttr for period in periods),
        cost=_median(period.cost for period in periods),
        cost_by_table_hours=_median(period.cost_by_table_hours for period in periods),
    )


def _median_severities(periods: Sequence[Mapping[Severity, Fraction]]) -> dict[Severity, Fraction]:
    """Return the median of each severity that any period has; it is 0 in a period without it."""
    return {
        severity: Fraction(median(period.get(severity, Fraction(0)) for period in periods))
        for severity in Severity
        if any(severity in period for period in periods)
    }


def _median(values: Iterable[Fraction | None]) -> Fraction | None:
    amounts = [value for value in values if value is not None]
    return Fraction(median(amounts)) if amounts else None


def _median_spread(spreads: Iterable[Statistics | None]) -> Statistics | None:
    present = [spread for spread in spreads if spread is not None]
    if not present:
        return None
    return Statistics(**{part: Fraction(median(getattr(spread, part) for spread in present)) for part in _PARTS})
