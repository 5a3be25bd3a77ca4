"""Each model finds again what it was drawn from, and its formulas are those of its law."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, nbinom

from checks.risk import ClassSizes, PopulationModel, class_sizes, population_uniqueness
from checks.risk._population_models import (
    _classes,
    _expected,
    fit_pitman,
    fit_poisson_gamma,
    fit_slide_negative_binomial,
    log_falling,
    log_rising,
)
from checks.risk._sample import COUNTED, PopulationSample
from checks.risk.population import fit_zayatz

DRAWS = 16
LARGEST = 400
"""Larger classes have no weight in the laws that are drawn from."""


def _histogram(sizes):
    found, numbers = np.unique(sizes[sizes > 0], return_counts=True)
    return ClassSizes(found.astype(np.int64), numbers.astype(np.int64))


def _binomial(dice, population, fraction):
    """Keep each row of a population, given as the sizes of its classes, with a chance."""
    return _histogram(dice.binomial(population, fraction))


def _restaurant(dice, *, rows, alpha, theta):
    """Draw the classes of rows by Pitman's law: a row joins a class of m with the weight m - alpha, or founds one."""
    sizes, classes_of_rows = [], []
    chances = dice.random((rows, 2))
    for row in range(rows):
        new, pick = chances[row]
        if row == 0 or new < (theta + alpha * len(sizes)) / (theta + row):
            found = len(sizes)
            sizes.append(0)
        else:
            found = classes_of_rows[int(pick * row)]
            while dice.random() > (sizes[found] - alpha) / sizes[found]:
                found = classes_of_rows[dice.integers(row)]
        sizes[found] += 1
        classes_of_rows.append(found)
    return np.array(classes_of_rows)


def _slide_negative_binomial(shape, odds):
    """Return P(F = 0), P(F = 1), ... of F = 1 + X."""
    return np.append(0.0, nbinom.pmf(np.arange(LARGEST), shape, 1 / (1 + odds)))


def _poisson_gamma(shape, odds):
    """Return P(F = 0), P(F = 1), ... of a cell."""
    return nbinom.pmf(np.arange(LARGEST + 1), shape, 1 / (1 + odds))


def _spreads(law, parameters, *, fraction, classes):
    """Return how far log U/N and P may be off: standard errors of the estimate plus those of the truth.

    The estimate's are those of Cramer and Rao, from the numbers of classes seen; that of the truth is the chance of the
    draw itself. They are added, since the two may go together.
    """
    numbers = np.arange(LARGEST + 1)
    kept = binom.pmf(numbers[:, None], numbers[None, :], fraction)

    def look(logs):
        population = law(*np.exp(logs))
        seen = kept @ population
        share = population[1] / (numbers @ population)
        return seen[1:] / seen[1:].sum(), np.array([math.log(share), fraction * population[1] / seen[1]])

    at, step = np.log(parameters), 1e-4
    steps = step * np.eye(2)
    sides = [(look(at + step), look(at - step)) for step in steps]
    seen, (_, p) = look(at)
    there = seen > 1e-14
    scores = np.array([(np.log(up[0][there]) - np.log(down[0][there])) / (2 * step) for up, down in sides])
    slopes = np.array([(up[1] - down[1]) / (2 * step) for up, down in sides])
    population = law(*parameters)
    unseen = (kept @ population)[0]
    information = classes * (1 - unseen) * (scores * seen[there]) @ scores.T
    estimated = np.sqrt(np.diag(slopes.T @ np.linalg.inv(information) @ slopes))
    influence = (numbers == 1) / population[1] - numbers / (numbers @ population)
    of_share = math.sqrt(population @ influence**2 / classes)
    of_p = math.sqrt(p * (1 - p) / (classes * (kept @ population)[1]))
    return estimated + np.array([of_share, of_p])


def _near(errors, spread):
    """Return whether each error is within four standard errors of 0, and so is their mean."""
    return max(map(abs, errors)) <= 4 * spread and abs(np.mean(errors)) <= 4 * spread / math.sqrt(len(errors))


def _draw_again(draw, model, *, fraction, expected):
    """Return the errors of log U and of P, over populations drawn again; `expected` is what they may be."""
    of_uniques, of_p = [], []
    for _ in range(DRAWS):
        population, sampled = draw()
        found = population_uniqueness(_histogram(sampled), population_size=int(population.sum())).of(model)
        assert not found.degenerate
        assert found.fit < 0.001
        of_uniques.append(math.log(found.population_uniques / np.sum(population == 1)))
        of_p.append(found.p_unique_given_sample_unique - np.mean(population[sampled == 1] == 1))
    assert max(expected) < 0.2, f"a fraction of {fraction} says too little to test anything"
    return of_uniques, of_p


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.8])
def test_slide_negative_binomial_finds_its_population_again(fraction):
    """Populations of F = 1 + X, sampled binomially: U and P are as near as the best estimate could be."""
    dice = np.random.default_rng(20261121)
    shape, odds, classes = 0.7, 3.0, 400_000
    spreads = _spreads(_slide_negative_binomial, (shape, odds), fraction=fraction, classes=classes)

    def draw():
        population = 1 + dice.negative_binomial(shape, 1 / (1 + odds), classes)
        return population, dice.binomial(population, fraction)

    errors = _draw_again(draw, PopulationModel.SNB, fraction=fraction, expected=spreads)
    assert _near(errors[0], spreads[0])
    assert _near(errors[1], spreads[1])


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.8])
def test_poisson_gamma_finds_its_population_again(fraction):
    """Cells with gamma distributed Poisson means, sampled binomially: U and P are as near as the best could be."""
    dice = np.random.default_rng(19900409)
    shape, odds, cells = 0.4, 8.0, 400_000
    spreads = _spreads(_poisson_gamma, (shape, odds), fraction=fraction, classes=cells)

    def draw():
        population = dice.poisson(dice.gamma(shape, odds, cells))
        return population, dice.binomial(population, fraction)

    errors = _draw_again(draw, PopulationModel.POISSON_GAMMA, fraction=fraction, expected=spreads)
    assert _near(errors[0], spreads[0])
    assert _near(errors[1], spreads[1])


@pytest.mark.parametrize(("alpha", "theta"), [(0.6, 50.0), (0.5, 5_000.0)])
def test_pitman_finds_its_population_again(alpha, theta):
    """Populations by Pitman's law, also where theta is not small: the mean errors of U and P are chance."""
    dice = np.random.default_rng(2001)
    rows, fraction = 30_000, 0.25
    of_uniques, of_p = [], []
    for _ in range(DRAWS):
        classes = _restaurant(dice, rows=rows, alpha=alpha, theta=theta)
        population = np.bincount(classes)
        sampled = np.bincount(dice.choice(classes, int(rows * fraction), replace=False), minlength=len(population))
        found = population_uniqueness(_histogram(sampled), population_size=rows).pitman
        assert not found.degenerate
        of_uniques.append(found.population_uniques / np.sum(population == 1) - 1)
        of_p.append(found.p_unique_given_sample_unique - np.mean(population[sampled == 1] == 1))
    for errors in (of_uniques, of_p):
        assert abs(np.mean(errors)) <= 4 * np.std(errors, ddof=1) / math.sqrt(DRAWS)
        assert np.std(errors) < 0.1, "so far apart that their mean says nothing"


def test_zayatz_is_right_where_its_assumption_is():
    """Nearly all of a population has nearly its classes; a small part has not, and the fit says so."""
    dice = np.random.default_rng(1991)
    population = 1 + dice.negative_binomial(0.7, 0.25, 60_000)
    true = np.sum(population == 1)
    nearly_all = population_uniqueness(_binomial(dice, population, 0.99), population_size=int(population.sum())).zayatz
    assert nearly_all.population_uniques == pytest.approx(true, rel=0.01)
    assert nearly_all.fit < 0.001
    little = population_uniqueness(_binomial(dice, population, 0.05), population_size=int(population.sum())).zayatz
    assert little.population_uniques > 1.5 * true
    assert little.fit > 0.1


@pytest.mark.parametrize("name", ["equal", "zipf", "one-giant", "two-kinds", "lognormal"])
@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.5, 0.999])
def test_other_populations_are_borne(name, fraction):
    """On a population that follows none of the models each gives a number within its range, or says what is wrong."""
    dice = np.random.default_rng(7)
    population = {
        "equal": np.full(5_000, 5),
        "zipf": dice.zipf(1.6, 20_000).clip(max=10**6),
        "one-giant": np.array([10**7, *[1] * 3_000]),
        "two-kinds": np.array([1] * 5_000 + [300] * 100),
        "lognormal": np.ceil(dice.lognormal(0.5, 2, 20_000)).astype(np.int64),
    }[name]
    sampled = _binomial(dice, population, fraction)
    found = population_uniqueness(sampled, population_size=int(population.sum()))
    for estimate in (found.zayatz, found.pitman, found.snb, found.poisson_gamma):
        assert 0 <= estimate.fraction_of_population <= 1.01
        assert 0 <= estimate.p_unique_given_sample_unique <= 1


@pytest.mark.parametrize("fit", [fit_zayatz, fit_pitman, fit_slide_negative_binomial, fit_poisson_gamma])
def test_what_a_model_expects_is_a_distribution(fit):
    """The expected numbers of classes of each size are not negative, and there are some."""
    sample = PopulationSample(ClassSizes.of([(1, 300), (2, 80), (3, 40), (5, 11), (14, 6), (90, 2)]), 9_000)
    expected = fit(sample).expected
    assert expected.shape == (COUNTED + 1,)
    assert (expected >= 0).all()
    assert sample.divergence(expected) >= 0


def test_pitman_expects_the_classes_that_its_law_makes():
    """The expected numbers of classes of each size are the mean of the drawn ones, within four standard errors."""
    dice = np.random.default_rng(3)
    rows, alpha, theta = 300, 0.5, 30.0
    draws = []
    for _ in range(300):
        sizes = Counter(np.bincount(_restaurant(dice, rows=rows, alpha=alpha, theta=theta)).tolist())
        single = [sizes[size] for size in range(1, COUNTED + 1)]
        draws.append([*single, sizes.total() - sum(single)])
    expected = _expected(PopulationSample(ClassSizes.of([(1, rows)]), rows), alpha, theta + alpha)
    errors = np.std(draws, axis=0, ddof=1) / math.sqrt(len(draws))
    assert (abs(np.mean(draws, axis=0) - expected) <= 4 * errors).all()


@pytest.mark.parametrize(
    ("rows", "alpha", "theta"), [(40, 0.3, 0.0), (40, 0.9, -0.5), (1000, 1e-6, 5e7), (500, 0.4, 80.0)]
)
def test_pitman_expects_as_many_classes_as_rows_found(rows, alpha, theta):
    """After m rows in u classes the next one founds another with the chance (theta + alpha u) / (theta + m)."""
    classes = 1.0
    for row in range(1, rows):
        classes += (theta + alpha * classes) / (theta + row)
    assert _classes(rows, alpha, theta) == pytest.approx(classes, rel=1e-8)


@pytest.mark.parametrize("start", [0.3, 5.0, 63.9, 64.1, 1e4, 1e12])
@pytest.mark.parametrize("steps", [0, 1, 7, 1000])
def test_rising_factorials(start, steps):
    """The logarithm of start (start + 1) ... is the sum of the logarithms, however large the start."""
    expected = math.fsum(math.log(start + step) for step in range(steps))
    assert float(log_rising(start, steps)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_falling_factorials():
    """10 * 9 * 8; all of 5!; nothing."""
    assert np.exp(log_falling([10, 5, 4], [3, 5, 0])) == pytest.approx([720, 120, 1])


def test_sizes_come_from_a_frame_as_well():
    """The sizes of the classes of a frame are what the models need, and all that they need."""
    table = pd.DataFrame({"age": [30, 30, 41, 52], "town": ["a", "a", None, None]})
    found = population_uniqueness(class_sizes(table, ["age", "town"]), population_size=40)
    assert (found.rows, found.sample_uniques) == (4, 2)
