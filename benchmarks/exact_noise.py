"""Exact noise and local reports: how many a second, one process. Beside it, if it is installed: OpenDP."""

import importlib
import importlib.util
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks._measure import measure, median, table
from remedies.differential_privacy import discrete_gaussian, discrete_laplace, many_discrete_laplace, oracles

PEOPLE = 1_000_000
VALUES = 14
RUNS = 5


def main() -> None:
    """Print both tables."""
    print(f"**Local reports of {PEOPLE:,} people, {VALUES} values, epsilon 1.** Millions a cpu second.\n")
    print(table(("oracle", "perturb", "estimate"), [_local(name) for name in oracles]))
    print(f"\n**Noise, scale 20.** Cpu each, medians of {RUNS} runs.\n")
    print(table(("noise", "microseconds"), [*_noise(), *_opendp()]))


def _local(name: str) -> tuple[str, str, str]:
    oracle = oracles[name](VALUES, 1)
    people = PEOPLE // VALUES if name == "SHE" else PEOPLE  # draws a discrete Laplace for each value of each person
    values = np.arange(people) % VALUES
    reports = oracle.perturb_many(values)
    seconds = [_seconds(lambda: oracle.perturb_many(values)), _seconds(lambda: oracle.estimate(reports))]
    perturbed, estimated = (f"{people / second / 1e6:.2f}" for second in seconds)
    return name, perturbed, estimated


def _noise() -> list[tuple[str, str]]:
    scale = Fraction(20)
    return [
        _each("discrete Laplace, one by one", 5_000, lambda: [discrete_laplace(scale) for _ in range(5_000)]),
        _each("discrete Laplace, an array", PEOPLE, lambda: many_discrete_laplace(scale, PEOPLE)),
        _each("discrete Gaussian, one by one", 2_000, lambda: [discrete_gaussian(400) for _ in range(2_000)]),
    ]


def _opendp() -> list[tuple[str, str]]:
    if importlib.util.find_spec("opendp") is None:
        return []
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    one = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=20.0)
    many = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=20.0)
    zeros = [0] * 100_000
    return [
        _each("OpenDP's discrete Laplace, one by one", 5_000, lambda: [one(0) for _ in range(5_000)]),
        _each("OpenDP's discrete Laplace, an array", len(zeros), lambda: many(zeros)),
    ]


def _each(name: str, count: int, work: Callable[[], object]) -> tuple[str, str]:
    return name, f"{_seconds(work) / count * 1e6:.2f}"


def _seconds(work: Callable[[], object]) -> float:
    work()
    return median([measure(work) for _ in range(RUNS)]).cpu
