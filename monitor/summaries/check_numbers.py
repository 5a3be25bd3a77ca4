"""Which observed number stands for a check, in which unit, and between which limits: what a history draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from checks import Check


@dataclass(frozen=True, slots=True)
class CheckNumber:
    """The number that stands for a check: its key, its unit (`s` or none), and the limits between which it passes."""

    key: str | None
    unit: str | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, check: Check) -> "CheckNumber":
        """Return it for a configured check; of one that is judged in segments, how many of them fail."""
        if check.segments is not None:
            return cls("failing", None, None, 0.0)
        number = check.main_number
        if number is None:
            return cls(None, None, None, None)
        low, high = (None if name is None else _plain(getattr(check, name)) for name in (number.low, number.high))
        return cls(number.key, number.unit, low, high)

    def read(self, observed: Mapping[str, Any]) -> float | None:
        """Return the number of a measurement; None where there is none."""
        value = None if self.key is None else observed.get(self.key)
        if isinstance(value, Mapping):  # one for each of several columns: the worst counts
            numbers = [number for item in value.values() if (number := _plain(item)) is not None]
            return max(numbers, default=None)
        return _plain(value)

    def usual(self, check: Check, observed: Mapping[str, Any]) -> tuple[float | None, float | None]:
        """Return between which numbers a measurement would have been as usual: its baseline times the ratios allowed.

        None where there is no baseline, or no ratio on that side.
        """
        baseline = self.baseline(observed)
        ratios = (_plain(getattr(check, name, None)) for name in ("min_ratio", "max_ratio"))
        low, high = (None if baseline is None or ratio is None else baseline * ratio for ratio in ratios)
        return low, high

    def baseline(self, observed: Mapping[str, Any]) -> float | None:
        """Return the usual number that a measurement was compared with; None where there is none."""
        learned = observed.get("learned")
        return _plain(learned.get("usual") if isinstance(learned, Mapping) else observed.get("baseline"))


def _plain(value: object) -> float | None:
    """Return a number as a page has it; dates, texts and truth values are none."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool | date | str | Sequence) or not isinstance(value, int | float | Decimal):
        return None
    return float(value)
