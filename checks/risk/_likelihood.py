"""Find the two parameters under which a sample is most likely, and say when the sample does not settle them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from checks.classes.arrays import np

_FLAT: Final = 0.01
"""A bound at which the log-likelihood is smaller by no more than this may be where the parameter lies."""
_STEPS: Final = 17
_EXACT: Final = 1e-9
_SERIES_FROM: Final = 64.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter between two bounds; `at_low` and `at_high` say what it means to lie there."""

    low: float
    high: float
    at_low: str
    at_high: str


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where a likelihood is largest; `problem` says if it is at a bound or was not found, None for neither."""

    outer: float
    inner: float
    problem: str | None


Profile = Callable[[float], Callable[[float], float]]
"""The log-likelihood as a function of the inner parameter, given the outer one: what it shares is worked out once."""


def maximise(profile: Profile, *, outer: Parameter, inner: Parameter) -> Maximum:
    """Find the largest log-likelihood within the bounds.

    For each value of the outer parameter the best inner one is sought by Brent's method, then the outer one by the same
    from the best of a grid, since a profile may have more than one peak.
    """
    from scipy.optimize import minimize_scalar

    def best(value: float) -> tuple[float, float, bool]:
        likelihood = profile(value)
        result = minimize_scalar(
            lambda other: -likelihood(other),
            bounds=(inner.low, inner.high),
            method="bounded",
            options={"xatol": _EXACT},
        )
        return float(result.x), -float(result.fun), bool(result.success)

    grid = np.linspace(outer.low, outer.high, _STEPS)
    peak = int(np.argmax([best(value)[1] for value in grid]))
    around = (float(grid[max(peak - 1, 0)]), float(grid[min(peak + 1, _STEPS - 1)]))
    result = minimize_scalar(lambda value: -best(value)[1], bounds=around, method="bounded", options={"xatol": _EXACT})
    at = float(result.x)
    other, largest, converged = best(at)
    bounds = (
        (outer.at_low, best(outer.low)[1]),
        (outer.at_high, best(outer.high)[1]),
        (inner.at_low, profile(at)(inner.low)),
        (inner.at_high, profile(at)(inner.high)),
    )
    problem = next((words for words, value in bounds if value >= largest - _FLAT), None)
    if not (converged and result.success and np.isfinite(largest)):
        problem = "the search for the parameters did not converge"
    return Maximum(at, other, problem)


def log_rising(start: Any, steps: Any) -> Any:
    """Return log(Gamma(start + steps) / Gamma(start)), also where both are far larger than their quotient.

    `start`: above 0. `steps`: at least 0, need not be whole. Numbers or arrays. From 64 on Stirling's series is taken,
    so that the large parts cancel before they are computed; its first left out term is below 1e-15.
    """
    from scipy.special import gammaln

    start, steps = np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    far = np.maximum(start, _SERIES_FROM)
    by_series = (
        (far - 0.5) * np.log1p(steps / far) + steps * (np.log(far + steps) - 1) + _rest(far + steps) - _rest(far)
    )
    return np.where(start > _SERIES_FROM, by_series, gammaln(start + steps) - gammaln(start))


def log_falling(start: Any, steps: Any) -> Any:
    """Return log(start (start - 1) ... (start - steps + 1)); `steps` is whole, at least 0, at most `start`."""
    start, steps = np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    return log_rising(start - steps + 1, steps)


def _rest(x: Any) -> Any:
    return (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
