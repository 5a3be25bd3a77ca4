"""What is asked for at once is bounded by what it costs, and what one client asks for leaves places for others."""

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import Any

import pytest

from monitor.verbs import account_secrets
from monitor.web import reports
from monitor.web.problems import WebError
from monitor.web.rate_limit import Gate
from monitor.web.views import downtime
from store import WebRole
from tests.monitor.web.site import Site

FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


@pytest.fixture
def web_section() -> str:
    """Return a section with passwords."""
    return "\nweb: {passwords: true}\n"


def _ask(host: str, method: str, path: str, body: str = "", **headers: str) -> tuple[int, bool]:
    """Return the status of an answer, and whether it says when to try again."""
    connection = http.client.HTTPConnection(host)
    connection.request(method, path, body, {**FORM, **headers})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, "retry-after" in answer.headers


class Hold:
    """Holds calls of a function until they are released; `calls` of them have begun."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.calls = threading.Semaphore(0)
        self._function = function
        self._released = threading.Event()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Wait until released, then call the function."""
        self.calls.release()
        assert self._released.wait(60)
        return self._function(*args, **named)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold calls for the block."""
        try:
            yield
        finally:
            self._released.set()


def _first(futures: list["Future[tuple[int, bool]]"], count: int) -> Counter[tuple[int, bool]]:
    """Return the answers of those that come first; the others have no answer yet."""
    answers = Counter(future.result() for future in islice(as_completed(futures, 60), count))
    assert sum(future.done() for future in futures) == count
    return answers


def test_wrong_passwords_at_once_leave_every_page_its_threads(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a hash is computed eight sign-ins wait, the others get a Retry-After, and pages are answered."""
    hold = Hold(account_secrets._HASHER.verify)
    monkeypatch.setattr(account_secrets, "_HASHER", type("Hasher", (), {"verify": hold}))
    cookie = site.cookie()
    with site.served() as host, ThreadPoolExecutor(60) as pool, hold.held():
        bodies = [f"name=guest{number}&password=wrong" for number in range(60)]
        futures = [pool.submit(_ask, host, "POST", "/sign-in", body) for body in bodies]
        assert _first(futures, 51) == {(503, True): 51}
        assert hold.calls.acquire(timeout=60)
        assert not hold.calls.acquire(blocking=False)
        for path in ("/healthz", "/readyz", "/", "/downtime", "/incidents", "/reports/2026-W46"):
            assert _ask(host, "GET", path, cookie=cookie) == (200, False), path
        hold._released.set()
        assert Counter(future.result() for future in futures)[401, False] == 9


@pytest.mark.parametrize(
    ("module", "name", "path"),
    [(downtime, "midnight", "/downtime?noticed_within={}"), (reports, "gather", "/reports/2026-W{}")],
)
def test_a_viewer_who_asks_for_large_pages_leaves_the_others_theirs(
    site: Site, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, path: str
) -> None:
    """Of sixty large pages at once one is computed and three wait; those of another user wait and come through."""
    hold = Hold(getattr(module, name))
    monkeypatch.setattr(module, name, hold)
    viewer, other = site.cookie(WebRole.VIEWER, name="eve"), site.cookie()
    with site.served() as host, ThreadPoolExecutor(61) as pool, hold.held():
        futures = [pool.submit(_ask, host, "GET", path.format(at % 30 + 10), cookie=viewer) for at in range(60)]
        assert _first(futures, 56) == {(429, True): 56}
        for page in ("/healthz", "/", "/incidents", "/tables", "/metrics"):
            assert _ask(host, "GET", page, cookie=viewer) == (200, False), page
        waiting = pool.submit(_ask, host, "GET", path.format(10), cookie=other)
        hold._released.set()
        assert waiting.result() == (200, False)
        assert Counter(future.result() for future in futures) == {(200, False): 4, (429, True): 56}


def test_changes_that_wait_for_the_store_leave_pages_their_threads(site: Site) -> None:
    """While another process writes, sixty changes wait; each is done afterwards, and pages are answered meanwhile."""
    cookie, number = site.cookie(), site.incident()
    with site.served() as host, ThreadPoolExecutor(60) as pool, site.store.writing():
        path = f"/incidents/{number}/comment"
        futures = [pool.submit(_ask, host, "POST", path, f"text=looked+{at}", cookie=cookie) for at in range(60)]
        for page in ("/healthz", "/", "/incidents", f"/incidents/{number}", "/tables"):
            assert _ask(host, "GET", page, cookie=cookie) == (200, False), page
        assert not any(future.done() for future in futures)
    assert Counter(future.result() for future in futures) == {(303, False): 60}


def test_a_gate_that_is_full_refuses_until_a_place_is_free_again() -> None:
    """One client has its places, all together have theirs; clients that are not distinguished share them."""

    def take(places: ExitStack, *clients: str | None) -> Iterator[int]:
        for client in clients:
            try:
                places.enter_context(gate.place(client))
                yield 200
            except WebError as error:
                yield error.status

    gate = Gate("pages", at_once=2, waiting=3, each=2)
    for _ in range(2):
        with suppress(OSError), ExitStack() as places:
            assert [*take(places, *["ann"] * 3, *["bob"] * 3)] == [200, 200, 429, 200, 200, 429]
            assert [*take(places, "mia", "mia", None)] == [200, 503, 503]
            raise OSError("the client is gone")
    with ExitStack() as places:
        assert [*take(places, *[None] * 6)] == [200] * 5 + [503]
