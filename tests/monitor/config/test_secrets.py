"""Secrets that stand in the configuration itself."""

from typing import Any

import pytest

from monitor.config import ConfigError
from tests.monitor.config.conftest import Load

_CHANNELS = """
alerts:
  channels:
    chat: {apprise: "slack://TokenA1234/TokenB1234/TokenC1234"}
    hook: {webhook: {url: "https://me:pw@hooks.example.org/services/T0123/abcdefgh", secret: plain-key}}
    short: {webhook: {url: "https://hooks.example.org/in"}}
    bare: {webhook: {url: "https://hooks.example.org"}}
daemon: {heartbeat_url: "https://ping.example.org/0123-4567"}
"""


def test_addresses_and_keys_are_masked_at_their_places(load_text: Load, small: str) -> None:
    """What is shown of the configuration says where messages go, not how to send some oneself."""
    shown: Any = load_text(small + _CHANNELS, {}).values()
    channels = shown["alerts"]["channels"]
    assert channels["chat"] == {"apprise": "slack://***"}
    assert channels["hook"] == {"webhook": {"url": "https://hooks.example.org/***", "secret": "***"}}
    assert channels["short"] == {"webhook": {"url": "https://hooks.example.org/***"}}
    assert channels["bare"] == {"webhook": {"url": "https://hooks.example.org"}}
    assert shown["daemon"]["heartbeat_url"] == "https://ping.example.org/***"


@pytest.mark.parametrize(
    "said",
    [
        "slack://TokenA1234/TokenB1234/TokenC1234",
        "TokenA1234/TokenB1234/TokenC1234",
        "POST /services/T0123/abcdefgh",
        "plain-key",
        "https://ping.example.org/0123-4567/fail",
    ],
)
def test_they_are_masked_in_any_text(load_text: Load, small: str, said: str) -> None:
    """Whatever says them, the token is not shown."""
    masked = load_text(small + _CHANNELS, {}).redactor(said)
    assert "***" in masked
    assert not any(token in masked for token in ("TokenC1234", "abcdefgh", "plain-key", "4567"))


def test_a_path_that_is_no_token_destroys_no_text(load_text: Load, small: str) -> None:
    """A short path and a host are masked in the address only."""
    redact = load_text(small + _CHANNELS, {}).redactor
    assert redact("wrote /in/a.html on hooks.example.org") == "wrote /in/a.html on hooks.example.org"


@pytest.mark.parametrize(
    "torn",
    [
        "alerts: {channels: {a: {apprise: 'slack://abcdefgh'}]",
        "alerts: {channels: {a: {webhook: {url: 'https://h/abcdefgh', secret: abcdefgh]",
        "storage: {signature_key: abcdefgh-abcdefgh]",
        "daemon: {heartbeat_url: 'https://h/abcdefgh']",
    ],
)
def test_a_line_that_cannot_be_read_does_not_show_them(load_text: Load, small: str, torn: str) -> None:
    """Where YAML is broken no value has a place; the quoted line is masked by its keys."""
    with pytest.raises(ConfigError) as caught:
        load_text(f"{small}{torn}\n", {})
    shown = [caught.value.redactor.line(problem.excerpt or "") for problem in caught.value.problems]
    assert any("***" in line for line in shown)
    assert not any("abcdefgh" in line for line in shown)


@pytest.mark.parametrize(
    "wrong",
    [
        "alerts: {channels: {a: {webhook: {url: 'ftp://h/abcdefgh'}}}}",
        "alerts: {channels: {a: {webhook: {url: [abcdefgh], secret: {x: abcdefgh}}}}}",
        "alerts: {channels: {a: {apprise: {url: abcdefgh}}}}",
        "daemon: {heartbeat_url: 'gopher://h/abcdefgh'}",
    ],
)
def test_an_error_at_their_place_does_not_show_them(load_text: Load, small: str, wrong: str) -> None:
    """A secret that is written in a wrong way is no less a secret."""
    with pytest.raises(ConfigError) as caught:
        load_text(f"{small}{wrong}\n", {})
    for problem in caught.value.problems:
        for text in (problem.message, problem.hint or "", caught.value.redactor.line(problem.excerpt or "")):
            assert "abcdefgh" not in caught.value.redactor(text)


def test_the_name_of_a_channel_is_no_secret_though_its_address_has_it(load_text: Load, small: str) -> None:
    """Logs and the simulation say which channel they are about; what no channel is called stays masked."""
    channels = "{data-team: {webhook: {url: 'https://h.example.org/data-team'}}, b: {apprise: 'slack://TokenB1234'}}"
    redactor = load_text(f"{small}alerts: {{channels: {channels}}}\n", {}).redactor
    assert redactor("messages to data-team") == "messages to data-team"
    assert "TokenB1234" not in redactor("slack://TokenB1234")
