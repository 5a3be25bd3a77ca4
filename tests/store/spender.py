"""Processes that ask for noisy answers as fast as they can, and say how many they were granted.

One process imports everything and forks the others: sixteen imports would take longer than what they do.
"""

import os
import sys
import traceback
from datetime import timedelta
from pathlib import Path

from remedies.differential_privacy.ledger import Granted, StoredAnswer
from store import StoredLedger, open_store
from tests.store.ledgers import charge
from tests.store.made import AT

_LOCK_TIMEOUT = timedelta(minutes=4)


def main(url: str, anchor: str, processes: int, times: int, nano: int) -> int:
    """Let processes ask, each under ids of its own; one in ten of what is granted is answered, and asked for again."""
    children = [_fork(url, anchor, number, times, nano) for number in range(processes)]
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def _fork(url: str, anchor: str, number: int, times: int, nano: int) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(1, f"{number} {_spend(url, anchor, number, times, nano)}\n".encode())
            code = 0
        except BaseException:  # noqa: BLE001 - a forked process must not run what its parent would
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def _spend(url: str, anchor: str, number: int, times: int, nano: int) -> int:
    granted = 0
    with open_store(url, lock_timeout=_LOCK_TIMEOUT) as store:
        ledger = StoredLedger(store, Path(anchor))
        for turn in range(times):
            asked = charge(nano, f"r{number}-{turn}")
            found = ledger.reserve(asked, actor="ann", now=AT)
            if isinstance(found, Granted):
                granted += 1
                if granted % 10 == 0:
                    ledger.store_answer(found, {"count": turn}, actor="ann", now=AT)
                    assert ledger.reserve(asked, actor="ann", now=AT) == StoredAnswer({"count": turn})
    return granted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])))
