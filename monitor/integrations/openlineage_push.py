"""Send the events of stored runs to an API of OpenLineage, each at least once, oldest first.

    stored runs ──those not sent yet──> run events ──POST──> 2xx: sent · refused for good: passed over · else: later

The stored runs are the queue, so nothing is lost where the other side is away, and no check waits for it. What was sent
is remembered in memory: after a start the runs of the last day are sent again, under the same `runId`, which a consumer
takes for the same run.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from monitor.channels.addresses import Network
from monitor.channels.http_client import HttpAnswer, HttpRequest, RequestFailed, exchange, read_retry_after
from monitor.clock import Clock
from monitor.config import OpenLineage
from monitor.config.project import Project
from monitor.integrations.openlineage import run_event
from store import Result, Run, Store

SENT_AGAIN: Final = timedelta(days=1)
"""How far back runs are sent after a start."""
_LATE: Final = timedelta(minutes=5)
"""So long after its end a run may still be stored, by a daemon whose clock is behind."""
_AT_A_TIME: Final = timedelta(minutes=5)
_MOST_RUNS: Final = 100_000
"""More runs than daemons complete in `_AT_A_TIME` and `_LATE` together."""
_WAIT: Final = timedelta(minutes=1)
"""How long the other side is left alone after it did not take an event."""
_POLITE_S: Final = 5.0
_REFUSED: Final = frozenset({400, 413, 422})


class EventPush:
    """Sends the events of one daemon. `step` is called by one thread at a time."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Begin with the runs of the last day."""
        self._store, self._clock = store, clock
        self._complete_until = clock.now() - SENT_AGAIN
        self._sent: dict[str, datetime] = {}
        self._wait_until = 0.0

    def step(self, project: Project) -> Sequence[str]:
        """Send what was not sent yet; return what went wrong, in words for an operator.

        Raises:
            StoreError: the store cannot be read; what was not sent is sent the next time.
        """
        settings = project.config.openlineage
        if settings is None:
            self._complete_until = self._clock.now() - SENT_AGAIN  # where it is configured later, as after a start
            return ()
        if self._clock.monotonic() < self._wait_until:
            return ()
        problems: list[str] = []
        for runs, until in self._portions():
            for run, results in runs:
                problem, wait = _send(settings, project, run, results)
                if problem is not None:
                    problems.append(problem)
                if wait is not None:
                    self._wait_until = self._clock.monotonic() + wait.total_seconds()
                    return problems
                self._sent[run.id] = run.ended_at
            self._complete_until = until
            self._sent = {run: ended for run, ended in self._sent.items() if ended >= until - _LATE}
        return problems

    def _portions(self) -> Iterator[tuple[Sequence[tuple[Run, Sequence[Result]]], datetime]]:
        """Yield the runs that were not sent yet, a while at a time, with the end of that while."""
        now = self._clock.now()
        while self._complete_until < now:
            until = min(now, self._complete_until + _AT_A_TIME)
            with self._store.reading() as tx:
                runs = tx.results.runs_between(self._complete_until - _LATE, until, most=_MOST_RUNS)
            yield [(run, results) for run, results in runs if run.id not in self._sent], until


def _send(
    settings: OpenLineage, project: Project, run: Run, results: Sequence[Result]
) -> tuple[str | None, timedelta | None]:
    """Send the event of a run; return what went wrong, and how long to wait where it is to be sent again."""
    event = project.loaded.redactor.value(run_event(project, run, results))
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
    body = json.dumps(event, ensure_ascii=False, allow_nan=False).encode()
    try:
        network = Network(allow_private=settings.allow_private)
        answer = exchange(HttpRequest(settings.url, body, headers=headers), network, polite_s=_POLITE_S)
    except RequestFailed as error:
        return f"no event was taken: {error}; tried again in {_WAIT.seconds} s", _WAIT
    return _judged(answer, run, project.clock.now())


def _judged(answer: HttpAnswer, run: Run, now: datetime) -> tuple[str | None, timedelta | None]:
    if 200 <= answer.status < 300:
        return None, None
    if answer.status in _REFUSED:
        return f"the event of a run of {run.table} was refused with {answer.status}; it is not sent again", None
    wait = max(read_retry_after(answer.retry_after, now) or _WAIT, _WAIT)
    return f"no event was taken: the answer was {answer.status}; tried again in {wait.total_seconds():.0f} s", wait
