"""Messages between the daemon and its workers: frames of a length and a pickle, over a socket.

What a worker sends holds plain values and types of `checks` only, so the daemon never imports an engine, and
never runs what a frame names. A frame has a largest size. The daemon's end never waits: a worker that is killed, or
stopped, in the middle of a frame leaves a piece that is never read.
"""

import pickle
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from socket import SHUT_WR, socket
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import checks
from checks import Earlier, Json, Measurement, Outcome, SegmentedMeasurement
from monitor.scan.results import Target

MOST_BYTES: Final = 128 * 1024 * 1024  # four million classes with their counts
_LENGTH: Final = struct.Struct("!I")
_CHUNK: Final = 256 * 1024
_PLAIN: Final = frozenset({"builtins", "datetime", "decimal", "fractions", "ipaddress", "pytz", "uuid", "zoneinfo"})
_BUILTINS: Final = frozenset({"bytearray", "complex", "frozenset", "set"})


class Unportable(Exception):
    """A value cannot be handed to the daemon: it is no plain value, or too large."""


@dataclass(frozen=True, slots=True)
class TableStarted:
    """The worker begins a table: its place in the job."""

    place: int


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The reply for one check."""

    answer: Measurement | SegmentedMeasurement | Outcome
    duration_s: float
    earlier: Earlier | None


@dataclass(frozen=True, slots=True)
class TableProgress:
    """A table was looked at: its place in the job, when, and the answers in the order of its checks.

    `plan` is a plan that was made on the way, to be sent along the next time; empty if the sent one holds no more,
    None if there is no news. `answer`: what came back for a question. `read`: the fields of the `ReadVolume`.
    """

    place: int
    started_at: datetime
    ended_at: datetime
    answers: tuple[TableAnswer, ...]
    plan: bytes | None
    answer: Mapping[str, Json] | Outcome | None = None
    read: tuple[int | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """The worker waits for the next job. `grown` is how many bytes of memory it holds more than when it began."""

    grown: int


@dataclass(frozen=True, slots=True)
class StatementStuck:
    """A statement goes on after its limit and cannot be stopped; only ending the worker does."""

    limit: timedelta


@dataclass(frozen=True, slots=True)
class CallBegun:
    """Great Expectations is called for a check, and must answer within a limit."""

    check_id: str | None
    limit: timedelta


@dataclass(frozen=True, slots=True)
class CallEnded:
    """That call came to its end."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A function call for a worker, where it is no job."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The pickle of what came of it."""

    answer: bytes


Word: TypeAlias = TableStarted | TableProgress | WorkerReady | StatementStuck | CallBegun | CallEnded | CallAnswer


def packed_job(targets: tuple[Target, ...], kept: tuple[bytes | None, ...]) -> bytes:
    """Return a job as a worker takes it: the tables, each with the plan that was made for it earlier."""
    return pickle.dumps((targets, kept), protocol=5)


def pack(value: Any, *, most: int = MOST_BYTES) -> bytes:
    """Return a value as bytes.

    Raises:
        Unportable: it holds something that is no plain value, or is larger than `most` bytes.
    """
    packed = BytesIO()
    _PlainPickler(packed, protocol=5).dump(value)
    if packed.tell() > most:
        raise Unportable
    return packed.getvalue()


def unpack(payload: bytes | bytearray) -> Any:
    """Return the value that was packed.

    Raises:
        Unportable: it names something that is no plain value.
        Exception: of any class; the bytes are no message.
    """
    return _PlainUnpickler(BytesIO(payload)).load()


def _is_plain(module: str) -> bool:
    return module.partition(".")[0] in _PLAIN or module == __name__ or _is_of_checks(module)


def _is_of_checks(module: str) -> bool:
    return module == checks.__name__ or module.startswith(f"{checks.__name__}.")


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, ZoneInfo) and obj.key is not None:
            return ZoneInfo, (obj.key,)  # its own way names a function that finds anything by name
        named = obj if isinstance(obj, type | FunctionType | BuiltinFunctionType) else type(obj)
        if not _is_plain(named.__module__):
            raise Unportable
        return NotImplemented


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not _is_plain(module) or (module == "builtins" and name not in _BUILTINS):
            raise Unportable
        result = super().find_class(module, name)
        if _is_of_checks(module) and not isinstance(result, type):
            raise Unportable
        return result


def framed(payload: bytes) -> bytes:
    """Return a payload as it is sent."""
    return _LENGTH.pack(len(payload)) + payload


def read_frame(pipe: socket) -> bytes | None:
    """Wait for a payload; None once the other end is closed."""
    head = _read(pipe, _LENGTH.size)
    return None if head is None else _read(pipe, _LENGTH.unpack(head)[0])


def _read(pipe: socket, length: int) -> bytes | None:
    results = bytearray()
    while len(results) < length:
        try:
            piece = pipe.recv(min(_CHUNK, length - len(results)))
        except ConnectionResetError:
            piece = b""
        if not piece:
            return None
        results += piece
    return bytes(results)


class WorkerChannel:
    """The daemon's end of a worker's socket: sends and receives what goes without waiting."""

    def __init__(self, pipe: socket) -> None:
        pipe.setblocking(False)  # noqa: FBT003 - the socket's own word
        self.ended = False
        """The other end is closed, and all that came is read."""
        self._pipe = pipe
        self._coming = bytearray()
        self._going = bytearray()

    def fileno(self) -> int:
        """Return the descriptor, for a selector."""
        return self._pipe.fileno()

    @property
    def waits_to_send(self) -> bool:
        """Check whether something is left to be sent."""
        return bool(self._going) and not self.ended

    def send(self, payload: bytes) -> None:
        """Send a payload, or keep what does not go yet."""
        self._going += framed(payload)
        self.flush()

    def flush(self) -> None:
        """Send what goes."""
        while self.waits_to_send:
            try:
                sent = self._pipe.send(bytes(self._going[:_CHUNK]))
            except BlockingIOError:
                return
            except OSError:  # the worker is gone; its end is reported elsewhere
                self._going.clear()
                return
            del self._going[:sent]

    def receive(self) -> Iterator[bytes]:
        """Yield the payloads that have come whole.

        Raises:
            Unportable: a frame is larger than any may be.
        """
        while not self.ended:
            try:
                piece = self._pipe.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                piece = b""
            self.ended = not piece
            self._coming += piece
            yield from self._whole()

    def _whole(self) -> Iterator[bytes]:
        while len(self._coming) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._coming)
            if length > MOST_BYTES:
                self._coming.clear()
                raise Unportable
            end = _LENGTH.size + length
            if len(self._coming) < end:
                return
            payload = bytes(self._coming[_LENGTH.size : end])
            del self._coming[:end]
            yield payload

    def hang_up(self) -> None:
        """Report that nothing more is sent: an idle worker ends."""
        with suppress(OSError):
            self._pipe.shutdown(SHUT_WR)

    def close(self) -> None:
        """Close this end."""
        self.ended = True
        self._pipe.close()
