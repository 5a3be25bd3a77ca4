"""How many rows of a population are unique, from the sizes of the classes of a sample."""

import math
from dataclasses import FrozenInstanceError, astuple
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.risk import ClassSizes, PopulationModel, class_sizes, population_uniqueness
from tests.tiers import examples

HISTOGRAMS = st.dictionaries(
    st.integers(1, 12) | st.integers(1, 10**9), st.integers(1, 40) | st.integers(1, 10**6), min_size=1, max_size=8
)
FRACTIONS = st.floats(1e-9, 1, exclude_max=True) | st.sampled_from([1.0, 0.1, 0.5, 0.999999])


@pytest.fixture(scope="module")
def adult(reference_data):
    """Return the sizes of the classes of Adult on all nine columns."""
    table = pd.read_csv(reference_data / "adult" / "adult.csv", sep=";")
    return class_sizes(table, list(table.columns))


def test_the_chance_that_a_match_is_right():
    """Skinner and Elliot, by hand: of a tenth, with 3 uniques and 2 pairs, 0.1 x 3 / (0.1 x 3 + 2 x 0.9 x 2)."""
    found = population_uniqueness(ClassSizes.of([(1, 3), (2, 2), (5, 1)]), sampling_fraction=0.1)
    assert found.dis == pytest.approx(0.3 / 3.9, rel=1e-12)


@pytest.mark.reference_data
def test_zayatz_on_adult(adult):
    """Adult, taken for a tenth of its population: 32.07 % unique; the digits are those of exact fractions."""
    assert (adult.rows, adult.count, adult.uniques) == (30_162, 19_502, 15_512)
    found = population_uniqueness(adult, sampling_fraction=0.1)
    assert found.population_size == 301_620
    assert found.zayatz.population_uniques == pytest.approx(96_741.67, abs=0.005)
    assert found.zayatz.fraction_of_population == pytest.approx(0.3207402393466189, rel=1e-13)
    assert found.zayatz.p_unique_given_sample_unique == pytest.approx(0.6236569816382619, rel=1e-13)
    assert population_uniqueness(adult, population_size=301_620) == found


@pytest.mark.reference_data
@pytest.mark.parametrize(("fraction", "published"), [(0.1, 0.27684993883653597), (0.01, 0.1446083531167384)])
def test_pitman_on_adult_is_what_arx_publishes(adult, fraction, published):
    """With Hoshino's likelihood and limit, ARX's tests have the same share to six digits."""
    found = population_uniqueness(adult, sampling_fraction=fraction)
    assert found.pitman.fraction_of_population == pytest.approx(published, rel=1e-6)
    assert not found.pitman.degenerate
    assert found.decision is PopulationModel.PITMAN
    assert found.decided is found.pitman


@pytest.mark.reference_data
def test_slide_negative_binomial_on_adult(adult):
    """It finds its parameters, which ARX's equation does not; Zayatz, being smaller, is taken above a tenth."""
    found = population_uniqueness(adult, sampling_fraction=0.2)
    assert not found.snb.degenerate
    assert found.snb.fit < 0.01 < found.zayatz.fit
    assert found.decision is PopulationModel.ZAYATZ
    assert found.decided.fraction_of_population == pytest.approx(0.3577099234829125, rel=1e-9)


@pytest.mark.reference_data
def test_poisson_gamma_on_adult_degenerates(adult):
    """Many small classes beside large ones drive its shape to 0: the estimate is flagged, and says why."""
    found = population_uniqueness(adult, sampling_fraction=0.1).poisson_gamma
    assert found.degenerate
    assert found.problem == "the shape lies at 0"


@pytest.mark.reference_data
def test_correct_match_on_adult(adult):
    """A unique match with a tenth of a population is right in pi f1 of pi f1 + 2 (1 - pi) f2 cases."""
    found = population_uniqueness(adult, sampling_fraction=0.1)
    assert found.dis == pytest.approx(0.1 * 15_512 / (0.1 * 15_512 + 2 * 0.9 * 2_098), rel=1e-12)
    assert found.sample_unique_fraction == 15_512 / 30_162


@given(HISTOGRAMS)
def test_a_sample_that_is_the_population_has_its_uniques(histogram):
    """With a fraction of 1 every model gives the uniques of the sample exactly, and none is called degenerate."""
    sizes = ClassSizes.of(histogram.items())
    found = population_uniqueness(sizes, sampling_fraction=1)
    assert found.population_size == sizes.rows
    for model in PopulationModel:
        estimate = found.of(model)
        assert estimate.population_uniques == sizes.uniques
        assert estimate.fraction_of_population == sizes.uniques / sizes.rows
        assert estimate.p_unique_given_sample_unique == (1 if sizes.uniques else 0)
        assert not estimate.degenerate


@settings(max_examples=examples(60))
@given(HISTOGRAMS, FRACTIONS)
def test_every_number_is_finite_and_in_its_range(histogram, fraction):
    """Whatever the sample, shares are between 0 and 1, numbers finite; what cannot be is flagged with its reason."""
    sizes = ClassSizes.of(histogram.items())
    found = population_uniqueness(sizes, sampling_fraction=fraction)
    assert found.dis is None or 0 <= found.dis <= 1
    for model in PopulationModel:
        estimate = found.of(model)
        assert all(math.isfinite(number) for number in astuple(estimate)[:3])
        assert 0 <= estimate.p_unique_given_sample_unique <= 1
        assert estimate.population_uniques >= 0
        assert estimate.fit is None or 0 <= estimate.fit <= 37
        assert estimate.degenerate == (estimate.problem is not None)
        outside = found.population_size - found.rows
        possible = estimate.population_uniques <= (found.sample_uniques + outside) * (1 + 1e-9)
        assert possible or estimate.degenerate


@settings(max_examples=examples(60))
@given(
    st.dictionaries(st.integers(1, 9), st.integers(1, 9), min_size=1, max_size=5),
    st.integers(0, 200),
)
def test_zayatz_is_bayes_rule_over_a_draw_without_replacement(histogram, outside):
    """In exact fractions: sizes of the sample's classes, hypergeometric draws, U = f1 P N / n."""
    sizes = ClassSizes.of(histogram.items())
    rows, size = sizes.rows, sizes.rows + outside
    found = population_uniqueness(sizes, population_size=size)

    def alone(of):
        return Fraction(of * math.comb(size - of, rows - 1), math.comb(size, rows))

    p = sizes.uniques * alone(1) / sum(number * alone(of) for of, number in histogram.items()) if sizes.uniques else 0
    assert found.zayatz.p_unique_given_sample_unique == pytest.approx(float(p), rel=1e-10)
    assert found.zayatz.population_uniques == pytest.approx(float(sizes.uniques * p * Fraction(size, rows)), rel=1e-10)


def test_no_unique_in_the_sample():
    """Of rows that are given away none is unique in any population, by every model and without doubt."""
    found = population_uniqueness(ClassSizes.of([(2, 50), (7, 3)]), sampling_fraction=0.05)
    assert {found.of(model).population_uniques for model in PopulationModel} == {0}
    assert not any(found.of(model).degenerate for model in PopulationModel)
    assert found.dis == 0


@pytest.mark.parametrize("rows", [1, 100, 10**9])
def test_nothing_but_uniques(rows):
    """Who has seen no repetition cannot say how often rows repeat: all of the population, and flagged."""
    found = population_uniqueness(ClassSizes.of([(1, rows)]), sampling_fraction=0.01)
    for model in PopulationModel:
        assert found.of(model).fraction_of_population == 1
        assert found.of(model).degenerate
    assert found.decision is PopulationModel.ZAYATZ
    assert "unique" in found.reason


def test_one_class():
    """Rows that are all alike have no unique, and no match with a unique is right or wrong."""
    found = population_uniqueness(ClassSizes.of([(1000, 1)]), population_size=10**6)
    assert found.decided.population_uniques == 0
    assert found.dis is None


def test_millions_of_rows_in_large_classes():
    """Time goes by the number of different sizes; a quarter of a billion rows are some pairs of numbers."""
    sizes = ClassSizes.of([(size, max(1, 10**7 // size**2)) for size in range(1, 5000)] + [(10**8, 2)])
    found = population_uniqueness(sizes, sampling_fraction=0.01)
    assert found.rows > 2 * 10**8
    assert 0 < found.zayatz.fraction_of_population < 1


def test_an_impossible_estimate_is_flagged():
    """Pitman's model, misled by huge classes, wants more uniques than rows may be unique."""
    sizes = ClassSizes.of([(1, 50), (10**6, 3), (10**8, 2)])
    found = population_uniqueness(sizes, sampling_fraction=0.999999).pitman
    assert found.degenerate
    assert found.problem == "more uniques than there are rows that may be unique"
    found = population_uniqueness(sizes, sampling_fraction=0.1)
    assert found.pitman.problem == "more uniques in the sample expected than there are"
    assert found.decision is PopulationModel.ZAYATZ
    assert "degenerates" in found.reason


def test_above_a_tenth_the_smaller_estimate_is_taken():
    """Where the slide negative binomial is below Zayatz, it decides; where it degenerates, Zayatz does."""
    sizes = ClassSizes.of([(1, 1), (1000, 3)])
    found = population_uniqueness(sizes, sampling_fraction=0.3)
    assert found.snb.population_uniques < found.zayatz.population_uniques
    assert found.decision is PopulationModel.SNB
    equal = population_uniqueness(ClassSizes.of([(1, 5), (2, 20), (3, 50), (4, 40)]), sampling_fraction=0.3)
    assert equal.snb.problem == "the shape has no bound"
    assert equal.decision is PopulationModel.ZAYATZ


def test_population_size_is_the_nearest_whole_number():
    """7 rows are 30 % of 23."""
    found = population_uniqueness(ClassSizes.of([(1, 3), (4, 1)]), sampling_fraction=0.3)
    assert found.population_size == 23
    assert found.sampling_fraction == 7 / 23


def test_cannot_be_changed():
    """What was found stays as it was found."""
    found = population_uniqueness(ClassSizes.of([(2, 2)]), sampling_fraction=0.5)
    with pytest.raises(FrozenInstanceError):
        found.dis = 0.0


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ({}, "either the sampling fraction or the size"),
        ({"sampling_fraction": 0.1, "population_size": 100}, "either the sampling fraction or the size"),
        ({"sampling_fraction": 0}, "above 0 and at most 1"),
        ({"sampling_fraction": 1.1}, "above 0 and at most 1"),
        ({"sampling_fraction": math.nan}, "above 0 and at most 1"),
        ({"population_size": 9}, "10 rows, more than its population of 9"),
        ({"sampling_fraction": 5e-324}, "a population of at most"),
    ],
)
def test_what_cannot_be_is_refused(given_as, message):
    """A population is given once, and is not smaller than its sample."""
    with pytest.raises(ValueError, match=message):
        population_uniqueness(ClassSizes.of([(1, 4), (3, 2)]), **given_as)


def test_no_rows_are_refused():
    """An empty table is not anonymous."""
    with pytest.raises(ValueError, match="without rows"):
        population_uniqueness(ClassSizes.of(()), sampling_fraction=0.1)
