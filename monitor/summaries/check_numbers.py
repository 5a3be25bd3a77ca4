"""Which observed number stands for a check, in which unit, and between which limits: what a history draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from checks import Check

_KEYS: Final[Mapping[str, str]] = {
    "accepted_values": "violations",
    "delta_presence": "delta_max",
    "expectation": "violations",
    "foreign_key": "orphans",
    "functional_dependency": "violations",
    "pattern": "violations",
    "freshness": "expected_age_s",
    "k_anonymity": "records_below_k",
    "l_diversity": "records_below_l",
    "linkage": "uniquely_matched",
    "metric": "value",
    "not_null": "nulls",
    "population_uniqueness": "fraction_of_population",
    "primary_key": "duplicate_keys",
    "range": "violations",
    "re_release": "exposed",
    "reconcile": "value",
    "sql": "violations",
    "t_closeness": "t",
    "unique": "duplicate_keys",
    "volume": "rows",
}
"""The key of the number among what a check observes; a check that is not here is drawn by its status alone."""
_SECONDS: Final = "s"
_LIMITED: Final = frozenset({"volume", "metric"})
"""Checks whose `min` and `max` are limits of the number itself."""


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
        key = _KEYS.get(check.type)
        low, high = _limits(check)
        return cls(key, _SECONDS if check.type == "freshness" else None, low, high)

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


def _limits(check: Check) -> tuple[float | None, float | None]:
    if check.type in _LIMITED:
        return _plain(getattr(check, "min", None)), _plain(getattr(check, "max", None))
    limit: object = None
    match check.type:
        case "freshness":
            limit = getattr(check, "max_age", None)
        case "sql":
            limit = getattr(check, "max", None)
        case "t_closeness":
            limit = getattr(check, "t", None)
    return None, _plain(limit)


def _plain(value: object) -> float | None:
    """Return a number as a page has it; dates, texts and truth values are none."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool | date | str | Sequence) or not isinstance(value, int | float | Decimal):
        return None
    return float(value)
