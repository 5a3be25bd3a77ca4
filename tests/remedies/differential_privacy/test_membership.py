"""The attack that tells rows of a table from others by its synthesis."""

import math

import numpy as np
import pandas as pd
import pytest

from remedies.differential_privacy import membership
from remedies.differential_privacy.membership import MembershipAttack, described
from remedies.synthesise import Synthesise

COLUMNS = "abcdef"
DOMAINS = {name: tuple(map(str, range(30))) for name in COLUMNS}


def table(rows: int) -> pd.DataFrame:
    """Return a table of six unrelated columns: a synthesis that follows its pairs remembers rows."""
    rng = np.random.default_rng(3)
    return pd.DataFrame({name: rng.integers(0, 30, rows).astype(str) for name in COLUMNS})


def attack(epsilon: str, rows: int = 3_000) -> MembershipAttack | None:
    """Attack a synthesis of such a table."""
    return Synthesise(domains=DOMAINS, epsilon=epsilon).attack(table(rows))


@pytest.mark.usefixtures("fixed_bytes")
def test_it_finds_what_a_large_loss_gives_away_and_nothing_at_a_small_one():
    """The same attack sees a third of a table through little noise; at epsilon 0.5 its interval has one half."""
    large, small = attack("1000"), attack("0.5")
    assert large is not None
    assert small is not None
    assert large.auc > 0.65
    assert large.low > 0.6
    assert abs(large.auc - large.without_noise) < 0.05
    assert small.low <= 0.5 <= small.high
    assert small.without_noise > 0.65
    assert 0.5 < small.noticed < 0.56
    assert small.rows == 1_000


def test_the_bound_is_that_of_the_loss():
    """Of epsilon-differential privacy no test finds more: e^epsilon of its false alarms (Wasserman, Zhou 2010)."""
    result = attack("1")
    assert result is not None
    assert result.bound == pytest.approx(min(math.e * 0.05, 1 - 0.95 / math.e))


def test_auc_counts_pairs():
    """Ties count by half, as in the definition."""
    inside, outside = np.array([3.0, 1.0, 2.0]), np.array([2.0, 0.0])
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in inside for b in outside]
    assert membership._auc(inside, outside) == pytest.approx(sum(pairs) / len(pairs))


def test_few_rows_are_not_attacked():
    """Thirds of ten rows say nothing."""
    assert attack("1", rows=29) is None
    assert attack("1", rows=30) is not None


def test_it_is_told_in_one_sentence_of_two_digits():
    """What is shown of the protected table is rounded."""
    result = attack("1", rows=90)
    assert result is not None
    body = result.as_json()
    assert all(round(value, 2) == value for name, value in body.items() if isinstance(value, float))
    assert str(described(body)).startswith("membership attack: AUC 0.")
