"""Worker processes: made by a forkserver, ended on request, killed after a time-out, waited for when they end.

When no worker can be made (no process, no memory), or the forkserver ends, it is tried again later and later, up to
every half minute; nothing raises.
"""

import selectors
import signal
from collections.abc import Callable, Iterator, Sequence
from socket import socket
from typing import Final

from monitor.workers.process_control import kill_session, signal_group
from monitor.workers.spawner import News, Ready, Spawner, WorkerEnded, WorkerNotStarted, WorkerStarted, how
from monitor.workers.worker_state import Phase, WorkerState

_MERCY_S: Final = 2.0
"""From the request to end until it is killed."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_READY_WITHIN_S: Final = 120.0
_LISTEN: Final = selectors.EVENT_READ


class WorkerProcesses:
    """All workers. `time` is the pool's own clock, in seconds."""

    def __init__(self, time: Callable[[], float], bell: socket, preload: Sequence[str]) -> None:
        """Start the forkserver, which imports `preload`; what comes through `bell` ends a wait."""
        self.members: dict[int, WorkerState] = {}
        self.trouble: str | None = None
        """Why no worker can be made at present, in our words."""
        self.rang = False
        self._time = time
        self._bell = bell
        self._preload = preload
        self._selector = selectors.DefaultSelector()
        self._selector.register(bell, _LISTEN)
        self._spawner: Spawner | None = None
        self._asked_at: float | None = None
        self._last_number = 0
        self._failures = 0
        self._try_at = 0.0
        self._start()

    def hire(self) -> bool:
        """Ask for another worker; say whether one is on its way."""
        spawner = None if self._time() < self._try_at else self._spawner or self._start()
        if spawner is None:
            return False
        self._last_number += 1
        try:
            channel = spawner.fork(self._last_number)
        except OSError as error:
            self._failed(f"no worker can be started ({type(error).__name__})")
            return False
        member = self.members[self._last_number] = WorkerState(self._last_number, channel)
        self._listen(member)
        return True

    def send(self, member: WorkerState, payload: bytes) -> None:
        """Send to a worker what goes at once, the rest as it takes it."""
        member.channel.send(payload)
        self._listen(member)

    def wait(self, seconds: float) -> Sequence[WorkerState]:
        """Wait until a worker has said something, at most for some seconds; give those that have."""
        self.rang = False
        heard = []
        for key, happened in self._selector.select(seconds):
            member = self.members.get(key.data) if isinstance(key.data, int) else None
            if key.fileobj is self._bell:
                self.rang = True
            elif member is not None:
                if happened & selectors.EVENT_WRITE:
                    member.channel.flush()
                    self._listen(member)
                if happened & selectors.EVENT_READ:
                    heard.append(member)
        return heard

    def receive(self, member: WorkerState) -> Iterator[bytes]:
        """Yield what a worker has said since.

        Raises:
            Unportable: it is no message.
        """
        try:
            yield from member.channel.receive()
        finally:
            self._listen(member)

    def news(self) -> Iterator[tuple[WorkerState, str, bool]]:
        """Read the forkserver's messages; return the workers that ended, how, and whether by their own fault.

        The caller reads the last messages of each before it asks for the next.
        """
        if self._spawner is None:
            return
        for news in self._spawner.news():
            yield from self._take(news)
        if self._spawner.lost:
            yield from self._lose("the process that forks the workers ended")
        elif self._asked_at is not None and self._time() - self._asked_at > _READY_WITHIN_S:
            yield from self._lose("the process that forks the workers is not ready in time")

    def retire(self, member: WorkerState) -> None:
        """Let an idle worker end."""
        member.asked_to_end = True
        self._end(member)
        member.channel.hang_up()

    def stop(self, member: WorkerState) -> None:
        """End a worker amid what it does, and what it started."""
        member.asked_to_end = True
        self._end(member)
        if member.pid is not None:
            signal_group(member.pid, signal.SIGTERM)

    def kill(self, member: WorkerState) -> None:
        """End a worker at once, and what it started."""
        member.asked_to_end = True
        self._end(member)
        if member.pid is not None:
            kill_session(member.pid)

    @property
    def processes(self) -> Sequence[int]:
        """Return the process ids: the forkserver's first, then the workers'."""
        ours = [] if self._spawner is None else [self._spawner.pid]
        return [*ours, *(member.pid for member in self.members.values() if member.pid is not None)]

    def kill_unresponsive(self) -> None:
        """Kill the workers that were asked to end and have not."""
        for member in self.members.values():
            if member.kill_at is not None and self._time() >= member.kill_at and member.pid is not None:
                kill_session(member.pid)
                member.kill_at = self._time() + _MERCY_S

    def worked(self) -> None:
        """Hear that a worker did its work: the next failure is the first again."""
        self._failures, self.trouble = 0, None

    def next_alarm(self) -> float | None:
        """Return when something is to be done though nothing is heard."""
        alarms = [member.kill_at for member in self.members.values() if member.kill_at is not None]
        return min([*alarms, *([self._try_at] if self._try_at > self._time() else [])], default=None)

    def close(self) -> None:
        """Kill all workers and end the forkserver."""
        for member in list(self.members.values()):
            if member.pid is not None:
                kill_session(member.pid)
            self._forget(member)
        if self._spawner is not None:
            self._selector.unregister(self._spawner)
            self._spawner.close(within_s=_MERCY_S)
            self._spawner = None
        self._selector.close()

    def _start(self) -> Spawner | None:
        try:
            self._spawner = Spawner(self._preload)
        except OSError as error:
            self._failed(f"the process that forks the workers cannot be started ({type(error).__name__})")
            return None
        self._selector.register(self._spawner, _LISTEN)
        self._asked_at = self._time()
        return self._spawner

    def _take(self, news: News) -> Iterator[tuple[WorkerState, str, bool]]:
        match news:
            case Ready():
                self._asked_at = None
            case WorkerStarted(number, pid):
                member = self.members[number]
                member.pid = pid
                if member.phase is Phase.STARTING:
                    member.phase = Phase.IDLE
                elif member.asked_to_end:
                    signal_group(pid, signal.SIGTERM)
            case WorkerNotStarted(number, why):
                self._failed(f"no worker can be started ({why})")
                self._forget(self.members[number])
            case WorkerEnded(number, status):
                yield from self._gone(self.members[number], status)

    def _gone(self, member: WorkerState, status: int) -> Iterator[tuple[WorkerState, str, bool]]:
        if not member.asked_to_end and not member.runs and not member.holds_job:
            self._failed(f"a worker ended before its first job ({how(status)})")
        yield member, how(status), -status not in {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
        if self._spawner is not None and member.pid is not None:
            self._spawner.bury(member.pid)
        self._forget(member)

    def _lose(self, why: str) -> Iterator[tuple[WorkerState, str, bool]]:
        lost = self._spawner
        if lost is None:
            return
        self._selector.unregister(lost)
        self._spawner = self._asked_at = None
        for member in list(self.members.values()):
            if member.pid is not None:
                kill_session(member.pid)  # the kernel kills the workers, not what they started
            yield member, why, False
            self._forget(member)
        self._failed(f"{why} ({lost.close(within_s=0.5)})")

    def _end(self, member: WorkerState) -> None:
        member.phase = Phase.ENDING
        member.kill_at = self._time() + _MERCY_S

    def _failed(self, why: str) -> None:
        pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**self._failures)
        self._failures += 1
        self._try_at = self._time() + pause
        self.trouble = why

    def _forget(self, member: WorkerState) -> None:
        member.channel.ended = True
        self._listen(member)
        member.channel.close()
        del self.members[member.number]

    def _listen(self, member: WorkerState) -> None:
        """Ask to hear of a worker what matters now: what it says, and when it takes more."""
        sending = selectors.EVENT_WRITE if member.channel.waits_to_send else 0
        wanted = 0 if member.channel.ended else _LISTEN | sending
        if wanted == member.listens_for:
            return
        if not member.listens_for:
            self._selector.register(member.channel, wanted, member.number)
        elif wanted:
            self._selector.modify(member.channel, wanted, member.number)
        else:
            self._selector.unregister(member.channel)
        member.listens_for = wanted
