"""Let Ctrl-C end a search with what it has found, where a person has said that this would do."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from remedies import StopRequest

if TYPE_CHECKING:
    from remedies import Progress


@contextmanager
def stop_on_interrupt(progress: "Progress", *, wanted: bool) -> "Iterator[Progress]":
    """Return what tells of progress; when Ctrl-C was pressed, it says once that it is enough. A second one ends it all.

    `wanted`: False leaves Ctrl-C as it is.
    """
    if not wanted:
        yield progress
        return
    pressed = warned = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def tell(share: float) -> None:
        nonlocal warned
        progress(share)
        if pressed and not warned:
            warned = True
            raise StopRequest

    before = signal.signal(signal.SIGINT, press)
    try:
        yield tell
    finally:
        signal.signal(signal.SIGINT, before)
