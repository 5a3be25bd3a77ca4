"""Models of pages are shared by readers for some seconds; who changed something is shown the change."""

import asyncio
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from monitor.web.model_cache import Make, ModelCache
from tests.tiers import examples


class Number(BaseModel):
    """A model."""

    value: int


class Source:
    """Makes a new model each time, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._numbers = count(1)

    def cache(self, fresh_s: float = 2.0, old_s: float = 10.0) -> ModelCache:
        """Return an empty cache by this clock."""
        return ModelCache(lambda: self.now, fresh_s, old_s)

    async def make(self) -> Number:
        """Return the next model."""
        return Number(value=next(self._numbers))

    def held(self, release: asyncio.Event) -> Make:
        """Return what makes the next model once it is released."""

        async def make() -> Number:
            await release.wait()
            return await self.make()

        return make


async def _value(cache: ModelCache, make: Make, key: str = "page", reader: str = "") -> int:
    model = await cache.get(key, make, reader)
    assert isinstance(model, Number)
    return model.value


def test_a_model_is_fresh_then_old_then_made_again() -> None:
    """For two seconds it is the same; up to ten it is shown while the next one is made; then a reader waits for it."""

    async def read() -> None:
        source = Source()
        cache = source.cache()
        assert [await _value(cache, source.make), await _value(cache, source.make)] == [1, 1]
        assert await _value(cache, source.make, "other") == 2
        source.now = 1.99
        assert await _value(cache, source.make) == 1
        source.now = 9.0
        assert [await _value(cache, source.make) for _ in range(3)] == [1, 1, 1]
        await asyncio.sleep(0)
        assert [await _value(cache, source.make) for _ in range(3)] == [3, 3, 3]
        source.now = 19.0
        assert await _value(cache, source.make) == 4

    asyncio.run(read())


def test_a_failure_in_the_background_is_raised_to_a_reader_who_waits() -> None:
    """An old model is shown as long as it may be; then the failure is."""

    async def fail() -> Number:
        raise OSError("the store is gone")

    async def read() -> None:
        source = Source()
        cache = source.cache()
        assert await _value(cache, source.make) == 1
        source.now = 5.0
        assert await _value(cache, fail) == 1
        await asyncio.sleep(0)
        source.now = 11.0
        with pytest.raises(OSError, match="gone"):
            await cache.get("page", fail)
        assert await _value(cache, source.make) == 2

    asyncio.run(read())


def test_a_reader_is_shown_what_they_changed_and_costs_the_others_nothing() -> None:
    """A model that was begun before a change is shown to others only, also one that is still being made."""

    async def read() -> None:
        source, release = Source(), asyncio.Event()
        cache = source.cache()
        early = asyncio.create_task(_value(cache, source.held(release), reader="bob"))
        await asyncio.sleep(0)
        cache.change("mia")
        late = asyncio.create_task(_value(cache, source.make, reader="mia"))
        await asyncio.sleep(0)
        release.set()
        assert (await early, await late) == (1, 2)
        for _ in range(5):
            cache.change("mia")
            assert await _value(cache, source.make, reader="bob") == 2
        assert await _value(cache, source.make, reader="mia") == 3
        assert await _value(cache, source.make, reader="bob") == 3
        cache.change()
        assert await _value(cache, source.make, reader="bob") == 4

    asyncio.run(read())


@given(st.lists(st.tuples(st.sampled_from(["read", "change"]), st.integers(0, 400)), max_size=60))
@settings(max_examples=examples(200))
def test_no_reader_is_shown_a_model_older_than_their_change(steps: list[tuple[str, int]]) -> None:
    """Whatever the order of changes and readings, and however many readers there are."""

    async def read() -> None:
        cache, state, changed = Source().cache(), [0], dict[str, int]()

        async def make() -> Number:
            return Number(value=state[0])

        for step, reader in steps:
            if step == "change":
                state[0] += 1
                cache.change(str(reader))
                changed[str(reader)] = state[0]
            else:
                assert await _value(cache, make, reader=str(reader)) >= changed.get(str(reader), 0)

    asyncio.run(read())


def test_many_readers_at_once_get_one_model() -> None:
    """It is made once."""

    async def read() -> None:
        source, release = Source(), asyncio.Event()
        cache = source.cache()
        readers = [asyncio.create_task(_value(cache, source.held(release), reader=str(at))) for at in range(64)]
        await asyncio.sleep(0)
        release.set()
        assert set(await asyncio.gather(*readers)) == {1}

    asyncio.run(read())


def test_it_does_not_grow_and_may_keep_nothing() -> None:
    """The oldest of more than 256 is evicted; without a time nothing is kept."""

    async def read() -> None:
        source = Source()
        cache = source.cache()
        values = [await _value(cache, source.make, str(number)) for number in range(300)]
        assert await _value(cache, source.make, "299") == values[-1]
        assert await _value(cache, source.make, "0") == 301
        none = source.cache(0.0, 0.0)
        assert await _value(none, source.make) != await _value(none, source.make)

    asyncio.run(read())
