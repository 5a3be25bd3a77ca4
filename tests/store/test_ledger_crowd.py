"""Many processes spend one privacy budget: all of it is granted, and nothing more."""

from pathlib import Path

import pytest

from remedies.differential_privacy.epsilon import nano
from store import StoredLedger, open_store
from tests.store.ledgers import budget
from tests.store.made import AT
from tests.store.processes import start

PROCESSES, TIMES = 16, 200


@pytest.mark.timeout(900)
def test_a_crowd_is_granted_exactly_the_total(url: str, tmp_path: Path) -> None:
    """Of 3200 requests of 0.1 that 16 processes make at once, a budget of 100 grants exactly 1000."""
    with open_store(url) as store:
        ledger = StoredLedger(store, tmp_path / "anchor")
        for name, total in (("crm.customers", "100"), ("crm.orders", "1")):
            ledger.create(budget(nano(total), name), actor="ann", now=AT)
        crowd = start("spender", url, str(tmp_path / "anchor"), str(PROCESSES), str(TIMES), str(nano("0.1")))
        said, errors = crowd.communicate()
        assert crowd.returncode == 0, errors
        granted = dict(map(int, line.split()) for line in said.splitlines())
        assert len(granted) == PROCESSES
        assert sum(granted.values()) == 1000
        assert [balance.left for balance in ledger.balances()] == [0, nano("1")]
        audit = ledger.verify()
        assert (audit.flaws, audit.anchored) == ([], audit.entries)
        answered = sum(found // 10 for found in granted.values())
        assert audit.entries == 2 + 1000 + answered
