"""A learned limit of the rows of a day is proposed with what it would detect."""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from checks.volume import Volume
from monitor.suggest.proposal import Confidence
from monitor.suggest.suggest import _learned_volume

NOW: Final = datetime(2026, 11, 28, 12, tzinfo=UTC)
TODAY: Final = int(NOW.timestamp()) // 86_400
HOURS: Final = [((TODAY - day) * 24 + 6, int(n)) for day, n in enumerate(np.random.default_rng(1).poisson(1000, 100))]


def test_the_power_stands_beside_the_proposal() -> None:
    """With enough whole days the smallest loss and excess are stated; a person has to accept the proposal."""
    (proposal,) = _learned_volume("loaded_at", HOURS, now=NOW, aware=False)
    assert "rows of 98 days; rows-a-day: the smallest change detected with a chance of one half" in proposal.why
    assert "% of the usual value" in proposal.why
    assert proposal.confidence is Confidence.LOW
    assert proposal.check is not None
    assert Volume.model_validate(dict(proposal.check)).learned_numbers == 1


def test_too_few_days_propose_nothing() -> None:
    """Nothing is proposed before there is a limit."""
    assert not list(_learned_volume("loaded_at", HOURS[:30], now=NOW, aware=True))
    assert not list(_learned_volume("loaded_at", [], now=NOW, aware=True))
