"""Learned limits: false alarms on series of known noise, and NAB's nyc_taxi by day beside other formulas.

python -m benchmarks learned_limits [FOLDER]    FOLDER holds nyc_taxi.csv and labels.json of NAB
"""

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks._measure import measure, table
from checks.limits import LearnedLimit, LimitRule, Look, learn_limit

SERIES: Final = 200
WARM_UP: Final = 35
DAYS: Final = WARM_UP + 90
"""Each series is judged for 90 days, so 200 false alarms are promised."""
RULE: Final = LimitRule(per_day=1 / 90)
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

Values = npt.NDArray[np.float64]


def main() -> None:
    """Print the tables."""
    print(f"**{SERIES} series with a week, a trend and holidays, 90 judged days each.** Promised: {SERIES} alarms.\n")
    low, high = stats.poisson.interval(0.95, SERIES)
    interval = f"{low:.0f} to {high:.0f}"
    print(
        table(
            ("noise", "alarms expected", "95 % interval of the promise", "cpu s"),
            [_row(name, interval) for name in NOISES],
        )
    )
    if len(sys.argv) > 2:
        taxi = Taxi.read(Path(sys.argv[2]))
        print(f"\n**nyc_taxi by day**, {taxi.unlabelled} unlabelled days after {WARM_UP} days of warm-up.\n")
        head = ("rule", "windows of 5", "unlabelled days flagged", "share", "episodes")
        print(table(head, [(name, *taxi.score(rule(taxi))) for name, rule in RULES.items()]))


def _row(name: str, interval: str) -> tuple[object, ...]:
    alarms: list[float] = []
    cost = measure(lambda: alarms.extend(_alarms(seed, name) for seed in range(SERIES)))
    return name, f"{sum(alarms):.0f}", interval, f"{cost.cpu:.0f}"


def _alarms(seed: int, name: str) -> float:
    """Return how many alarms one series is to expect: the chances of every tenth day, which its noise tells exactly."""
    rng, noise = np.random.default_rng(seed), NOISES[name]
    day = np.arange(DAYS)
    shape = np.exp(rng.normal(0, 0.3, 7))
    usual = 10 ** rng.uniform(3, 6) * np.exp(rng.uniform(-0.001, 0.002) * day) * shape[day % 7]
    spread = rng.uniform(0.02, 0.1)
    values = usual * np.exp(spread * noise.rvs(DAYS, random_state=rng))
    holidays = frozenset(rng.choice(DAYS, size=3, replace=False).tolist())  # which the configuration names
    looks = [Look(START + int(n) * DAY, float(values[n])) for n in day if n not in holidays]
    chances = []
    for number in range(WARM_UP + seed % STEP, DAYS, STEP):
        at = START + number * DAY
        past = [look for look in looks if look.at < at]
        limit = learn_limit(past, Look(at, float(values[number])), rule=RULE, zone=ZONE)
        if isinstance(limit, LearnedLimit):
            low, high = (np.log(bound / usual[number]) / spread for bound in (limit.low, limit.high))
            chances.append(float(noise.cdf(low) + noise.sf(high)))
    return (DAYS - WARM_UP) * float(np.mean(chances))


def _side(looks: Sequence[Look], now: Look) -> int:
    limit = learn_limit(looks, now, rule=RULE, zone=ZONE)
    return limit.side if isinstance(limit, LearnedLimit) else 0


def _episodes(flagged: Sequence[int]) -> int:
    return sum(day - 1 not in flagged for day in flagged)


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


def _learned(taxi: Taxi, answer: Callable[[Look, int], Look | None]) -> list[int]:
    """Walk through the days; `answer` returns what stays of a flagged look."""
    looks: list[Look] = []
    flagged = []
    for number, value in enumerate(taxi.values):
        now = Look(datetime.combine(taxi.days[number], datetime.min.time(), UTC), float(value))
        left: Look | None = now
        if _side(looks, now):
            flagged.append(number)
            left = answer(now, number)
        if left is not None:
            looks.append(left)
    return flagged


def _expected(taxi: Taxi) -> list[int]:
    return _learned(taxi, lambda look, _: look._replace(expected=True))


def _nobody(taxi: Taxi) -> list[int]:
    return _learned(taxi, lambda _, __: None)


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
