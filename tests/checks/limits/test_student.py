"""Student's t distribution agrees with SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from checks.limits.student import student_quantile, student_tail


@given(st.floats(1e-9, 0.49), st.floats(0.8, 1e6))
def test_quantiles_agree_with_scipy(tail, dof):
    """The quantile is that of SciPy, from heavy tails to nearly normal ones."""
    assert student_quantile(tail, dof) == pytest.approx(stats.t.isf(tail, dof), rel=1e-6)


def test_the_ends():
    """The median is 0, and with very many degrees of freedom the distribution is normal."""
    assert student_quantile(0.5, 3) == 0
    assert student_quantile(0.01, 1e9) == pytest.approx(stats.norm.isf(0.01))
    assert student_tail(0.0, 5) == pytest.approx(0.5)
