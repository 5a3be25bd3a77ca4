"""A project whose channels are the test's own receivers, and messages for them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from store import Delivery, MessageSubject, Store

NOW = datetime(2026, 11, 16, 3, tzinfo=UTC)
"""Monday noon in Tokyo."""


def write_project(folder: Path, channels: Mapping[str, Mapping[str, Any]], **more: Any) -> Path:
    """Write a configuration with one table and these channels."""
    config = {
        "version": 1,
        "project": "shop",
        "timezone": "Asia/Tokyo",
        "storage": {"url": f"sqlite:///{folder}/store.db"},
        "sources": {"files": {"files": "*.csv"}},
        "tables": [{"name": "orders", "source": "files"}],
        "alerts": {"channels": channels, "routes": [{"to": list(channels)}] if channels else []},
        **more,
    }
    file = folder / "tablewatch.yaml"
    file.write_text(json.dumps(config), encoding="utf-8")
    return file


def project_of(folder: Path, channels: Mapping[str, Mapping[str, Any]], **more: Any) -> Project:
    """Return a project with one table and these channels, at NOW."""
    return Project(load(write_project(folder, channels, **more), environment={}), SimulatedClock(NOW))


SECRET = "s3cret-key"  # noqa: S105 - a test's own


def webhook(url: str) -> Mapping[str, Any]:
    """Return a channel that posts to the loopback."""
    return {"webhook": {"url": url, "secret": SECRET, "allow_private": True}}


def message(number: int, channel: str = "hook", about: str | None = "orders", **others: Any) -> Delivery:
    """Make a message that is due."""
    values: dict[str, Any] = {
        "id": f"msg_{number:024x}",
        "channel": channel,
        "subject": MessageSubject.INCIDENTS,
        "payload": {
            "schema": "tablewatch.alert/1",
            "project": "shop",
            "locale": "en",
            "title": f"number {number}",
            "text": f"number {number}\nin full",
        },
        "created_at": NOW,
        "next_try_at": NOW,
        "about": about,
    }
    return Delivery(**{**values, **others})


def add(store: Store, *messages: Delivery) -> None:
    """Remember messages."""
    with store.writing() as tx:
        tx.deliveries.add(messages)


def found(store: Store, number: int = 1) -> Delivery:
    """Return a message as the store knows it."""
    with store.reading() as tx:
        return tx.deliveries.get(f"msg_{number:024x}")
