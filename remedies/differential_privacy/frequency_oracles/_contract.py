"""What an oracle is: randomises one person's value at home, and estimates from all reports how many have which value.

Privacy is proved of what is computed, not of the formula: every probability is a whole number of 2^-64, rounded to the
side on which the largest ratio of two likelihoods (`likelihood_ratio`, a fraction) is at most exp(epsilon); and the
estimates use these very fractions, so that rounding leaves no bias.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import NANO, Loss, exp_below, nano
from remedies.differential_privacy.frequency_oracles.choices import Choices, Codes, Declared
from remedies.differential_privacy.random_bytes import ONE, flags, many_below

_STEEPEST: Final = Fraction(64)
"""Beyond exp(44) a ratio needs probabilities finer than 2^-64: a larger epsilon is used as 64, which costs less."""


Reports: TypeAlias = np.ndarray | Sequence[Any]
"""Reports of many people: an array of n rows, or a list of what `perturb` gave."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Unbiased estimates of the number of people with each value of the domain; never clipped: some may be negative.

    `counts`, `variances`: float64, one for each value of the domain, or each that was asked for. A variance is that of
    its count over the randomness of the reports, itself estimated without bias. `users`: how many reports there were.
    """

    counts: NDArray[np.float64]
    variances: NDArray[np.float64]
    users: int


class Oracle(ABC):
    """A way to report a value under local differential privacy.

    Attributes:
        name: the word by which it is chosen.
        choices: the declared domain.
        nano_epsilon: what one report costs.
    """

    name: ClassVar[str]

    def __init__(self, domain: Declared, epsilon: Loss, *, other: Hashable = None) -> None:
        """Declare the domain (its values, or d for the integers 0 to d - 1) and what one report costs.

        `other`: the value of the domain that stands for whatever is not declared.

        Raises:
            Misfit: the domain or epsilon makes no sense.
        """
        self.choices = Choices(domain, other=other)
        self.nano_epsilon = nano(epsilon)

    def perturb(self, value: Hashable) -> Any:
        """Return one person's report, as plain data: it is all that leaves their device.

        Raises:
            Misfit: the value is not in the declared domain.
        """
        report = self.perturb_many([value])[0]
        if isinstance(report, np.ndarray):
            return report.astype(np.int64).tolist()
        return report.item() if isinstance(report, np.generic) else report

    def perturb_many(self, values: Iterable[Hashable]) -> np.ndarray:
        """Return a report for each value: an array of n rows.

        Raises:
            Misfit: a value is not in the declared domain.
        """
        return self._perturb(self.choices.encode(values))

    @abstractmethod
    def estimate(self, reports: Reports, *, values: Iterable[Hashable] | None = None) -> Estimates:
        """Estimate from all reports how many people have each value.

        `values`: those that are to be counted, in this order; None: all of the domain.

        Raises:
            Misfit: what was given cannot be reports of this oracle, or one of `values` is not in the domain.
        """

    @abstractmethod
    def variance(self, users: int = 1, *, share: float = 0.0) -> float:
        """Return the variance of one estimated count among `users` people; this share of them has the value."""

    @abstractmethod
    def _perturb(self, codes: Codes) -> np.ndarray:
        """Randomise positions in the domain."""

    def _wanted(self, values: Iterable[Hashable] | None) -> Codes | None:
        if values is None:
            return None
        codes = self.choices.positions(values)
        if (codes < 0).any():
            raise Misfit("a value that is to be counted is not in the declared domain")
        return codes

    @property
    def exponent(self) -> Fraction:
        """The epsilon that is used: what was asked for, at most 64."""
        return min(Fraction(self.nano_epsilon, NANO), _STEEPEST)

    @cached_property
    def odds(self) -> Fraction:
        """A fraction that is at most exp(epsilon), and nearly that."""
        return exp_below(self.exponent)


class SupportOracle(Oracle):
    """An oracle whose reports each support some values: the own one with probability p, any other with probability q.

    The estimate of a count from the S reports that support a value is (S - n q) / (p - q), with the variance
    n q (1 - q) / (p - q)^2 + n f (1 - p - q) / (p - q) at a share f (Wang et al. 2017, equations 2 and 3, before they
    leave out f).
    """

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The exact probability that a report supports the value of who sent it."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The exact probability that a report supports another given value."""

    @property
    @abstractmethod
    def likelihood_ratio(self) -> Fraction:
        """Return how many times as likely a report may be for another value: exact, at most exp(epsilon)."""

    @abstractmethod
    def _support(self, reports: np.ndarray, codes: Codes | None) -> Codes:
        """Count the reports that support each of the wanted positions, or each of the domain: int64."""

    @abstractmethod
    def _checked(self, reports: Reports) -> np.ndarray:
        """Return the reports as an array, or raise `Misfit`."""

    def estimate(self, reports: Reports, *, values: Iterable[Hashable] | None = None) -> Estimates:
        """Estimate from all reports how many people have each value, or each of `values`.

        Raises:
            Misfit: what was given cannot be reports of this oracle, or one of `values` is not in the domain.
        """
        checked, codes = self._checked(reports), self._wanted(values)
        users, gap = len(checked), float(self.p - self.q)
        counts = np.asarray((self._support(checked, codes) - users * float(self.q)) / gap, dtype=np.float64)
        variances = np.asarray(self.variance(users) + counts * (float(1 - self.p - self.q) / gap), dtype=np.float64)
        return Estimates(counts, variances, users)

    def variance(self, users: int = 1, *, share: float = 0.0) -> float:
        """Return the variance of one estimated count among `users` people; this share of them has the value."""
        gap = self.p - self.q
        rare, more = self.q * (1 - self.q) / gap**2, (1 - self.p - self.q) / gap
        return users * (float(rare) + share * float(more))


def largest_keep(odds: Fraction, size: int) -> int:
    """Return the threshold below which a value is kept, else redrawn from `size` values, at a ratio of at most `odds`.

    With r = threshold / 2^64: p = r + (1 - r)/d and q = (1 - r)/d, so p/q = 1 + d r/(1 - r), which rises with r and is
    `odds` at r = (odds - 1) / (odds - 1 + d). Rounded down, the ratio is at most `odds`.
    """
    return math.floor(ONE * (odds - 1) / (odds - 1 + size))


def redraw(codes: Codes, *, size: int, keep: int) -> Codes:
    """Keep each code with probability `keep` / 2^64, else draw it again from 0 to `size` - 1."""
    return np.where(flags(keep, codes.size), codes, many_below(size, codes.size).astype(np.int64))


def integers(reports: Reports, *, columns: int, what: str) -> Codes:
    """Return reports as int64 (n, columns).

    Raises:
        Misfit: they have another shape or are no integers.
    """
    try:
        array = np.asarray(reports)
    except ValueError:
        raise Misfit(f"reports have different lengths, expected (n, {columns}) integers: {what}") from None
    if array.size == 0:
        array = np.zeros((0, columns), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != columns or array.dtype.kind not in "biu":
        raise Misfit(f"reports have shape {array.shape} of {array.dtype}, expected (n, {columns}) integers: {what}")
    return array.astype(np.int64)
