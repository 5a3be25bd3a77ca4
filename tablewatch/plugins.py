"""What authors of checks, channels and sources import; see docs/plugins.md.

Everything else of the distribution may change without notice.
"""

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
from monitor.channels.kind import (
    Attempt,
    ChannelKind,
    DeliveryFailed,
    DeliverySucceeded,
    OutgoingMessage,
    SecretPlace,
    Settings,
)
from sources._contract import QueryFailed, Source, Unreachable
from sources._engine import CatalogueEntry, EngineSource, FetchedRows, refuse_other_words
from sources._spec import SourceSpec, file_of

__all__ = [
    "Attempt",
    "CatalogueEntry",
    "ChannelKind",
    "Check",
    "CheckParameters",
    "ColumnName",
    "Context",
    "DeliveryFailed",
    "DeliverySucceeded",
    "EngineSource",
    "FetchedRows",
    "Kind",
    "MainNumber",
    "Measurement",
    "Message",
    "Misconfigured",
    "Outcome",
    "OutgoingMessage",
    "PastMeasurement",
    "QueryFailed",
    "SecretPlace",
    "Settings",
    "Source",
    "SourceSpec",
    "Unreachable",
    "Wants",
    "count_compared",
    "file_of",
    "judge_violations",
    "refuse_other_words",
    "unknown",
]
