"""What holds the news of a problem back."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Kind, Severity
from incidents import Resolution, State
from monitor.alerts.decide import NotificationReason
from monitor.alerts.hold import LONGEST_GRACE, HoldReason, HoldRules, Recipients
from monitor.config import Config
from store import LastNotification, Scope, Silence
from tests.monitor.alerts.made import NOW, at, episode, incident, over, project, waiting

HOUR = timedelta(hours=1)
ROOT = incident(1)
LINES = incident(2, table="lines", episodes=(episode(0.1),))
BOARD = incident(3, table="board", episodes=(episode(0.2),))


@pytest.fixture
def config(tmp_path):
    """Return a configuration in which `lines` is made of `orders` and `board` of `lines`."""
    return project(tmp_path).config


def around(config, *others, silences=(), now=NOW, recipients=None):
    """Make the rules; by default alerts of all these incidents are pending."""
    recipients = waiting(*others) if recipients is None else recipients
    return HoldRules(config, silences=silences, around=others, now=now, recipients=recipients)


def told(number=1, reason=NotificationReason.FIRST, episodes=1):
    """Make the last notification of the desk."""
    return LastNotification(number, "desk", reason, Severity.ERROR, episodes, NOW, "msg_1")


def silence(number=1, scope=Scope.TABLE, name="orders", hours=2, reason="moving house"):
    """Make a silence."""
    return Silence(number, scope, name, NOW - HOUR, at(hours), reason, "sato")


def test_nothing_holds_back_what_nothing_is_about(config):
    """An incident without a silence or a snooze is notified."""
    assert around(config, ROOT, silences=[silence(name="lines")]).hold(ROOT) is None


def test_a_snooze_holds_until_it_ends(config):
    """A snoozed incident is not notified until the snooze ends."""
    snoozed = replace(ROOT, snoozed_until=at(3))
    hold = around(config, snoozed).hold(snoozed)
    assert (hold.by, hold.until) == (HoldReason.SNOOZE, at(3))
    assert around(config, snoozed, now=at(3)).hold(snoozed) is None


@pytest.mark.parametrize(
    ("scope", "name", "holds"),
    [
        (Scope.ALL, None, True),
        (Scope.TABLE, "orders", True),
        (Scope.TABLE, "lines", False),
        (Scope.DOMAIN, "sales", True),
        (Scope.DOMAIN, "crm", False),
    ],
)
def test_a_silence_is_about_a_table_a_domain_or_everything(config, scope, name, holds):
    """A silence holds what it is about, says its number and reason, and until when."""
    hold = around(config, silences=[silence(3, scope, name)]).hold(ROOT)
    assert (hold is not None) == holds
    if holds:
        assert (hold.by, hold.why, hold.until) == (HoldReason.SILENCE, "silence #3: moving house", at(2))


def test_the_silence_that_lasts_longest_is_named(config):
    """Of several silences the one that ends last says until when."""
    hold = around(config, silences=[silence(1, hours=9), silence(2, hours=1)]).hold(ROOT)
    assert (hold.why.partition(":")[0], hold.until) == ("silence #1", at(9))


@pytest.mark.parametrize(
    ("about", "holds"),
    [("", True), ("tables: [orders], ", True), ("domains: [sales], ", True), ("tables: [board], ", False)],
)
def test_planned_maintenance_holds_until_it_ends(tmp_path, about, holds):
    """Maintenance holds back what it is about, until its window ends."""
    work = f'{{{about}start: "2026-11-20T11:00", end: "2026-11-20T13:30", reason: new disks}}'
    config = project(tmp_path, alerts=f"maintenance: [{work}]").config
    hold = around(config).hold(ROOT)
    assert (hold is not None) == holds
    if holds:
        assert (hold.by, hold.why, hold.until) == (HoldReason.MAINTENANCE, "maintenance: new disks", at(1.5))
    assert around(config, now=at(1.5)).hold(ROOT) is None


def test_tables_downstream_of_an_open_incident_are_silent(config):
    """Whatever is made of a broken table, directly or not, is silent, and its incident is named by the root."""
    now = around(config, ROOT, LINES, BOARD)
    assert now.hold(ROOT) is None
    assert [now.hold(one).why for one in (LINES, BOARD)] == ["downstream of #1 on orders"] * 2
    assert [one.id for one in now.muted_by(ROOT)] == [2, 3]
    assert [one.id for one in now.muted_by(LINES)] == [3]


@pytest.mark.parametrize(
    ("case", "root", "one"),
    [
        ("the root is less severe", replace(ROOT, severity=Severity.WARNING), LINES),
        ("the root is about a release", replace(ROOT, kind=Kind.DISCLOSURE), LINES),
        ("it is about a release itself", ROOT, replace(LINES, kind=Kind.DISCLOSURE)),
        ("the root was merged", replace(over(1), merged_into=9, resolution=Resolution.DUPLICATE), LINES),
        ("the root was a false alarm", over(1, hours=-1, resolution=Resolution.FALSE_POSITIVE), LINES),
    ],
)
def test_what_does_not_explain_a_problem_does_not_mute_it(config, case, root, one):
    """Only a problem at least as bad, and of the same kind, upstream, silences a table."""
    assert around(config, root, one).hold(one) is None, case


def test_without_mute_downstream_everybody_hears(tmp_path):
    """`mute_downstream: false` lets every table speak."""
    config = project(tmp_path, "  mute_downstream: false").config
    assert around(config, ROOT, LINES).hold(LINES) is None
    assert around(config, ROOT, LINES).muted_by(ROOT) == ()


def test_a_root_that_nobody_hears_of_mutes_nothing(tmp_path):
    """If no channel is notified of the root, the tables downstream are notified."""
    config = project(
        tmp_path, "  routes: [{match: {table: lines}, to: [crew]}]", owner=("domain: sales", "owner: mute")
    )
    assert around(config.config, ROOT, LINES).hold(LINES) is None


BACK = replace(ROOT, episodes=(episode(-9, -8), episode()))


@pytest.mark.parametrize(
    ("case", "root", "recipients", "mutes"),
    [
        ("no notification, and no transition waits", ROOT, Recipients(), False),
        ("its news waits for a channel that it does not go to", ROOT, waiting(ROOT, channels=["crew"]), False),
        ("its news waits for its channel", ROOT, waiting(ROOT, channels=["desk"]), True),
        ("its news waits, but it is snoozed", replace(ROOT, snoozed_until=at(9)), waiting(ROOT), False),
        ("it was told", ROOT, Recipients({1: [told()]}), True),
        ("it was told and is snoozed since", replace(ROOT, snoozed_until=at(9)), Recipients({1: [told()]}), True),
        ("only an earlier episode was told", BACK, Recipients({1: [told(reason=NotificationReason.RESOLVED)]}), False),
        (
            "the new episode was told",
            BACK,
            Recipients({1: [told(reason=NotificationReason.REOPENED, episodes=2)]}),
            True,
        ),
        (
            "it is known to flap",
            replace(BACK, flapping=True),
            Recipients({1: [told(reason=NotificationReason.FLAPPING)]}),
            True,
        ),
        ("it stopped flapping", BACK, Recipients({1: [told(reason=NotificationReason.FLAPPING)]}), False),
        ("its end was told", over(1, hours=-1), Recipients({1: [told(reason=NotificationReason.RESOLVED)]}), True),
        ("resolved, and never notified", over(1, hours=-1), waiting(over(1)), False),
    ],
)
def test_only_a_root_that_somebody_hears_of_mutes(config, case, root, recipients, mutes):
    """A table downstream is silent while a channel was notified of this episode of its root, or is about to be."""
    now = around(config, root, LINES, recipients=recipients)
    assert (now.hold(LINES) is not None) == mutes, case


@pytest.mark.parametrize("scope", [Scope.TABLE, Scope.ALL])
def test_a_silenced_root_mutes_only_if_it_was_told(config, scope):
    """A silence over the root does not fall on tables downstream that it is not about."""
    silences = [silence(scope=scope, name="orders" if scope is Scope.TABLE else None)]
    by = HoldReason.SILENCE if scope is Scope.ALL else None
    hold = around(config, ROOT, LINES, silences=silences).hold(LINES)
    assert (hold and hold.by) == by
    known = around(config, ROOT, LINES, silences=silences, recipients=Recipients({1: [told()]}))
    assert known.hold(LINES).by == (by or HoldReason.DOWNSTREAM)


def test_after_the_repair_downstream_tables_get_time_to_pass(config):
    """Tables downstream of a repaired one have as many of their own runs as it takes to resolve, and one more."""
    root, known = over(1, hours=-1), Recipients({1: [told(reason=NotificationReason.RESOLVED)]})
    hold = around(config, root, LINES, recipients=known).hold(LINES)
    assert (hold.by, hold.until) == (HoldReason.DOWNSTREAM, at(2))
    assert "just resolved" in hold.why
    assert around(config, root, LINES, now=at(2), recipients=known).hold(LINES) is None
    assert timedelta(hours=3) < LONGEST_GRACE


TABLES = "abcdef"
edges = st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from(TABLES)), max_size=12)
open_ones = st.lists(
    st.tuples(st.sampled_from(TABLES), st.sampled_from(list(Severity)), st.integers(0, 4)), min_size=1, max_size=8
)


def lineage_config(upstream):
    """Make a configuration with any lineage, circles too."""
    tables = [
        {"name": name, "source": "s", "owner": "desk", "upstream": [up for down, up in upstream if down == name]}
        for name in TABLES
    ]
    return Config.model_validate(
        {
            "version": 1,
            "project": "p",
            "sources": {"s": {"files": "x.csv"}},
            "owners": {"desk": {"channel": "desk"}},
            "alerts": {"channels": {"desk": {"apprise": "json://a/"}}},
            "tables": tables,
        }
    )


@given(upstream=edges, found=open_ones, unheard=st.sets(st.integers(1, 8)))
def test_what_is_muted_has_a_root_that_is_not(upstream, found, unheard):
    """Whatever the lineage, circles too: a silent incident has upstream one at least as severe that is heard."""
    config = lineage_config(upstream)
    incidents = [
        incident(number, table=table, severity=severity, episodes=(episode(hour),))
        for number, (table, severity, hour) in enumerate(found, start=1)
    ]
    now = around(
        config, *incidents, recipients=waiting(*(incident for incident in incidents if incident.id not in unheard))
    )
    speaking = [incident for incident in incidents if now.hold(incident) is None]
    assert speaking
    for one in incidents:
        above = now.lineage.above(one.table)
        if now.hold(one) is not None:
            roots = [root for root in speaking if root.table in above or root.table == one.table]
            assert any(root.severity.rank >= one.severity.rank and root.id not in unheard for root in roots)
    named = {one.id for root in speaking for one in now.muted_by(root)}
    assert named <= {incident.id for incident in incidents if now.hold(incident) is not None}


@given(upstream=edges)
def test_lineage_reads_the_same_from_both_ends(upstream):
    """A table is downstream of its ancestors and of nothing else, and never of itself."""
    config = lineage_config(upstream)
    lineage = config.lineage
    for one in TABLES:
        assert one not in lineage.above(one)
        assert set(lineage.below(one)) == {other for other in TABLES if one in lineage.above(other)}


def test_what_is_over_mutes_nobody_by_name(config):
    """A resolved root names no muted tables in its message."""
    assert around(config, over(1), LINES).muted_by(over(1)) == ()
    assert over(1).state is State.RESOLVED
