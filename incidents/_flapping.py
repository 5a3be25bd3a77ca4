"""Recognise a check that changes its mind too often, by Nagios' rule.

Of the last 21 evaluated results each of the 20 steps is a change or none. A change weighs between 0.8 (the oldest)
and 1.2 (the newest); the weights of all changes over 20 are the share of change. Flapping starts at 20 % and ends at
5 %, so that it does not flap itself. With fewer than 21 results the missing steps are no changes.

Source: Nagios Core manual, "Detection and Handling of State Flapping" (21 results, newer changes weigh more), and its
sample configuration (`high_service_flap_threshold=20.0`, `low_service_flap_threshold=5.0`). Its C code weighs 0.75 to
1.25; here the newest change weighs half as much again as the oldest.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Final

RESULTS: Final = 21
_STEPS: Final = RESULTS - 1
_OLDEST, _NEWEST = Fraction(4, 5), Fraction(6, 5)
_WEIGHTS: Final = tuple(_OLDEST + (_NEWEST - _OLDEST) * Fraction(step, _STEPS - 1) for step in range(_STEPS))
_HIGH, _LOW = Fraction(20, 100), Fraction(5, 100)


def share_of_change(recent: str) -> Fraction:
    """Return the weighted share of changes, 0 to 1, among at most 21 results (`P` or `F`, oldest first)."""
    changed = [before != after for before, after in pairwise(recent)]
    weights = _WEIGHTS[_STEPS - len(changed) :]
    return sum((weight for weight, change in zip(weights, changed, strict=True) if change), Fraction()) / _STEPS


def is_flapping(recent: str, *, before: bool) -> bool:
    """Check whether a check flaps after its newest result, given whether it did before."""
    share = share_of_change(recent)
    return share > _LOW if before else share >= _HIGH
