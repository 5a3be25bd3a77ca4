import itertools
import json
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import MOST, NANO, decimal_of
from remedies.differential_privacy.frequency_oracles import (
    BLH,
    GRR,
    OLH,
    OUE,
    SHE,
    SUE,
    THE,
    HadamardResponse,
    Oracle,
    SupportOracle,
    hashing,
    oracles,
)
from tests.remedies.differential_privacy.distributions import FALSE_ALARM

ALL = pytest.mark.parametrize("kind", oracles.values(), ids=list(oracles))
SUPPORT = [GRR, SUE, OUE, BLH, OLH, THE, HadamardResponse]
SUPPORTING = pytest.mark.parametrize("kind", SUPPORT, ids=[kind.name for kind in SUPPORT])

TRUTH = np.repeat(np.arange(6), [50_000, 30_000, 15_000, 4_000, 1_000, 0])
"""The values of 100,000 people, one of which none has."""


def _theta(epsilon: float, theta: float) -> float:
    x = math.exp(epsilon * theta / 2)
    return (2 * x - 1) / (1 + math.exp(epsilon * (theta - 1 / 2)) - 2 * x) ** 2


def _published(name: str, epsilon: float, size: int) -> float:
    """Return the variance per user of an absent value, by the formula of the paper."""
    e, root, g = math.exp(epsilon), math.exp(epsilon / 2), round(math.exp(epsilon)) + 1
    return {
        "GRR": (size - 2 + e) / (e - 1) ** 2,
        "SUE": root / (root - 1) ** 2,
        "OUE": 4 * e / (e - 1) ** 2,
        "BLH": (e + 1) ** 2 / (e - 1) ** 2,
        "OLH": (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1)),
        "HR": (e + 1) ** 2 / (e - 1) ** 2,
    }[name]


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        *(("GRR", 4.985036), ("SUE", 3.917698), ("OUE", 3.682694), ("BLH", 4.682694)),
        *(("OLH", 3.691655), ("SHE", 7.835396), ("THE", 4.807154), ("HR", 4.682694)),
    ],
)
def test_the_published_variances_at_epsilon_1(name: str, variance: float):
    """Of an absent value, per user, among 14 values."""
    assert oracles[name](14, 1).variance() == pytest.approx(variance, abs=5e-7)


@pytest.mark.parametrize("name", ["GRR", "SUE", "OUE", "BLH", "OLH", "HR"])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("size", [2, 14, 1000])
def test_variances_follow_the_formulas_of_the_paper(name: str, epsilon: float, size: int):
    """At any epsilon and size; what rounding to 2^-64 changes is far behind the ninth digit."""
    assert oracles[name](size, epsilon).variance(7) == pytest.approx(7 * _published(name, epsilon, size), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_threshold_of_the_is_the_best_one(epsilon: float):
    """No threshold of a fine grid varies less, and the variance follows the formula of the paper at any threshold."""
    best = THE(14, epsilon)
    assert best.variance() == pytest.approx(_theta(epsilon, float(best.theta)), rel=1e-9)
    assert best.variance() <= min(_theta(epsilon, theta) for theta in np.arange(0.5, 1, 0.0005)) * (1 + 1e-12)
    assert THE(14, epsilon, theta="0.75").variance() == pytest.approx(_theta(epsilon, 0.75), rel=1e-9)


def test_the_published_threshold_at_epsilon_1():
    """0.618553."""
    assert float(THE(14, 1).theta) == pytest.approx(0.618553, abs=1e-6)


@pytest.mark.parametrize("theta", ["-0.1", "1.1", "high", "nan", Decimal(2)])
def test_a_threshold_that_nothing_or_everything_passes_is_refused(theta: object):
    """Theta lies from 0 to 1."""
    with pytest.raises(Misfit, match="theta is"):
        THE(14, 1, theta=theta)


def test_summed_noise_has_the_variance_of_the_discrete_laplace():
    """A little less than 8 / eps^2, which is that of continuous noise."""
    assert SHE(3, "0.01").variance() == pytest.approx(80_000, rel=1e-5)
    assert SHE(3, 1).variance(5, share=0.5) == pytest.approx(5 * 7.835396, abs=1e-5)


def _exp_below(nanos: int) -> Fraction:
    """Return a bound below e^epsilon from 90 digits, by another precision than the product's."""
    context = Context(prec=90)
    return Fraction(decimal_of(nanos).exp(context).next_minus(context)) if nanos < 10**12 else Fraction(10**400)


@SUPPORTING
@given(nanos=st.one_of(st.integers(1, 10 * NANO), st.integers(1, MOST * NANO)), size=st.integers(2, 2**31 - 1))
def test_no_report_is_likelier_than_epsilon_allows(kind: type[SupportOracle], nanos: int, size: int):
    """The exact ratio of what is drawn is at most e^epsilon, for every epsilon and every size of domain."""
    oracle = kind(size, decimal_of(nanos))
    assert 1 < oracle.likelihood_ratio <= _exp_below(nanos)
    assert 0 < oracle.q < oracle.p < 1


@SUPPORTING
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_what_rounding_gives_away_is_nothing(kind: type[SupportOracle], epsilon: str):
    """The ratio reaches e^epsilon to fifteen digits; only thresholding has a smaller one by its nature."""
    ratio = float(kind(14, epsilon).likelihood_ratio)
    if kind is THE:
        assert ratio < math.exp(float(epsilon))
    else:
        assert ratio == pytest.approx(math.exp(float(epsilon)), rel=1e-15)


def _chances(oracle: SupportOracle, code: int) -> dict[object, Fraction]:
    """Return the exact probability of every report of a value, from p and q and the paper's definition alone."""
    size, p, q = oracle.choices.size, oracle.p, oracle.q
    if isinstance(oracle, GRR):
        return {value: p if value == code else q for value in range(size)}
    if isinstance(oracle, HadamardResponse):
        entries = {row: (row & code).bit_count() % 2 for row in range(oracle.rows)}
        return {(row, bit): (p if bit == entries[row] else 1 - p) / oracle.rows for row in entries for bit in range(2)}
    if isinstance(oracle, hashing.HashingOracle):
        prime, g = hashing.PRIME, oracle.buckets
        return {
            (a, b, bucket): (p if (a * code + b) % prime % g == bucket else (1 - p) / (g - 1)) / prime**2
            for a, b, bucket in itertools.product(range(prime), range(prime), range(g))
        }
    return {
        bits: math.prod((own if bit else 1 - own) for at, bit in enumerate(bits) for own in [p if at == code else q])
        for bits in itertools.product((0, 1), repeat=size)
    }


def _supports(oracle: SupportOracle, report: object, code: int) -> bool:
    counts = oracle._support(oracle._checked([report]), None)
    return bool(counts[code])


@SUPPORTING
@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_reports_there_are_prove_privacy_and_no_bias(
    kind: type[SupportOracle], size: int, monkeypatch: pytest.MonkeyPatch
):
    """Over every report (hashed modulo 7): chances sum to 1, the worst ratio is the stated one, p and q hold."""
    monkeypatch.setattr(hashing, "PRIME", 7)
    oracle = kind(size, "1.5")
    chances = [_chances(oracle, code) for code in range(size)]
    assert all(sum(chance.values()) == 1 for chance in chances)
    worst = max(one[report] / two[report] for one, two in itertools.permutations(chances, 2) for report in one)
    assert worst == oracle.likelihood_ratio
    supported = {report: [_supports(oracle, report, code) for code in range(size)] for report in chances[0]}
    for mine, other in itertools.product(range(size), repeat=2):
        reached = sum(chance for report, chance in chances[mine].items() if supported[report][other])
        assert reached == (oracle.p if mine == other else oracle.q)


@ALL
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.usefixtures("fixed_bytes")
def test_estimates_are_unbiased(kind: type[Oracle], epsilon: str):
    """Each count of 100,000 people is within 5.5 of its standard deviations; one that is 11 off would be seen."""
    oracle = kind(6, epsilon)
    estimates = oracle.estimate(oracle.perturb_many(TRUTH))
    true = np.bincount(TRUTH, minlength=6)
    deviations = np.sqrt([oracle.variance(TRUTH.size, share=count / TRUTH.size) for count in true])
    assert np.all(np.abs(estimates.counts - true) <= FALSE_ALARM * deviations)
    assert estimates.variances == pytest.approx(deviations**2, rel=0.1)
    assert estimates.users == TRUTH.size


@ALL
@pytest.mark.usefixtures("fixed_bytes")
def test_estimates_vary_as_the_formula_says(kind: type[Oracle]):
    """Of 2,000 surveys of 100 people the variance is within 17 % (5.5 standard deviations of it) of the formula.

    A formula that is wrong by 35 % would be seen in all but 2e-8 of all streams of bytes.
    """
    surveys, people = 2_000, np.repeat(np.arange(4), [70, 30, 0, 0])
    oracle = kind(4, "1")
    reports = oracle.perturb_many(np.tile(people, surveys))
    counts = np.array([oracle.estimate(survey).counts for survey in reports.reshape(surveys, 100, *reports.shape[1:])])
    expected = [oracle.variance(100, share=share) for share in (0.7, 0.3, 0, 0)]
    assert counts.var(axis=0, ddof=1) == pytest.approx(expected, rel=FALSE_ALARM * math.sqrt(2 / surveys))
    assert (counts < 0).any(), "an estimate of 0 was clipped"


@ALL
def test_variances_are_never_negative(kind: type[Oracle]):
    """Not even where chance gave every report, or none, to one value."""
    oracle = kind(3, "2")
    for value in range(3):
        estimates = oracle.estimate(np.array([oracle.perturb_many([value])[0]] * 9))
        assert (estimates.variances >= -1e-9).all()


@ALL
@pytest.mark.usefixtures("fixed_bytes")
def test_a_report_is_plain_data_and_is_counted_with_others(kind: type[Oracle]):
    """Single reports survive JSON; a list of them is estimated as an array is."""
    oracle = kind(["tea", "coffee", "water"], "3")
    sent = json.loads(json.dumps([oracle.perturb("coffee") for _ in range(300)]))
    estimates = oracle.estimate(sent)
    assert estimates.users == 300
    assert int(np.argmax(estimates.counts)) == 1


@ALL
@pytest.mark.usefixtures("fixed_bytes")
def test_some_values_are_counted_as_among_all(kind: type[Oracle]):
    """Asking for a few values gives the same counts, in the order asked for; an undeclared one is refused."""
    oracle = kind(["tea", "coffee", "water", "milk", "rest"], "1", other="rest")
    reports = oracle.perturb_many(["tea", "beer", "water"] * 100)
    everything, some = oracle.estimate(reports), oracle.estimate(reports, values=["water", "tea"])
    assert some.counts.tolist() == everything.counts[[2, 0]].tolist()
    assert some.variances.tolist() == everything.variances[[2, 0]].tolist()
    with pytest.raises(Misfit, match="is not in the declared domain"):
        oracle.estimate(reports, values=["beer"])


@pytest.mark.parametrize("kind", [GRR, OLH, BLH, HadamardResponse], ids=lambda kind: kind.name)
@pytest.mark.usefixtures("fixed_bytes")
def test_a_huge_domain_is_asked_for_some_values(kind: type[Oracle]):
    """Of two billion values three are counted: nothing is as large as the domain. Within 5.5 deviations."""
    oracle = kind(2**31 - 1, "25")
    estimates = oracle.estimate(oracle.perturb_many([2**31 - 2] * 7_000 + [5] * 3_000), values=[5, 6, 2**31 - 2])
    deviations = [math.sqrt(oracle.variance(10_000, share=share)) for share in (0.3, 0, 0.7)]
    assert np.all(np.abs(estimates.counts - [3_000, 0, 7_000]) <= FALSE_ALARM * np.array(deviations) + 1)


@ALL
def test_no_reports_are_no_people(kind: type[Oracle]):
    """An empty survey counts 0, and does not vary."""
    estimates = kind(3, 1).estimate([])
    assert estimates.users == 0
    assert estimates.counts.tolist() == [0, 0, 0]
    assert estimates.variances.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "reports"),
    [
        *((GRR, [wrong]) for wrong in (3, -1, "x", 0.5, True, None)),
        *(
            (OUE, wrong)
            for wrong in ([[0, 1]], [[0, 1, 2]], [[0.0, 1.0, 0.0]], [0, 1, 0], [[-1, 0, 0]], [[0, 1, 0], [1]])
        ),
        *((OLH, wrong) for wrong in ([[1, 2]], [[2**31 - 1, 0, 0]], [[0, 0, 4]], [[-1, 0, 0]])),
        *((HadamardResponse, wrong) for wrong in ([[4, 0]], [[0, 2]], [["0", "1"]], [[0, -1]])),
        *((SHE, wrong) for wrong in ([[1, 2]], [[0.5, 0.5, 0.5]])),
    ],
)
def test_what_cannot_be_reports_is_refused(kind: type[Oracle], reports: object):
    """A wrong shape, numbers out of range, floats: another oracle's reports are not counted, nor taken for `other`."""
    with pytest.raises(Misfit):
        kind(3, 1, other=2).estimate(reports)


@ALL
@pytest.mark.parametrize("epsilon", [0, -1, "1e0", float("nan"), float("inf"), 1e308])
def test_an_epsilon_that_means_nothing_is_refused(kind: type[Oracle], epsilon: object):
    """Before anything is drawn."""
    with pytest.raises(Misfit, match="epsilon"):
        kind(3, epsilon)


@ALL
@pytest.mark.usefixtures("fixed_bytes")
def test_the_largest_and_the_smallest_epsilon_work(kind: type[Oracle]):
    """At a million the truth comes back; at a billionth the estimates are useless, and finite."""
    certain = kind(5, MOST)
    assert np.rint(certain.estimate(certain.perturb_many([0, 0, 3] * 1_000)).counts)[[0, 3]] == pytest.approx(
        [2_000, 1_000], abs=150
    )
    vague = kind(5, "0.000000001")
    assert np.isfinite(vague.estimate(vague.perturb_many([0, 1])).counts).all()
