"""The fast computation of downtime matches its definition, and keeps its identities, over random histories."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks import Severity
from incidents import (
    Corrected,
    MaintenanceSpans,
    Spans,
    Window,
    changes,
    durations,
    measure,
    measure_by,
    replay,
    to_us,
)
from tests.incidents import definition
from tests.incidents.definition import View
from tests.incidents.histories import BASE_US, TABLES, at, histories, tick


@st.composite
def scenes(draw, looks=1, most=14):
    """Draw a history and ways to look at it.

    Windows begin and end, work is planned and the moment of knowing lies, more often than not, right at a time of the
    history or beside it: that is where a rule shows.
    """
    history = draw(histories(most))
    edges = sorted(
        tick(moment)
        for incident in history.incidents.values()
        for episode in incident.episodes
        for moment in (
            episode.onset.earliest,
            episode.onset.at,
            episode.onset.latest,
            episode.detected_at,
            episode.resolved_at,
            episode.acknowledged_at,
        )
        if moment is not None
    )
    near = st.tuples(st.sampled_from(edges), st.integers(-1, 1)).map(sum) if edges else st.nothing()
    ticks = near | near | st.integers(-20, 450)
    return history, *(draw(_views(ticks)) for _ in range(looks))


@st.composite
def _views(draw, ticks):
    start = draw(ticks)
    lengths = ticks.map(lambda end: end - start).filter(lambda length: length > 0) | st.integers(1, 400)
    stretch = st.tuples(ticks, st.integers(0, 60)).map(lambda some: (some[0], some[0] + some[1]))
    planned = st.dictionaries(st.sampled_from(TABLES), st.lists(stretch, max_size=3), max_size=2)
    return View(start, start + draw(lengths), draw(ticks), draw(planned), draw(st.booleans()))


def measured(incidents, view, **others):
    """Measure incidents in a view the fast way."""
    spans = Spans.of(incidents)
    return measure(spans, window(view.start, view.end), **arguments(spans, view), **others)


def arguments(spans, view):
    """Return the arguments of a view."""
    work = {table: [(BASE_US + begin, BASE_US + end) for begin, end in some] for table, some in view.planned.items()}
    maintenance = MaintenanceSpans.of(spans.names, work) if work else None
    return {"as_of_us": BASE_US + view.as_of, "maintenance": maintenance, "disclosure": view.disclosure}


def window(start, end):
    """Return a window between ticks."""
    return Window(BASE_US + start, BASE_US + end)


def plain(found):
    """Return the figures as the definition gives them."""

    def statistics(some):
        return None if some is None else (some.min, some.mean, some.median, some.p90, some.max)

    return {
        **{name: getattr(found, name) for name in ("n", "n_occurred", "undetected", "repair", "table_time")},
        **{name: getattr(found, name) for name in ("undetected_low", "undetected_high")},
        **{name: getattr(found, name) for name in ("n_acknowledged", "n_unacknowledged")},
        "ttd": statistics(found.ttd),
        "ttr": statistics(found.ttr),
        "tta": statistics(found.tta),
        "by_severity": {word: (part.n, part.undetected, part.repair) for word, part in found.by_severity.items()},
        "excluded": {name: (tally.n, tally.time) for name, tally in found.excluded.items()},
        "exposure": (found.exposure.n, found.exposure.time),
        "open": {(one.id, one.age) for one in found.open},
    }


@given(scenes())
def test_downtime_is_what_its_definition_says(scene):
    """Every figure of every window, known at any moment, equals the one counted moment by moment."""
    history, view = scene
    incidents = history.incidents.values()
    assert plain(measured(incidents, view)) == definition.downtime(incidents, view)


@given(scenes(), st.sampled_from(["table", "severity", "incident", "root_table"]))
def test_groups_are_the_figures_of_their_incidents(scene, by):
    """Grouped by anything, each group has exactly the figures of its incidents alone."""
    history, view = scene
    incidents = list(history.incidents.values())
    spans = Spans.of(incidents)
    found = measure_by(spans, window(view.start, view.end), group=getattr(spans, by), **arguments(spans, view))
    for code, figures in found.items():
        ids = set(spans.incident[getattr(spans, by) == code].tolist())
        assert plain(figures) == definition.downtime([incident for incident in incidents if incident.id in ids], view)
    whole = measured(incidents, view)
    for name in ("n", "n_occurred", "undetected", "repair", "undetected_low", "undetected_high", "downtime"):
        assert sum(getattr(figures, name) for figures in found.values()) == getattr(whole, name)


@given(scenes())
def test_downtime_is_n_times_ttd_and_ttr(scene):
    """N x (undetected / n + repair / n) is the downtime, exactly, in every window."""
    history, view = scene
    found = measured(history.incidents.values(), view)
    if found.n:
        each = Fraction(found.undetected, found.n) + Fraction(found.repair, found.n)
        assert found.downtime == found.n * each == found.undetected + found.repair
    else:
        assert found.downtime == 0


@given(scenes())
def test_figures_keep_their_order(scene):
    """Low <= point <= high, and no more table hours than incident hours."""
    history, view = scene
    found = measured(history.incidents.values(), view)
    assert found.low <= found.downtime <= found.high
    assert found.table_time <= found.downtime
    assert sum(part.downtime for part in found.by_severity.values()) == found.downtime
    assert sum(part.n for part in found.by_severity.values()) == found.n


@given(scenes(), st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_windows_side_by_side_add_up(scene, lengths):
    """Undetected and repair parts, table hours and what occurred add up over windows; n counts in every window."""
    history, view = scene
    incidents = history.incidents.values()
    edges = np.cumsum([view.start, *lengths]).tolist()
    parts = [measured(incidents, replace(view, start=start, end=end)) for start, end in pairwise(edges)]
    whole = measured(incidents, replace(view, start=edges[0], end=edges[-1]))
    for name in ("undetected", "repair", "undetected_low", "undetected_high", "table_time", "n_occurred"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)
    assert sum(part.n for part in parts) >= whole.n


@given(histories())
def test_unclipped_downtime_is_the_figure_of_the_article(history):
    """When nothing is clipped or open, N x (mean TTD + mean TTR) is the downtime."""
    over = [incident for incident in history.incidents.values() if incident.last.resolved_at is not None]
    known = durations(Spans.of(over), as_of_us=to_us(at(10_000)))
    lasting = [one for one in over if known[one.id].total]
    found = measured(lasting, View(-10_000, 10_000, 10_000, {}))
    if found.n:
        assert found.ttd is not None
        assert found.ttr is not None
        assert found.downtime == found.n * (found.ttd.mean + found.ttr.mean)


@given(scenes(looks=2))
def test_shares_of_change_add_up(scene):
    """The shares of N, TTD and TTR are exactly the change, and exactly the opposite the other way round."""
    history, last, this = scene
    before, after = (measured(history.incidents.values(), view) for view in (last, this))
    forth, back = changes(before, after), changes(after, before)
    assert forth.total == after.downtime - before.downtime
    assert (forth.n, forth.ttd, forth.ttr) == (-back.n, -back.ttd, -back.ttr)


@given(scenes())
def test_the_past_can_be_told_as_it_was_known(scene):
    """Events are only appended: replaying those of then gives the figures of then, whatever was corrected since."""
    history, view = scene
    corrected_at = [number for number, event in enumerate(history.events) if isinstance(event.change, Corrected)]
    until = corrected_at[0] if corrected_at else len(history.events)
    of_then = history.events[:until]
    ids = {event.incident_id for event in of_then}
    then = [replay(event for event in of_then if event.incident_id == number) for number in ids]
    assert plain(measured(then, view)) == definition.downtime(then, view)
    counted = Counter(event.incident_id for event in of_then)
    untouched = [
        incident for incident in history.incidents.values() if counted[incident.id] == _events_of(history, incident.id)
    ]
    assert all(one in then for one in untouched)


def _events_of(history, number):
    return sum(1 for event in history.events if event.incident_id == number)


@given(histories())
def test_a_back_dated_correction_restates_the_past(history):
    """A correction moves exactly the time that it moves: earlier by d ticks adds d ticks of undetected time."""
    open_ones = [
        incident
        for incident in history.incidents.values()
        if len(incident.episodes) == 1 and incident.kind == "quality" and incident.counts
    ]
    view = View(-10_000, 10_000, 10_000, {})
    for incident in open_ones[:2]:
        onset = incident.last.onset
        earlier = replace(
            onset, at=at(tick(onset.at) - 7), earliest=at(tick(onset.at) - 7), latest=at(tick(onset.at) - 7)
        )
        moved = replace(incident, episodes=(replace(incident.last, onset=earlier),))
        assert measured([moved], view).undetected == measured([incident], view).undetected + 7


@given(histories())
def test_columns_hold_what_the_incidents_say(history):
    """The columnar form names each episode's incident, table, check, root, severity, resolution and times."""
    incidents = history.incidents
    spans = Spans.of(incidents.values())
    rows = [(one, episode) for _, one in sorted(incidents.items()) for episode in one.episodes]
    assert spans.incident.tolist() == [one.id for one, _ in rows]
    assert [spans.names[code] for code in spans.table] == [one.table for one, _ in rows]
    assert [spans.names[code] if code >= 0 else None for code in spans.check] == [one.check_id for one, _ in rows]
    assert [tuple(Severity)[rank] for rank in spans.severity] == [one.severity for one, _ in rows]
    assert (spans.occurred - BASE_US).tolist() == [tick(episode.onset.at) for _, episode in rows]
    assert (spans.earliest - BASE_US).tolist() == [tick(episode.onset.earliest) for _, episode in rows]
    assert (spans.latest - BASE_US).tolist() == [tick(episode.onset.latest) for _, episode in rows]
    assert (spans.detected - BASE_US).tolist() == [tick(episode.detected_at) for _, episode in rows]
    for (one, _), code in zip(rows, spans.root_table, strict=True):
        root = one
        while root.root is not None:
            root = incidents[root.root]
        assert spans.names[code] == root.table
