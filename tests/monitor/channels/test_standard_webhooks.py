import base64
import json
import logging
import secrets
import ssl
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.channels import Attempt, DeliveryFailed, DeliverySucceeded
from monitor.channels import standard_webhooks as sender
from monitor.channels.addresses import Network
from monitor.channels.standard_webhooks import WebhookUnusable, body_of, deliver, sign
from monitor.channels.timed_socket import MOST_READ, TimedSocket
from tests.monitor.alerts.receivers import Handler, Request, answering, certificate, listening, trap, verified

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published in the specification's tests
PAYLOAD = {"schema": "tablewatch.alert/1", "title": "給料 is stale", "n": 3}


def send(url: str, *, network: Network | None = None, secret: str | None = SECRET, private: bool = True) -> Attempt:
    """Send the payload once."""
    network = replace(network or Network(deadline=5), allow_private=private)
    return deliver(url, PAYLOAD, secret=secret, message_id="msg_1", now=NOW, network=network)


def why(attempt: Attempt) -> str:
    """Return why an attempt failed."""
    assert isinstance(attempt, DeliveryFailed), attempt
    return attempt.why


def test_the_signature_is_that_of_the_specifications_own_vector() -> None:
    """The known vector of Standard Webhooks gives the known signature."""
    signature = sign(
        SECRET, message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1614265330, body=b'{"test": 2432232314}'
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.binary(), st.integers(0, 2**40))
def test_a_receiver_that_follows_the_specification_verifies_it(key: bytes, body: bytes, timestamp: int) -> None:
    """Any signature is accepted by an independent verification, and none that was made with another key."""
    secret = "whsec_" + base64.b64encode(key).decode()
    headers = {"webhook-id": "msg_x", "webhook-timestamp": str(timestamp)}
    signature = sign(secret, message_id="msg_x", timestamp=timestamp, body=body)
    other = sign("another", message_id="msg_x", timestamp=timestamp, body=body)
    assert verified(secret, Request("/", headers | {"webhook-signature": signature}, body))
    assert verified(secret, Request("/", headers | {"webhook-signature": f"{other} {signature}"}, body))
    assert not verified(secret, Request("/", headers | {"webhook-signature": other}, body))


def test_a_secret_is_serialised_or_any_text() -> None:
    """Base64 is read with and without its padding; a text without the prefix is the key itself."""
    padded, bare = "whsec_YWJjZA==", "whsec_YWJjZA"
    same = {sign(one, message_id="m", timestamp=1, body=b"") for one in (padded, bare, "abcd")}
    assert len(same) == 1
    for broken in ("whsec_", "whsec_not base64!", "whsec_é"):
        with pytest.raises(WebhookUnusable) as said:
            sign(broken, message_id="m", timestamp=1, body=b"")
        assert "not base64!" not in str(said.value)


def test_a_message_arrives_signed() -> None:
    """A receiver gets the payload as JSON, its id, the time of the attempt and a signature that it can verify."""
    with listening() as receiver:
        assert send(receiver.url) == DeliverySucceeded()
    (request,) = receiver.requests
    assert request.path == "/hook"
    assert json.loads(request.body) == PAYLOAD
    assert request.message_id == "msg_1"
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert request.headers["content-type"] == "application/json"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert verified(SECRET, request)


def test_the_same_payload_gives_the_same_bytes() -> None:
    """What was stored and read back is signed and sent as it was the first time."""
    assert body_of(json.loads(body_of(PAYLOAD))) == body_of(PAYLOAD)


def test_without_a_secret_nothing_is_signed() -> None:
    """A webhook without a secret gets its messages, with no signature."""
    with listening() as receiver:
        assert send(receiver.url, secret=None) == DeliverySucceeded()
    assert "webhook-signature" not in receiver.requests[0].headers


def test_an_unreadable_secret_is_told_and_nothing_is_sent() -> None:
    """A secret that cannot be read is a failure in words, before anything leaves."""
    with listening() as receiver:
        assert "not valid base64" in why(send(receiver.url, secret="whsec_!!!!"))  # noqa: S106 - no secret
    assert receiver.requests == []


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_means_sent(status: int) -> None:
    """The other side took it, with whatever number of the two hundreds it says so."""
    with listening(answering(status)) as receiver:
        assert send(receiver.url) == DeliverySucceeded()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 500, 502, 503, 504])
def test_an_error_is_a_failure_that_may_be_tried_again(status: int) -> None:
    """Whatever else is answered is a failure, reported by its number and nothing of what was answered."""
    with listening(answering(status, b"token=SECRET")) as receiver:
        assert send(receiver.url) == DeliveryFailed(f"the server answered {status}")


def test_410_disables() -> None:
    """A receiver that is gone wants no message ever again."""
    with listening(answering(410)) as receiver:
        attempt = send(receiver.url)
    assert isinstance(attempt, DeliveryFailed)
    assert attempt.gone


@pytest.mark.parametrize("value", ["120", "Mon, 16 Nov 2026 08:02:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_handed_on(status: int, value: str) -> None:
    """A receiver that is asked too much may say for how long, in seconds or as a date."""
    with listening(answering(status, Retry_After=value)) as receiver:
        assert send(receiver.url) == DeliveryFailed(f"the server answered {status}", retry_after=timedelta(minutes=2))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    """A redirect is a failure, and nothing is sent where it points."""
    with trap() as (port, came):
        with listening(answering(status, Location=f"http://127.0.0.1:{port}/")) as receiver:
            assert "redirect" in why(send(receiver.url))
        assert came() == 0


def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment gets nothing, so that the environment does not choose where alerts go."""
    with trap() as (port, came), listening() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        assert send(receiver.url) == DeliverySucceeded()
        assert came() == 0


def test_a_lost_answer_is_a_failure() -> None:
    """A message that was taken, with the answer lost, is tried again: under the same id it does no harm."""
    for script in (lambda *_: None, lambda handler, _: handler.reset()):
        with listening(script) as receiver:
            assert "closed" in why(send(receiver.url))
        assert len(receiver.requests) == 1


def test_a_port_where_nobody_listens_is_said_so() -> None:
    """A refused connection is reported in words."""
    with trap() as (port, _):
        pass
    assert why(send(f"http://127.0.0.1:{port}/")) == "the connection was refused"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"


@pytest.mark.parametrize("part", [HEAD, HEAD + b"X: " + b"x" * 10_000])
def test_an_answer_that_drips_has_one_deadline(part: bytes) -> None:
    """A server that sends a byte before every timeout is left when the time for everything is over."""
    with listening(lambda handler, _: handler.drip(part * 100, every=0.01)) as receiver:
        assert why(send(receiver.url, network=Network(deadline=0.3))) == "no answer within 0.3 s"


def test_a_silent_server_has_the_same_deadline() -> None:
    """A server that takes the message and says nothing is left too."""
    with listening(lambda handler, _: handler.server.receiver.over.wait()) as receiver:
        assert why(send(receiver.url, network=Network(deadline=0.2))) == "no answer within 0.2 s"


def test_a_server_that_never_speaks_tls_has_the_same_deadline() -> None:
    """The handshake is part of everything."""
    with trap() as (port, _):
        attempt = send(f"https://127.0.0.1:{port}/", network=Network(deadline=0.2))
    assert why(attempt) == "no answer within 0.2 s"


def test_a_body_that_drips_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the status has arrived the message is sent, however slowly the rest comes."""
    monkeypatch.setattr(sender, "_POLITE", 0.05)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"

    def script(handler: Handler, _: Request) -> None:
        handler.wfile.write(answer)
        handler.drip(b"x" * 1000, every=0.02)

    with listening(script) as receiver:
        assert send(receiver.url) == DeliverySucceeded()


@pytest.mark.parametrize("junk", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 100_000, b""])
def test_what_is_no_http_is_a_failure(junk: bytes) -> None:
    """Another protocol on the port is reported in words, without what it said."""
    with listening(lambda handler, _: handler.wfile.write(junk)) as receiver:
        said = why(send(receiver.url))
    assert said in {
        "the response is not valid HTTP",
        "the response is too large",
        "the connection was closed before a response",
    }


def test_no_more_than_64_kib_of_an_answer_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless answer is not read to its end, whether its headers or its body are endless."""
    read = []
    receive = TimedSocket.receive_into

    def counting(self: TimedSocket, buffer: bytearray) -> int:
        read.append(receive(self, buffer))
        return read[-1]

    monkeypatch.setattr(TimedSocket, "receive_into", counting)
    endless = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(90))
    with listening(lambda handler, _: handler.wfile.write(endless)) as receiver:
        assert isinstance(send(receiver.url), DeliveryFailed)
    assert sum(read) <= MOST_READ
    read.clear()
    with listening(answering(200, b"x" * 1_000_000)) as receiver:
        assert send(receiver.url) == DeliverySucceeded()
    assert sum(read) <= MOST_READ


SPELLINGS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.000.000.001",
    "127.0.0.1.",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "0X7F000001",
    "0x7f.0x0.0x0.0x1",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "0",
    "0.0.0.0",  # noqa: S104 - that is what is tried
    "0x0",
    "00",
    "127.127.127.127",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "127．0．0．1",  # noqa: RUF001 - the name system reads these full stops too
    "１２７.0.0.1",  # noqa: RUF001 - and these digits
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "%31%32%37.0.0.1",
    "user@127.0.0.1",
    "hooks.example@127.0.0.1",
    "hooks.example:443@127.0.0.1",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:0:0]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1%25lo]",
    "[fd00::1]",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_reaches_the_loopback(spelling: str) -> None:
    """Forty spellings of a private address are refused before anything is connected to."""
    with trap() as (port, came):
        for scheme in ("http", "https"):
            attempt = send(f"{scheme}://{spelling}:{port}/", private=False, network=Network(deadline=2))
            assert isinstance(attempt, DeliveryFailed)
        assert came() == 0


@pytest.mark.parametrize("spelling", ["127.0.0.1", "127.1", "0x7f000001", "①②⑦.0.0.1", "localhost", "127。0。0。1"])
def test_the_trap_would_have_noticed(spelling: str) -> None:
    """The same spellings do reach the trap when private addresses are allowed."""
    with trap() as (port, came):
        send(f"http://{spelling}:{port}/", network=Network(deadline=0.2))
        assert came() == 1


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what would be connected to, and let nothing out of this machine."""
    tried: list[str] = []

    def refuse(_self: TimedSocket, address: str, _port: int, *, seconds: float) -> None:
        assert seconds > 0
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(TimedSocket, "connect", refuse)
    return tried


def test_a_name_that_changes_its_meaning_reaches_nothing(connected: list[str]) -> None:
    """A name is resolved once, and what is connected to is what was checked (DNS rebinding)."""
    answers = [["8.8.8.8"], ["127.0.0.1"], ["127.0.0.1"]]

    def rebinding(_host: str, _port: int) -> Sequence[str]:
        return answers.pop(0)

    send("http://rebind.example/", private=False, network=Network(rebinding))
    assert connected == ["8.8.8.8"]
    assert len(answers) == 2
    connected.clear()
    assert "allow_private" in why(send("http://rebind.example/", private=False, network=Network(rebinding)))
    assert connected == []


def test_every_address_of_a_name_is_tried(connected: list[str]) -> None:
    """When the first address does not answer, the next one is tried."""
    network = Network(lambda *_: ["2606:4700:4700::1111", "8.8.8.8"])
    assert why(send("http://hooks.example/", private=False, network=network)) == "the connection was refused"
    assert connected == ["2606:4700:4700::1111", "8.8.8.8"]


def test_the_name_is_kept_while_the_checked_address_is_connected_to(tmp_path: Path) -> None:
    """Host header, SNI and certificate go by the name, although the connection is made to an address."""
    server, trusted = certificate(tmp_path, "hooks.example")
    asked: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: asked.append(name)
    with listening(tls=server) as receiver:
        network = Network(lambda *_: ["127.0.0.1"], trusted, deadline=5)
        assert send(f"https://hooks.example:{receiver.port}/", network=network) == DeliverySucceeded()
    assert asked == ["hooks.example"]
    assert receiver.requests[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    """A trusted certificate is good for its own name only."""
    server, trusted = certificate(tmp_path, "hooks.example")
    with listening(tls=server) as receiver:
        network = Network(lambda *_: ["127.0.0.1"], trusted, deadline=5)
        assert "another host name" in why(send(f"https://other.example:{receiver.port}/", network=network))
    assert receiver.requests == []


def test_a_self_signed_certificate_is_refused(tmp_path: Path) -> None:
    """Nothing is sent to a server with an untrusted certificate."""
    server, _ = certificate(tmp_path, "hooks.example")
    with listening(tls=server) as receiver:
        network = Network(lambda *_: ["127.0.0.1"], deadline=5)
        attempt = send(f"https://hooks.example:{receiver.port}/", network=network)
        assert why(attempt) == "the server's certificate is not trusted: it is self-signed"
    assert receiver.requests == []


def test_plain_http_where_tls_was_expected_is_a_failure() -> None:
    """A server without TLS is reported in words."""
    with listening() as receiver:
        said = why(send(f"https://127.0.0.1:{receiver.port}/"))
    assert said in {
        "the TLS handshake failed",
        "the connection was closed before a response",
    }


def test_a_login_and_odd_letters_in_an_address_arrive() -> None:
    """User and password go into the usual header, and letters beyond ASCII are written as URLs write them."""
    with listening() as receiver:
        url = receiver.url.replace("//", "//me:p%40ss@").replace("/hook", "/フック?q=é&x=1%20")
        assert send(url) == DeliverySucceeded()
    (request,) = receiver.requests
    assert request.path == "/%E3%83%95%E3%83%83%E3%82%AF?q=%C3%A9&x=1%20"
    assert request.headers["authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()


@pytest.mark.parametrize("url", ["http://", "http://:80/", "http://[::1/", "http://host:99999/", "http://a..b/"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    """A URL that means nothing is a failure, not a crash."""
    assert "not valid" in why(send(url)) or "resolved" in why(send(url))


def test_failures_and_logs_hold_nothing_secret(caplog: pytest.LogCaptureFixture) -> None:
    """No URL, no secret and nothing of an answer is in errors or logs."""
    token = secrets.token_hex(8)
    with caplog.at_level(logging.DEBUG), listening(answering(500, token.encode(), X_Token=token)) as receiver:
        said = [why(send(f"{receiver.url}/{token}?token={token}", secret=token))]
    said += [why(send(f"http://{token}.invalid/", network=Network(lambda *_: [])))]
    said += [why(send(f"http://{token}.example/", private=False, network=Network(lambda *_: ["10.0.0.1"])))]
    for text in [*said, caplog.text]:
        assert token not in text
        assert "://" not in text


def test_what_is_trusted_is_what_the_system_trusts() -> None:
    """By default a certificate is required and checked against the name."""
    context = ssl.create_default_context()
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
