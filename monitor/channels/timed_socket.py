"""A socket with one deadline for all its operations.

A timeout of a socket starts again with every operation: a server that drips one byte every ten seconds would hold its
client for ever. Here each operation is given only what is left, by a clock that never goes back.
"""

import io
import socket
import ssl
import time
from typing import Any, Final

MOST_READ: Final = 65_536
"""The most bytes that are read of an answer, with its headers."""


class OutOfTime(TimeoutError):
    """The deadline has passed."""


class ResponseTooLong(OSError):
    """The answer is longer than the limit."""


class TimedSocket:
    """The part of a socket that `http.client` needs, over one connection with one deadline."""

    def __init__(self, seconds: float, *, most: int = MOST_READ) -> None:
        """Set the deadline, in seconds from now, and the most bytes that are read."""
        self._most = most
        self._until = time.monotonic() + seconds
        self._socket: socket.socket | None = None
        self._read = 0

    def left(self) -> float:
        """Return the remaining seconds.

        Raises:
            OutOfTime: none.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left

    def hurry(self, seconds: float) -> None:
        """Move the deadline to at most so many seconds from now."""
        self._until = min(self._until, time.monotonic() + seconds)

    def connect(self, address: str, port: int, *, seconds: float) -> None:
        """Connect to a numeric address; names are not resolved here.

        Raises:
            OSError: it does not answer within so many seconds, or within what is left.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.settimeout(min(seconds, self.left()))
            plain.connect((address, port))
        except OSError:
            plain.close()
            raise
        self._socket = plain

    def secure(self, context: ssl.SSLContext, name: str) -> None:
        """Start TLS; the certificate must be valid for the name, whatever its address.

        Raises:
            OSError: the other side does not speak TLS, or its certificate is not trusted (ssl.SSLError).
        """
        plain = self._connected
        plain.settimeout(self.left())
        self._socket = context.wrap_socket(plain, server_hostname=name)  # the handshake as a whole has the timeout

    def sendall(self, data: bytes) -> None:
        """Send everything.

        Raises:
            OSError: the connection is lost, or the deadline has passed.
        """
        rest = memoryview(data)
        while rest:
            self._connected.settimeout(self.left())
            rest = rest[self._connected.send(rest) :]

    def receive_into(self, buffer: Any) -> int:
        """Read the next bytes, up to the limit in all."""
        if self._read >= self._most:
            raise ResponseTooLong
        self._connected.settimeout(self.left())
        count = self._connected.recv_into(memoryview(buffer)[: self._most - self._read])
        self._read += count
        return count

    def makefile(self, mode: str = "rb", *_: object) -> io.BufferedReader:  # noqa: ARG002 - as http.client calls it
        """Return a reader of the answer."""
        return io.BufferedReader(_Answer(self))

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @property
    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise OSError("not connected")
        return self._socket


class _Answer(io.RawIOBase):
    def __init__(self, connection: TimedSocket) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._connection.receive_into(buffer)
