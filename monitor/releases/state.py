"""Describe how a release stands by what was decided of it: pure, from the facts in order.

held        a person, or Tablewatch, put it on hold, and not approved since
approved    a user approved a remedy, of this configuration, and that has not expired
expired     the approval was for so long
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.config import Release
from store import ReleaseEvent, ReleaseEventKind


class ReleaseDecision(StrEnum):
    """What the decisions about a release amount to."""

    NONE = "none"
    HELD = "held"
    APPROVED = "approved"
    EXPIRED = "expired"
    OTHERWISE = "configured-otherwise"


@dataclass(frozen=True, slots=True)
class ReleaseStanding:
    """What was decided. `event`: the decision that counts; `until`: when an approval ends, None if it does not."""

    decision: ReleaseDecision
    event: ReleaseEvent | None = None
    until: datetime | None = None

    @property
    def remedy(self) -> str | None:
        """Return the remedy that was approved."""
        return None if self.event is None else _text(self.event, "remedy")

    @property
    def state(self) -> str | None:
        """Return the fingerprint of the table that was approved."""
        return None if self.event is None else _text(self.event, "table_state")

    @property
    def summary(self) -> str:
        """Format it to a person."""
        event = self.event
        if event is None:
            return "not approved"
        when = f"{event.recorded_at:%Y-%m-%d %H:%M}Z"
        match self.decision:
            case ReleaseDecision.HELD:
                return f"put on hold by {event.actor} on {when}: {event.note}"
            case ReleaseDecision.EXPIRED:
                return f"the approval by {event.actor} of {when} has expired"
            case ReleaseDecision.OTHERWISE:
                return f"the configuration of the release has changed since {event.actor} approved it on {when}"
            case _:
                return f"approved with '{self.remedy}' by {event.actor} on {when}"


def standing(
    events: Sequence[ReleaseEvent], *, digest: str, expires_after: timedelta | None, now: datetime
) -> ReleaseStanding:
    """Fold the facts about a release, the oldest first. `digest`: what the configuration says of it now."""
    decisions = [event for event in events if event.kind is not ReleaseEventKind.EXPORTED]
    if not decisions:
        return ReleaseStanding(ReleaseDecision.NONE)
    last = decisions[-1]
    if last.kind is ReleaseEventKind.HELD:
        return ReleaseStanding(ReleaseDecision.HELD, last)
    until = None if expires_after is None else last.recorded_at + expires_after
    if until is not None and now >= until:
        return ReleaseStanding(ReleaseDecision.EXPIRED, last, until)
    if _text(last, "digest") != digest:
        return ReleaseStanding(ReleaseDecision.OTHERWISE, last, until)
    return ReleaseStanding(ReleaseDecision.APPROVED, last, until)


def _text(event: ReleaseEvent, name: str) -> str | None:
    result = event.body.get(name)
    return result if isinstance(result, str) else None


def digest_of(name: str, release: Release) -> str:
    """Fingerprint all that the configuration says of a release: 128 bits, so that collisions cannot be made."""
    fields = release.model_dump(mode="json")
    for word in ("unclassified_uniqueness", "max_individual_risk", "max_group_risk"):
        if fields["limits"][word] is None:  # so that approvals outlive the version that brought it
            del fields["limits"][word]
    for word in ("missing_is_a_value", "spelling_is_a_value", "weight", "group_key"):
        if not fields[word]:
            del fields[word]
    content = json.dumps([name, fields], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
