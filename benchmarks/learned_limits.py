"""Learned limits: false alarms on series of known noise, and NAB's nyc_taxi by day beside other formulas.

python -m benchmarks learned_limits [FOLDER]    FOLDER holds nyc_taxi.csv and labels.json of NAB, and in `aws` series of
realAWSCloudwatch with theirs
"""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from benchmarks._measure import measure, table
from checks.limits import LearnedLimit, LimitRule, TimedValue, learn_limit

SERIES: Final = 200
FIRST_SEEDS: Final = (0, 10_000)
"""Constants were chosen on series of seeds from 0; those from 10,000 were drawn afterwards."""
WARM_UP: Final = 56
DAYS: Final = WARM_UP + 90
"""Each series is judged for 90 days, so 200 false alarms are promised."""
EARLY: Final = 30
RULES_OF_NOISE: Final = {"1 per 90d": LimitRule(per_day=1 / 90), "a fifth of it": LimitRule(per_day=1 / 450)}
RULE: Final = RULES_OF_NOISE["1 per 90d"]
ZONE: Final = ZoneInfo("UTC")
DAY: Final = timedelta(days=1)
START: Final = datetime(2025, 1, 6, 6, tzinfo=UTC)
NOISES: Final[Mapping[str, Any]] = {
    "normal": stats.norm(),
    "Laplace": stats.laplace(),
    "Student, 5 degrees of freedom": stats.t(5),
    "Student, 3 degrees of freedom": stats.t(3),
}
STEP: Final = 10
YEARS: Final = 20
OF_YEARS: Final = ("normal", "Student, 3 degrees of freedom")
WINDOW: Final = timedelta(weeks=26)
ANSWERS: Final[Mapping[str, Callable[[TimedValue], TimedValue]]] = {
    "`false-positive`": lambda look: look,
    "never": lambda look: look._replace(unanswered=True),
}

Values = npt.NDArray[np.float64]


def main() -> None:
    """Print the tables."""
    print(f"**{SERIES} series with a week, a trend and holidays, 90 judged days each.** Promised: {SERIES} alarms.\n")
    low, high = stats.poisson.interval(0.95, SERIES)
    print(f"95 % interval of the promise: {low:.0f} to {high:.0f}\n")
    head = (
        "seeds from",
        "noise",
        "promise",
        "alarms expected",
        f"at the rate of the first {EARLY} days",
        "shift found",
        "cpu s",
    )
    every = [(first, promise, name) for first in FIRST_SEEDS for promise in RULES_OF_NOISE for name in NOISES]
    print(table(head, [(first, *_row(name, promise, first)) for first, promise, name in every]))
    print(f"\n**{YEARS} such series for a year**, alarms as a share of those promised, by quarter, judged each day.\n")
    head = ("noise", "alarms are answered", *(f"quarter {number}" for number in range(1, 5)))
    print(table(head, [(name, how, *_quarters(name, answer)) for name in OF_YEARS for how, answer in ANSWERS.items()]))
    if len(sys.argv) > 2:
        taxi = Taxi.read(Path(sys.argv[2]))
        print(f"\n**nyc_taxi by day**, {taxi.unlabelled} unlabelled days after {WARM_UP} days of warm-up.\n")
        head = ("rule", "windows of 5", "unlabelled days flagged", "share", "episodes")
        print(table(head, [(name, *taxi.score(rule(taxi))) for name, rule in RULES.items()]))
        print("\n**Series of two weeks by hour**.\n")
        head = ("promise", "windows", "judged", "flagged")
        print(table(head, [(f"1 per {days}d", *_hourly(Path(sys.argv[2]) / "aws", days)) for days in (7, 14)]))


class Limits(NamedTuple):
    """Limits of many looks, in units of the noise around what is usual, and how long each series was judged before."""

    low: Values
    high: Values
    day: Values

    def chances(self, noise: Any, shift: float = 0.0) -> Values:
        """Return the chance of an alarm at each look, after a shift."""
        return np.asarray(noise.cdf(self.low - shift) + noise.sf(self.high - shift))


def _row(name: str, promise: str, first: int) -> tuple[object, ...]:
    limits: list[tuple[float, float, int]] = []
    rule, noise = RULES_OF_NOISE[promise], NOISES[name]
    cost = measure(
        lambda: limits.extend(limit for seed in range(first, first + SERIES) for limit in _limits(seed, name, rule))
    )
    found = Limits(*np.array(limits).T)
    chances = found.chances(noise)
    shift = optimize.brentq(lambda size: found.chances(noise, size).mean() - 0.8, 0, 1000)
    alarms = [f"{SERIES * part.mean() / (rule.per_day or 1):.0f}" for part in (chances, chances[found.day < EARLY])]
    return name, promise, *alarms, f"{shift:.1f}", f"{cost.cpu:.0f}"


class Series(NamedTuple):
    """Looks of which the usual value and the noise are known: the noise is multiplied by `spread`."""

    looks: Sequence[TimedValue]
    usual: Values
    spread: float

    @classmethod
    def of(cls, seed: int, name: str, days: int) -> "Series":
        """Draw a level, a week, a trend, noise and holidays, which the configuration names: they have no look."""
        rng = np.random.default_rng(seed)
        day = np.arange(days)
        shape = np.exp(rng.normal(0, 0.3, 7))
        usual = 10 ** rng.uniform(3, 6) * np.exp(rng.uniform(-0.001, 0.002) * day) * shape[day % 7]
        spread = rng.uniform(0.02, 0.1)
        values = usual * np.exp(spread * NOISES[name].rvs(days, random_state=rng))
        holidays = frozenset(rng.choice(days, size=days // 40, replace=False).tolist())
        looks = [TimedValue(START + int(n) * DAY, float(values[n])) for n in day if n not in holidays]
        return cls(looks, usual, spread)

    def limits(self, number: int, past: Sequence[TimedValue], rule: LimitRule) -> tuple[float, float] | None:
        """Return the limits of a day as multiples of the noise."""
        limit = learn_limit(past, TimedValue(START + number * DAY, 1.0), rule=rule, zone=ZONE)
        if not isinstance(limit, LearnedLimit):
            return None
        low, high = (np.log(bound / self.usual[number]) / self.spread for bound in (limit.low, limit.high))
        return float(low), float(high)


def _limits(seed: int, name: str, rule: LimitRule) -> Iterator[tuple[float, float, int]]:
    """Yield the limits of every tenth day of a series, and the day; what was beyond a limit counts for later ones."""
    series = Series.of(seed, name, DAYS)
    for number in range(WARM_UP + seed % STEP, DAYS, STEP):
        past = [look for look in series.looks if look.at < START + number * DAY]
        limits = series.limits(number, past, rule)
        if limits is not None:
            yield *limits, number - WARM_UP


def _quarters(name: str, answer: Callable[[TimedValue], TimedValue]) -> Iterator[str]:
    """Yield the false alarms of each quarter of a year as a share of those promised; `answer` is what stays of one."""
    chances = np.full((YEARS, 360), np.nan)
    for seed in range(YEARS):
        series, past = Series.of(seed, name, WARM_UP + 360), list[TimedValue]()
        for look in series.looks:
            number = (look.at - START) // DAY
            recent = [earlier for earlier in past if earlier.at >= look.at - WINDOW]
            limits = series.limits(number, recent, RULE) if number >= WARM_UP else None
            left = look
            if limits is not None:
                chances[seed, number - WARM_UP] = NOISES[name].cdf(limits[0]) + NOISES[name].sf(limits[1])
                noise = np.log(look.value / series.usual[number]) / series.spread
                left = look if limits[0] <= noise <= limits[1] else answer(look)
            past.append(left)
    return (f"{np.nanmean(chances[:, first : first + 90]) * 90:.2f}" for first in range(0, 360, 90))


def _side(looks: Sequence[TimedValue], now: TimedValue) -> int:
    limit = learn_limit(looks, now, rule=RULE, zone=ZONE)
    return limit.side if isinstance(limit, LearnedLimit) else 0


def _episodes(flagged: Sequence[int]) -> int:
    return sum(day - 1 not in flagged for day in flagged)


def _hourly(folder: Path, days: int) -> tuple[int, int, int]:
    """Return the labelled windows of series of which the mean of an hour is watched, those judged and those flagged.

    Hours outside count as they are, whatever a limit made of them.
    """
    labels, rule = json.loads((folder / "labels.json").read_text(encoding="utf-8")), LimitRule(per_day=1 / days)
    judged, flagged, windows = 0, 0, 0
    for path in sorted(folder.glob("*.csv")):
        means: dict[datetime, list[float]] = {}
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                hour = datetime.fromisoformat(row["timestamp"]).replace(minute=0, second=0, tzinfo=UTC)
                means.setdefault(hour, []).append(float(row["value"]))
        looks = [TimedValue(hour, float(np.mean(values))) for hour, values in means.items()]
        for label in labels[path.name]:
            low, high = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in label)
            past = [look for look in looks if look.at < low]
            limits = [learn_limit(past, look, rule=rule, zone=ZONE) for look in looks if low <= look.at <= high]
            sides = [limit.side for limit in limits if isinstance(limit, LearnedLimit)]
            windows, judged, flagged = windows + 1, judged + bool(sides), flagged + any(sides)
    return windows, judged, flagged


class Taxi(NamedTuple):
    """Passengers a day, and which days lie in a labelled window: its number, or -1."""

    days: Sequence[date]
    values: Values
    windows: Sequence[int]

    @classmethod
    def read(cls, folder: Path) -> "Taxi":
        """Read the series and add it up by day."""
        sums: dict[date, int] = {}
        with (folder / "nyc_taxi.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                day = date.fromisoformat(row["timestamp"][:10])
                sums[day] = sums.get(day, 0) + int(row["value"])
        (labels,) = json.loads((folder / "labels.json").read_text(encoding="utf-8")).values()
        spans = [[date.fromisoformat(text[:10]) for text in label] for label in labels]
        windows = [next((n for n, (low, high) in enumerate(spans) if low <= day <= high), -1) for day in sums]
        return cls(list(sums), np.array(list(sums.values()), dtype=np.float64), windows)

    @property
    def unlabelled(self) -> int:
        """Return how many days after the warm-up lie in no window."""
        return sum(window < 0 for window in self.windows[WARM_UP:])

    def score(self, flagged: Sequence[int]) -> tuple[object, ...]:
        """Return windows with a flagged day, flagged days outside, their share and episodes."""
        after = [day for day in flagged if day >= WARM_UP]
        windows = {self.windows[day] for day in after} - {-1}
        wrong = [day for day in after if self.windows[day] < 0]
        return len(windows), len(wrong), f"{len(wrong) / self.unlabelled:.1%}", _episodes(wrong)


def _learned(taxi: Taxi, answer: Callable[[TimedValue, int], TimedValue | None]) -> list[int]:
    """Walk through the days; `answer` returns what stays of a flagged look."""
    looks: list[TimedValue] = []
    flagged = []
    for number, value in enumerate(taxi.values):
        now = TimedValue(datetime.combine(taxi.days[number], datetime.min.time(), UTC), float(value))
        left: TimedValue | None = now
        if _side(looks, now):
            flagged.append(number)
            left = answer(now, number)
        if left is not None:
            looks.append(left)
    return flagged


def _expected(taxi: Taxi) -> list[int]:
    return _learned(taxi, lambda look, _: look._replace(expected=True))


def _nobody(taxi: Taxi) -> list[int]:
    return _learned(taxi, lambda look, _: look._replace(unanswered=True))


def _told(taxi: Taxi) -> list[int]:
    return _learned(taxi, lambda look, number: look if taxi.windows[number] < 0 else None)


def _share_of_median(taxi: Taxi) -> list[int]:
    """Return the rule by hand: 20 % off the median of the same weekday in four weeks."""
    usual = [np.median(taxi.values[day - 28 : day : 7]) for day in range(28, len(taxi.values))]
    return [day for day, centre in enumerate(usual, 28) if abs(taxi.values[day] - centre) > 0.2 * centre]


def _windowed_gaussian(taxi: Taxi) -> list[int]:
    """Return days beyond the normal quantile of the promise over the 28 days before."""
    reach = stats.norm.isf(1 / 180)
    past = [taxi.values[day - 28 : day] for day in range(28, len(taxi.values))]
    return [day for day, x in enumerate(past, 28) if abs(taxi.values[day] - x.mean()) > reach * x.std(ddof=1)]


def _relative_entropy(taxi: Taxi) -> list[int]:
    """Return days whose last week has a histogram unlike all weeks before (Wang et al. 2011, 5 bins, 1 %)."""
    limit, known, flagged = stats.chi2.isf(0.01, 4), [], []
    for day in range(13, len(taxi.values)):
        edges = np.linspace(taxi.values[: day + 1].min(), taxi.values[: day + 1].max(), 6)
        week = taxi.values[day - 6 : day + 1]
        share = np.histogram(week, edges)[0] / 7
        others = [(np.histogram(other, edges)[0] + 0.2) / (len(other) + 1) for other in known]
        alike = [2 * 7 * stats.entropy(share, other) < limit for other in others]
        if not any(alike):
            known.append(week)
            flagged.append(day)
    return flagged


def _elementary(taxi: Taxi, *, step: int, days: int) -> list[int]:
    """Return days with a z-score above 3 over a training window that includes the day itself."""
    flagged = []
    for day in range(WARM_UP, len(taxi.values)):
        training = taxi.values[max(day % step, day - days * step + step) : day + 1 : step]
        flagged += [day] if abs(taxi.values[day] - training.mean()) > 3 * training.std(ddof=1) else []
    return flagged


RULES: Final[Mapping[str, Callable[[Taxi], list[int]]]] = {
    "learned, 1 per 90d; each alarm is answered `expected` before the next look": _expected,
    "learned, 1 per 90d; nobody answers": _nobody,
    "learned, 1 per 90d; alarms outside the windows are answered `false-positive` (knows the labels)": _told,
    "by hand: 20 % off the median of the weekday, 4 weeks": _share_of_median,
    "windowed Gaussian, 28 days, same chance": _windowed_gaussian,
    "relative entropy, 7 days, 5 bins": _relative_entropy,
    "Elementary's formula, 14 days": lambda taxi: _elementary(taxi, step=1, days=14),
    "Elementary's formula, 28 days": lambda taxi: _elementary(taxi, step=1, days=28),
    "Elementary's formula, 14 weeks of the weekday": lambda taxi: _elementary(taxi, step=7, days=14),
}


if __name__ == "__main__":
    main()
