"""The text of others, cleaned for each kind of output."""

import json
from collections.abc import Callable

import pytest

from monitor.daemon.metrics import Metrics
from monitor.reporting.render import escape_markdown, masking
from monitor.terminal.redaction import json_text, one_line, visible

HOSTILE = "a\x1b[31m\x07\x9b2J\u202ecba\u2066\x00\x7f\r\nb"
_RAW = ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x00", "\x7f", "\r")


def _prometheus(name: str) -> str:
    from prometheus_client import CollectorRegistry, generate_latest

    registry, metrics = CollectorRegistry(), Metrics("1", lambda: ())
    metrics.begin([(name, f"{name}.unique", "pass", "")])
    registry.register(metrics)
    return generate_latest(registry).decode()


@pytest.mark.parametrize(
    "clean",
    [visible, one_line, json_text, masking(str), escape_markdown, _prometheus],
    ids=["terminal", "title", "json", "html", "markdown", "prometheus"],
)
def test_no_control_character_reaches_the_output(clean: Callable[[str], object]) -> None:
    """ESC, BEL, C1, NUL, DEL and marks of direction are text in each."""
    text = str(clean(HOSTILE))
    assert not any(raw in text for raw in _RAW)
    assert "a" in text


@pytest.mark.parametrize("text", ["売上", "سجل", "נתונים", "é", "a b", "\U0001f600", "क्\u200dष"])
@pytest.mark.parametrize("clean", [visible, one_line, masking(str)])
def test_writing_of_any_kind_stays(clean: Callable[[str], object], text: str) -> None:
    """Letters of every script, emoji and the marks that join them."""
    assert clean(text) == text


@pytest.mark.parametrize("value", [HOSTILE, "売上\ud800", {"\u202e": ["\U000e0001", "\x85"]}, ['é\n\t"\\']])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_json_keeps_the_value(value: object, ascii_only: bool) -> None:
    """What is escaped is read back as it was."""
    text = json_text(value, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert all(one.isprintable() or one == "\n" for one in text)
    assert text.isascii() or not ascii_only
