"""What a check of another distribution needs of this package."""

from checks._contract import (
    Check,
    CheckParameters,
    Context,
    Kind,
    MainNumber,
    Measurement,
    Misconfigured,
    Outcome,
    PastMeasurement,
    Wants,
    unknown,
)
from checks._judge import count_compared, judge_violations
from checks._outcome import Message
from checks.parameters.columns import ColumnName

__all__ = [
    "Check",
    "CheckParameters",
    "ColumnName",
    "Context",
    "Kind",
    "MainNumber",
    "Measurement",
    "Message",
    "Misconfigured",
    "Outcome",
    "PastMeasurement",
    "Wants",
    "count_compared",
    "judge_violations",
    "unknown",
]
