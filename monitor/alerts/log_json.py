"""The log of alerts as JSON: what was decided about each change, and which messages were sent."""

from typing import Any

from store import Delivery, Transition


def decision_as_json(transition: Transition) -> dict[str, Any]:
    """Return what was decided about a change of an incident, channel by channel."""
    decision = transition.decision or {"why": None, "channels": {}}
    return {
        "incident": transition.incident_id,
        "warning": transition.warning_id,
        "table": transition.table,
        "change": transition.change.value,
        "at": transition.recorded_at.isoformat(),
        "settled_at": None if transition.settled_at is None else transition.settled_at.isoformat(),
        "why": decision["why"],
        "channels": [{"channel": name, **record} for name, record in decision["channels"].items()],
    }


def delivery_as_json(delivery: Delivery) -> dict[str, Any]:
    """Return a message and how far it is."""
    return {
        "id": delivery.id,
        "channel": delivery.channel,
        "subject": delivery.subject.value,
        "title": delivery.payload.get("title"),
        "at": delivery.created_at.isoformat(),
        "state": delivery.state.value,
        "attempts": delivery.attempts,
        "next_try_at": delivery.next_try_at.isoformat() if delivery.state.value == "waiting" else None,
        "sent_at": None if delivery.sent_at is None else delivery.sent_at.isoformat(),
        "error": delivery.error,
    }
