"""Forecast how long faults stay undetected under a schedule, and what that costs.

Faults of a table begin at a rate per day, at any moment. The rates of like tables are drawn from one gamma
distribution, whose mean and variance are estimated from all of them (empirical Bayes): a table with few faults is drawn
towards its pool, one without history is planned by the pool alone. A fault lasts until a run detects it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from checks.classes.arrays import np, npt
from incidents.known_episodes import is_downtime
from incidents.spans import HOUR_US, Ints, Spans, Window

Floats: TypeAlias = "npt.NDArray[np.float64]"

COVERED: Final = 0.95
"""The share of months in which a figure is to lie inside its bounds."""
_MINUTE_US: Final = HOUR_US // 60
_DRAWS: Final = 2_000
_SEED: Final = 97


class FaultHistory(NamedTuple):
    """Faults of a table in days of monitoring, and the episodes of incidents that they led to."""

    faults: int = 0
    episodes: int = 0
    days: float = 0.0


def count_faults(spans: Spans, window: Window) -> dict[str, tuple[int, int]]:
    """Count the faults that checks detected in a window, and their episodes, by table.

    Episodes of a table whose undetected times overlap are of one fault. What the first run of a check found began at an
    unknown time before it and is left out, as is what is no data downtime.
    """
    began = spans.proven | ((spans.occurred == spans.earliest) & (spans.earliest < spans.detected))
    detected = (spans.detected >= window.start_us) & (spans.detected < window.end_us)
    rows = np.flatnonzero(is_downtime(spans, disclosure=False) & (spans.check >= 0) & began & detected)
    counts: dict[str, tuple[int, int]] = {}
    ends: dict[str, int] = {}
    for row in rows[np.argsort(spans.earliest[rows], kind="stable")].tolist():
        name, start, end = spans.names[spans.table[row]], int(spans.earliest[row]), int(spans.detected[row])
        faults, episodes = counts.get(name, (0, 0))
        counts[name] = (faults + (start >= ends.get(name, start)), episodes + 1)
        ends[name] = max(end, ends.get(name, end))
    return counts


@dataclass(frozen=True, slots=True)
class FaultRate:
    """The rate of a table's faults, from its own history and that of its pool, which counts for some days.

    `episodes_per_fault`: the expected episodes of incidents of one fault.
    """

    own: FaultHistory
    pool: FaultHistory
    prior_days: float
    episodes_per_fault: float

    @property
    def episodes_a_day(self) -> float:
        """Return the expected episodes of a day."""
        faults = self.prior_days * _mean(self.pool) + self.own.faults
        return faults / (self.prior_days + self.own.days) * self.episodes_per_fault


def _mean(pool: FaultHistory) -> float:
    return (pool.faults + 0.5) / pool.days  # by Jeffreys' prior: above 0 where no fault was seen


def fault_rates(histories: Mapping[str, FaultHistory], pool_of: Mapping[str, Hashable]) -> dict[str, FaultRate]:
    """Return the rate of each table, by its pool of like tables; none where no table was ever monitored.

    A pool without history has that of all tables.
    """
    pools: dict[Hashable, list[FaultHistory]] = defaultdict(list)
    for name, own in histories.items():
        if own.days > 0:
            pools[pool_of[name]].append(own)
    every = _prior([own for pool in pools.values() for own in pool]) if pools else None
    if every is None:
        return {}
    priors = {key: _prior(pool) for key, pool in pools.items()}
    rates = {}
    for name, own in histories.items():
        pool, prior_days = priors.get(pool_of[name], every)
        usual = pool.episodes / pool.faults if pool.faults else 1.0
        rates[name] = FaultRate(own, pool, prior_days, (own.episodes + usual) / (own.faults + 1))
    return rates


def _prior(pool: Sequence[FaultHistory]) -> tuple[FaultHistory, float]:
    """Return the sums of a pool, and the days that it counts for: the fewer, the more its tables differ."""
    total = FaultHistory(*(sum(column) for column in zip(*pool, strict=True)))
    mean = _mean(total)
    spread = sum((own.faults - mean * own.days) ** 2 - mean * own.days for own in pool)
    variance = spread / sum(own.days**2 for own in pool)
    most = total.days * (1 - 1 / len(pool))  # the evidence of the other tables
    return total, max(0.5 / mean, min(mean / variance, most) if variance > 0 else most)


@dataclass(frozen=True, slots=True, eq=False)
class WaitTimes:
    """Waits from the beginning of a fault to its detection under a schedule, in hours, in order, equally likely.

    `charged`: the same waits in hours of the full rate, which business hours reduce.
    """

    runs_a_day: float
    waits: Floats
    charged: Floats
    mean: float
    mean_charged: float

    @classmethod
    def of(
        cls, slots: Ints, window: Window, *, opens_after: int = 1, charge: Callable[[Ints], Floats] | None = None
    ) -> "WaitTimes":
        """Return the waits of faults that begin in a window, whenever they do.

        Args:
            slots: when runs are due from the window's start on, in order, with `opens_after` more after its end.
            window: when the faults begin.
            opens_after: the failing runs that detect a fault.
            charge: returns the time before moments in microseconds of the full rate; None for all of it.
        """
        step = int(np.clip(np.diff(slots).min() // 10, _MINUTE_US // 60, _MINUTE_US))
        begun = np.arange(window.start_us + step // 2, window.end_us, step, dtype=np.int64)
        detected = slots[np.searchsorted(slots, begun, side="right") + opens_after - 1]
        waits = (detected - begun) / HOUR_US
        charged = waits if charge is None else (charge(detected) - charge(begun)) / HOUR_US
        order = np.argsort(waits, kind="stable")
        runs = int(((slots > window.start_us) & (slots <= window.end_us)).sum())
        runs_a_day = runs * 24 * HOUR_US / (window.end_us - window.start_us)
        return cls(runs_a_day, waits[order], charged[order], float(waits.mean()), float(charged.mean()))


class Forecast(NamedTuple):
    """What is expected, and bounds within which it lies with a probability of `COVERED`."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MonthForecast:
    """Undetected hours of incidents in some days, their mean time to detection in hours if there are any, the cost."""

    undetected: Forecast
    ttd: Forecast
    cost: Forecast


def forecast_month(tables: Sequence[tuple[FaultRate, float, WaitTimes]], days: float) -> MonthForecast:
    """Return the forecast of some days; of each table are given its faults, the price of an hour, and its waits.

    The draws are the same in every call: the rates of pools, those of tables, their faults, and for each table one wait
    that all of its faults share, since they may come with a load of the same hour.
    """
    rng = np.random.default_rng(_SEED)  # randomness: function
    pools: dict[FaultHistory, Floats] = {}
    hours, costs, episodes = np.zeros((3, _DRAWS))
    sums = np.zeros(3)
    for rate, per_hour, times in tables:
        if rate.pool not in pools:
            pools[rate.pool] = rng.gamma(rate.pool.faults + 0.5, 1 / rate.pool.days, _DRAWS)
        a_day = rng.gamma(rate.prior_days * pools[rate.pool] + rate.own.faults) / (rate.prior_days + rate.own.days)
        drawn = rng.poisson(a_day * days) * rate.episodes_per_fault
        at = (rng.random(_DRAWS) * times.waits.size).astype(np.int64)
        episodes += drawn
        hours += drawn * times.waits[at]
        costs += drawn * times.charged[at] * per_hour
        means = (times.mean, times.mean_charged * per_hour, 1.0)
        sums += np.array(means) * rate.episodes_a_day * days
    some = episodes > 0
    return MonthForecast(
        undetected=_forecast(sums[0], hours),
        ttd=_forecast(sums[0] / sums[2], hours[some] / episodes[some]),
        cost=_forecast(sums[1], costs),
    )


def _forecast(expected: float, draws: Floats) -> Forecast:
    low, high = np.quantile(draws, ((1 - COVERED) / 2, (1 + COVERED) / 2)) if draws.size else (expected, expected)
    return Forecast(float(expected), min(float(low), float(expected)), max(float(high), float(expected)))
