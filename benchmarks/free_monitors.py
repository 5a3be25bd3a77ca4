"""Free monitors: what 1,000 tables that learn together promise, raise and see, simulated and on series of NAB.

python -m benchmarks free_monitors [FOLDER]    FOLDER holds nyc_taxi.csv of NAB, in `aws` those of realAWSCloudwatch
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks._measure import measure, table
from checks.limits import DistancePool, LearnedLimit, LimitRule, PooledLook, PooledVerdict, TimedValue, learn_pooled

TABLES: Final = 1_000
SEEDS: Final = (1,)
NAB_TABLES: Final = 100
NAB_HOURS: Final = 14 * 24
DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
START: Final = datetime(2026, 1, 5, 6, tzinfo=UTC)
ZONE: Final = ZoneInfo("UTC")
WARM_UP, QUARTER = 42, 91
LOSSES: Final = 200
LOST: Final = 1 / 3
OWN_PAST, POOLED_PAST = timedelta(weeks=8), timedelta(weeks=4)
INCIDENTS: Final = 1 / 7
"""Promised false alarms a day of the whole project: an incident a week, and two lines a day in the digest."""
LINES: Final = 2.0
KINDS: Final = ("appended", "loaded anew", "of a moving window", "still")
SPREADS: Final = {"normal": stats.norm(), "Student, 3 degrees of freedom": stats.t(3)}

Values = npt.NDArray[np.float64]


class Monitor(NamedTuple):
    """The numbers of a table by look, of rows or of seconds since the last write."""

    name: str
    kind: str
    values: Values
    is_age: bool


def main() -> None:
    """Print the tables."""
    print(
        f"**{TABLES} tables, rows and age once a day for {QUARTER} days** after {WARM_UP} of warm-up, {LOSSES} losses "
    )
    print(
        f"of a third planted. Promised: {INCIDENTS * QUARTER:.0f} false incidents, {LINES * QUARTER:.0f} false lines.\n"
    )
    head = (
        "noise",
        "seed",
        "false incidents",
        "95 % interval",
        "false lines",
        "95 % interval",
        "losses that open an incident",
        "losses in the digest of their day",
        "of them among its first ten",
        "median loss seen",
        "cpu s",
    )
    rows = []
    for noise in SPREADS:
        for seed in SEEDS:
            scores: list[Score] = []
            cost = measure(partial(_add, scores, noise, seed))
            rows.append((noise, seed, *scores[0].cells(QUARTER, DAY), f"{cost.cpu:.0f}"))
    print(table(head, rows))
    if len(sys.argv) > 2:
        print(
            f"\n**{NAB_TABLES} histories of NAB**, an hour a look, judged for a week after a week, nothing planted.\n"
        )
        score = of_nab(Path(sys.argv[2]))
        print(table(("promised lines", "lines", "looks that could be judged"), [score]))


def _add(scores: list["Score"], noise: str, seed: int) -> None:
    scores.append(simulate(noise, seed))


class Score:
    """What was raised, and what of it was planted."""

    def __init__(self) -> None:
        self.incidents = self.lines = 0
        self.opened = self.seen = self.first = self.planted = 0
        self.losses: list[float] = []

    def cells(self, looks: int, step: timedelta) -> tuple[object, ...]:
        """Return a row of the table."""
        days = looks * (step / DAY)
        bounds = [stats.poisson.interval(0.95, rate * days) for rate in (INCIDENTS, LINES)]
        intervals = [f"{low:.0f} to {high:.0f}" for low, high in bounds]
        shares = [f"{part / self.planted:.0%}" for part in (self.opened, self.seen, self.first)]
        return self.incidents, intervals[0], self.lines, intervals[1], *shares, f"{np.median(self.losses):.0%}"


def simulate(noise: str, seed: int) -> Score:
    """Judge each day of a quarter; a false alarm is answered as that, a loss is repaired on the next day."""
    rng = np.random.default_rng(seed)
    monitors = list(_monitors(noise, rng))
    rows = [number for number, monitor in enumerate(monitors) if not monitor.is_age]
    planted = {(int(rng.choice(rows)), int(day)) for day in rng.integers(WARM_UP, WARM_UP + QUARTER, LOSSES)}
    pasts: list[list[TimedValue]] = [[] for _ in monitors]
    looks: list[PooledLook] = []
    score = Score()
    score.planted = len(planted)
    alarms: list[set[int]] = [set(), set()]
    for day in range(WARM_UP + QUARTER):
        at = START + day * DAY
        looks = [look for look in looks if look.at >= at - POOLED_PAST]
        pool = DistancePool(looks, numbers=len(monitors))
        lines: list[tuple[float, bool]] = []
        before, alarms = alarms, [set(), set()]
        for number, monitor in enumerate(monitors):
            is_loss = (number, day) in planted
            now = TimedValue(at, monitor.values[day] * (1 - LOST * is_loss))
            past = [look for look in pasts[number] if look.at >= at - OWN_PAST]
            verdicts = [_judge(monitor, past, now, pool, rate) for rate in (LINES, INCIDENTS)]
            if not (is_loss and _side(verdicts[1])):
                pasts[number].append(now)
                if (step := verdicts[0].step) is not None:
                    alarm = bool(_side(verdicts[0]))
                    looks.append(PooledLook(monitor.name, at, step.group, step.band, step.distance, alarm))
            if day < WARM_UP:
                continue
            for level, verdict in enumerate(verdicts):
                if _side(verdict):
                    alarms[level].add(number)
            if _side(verdicts[0]):
                lines.append((verdicts[0].odds or 0.0, is_loss))
            score.lines += number in alarms[0] - before[0] and not is_loss
            score.incidents += number in alarms[1] - before[1] and not is_loss
            score.seen += is_loss and number in alarms[0]
            score.opened += is_loss and number in alarms[1]
            limit = verdicts[0].limit
            if isinstance(limit, LearnedLimit) and not monitor.is_age and day == WARM_UP + QUARTER - 1:
                score.losses.append(1.0 if limit.loss is None else limit.loss / limit.usual)
        score.first += sum(is_loss for _, is_loss in sorted(lines, reverse=True)[:10])
    return score


def _judge(
    monitor: Monitor, past: Sequence[TimedValue], now: TimedValue, pool: DistancePool, rate: float
) -> PooledVerdict:
    rule = LimitRule(per_day=rate, above_only=monitor.is_age, floor=60.0 if monitor.is_age else 1.0)
    return learn_pooled("age" if monitor.is_age else "rows", past, now, pool=pool, rule=rule, zone=ZONE)


def _side(verdict: PooledVerdict) -> int:
    return verdict.limit.side if isinstance(verdict.limit, LearnedLimit) else 0


def _monitors(noise: str, rng: np.random.Generator) -> Iterator[Monitor]:
    """Draw rows and ages of tables of four kinds, with a week and noise; one in ten is wild."""
    days = WARM_UP + QUARTER
    for number in range(TABLES):
        kind = KINDS[number % len(KINDS)]
        size, week = 10 ** rng.uniform(2, 6), np.exp(rng.normal(0, 0.3, 7))[np.arange(days) % 7]
        spread = rng.uniform(0.01, 0.08) * (3 if number % 10 == 0 else 1)
        shocks = np.exp(spread * SPREADS[noise].rvs(days + 6, random_state=rng))
        if kind == "appended":
            rows = size * (1 + np.cumsum(rng.uniform(0, 0.02) * week * shocks[:days]))
        elif kind == "loaded anew":
            rows = size * week * shocks[:days]
        elif kind == "of a moving window":
            rows = size * (1 + np.convolve(np.resize(week, days + 6) * shocks, np.ones(7) / 7, mode="valid"))
        else:
            rows = size + np.cumsum((rng.random(days) < 1 / 60) * rng.integers(1, 20, days))
        yield Monitor(f"rows {number}", kind, np.round(rows), is_age=False)
        usual = rng.uniform(1, 20) * 3600
        late = rng.uniform(0.02, 0.3) * SPREADS[noise].rvs(days, random_state=rng)
        ages = np.arange(days) * 86_400.0 if kind == "still" else usual * np.exp(late)
        yield Monitor(f"age {number}", kind, ages, is_age=True)


def of_nab(folder: Path) -> tuple[object, ...]:
    """Judge the second of two weeks by hour, of which each table has one series from a day of its own on."""
    rng = np.random.default_rng(0)
    series = [values for values in _series(folder) if len(values) >= NAB_HOURS]
    looks: list[PooledLook] = []
    lines = judged = 0
    before: set[int] = set()
    tables = []
    for number in range(NAB_TABLES):
        values = series[number % len(series)]
        first = 24 * int(rng.integers(0, max(1, (len(values) - NAB_HOURS) // 24 + 1)))
        tables.append(values[first : first + NAB_HOURS] * 10 ** rng.uniform(0, 3))
    hours = NAB_HOURS
    pasts: list[list[TimedValue]] = [[] for _ in tables]
    pool = DistancePool()
    for hour in range(hours):
        at = START + hour * HOUR
        pool = DistancePool(looks, numbers=NAB_TABLES) if hour % 24 == 0 else pool
        alarms = set()
        for number, values in enumerate(tables):
            now = TimedValue(at, float(values[hour]))
            verdict = learn_pooled("rows", pasts[number], now, pool=pool, rule=LimitRule(per_day=LINES), zone=ZONE)
            if verdict.step is not None:
                step = verdict.step
                alarm = bool(_side(verdict))
                looks.append(PooledLook(str(number), at, step.group, step.band, step.distance, alarm))
            pasts[number].append(now)
            if hour >= hours // 2:
                judged += isinstance(verdict.limit, LearnedLimit)
                alarms |= {number} if _side(verdict) else set()
        lines += len(alarms - before)
        before = alarms
    days = (hours - hours // 2) / 24
    return f"{LINES * days:.0f}", lines, f"{judged / (NAB_TABLES * (hours - hours // 2)):.0%}"


def _series(folder: Path) -> Iterator[Values]:
    """Yield means by hour, none negative."""
    for path in [folder / "nyc_taxi.csv", *sorted((folder / "aws").glob("*.csv"))]:
        means: dict[str, list[float]] = {}
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                means.setdefault(row["timestamp"][:13], []).append(float(row["value"]))
        yield np.array([max(0.0, float(np.mean(values))) for values in means.values()])


if __name__ == "__main__":
    main()
