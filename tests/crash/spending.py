"""Spend a privacy budget, saying aloud what was granted and what was answered, for the one who kills and compares."""

import importlib
import os
import random
import secrets
from contextlib import suppress
from pathlib import Path

from remedies.differential_privacy.ledger import Granted, StoredAnswer
from store import StoredLedger, open_store
from tests.store.ledgers import charge
from tests.store.made import AT

with suppress(ImportError):  # an extra, which lives that need it find imported
    importlib.import_module("psycopg")

ASKED = 40
"""So many different requests are made, in any order, again and again."""


def spend(_folder: Path, *, url: str, anchor: str, seed: int, times: int = 10**9) -> None:
    """Ask, look, answer; what is said was true before it was said."""
    dice = random.Random(seed)
    with open_store(url) as store:
        ledger = StoredLedger(store, Path(anchor))
        _say("begun")
        for _ in range(times):
            number = dice.randrange(ASKED) if dice.random() < 0.3 else dice.randrange(10**9)
            asked = charge(1 + number % 3, f"r{number}")
            found = ledger.reserve(asked, actor="ann", now=AT)
            if isinstance(found, Granted):
                _say("granted", found.entry, asked.nano, asked.request_id)  # from here on the data is looked at
                if dice.random() < 0.2:
                    continue  # the look failed
                value = secrets.randbits(60)
                answer = ledger.store_answer(found, {"count": value}, actor="ann", now=AT)
                _say("answered", asked.request_id, answer["count"])
            elif isinstance(found, StoredAnswer):
                _say("answered", asked.request_id, found.answer["count"])


def _say(*words: object) -> None:
    os.write(1, f"ACK {' '.join(map(str, words))}\n".encode())
