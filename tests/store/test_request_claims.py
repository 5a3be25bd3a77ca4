"""A request is exclusive while it is in flight, and as long as its process lives, on each database."""

from datetime import timedelta
from pathlib import Path

import pytest

from remedies.differential_privacy.ledger import Granted, StoredAnswer
from store import Store, StoredLedger, open_store
from tests.store.ledgers import budget, charge
from tests.store.made import AT
from tests.store.processes import start

LONG = timedelta(minutes=1)
"""A server takes a moment to notice that a process was killed."""


@pytest.fixture
def ledger(store: Store, tmp_path: Path) -> StoredLedger:
    """Return a ledger with a budget of 100."""
    found = StoredLedger(store, tmp_path / "anchor")
    found.create(budget(100), actor="ann", now=AT)
    return found


def _spent(ledger: StoredLedger) -> int:
    return ledger.balance("crm.customers", "person").spent


def test_a_request_of_a_process_that_was_killed_is_free_again(ledger: StoredLedger, url: str, tmp_path: Path) -> None:
    """While it lives no other process gets it, whatever the clocks; killed, its charge stays and others are added."""
    asker = start("asker", url, str(tmp_path / "anchor"))
    assert asker.stdout is not None
    assert asker.stdout.readline() == "granted\n"
    assert ledger.claim("r1") is None
    assert not ledger.is_answered("r1")
    asker.kill()
    asker.communicate()
    claim = ledger.claim("r1", lock_timeout=LONG)
    assert claim is not None
    with claim:
        for now in (AT - timedelta(days=400), AT + timedelta(days=400)):
            assert isinstance(ledger.reserve(charge(1), actor="ann", now=now), Granted)
    assert _spent(ledger) == 3


def test_whoever_waits_for_a_request_finds_its_answer(ledger: StoredLedger, url: str, tmp_path: Path) -> None:
    """The claim is released when the answer is stored: the next one pays nothing."""
    asker = start("asker", url, str(tmp_path / "anchor"))
    assert asker.stdout is not None
    assert asker.stdout.readline() == "granted\n"
    assert asker.stdin is not None
    asker.stdin.write("go on\n")
    asker.stdin.flush()
    claim = ledger.claim("r1", lock_timeout=LONG)
    assert claim is not None
    with claim:
        assert ledger.reserve(charge(1), actor="ann", now=AT) == StoredAnswer({"count": 7})
    assert asker.communicate()[0] == "answered\n"
    assert _spent(ledger) == 1


def test_each_request_is_claimed_by_itself(ledger: StoredLedger, url: str) -> None:
    """Others are not in its way, a claim is released once, and within one process it excludes as well."""
    first, other = ledger.claim("r1"), ledger.claim("r2")
    assert first is not None
    assert other is not None
    assert ledger.claim("r1") is None
    with open_store(url) as store:
        assert store.claim_request("r1", lock_timeout=timedelta(0)) is None
    first.release()
    first.release()
    again = ledger.claim("r1")
    assert again is not None
    assert ledger.claim("r2") is None
    other.release()
    again.release()


def test_a_released_claim_leaves_nothing_behind(ledger: StoredLedger, tmp_path: Path) -> None:
    """Neither a file beside the database, nor a lock of one that was removed while it was held."""
    before = sorted(tmp_path.iterdir())
    claim = ledger.claim("r1")
    assert claim is not None
    for file in tmp_path.glob("*.request-*"):
        file.unlink()
        second = ledger.claim("r1")
        assert second is not None
        second.release()
    claim.release()
    assert sorted(tmp_path.iterdir()) == before
