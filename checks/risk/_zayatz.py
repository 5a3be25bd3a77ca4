"""Population uniques without a model of the population: Zayatz 1991."""

from __future__ import annotations

from checks.classes.arrays import np
from checks.risk._likelihood import log_falling
from checks.risk._sample import COUNTED, Fitted, Floats, PopulationSample, with_the_rest


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
    from scipy.special import gammaln

    sizes, outside = sample.sizes, sample.population_size - sample.rows
    others = sizes - rows
    possible = (others >= 0) & (others <= outside) & (rows <= sample.rows)
    others = np.where(possible, others, 0)
    ways = gammaln(sizes + 1) - gammaln(rows + 1) - gammaln(others + 1)
    inside = log_falling(sample.rows, min(rows, sample.rows))
    drawn = ways + inside + log_falling(outside, others) - log_falling(sample.population_size, sizes)
    return np.where(possible, drawn, -np.inf)
