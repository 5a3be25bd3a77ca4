"""The audit of promises runs on histories of which the truth is known; a small part of it, with its own seeds."""

from itertools import chain

import pytest

from benchmarks.audit import MAKERS, REAL, AuditRow, sampled_intervals
from incidents.promise_score import Bound, StatementCount, StatementEvidence


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_simulated_histories_are_scored(maker) -> None:
    """Each statement was made, and no simulated promise is broken."""
    for row in maker(0.03):
        cells = row.cells()
        assert not cells[3].endswith(" of 0"), row
        assert cells[-1] in {"kept", "-"}, cells


@pytest.mark.reference_data
@pytest.mark.parametrize("maker", [REAL[0], REAL[1]], ids=lambda maker: maker.__name__)
def test_real_histories_are_scored(maker) -> None:
    """Learned limits on NAB's and Faultline's histories."""
    rows = list(maker(0.1))
    assert all(not row.cells()[3].endswith(" of 0") for row in rows)


def test_trials_are_those_of_the_seed() -> None:
    """A second run draws the same."""
    first, second = (
        list(chain.from_iterable(row.evidence.counts for row in sampled_intervals(0.02))) for _ in range(2)
    )
    assert first == second


def test_a_row_says_what_was_promised_and_what_came_true() -> None:
    """Beside the interval, its verdict and the widths."""
    evidence = StatementEvidence([StatementCount(100, 90), StatementCount(100, 60)], 0.9, [2.0, 4.0])
    cells = AuditRow("s", "h", Bound.AT_LEAST, evidence, "h").cells()
    assert list(cells[:4]) == ["s", "h", "at-least 90", "150 of 200"]
    assert cells[5] == "24 (2)"
    assert cells[6:] == ("3 h", "kept")
