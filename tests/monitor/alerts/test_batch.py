"""What goes into one message."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Severity
from monitor.alerts.batch import BatchItem, batches, ready
from monitor.alerts.decide import NotificationReason
from store import Changed, Transition
from tests.monitor.alerts.made import NOW, at, incident, over

WAIT = timedelta(minutes=2)


def waiting(table, *seconds):
    """Make transitions of a table, so many seconds old."""
    return [
        Transition(number, 1, Changed.OPENED, NOW - timedelta(seconds=old), table)
        for number, old in enumerate(seconds, start=1)
    ]


@pytest.mark.parametrize(
    ("seconds", "is_ready"),
    [((119,), False), ((120,), True), ((121, 1), True), ((60, 1), False), ((-30,), True)],
)
def test_a_table_waits_from_its_first_change(seconds, is_ready):
    """What belongs together waits together, from the first change on; when a clock went back, nothing waits longer."""
    assert bool(ready(waiting("orders", *seconds), group_wait=WAIT, now=NOW)) == is_ready


def test_tables_do_not_wait_for_one_another():
    """Each table has its own wait."""
    found = ready([*waiting("orders", 300), *waiting("lines", 10)], group_wait=WAIT, now=NOW)
    assert list(found) == ["orders"]


def item(number, table, severity=Severity.ERROR, reason=NotificationReason.FIRST):
    """Make something to tell."""
    made = over(number) if reason is NotificationReason.RESOLVED else incident(number)
    return BatchItem(replace(made, table=table, severity=severity), reason, at(number))


def test_the_worst_tables_come_first_and_the_rest_is_summed_up():
    """With room for two messages the worst table has its own, and all others share the last."""
    items = [item(1, "a"), item(2, "b", Severity.CRITICAL), item(3, "c"), item(4, "b"), item(5, "d", Severity.WARNING)]
    first, last = batches(items, 2)
    assert (first.table, [item.incident.id for item in first.items], first.storm) == ("b", [2, 4], False)
    assert (last.table, [item.incident.id for item in last.items], last.storm) == (None, [1, 3, 5], True)


def test_problems_come_before_ends():
    """In a message, what lasts stands before what is over."""
    (batch,) = batches([item(1, "a", Severity.CRITICAL, NotificationReason.RESOLVED), item(2, "a", Severity.INFO)], 5)
    assert [item.incident.id for item in batch.items] == [2, 1]


@given(
    tables=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(list(Severity))), min_size=1, max_size=60),
    free=st.integers(1, 12),
)
def test_every_incident_is_in_one_message(tables, free):
    """However little room there is, every incident is notified once, and there are not more messages than room."""
    items = [item(number, table, severity) for number, (table, severity) in enumerate(tables, start=1)]
    made = batches(items, free)
    assert len(made) <= free
    result = [item.incident.id for batch in made for item in batch.items]
    assert sorted(result) == list(range(1, len(items) + 1))
    assert all(batch.table is not None for batch in made if not batch.storm)
    assert sum(batch.storm for batch in made) <= 1
