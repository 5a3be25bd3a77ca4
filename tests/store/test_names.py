"""Renames in the store."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, Select, String, cast, select

from checks import Status
from incidents import State
from store import (
    Grant,
    LoggedEvent,
    LoggedEventKind,
    NameChange,
    NamedThing,
    Scheduled,
    Scope,
    Store,
    StoreConflict,
    StoredLedger,
    WebRole,
    WebUser,
    anchor_file,
    current_name,
    open_store,
)
from store._columns import map_all_rows
from store._names import NAME_COLUMNS, OnRename
from tests.store.later import make_store_with_rows
from tests.store.ledgers import budget, charge
from tests.store.made import AT, HOUR, measure, opened, result, run, watch

TO_CLIENTS = NameChange(NamedThing.TABLE, "crm.customers", "crm.clients", "mia", AT + HOUR)


def _texts(connection: Connection, *, statement: Select[tuple[str]]) -> list[str]:
    return [str(cell) for cell in connection.scalars(statement)]


def _cells(store: Store, treatment: OnRename) -> dict[str, list[str]]:
    """Return the texts in the columns of which a rename makes one thing, by column."""
    tables = map_all_rows().tables
    results = {}
    for group in NAME_COLUMNS:
        for place in group.columns if group.on_rename is treatment else ():
            table, _, name = place.partition(".")
            column = next(item for item in tables[table].c if item.name == name)
            read = partial(_texts, statement=select(cast(column, String)))
            results[place] = store.inspect(read)
    return results


def test_a_name_becomes_that_of_its_table_only() -> None:
    """Ids of checks and segments follow their table; names that only begin alike, or of other schemas, do not."""
    names = {
        "crm.customers": "crm.clients",
        "crm.customers.not-null": "crm.clients.not-null",
        "crm.customers.not-null[3f9a]": "crm.clients.not-null[3f9a]",
        "crm.customers.archive.not-null": "crm.customers.archive.not-null",
        "crm.customers2": "crm.customers2",
        "my.crm.customers": "my.crm.customers",
    }
    assert {name: TO_CLIENTS.renamed(name) for name in names} == names
    check = NameChange(NamedThing.CHECK, "t.a", "t.b", "mia", AT)
    assert [check.renamed(name) for name in ("t.a", "t.a[1]", "t.ab", "t.a.x")] == ["t.b", "t.b[1]", "t.ab", "t.a.x"]
    back = NameChange(NamedThing.TABLE, "crm.clients", "crm.customers", "mia", AT)
    assert current_name("crm.customers.volume", [TO_CLIENTS, back]) == "crm.customers.volume"


def test_everything_of_a_table_follows_its_rename(url: str) -> None:
    """Incidents, results, streaks and silences have the new name, no column the old one, and events agree."""
    make_store_with_rows(url)
    with open_store(url) as store:
        with store.writing() as tx:
            tx.silences.add(
                scope=Scope.TABLE, name="crm.customers", starts_at=AT, until=AT + HOUR, reason="x", by="mia"
            )
            tx.silences.add(
                scope=Scope.DOMAIN, name="crm.customers", starts_at=AT, until=AT + HOUR, reason="x", by="mia"
            )
            tx.logged_events.add(LoggedEvent(LoggedEventKind.DEPLOY, AT, "crm.customers", None, "v2", "ci", AT))
            tx.schedule.reschedule([Scheduled("statistic:crm.customers/ages", "every 1h", "UTC", AT, AT)])
            before = tx.incidents.matching()
        with store.writing() as tx:
            counts = tx.names.rename(TO_CLIENTS, also={"statistic:crm.customers/ages": "statistic:crm.clients/ages"})
        assert {
            "incident",
            "run.table_name",
            "series.check_id",
            "check_state.check_id",
            "silence.name",
        } <= counts.keys()
        left = {
            place: [cell for cell in cells if "crm.customers" in cell]
            for place, cells in _cells(store, OnRename.REWRITTEN).items()
        }
        assert {place: cells for place, cells in left.items() if cells} == {
            "silence.name": ["crm.customers"]
        }  # a domain
        assert not any("crm.customers" in cell for cells in _cells(store, OnRename.EVENT).values() for cell in cells)
        assert store.rebuild_check() == []
        with store.reading() as tx:
            after = tx.incidents.matching()
            assert [(item.id, item.episodes, item.state) for item in after] == [
                (item.id, item.episodes, item.state) for item in before
            ]
            assert {item.table for item in after} == {"crm.clients", "shop.orders"}
            assert [event.table for event in tx.logged_events.between(None, None, most=9)] == ["crm.clients"]
            assert tx.names.changes() == [TO_CLIENTS]
            assert [item.table for item in tx.schedule.tables()][-1:] == ["statistic:crm.clients/ages"]


def test_results_go_on_in_one_series(store: Store) -> None:
    """Results under the new name follow those of the old one, and monitoring began when that of the old one did."""
    measure(store, (AT, Status.PASS), name="volume")
    later = run(7, at=AT + HOUR, table="crm.clients")
    with store.writing() as tx:
        tx.results.add_runs([later], [result(later, "volume")])
        tx.results.save_watches([watch("crm.customers.volume"), watch("crm.clients.volume", monitored_since=AT + HOUR)])
        assert tx.names.is_used(TO_CLIENTS)
    with store.writing() as tx:
        tx.names.rename(TO_CLIENTS)
    with store.reading() as tx:
        assert len(tx.results.around("crm.clients.volume", AT, before=9, after=9)) == 2
        (joined,) = tx.results.watches(["crm.customers.volume", "crm.clients.volume"]).values()
        assert (joined.check_id, joined.monitored_since) == ("crm.clients.volume", AT)


def test_two_open_incidents_of_one_check_are_refused(store: Store) -> None:
    """A rename that would make them stands back as a whole."""
    with store.writing() as tx:
        tx.incidents.open(opened(), recorded_at=AT, actor="tablewatch")
        tx.incidents.open(opened(table="crm.clients"), recorded_at=AT, actor="tablewatch")
    with pytest.raises(StoreConflict, match="open already"), store.writing() as tx:
        tx.names.rename(TO_CLIENTS)
    with store.reading() as tx:
        assert {item.table for item in tx.incidents.matching()} == {"crm.customers", "crm.clients"}
        assert tx.names.changes() == []


def test_a_check_is_renamed_with_its_segments(store: Store) -> None:
    """Other checks of the table keep their names."""
    with store.writing() as tx:
        tx.results.save_watches([watch(f"crm.customers.{name}") for name in ("a", "a[3f9a01c2d4e5]", "ab")])
        incident = tx.incidents.open(opened("a"), recorded_at=AT, actor="tablewatch")
        tx.names.rename(NameChange(NamedThing.CHECK, "crm.customers.a", "crm.customers.b", "mia", AT))
    with store.reading() as tx:
        assert {check for check, *_ in tx.results.last_statuses()} == {
            *("crm.customers.b", "crm.customers.b[3f9a01c2d4e5]", "crm.customers.ab")
        }
        renamed = tx.incidents.get(incident.id)
        assert (renamed.check_id, renamed.fingerprint, renamed.state) == (*["crm.customers.b"] * 2, State.OPEN)
    assert store.rebuild_check() == []


@pytest.mark.parametrize(("kind", "owners", "domains"), [("owner", ["b"], ["a"]), ("domain", ["a"], ["b"])])
def test_rights_of_accounts_follow_owners_and_domains(
    store: Store, kind: str, owners: list[str], domains: list[str]
) -> None:
    """Of the two names that an account may act for, the one of the kind changes."""
    with store.writing() as tx:
        tx.accounts.add_user(WebUser("mia", Grant(WebRole.OWNER, ("a",), ("a",)), None, AT))
        tx.silences.add(scope=Scope.DOMAIN, name="a", starts_at=AT, until=AT + HOUR, reason="x", by="mia")
        tx.names.rename(NameChange(NamedThing(kind), "a", "b", "root", AT))
    with store.reading() as tx:
        user = tx.accounts.user("mia")
        assert user is not None
        grant = user.grant
        assert (list(grant.owners), list(grant.domains)) == (owners, domains)
        assert tx.silences.all()[0].name == domains[0]


def test_a_budget_keeps_what_was_spent(store: Store, tmp_path: Path) -> None:
    """It is found under the new name only, its chain is whole, and the old name gets no new one."""
    ledger = StoredLedger(store, anchor_file(f"sqlite:///{tmp_path}/store.db"))
    ledger.create(budget(10), actor="root", now=AT, marks={"before"})
    ledger.reserve(charge(4), actor="root", now=AT)
    ledger.write(lambda tx: tx.names.rename(TO_CLIENTS, marks={"after"}))
    audit = ledger.verify()
    assert (audit.flaws, ledger.problem()) == ([], None)
    left = ledger.balance("crm.clients", "person")
    assert (left.budget.data_set, left.spent) == ("crm.clients", 4)
    assert [item.budget.data_set for item in ledger.balances()] == ["crm.clients"]
    ledger.reserve(charge(3, "r2", data_set="crm.clients"), actor="root", now=AT)
    assert ledger.balance("crm.clients", "person").spent == 7
    with pytest.raises(StoreConflict, match=r"is now that of crm\.clients"):
        ledger.create(budget(10), actor="root", now=AT)
    with pytest.raises(StoreConflict, match="the same table under another name"):
        ledger.create(budget(10, data_set="again"), actor="root", now=AT, marks={"after"})
    back = NameChange(NamedThing.TABLE, "crm.clients", "crm.customers", "mia", AT + 2 * HOUR)
    ledger.write(lambda tx: tx.names.rename(back))
    assert ledger.balance("crm.customers", "person").spent == 7
    assert ledger.verify().flaws == []
