"""A worker: takes jobs from a socket, looks at their tables, and tells what it found as plain values."""

import os
import pickle
import zlib
from contextlib import closing
from dataclasses import replace
from socket import socket
from threading import Lock
from typing import Final

from checks import Message, Outcome, UnknownReason, unknown
from monitor.clock import SystemClock
from monitor.scan.planner import TablePlan
from monitor.scan.results import Subject, Target, run_guarded
from monitor.scan.scanner import Plans, scan_source
from monitor.workers.messages import (
    MOST_BYTES,
    Begun,
    Done,
    Stuck,
    TableAnswer,
    TableProgress,
    Word,
    framed,
    pack,
    read_frame,
)
from monitor.workers.process_control import memory_of
from sources import reporting_stuck

_SENDING: Final = Lock()
"""A statement that is stuck is reported by another thread."""
_NOBODY: Final = Subject("", "", ())
_ROOM: Final = MOST_BYTES // 2
_UNPORTABLE: Final = unknown(
    UnknownReason.BUG, Message("its result is too large or cannot be serialized; please report it")
)


def serve(pipe: socket) -> None:
    """Do jobs until the other end of the socket is closed."""
    before = memory_of(os.getpid())
    with reporting_stuck(lambda limit: _tell(pipe, Stuck(limit))):
        while (frame := read_frame(pipe)) is not None:
            targets, kept = pickle.loads(frame)  # noqa: S301 - from our own daemon
            _work(pipe, targets, _unpack_plans(targets, kept))
            _tell(pipe, Done(memory_of(os.getpid()) - before))


def _work(pipe: socket, targets: tuple[Target, ...], plans: Plans) -> None:
    sent = dict(plans)
    begun = iter(range(len(targets)))
    with closing(
        scan_source(targets, clock=SystemClock(), plans=plans, on_begin=lambda _: _tell(pipe, Begun(next(begun))))
    ) as result:
        for place, looked in enumerate(result):
            name = looked.target.subject.name
            answers = tuple(
                TableAnswer(check_measurement.answer, check_measurement.duration_s, check_measurement.earlier)
                for check_measurement in looked.measured
            )
            plan = _plan_news(sent.get(name), plans.get(name))
            _tell_seen(pipe, TableProgress(place, looked.started_at, looked.ended_at, answers, plan, looked.told))


def _tell(pipe: socket, word: Word) -> None:
    with _SENDING:
        pipe.sendall(framed(pack(word)))


def _tell_seen(pipe: socket, table_progress: TableProgress) -> None:
    packed = run_guarded(lambda: pack(table_progress))
    if isinstance(packed, Outcome):
        most = _ROOM // max(1, len(table_progress.answers))
        packed = pack(
            replace(
                table_progress, plan=None, answers=tuple(_portable(answer, most) for answer in table_progress.answers)
            )
        )
    with _SENDING:
        pipe.sendall(framed(packed))


def _portable(answer: TableAnswer, most: int) -> TableAnswer:
    unfit = isinstance(run_guarded(lambda: pack(answer, most=most)), Outcome)
    return TableAnswer(_UNPORTABLE, answer.duration_s, None) if unfit else answer


def _plan_news(sent: tuple[Subject, TablePlan] | None, now: tuple[Subject, TablePlan] | None) -> bytes | None:
    if now is sent:
        return None
    return b"" if now is None else zlib.compress(pickle.dumps(replace(now[1], subject=_NOBODY), protocol=5), 1)


def _unpack_plans(targets: tuple[Target, ...], kept: tuple[bytes | None, ...]) -> Plans:
    plans: Plans = {}
    for target, packed in zip(targets, kept, strict=True):
        if packed is not None:
            plan = pickle.loads(zlib.decompress(packed))  # noqa: S301 - another worker's, by way of our own daemon
            plans[target.subject.name] = (target.subject, replace(plan, subject=target.subject))
    return plans
