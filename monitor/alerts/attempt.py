"""What comes of one attempt to deliver a message: the same words for every kind of channel.

`why` is said in our words: it never holds an address, a token or anything that the other side answered, since it is
kept in the store and shown in `alert log`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class DeliverySucceeded:
    """The other side took it."""


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """It did not arrive, as far as anybody knows; it may have, when only the answer was lost.

    `retry_after`: how long the other side asked to be left alone. `gone`: it wants no message ever again, so the
    channel is disabled. `permanent`: trying again changes nothing, so it is not tried again by itself.
    """

    why: str
    retry_after: timedelta | None = None
    gone: bool = False
    permanent: bool = False


Attempt: TypeAlias = DeliverySucceeded | DeliveryFailed
