"""Accounts on the command line: what is secret is shown once, what is refused says why."""

import io
import json
import socket
import sys

import pytest

from tests.monitor.commands.terminal import Terminal


def test_a_link_is_printed(terminal: Terminal) -> None:
    """It leads to the application's address; as JSON too."""
    done = terminal("account", "login-link", "--as", "mia", "--role", "owner", "--domain", "sales")
    assert done.code == 0
    assert done.out.startswith("http://127.0.0.1:8737/sign-in/link?token=")
    shown = json.loads(terminal("account", "login-link", "--as", "mia", "--format", "json").out)
    assert (shown["name"], shown["role"]) == ("mia", "viewer")
    assert "***" not in shown["url"]


def test_users_are_added_listed_and_removed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password comes from the pipe, and is in no output."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long password\n"))
    added = terminal("account", "user", "add", "mia", "--role", "owner", "--owner", "desk")
    assert (added.code, added.out) == (0, "user mia is owner (desk)\n")
    assert terminal("account", "user", "add", "bob", "--no-password").code == 0
    listed = json.loads(terminal("account", "user", "list", "--format", "json").out)["users"]
    assert [(one["name"], one["role"], one["owners"], one["password"]) for one in listed] == [
        ("bob", "viewer", [], False),
        ("mia", "owner", ["desk"], True),
    ]
    assert "argon2" not in terminal("account", "user", "list").out
    assert terminal("account", "user", "add", "bob", "--no-password").code == 2
    assert terminal("account", "user", "remove", "mia").code == 0
    assert terminal("account", "user", "remove", "mia").code == 5


def test_tokens_are_shown_once(terminal: Terminal) -> None:
    """The list has everything but the token."""
    token = terminal("account", "token", "add", "ci", "--role", "responder", "--expires", "30d").out.strip()
    assert token.startswith("tww_")
    assert terminal("account", "token", "add", "reader").out.startswith("twr_")
    listed = terminal("account", "token", "list", "--format", "json").out
    assert token not in listed
    assert [(one["name"], one["state"]) for one in json.loads(listed)["tokens"]] == [
        ("ci", "valid"),
        ("reader", "valid"),
    ]
    assert terminal("account", "token", "revoke", "ci").code == 0
    assert "revoked" in terminal("account", "token", "list").out
    assert terminal("account", "token", "revoke", "nobody").code == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("account", "login-link", "--as", "a b"), "is no name"),
        (("account", "login-link", "--as", "mia", "--role", "owner"), "needs --owner or --domain"),
        (("account", "user", "add", "mia", "--owner", "dsk"), "did you mean 'desk'"),
        (("account", "token", "add", "ci", "--expires", "500d"), "at most 365 days"),
        (("account", "token", "add", "ci", "--role", "admin"), "admin"),
        (("serve", "--host", "192.0.2.1"), "beyond this machine"),
    ],
)
def test_what_is_refused_says_why(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, and nothing is written."""
    done = terminal(*words)
    assert done.code == 2
    assert said in done.err


def test_a_short_password_is_refused(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is added."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
    done = terminal("account", "user", "add", "mia")
    assert (done.code, "12 to" in done.err) == (2, True)
    assert terminal("account", "user", "list").out == "no users\n"


def test_serve_prints_a_link_for_the_address_it_listens_on(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who starts it may sign in at once; a name that is none is refused before it listens."""
    from monitor.web import server

    monkeypatch.setattr(server, "serve", lambda *_: None)
    done = terminal("serve", "--port", "0", "--as", "mia")
    assert (done.code, done.out.count("/sign-in/link?token=")) == (0, 1)
    assert done.out.startswith("http://127.0.0.1:")
    assert ":8737" not in done.out
    assert terminal("serve", "--port", "0", "--as", "a b").code == 2


def test_a_link_names_the_port_of_the_server_that_runs(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second server changes nothing; without one it is the configured address."""
    from monitor.web import server

    links: list[str] = []

    def serve(application: object, listener: socket.socket) -> None:
        del application
        links.append(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        if len(links) == 1:
            assert terminal("serve", "--port", "0").code == 0
        links.append(terminal("account", "login-link", "--as", "mia").out)

    monkeypatch.setattr(server, "serve", serve)
    assert terminal("serve", "--port", "0").code == 0
    first, second, of_second, of_first = links
    assert second != first
    assert of_first.startswith(first)
    assert of_second.startswith(first)
    assert terminal("account", "login-link", "--as", "mia").out.startswith("http://127.0.0.1:8737/")
