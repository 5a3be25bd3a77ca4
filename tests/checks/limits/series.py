"""Series of looks with known noise: a week, a trend and holidays, so that the chance of a false alarm is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from scipy import stats

from checks.limits import LearnedLimit, TimedValue

START: Final = datetime(2025, 1, 6, 6, tzinfo=UTC)
"""A Monday."""
DAY: Final = timedelta(days=1)
ZONE: Final = ZoneInfo("UTC")
NOISES: Final = {"normal": stats.norm(), "laplace": stats.laplace(), "t5": stats.t(5), "t3": stats.t(3)}


@dataclass(frozen=True)
class WeeklySeries:
    """A number a day: `usual` times the exponential of noise with a spread, and holidays on which it falls by half."""

    usual: np.ndarray
    values: np.ndarray
    spread: float
    noise: str
    holidays: frozenset[int]

    def looks(self, days: int) -> Sequence[TimedValue]:
        """Return the looks of the first days, without holidays."""
        return [
            TimedValue(START + day * DAY, float(self.values[day])) for day in range(days) if day not in self.holidays
        ]

    def chance_of_alarm(self, day: int, limit: LearnedLimit) -> float:
        """Return the chance that the value of a day lies outside a limit."""
        noise = NOISES[self.noise]
        low, high = (np.log(bound / self.usual[day]) / self.spread for bound in (limit.low, limit.high))
        return float(noise.cdf(low) + noise.sf(high))


def weekly_series(seed: int, noise: str, days: int) -> WeeklySeries:
    """Return a series of a level, shape of the week, trend and noise that are drawn at random."""
    rng = np.random.default_rng(seed)
    day = np.arange(days)
    shape = np.exp(rng.normal(0, 0.3, 7))
    usual = 10 ** rng.uniform(3, 6) * np.exp(rng.uniform(-0.001, 0.002) * day) * shape[day % 7]
    spread = float(rng.uniform(0.02, 0.1))
    values = usual * np.exp(spread * NOISES[noise].rvs(days, random_state=rng))
    holidays = frozenset(rng.choice(days, size=days // 40, replace=False).tolist())
    values[list(holidays)] *= 0.5
    return WeeklySeries(usual, values, spread, noise, holidays)
