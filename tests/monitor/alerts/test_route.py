"""Who hears of an incident."""

import pytest

from checks import Kind, Severity
from monitor.alerts.route import any_way, channels_for, operators
from tests.monitor.alerts.made import project

ROUTES = """
  routes:
    - {match: {domain: sales}, to: [desk], quiet_hours: nights}
    - {match: {table: orders, severity: error}, to: [audit, desk]}
    - {match: {kind: disclosure}, to: [audit]}
    - {match: {tier: gold, source: files, owner: desk, severity: critical}, to: [crew]}
  quiet_hours: {nights: {start: "22:00", end: "07:00"}}
"""


PRODUCTS = """
  routes:
    - {match: {product: board-pack}, to: [crew]}
    - {match: {product: all-orders, severity: critical}, to: [audit]}
products:
  board-pack: {tables: [orders, board], consumers: [the board]}
  all-orders: {tables: ["*", "!board"]}
"""


@pytest.fixture
def routed(tmp_path):
    """Return a configuration with routes."""
    return project(tmp_path, ROUTES).config


@pytest.mark.parametrize(
    ("table", "severity", "kind", "channels"),
    [
        ("orders", Severity.WARNING, Kind.QUALITY, ["desk"]),
        ("orders", Severity.ERROR, Kind.QUALITY, ["desk", "audit"]),
        ("orders", Severity.CRITICAL, Kind.QUALITY, ["desk", "audit", "crew"]),
        ("lines", Severity.CRITICAL, Kind.QUALITY, ["desk"]),
        ("board", Severity.CRITICAL, Kind.QUALITY, ["crew"]),
        ("board", Severity.INFO, Kind.DISCLOSURE, ["audit"]),
        ("stray", Severity.CRITICAL, Kind.QUALITY, []),
        ("gone", Severity.CRITICAL, Kind.QUALITY, []),
    ],
)
def test_every_route_that_matches_applies(routed, table, severity, kind, channels):
    """All matching routes apply, a channel hears once, and the owner's channel only when no route applies."""
    assert list(channels_for(table, routed, severity=severity, kind=kind).channels) == channels


def test_quiet_hours_hold_only_if_every_way_has_them(routed):
    """A channel that is reached also by a way without quiet hours has none."""
    quiet = channels_for("orders", routed, severity=Severity.INFO, kind=Kind.QUALITY).channels["desk"]
    assert (quiet.by, quiet.quiet) == (("route 1",), ("nights",))
    loud = channels_for("orders", routed, severity=Severity.ERROR, kind=Kind.QUALITY).channels["desk"]
    assert (loud.by, loud.quiet) == (("route 1", "route 2"), ())
    assert any_way("desk", routed).quiet == ()
    assert any_way("crew", routed).by == ("route 4",)


def test_every_step_is_explained(routed):
    """The explanation names every route and the owner, and says why it applies or not."""
    steps = channels_for("orders", routed, severity=Severity.INFO, kind=Kind.QUALITY).steps
    assert [(step.name, step.applies, step.why) for step in steps] == [
        ("route 1", True, "it matches: domain sales"),
        ("route 2", False, "the route matches severity error and above, not info"),
        ("route 3", False, "the route matches kind disclosure, not quality"),
        ("route 4", False, "the route matches severity critical and above, not info"),
        ("owner", False, "desk is not notified, since a route applies"),
    ]
    board = channels_for("board", routed, severity=Severity.INFO, kind=Kind.QUALITY).steps
    assert [board[0].why, board[-1].why] == [
        "the route matches domain sales, not none",
        "no route applies, so crew is notified",
    ]
    stray = channels_for("stray", routed, severity=Severity.INFO, kind=Kind.QUALITY).steps[-1]
    assert (stray.applies, stray.why) == (False, "mute has no channel")
    gone = channels_for("gone", routed, severity=Severity.INFO, kind=Kind.QUALITY).steps[-1]
    assert gone.why == "the table has no owner"


def test_operators_are_those_named_else_those_who_hear_everything(tmp_path):
    """Messages about Tablewatch go to the operators, by default to the channels of routes without a match."""
    assert operators(project(tmp_path).config) == ()
    everything = project(
        tmp_path, "  routes: [{to: [audit]}, {match: {table: orders}, to: [crew]}, {to: [desk, audit]}]"
    )
    assert operators(everything.config) == ("audit", "desk")
    named = project(tmp_path, "  routes: [{to: [audit]}]\n  operators: [crew]")
    assert operators(named.config) == ("crew",)


@pytest.mark.parametrize(
    ("table", "severity", "channels"),
    [
        ("orders", Severity.ERROR, ["crew"]),
        ("orders", Severity.CRITICAL, ["crew", "audit"]),
        ("board", Severity.CRITICAL, ["crew"]),
        ("lines", Severity.CRITICAL, ["audit"]),
        ("gone", Severity.CRITICAL, []),
    ],
)
def test_consumers_of_a_product_hear_of_all_its_tables(tmp_path, table, severity, channels):
    """A route by product applies to every table of it, and to no other."""
    config = project(tmp_path, PRODUCTS).config
    assert list(channels_for(table, config, severity=severity, kind=Kind.QUALITY).channels) == channels


def test_why_a_route_by_product_does_not_apply_is_explained(tmp_path):
    """The products that the table is in are named."""
    config = project(tmp_path, PRODUCTS).config
    steps = channels_for("lines", config, severity=Severity.ERROR, kind=Kind.QUALITY).steps
    assert steps[0].why == "the route matches product board-pack, not all-orders"
