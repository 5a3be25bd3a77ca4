"""The ledger of privacy budgets: nothing is spent twice, and nothing that was spent is forgotten."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import text

from remedies import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.epsilon import nano
from remedies.differential_privacy.ledger import (
    Audit,
    BudgetBalance,
    Charge,
    Granted,
    Refusal,
    RefusalReason,
    StoredAnswer,
)
from remedies.differential_privacy.sensitivity import Adjacency
from store import (
    LedgerBroken,
    NotRecorded,
    RequestHistory,
    RowRefused,
    Store,
    StoreConflict,
    StoredLedger,
    StoreError,
    StoreUnavailable,
    anchor_file,
    backup,
    open_store,
    restore,
)
from store._ledger_chain import Anchor, AnchorFile, LedgerHead, hash_of
from tests.store.ledgers import budget, charge
from tests.store.made import AT, HOUR

ANN = {"actor": "ann", "now": AT}
WHY = {"reason": "the disk was changed", **ANN}


@pytest.fixture
def ledger(store: Store, tmp_path: Path) -> StoredLedger:
    """Return a ledger with a budget of 1 (10^9 nano-epsilon)."""
    made = StoredLedger(store, tmp_path / "anchor")
    made.create(budget(), **ANN)
    return made


def spent(ledger: StoredLedger, data_set: str = "crm.customers") -> int:
    """Return what was spent of a budget."""
    return ledger.balance(data_set, "person").spent


def granted(ledger: StoredLedger, asked: Charge) -> Granted:
    """Reserve what must be granted."""
    found = ledger.reserve(asked, **ANN)
    assert isinstance(found, Granted)
    return found


def test_nine_pays_for_a_hundred_answers_of_nine_hundredths(store: Store, tmp_path: Path) -> None:
    """A budget of 9 grants exactly 100 requests of 0.09, which no sum of floats does."""
    ledger = StoredLedger(store, tmp_path / "anchor")
    ledger.create(budget(nano("9")), **ANN)
    outcomes = [ledger.reserve(charge(nano("0.09"), f"r{number}"), **ANN) for number in range(101)]
    assert [type(outcome) for outcome in outcomes] == [Granted] * 100 + [Refusal]
    assert ledger.balance("crm.customers", "person").left == 0
    assert sum([0.09] * 100) != 9.0


def test_a_stored_answer_is_given_again(ledger: StoredLedger) -> None:
    """Who asks again gets the same answer, whatever is left of the budget; nothing is charged."""
    found = granted(ledger, charge(10**9))
    answer = {"cells": [3, -1], "rate": 0.1}
    assert ledger.store_answer(found, answer, **ANN) == answer
    assert ledger.reserve(charge(10**9), actor="bob", now=AT + HOUR) == StoredAnswer(answer)
    assert spent(ledger) == 10**9


def test_a_retry_without_an_answer_is_charged_again(ledger: StoredLedger) -> None:
    """Whether the first one read the data is unknown; of two answers the first that is stored is given."""
    first, second = (granted(ledger, charge(10)) for _ in range(2))
    assert spent(ledger) == 20
    assert ledger.store_answer(second, {"count": 2}, **ANN) == {"count": 2}
    assert ledger.store_answer(first, {"count": 1}, **ANN) == {"count": 2}
    assert ledger.reserve(charge(10), **ANN) == StoredAnswer({"count": 2})
    assert ledger.verify() == Audit(4, 4, [])


@pytest.mark.parametrize(
    "other",
    [{"nano": 11}, {"request": {"statistic": "sum"}}, {"data_set": "crm.orders"}],
    ids=["cost", "request", "budget"],
)
@pytest.mark.parametrize("answered", [True, False])
def test_a_request_id_with_other_content_is_refused(ledger: StoredLedger, other: dict, answered: bool) -> None:
    """An id that was used stands for what it stood for; nothing is charged, answered or not."""
    ledger.create(budget(data_set="crm.orders"), **ANN)
    found = granted(ledger, charge(10))
    if answered:
        ledger.store_answer(found, {"count": 1}, **ANN)
    refused = ledger.reserve(replace(charge(10), **other), **ANN)
    assert isinstance(refused, Refusal)
    assert refused.reason is RefusalReason.OTHER_CONTENT
    assert "used before for another query" in str(refused)
    assert (spent(ledger), spent(ledger, "crm.orders")) == (10, 0)


def test_a_refused_request_leaves_no_trace(ledger: StoredLedger) -> None:
    """What the budget does not cover is refused, in words without data; the id is free to be used later."""
    refused = ledger.reserve(charge(10**9 + 1), **ANN)
    assert refused == Refusal(RefusalReason.SPENT, charge(10**9 + 1), 10**9)
    assert str(refused) == (
        "the budget of crm.customers has 1 left and this costs 1.000000001; nothing was charged and the data was not "
        "read"
    )
    assert ledger.verify() == Audit(1, 1, [])
    ledger.change_total("crm.customers", "person", 2 * 10**9, reason="the board agreed", **ANN)
    assert isinstance(ledger.reserve(charge(10**9 + 1), **ANN), Granted)


def test_a_table_has_one_budget_under_all_its_names(ledger: StoredLedger) -> None:
    """Another data set that shares a mark is refused; another unit of the same one is not, and the audit is content."""
    ledger.create(budget(5, "shop.a"), **ANN, marks=["m1", "m2"])
    with pytest.raises(StoreConflict, match=r"the ledger has a budget of shop\.a, and shop\.b is the same table"):
        ledger.create(budget(5, "shop.b"), **ANN, marks=["m3", "m2"])
    ledger.create(budget(5, "shop.a", unit="household"), **ANN, marks=["m1"])
    ledger.create(budget(5, "shop.c"), **ANN, marks=["m4"])
    assert [balance.budget.data_set for balance in ledger.balances()][-3:] == ["shop.a", "shop.a", "shop.c"]
    assert ledger.verify().flaws == []


def test_two_budgets_do_not_mix(ledger: StoredLedger) -> None:
    """One data set with two units, or two data sets, have budgets of their own; each grants up to its own total."""
    rho = budget(5, "crm.orders", accounting=Accounting.ZCDP, delta=Fraction(1, 10**6))
    households = budget(7, unit="household")
    for one in (rho, households):
        assert ledger.create(one, **ANN) == BudgetBalance(one, 0, 0)
    cost = {"accounting": Accounting.ZCDP, "data_set": "crm.orders"}
    asked = [charge(5, "a", **cost), charge(1, "b", **cost), charge(7, "c", unit="household"), charge(4, "d")]
    assert [isinstance(ledger.reserve(one, **ANN), Granted) for one in asked] == [True, False, True, True]
    assert ledger.balances() == [
        BudgetBalance(budget(), 4, 4),
        BudgetBalance(rho, 5, 5),
        BudgetBalance(households, 7, 7),
    ]
    assert ledger.verify().flaws == []


def test_a_budget_is_created_once(ledger: StoredLedger) -> None:
    """A second one of the same data set and unit would let people spend twice."""
    granted(ledger, charge(10))
    with pytest.raises(StoreConflict, match="already exists"):
        ledger.create(budget(5), **ANN)
    assert ledger.balances() == [BudgetBalance(budget(), 10, 10)]
    with pytest.raises(NotRecorded, match="create one"):
        ledger.reserve(charge(1, data_set="nowhere"), **ANN)


def test_a_total_changes_with_a_reason_only(ledger: StoredLedger) -> None:
    """The change and its reason are an entry; a total below what is spent is refused."""
    granted(ledger, charge(10))
    with pytest.raises(Misfit, match="a reason is required"):
        ledger.change_total("crm.customers", "person", 20, reason=" ", **ANN)
    with pytest.raises(StoreConflict, match="more of the budget"):
        ledger.change_total("crm.customers", "person", 9, reason="less", **ANN)
    assert ledger.change_total("crm.customers", "person", 10, reason="less", **ANN) == BudgetBalance(budget(10), 10, 10)
    assert isinstance(ledger.reserve(charge(1, "r2"), **ANN), Refusal)
    assert ledger.verify() == Audit(3, 3, [])


def test_the_costliest_answer_is_known(ledger: StoredLedger) -> None:
    """What is said about a single answer goes by the largest charge."""
    for cost in (3, 8, 5):
        granted(ledger, charge(cost, f"r{cost}"))
    assert ledger.balance("crm.customers", "person") == BudgetBalance(budget(), 16, 8)


@pytest.mark.parametrize("wrong", [{"accounting": Accounting.ZCDP}, {"adjacency": Adjacency.ADD_REMOVE}])
def test_costs_of_another_kind_are_refused(ledger: StoredLedger, wrong: dict) -> None:
    """Rho is not added to epsilon, nor what protects one kind of neighbours to what protects another."""
    with pytest.raises(Misfit, match="cannot be charged"):
        ledger.reserve(charge(1, **wrong), **ANN)
    assert spent(ledger) == 0


@pytest.mark.parametrize("cost", [0, -1, True, 1.0, 10**15 + 1])
def test_only_whole_amounts_are_charged(cost: object) -> None:
    """Nothing, less than nothing, floats and amounts out of all proportion are no costs."""
    with pytest.raises(Misfit, match="whole number of nano units"):
        charge(cost)
    with pytest.raises(Misfit, match="whole number of nano units"):
        budget(cost)


@pytest.mark.parametrize(
    "said",
    [{"delta": Fraction(1, 10)}, {"accounting": Accounting.ZCDP}, {"data_set": " "}, {"unit": "a\nb"}],
)
def test_budgets_that_say_too_little_or_too_much_are_refused(said: dict) -> None:
    """Delta belongs to rho, and names are names."""
    with pytest.raises(Misfit):
        budget(**said)


def test_an_answer_without_its_charge_is_not_stored(ledger: StoredLedger) -> None:
    """A charge that this ledger does not know, or knows otherwise, is answered by nothing."""
    found = granted(ledger, charge(10))
    for stray in (replace(found, proof=bytes(32)), replace(found, entry=1), replace(found, entry=99)):
        with pytest.raises(NotRecorded, match="is not in this ledger"):
            ledger.store_answer(stray, {"count": 1}, **ANN)
    with pytest.raises(RowRefused):
        ledger.store_answer(found, {"count": b"1"}, **ANN)
    assert ledger.verify() == Audit(2, 2, [])


def test_a_restored_backup_is_noticed_and_charged_for(file: Path, tmp_path: Path) -> None:
    """An old copy in the place of the store has forgotten charges: nothing is granted until they are charged again."""
    url, copy = f"sqlite:///{file}", tmp_path / "copy.db"
    with open_store(url) as store:
        ledger = StoredLedger(store, anchor_file(url))
        ledger.create(budget(100), **ANN)
        granted(ledger, charge(10, "before"))
        backup(url, copy)
        ledger.create(budget(50, "crm.orders"), **ANN)
        ledger.change_total("crm.customers", "person", 90, reason="less", **ANN)
        granted(ledger, charge(60, "after"))
        granted(ledger, charge(20, "orders", "crm.orders"))
    restore(url, copy, now=AT)
    with open_store(url) as store:
        ledger = StoredLedger(store, anchor_file(url))
        for act in (
            lambda: ledger.reserve(charge(1, "new"), **ANN),
            lambda: ledger.create(budget(9, "crm.orders"), **ANN),
            lambda: ledger.change_total("crm.customers", "person", 500, reason="more", **ANN),
        ):
            with pytest.raises(LedgerBroken, match="ends at entry 2, but its anchor confirms 6: an old backup"):
                act()
        assert [flaw.problem for flaw in ledger.verify().flaws] == [
            "the ledger ends at entry 2, but its anchor confirms 6: an old backup was restored"
        ]
        ledger.resume(**WHY)
        assert ledger.verify().flaws == []
        assert [(item.budget.total, item.spent, item.largest) for item in ledger.balances()] == [
            (90, 70, 60),  # what was carried over bounds the largest answer that it stands for
            (50, 20, 20),
        ]
        assert isinstance(ledger.reserve(charge(21, "new"), **ANN), Refusal)
        assert isinstance(ledger.reserve(charge(20, "new"), **ANN), Granted)
        with pytest.raises(StoreConflict, match="nothing to resume"):
            ledger.resume(**WHY)


def test_a_backup_that_lacks_unused_charges_only_is_no_matter(file: Path, tmp_path: Path) -> None:
    """What is not under the anchor was never granted: to lose it costs no privacy."""
    url, kept = f"sqlite:///{file}", tmp_path / "kept"
    with open_store(url) as store:
        ledger = StoredLedger(store, anchor_file(url))
        ledger.create(budget(100), **ANN)
        shutil.copy(anchor_file(url), kept)
        granted(ledger, charge(10))
        shutil.copy(kept, anchor_file(url))  # as if it had died before the anchor was moved on
        assert ledger.verify() == Audit(2, 1, [])
        assert isinstance(ledger.reserve(charge(91, "r2"), **ANN), Refusal)
        assert ledger.verify() == Audit(2, 2, [])


@pytest.mark.parametrize("many", [3, 4])
def test_a_ledger_that_went_on_apart_is_noticed(ledger: StoredLedger, tmp_path: Path, many: int) -> None:
    """A database that others went on with after a restore, elsewhere, has other entries under the same numbers."""
    granted(ledger, charge(30))
    elsewhere = tmp_path / "elsewhere"
    shutil.copy(tmp_path / "anchor", elsewhere)
    for number in range(3):
        granted(ledger, charge(10, f"here {number}"))
    _edit(ledger._store, "DELETE FROM ledger_entry WHERE number > 2", "UPDATE privacy_budget SET spent = 30")
    other = StoredLedger(ledger._store, elsewhere)
    for number in range(many):
        granted(other, charge(5, f"there {number}"))
    assert other.verify().flaws == []
    with pytest.raises(LedgerBroken, match="entry 5 of the ledger does not match its anchor"):
        ledger.reserve(charge(1, "new"), **ANN)
    ledger.resume(**WHY)
    assert spent(ledger) == 30 + 5 * many + 60
    assert ledger.verify().flaws == []


def test_a_lost_anchor_is_noticed(ledger: StoredLedger, tmp_path: Path) -> None:
    """Without its anchor a ledger may be any old one: nothing is granted before a person states a reason."""
    granted(ledger, charge(10))
    (tmp_path / "anchor").unlink()
    with pytest.raises(LedgerBroken, match="anchor of the ledger is missing"):
        ledger.reserve(charge(10, "r2"), **ANN)
    assert [flaw.problem for flaw in ledger.verify().flaws] == ["the anchor of the ledger is missing"]
    ledger.resume(**WHY)
    granted(ledger, charge(10, "r2"))
    assert spent(ledger) == 20


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],
        lambda text: text.replace("10", "11"),
        lambda _: "ä",
    ],
)
def test_a_damaged_anchor_vouches_for_nothing(ledger: StoredLedger, tmp_path: Path, damage: object) -> None:
    """An anchor that was cut off or changed is refused by its name."""
    granted(ledger, charge(10))
    (tmp_path / "anchor").write_text(damage((tmp_path / "anchor").read_text()))
    with pytest.raises(LedgerBroken, match="anchor, is corrupt"):
        ledger.reserve(charge(10, "r2"), **ANN)
    (flaw,) = ledger.verify().flaws
    assert "is corrupt" in flaw.problem
    with pytest.raises(LedgerBroken, match="anchor, is corrupt"):
        ledger.resume(**WHY)


def test_an_anchor_that_cannot_be_written_grants_nothing(ledger: StoredLedger, tmp_path: Path) -> None:
    """Then the charge stays, and the data may not be read for it."""
    (tmp_path / "anchor.lock").unlink()
    (tmp_path / "anchor.lock").mkdir()
    with pytest.raises(StoreUnavailable, match="queries are blocked without it"):
        ledger.reserve(charge(10), **ANN)
    (tmp_path / "anchor.lock").rmdir()
    assert spent(ledger) == 10
    assert ledger.verify() == Audit(2, 1, [])


def test_the_anchor_never_goes_back(ledger: StoredLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is slow to move the anchor on does not move it back; who was overtaken still sees that its charge stands."""
    marks = []
    slow = StoredLedger(ledger._store, tmp_path / "anchor")
    with monkeypatch.context() as patched:
        patched.setattr(slow._anchor, "advance", lambda mark: marks.append(mark) or True)
        granted(slow, charge(10, "slow"))
    granted(ledger, charge(10, "fast"))
    slow._advance(marks[0])
    assert ledger.verify() == Audit(3, 3, [])
    lost = replace(marks[0], head=replace(marks[0].head, hash=bytes(32)))
    with pytest.raises(LedgerBroken, match="entry 2 of the ledger is lost again"):
        slow._advance(lost)


def test_an_anchor_is_not_moved_to_another_entry_of_its_number(tmp_path: Path) -> None:
    """Two ledgers that share an anchor are distinguished: the second one's entry of the same number is refused."""
    file = AnchorFile(tmp_path / "anchor")
    mine, other = (Anchor(LedgerHead(2, bytes([letter]) * 32)) for letter in (1, 2))
    assert file.advance(mine)
    assert file.advance(mine), "again is no other entry"
    with pytest.raises(LedgerBroken, match="confirms an entry that is not in this ledger"):
        file.advance(other)
    present = file.read()
    assert present is not None
    assert present.head == mine.head
    assert not file.advance(Anchor(LedgerHead(1, bytes(32))))


@pytest.mark.parametrize("change", [('"spent": 10', '"spent": 9'), ("anchor/1", "anchor/2"), ('"sum": "', '"sum": "0')])
def test_what_an_anchor_says_is_under_its_checksum(tmp_path: Path, change: tuple[str, str]) -> None:
    """Less spent is what the ledger itself would not contradict: the checksum alone shows that it was changed."""
    file = AnchorFile(tmp_path / "anchor")
    file.replace(Anchor(LedgerHead(2, bytes(32)), [(budget(), 10)]))
    assert file.read() is not None
    file.file.write_text(file.file.read_text().replace(*change))
    with pytest.raises(LedgerBroken, match="anchor, is corrupt"):
        file.read()


def test_charges_begin_with_the_moment_asked_for(ledger: StoredLedger) -> None:
    """A charge of exactly that moment is one of them, one of a microsecond before is not."""
    granted(ledger, charge(10))
    with ledger._store.reading() as tx:
        (stored,) = tx.ledger.budgets()
        assert [item.nano for item in tx.ledger.charges(stored.id, AT)] == [10]
        assert tx.ledger.charges(stored.id, AT + timedelta(microseconds=1)) == []


def _edit(store: Store, *statements: str) -> None:
    """Change rows behind the ledger's back, its guards taken away."""
    with store.writing() as tx:
        sqlite = tx._on_sqlite
        for table, names in (
            ("ledger_entry", ("no_update", "no_delete", "guard", "follows")),
            ("privacy_budget", ("stays", "no_delete")),
        ):
            for name in names:
                on = "" if sqlite else f" ON {table}"
                tx._connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_{name}{on}"))
        for statement in statements:
            tx._connection.execute(text(statement))


@pytest.mark.parametrize(
    ("change", "where", "problem"),
    [
        ("UPDATE ledger_entry SET nano = 1 WHERE number = 3", 3, "it was changed"),
        ("UPDATE ledger_entry SET body = '{}' WHERE number = 4", 4, "it was changed"),
        ("UPDATE ledger_entry SET actor = 'eve' WHERE number = 1", 1, "it was changed"),
        ("UPDATE ledger_entry SET recorded_us = recorded_us + 1 WHERE number = 2", 2, "it was changed"),
        ("UPDATE ledger_entry SET request = 'r9' WHERE number = 2", 2, "it was changed"),
        ("DELETE FROM ledger_entry WHERE number = 3", 4, "entries 3 to 3 are missing"),
        ("DELETE FROM ledger_entry WHERE number = 5", None, "ends at entry 4"),
        ("UPDATE privacy_budget SET spent = 10", 1, "does not match its entries"),
        ("UPDATE privacy_budget SET total = total + 1", 1, "does not match its entries"),
        ("UPDATE privacy_budget SET unit = 'row'", 1, "does not match its entries"),
    ],
)
def test_what_was_changed_behind_its_back_is_found(
    ledger: StoredLedger, change: str, where: int | None, problem: str
) -> None:
    """Every field of every entry is under a hash, and what a budget says is added up again."""
    granted(ledger, charge(10, "r1"))
    ledger.store_answer(granted(ledger, charge(20, "r2")), {"count": 3}, **ANN)
    granted(ledger, charge(30, "r3"))
    assert ledger.verify() == Audit(5, 5, [])
    _edit(ledger._store, change)
    assert any(flaw.entry == where and problem in flaw.problem for flaw in ledger.verify().flaws)


def test_an_entry_that_was_made_anew_does_not_fit_the_next_one(ledger: StoredLedger) -> None:
    """Its own hash can be made to fit, and what the next one says of it; then the next one's hash does not fit."""
    for number in (10, 20, 30):
        granted(ledger, charge(number, f"r{number}"))
    with ledger._store.reading() as tx:
        entry, sqlite = tx.ledger.entry(3), tx._on_sqlite
    assert entry is not None
    forged = hash_of(3, replace(entry.fact, actor="eve"), entry.previous).hex()
    value = f"x'{forged}'" if sqlite else f"decode('{forged}', 'hex')"
    _edit(
        ledger._store,
        f"UPDATE ledger_entry SET actor = 'eve', hash = {value} WHERE number = 3",
        f"UPDATE ledger_entry SET previous = {value} WHERE number = 4",
    )
    (flaw,) = ledger.verify().flaws
    assert (flaw.entry, flaw.problem[:14]) == (4, "it was changed")


def test_a_chain_that_was_made_anew_is_found_by_the_anchor(ledger: StoredLedger, tmp_path: Path) -> None:
    """An attacker who also remakes every later entry cannot make the anchor's."""
    granted(ledger, charge(10))
    _edit(ledger._store, "DELETE FROM ledger_entry WHERE number = 2", "UPDATE privacy_budget SET spent = 0")
    forged = StoredLedger(ledger._store, tmp_path / "forged")
    forged._anchor.replace(_anchor_of(ledger))
    granted(forged, charge(5))
    assert forged.verify().flaws == []
    (flaw,) = ledger.verify().flaws
    assert "entry 2 of the ledger does not match its anchor" in flaw.problem


def _anchor_of(ledger: StoredLedger):
    with ledger._store.reading() as tx:
        from store._ledger import _mark

        return _mark(tx.ledger)


def test_less_spent_than_the_anchor_knows_is_noticed_at_once(ledger: StoredLedger) -> None:
    """Who lowers what is spent, and no entry, gets nothing for it."""
    granted(ledger, charge(10))
    _edit(ledger._store, "UPDATE privacy_budget SET spent = 0")
    with pytest.raises(LedgerBroken, match="a budget has less spent"):
        ledger.reserve(charge(10, "r2"), **ANN)


_STRAY = (
    "INSERT INTO ledger_entry SELECT number + 7, kind, budget, request, nano, body, actor, recorded_us, hash, previous "
    "FROM ledger_entry WHERE number = 2"
)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_entry SET nano = 1 WHERE number = 2",
        "UPDATE ledger_entry SET hash = previous",
        "DELETE FROM ledger_entry WHERE number = 2",
        _STRAY,
        "UPDATE privacy_budget SET spent = spent - 1",
        "UPDATE privacy_budget SET spent = total + 1",
        "UPDATE privacy_budget SET data_set = 'other'",
        "DELETE FROM privacy_budget",
    ],
)
def test_the_database_itself_guards_the_ledger(ledger: StoredLedger, change: str) -> None:
    """SQL cannot change or remove a fact, add one that does not follow, or give back what is spent."""
    granted(ledger, charge(10))
    with pytest.raises(StoreError), ledger._store.writing() as tx:
        tx._connection.execute(text(change))
    assert ledger.verify() == Audit(2, 2, [])


def test_sqlite_replaces_no_row_of_the_ledger(file: Path, tmp_path: Path) -> None:
    """INSERT OR REPLACE, which fires no trigger for what it removes, is refused as well."""
    with open_store(f"sqlite:///{file}") as store:
        ledger = StoredLedger(store, tmp_path / "anchor")
        ledger.create(budget(), **ANN)
        granted(ledger, charge(10))
        for change in (
            "INSERT OR REPLACE INTO ledger_entry SELECT * FROM ledger_entry WHERE number = 2",
            "REPLACE INTO privacy_budget SELECT id, 'x', unit, accounting, adjacency, delta, 9, 0 FROM privacy_budget",
        ):
            with pytest.raises(StoreError), store.writing() as tx:
                tx._connection.execute(text(change))
        assert ledger.verify() == Audit(2, 2, [])


def test_the_ledger_outlives_retention(ledger: StoredLedger) -> None:
    """However old charges and answers are, they are never forgotten."""
    ledger.store_answer(granted(ledger, charge(10)), {"count": 3}, **ANN)
    day = timedelta(days=1)
    ledger._store.prune(keep_measurements=day, keep_incidents=day, now=AT + 9999 * day)
    assert ledger.verify() == Audit(3, 3, [])


def test_the_anchor_is_for_its_owner_only(ledger: StoredLedger, tmp_path: Path) -> None:
    """It names data sets and says what was asked of them; nothing else is left beside it."""
    granted(ledger, charge(10))
    assert (tmp_path / "anchor").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} - {"store.db", "store.db-wal", "store.db-shm"} == {
        "anchor",
        "anchor.lock",
    }


def test_what_became_of_a_series_of_requests(ledger: StoredLedger) -> None:
    """How often one was charged, and how many charges of the series brought nothing since one did."""
    assert ledger.tries("t/a/", "t/a/1") == RequestHistory(0, answered=False, unanswered=0, unanswered_at=None)
    for number in (1, 1, 2):
        granted(ledger, charge(10, f"t/a/{number}"))
    granted(ledger, charge(10, "t/ab/1"))
    assert ledger.tries("t/a/", "t/a/1") == RequestHistory(2, answered=False, unanswered=3, unanswered_at=AT)
    ledger.store_answer(granted(ledger, charge(10, "t/a/2")), {"value": 1}, **ANN)
    assert ledger.tries("t/a/", "t/a/2") == RequestHistory(2, answered=True, unanswered=0, unanswered_at=None)
    later = ledger.reserve(charge(10, "t/a/3"), actor="ann", now=AT + HOUR)
    assert isinstance(later, Granted)
    assert ledger.tries("t/a/", "t/a/1") == RequestHistory(2, answered=False, unanswered=1, unanswered_at=AT + HOUR)
    assert ledger.tries("t/ab/", "t/ab/1").unanswered == 1


def test_the_place_of_the_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies beside a SQLite store, whatever link leads there; for PostgreSQL among the states of the user."""
    (tmp_path / "link").symlink_to(tmp_path)
    assert anchor_file(f"sqlite:///{tmp_path / 'link' / 'a.db'}") == tmp_path.resolve() / "a.db.ledger"
    assert anchor_file("sqlite:///a.db", tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    urls = [
        "postgresql://ann:one@db/x?options=-csearch_path%3Da",
        "postgresql://ann:two@db/x?options=-csearch_path%3Da",
        "postgresql://ann:one@db/x?options=-csearch_path%3Db",
    ]
    first, same, other = map(anchor_file, urls)
    assert first == same != other
    assert first.parent == tmp_path / "states" / "tablewatch"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert anchor_file(urls[0]).is_relative_to(Path.home() / ".local" / "state")
    assert os.fspath(first).endswith(".ledger")
