"""Causes, resolutions, recurrences and false alarms of some days, as a page and its JSON show them: first rows only."""

from collections.abc import Sequence
from typing import Final, TypeVar

from monitor.config.prices import Currency
from monitor.summaries.patterns import IncidentPatterns
from monitor.summaries.shapes import Money, Shape

SHOWN: Final = 20
_Row = TypeVar("_Row")


class PatternShare(Shape):
    """The incidents of a cause or resolution; `key` is null where none is given. What does not count has no cost."""

    key: str | None
    n: int
    counts: bool
    downtime_h: float
    downtime_h_low: float
    downtime_h_high: float
    cost: Money


class RepeatRow(Shape):
    """A table or check, its incidents, and the episodes that came back: of the same incident, or as one of its own."""

    key: str
    n: int
    returned: int
    reopened: int
    anew: int


class RepeatLists(Shape):
    """The tables and checks with the most that came back; `more_*` counts the others."""

    within_days: int
    tables: tuple[RepeatRow, ...]
    more_tables: int
    checks: tuple[RepeatRow, ...]
    more_checks: int


class AlarmPrecision(Shape):
    """Alarms by their answers. `precision`: the share of those answered that was not false, with its 95 % interval.

    `precision_least` and `precision_most`: of all alarms, if all or none that nobody answered were false.
    """

    alarms: int
    real: int
    expected: int
    false: int
    unanswered: int
    precision: float | None
    precision_least: float | None
    precision_most: float | None
    precision_95_low: float | None
    precision_95_high: float | None


class CheckAlarms(AlarmPrecision):
    """The alarms of a check."""

    check_id: str


class AlarmLists(Shape):
    """The alarms of all checks, and of those with answers, most false ones first; `more_checks` counts others."""

    all: AlarmPrecision
    checks: tuple[CheckAlarms, ...]
    more_checks: int


class PatternLists(Shape):
    """Causes, resolutions, what came back, and whether alarms were real."""

    causes: tuple[PatternShare, ...]
    resolutions: tuple[PatternShare, ...]
    repeats: RepeatLists
    precision: AlarmLists

    @classmethod
    def of(cls, patterns: IncidentPatterns, currency: Currency) -> "PatternLists":
        """Return the first rows of each list."""
        whole = patterns.as_json(currency)
        repeats, precision = whole["repeats"], whole["precision"]
        answered = [item for item in precision["checks"] if item["alarms"] > item["unanswered"]]
        tables, more_tables = _first(repeats["tables"])
        checks, more_checks = _first(repeats["checks"])
        alarms, more_alarms = _first(answered)
        return cls.model_validate(
            {
                **whole,
                "repeats": {
                    "within_days": repeats["within_days"],
                    "tables": tables,
                    "more_tables": more_tables,
                    "checks": checks,
                    "more_checks": more_checks,
                },
                "precision": {"all": precision["all"], "checks": alarms, "more_checks": more_alarms},
            }
        )


def _first(rows: Sequence[_Row]) -> tuple[Sequence[_Row], int]:
    return rows[:SHOWN], max(0, len(rows) - SHOWN)
