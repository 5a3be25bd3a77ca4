"""The other end of a webhook: real servers on the loopback, in threads, that answer by a script."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Request:
    """What arrived; the names of headers in small letters."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]


class Handler(http.server.BaseHTTPRequestHandler):
    """Reads a request, notes it, and does what the script says."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body, self.command)
        with self.server.lock:
            self.server.receiver.requests.append(request)
        self.server.receiver.script(self, request)
        self.close_connection = True

    do_GET = do_PATCH = do_POST  # noqa: N815 - http.server's name

    def log_message(self, *_: object) -> None:
        """Report nothing on stderr."""

    def say(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """End the connection with a RST instead of an answer."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def drip(self, text: bytes, *, every: float) -> None:
        """Send an answer byte by byte, until resolved or the client is gone."""
        for byte in text:
            if self.server.receiver.over.wait(every):
                return
            self.wfile.write(bytes([byte]))


class Server(http.server.ThreadingHTTPServer):
    """Knows whose it is, and which clients it has not done with; a client that goes away is no error."""

    daemon_threads = True
    receiver: "Receiver"
    lock: threading.Lock

    def __init__(self, *args):
        super().__init__(*args)
        self._changed = threading.Condition()
        self._in_work: set[tuple[str, int]] = set()
        self._done: set[tuple[str, int]] = set()

    def process_request(self, request, client_address):
        with self._changed:
            self._in_work.add(client_address)
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        super().process_request_thread(request, client_address)
        with self._changed:
            self._in_work.remove(client_address)
            self._done.add(client_address)
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until everything is done that clients have sent, also those that died since."""
        with socket.socket() as last:
            last.bind(("127.0.0.1", 0))
            name = last.getsockname()
            with self._changed:
                self._done.discard(name)
            last.connect(self.server_address)  # connections are accepted in their order
        with self._changed:
            assert self._changed.wait_for(lambda: name in self._done and not self._in_work, timeout=120)

    def handle_error(self, *_: object) -> None:
        """Report nothing on stderr."""


def answering(status: int, body: bytes = b"", **headers: str) -> Callable[[Handler, Request], None]:
    """Return a script that always answers the same."""
    return lambda handler, _: handler.say(status, body, **headers)


@dataclass
class Receiver:
    """A server, what it does with a request, and what it has received so far."""

    script: Callable[[Handler, Request], None] = field(default_factory=lambda: answering(204))
    requests: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    drain: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextlib.contextmanager
def listening(
    script: Callable[[Handler, Request], None] | None = None, *, tls: ssl.SSLContext | None = None
) -> Iterator[Receiver]:
    """Run a server on the loopback."""
    receiver = Receiver() if script is None else Receiver(script)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.receiver, server.lock = receiver, threading.Lock()
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        receiver.port = server.server_address[1]
        receiver.drain = server.drain
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.over.set()
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def trap() -> Iterator[tuple[int, Callable[[], int]]]:
    """Listen on the loopback, IPv4 and where there is one IPv6; give the port and how to count who came."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        port = first.getsockname()[1]
        listeners = [first]
        with contextlib.suppress(OSError):
            listeners.append(stack.enter_context(socket.create_server(("::1", port), family=socket.AF_INET6)))

        def came() -> int:
            return sum(_accepted(listener) for listener in listeners)

        yield port, came


def _accepted(listener: socket.socket) -> int:
    listener.settimeout(0)
    count = 0
    while True:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return count
        connection.close()
        count += 1


def verified(secret: str, request: Request) -> bool:
    """Verify a signature by the specification, written down a second time and without our code.

    Standard Webhooks 1.0, "Verifying signatures": any of the signatures in the list may be the right one.
    """
    key = base64.b64decode(secret[len("whsec_") :]) if secret.startswith("whsec_") else secret.encode("utf-8")
    mac = hmac.new(key, digestmod=hashlib.sha256)
    mac.update(request.headers["webhook-id"].encode("ascii") + b".")
    mac.update(request.headers["webhook-timestamp"].encode("ascii") + b".")
    mac.update(request.body)
    listed = [one.split(",", 1) for one in request.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and base64.b64decode(given) == mac.digest() for version, given in listed)


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a self-signed certificate for a name; give a server's context, and a client's that trusts only it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))
