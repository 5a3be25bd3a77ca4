"""Compute the downtime with earlier detection, by a shorter schedule or a new check, or with faster repairs.

The episodes are changed and measured again, so that hours and money come from the same arithmetic.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from checks.classes.arrays import np
from incidents._measure import Bools
from incidents.spans import Ints, Spans


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The change. An episode that is detected earlier keeps the duration of its repair.

    `noticed_within`: microseconds after its occurrence within which a check would have detected an episode; None
    changes nothing. `also_reported`: a check would have detected those that people reported, too. `repair_faster`: the
    share of each repair that is saved, 0 to 1.
    """

    noticed_within: int | None = None
    also_reported: bool = False
    repair_faster: Fraction = Fraction()

    def __post_init__(self) -> None:
        if self.noticed_within is not None and self.noticed_within < 0:
            raise ValueError("a check cannot run before the problem starts; expected 0 or more microseconds")
        if not 0 <= self.repair_faster <= 1:
            raise ValueError(f"repairs are {float(self.repair_faster):g} faster; expected a share from 0 to 1")


def changed_spans(spans: Spans, what_if: WhatIf, *, as_of_us: int, rows: "Bools | None" = None) -> Spans:
    """Return the changed episodes, as known at a moment.

    Args:
        spans: the episodes as they were.
        what_if: the change.
        as_of_us: that moment: an unfinished repair has taken until then.
        rows: the episodes that are changed, such as those of some tables; None for all.
    """
    chosen = np.ones(spans.incident.size, dtype=np.bool_) if rows is None else rows
    detected = _detected(spans, what_if, chosen)
    known_end = np.minimum(spans.resolved, np.maximum(spans.detected, as_of_us))
    length = known_end - spans.detected
    share = 1 - what_if.repair_faster
    shorter = length // share.denominator * share.numerator + length % share.denominator * share.numerator // (
        share.denominator
    )
    changes = chosen & ((detected < spans.detected) | (what_if.repair_faster > 0))
    resolved = np.where(changes, detected + np.where(chosen, shorter, length), spans.resolved)
    return replace(
        spans,
        detected=detected,
        resolved=resolved,
        latest=np.minimum(spans.latest, detected),
    )


def _detected(spans: Spans, what_if: WhatIf, chosen: Bools) -> Ints:
    """Return when each episode would have been detected: never later than it was."""
    if what_if.noticed_within is None:
        return spans.detected
    sooner = chosen if what_if.also_reported else chosen & (spans.check >= 0)
    return np.where(sooner, np.minimum(spans.detected, spans.occurred + what_if.noticed_within), spans.detected)
