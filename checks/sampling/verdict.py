"""Judge shares that were estimated from a sample: by the whole interval, never by the estimate alone.

**Rows.** The number of bad rows in a simple random sample is hypergeometric. Uhlmann (1966) compares its tails with
those of the binomial distribution: below the share (x - 1) / (n - 1) times N / (N + 1), the probability of x or more is
the smaller one. The limits of Clopper and Pearson lie there for x >= 2. For x = 1 the probability of a bad row is at
most n times the share, whatever N is; it stands in place of theirs, which is too large by up to alpha / 4 of itself.

**Blocks.** Rows of a block are alike, so that n rows of m blocks may tell no more than m rows, and neither a binomial
nor a normal interval holds. Let block b have n_b rows, x_b of them bad, and no block more than M rows. If the share is
f, z_b = x_b - f n_b has mean 0 over all blocks, and lies between -f M and (1 - f) M. A simple random sample is
negatively associated (Joag-Dev and Proschan, 1983), so for each bet t in [0, 1] the product of the
1 - t z_b / ((1 - f) M) has an expectation of at most 1, and so has its mean over several t. It is large where f is
larger than the sample speaks for; good and bad rows change places for the other end. By Markov's inequality a share is
rejected with probability alpha / 2 at most where the mean exceeds 2 / alpha. (The bets are those of Waudby-Smith and
Ramdas, 2024, fixed in advance, which makes the order of the blocks irrelevant.) Nothing is assumed about how the bad
rows are spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from checks._contract import Json, Measurement, Outcome, Status, UnknownReason, unknown
from checks._outcome import Message
from checks.parameters.rows import Sampling
from checks.sampling.beta import beta_quantile
from checks.sampling.query import BLOCK_BYTES, BLOCKS, SAMPLE

_BETS: Final = tuple(0.98 * 2.0**-power for power in range(16))
"""Large bets are best where blocks are alike, small ones where they differ and are many; bet n has the weight 1/n."""
_STEPS: Final = 60


def rows_interval(bad: int, rows: int, alpha: float) -> tuple[float, float]:
    """Return limits between which the share of bad rows lies, but for a probability of at most `alpha`.

    `rows` rows were drawn without replacement, at least one, and `bad` of them are bad.
    """
    return _least_share(bad, rows, alpha / 2), 1 - _least_share(rows - bad, rows, alpha / 2)


def _least_share(bad: int, rows: int, alpha: float) -> float:
    if bad == 0:
        return 0.0
    if bad == 1:
        return alpha / rows
    return beta_quantile(bad, rows - bad + 1, alpha)


def blocks_interval(blocks: Sequence[tuple[int, int, int]], most_rows: int, alpha: float) -> tuple[float, float]:
    """Return limits between which the share of bad rows lies, but for a probability of at most `alpha`.

    Args:
        blocks: of the blocks that were drawn without replacement, `(rows, bad rows, number of such blocks)`.
        most_rows: no block of the table has more rows.
        alpha: the probability of a miss.
    """
    rows = sum(size * count for size, _, count in blocks)
    bad = sum(wrong * count for _, wrong, count in blocks)
    good_blocks = [(size, size - wrong, count) for size, wrong, count in blocks]
    greatest = _greatest_share(blocks, most_rows, alpha / 2, start=bad / rows)
    least = 1 - _greatest_share(good_blocks, most_rows, alpha / 2, start=1 - bad / rows)
    return max(0.0, least), greatest


def _greatest_share(blocks: Sequence[tuple[int, int, int]], most_rows: int, alpha: float, *, start: float) -> float:
    """Return the largest share that is not rejected: the evidence against a share grows with it."""
    import numpy as np

    sizes, bad, counts = (np.array(column, dtype=float) for column in zip(*blocks, strict=True))
    bets = np.array(_BETS)[:, None]
    weights = 1 / np.arange(1, len(_BETS) + 1)
    weights /= weights.sum()

    def evidence(share: float) -> float:
        payoffs = -bets * (bad - share * sizes) / ((1 - share) * most_rows)
        growth = np.log1p(payoffs) @ counts
        top = float(growth.max())
        return top + math.log(float(weights @ np.exp(growth - top)))

    return _largest(lambda share: evidence(share) < -math.log(alpha), start, 1.0)


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a condition that holds at `low` ceases to hold, never too small; `high` itself is never asked."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


_NOTHING: Final = Message("no row was sampled; take a larger share, or remove 'sample'")
_FINE: Final = Message(
    "{what}: an estimated {estimate:ratio} of the rows ({low:ratio} to {high:ratio}; {rows:count} sampled)"
)
_ABOVE: Final = Message(
    "{what}: an estimated {estimate:ratio} of the rows ({low:ratio} to {high:ratio}; {rows:count} sampled), "
    "at most {limit:ratio} expected"
)
_BELOW: Final = Message(
    "{what}: an estimated {estimate:ratio} of the rows ({low:ratio} to {high:ratio}; {rows:count} sampled), "
    "at least {limit:ratio} expected"
)
_UNSURE: Final = Message(
    "{what}: {low:ratio} to {high:ratio} of the rows ({rows:count} sampled), too near to the limit {limit:ratio} to "
    "tell; take a larger share"
)
_NO_HEAP: Final = Message("a block of this table holds more rows than PostgreSQL puts into one; use 'method: rows'")
_RANKS: Final = {Status.PASS: 0, Status.UNKNOWN: 1, Status.FAIL: 2}
_PAGE_HEADER, _LEAST_ROW = 24, 28
"""Bytes of PostgreSQL's storage: the header of a page; the smallest row with its pointer."""


@dataclass(frozen=True, slots=True)
class RowShare:
    """A share of rows and its limits.

    `what` names it. `counted` is the aggregate that counts its rows, `uncertain` one of rows that may belong to them.
    """

    what: str
    counted: str
    least: Fraction | None = None
    most: Fraction | None = None
    uncertain: str | None = None


def sampled_measurement(sample: Sampling, measurement: Measurement) -> Measurement | Outcome:
    """Return the measurement with the sums over the sample as its values; no row in the sample is unknown."""
    rows = measurement.tables[SAMPLE]
    names = [name for name in (rows[0] if rows else {}) if name not in {BLOCKS, BLOCK_BYTES}]
    values = {name: sum(int(row[name] or 0) * int(row.get(BLOCKS, 1)) for row in rows) for name in names}
    if not values.get("rows"):
        return unknown(UnknownReason.NO_DATA, _NOTHING, {"sample": {**_described(sample), "rows": 0}})
    return replace(measurement, values=values, sample=sample)


def judge_shares(measurement: Measurement, shares: Sequence[RowShare]) -> Outcome:
    """Fail when all of an interval lies beyond a limit, pass when all of each lies within; else it is unknown.

    The intervals hold together with the confidence of the sample.
    """
    sample = measurement.sample
    if sample is None:
        raise TypeError("only a measurement of a sample has intervals")
    rows = measurement.tables[SAMPLE]
    most_rows = _most_rows_of_block(rows)
    if any(row["rows"] > most_rows for row in rows if BLOCKS in row):
        return unknown(UnknownReason.MISCONFIGURED, _NO_HEAP)
    alpha = (1 - sample.confidence) / len(shares)
    judged = [_Estimate.of(share, measurement, alpha, most_rows) for share in shares]
    observed: dict[str, Json] = {
        "sample": {
            **_described(sample),
            "rows": measurement.number("rows"),
            **({"blocks": sum(row[BLOCKS] for row in rows)} if sample.method == "blocks" else {}),
            "estimates": {estimate.share.what: estimate.observed for estimate in judged},
        }
    }
    worst = max(judged, key=lambda estimate: (_RANKS[estimate.status], estimate.value))
    message = worst.message(measurement.number("rows"))
    if worst.status is Status.UNKNOWN:
        return unknown(UnknownReason.NO_DATA, message, observed)
    return Outcome(worst.status, message, observed, worst.expected)


@dataclass(frozen=True, slots=True)
class _Estimate:
    share: RowShare
    bad: int
    value: float
    low: float
    high: float

    @classmethod
    def of(cls, share: RowShare, measurement: Measurement, alpha: float, most_rows: int) -> _Estimate:
        low, high = _interval(share.counted, measurement, alpha, most_rows)
        bad = measurement.number(share.counted)
        if share.uncertain is not None and measurement.values.get(share.uncertain):
            unsure = bad + measurement.number(share.uncertain)
            _, high = rows_interval(unsure, measurement.number("rows"), alpha)
        return cls(share, bad, bad / measurement.number("rows"), low, high)

    @property
    def status(self) -> Status:
        if self._is_above or self._is_below:
            return Status.FAIL
        least, most = self.share.least, self.share.most
        within = (least is None or self.low >= least) and (most is None or self.high <= most)
        return Status.PASS if within else Status.UNKNOWN

    @property
    def _is_above(self) -> bool:
        return self.share.most is not None and self.low > self.share.most

    @property
    def _is_below(self) -> bool:
        return self.share.least is not None and self.high < self.share.least

    def message(self, rows: int) -> Message:
        share, status = self.share, self.status
        text, limit = _FINE, None
        if status is Status.FAIL:
            text, limit = (_ABOVE, share.most) if self._is_above else (_BELOW, share.least)
        elif status is Status.UNKNOWN:
            text, limit = _UNSURE, share.most if share.most is not None and self.high > share.most else share.least
        limits = {} if limit is None else {"limit": float(limit)}
        numbers = {} if status is Status.UNKNOWN else {"estimate": self.value}
        return text.given(what=share.what, low=self.low, high=self.high, rows=rows, **numbers, **limits)

    @property
    def observed(self) -> Mapping[str, Json]:
        return {"counted": self.bad, "estimate": self.value, "low": self.low, "high": self.high}

    @property
    def expected(self) -> Mapping[str, Json]:
        limits = {"least": self.share.least, "most": self.share.most}
        return {name: float(limit) for name, limit in limits.items() if limit is not None}


def _interval(name: str, measurement: Measurement, alpha: float, most_rows: int) -> tuple[float, float]:
    rows = measurement.tables[SAMPLE]
    if BLOCKS not in rows[0]:
        return rows_interval(measurement.number(name), measurement.number("rows"), alpha)
    blocks = [(row["rows"], int(row[name] or 0), row[BLOCKS]) for row in rows if row["rows"]]
    return blocks_interval(blocks, most_rows, alpha)


def _most_rows_of_block(rows: Sequence[Mapping[str, Any]]) -> int:
    return (int(rows[0].get(BLOCK_BYTES, 0)) - _PAGE_HEADER) // _LEAST_ROW


def _described(sample: Sampling) -> dict[str, Json]:
    return {"method": sample.method, "share": sample.share, "confidence": sample.confidence}
