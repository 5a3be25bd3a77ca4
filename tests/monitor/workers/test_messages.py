"""What crosses between the processes: plain values, within bounds, and nothing else."""

import ipaddress
import os
import pickle
import socket
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
import pytz
from hypothesis import given
from hypothesis import strategies as st

from checks import Earlier, Measurement, Message, Outcome, Severity, Status, UnknownReason, Zones, unknown
from monitor.workers.messages import (
    MOST_BYTES,
    TableAnswer,
    TableProgress,
    Unportable,
    WorkerChannel,
    framed,
    pack,
    read_frame,
    unpack,
)

NOW = datetime(2026, 11, 21, 6, tzinfo=UTC)
PLAIN = [
    None, True, 1, 2**70, 1.5, "text", b"bytes", Decimal("1.50"), Fraction(1, 3), date(2026, 1, 1), time(1, 2),
    NOW, NOW.replace(tzinfo=None), NOW.astimezone(ZoneInfo("Asia/Tokyo")), NOW.astimezone(pytz.UTC),
    NOW.astimezone(pytz.timezone("Asia/Tokyo")), timedelta(1), uuid.UUID(int=7), ipaddress.ip_address("10.0.0.1"),
    [1], {"a": 1}, {1}, frozenset({1}), (1, 2), Severity.ERROR, Status.PASS,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_values_cross(value):
    """What drivers give for aggregates arrives as it was."""
    found = unpack(pack(value))
    assert found == value
    assert type(found) is type(value)


def test_what_was_found_crosses():
    """Measurements and outcomes arrive as they were."""
    measurement = Measurement(
        NOW, {"rows": 3, "sum": Decimal(1)}, {"q": [{"a": NOW}]}, {"id": "int64"}, zones=Zones("UTC")
    )
    outcome = unknown(UnknownReason.TIMEOUT, Message("no answer within {x:duration}", {"x": 3.5}), {"rows": 1})
    seen = TableProgress(
        3, NOW, NOW, (TableAnswer(measurement, 0.1, Earlier((timedelta(1),))), TableAnswer(outcome, 0.0, None)), b"plan"
    )
    assert unpack(pack(seen)) == seen


class _Wicked:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize(
    "value", [np.int64(1), pd.Timestamp(0), os.system, os.getcwd, _Wicked(), _Wicked, socket.AF_INET]
)
def test_nothing_else_crosses(value):
    """Values of engines and libraries, and what would run something, are refused where they are sent."""
    with pytest.raises(Unportable):
        pack({"a": [value]})


@pytest.mark.parametrize("value", [_Wicked(), np.int64(1), pd.Timestamp(0), os.getcwd, eval, getattr, print])
def test_nothing_else_is_taken(value):
    """Bytes that name what is no plain value are refused before it is looked up."""
    with pytest.raises(Unportable):
        unpack(pickle.dumps(value))


def test_what_is_too_large_is_refused():
    """There is a largest message."""
    with pytest.raises(Unportable):
        pack(b"x" * (MOST_BYTES + 1))
    with pytest.raises(Unportable):
        pack([1] * 100, most=50)


@pytest.fixture
def ends():
    """Return both ends of a socket, ours as the daemon holds it."""
    ours, theirs = socket.socketpair()
    channel = WorkerChannel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 400))
def test_messages_arrive_whole_however_they_are_cut(payloads, size):
    """Whatever pieces the bytes arrive in, the messages are the same."""
    ours, theirs = socket.socketpair()
    channel, found = WorkerChannel(ours), []
    stream = b"".join(framed(payload) for payload in payloads)
    for start in range(0, len(stream), size):
        theirs.sendall(stream[start : start + size])
        found += channel.receive()
    theirs.close()
    found += channel.receive()
    channel.close()
    assert found == payloads
    assert channel.ended


def test_a_piece_of_a_message_is_never_waited_for(ends):
    """A sender that stops amid a message costs the reader nothing, and its end is seen."""
    channel, theirs = ends
    theirs.sendall(framed(b"whole") + framed(b"never whole")[:7])
    assert list(channel.receive()) == [b"whole"]
    assert not channel.ended
    theirs.close()
    assert list(channel.receive()) == []
    assert channel.ended


def test_a_message_of_absurd_length_is_refused_before_it_arrives(ends):
    """A length beyond the largest is an error at once; no memory is kept for it."""
    channel, theirs = ends
    theirs.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(Unportable):
        list(channel.receive())


def test_a_reader_that_does_not_read_is_not_waited_for(ends):
    """What does not go yet is kept and sent later."""
    channel, theirs = ends
    large = os.urandom(2_000_000)
    channel.send(large)
    assert channel.waits_to_send
    found = bytearray()
    theirs.setblocking(False)  # noqa: FBT003 - the socket's own word
    while len(found) < len(large) + 4:
        found += theirs.recv(1_000_000)
        channel.flush()
    assert not channel.waits_to_send
    assert found[4:] == large


def test_sending_to_one_that_is_gone_raises_nothing(ends):
    """Its end is reported by the forkserver."""
    channel, theirs = ends
    theirs.close()
    channel.send(b"anybody?")
    channel.send(b"nobody")
    assert not channel.waits_to_send


def test_the_worker_reads_until_the_daemon_is_gone(ends):
    """A closed socket, also amid a frame, is the end of the work."""
    channel, theirs = ends
    channel.send(b"one")
    channel.send(b"")
    assert [read_frame(theirs), read_frame(theirs)] == [b"one", b""]
    channel._pipe.send(framed(b"two")[:5])
    channel.close()
    assert read_frame(theirs) is None


def test_an_outcome_with_what_cannot_cross_is_refused():
    """Nothing foreign hides within an outcome."""
    with pytest.raises(Unportable):
        pack(Outcome(Status.PASS, Message("{x}", {"x": np.float64(1)})))
