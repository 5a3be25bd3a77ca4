"""A process that claims a request and charges it, says so, and is killed or goes on, by its input."""

import os
import sys
from pathlib import Path

from remedies.differential_privacy.ledger import Granted
from store import StoredLedger, open_store
from tests.store.ledgers import charge
from tests.store.made import AT


def main(url: str, anchor: str) -> None:
    """Be at a request until a line comes in, then store its answer."""
    with open_store(url) as store:
        ledger = StoredLedger(store, Path(anchor))
        claim = ledger.claim("r1")
        assert claim is not None
        with claim:
            granted = ledger.reserve(charge(1), actor="ann", now=AT)
            assert isinstance(granted, Granted)
            os.write(1, b"granted\n")
            sys.stdin.readline()
            ledger.store_answer(granted, {"count": 7}, actor="ann", now=AT)
    os.write(1, b"answered\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
