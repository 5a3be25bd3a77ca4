"""Determine the channels that an incident is routed to, with an explanation.

Every matching route applies, and a channel that several lead to is notified once. The channel of the table's owner is
notified unless a route matches; a route without `match` matches everything. A route with `unacknowledged_for` applies
from the moment at which the present episode was unacknowledged for so long, to the end of the episode; it does not
replace the owner's channel.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Final, Literal, TypeAlias

from checks import Kind, Severity, format_duration
from incidents import Incident, State
from monitor.alerts.decide import is_warning
from monitor.config import Config, Route, Table

OWNER: Final = "owner"
_OTHER_OUTCOME: Final = {
    None: "the route is for warnings that open no incident (outcome: warn)",
    "warn": "the route is for incidents; one for warnings has 'outcome: warn'",
}


@dataclass(frozen=True, slots=True)
class RoutedChannel:
    """How a channel is reached: `by` which routes ("route 2", counted from 1) or as the owner's.

    `quiet`: the quiet hours of its routes, which hold back only if all of them do; empty if a route has none. `later`:
    only by routes with `unacknowledged_for`. `digest`: the local times of its digests; empty if a route has none.
    """

    by: tuple[str, ...]
    quiet: tuple[str, ...] = ()
    later: bool = False
    digest: tuple[time, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the explanation: a route, or the owner; whether it applies; why."""

    name: str
    applies: bool
    why: str
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Routing:
    """The channels, in the order of the configuration, and the explanation."""

    channels: Mapping[str, RoutedChannel] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()


_Way: TypeAlias = tuple[str, Route | None]
"""A name ("route 2", "owner") and the route; None for the owner's."""


def channels_of(incident: Incident, config: Config, now: datetime) -> Routing:
    """Return the channels that an incident is routed to in its present state."""
    waited = incident.last.unacknowledged(now)
    return channels_for(
        incident.table,
        config,
        severity=incident.severity,
        kind=incident.kind,
        waited=waited,
        outcome="warn" if is_warning(incident) else None,
    )


def channels_for(
    table: str,
    config: Config,
    *,
    severity: Severity,
    kind: Kind,
    waited: timedelta = timedelta(0),
    outcome: Literal["warn"] | None = None,
) -> Routing:
    """Return the channels that an incident on a table is routed to; `waited`: how long it was unacknowledged.

    `outcome`: `warn` for a warning that opens no incident.
    """
    ways: dict[str, list[_Way]] = {}
    steps = []
    configured = config.table(table)
    facts, products = _facts(table, configured, config), config.products_of(table)
    for number, route in enumerate(config.alerts.routes, start=1):
        miss = (
            _OTHER_OUTCOME[outcome]
            if route.match.outcome != outcome
            else next(_misses(route, facts, products, severity=severity, kind=kind, waited=waited), None)
        )
        name = f"route {number}"
        if miss is not None:
            steps.append(Step(name, applies=False, why=miss, to=route.to))
            continue
        steps.append(Step(name, applies=True, why=_format_match(route), to=route.to))
        for channel in route.to:
            ways.setdefault(channel, []).append((name, route))
    matched = any(
        route is not None and route.unacknowledged_for is None for routes in ways.values() for _, route in routes
    )
    if outcome is not None:
        steps.append(Step(OWNER, applies=False, why="owners are notified of incidents, and warnings go by routes only"))
        return Routing({channel: _reached(routes) for channel, routes in ways.items()}, tuple(steps))
    steps.append(_owner_step(configured, config, matched=matched))
    if steps[-1].applies:
        for channel in steps[-1].to:
            ways.setdefault(channel, []).append((OWNER, None))
    return Routing({channel: _reached(routes) for channel, routes in ways.items()}, tuple(steps))


def next_in_line_at(incident: Incident, config: Config, now: datetime) -> datetime | None:
    """Return when the next route with `unacknowledged_for` will apply to an incident; None if none will."""
    if incident.state is not State.OPEN:
        return None
    waits = (route.unacknowledged_for for route in config.alerts.routes)
    moments = (incident.last.detected_at + wait for wait in waits if wait is not None)
    return min((moment for moment in moments if moment > now), default=None)


def any_way(channel: str, config: Config) -> RoutedChannel:
    """Return how a channel is reached by any route, for incidents that are no longer routed there."""
    ways: list[_Way] = [
        (f"route {number}", route) for number, route in enumerate(config.alerts.routes, start=1) if channel in route.to
    ]
    return _reached(ways)


def operators(config: Config) -> tuple[str, ...]:
    """Return the channels for operational messages: the configured ones, else those of the routes without `match`."""
    if config.alerts.operators:
        return config.alerts.operators
    everything = [channel for route in config.alerts.routes if route.is_for_all for channel in route.to]
    return tuple(dict.fromkeys(everything))


def _reached(ways: list[_Way]) -> RoutedChannel:
    quiet = [None if route is None else route.quiet_hours for _, route in ways]
    names = () if None in quiet else tuple(dict.fromkeys(name for name in quiet if name is not None))
    later = bool(ways) and all(route is not None and route.unacknowledged_for is not None for _, route in ways)
    digests = [None if route is None else route.digest for _, route in ways]
    times = () if None in digests else tuple(dict.fromkeys(digest.at for digest in digests if digest is not None))
    return RoutedChannel(tuple(name for name, _ in ways), names, later=later, digest=times)


def _facts(name: str, table: Table | None, config: Config) -> Mapping[str, str | None]:
    facts: dict[str, str | None] = {"table": name}
    if table is not None:
        facts |= {"domain": table.domain, "owner": config.owner_of(table), "tier": table.tier, "source": table.source}
    return facts


def _misses(
    route: Route,
    facts: Mapping[str, str | None],
    products: Sequence[str],
    *,
    severity: Severity,
    kind: Kind,
    waited: timedelta,
) -> Iterator[str]:
    """Yield the keys of a route that do not match."""
    match = route.match
    for key in ("table", "domain", "owner", "tier", "source"):
        wanted, text = getattr(match, key), facts.get(key)
        if wanted is not None and wanted != text:
            yield f"the route matches {key} {wanted}, not {'none' if text is None else text}"
    if match.product is not None and match.product not in products:
        yield f"the route matches product {match.product}, not {', '.join(products) or 'none'}"
    if match.severity is not None and severity.rank < match.severity.rank:
        yield f"the route matches severity {match.severity} and above, not {severity}"
    if match.kind is not None and kind is not match.kind:
        yield f"the route matches kind {match.kind}, not {kind}"
    if route.unacknowledged_for is not None and waited < route.unacknowledged_for:
        wait = format_duration(route.unacknowledged_for)
        yield f"the route applies once the incident is unacknowledged for {wait}"


def _format_match(route: Route) -> str:
    parts = [f"{key} {value}" for key, value in vars(route.match).items() if value is not None]
    if route.unacknowledged_for is not None:
        parts.append(f"not acknowledged for {format_duration(route.unacknowledged_for)}")
    return f"it matches: {', '.join(parts)}" if parts else "the route has no match, so it applies to every incident"


def _owner_step(table: Table | None, config: Config, *, matched: bool) -> Step:
    owner = None if table is None else config.owner_of(table)
    if owner is None:
        return Step(OWNER, applies=False, why="the table has no owner")
    channel = config.owners[owner].channel if owner in config.owners else None
    if channel is None:
        return Step(OWNER, applies=False, why=f"{owner} has no channel")
    if matched:
        return Step(OWNER, applies=False, why=f"{owner} is not notified, since a route applies", to=(channel,))
    return Step(OWNER, applies=True, why=f"no route applies, so {owner} is notified", to=(channel,))
