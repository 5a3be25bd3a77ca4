"""Changes of incidents reach those who follow, once and in order, whatever they have missed."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from monitor.web import change_feed
from monitor.web.change_feed import ChangeBatch, ChangeFeed, FeedTiming
from store import StoreUnavailable
from tests.monitor.web.site import Site

AT_ONCE = FeedTiming(read_s=0.0)


def _last(site: Site) -> int:
    with site.store.reading() as tx:
        return tx.incidents.last_change()


def _follow(site: Site, steps: Callable[[ChangeFeed, Any], Awaitable[None]], after: int | None, **known: Any) -> None:
    """Run steps with a feed and the batches after a number."""
    feed = ChangeFeed(site.store, known.pop("on_change", lambda: None), known.pop("timing", AT_ONCE))

    async def run() -> None:
        with feed.following():
            await steps(feed, feed.batches(after))
        assert feed.followers == 0

    asyncio.run(run())


async def _next(batches: Any) -> ChangeBatch:
    """Return the next batch; signs of life are passed over."""
    batch = await anext(batches)
    return await _next(batches) if batch is None else batch


def test_a_stream_hears_of_what_happens_while_it_is_open(site: Site) -> None:
    """First its place, then each change with its incident, table and kind; pages are forgotten before."""
    site.incident()
    heard: list[str] = []

    async def steps(_: ChangeFeed, batches: Any) -> None:
        first = await _next(batches)
        assert (first.last, first.changes) == (_last(site), ())
        heard.clear()
        number = await asyncio.to_thread(site.incident, "more", table="refunds")
        batch = await _next(batches)
        assert [(change.incident_id, change.table, change.kind) for change in batch.changes] == [
            (number, "refunds", "opened")
        ]
        assert batch.last == _last(site)
        assert heard == ["forgotten"]

    _follow(site, steps, None, on_change=lambda: heard.append("forgotten"))


def test_what_was_missed_comes_first(site: Site) -> None:
    """All that came after the number of the page or of the last event."""
    site.incident()
    seen = _last(site)
    numbers = [site.incident(title) for title in ("b", "c")]

    async def steps(_: ChangeFeed, batches: Any) -> None:
        batch = await _next(batches)
        assert batch.is_complete
        assert [change.incident_id for change in batch.changes] == numbers

    _follow(site, steps, seen)


@pytest.mark.parametrize("after", [0, 10_000])
def test_who_missed_more_than_is_kept_is_told_so(site: Site, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Also who knows of changes that the store does not have: it was restored from a backup."""
    monkeypatch.setattr(change_feed, "_MOST_KEPT", 2)
    for title in "abcd":
        site.incident(title)

    async def steps(_: ChangeFeed, batches: Any) -> None:
        batch = await _next(batches)
        assert (batch.last, batch.is_complete, batch.changes) == (_last(site), False, ())

    _follow(site, steps, after)


def test_an_empty_store_is_followed(site: Site) -> None:
    """The first incident of all is heard of."""

    async def steps(_: ChangeFeed, batches: Any) -> None:
        await asyncio.to_thread(site.incident)
        assert (await _next(batches)).changes[0].kind == "opened"

    _follow(site, steps, 0)


def test_a_silent_stream_shows_that_it_is_alive_and_ends(site: Site) -> None:
    """A sign of life, and an end after its time; when the process stops it ends at once."""
    site.incident()

    async def alive(feed: ChangeFeed, batches: Any) -> None:
        await _next(batches)
        assert await anext(batches) is None
        feed.stop()
        assert [batch async for batch in batches] == []

    _follow(site, alive, None, timing=FeedTiming(alive_s=0.0))

    async def over(_: ChangeFeed, batches: Any) -> None:
        assert [batch.last async for batch in batches] == [_last(site)]

    _follow(site, over, None, timing=FeedTiming(stream_s=0.0))


def test_a_stop_wakes_who_waits(site: Site) -> None:
    """It does not wait for the next sign of life."""

    async def steps(feed: ChangeFeed, batches: Any) -> None:
        waiting = asyncio.create_task(anext(batches, None))
        await asyncio.sleep(0)
        feed.stop()
        assert await waiting is None

    _follow(site, steps, 0, timing=FeedTiming(alive_s=1e6, stream_s=1e6))


def test_many_streams_read_the_store_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reader for all, which ends with the last of them and starts again with the next."""
    site.incident()
    reads: list[None] = []
    original = ChangeFeed._read
    monkeypatch.setattr(ChangeFeed, "_read", lambda feed: (reads.append(None), original(feed))[1])
    feed = ChangeFeed(site.store, lambda: None, FeedTiming(read_s=1e6))

    async def follow() -> ChangeBatch:
        with feed.following():
            return await _next(feed.batches(0))

    async def run() -> None:
        batches = await asyncio.gather(*(follow() for _ in range(50)))
        assert {batch.last for batch in batches} == {_last(site)}
        assert len(reads) == 1
        await follow()
        assert len(reads) == 2

    asyncio.run(run())


def test_a_store_that_cannot_be_read_for_a_while_ends_no_stream(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and what happened meanwhile comes later."""
    failures = iter(range(3))
    original = ChangeFeed._read

    def read(feed: ChangeFeed) -> Any:
        if next(failures, None) is not None:
            raise StoreUnavailable("the store is busy")
        return original(feed)

    monkeypatch.setattr(ChangeFeed, "_read", read)
    number = site.incident()

    async def steps(_: ChangeFeed, batches: Any) -> None:
        assert [change.incident_id for change in (await _next(batches)).changes] == [number]

    _follow(site, steps, 0)
    assert [record.message for record in caplog.records].count(
        "changes of incidents cannot be read now: the store is busy"
    ) == 1


class TestStream:
    """`GET /api/v1/events`."""

    def test_each_change_is_an_event(self, site: Site) -> None:
        """Its id is what to send as `Last-Event-ID`; titles are not in it."""
        client = site.signed_in()
        after = client.get("/api/v1/overview").json()["last_change"]
        number = site.incident("a secret title")
        done = client.get(f"/api/v1/events?after={after}")
        assert done.headers["content-type"].startswith("text/event-stream")
        retry, event, end = done.text.split("\n\n")
        assert (retry, end) == ("retry: 2000", "")
        kind, identity, data = event.split("\n")
        assert (kind, identity) == ("event: change", f"id: {_last(site)}")
        assert json.loads(data.removeprefix("data: ")) == {"incident": number, "table": "orders", "kind": "opened"}

    def test_the_last_event_counts_before_the_address(self, site: Site) -> None:
        """A browser that reconnects repeats the address of its first request."""
        site.incident()
        done = site.signed_in().get("/api/v1/events?after=0", headers={"last-event-id": str(_last(site))})
        assert done.text == "retry: 2000\n\n"

    def test_who_missed_too_much_is_sent_a_reset(self, site: Site) -> None:
        """With the number from which on to follow."""
        site.incident()
        done = site.signed_in().get("/api/v1/events?after=9999")
        assert done.text.endswith(f"event: reset\nid: {_last(site)}\ndata: {{}}\n\n")

    @pytest.mark.parametrize("number", ["-1", "half", "9" * 30])
    def test_what_is_no_number_is_refused(self, site: Site, number: str) -> None:
        """In the address and in the header; it is not repeated."""
        client = site.signed_in()
        for done in (
            client.get(f"/api/v1/events?after={number}"),
            client.get("/api/v1/events", headers={"last-event-id": number}),
        ):
            assert done.status_code == 422
            assert number not in done.json()["detail"]
