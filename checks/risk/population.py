"""How many people are unique in the population that a table is a sample of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from checks.classes.arrays import np
from checks.risk._population_models import fit_pitman, fit_poisson_gamma, fit_slide_negative_binomial, log_falling
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample, with_the_rest
from checks.risk.sizes import ClassSizes
from sources import import_extra


def fit_zayatz(sample: PopulationSample) -> Fitted:
    """Estimate by Bayes' rule, with the sizes of the sample's classes in place of those of the population.

        P(F = 1 | f = 1) = p_1 h(1 | 1) / sum_i p_i h(1 | i),  h(j | i) = C(i, j) C(N - i, n - j) / C(N, n)

    A class of i rows in the population has j in the sample, drawn without replacement; p_i is the share of the classes
    that have size i. Then U = f_1 P(F = 1 | f = 1) N / n. Needs no search.

    What it assumes, that the classes of sample and population are of the same sizes, is false: classes lose rows when a
    sample is drawn. `expected` is what a sample of such a population would look like; how far off it is shows how much
    the estimate leans on that.

    Source: Zayatz, L. (1991). Estimation of the percent of unique population elements on a microdata file using the
    sample. Bureau of the Census, SRD report 91-08.
    """
    chances = sample.weights * np.exp(_log_drawn(sample, 1))
    p = float(chances[0] / chances.sum()) if sample.uniques else 0.0
    drawn = np.array([sample.weights @ np.exp(_log_drawn(sample, rows)) for rows in range(COUNTED + 1)])
    expected = with_the_rest(drawn[1:] / (sample.count - drawn[0]))
    return Fitted(p * sample.uniques / sample.fraction, p, expected)


def _log_drawn(sample: PopulationSample, rows: int) -> Floats:
    """Return log h(rows | i) for each size i that occurs."""
    gammaln = import_extra("scipy.special").gammaln
    sizes, outside = sample.sizes, sample.population_size - sample.rows
    others = sizes - rows
    possible = (others >= 0) & (others <= outside) & (rows <= sample.rows)
    others = np.where(possible, others, 0)
    ways = gammaln(sizes + 1) - gammaln(rows + 1) - gammaln(others + 1)
    inside = log_falling(sample.rows, min(rows, sample.rows))
    drawn = ways + inside + log_falling(outside, others) - log_falling(sample.population_size, sizes)
    return np.where(possible, drawn, -np.inf)


class PopulationModel(StrEnum):
    """A model of how the classes of a population are related to those of a sample."""

    ZAYATZ = "zayatz"
    PITMAN = "pitman"
    SNB = "snb"
    """Slide negative binomial."""
    POISSON_GAMMA = "poisson_gamma"


@dataclass(frozen=True, slots=True)
class PopulationEstimate:
    """The estimates of one model. Every number is finite.

    `population_uniques`: rows of the population that are unique in it (U). `fraction_of_population`: U/N.
    `p_unique_given_sample_unique`: the chance that a row that is unique in the sample is so in the population, 0 to 1;
    that of the fitted model, so that it is near, but only with Zayatz equal to, U n / (N f1). `fit`: how far the sizes
    of the sample's classes are from what the model expects: Kullback-Leibler, nats, 0 is perfect, below 0.01 is close;
    None where nothing had to be fitted. `degenerate`: the estimate is not to be relied on, for the `problem` named.
    """

    population_uniques: float
    fraction_of_population: float
    p_unique_given_sample_unique: float
    fit: float | None
    degenerate: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """The number of rows that are unique in the sample, and in the population by each model.

    `population_size`: N. `sampling_fraction`: n/N, above 0 up to 1. `sample_unique_fraction`: f1/n. `dis`: the
    probability that a match with a row that is unique in the sample is right; None where no row is unique in it and no
    two are alike. `decision`: the model to go by, `reason`: why this one.
    """

    rows: int
    population_size: int
    sampling_fraction: float
    sample_uniques: int
    sample_unique_fraction: float
    zayatz: PopulationEstimate
    pitman: PopulationEstimate
    snb: PopulationEstimate
    poisson_gamma: PopulationEstimate
    dis: float | None
    decision: PopulationModel
    reason: str

    def of(self, model: PopulationModel) -> PopulationEstimate:
        """Return the estimate of a model."""
        return {
            PopulationModel.ZAYATZ: self.zayatz,
            PopulationModel.PITMAN: self.pitman,
            PopulationModel.SNB: self.snb,
            PopulationModel.POISSON_GAMMA: self.poisson_gamma,
        }[model]

    @property
    def decided(self) -> PopulationEstimate:
        """Return the estimate to go by."""
        return self.of(self.decision)


def population_uniqueness(
    sizes: ClassSizes, *, sampling_fraction: float | None = None, population_size: int | None = None
) -> PopulationUniqueness:
    """Estimate how many rows of a population are unique in it, from the sizes of the classes of a sample.

    A row that is unique in the sample need not be so in the population: others like it may be outside the sample. The
    models extrapolate what cannot be seen, and differ by multiples where the sample is a small part: see `fit`,
    `degenerate`, and how far they are apart. They assume that rows are drawn with equal chance, and that the attacker
    does not know who is in the sample: for those who do, the risk is that of uniqueness in the sample. Rows in classes
    of two are not counted, and nothing is said of what a class gives away. Costs time by the number of different sizes.

    A sample that is the population has f1 uniques by every model; one without uniques has none. One of nothing but
    uniques does not say how often rows repeat: all of the population, flagged.

    Args:
        sizes: of the equivalence classes of the sample, at least one.
        sampling_fraction: the share of the population that is in the sample, above 0 up to 1; N = round(n / fraction).
        population_size: N, at least the rows of the sample. Either this or the fraction.

    Raises:
        ValueError: there are no rows, both or neither of fraction and size are given, or they are out of range.

    Source: see each model; Skinner, C. J. and Elliot, M. J. (2002). A measure of disclosure risk for microdata. Journal
    of the Royal Statistical Society B 64(4), for `dis`; Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012).
    Estimating the re-identification risk of clinical data sets. BMC Medical Informatics and Decision Making 12:66, for
    `decision`.
    """
    if not sizes.count:
        raise ValueError("a sample without rows cannot be used to estimate its population; at least one row expected")
    size = _population_size(sizes.rows, sampling_fraction, population_size)
    sample = PopulationSample(sizes, size)
    estimates = {model: _estimate(sample, fit) for model, fit in _MODELS.items()}
    decision, reason = _decide(sample, estimates)
    return PopulationUniqueness(
        rows=sample.rows,
        population_size=size,
        sampling_fraction=sample.fraction,
        sample_uniques=sample.uniques,
        sample_unique_fraction=sample.uniques / sample.rows,
        zayatz=estimates[PopulationModel.ZAYATZ],
        pitman=estimates[PopulationModel.PITMAN],
        snb=estimates[PopulationModel.SNB],
        poisson_gamma=estimates[PopulationModel.POISSON_GAMMA],
        dis=_correct_match(sample),
        decision=decision,
        reason=reason,
    )


_MODELS: Final[Mapping[PopulationModel, Callable[[PopulationSample], Fitted]]] = {
    PopulationModel.ZAYATZ: fit_zayatz,
    PopulationModel.PITMAN: fit_pitman,
    PopulationModel.SNB: fit_slide_negative_binomial,
    PopulationModel.POISSON_GAMMA: fit_poisson_gamma,
}
_LARGEST: Final = 10**30
_SURE: Final = 4.0
"""By how many standard deviations the uniques of the sample may fall short of what an estimate makes of them."""
_SMALL_FRACTION: Final = 0.1


def _population_size(rows: int, sampling_fraction: float | None, population_size: int | None) -> int:
    if (sampling_fraction is None) == (population_size is None):
        raise ValueError("give either the sampling fraction or the size of the population")
    if sampling_fraction is not None:
        if not 0 < sampling_fraction <= 1:
            raise ValueError(f"a sampling fraction is above 0 and at most 1; seen: {sampling_fraction}")
        sized = rows / sampling_fraction
        population_size = round(sized) if sized <= _LARGEST else _LARGEST + 1
    assert population_size is not None  # noqa: S101 - one of the two is given, for mypy
    if population_size < rows:
        raise ValueError(f"the sample has {rows} rows, more than its population of {population_size}")
    if population_size > _LARGEST:
        raise ValueError(f"a population of at most {_LARGEST} rows expected")
    return population_size


def _estimate(sample: PopulationSample, fit: Callable[[PopulationSample], Fitted]) -> PopulationEstimate:
    size, uniques = sample.population_size, sample.uniques
    if sample.rows == size or not uniques:
        return PopulationEstimate(uniques, uniques / size, 1.0 if uniques else 0.0, None)
    if uniques == sample.rows:
        return PopulationEstimate(
            size, 1.0, 1.0, None, degenerate=True, problem="every row of the sample is unique in it"
        )
    fitted = fit(sample)
    most = uniques / sample.fraction
    value, p = fitted.population_uniques, fitted.p_unique_given_sample_unique
    problem = fitted.problem or _out_of_range(sample, value)
    divergence: float | None = sample.divergence(fitted.expected)
    if not all(map(math.isfinite, (value, p, divergence or 0.0))):
        value, p, divergence, problem = most, 1.0, None, "the model gives no number: the largest possible one is taken"
    return PopulationEstimate(value, value / size, p, divergence, problem is not None, problem)


def _out_of_range(sample: PopulationSample, uniques: float) -> str | None:
    """Describe when there cannot be so many uniques, or when hardly so few of them would be in the sample."""
    outside = sample.population_size - sample.rows
    if uniques > sample.uniques + outside:
        return "more uniques than there are rows that may be unique"
    inside = sample.fraction * uniques
    if inside - sample.uniques > _SURE * math.sqrt(inside * (1 - sample.fraction)):
        return "more uniques in the sample expected than there are"
    return None


def _correct_match(sample: PopulationSample) -> float | None:
    """Return Skinner and Elliot's estimate: pi f1 / (pi f1 + 2 (1 - pi) f2)."""
    right = sample.fraction * sample.uniques
    wrong = 2 * (1 - sample.fraction) * sample.classes.of_size(2)
    return right / (right + wrong) if right + wrong else None


def _decide(
    sample: PopulationSample, estimates: Mapping[PopulationModel, PopulationEstimate]
) -> tuple[PopulationModel, str]:
    """Choose by the rule of Dankar et al.: Pitman for small fractions, else the smaller of SNB and Zayatz."""
    zayatz, pitman, snb = (estimates[PopulationModel(name)] for name in ("zayatz", "pitman", "snb"))
    if sample.rows == sample.population_size:
        return PopulationModel.ZAYATZ, "the sample is the population: nothing is estimated"
    if sample.fraction <= _SMALL_FRACTION:
        if pitman.degenerate:
            return (
                PopulationModel.ZAYATZ,
                f"at most a tenth is sampled, but Pitman's model degenerates: {pitman.problem}",
            )
        return PopulationModel.PITMAN, "at most a tenth is sampled, and Pitman's model does not degenerate"
    if snb.degenerate:
        return PopulationModel.ZAYATZ, f"the slide negative binomial model degenerates: {snb.problem}"
    if snb.population_uniques < zayatz.population_uniques:
        return PopulationModel.SNB, "more than a tenth is sampled, and Zayatz has the larger estimate"
    return PopulationModel.ZAYATZ, "more than a tenth is sampled, and the slide negative binomial is not smaller"
