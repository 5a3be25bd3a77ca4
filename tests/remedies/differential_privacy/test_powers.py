from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remedies.differential_privacy.epsilon import exp_above, exp_below, log_above, root_above

_EXPONENTS = st.integers(-64 * 10**9, 64 * 10**9).map(lambda nanos: Fraction(nanos, 2 * 10**9))


def _series(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose e^x by its Taylor series for x / 2^10 (|x| <= 1/16), squared ten times: no Decimal has a part in it."""
    small = exponent / 2**10
    term, total = Fraction(1), Fraction(1)
    for k in range(1, 40):
        term = term * small / k
        total += term
    low, high = total - abs(term), total + abs(term)
    for _ in range(10):
        low, high = _grid(low**2), _grid(high**2) + Fraction(1, 2**400)
    return low, high


def _grid(number: Fraction) -> Fraction:
    return Fraction((number.numerator << 400) // number.denominator, 1 << 400)


@given(_EXPONENTS)
def test_powers_of_e_lie_between_their_bounds(exponent: Fraction):
    """An enclosure by exact fractions alone lies inside ours, which is no wider than 10^-48 of the power."""
    low, high = _series(exponent)
    below, above = exp_below(exponent), exp_above(exponent)
    assert below <= low
    assert high <= above
    assert above - below <= above / 10**48


@given(st.fractions(Fraction(1, 10**12), 10**12))
def test_logarithms_and_roots_are_rounded_up(number: Fraction):
    """The bound of a logarithm gives at least the number back, the bound of a root at least its square."""
    assert exp_above(log_above(number)) >= number
    assert root_above(number) ** 2 >= number
    assert (root_above(number) - Fraction(1, 10**39)) ** 2 <= number


def test_the_bounds_of_e():
    """Seventy digits of e lie between them."""
    with localcontext(Context(prec=80)):
        e = Fraction(Decimal("2.7182818284590452353602874713526624977572470936999595749669676277240766"))
    assert exp_below(Fraction(1)) < e < exp_above(Fraction(1))


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(-1, 7)])
def test_exponents_that_no_decimal_holds_are_enclosed_too(exponent: Fraction):
    """e^(1/3) three times is e: also with an exponent that must itself be rounded."""
    whole = exponent * exponent.denominator
    assert exp_below(exponent) ** exponent.denominator <= exp_above(whole)
    assert exp_above(exponent) ** exponent.denominator >= exp_below(whole)
    assert exp_below(exponent) < exp_above(exponent)
