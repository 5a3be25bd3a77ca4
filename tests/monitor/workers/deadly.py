"""Checks that do to their worker what no check should, and sources that never answer."""

import ctypes
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NoReturn

from checks import CheckParameters, Context, Earlier, Measurement, Message, Misconfigured, Outcome, Status, Wants
from monitor.workers.messages import MOST_BYTES


def _hang_in_c(_: str) -> NoReturn:
    """Hold the interpreter for ever: no Python code runs any more, no signal handler either."""
    deque(repeat(0), maxlen=0)
    raise AssertionError


def _ignore_term(place: str) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _hang_in_c(place)


def _stop_itself(_: str) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _overflow_the_stack(_: str) -> int:
    sys.setrecursionlimit(10**8)

    def deeper(_: int) -> int:
        return max([0], key=deeper)  # through C, so that the stack of the process grows

    return deeper(0)


def _read_nowhere(_: str) -> None:
    ctypes.string_at(0)


def _leave(_: str) -> None:
    os._exit(0)


def _end_by_term(_: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _send(text: bytes) -> None:
    for descriptor in Path("/proc/self/fd").iterdir():
        number = int(descriptor.name)
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, text)
        except OSError:
            continue


def _die_amid_a_message(_: str) -> None:
    _send((1000).to_bytes(4, "big") + b"no more than this")
    os.kill(os.getpid(), signal.SIGKILL)


def _stop_amid_a_message(place: str) -> None:
    _send((1000).to_bytes(4, "big") + b"no more than this")
    _stop_itself(place)


def _send_nonsense(place: str) -> NoReturn:
    _send((8).to_bytes(4, "big") + b"nonsense")
    _hang_in_c(place)


def _send_too_much(place: str) -> NoReturn:
    _send((2**32 - 1).to_bytes(4, "big"))
    _hang_in_c(place)


def _leave_children(place: str) -> NoReturn:
    """Start a process in the worker's group and one with a group of its own, write their ids to a file, and hang."""
    sleep = [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"]
    children = [subprocess.Popen(sleep), subprocess.Popen(sleep, process_group=0)]
    Path(place).write_text(" ".join(str(child.pid) for child in (*children,)), encoding="ascii")
    _hang_in_c(place)


def _grow(_: str) -> None:
    _KEPT.append(bytearray(64 * 1024 * 1024))


def _gorge(place: str) -> NoReturn:
    """Take a gigabyte and more, and hold it."""
    for _ in range(18):
        _KEPT.append(bytearray(b"x") * (64 * 1024 * 1024))
    _hang_in_c(place)


def _print(_: str) -> None:
    sys.stdout.write("canary")
    sys.stderr.write("canary")
    sys.stdout.flush()
    os.write(2, b"canary")


def _exit(_: str) -> None:
    raise SystemExit("canary")


def _interrupt(_: str) -> None:
    raise KeyboardInterrupt


def _stumble(_: str) -> None:
    raise ZeroDivisionError("canary")


def _signals(place: str) -> None:
    """Write what the process does with signals."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    Path(place).write_text("".join(re.findall(r"Sig(?:Blk|Ign|Cgt):.*\n", status)), encoding="ascii")


def _report_itself(place: str) -> None:
    Path(place).write_text(f"{os.getpid()} {os.getsid(0)} {os.environ['TMPDIR']}", encoding="utf-8")


_KEPT: Final[list[bytearray]] = []
WAYS: Final[Mapping[str, Callable[[str], Any]]] = {
    "abort": lambda _: os.abort(),
    "stack": _overflow_the_stack,
    "segv": _read_nowhere,
    "leave": _leave,
    "term": _end_by_term,
    "half": _die_amid_a_message,
    "half-stop": _stop_amid_a_message,
    "nonsense": _send_nonsense,
    "too-much": _send_too_much,
    "hang": _hang_in_c,
    "deaf": _ignore_term,
    "stop": _stop_itself,
    "children": _leave_children,
    "grow": _grow,
    "gorge": _gorge,
    "print": _print,
    "exit": _exit,
    "interrupt": _interrupt,
    "stumble": _stumble,
    "signals": _signals,
    "itself": _report_itself,
    "nothing": lambda _: None,
}
HANGING: Final = ("hang", "deaf", "stop", "half-stop")


class Deadly(CheckParameters):
    """Counts rows, once it has done what it is there for."""

    summary: ClassVar[str] = "does what no check should"
    type: Literal["deadly"] = "deadly"
    how: str
    place: str = ""

    def wants(self, context: Context) -> Wants:
        """Do it, in the worker; one that is about to hang says so first."""
        if self.how in HANGING and self.place:
            Path(self.place).write_text(self.how, encoding="ascii")
        WAYS[self.how](self.place)
        return Wants(aggregates={"rows": context.rows})

    def judge(self, measurement: Measurement, history: object) -> Outcome:
        """Pass."""
        del measurement, history
        return Outcome(Status.PASS, Message("there are rows"))


class Odd(CheckParameters):
    """Answers with what cannot leave a worker: something that is no plain value, or too much."""

    summary: ClassVar[str] = "answers with what cannot be sent"
    type: Literal["odd"] = "odd"
    large: bool = False

    def wants(self, context: Context) -> Wants:
        """Want the count of rows, and say something odd beside it."""
        if self.large:
            raise Misconfigured("x" * (MOST_BYTES + 1))
        return Wants(aggregates={"rows": context.rows}, earlier=Earlier((socket.AF_INET,)))  # type: ignore[arg-type]

    def judge(self, measurement: Measurement, history: object) -> Outcome:
        """Pass."""
        del measurement, history
        return Outcome(Status.PASS, Message("there are rows"))


def black_hole() -> socket.socket:
    """Return a server that takes connections and never says a word."""
    server = socket.create_server(("127.0.0.1", 0))
    server.listen(64)
    return server
