import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from store import DeliveryState, open_store
from tests.monitor.alerts.receivers import answering, listening, verified
from tests.monitor.alerts.sending import NOW, SECRET, add, found, message, webhook, write_project
from tests.monitor.commands.terminal import Terminal
from tests.store.made import opened


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Return a terminal in a folder with an empty store."""
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///store.db").close()
    return Terminal(tmp_path, capsys, NOW)


@pytest.mark.parametrize("like", ["incident", "resolved", "report"])
def test_a_test_reaches_the_channel_and_says_that_it_is_one(terminal: Terminal, like: str) -> None:
    """A test looks like the real thing, is signed like it, is called a test, and is kept nowhere."""
    with listening() as hook:
        write_project(terminal.folder, {"hook": webhook(hook.url)})
        said = terminal.json("alert", "test", "hook", "--as", like)
    (request,) = hook.requests
    body = json.loads(request.body)
    assert verified(SECRET, request)
    assert said == {
        "schema": "tablewatch.alert-test/1",
        "ok": True,
        "channel": "hook",
        "id": request.message_id,
        "as": like,
    }
    assert re.fullmatch("msg_[0-9a-f]{24}", request.message_id)
    assert body["subject"] == "test"
    assert body["title"].startswith("[test] ")
    assert ("no incident occurred" in body["text"]) == (like != "report")
    assert body["schema"] == ("tablewatch.report-mail/1" if like == "report" else "tablewatch.alert/1")
    with open_store(f"sqlite:///{terminal.folder}/store.db") as store, store.reading() as tx:
        assert set(tx.deliveries.count_by_state().values()) == {0}


@pytest.mark.parametrize("like", ["incident", "resolved", "report"])
def test_a_chat_gets_the_text_of_a_test(terminal: Terminal, like: str) -> None:
    """Through apprise, a channel that reads no pages gets the title and the lines, and the report as a file."""
    with listening() as hook:
        write_project(terminal.folder, {"chat": {"apprise": f"json://127.0.0.1:{hook.port}/"}})
        terminal.json("alert", "test", "chat", "--as", like)
    body = json.loads(hook.requests[0].body)
    assert body["title"].startswith("[test] ")
    assert "<" not in body["message"]
    files = [one["filename"] for one in body["attachments"]]
    assert files == (["tablewatch-2026-W46-en.html"] if like == "report" else [])


def test_a_resolved_test_says_how_long_it_took(terminal: Terminal) -> None:
    """The end of an incident is reported with its lengths."""
    with listening() as hook:
        write_project(terminal.folder, {"hook": webhook(hook.url)})
        terminal.json("alert", "test", "hook", "--as", "resolved")
    body = json.loads(hook.requests[0].body)
    assert body["incidents"][0]["over"] is True
    assert "[resolved]" in body["title"]


def test_a_test_speaks_the_channels_language(terminal: Terminal) -> None:
    """A channel with a locale of its own is tried out in it."""
    with listening() as hook:
        write_project(terminal.folder, {"hook": {**webhook(hook.url), "locale": "ja"}})
        terminal.json("alert", "test", "hook")
    body = json.loads(hook.requests[0].body)
    assert "テスト" in body["title"]
    assert "test" not in body["text"]


def test_a_test_that_fails_says_why_without_the_address(terminal: Terminal) -> None:
    """The exit code is 1, and neither the URL nor what was answered is shown."""
    with listening(answering(403, b"bad token")) as hook:
        write_project(terminal.folder, {"hook": webhook(hook.url + "/tok3n")})
        said = terminal("alert", "test", "hook")
    assert said.code == 1
    assert "channel 'hook' could not be reached: the server answered 403" in said.err
    assert "tok" not in said.err
    assert "127.0.0.1" not in said.err


def test_a_message_is_sent_again_when_a_person_asks(terminal: Terminal) -> None:
    """A message that was given up waits again, with all its attempts, under its id."""
    write_project(terminal.folder, {"hook": webhook("http://127.0.0.1:9/")})
    url = f"sqlite:///{terminal.folder}/store.db"
    with open_store(url) as store:
        add(store, message(1))
        with store.writing() as tx:
            tx.deliveries.lease(NOW, holder="me", lease_until=NOW, limit=1)
            tx.deliveries.mark_dead(message(1).id, NOW, "the server answered 500", "me")
            tx.silences.disable_channel("hook", "it is gone", NOW)
    said = terminal("alert", "resend", message(1).id)
    assert said.code == 0
    assert "is queued for hook again" in said.out
    assert "alert enable hook" in said.err
    with open_store(url) as store:
        assert (found(store).state, found(store).attempts) == (DeliveryState.WAITING, 0)


def test_a_message_that_is_none_is_not_sent_again(terminal: Terminal) -> None:
    """An id that the store does not know is reported, with exit code 5."""
    write_project(terminal.folder, {"hook": webhook("http://127.0.0.1:9/")})
    said = terminal("alert", "resend", "msg_0")
    assert said.code == 5
    assert "msg_0" in said.err


def test_a_channel_is_taken_into_use_again(terminal: Terminal) -> None:
    """A disabled channel is enabled, also one that left the configuration; another one was not disabled."""
    write_project(terminal.folder, {"hook": webhook("http://127.0.0.1:9/")})
    url = f"sqlite:///{terminal.folder}/store.db"
    with open_store(url) as store, store.writing() as tx:
        tx.silences.disable_channel("hook", "it is gone", NOW)
        tx.silences.disable_channel("former", "it is gone", NOW)
    assert terminal.json("alert", "enable", "hook")["was_disabled"] is True
    assert terminal.json("alert", "enable", "former")["was_disabled"] is True
    assert "hook was not disabled" in terminal("alert", "enable", "hook").out
    with open_store(url) as store, store.reading() as tx:
        assert tx.silences.disabled_channels() == {}


def test_what_waits_for_a_channel_that_is_used_again_is_due_at_once(terminal: Terminal) -> None:
    """Neither the schedule of a message that failed nor the next look at what was held back is waited for."""
    write_project(terminal.folder, {"hook": webhook("http://127.0.0.1:9/")})
    with open_store(f"sqlite:///{terminal.folder}/store.db") as store:
        add(store, message(1))
        with store.writing() as tx:
            tx.deliveries.lease(NOW, holder="me", lease_until=NOW, limit=1)
            tx.deliveries.retry(message(1).id, NOW + timedelta(hours=9), "the server answered 410", "me")
            tx.silences.disable_channel("hook", "it is gone", NOW)
            tx.incidents.open(opened(), recorded_at=NOW, actor="tablewatch")
            tx.outbox.postpone([transition.id for transition in tx.outbox.due(NOW, 9)], NOW + timedelta(minutes=5), {})
        assert terminal("alert", "enable", "hook").code == 0
        with store.reading() as tx:
            assert len(tx.outbox.due(NOW, 9)) == 1
        assert found(store).next_try_at == NOW
