"""Places over planted tables, with a receiver of their alerts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.monitor.alerts.receivers import listening
from tests.privacy.place import Place


@pytest.fixture(scope="module")
def new_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Place]]:
    """Yield a way to make empty places; who listens there goes away with the module."""
    with ExitStack() as stack:
        yield lambda: Place(
            tmp_path_factory.mktemp("canaries"),
            stack.enter_context(listening()),
            stack.enter_context(listening()),
        )
