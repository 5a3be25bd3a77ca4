import email
import email.policy
import io
import json
import logging
import socket
import sys
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import quote

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from monitor.channels import Attachment, Attempt, DeliveryFailed, DeliverySucceeded, Mail
from monitor.channels.apprise_services import ID_HEADER, deliver, problem
from tests.monitor.alerts.receivers import answering, listening, trap

MAIL = Mail("Data downtime", "one\ntwo", "<html><body><table><tr><td>three &amp; four</td></tr></table></body></html>")


class Box:
    """Takes mail, or answers something else."""

    def __init__(self) -> None:
        self.mail: list[EmailMessage] = []
        self.answer = "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        made = email.message_from_bytes(envelope.content or b"", policy=email.policy.default)
        assert isinstance(made, EmailMessage)
        self.mail.append(made)
        return self.answer


@pytest.fixture
def box() -> Box:
    """Return a letter box."""
    return Box()


@pytest.fixture
def port(box: Box) -> Iterator[int]:
    """Yield the port of a mail server on the loopback that fills the box."""
    with socket.create_server(("127.0.0.1", 0)) as probe:  # the server wants to know its port beforehand
        free: int = probe.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=free)
    controller.start()
    try:
        yield free
    finally:
        controller.stop()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Yield what arrives at the root of all loggers, as the daemon's journal would take it."""
    text = io.StringIO()
    handler, root = logging.StreamHandler(text), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def mailto(port: int, scheme: str = "mailto") -> str:
    """Return the URL of a mail server."""
    return f"{scheme}://127.0.0.1:{port}?from=watch@example.org&to=team@example.org"


def why(attempt: Attempt) -> str:
    """Return why an attempt failed."""
    assert isinstance(attempt, DeliveryFailed)
    return attempt.why


def test_a_mail_holds_the_page_its_text_and_the_file(box: Box, port: int) -> None:
    """A mail server gets HTML with a plain text beside it, the report as a file, and the id in a header."""
    report = Attachment("tablewatch-2026-W46-ja.html", "text/html", "<p>週報 " + "x" * 100_000)
    mail = Mail(MAIL.title, MAIL.text, MAIL.html, [report])
    assert deliver(mailto(port), mail, message_id="msg_1") == DeliverySucceeded()
    (made,) = box.mail
    assert made["Subject"] == "Data downtime"
    assert made["To"] == "team@example.org"
    assert made[ID_HEADER] == "msg_1"
    page = made.get_body(("html",))
    text = made.get_body(("plain",))
    assert page is not None
    assert text is not None
    assert page.get_content().strip() == MAIL.html
    assert "three & four" in text.get_content()
    (file,) = made.iter_attachments()
    assert file.get_filename() == report.name
    assert file.get_content_type() == "text/html"
    assert file.get_payload(decode=True) == report.text.encode()


def test_a_long_page_arrives_whole(box: Box, port: int) -> None:
    """A body of ninety thousand bytes is not cut."""
    page = f"<html><body><table><tr><td>{'行 ' * 22_000}</td></tr></table></body></html>"
    assert deliver(mailto(port), Mail("t", "x", page), message_id="m") == DeliverySucceeded()
    body = box.mail[0].get_body(("html",))
    assert body is not None
    assert body.get_content().strip() == page


@pytest.mark.parametrize("title", ["a\r\nBcc: spy@example.org", "a\nb", "a\x1b[2Jb\x00c", "表\u2028x"])
def test_a_title_is_one_line(box: Box, port: int, title: str) -> None:
    """A name that holds line breaks or control characters adds no header to a mail."""
    assert deliver(mailto(port), Mail(title, "x"), message_id="m") == DeliverySucceeded()
    (made,) = box.mail
    assert made["Bcc"] is None
    assert made["To"] == "team@example.org"
    assert made["Subject"].isprintable()


def test_a_mail_that_is_not_taken_is_a_failure(box: Box, port: int) -> None:
    """A mail server that says no has not taken the message, and what it said is not repeated."""
    box.answer = "451 try later, hunter2"
    said = why(deliver(mailto(port), MAIL, message_id="m"))
    assert said == "the service could not be reached or rejected the message"


def test_a_server_that_hides_its_encryption_gets_no_mail(box: Box, port: int) -> None:
    """With mailtos:// nothing is sent in the clear, whatever the server, or a proxy, offers."""
    assert isinstance(deliver(mailto(port, "mailtos"), MAIL, message_id="m"), DeliveryFailed)
    assert box.mail == []


def test_a_chat_gets_plain_text() -> None:
    """A service that reads no pages gets the text, with what it would read as markup left as it is."""
    with listening() as hook:
        url = f"json://127.0.0.1:{hook.port}/"
        assert deliver(url, Mail("t", "<b> & *one*\ntwo", MAIL.html), message_id="msg_7") == DeliverySucceeded()
    (request,) = hook.requests
    body = json.loads(request.body)
    assert body["message"] == "<b> & *one*\ntwo"
    assert body["title"] == "t"
    assert request.headers[ID_HEADER.lower()] == "msg_7"


@pytest.mark.parametrize("status", [301, 302, 400, 404, 500])
def test_a_failure_is_told_by_its_status_only(status: int, logged: io.StringIO) -> None:
    """Neither the address, nor its token, nor the answer is reported or logged; a redirect is not followed."""
    with trap() as (elsewhere, came), listening() as hook:
        hook.script = answering(status, b"hunter2", Location=f"http://127.0.0.1:{elsewhere}/")
        url = f"json://user:p4ss@127.0.0.1:{hook.port}/t0ken"
        assert why(deliver(url, MAIL, message_id="m")) == f"the service answered {status}"
        assert came() == 0
    logging.getLogger("tests").debug("control")
    assert "control" in logged.getvalue()
    for secret in ("p4ss", "t0ken", "hunter2", str(hook.port)):
        assert secret not in logged.getvalue()
    assert len(hook.requests) == 1


def test_a_service_that_cannot_be_reached_is_a_failure() -> None:
    """Nothing listens: the error says so."""
    with trap() as (port, _):
        pass
    assert "could not be reached" in why(deliver(f"json://127.0.0.1:{port}/", MAIL, message_id="m"))


@pytest.mark.parametrize("url", ["", "nonsense", "nowhere://x", "slack://", "mailto://", "://", "json://"])
def test_a_url_that_means_nothing_is_told(url: str) -> None:
    """A channel whose URL apprise does not know fails in words, without the URL."""
    assert problem(url) is not None
    said = why(deliver(url, MAIL, message_id="m"))
    assert said == "its Apprise URL is not valid; see the list of services in the Apprise documentation"


@pytest.mark.parametrize(
    "url",
    [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template={}",
        "discord://111111111111111111/" + "a" * 64 + "?template={}",
        "tgram://123456789:abcdefg_hijklmnop/12315544/?template={}",
        "workflows://prod.example.org:443/643e69677d8b4a0b8a5b3c1d/0b1a2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3?template={}",
        "fcm://project/device/?keyfile={}",
        "vapid://ann@example.com/?keyfile={}",
        "vapid://ann@example.com/?subfile={}",
        "mailto://ann:pass@example.com?pgpprv={}",
        "mailto://ann:pass@example.com?pgppub={}",
    ],
)
@pytest.mark.parametrize("place", ["{file}", "file://{file}", "http://127.0.0.1:9/secret"])
def test_no_address_names_a_file(url: str, place: str, tmp_path: Path) -> None:
    """A file or other address, whose content would be sent or used, is refused when loaded and when sent."""
    (tmp_path / "secret").write_text("hunter2")
    address = url.format(quote(place.format(file=tmp_path / "secret"), safe=""))
    assert "names a file" in str(problem(address))
    assert "names a file" in why(deliver(address, MAIL, message_id="m"))


def test_the_usual_services_are_understood() -> None:
    """Chats, pagers and mail are known."""
    for url in (
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#data",
        "pagerduty://A1BRTD4JD@B1JJ3T3L2",
        "workflows://prod.example.org:443/643e69677d8b4a0b8a5b3c1d/0b1a2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3",
        "mailtos://user:secret@example.org?to=team@example.org",
    ):
        assert problem(url) is None, url.partition(":")[0]


def test_apprise_is_imported_by_the_first_message_only() -> None:
    """Nothing of apprise is loaded by the door itself, which the daemon imports at its start."""
    import subprocess

    loaded = "import sys, monitor.alerts.dispatch; print('apprise' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
