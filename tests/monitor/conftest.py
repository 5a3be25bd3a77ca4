"""What the tests of this package have in common: their stores are copies of one that was made once."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from store import _open

_EMPTY: Final[dict[str, bytes]] = {}
"""The file of a store without rows, by its revision."""


@pytest.fixture(autouse=True)
def _stores_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the tables of a new file once a process: a tenth of the time. `tests/store` proves how they are made."""
    monkeypatch.setattr(_open, "migrate", partial(_migrate, _open.migrate))


def _migrate(really: Callable[..., None], address: Any, *, to: str, **how: Any) -> None:
    if address.file is None or address.file.stat().st_size:
        really(address, to=to, **how)
        return
    if to not in _EMPTY:
        really(address, to=to, **how)
        _EMPTY[to] = address.file.read_bytes()
        return
    address.file.write_bytes(_EMPTY[to])
