"""Forgetting what is older than it has to be kept."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import text

from checks import Earlier, Severity, Status
from incidents import Commented, Escalated, Gap, Incident, Resolution, Resolved, RootNamed
from store import Pruned, RunCost, Scheduled, Skip, SkipReason, SlotDecision, Store, WriteTransaction
from tests.store.made import AT, HOUR, episode, measure, opened, result, run

DAY = timedelta(days=1)
NOW = AT + 1000 * DAY


def _prune(store: Store) -> Pruned:
    return store.prune(keep_measurements=90 * DAY, keep_incidents=365 * DAY, now=NOW)


def _resolved(tx: WriteTransaction, name: str, *, days_ago: int) -> Incident:
    at = NOW - days_ago * DAY
    incident = tx.incidents.open(opened(name, episode=episode(at - HOUR)), recorded_at=at - HOUR, actor="x")
    return tx.incidents.append(incident, [Resolved(at, Resolution.FIXED)], recorded_at=at, actor="x")


def test_old_measurements_go(store: Store) -> None:
    """Measurements beyond their time go with their runs, in as many steps as it takes; younger ones stay."""
    measure(store, *((NOW - 91 * DAY - number * HOUR, Status.PASS) for number in range(1100)))
    measure(store, (NOW - 89 * DAY, Status.PASS), (NOW - DAY, Status.PASS))
    assert _prune(store) == Pruned(runs=1100, measurements=1100)
    assert _prune(store) == Pruned()
    with store.reading() as tx:
        assert tx.counts().measurements == tx.counts().runs == 2


def test_the_newest_and_the_accepted_measurement_stay(store: Store) -> None:
    """However old they are, a check keeps its newest measurement and the one that it compares with."""
    measure(store, *((NOW - (200 - day) * DAY, Status.PASS if day == 5 else Status.FAIL) for day in range(10)))
    with store.reading() as tx:
        newest = tx.results.latest()
        accepted = tx.results.earlier("crm.customers.volume", NOW, Earlier(accepted=True))
    assert _prune(store).measurements == 8
    with store.reading() as tx:
        assert tx.results.latest() == newest
        assert tx.results.earlier("crm.customers.volume", NOW, Earlier(accepted=True)) == accepted


def test_many_old_results_that_stay_hide_none_that_goes(store: Store) -> None:
    """More runs than one batch has can hold the newest result of a check; younger ones that go are behind them."""
    lasting = [run(number, at=NOW - 200 * DAY + number * HOUR, table=f"gone{number}") for number in range(600)]
    with store.writing() as tx:
        tx.results.add_runs(lasting, [result(one, status=Status.FAIL) for one in lasting])
    measure(store, (NOW - 100 * DAY, Status.PASS), (NOW - 95 * DAY, Status.FAIL), (NOW - DAY, Status.PASS))
    assert _prune(store) == Pruned(runs=2, measurements=2)
    assert _prune(store) == Pruned()


def test_old_incidents_go_with_their_events(store: Store) -> None:
    """A resolved incident beyond its time goes with its episodes and events; open and younger ones stay."""
    with store.writing() as tx:
        _resolved(tx, "old", days_ago=366)
        young = _resolved(tx, "young", days_ago=364)
        lasting = tx.incidents.open(opened("lasting", episode=episode(AT)), recorded_at=AT, actor="x")
    assert _prune(store) == Pruned(incidents=1)
    with store.reading() as tx:
        assert {incident.id for incident in tx.incidents.matching()} == {young.id, lasting.id}
        assert (tx.counts().events, tx.counts().episodes) == (3, 2)
    assert store.rebuild_check() == []


def test_what_was_touched_since_stays(store: Store) -> None:
    """An old incident with a recent comment, or that a younger one names as its root, stays."""
    with store.writing() as tx:
        discussed = _resolved(tx, "discussed", days_ago=400)
        tx.incidents.append(discussed, [Commented("again?")], recorded_at=NOW - DAY, actor="mia")
        root = _resolved(tx, "root", days_ago=400)
        caused = _resolved(tx, "caused", days_ago=1)
        tx.incidents.append(caused, [RootNamed(root.id)], recorded_at=NOW - DAY, actor="mia")
    assert _prune(store) == Pruned()


def test_a_number_is_never_given_twice(store: Store) -> None:
    """After all incidents are gone, the next one still has an unused number."""
    with store.writing() as tx:
        last = [_resolved(tx, name, days_ago=400) for name in "abc"][-1]
    assert _prune(store) == Pruned(incidents=3)
    with store.writing() as tx:
        assert tx.incidents.open(opened(), recorded_at=AT, actor="x").id > last.id


def test_old_gaps_go(store: Store) -> None:
    """Unobserved time is kept as long as incidents are: reports need both."""
    with store.writing() as tx:
        for days in (366, 364):
            end = NOW - days * DAY
            tx.results.add_gaps([Gap("a.x", "a", end - HOUR, end, "timeout")])
    assert _prune(store) == Pruned(gaps=1)


def test_old_costs_go(store: Store) -> None:
    """What runs cost on a day is kept as long as measurements."""
    with store.writing() as tx:
        for days in (0, 89, 92):
            cost = RunCost("crm", (NOW - days * DAY).date(), 1.0)
            tx.results.add_runs([replace(run(days, at=NOW), cost=cost)], [])
    assert _prune(store) == Pruned(daily_costs=1)
    with store.reading() as tx:
        assert len(tx.costs.of_table("crm.customers", (NOW - 99 * DAY).date(), NOW.date())) == 2


def test_old_slots_and_skips_go(store: Store) -> None:
    """Slots that ended and what was left out are kept as long as measurements; a slot that runs stays."""
    long_ago = NOW - 200 * DAY
    with store.writing() as tx:
        tx.schedule.replace([Scheduled(table, "every 1h", "UTC", long_ago, long_ago) for table in "abc"])
        skips = {"a": Skip("a", long_ago, long_ago, 1, SkipReason.LATE), "b": Skip("b", NOW, NOW, 1, SkipReason.LATE)}
        claims = [SlotDecision(due, long_ago, NOW, NOW, skips.get(due.table)) for due in tx.schedule.due(long_ago, 9)]
        first, second, _ = tx.slots.claim(claims, holder="one", now=long_ago, lease_until=long_ago)
        tx.slots.finish([first], now=long_ago)
        tx.slots.finish([second], now=NOW)
    assert _prune(store) == Pruned(slots=1, skips=1)
    with store.reading() as tx:
        assert [slot.table for slot in tx.slots.since(long_ago, 9)] == ["c", "b"]
        assert [skip.table for skip in tx.schedule.skips(long_ago, 9)] == ["b"]


def test_old_news_goes_once_it_is_decided_on(store: Store) -> None:
    """Decisions are kept as long as measurements; what waits stays, and the last on what lasts, however old."""
    with store.writing() as tx:
        for name in "abc":
            incident = tx.incidents.open(opened(name), recorded_at=AT, actor="x")
            if name != "c":
                tx.incidents.append(incident, [Resolved(AT, Resolution.FIXED)], recorded_at=NOW, actor="x")
        lasting = tx.incidents.open(opened("d"), recorded_at=AT, actor="x")
        tx.incidents.append(lasting, [Escalated(Severity.CRITICAL)], recorded_at=AT, actor="x")
        changes = [transition.id for transition in tx.outbox.due(AT, 9)]
        tx.outbox.settle([*changes[:2], *changes[5:]], NOW - 91 * DAY, {})
        tx.outbox.settle([changes[2]], NOW - 89 * DAY, {})
    assert _prune(store) == Pruned(transitions=3)
    with store.reading() as tx:
        assert {decision.id for decision in tx.outbox.decided_since(AT, 9)} == {changes[2], changes[6]}
        assert [transition.id for transition in tx.outbox.due(AT, 9)] == changes[3:5]


def test_segments_that_are_gone_leave_no_name(store: Store) -> None:
    """The number of a check or segment goes with its last result; of a check one always stays."""
    measure(store, (NOW - 200 * DAY, Status.PASS))
    measure(store, (NOW - 199 * DAY, Status.PASS), name="volume[0a]")
    measure(store, (NOW - DAY, Status.PASS), name="volume[0b]")
    assert _prune(store).measurements == 1
    with store.reading() as tx:
        left = tx._connection.scalars(text("SELECT check_id FROM series ORDER BY id")).all()
    assert left == ["crm.customers.volume", "crm.customers.volume[0b]"]
