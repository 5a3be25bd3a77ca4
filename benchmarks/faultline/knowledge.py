"""What a configuration by hand knows of a table: rules read off its warm-up once, the same for every tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from benchmarks.faultline.faults import state_sql
from benchmarks.faultline.histories import RealHistory


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Rules with the margins that a person would leave.

    `not_null`: columns without NULL that are no floating point numbers. `missing`: of all others, the largest share.
    `limits`: from 0, if nothing was below, else half of the span seen below the smallest value, to half of it above the
    largest. `load_rows`: 0.8 times the smallest load to 1.25 times the largest. `load_means`: of the first column of
    numbers, a quarter of the span beyond. `max_age`: of the newest row, half a period more than was usual.
    """

    history: RealHistory
    not_null: Sequence[str]
    missing: Mapping[str, float]
    values: Mapping[str, Sequence[str]]
    limits: Mapping[str, tuple[float, float]]
    load_rows: tuple[int, int]
    load_means: tuple[str, float, float] | None
    max_age: timedelta

    @property
    def max_age_hours(self) -> float:
        """Return the largest age in hours."""
        return self.max_age.total_seconds() / 3600


def learn_by_hand(history: RealHistory) -> Knowledge:
    """Return what the warm-up shows."""
    shape, ask = history.shape, history.connection.execute
    state = f"({state_sql(history, history.warm - 1, None)})"
    absent = ", ".join(f'1 - count("{name}") / count(*)' for name in shape.columns)
    shares = dict(zip(shape.columns, ask(f"SELECT {absent} FROM {state}").fetchone() or (), strict=True))
    strict = [name for name, share in shares.items() if share == 0 and shape.columns[name] != "DOUBLE"]
    values = {
        name: [
            value
            for (value,) in ask(
                f'SELECT DISTINCT "{name}" FROM {state} WHERE "{name}" IS NOT NULL ORDER BY 1'
            ).fetchall()
        ]
        for name in shape.categories
    }
    limits = {}
    for name in shape.numbers:
        low, high = map(float, ask(f'SELECT min("{name}"), max("{name}") FROM {state}').fetchone() or (0, 0))
        margin = (high - low) / 2 or abs(high)
        limits[name] = (0.0 if low >= 0 else low - margin, high + margin)
    number = f'avg("{shape.numbers[0]}")' if shape.numbers else "NULL"
    loads = ask(
        f"SELECT _load, count(*), {number} FROM rows WHERE _load < {history.warm} GROUP BY 1 ORDER BY 1"
    ).fetchall()
    gaps = [after[0] - before[0] for before, after in pairwise(loads)]
    means = [mean for _, _, mean in loads if mean is not None]
    margin = (max(means) - min(means)) / 4 if means else 0.0
    low = min(means, default=0.0) - margin
    return Knowledge(
        history,
        strict,
        {name: round(1.5 * share + 0.01, 3) for name, share in shares.items() if name not in strict},
        values,
        limits,
        (int(0.8 * min(rows for _, rows, _ in loads)), int(1.25 * max(rows for _, rows, _ in loads)) + 1),
        (shape.numbers[0], max(low, 0.0) if min(means) >= 0 else low, max(means) + margin) if means else None,
        history.period * (max(gaps) - 0.5),
    )
