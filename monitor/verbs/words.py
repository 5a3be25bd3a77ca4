"""Words of the packages below, repeated: importing those packages would cost `--help` a second."""

from enum import StrEnum


class SeverityWord(StrEnum):
    """Severity of a failure."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class KindWord(StrEnum):
    """The kind of an incident."""

    QUALITY = "quality"
    DISCLOSURE = "disclosure"


class StateWord(StrEnum):
    """The state of an incident."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class ResolutionWord(StrEnum):
    """The resolution of an incident."""

    FIXED = "fixed"
    NO_ACTION = "no-action"
    EXPECTED = "expected"
    FALSE_POSITIVE = "false-positive"
    DUPLICATE = "duplicate"


class FoundByWord(StrEnum):
    """How an incident was detected."""

    CHECK = "check"
    PERSON = "person"


class EventWord(StrEnum):
    """Kinds of events."""

    DEPLOY = "deploy"
    MIGRATION = "migration"
    BACKFILL = "backfill"
    CONFIGURATION = "configuration"
    OTHER = "other"
