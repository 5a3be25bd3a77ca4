"""Models of pages are kept for a moment, and never beyond a change."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from pydantic import BaseModel

from monitor.web.model_cache import ModelCache


class Number(BaseModel):
    """A model."""

    value: int


class Source:
    """Makes a new model each time, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._numbers = count(1)

    def make(self) -> Number:
        """Return the next model."""
        return Number(value=next(self._numbers))


def _value(cache: ModelCache, source: Source, key: str = "page") -> int:
    model = cache.get(key, source.make)
    assert isinstance(model, Number)
    return model.value


def test_a_model_is_fresh_then_old_then_made_again() -> None:
    """For two seconds it is the same; up to ten it is shown once more while the next is made; then one waits for it."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    assert [_value(cache, source), _value(cache, source), _value(cache, source, "other")] == [1, 1, 2]
    source.now = 1.99
    assert _value(cache, source) == 1
    source.now = 9.0
    made = threading.Event()

    def make() -> Number:
        try:
            return source.make()
        finally:
            made.set()

    assert cache.get("page", make) == Number(value=1)
    assert made.wait(60)
    assert _value(cache, source, "other") == 2


def test_a_model_that_is_too_old_is_not_shown() -> None:
    """Whoever asks waits for a new one."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    assert _value(cache, source) == 1
    source.now = 10.0
    assert _value(cache, source) == 2


def test_what_fails_in_the_background_is_raised_where_somebody_waits() -> None:
    """An old model is shown as long as it may be; then the failure is."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    tried = threading.Event()

    def fail() -> Number:
        tried.set()
        raise OSError("the store is gone")

    assert _value(cache, source) == 1
    source.now = 5.0
    assert cache.get("page", fail) == Number(value=1)
    assert tried.wait(60)
    source.now = 11.0
    with pytest.raises(OSError, match="gone"):
        cache.get("page", fail)
    assert _value(cache, source) == 2


def test_a_change_forgets_everything_also_what_is_being_made() -> None:
    """A model that was begun before a change is not given to those who ask after it."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    begun, changed = threading.Event(), threading.Event()

    def slow() -> Number:
        begun.set()
        changed.wait(60)
        return source.make()

    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(cache.get, "page", slow)
        begun.wait(60)
        cache.clear()
        assert _value(cache, source) == 1
        changed.set()
        assert early.result(60) == Number(value=2)
    assert _value(cache, source) == 1


def test_many_who_ask_at_once_get_one_model() -> None:
    """It is made once."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: _value(cache, source), range(64))) == {1}


def test_it_does_not_grow_and_may_keep_nothing() -> None:
    """The oldest of more than 256 is forgotten; without a time nothing is kept."""
    source = Source()
    cache = ModelCache(lambda: source.now, 2.0, 10.0)
    values = [_value(cache, source, str(number)) for number in range(300)]
    assert _value(cache, source, "299") == values[-1]
    assert _value(cache, source, "0") == 301
    none = ModelCache(lambda: source.now, 0.0, 0.0)
    assert _value(none, source) != _value(none, source)
