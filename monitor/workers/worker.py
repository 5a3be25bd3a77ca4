"""A worker: takes jobs from a socket, looks at their tables, and tells what it found as plain values. Or calls."""

import os
import pickle
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from functools import partial
from socket import socket
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from checks import Message, Outcome, UnknownReason, unknown
from checks.gx.caller import Raised
from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target, run_explained, run_guarded
from monitor.workers.messages import (
    MOST_BYTES,
    CallAnswer,
    CallBegun,
    CallEnded,
    CallRequest,
    StatementStuck,
    TableAnswer,
    TableProgress,
    TableStarted,
    Word,
    WorkerReady,
    framed,
    pack,
    read_frame,
)
from monitor.workers.process_control import memory_of
from sources import reporting_stuck

if TYPE_CHECKING:
    from monitor.scan.scanner import Plans
    from monitor.scan.table_plan import TablePlan
    from monitor.scan.unchanged import Known

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
    known: Known = {}
    with reporting_stuck(lambda limit: _send_message(pipe, StatementStuck(limit))):
        while (frame := read_frame(pipe)) is not None:
            request = pickle.loads(frame)  # noqa: S301 - from our own daemon
            del frame
            if isinstance(request, CallRequest):
                _send(pipe, run_explained(partial(_answer, request), _raised))
            else:
                targets, kept = request
                _work(pipe, targets, _unpack_plans(targets, kept), known)
            del request
            _send_message(pipe, WorkerReady(memory_of(os.getpid()) - before))


def _answer(request: CallRequest) -> bytes:
    return pack(CallAnswer(pickle.dumps(request.function(*request.arguments), protocol=5)))


def _raised(error: BaseException) -> bytes:
    return pack(CallAnswer(pickle.dumps(Raised.of(error))))


@dataclass(frozen=True, slots=True)
class _CallsHere:
    """Calls Great Expectations in this process; the pool, which knows when that began, ends it at its deadline."""

    pipe: socket

    def call(
        self, function: Callable[..., Any], *arguments: Any, deadline: timedelta, check_id: str | None = None
    ) -> Any:
        """Return what the function returns, or `Raised`."""
        _send_message(self.pipe, CallBegun(check_id, deadline))
        answer = run_explained(lambda: function(*arguments), Raised.of)
        _send_message(self.pipe, CallEnded())
        return answer


def _work(pipe: socket, targets: tuple[Target, ...], plans: "Plans", known: "Known") -> None:
    from monitor.scan.scanner import scan_source  # calls need no engine

    sent = dict(plans)
    begun = iter(range(len(targets)))
    with closing(
        scan_source(
            targets,
            clock=SystemClock(),
            plans=plans,
            caller=_CallsHere(pipe),
            known=known,
            on_begin=lambda _: _send_message(pipe, TableStarted(next(begun))),
        )
    ) as result:
        for place, table_result in enumerate(result):
            name = table_result.target.subject.name
            answers = tuple(
                TableAnswer(check_measurement.answer, check_measurement.duration_s, check_measurement.earlier)
                for check_measurement in table_result.measured
            )
            plan = _plan_news(sent.get(name), plans.get(name))
            read = None if table_result.cost is None else astuple(table_result.cost.volume)
            progress = TableProgress(
                place, table_result.started_at, table_result.ended_at, answers, plan, table_result.answer, read
            )
            _send_progress(pipe, progress)


def _send_message(pipe: socket, word: Word) -> None:
    _send(pipe, pack(word))


def _send(pipe: socket, packed: bytes) -> None:
    with _SENDING:
        pipe.sendall(framed(packed))


def _send_progress(pipe: socket, table_progress: TableProgress) -> None:
    packed = run_guarded(lambda: pack(table_progress))
    if isinstance(packed, Outcome):
        most = _ROOM // max(1, len(table_progress.answers))
        packed = pack(
            replace(
                table_progress, plan=None, answers=tuple(_portable(answer, most) for answer in table_progress.answers)
            )
        )
    _send(pipe, packed)


def _portable(answer: TableAnswer, most: int) -> TableAnswer:
    unfit = isinstance(run_guarded(lambda: pack(answer, most=most)), Outcome)
    return TableAnswer(_UNPORTABLE, answer.duration_s, None) if unfit else answer


def _plan_news(sent: "tuple[Subject, TablePlan] | None", now: "tuple[Subject, TablePlan] | None") -> bytes | None:
    if now is sent:
        return None
    return b"" if now is None else zlib.compress(pickle.dumps(replace(now[1], subject=_NOBODY), protocol=5), 1)


def _unpack_plans(targets: tuple[Target, ...], kept: tuple[bytes | None, ...]) -> "Plans":
    plans: Plans = {}
    for target, packed in zip(targets, kept, strict=True):
        if packed is not None:
            plan = pickle.loads(zlib.decompress(packed))  # noqa: S301 - another worker's, by way of our own daemon
            plans[target.subject.name] = (target.subject, replace(plan, subject=target.subject))
    return plans
