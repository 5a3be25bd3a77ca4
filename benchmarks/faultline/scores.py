"""What is measured: the share found, time to detection, false alarms, hours and money, each with a 95 % interval."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt
from statistics import quantiles
from typing import Final

from benchmarks.faultline.faults import Injection
from benchmarks.faultline.histories import WEEK, RealHistory

UNSEEN: Final = timedelta(days=7)
"""After how long a fault is taken to be noticed by a person, if no tool finds it."""
PRICE: Final = 100
"""What an hour of a table that is wrong is taken to cost."""
_Z: Final = 1.959964
_SAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tool says of a state: the checks that fail or cannot be evaluated."""

    alarms: frozenset[str]

    def beyond(self, clean: "Verdict") -> bool:
        """Check whether there is an alarm that the clean state of the same run does not have."""
        return not self.alarms <= clean.alarms


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What a contestant made of a history.

    `clean`: the verdict on the clean state by run, from the first at which a fault may begin. `found`: by seed, at
    which run (1 to `RUNS`) an injection was found; None where it was not. `states`: how many states were judged, in
    `cpu` seconds. `lines`: of the configuration.
    """

    clean: Mapping[int, Verdict]
    found: Mapping[int, int | None]
    states: int
    cpu: float
    lines: int

    @property
    def episodes(self) -> int:
        """Return how often a check began to fail on a clean state."""
        before: frozenset[str] = frozenset()
        begun = 0
        for _, verdict in sorted(self.clean.items()):
            begun += len(verdict.alarms - before)
            before = verdict.alarms
        return begun

    def as_json(self) -> Mapping[str, object]:
        """Return what `of_json` reads."""
        return {
            "clean": {str(run): sorted(verdict.alarms) for run, verdict in self.clean.items()},
            "found": {str(seed): run for seed, run in self.found.items()},
            "states": self.states,
            "cpu": self.cpu,
            "lines": self.lines,
        }

    @classmethod
    def of_json(cls, tree: Mapping[str, Mapping[str, object]]) -> "Outcomes":
        """Return what `as_json` wrote."""
        clean = {int(run): Verdict(frozenset(map(str, _listed(alarms)))) for run, alarms in tree["clean"].items()}
        found = {int(seed): run if isinstance(run, int) else None for seed, run in tree["found"].items()}
        states, cpu, lines = (float(str(tree[name])) for name in ("states", "cpu", "lines"))
        return cls(clean, found, int(states), cpu, int(lines))


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def text(self, digits: int = 1) -> str:
        """Return it as a text: `4.2 (3.1 to 5.5)`."""
        return f"{self.value:,.{digits}f} ({self.low:,.{digits}f} to {self.high:,.{digits}f})"


def share(hits: int, total: int) -> Estimate:
    """Return a share in percent, with Wilson's interval (1927)."""
    if total == 0:
        return Estimate(0.0, 0.0, 100.0)
    p, z2 = hits / total, _Z * _Z
    centre, reach = p + z2 / (2 * total), _Z * sqrt(p * (1 - p) / total + z2 / (4 * total * total))
    low, high = ((centre + side * reach) / (1 + z2 / total) for side in (-1, 1))
    return Estimate(100 * p, 100 * low if hits else 0.0, 100 * high if hits < total else 100.0)


def by_history(names: Sequence[str], figure: Callable[[Sequence[str]], float]) -> Estimate:
    """Return a figure of all histories, with an interval by drawing histories again (percentile bootstrap)."""
    chance = random.Random(1)
    drawn = [figure(chance.choices(names, k=len(names))) for _ in range(_SAMPLES)]
    cuts = quantiles(drawn, n=40)
    return Estimate(figure(names), cuts[0], cuts[-1])


def missed_hours(history: RealHistory, injection: Injection, found: int | None) -> float:
    """Return for how many hours a fault was there and not known: `UNSEEN` where no run found it."""
    if found is None:
        return UNSEEN / timedelta(hours=1)
    seen = history.now(injection.load + found - 1) - history.loaded_at(injection.load)
    return min(seen, UNSEEN) / timedelta(hours=1)


def weeks(history: RealHistory, outcomes: Outcomes) -> float:
    """Return how many weeks of clean runs were judged."""
    return len(outcomes.clean) * history.period / WEEK
