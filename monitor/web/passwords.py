"""Hash and verify passwords (argon2id), and slow down those who try many."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST: Final = 12
"""Letters of a password, at least."""
_LONGEST: Final = 1_000
_HASHER: Final = PasswordHasher()
_ONE_AT_A_TIME: Final = threading.Lock()
"""A hash takes 64 MiB: many sign-ins at once must not take the memory of the machine."""
_NOBODY: Final = "$argon2id$v=19$m=65536,t=3,p=4$Qlvs1bv2g42UJRTXxr+DMA$0t8pZugWUpywY9C9e1ec7NWnie0CPvh6AlQQTg25Pd4"
"""A hash that no password has, so that an unknown name takes as long as a wrong password."""


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password.

    Raises:
        ValueError: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= _LONGEST:
        raise ValueError(f"a password has {SHORTEST} to {_LONGEST:,} letters; this has {len(password):,}")
    with _ONE_AT_A_TIME:
        return _HASHER.hash(password)


def is_password(password: str, hashed: str | None) -> bool:
    """Check whether a password has a hash; None, of a user without a password or of nobody, has none."""
    if len(password) > _LONGEST:
        return False
    with _ONE_AT_A_TIME:
        try:
            _HASHER.verify(hashed or _NOBODY, password)
        except (VerificationError, InvalidHashError):
            return False
    return hashed is not None


class SignInLimit:
    """Counts failed sign-ins of a name and of an address, and refuses more after too many in a while."""

    def __init__(
        self, clock: Callable[[], float], *, most: int = 10, window_s: float = 900, entries: int = 10_000
    ) -> None:
        """Allow `most` failures in `window_s` seconds for each key; `entries` bounds what is remembered."""
        self._clock = clock
        self._most = most
        self._window_s = window_s
        self._entries = entries
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def is_open(self, *keys: str) -> bool:
        """Check whether another try is allowed for all keys."""
        with self._lock:
            return all(len(self._recent(key)) < self._most for key in keys)

    def fail(self, *keys: str) -> None:
        """Count a failure for each key."""
        with self._lock:
            for key in keys:
                self._failures[key] = [*self._recent(key), self._clock()][-self._most :]
                self._failures.move_to_end(key)
            while len(self._failures) > self._entries:
                self._failures.popitem(last=False)

    def _recent(self, key: str) -> list[float]:
        since = self._clock() - self._window_s
        return [at for at in self._failures.get(key, ()) if at > since]
