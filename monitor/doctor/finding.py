"""The result of one examination of a subject."""

from dataclasses import dataclass
from enum import StrEnum


class FindingStatus(StrEnum):
    """The status of a finding; `unknown` if it could not be determined."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one examination of a subject."""

    subject: str
    verdict: FindingStatus
    message: str
    hint: str | None = None
