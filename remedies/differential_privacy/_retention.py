"""What keeping a value with some probability costs in epsilon, and how large a crowd that is worth (Pk-anonymity).

Equations 5 to 7 of Yamaguchi, Terada and Yoshiura on Pk-anonymisation. A record's attribute w keeps its value with
probability rho_w, else it is drawn again, uniformly from the V_w values of its declared domain:

    (6) epsilon = sum over w of ln[(1 + (V_w - 1) rho_w) / (1 - rho_w)]
    (7) k = 1 + (N - 1) exp(-2 epsilon)

The column of rho that the paper prints is not a solution of its equation 6: it is epsilon / (V_1 + V_2), the first term
of the series about 0. Its 0.44 for epsilon 4 is really epsilon 2.816; what is right is 0.6242631238. Here equation 6 is
solved, and what comes out is rounded down, so that no retention costs more than was asked for.
"""

from __future__ import annotations

import math
import operator
import struct
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from remedies._errors import Misfit
from remedies.differential_privacy.epsilon import NANO, Loss, decimal_of, nano

Retention: TypeAlias = "float | Fraction"
"""The probability with which a value is kept: 0 (nothing is left of it) to below 1."""

_DIGITS: Final = Context(prec=80, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
_MARGIN: Final = Decimal("1e-60")
"""Far more than all roundings at 80 digits add up to, far less than what two neighbouring floats differ by."""


def retention(epsilon: Loss, domain_sizes: Sequence[int]) -> float:
    """Return the probability of keeping a value, the same for every attribute, that costs at most epsilon in all.

    It is the largest float that does; the next one costs more. For a single attribute equation 6 is
    rho = (e^epsilon - 1) / (e^epsilon + V - 1). An attribute of one value costs nothing, whatever is kept of it.

    Args:
        epsilon: above 0, a decimal of at most nine places.
        domain_sizes: V_w of each attribute that is randomised, or the product of all for one joint attribute.

    Raises:
        Misfit: no attribute has two values, or epsilon is not as said.
    """
    return largest_retention(decimal_of(nano(epsilon)), domain_sizes)


def largest_retention(epsilon: Decimal | Fraction, domain_sizes: Sequence[int]) -> float:
    """Return what `retention` gives, of any epsilon above 0.

    Raises:
        Misfit: no attribute has two values.
    """
    sizes = Counter(size for size in _checked(domain_sizes) if size > 1)
    if not sizes:
        raise Misfit("no domain has two values, so there is nothing to randomise; declare what a value could have been")
    exact = Fraction(epsilon)
    most = _DIGITS.subtract(_DIGITS.divide(Decimal(exact.numerator), Decimal(exact.denominator)), _MARGIN)
    low, high = 0, _bits(1.0)  # the order of floats from 0 to 1 is that of their bits
    while high - low > 1:
        middle = (low + high) // 2
        rho = Fraction(_float(middle))
        spent = _DIGITS.create_decimal(0)
        for size, times in sizes.items():
            spent = _DIGITS.add(spent, _DIGITS.multiply(_loss(rho, size), Decimal(times)))
        low, high = (middle, high) if spent <= most else (low, middle)
    return _float(low)


def epsilon_of(retention: Retention | Sequence[Retention], domain_sizes: Sequence[int]) -> float:
    """Return what keeping values costs, equation 6: the float nearest to it, infinite where a value is always kept.

    Args:
        retention: one for all attributes, or one for each.
        domain_sizes: V_w of each attribute.

    Raises:
        Misfit: a retention is not 0 to 1, or there are more or fewer than domains.
    """
    spent = exact_epsilon(retention, domain_sizes)
    return math.inf if spent is None else float(spent)


def exact_epsilon(retention: Retention | Sequence[Retention], domain_sizes: Sequence[int]) -> Decimal | None:
    """Return what keeping values costs, to 60 digits after the point; None where a value is always kept.

    Raises:
        Misfit: as `epsilon_of`.
    """
    sizes = _checked(domain_sizes)
    item = list(retention) if isinstance(retention, Sequence) else [retention] * len(sizes)
    if len(item) != len(sizes):
        raise Misfit(f"{len(item)} retentions for {len(sizes)} domains; expected one for each, or one for all")
    if not all(0 <= rho <= 1 for rho in item):
        raise Misfit("a retention is a probability, 0 to 1")
    spent = Decimal(0)
    for (rho, size), times in Counter((Fraction(rho), size) for rho, size in zip(item, sizes, strict=True)).items():
        if size > 1 and rho == 1:
            return None
        spent = _DIGITS.add(spent, _DIGITS.multiply(_loss(rho, size), Decimal(times)))
    return spent


def stated_epsilon(spent: Decimal, times: int = 1) -> Decimal:
    """Return epsilon as it is stated and charged.

    A decimal of nine places that is never below so many times `spent`.
    """
    if not spent:
        return spent
    at_most = _DIGITS.multiply(_DIGITS.add(spent, _MARGIN), Decimal(times))
    return decimal_of(int(_DIGITS.multiply(at_most, Decimal(NANO)).to_integral_value(rounding=ROUND_CEILING)))


def pk_of(
    rows: int,
    *,
    epsilon: Loss | None = None,
    retention: Retention | Sequence[Retention] | None = None,
    domain_sizes: Sequence[int] = (),
) -> float:
    """Return the k of Pk-anonymity, equation 7: 1 (a record can be identified) to the number of rows (none can).

    It is the inverse of the largest probability with which an attacker who knows all but the randomised table says
    which row is whose. It is not the k of k-anonymity: no group of rows that are alike has this size.

    Args:
        rows: of the table, 1 or more.
        epsilon: what the rows were randomised with; or else:
        retention: one for all attributes, or one for each, and
        domain_sizes: V_w of each attribute.

    Raises:
        Misfit: a value is out of its range, or neither or both of epsilon and retention are given.
    """
    if isinstance(rows, bool) or rows < 1:
        raise Misfit("expected a table of at least one row")
    if epsilon is not None and retention is None:
        spent: Decimal | None = decimal_of(nano(epsilon))
    elif retention is not None and epsilon is None:
        spent = exact_epsilon(retention, domain_sizes)
    else:
        raise Misfit("expected an epsilon, or a retention with the sizes of the domains")
    return 1.0 if spent is None else 1 + (rows - 1) * math.exp(-2 * float(spent))


def epsilon_for_pk(k: float, rows: int) -> Decimal:
    """Return the largest epsilon, of nine decimal places, whose Pk is at least k: ln[(N - 1) / (k - 1)] / 2.

    Raises:
        Misfit: k is not above 1 and below the number of rows, or so near to that number that nothing would be left.
    """
    if not 1 < k < rows:
        raise Misfit(f"Pk is {k:g}; expected a number above 1 and below the number of rows, {rows}")
    exact = Fraction(k) - 1
    quotient = _DIGITS.divide(Decimal((rows - 1) * exact.denominator), Decimal(exact.numerator))
    at_most = _DIGITS.subtract(_DIGITS.divide(_DIGITS.ln(quotient), Decimal(2)), _MARGIN)
    nanos = int(_DIGITS.multiply(at_most, Decimal(NANO)).to_integral_value(rounding=ROUND_FLOOR))
    if nanos < 1:
        raise Misfit("nothing would be left of the table at a Pk so near to its number of rows; ask for a smaller one")
    return decimal_of(nanos)


def _loss(rho: Fraction, size: int) -> Decimal:
    """Return ln[(1 + (V - 1) rho) / (1 - rho)], of rho below 1."""
    if size == 1:
        return Decimal(0)
    numerator, denominator = rho.numerator, rho.denominator
    return _DIGITS.ln(_DIGITS.divide(Decimal(denominator + (size - 1) * numerator), Decimal(denominator - numerator)))


def _checked(domain_sizes: Sequence[int]) -> list[int]:
    sizes = [operator.index(size) for size in domain_sizes]
    if not sizes or min(sizes) < 1:
        raise Misfit("expected the sizes of one or more domains, each at least 1")
    return sizes


def _bits(value: float) -> int:
    number: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return number


def _float(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value
