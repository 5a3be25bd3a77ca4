"""A kind of channel of this file alone, and a program that uses it everywhere. It runs in a process of its own."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from monitor.channels import KINDS, ChannelKind, DeliveryFailed, DeliverySucceeded, SecretPlace, Settings


class Dummy(Settings):
    """A pager."""

    number: str
    pin: str


class DummyKind(ChannelKind):
    """A pager that prints."""

    name = "dummy"
    settings = Dummy
    secrets = (SecretPlace(("pin",)),)

    def problem(self, settings):
        """Return what is wrong with the number."""
        return None if len(settings.number) > 3 else "the number is too short"

    def send(self, settings, message):
        """Print the title."""
        if self.problem(settings) is not None:
            return DeliveryFailed("no such pager", permanent=True)
        sys.stdout.write(f"{settings.number} {message.id} {message.mail().title}\n")
        return DeliverySucceeded()


CONFIGURATION = """
version: 1
project: p
storage: {url: "sqlite:///${here}/tablewatch.db"}
sources: {s: {url: "sqlite:///data.db"}}
tables: [{name: t, source: s, checks: []}]
alerts:
  channels:
    pager: {dummy: {number: "0501234", pin: "correct-horse"}}
    wrong: {dummy: {number: "12", pin: "battery-staple"}}
"""


def main(folder: Path) -> None:
    """Configure, mask, check and send with it."""
    KINDS[DummyKind.name] = DummyKind()
    from monitor.alerts.dispatch import send
    from monitor.config import Channel, ConfigError, load
    from monitor.config.project import Project
    from monitor.doctor.config_checks import invalid_channels
    from store import Delivery, MessageSubject

    file = folder / "tablewatch.yaml"
    file.write_text(CONFIGURATION, encoding="utf-8")
    loaded = load(file)
    assert loaded.config.alerts.channels["pager"].settings == Dummy(number="0501234", pin="correct-horse")
    assert "correct-horse" not in loaded.redactor("the pin is correct-horse")
    assert [problem.message for problem in invalid_channels(loaded)] == ["the number is too short"]
    assert set(Channel.model_json_schema()["$defs"]["Dummy"]["properties"]) == {"number", "pin"}

    file.write_text(CONFIGURATION.replace('"correct-horse"}', "correct-horse]"), encoding="utf-8")
    try:
        load(file)
    except ConfigError as error:
        lines = [error.redactor.line(problem.excerpt or "") for problem in error.problems]
        assert any("pin: ***" in line for line in lines), lines
        assert not any("correct-horse" in line for line in lines), lines
    else:
        raise AssertionError("this YAML cannot be read")

    def sent(channel):
        now = datetime(2026, 11, 23, tzinfo=UTC)
        payload = {"title": "orders is late", "text": "since 9:00", "html": "<p>since 9:00</p>"}
        delivery = Delivery(
            id="msg_1",
            channel=channel,
            subject=MessageSubject.OPERATIONS,
            payload=payload,
            created_at=now,
            next_try_at=now,
        )
        return send(Project(loaded), delivery)

    assert sent("wrong") == DeliveryFailed("no such pager", permanent=True)
    assert sent("pager") == DeliverySucceeded()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
