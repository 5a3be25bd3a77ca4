"""Compute error budgets: downtime that may be spent in a rolling period, how fast it is spent, and when it is used up.

Downtime is that of availability (`incidents.service_levels`): the union over the tables of a contract, with a low and a
high end; unobserved time is downtime at the high end. The burn rate is downtime relative to what would use
up the budget in exactly its period (Beyer et al., The Site Reliability Workbook, chapter 5), over a tenth and a 120th
of the period: 3 days and 6 hours of 30 days. `docs/contracts.md` tells this in plain words.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from checks import Severity
from incidents.service_levels import DownTime, LevelSurvey, LevelVerdict
from incidents.spans import Window

_PARTS: Final = (10, 120)
"""The parts of the period over which the burn rate is measured."""


@dataclass(frozen=True, slots=True)
class BurnRate:
    """Downtime of the last `length_us` microseconds, relative to the allowed rate; above 1 the budget will not last."""

    length_us: int
    seen: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class BurnRule:
    """A burn rate that is too high if it is seen in both of two parts of the period, one `long`-th and one `short`-th.

    The short one tells whether it goes on.
    """

    severity: Severity
    rate: Fraction
    long: int
    short: int


BURN_RULES: Final = (
    BurnRule(Severity.CRITICAL, Fraction(72, 5), 720, 8640),
    BurnRule(Severity.ERROR, Fraction(6), 120, 1440),
    BurnRule(Severity.WARNING, Fraction(1), 10, 120),
)
"""Multiwindow, multi-burn-rate alerts (The Site Reliability Workbook, chapter 5): of 30 days 14.4 over 1 h and 5 min
(2 % of the budget in the hour), 6 over 6 h and 30 min (5 %), 1 over 3 d and 6 h (10 %). Other periods have the same
parts, which spend the same shares."""


@dataclass(frozen=True, slots=True)
class FastBurn:
    """An error budget that is spent too fast: the most severe rule that says so, and both burn rates."""

    rule: BurnRule
    long: BurnRate
    short: BurnRate


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """In how many microseconds the budget is used up if downtime goes on at the present rate; 0: it is, None: never.

    `soonest` and `latest`: with the high and low ends of what was spent, and of the rate.
    """

    expected: Fraction | None
    soonest: Fraction | None
    latest: Fraction | None


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """Downtime allowed in a rolling period (microseconds), what was spent of it up to a moment, and how fast."""

    allowed_us: int
    per_us: int
    end_us: int
    spent: DownTime
    rates: tuple[BurnRate, ...]

    @property
    def left(self) -> DownTime:
        """Return what is left of it, negative where more was spent; `low` is the least that may be left."""
        allowed, spent = self.allowed_us, self.spent
        return DownTime(allowed - spent.seen, allowed - spent.high, allowed - spent.low)

    @property
    def verdict(self) -> LevelVerdict:
        """Return whether it was kept; unknown if the ends of what was spent disagree."""
        if self.spent.low > self.allowed_us:
            return LevelVerdict.BROKEN
        return LevelVerdict.KEPT if self.spent.high <= self.allowed_us else LevelVerdict.UNKNOWN

    @property
    def exhaustion(self) -> Exhaustion:
        """Return when it is used up, at the rate of the longer part of the period.

        A plain extrapolation: that spent time leaves the rolling period again is not counted on.
        """
        left, rate = self.left, self.rates[0]
        return Exhaustion(
            self._used_up(left.seen, rate.seen), self._used_up(left.low, rate.high), self._used_up(left.high, rate.low)
        )

    def _used_up(self, left: int, rate: Fraction) -> Fraction | None:
        if left <= 0:
            return Fraction(0)
        return None if rate == 0 else left / (rate * Fraction(self.allowed_us, self.per_us))


def error_budget(
    survey: LevelSurvey, *, allowed_us: int, per_us: int, tables: Collection[str] | None = None
) -> ErrorBudget:
    """Return an error budget as it stands at the end of what a survey knows.

    Args:
        survey: the incidents and what was seen of the tables in the period before that moment.
        allowed_us: downtime that may be spent in each period, more than 0.
        per_us: the period.
        tables: whose downtime it is; by default of all.
    """
    lengths = [per_us, *_lengths(per_us, _PARTS)]
    spent, *times = _spent(survey, lengths, tables)
    rates = _rates(Fraction(allowed_us, per_us), lengths[1:], times)
    return ErrorBudget(allowed_us, per_us, survey.end_us, spent, tuple(rates))


def fast_burn(
    survey: LevelSurvey, *, allowed_us: int, per_us: int, tables: Collection[str] | None = None
) -> FastBurn | None:
    """Return whether an error budget is spent too fast, by the figures that are shown, between low and high.

    The survey knows the longest part of the period, a tenth; the other arguments are those of `error_budget`.
    """
    parts = [part for rule in BURN_RULES for part in (rule.long, rule.short)]
    lengths = _lengths(per_us, parts)
    rates = _rates(Fraction(allowed_us, per_us), lengths, _spent(survey, lengths, tables))
    for place, rule in enumerate(BURN_RULES):
        long, short = rates[2 * place : 2 * place + 2]
        if min(long.seen, short.seen) > rule.rate:
            return FastBurn(rule, long, short)
    return None


def _lengths(per_us: int, parts: Iterable[int]) -> list[int]:
    return [max(per_us // part, 1) for part in parts]


def _spent(survey: LevelSurvey, lengths: Iterable[int], tables: Collection[str] | None) -> Sequence[DownTime]:
    """Return the downtime of the last so many microseconds."""
    return survey.down_times([Window(survey.end_us - length, survey.end_us) for length in lengths], tables)


def _rates(allowed: Fraction, lengths: Iterable[int], times: Iterable[DownTime]) -> list[BurnRate]:
    """Return the burn rates of lengths of time; `allowed` is the share of time that may be down."""
    return [
        BurnRate(length, *(Fraction(down) / (allowed * length) for down in (time.seen, time.low, time.high)))
        for length, time in zip(lengths, times, strict=True)
    ]
