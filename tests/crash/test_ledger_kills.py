"""Kill a process that spends a privacy budget, at any moment: what was read was charged, and stays charged."""

import random
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from remedies.differential_privacy.ledger import Audit
from store import FailPoint, StoredLedger, open_store
from store._ledger_chain import AnchorFile
from tests.crash.nursery import until
from tests.crash.test_random_kills import ROUNDS, SEED
from tests.store.ledgers import budget
from tests.store.made import AT

KILLS = 2 * ROUNDS
_LONGEST_LIFE_S = 0.25
_CHECKED_EVERY = 20
_TOTAL = 10**9


class _Books:
    """A ledger, and what those who spent said of it."""

    def __init__(self, nursery, url, folder):
        self.nursery, self.url, self.folder = nursery, url, folder
        self.anchor = folder / "anchor"
        self.granted: dict[int, tuple[int, str]] = {}
        self.answers: dict[str, str] = {}
        self.times = 0
        with open_store(url) as store:
            StoredLedger(store, self.anchor).create(budget(_TOTAL), actor="ann", now=AT)

    def begin(self, *, seed, **how):
        """Run a process that spends."""
        return self.nursery.begin("spend", self.folder, url=self.url, anchor=str(self.anchor), seed=seed, **how)

    def hear(self, life):
        """Take down what was said; an answer is always the one that was given before."""
        for kind, *words in life.acknowledged():
            if kind == "begun":
                continue
            if kind == "granted":
                entry, nano, request = words
                assert int(entry) not in self.granted, "one charge for two looks"
                self.granted[int(entry)] = int(nano), request
            else:
                request, answer = words
                assert self.answers.setdefault(request, answer) == answer, "one request has two answers"

    def look(self):
        """Claim that nothing is missing; return the charges without an answer."""
        with open_store(self.url) as store:
            ledger = StoredLedger(store, self.anchor)
            audit = ledger.verify()
            assert audit.flaws == []
            with store.reading() as tx:
                found = {ledger_entry.number: ledger_entry.fact for ledger_entry in tx.ledger.entries(0, 10**6)}
            balance = ledger.balance("crm.customers", "person")
        lost = [one for one, said in self.granted.items() if (found[one].nano, found[one].request) != said]
        assert lost == [], "data was read without a charge"
        assert audit.anchored >= max(self.granted, default=0), "data was read before the anchor advanced"
        assert (
            self.answers.items()
            <= {fact.request: str(_answer(fact.body)) for fact in found.values() if fact.kind == "answered"}.items()
        )
        over = balance.spent - sum(nano for nano, _ in self.granted.values())
        assert over >= 0
        return over


def _has_granted(life):
    return any(kind == "granted" for kind, *_ in life.acknowledged())


def _answer(body):
    return body.partition('"count":')[2].partition("}")[0]


@pytest.mark.timeout(max(600, 4 * KILLS))
def test_whoever_is_killed_never_under_counts(nursery, url, tmp_path, record_property):
    """After each kill all that was granted is charged and under the anchor, and the chain holds."""
    books, dice = _Books(nursery, url, tmp_path), random.Random(SEED)
    for number in range(KILLS):
        life = books.begin(seed=number)
        if number % 2:  # on a busy machine, too, there are grants to lose
            until(partial(_has_granted, life), "the first grant")
        elif number % 4:  # else it may die as it opens the store
            until(life.acknowledged, "the first word")
        life.wait(dice.uniform(0.0, _LONGEST_LIFE_S))
        assert life.wait(0.0) is None, f"it ended by itself: {life.said()}"
        assert life.kill() == -9
        books.hear(life)
        if number % _CHECKED_EVERY == 0:
            books.look()
    over = books.look()
    for name, value in {"kills": KILLS, "granted": len(books.granted), "over-counted": over}.items():
        record_property(name, value)
        print(name, value)  # noqa: T201 - the numbers of a soak
    assert len(books.granted) > KILLS / 4


@pytest.mark.parametrize("passing", range(1, 5))
@pytest.mark.parametrize("point", [FailPoint.BEFORE_CHARGE, FailPoint.AFTER_CHARGE, FailPoint.IN_ANCHOR])
def test_who_dies_between_the_steps_is_followed_by_one_that_counts_on(nursery, tmp_path, point, passing):
    """Before the commit nothing is charged; after it the charge stays; the anchor is moved on by the next one."""
    books = _Books(nursery, f"sqlite:///{tmp_path / 'store.db'}", tmp_path)
    life = books.begin(seed=passing, failpoint=f"{point}:{passing}")
    assert life.wait() == -9, life.said()
    books.hear(life)
    before = AnchorFile(books.anchor).read().head.number
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        ((entries,),) = connection.execute("SELECT count(*) FROM ledger_entry").fetchall()
    assert entries == before + (point is not FailPoint.BEFORE_CHARGE)
    after = books.begin(seed=passing, times=5)
    assert after.wait() == 0, after.said()
    books.hear(after)
    books.look()
    with open_store(books.url) as store:
        found = StoredLedger(store, books.anchor).verify()
    assert found == Audit(found.entries, found.entries, [])
    assert not [path for path in tmp_path.iterdir() if "draft" in path.name]
