"""What an examination found out about one thing."""

from dataclasses import dataclass
from enum import StrEnum


class FindingStatus(StrEnum):
    """How it is; `unknown` when it could not be told."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What an examination found out about one thing."""

    subject: str
    verdict: FindingStatus
    message: str
    hint: str | None = None
