"""The geometry of charts."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reporting.charts import HEIGHT, percent, signed_bar, stacked_columns, time_rows, timeline_lanes
from monitor.reporting.timeline import TimelineBand, TimelineLane, TimelineStretch, TimeState
from monitor.reporting.words import TIME_SIGNS
from tests.monitor.reporting import sample

PARTS = st.none() | st.tuples(st.integers(0, 10**12), st.integers(0, 10**12))


@given(st.lists(PARTS, min_size=1, max_size=14))
def test_boxes_stand_in_the_chart(values):
    """Every box lies inside the chart, on its column, and the repair part stands on the undetected one."""
    chart = stacked_columns(values)
    assert len(chart.columns) == len(values)
    for column, parts in zip(chart.columns, values, strict=True):
        boxes = [box for box in (column.undetected, column.repair) if box is not None]
        assert len(boxes) == sum(1 for part in parts or () if part)
        for box in boxes:
            assert box.x >= 0
            assert box.x + box.width <= 100
            assert 0 <= box.y < box.y + box.height <= chart.base + 0.01
        if len(boxes) == 2:
            assert column.repair.y + column.repair.height < column.undetected.y
        assert 0 < column.number_y < chart.base


def test_heights_are_to_scale():
    """The tallest column has the full height and the others theirs in proportion."""
    tallest, half, nothing, unwatched = stacked_columns([(60, 60), (30, 30), (0, 0), None]).columns
    assert tallest.undetected.height + tallest.repair.height == HEIGHT
    assert half.undetected.height == HEIGHT / 4
    assert (nothing.undetected, nothing.repair, nothing.total) == (None, None, 0)
    assert (unwatched.undetected, unwatched.total) == (None, None)


def test_something_is_seen():
    """A part that is not nothing can be seen, however small."""
    small = stacked_columns([(1, 0), (10**12, 0)]).columns[0]
    assert small.undetected.height >= 1


@pytest.mark.parametrize(
    ("value", "largest", "bar"),
    [(-10, 10, (0.0, 50.0)), (10, 10, (50.0, 50.0)), (-5, 20, (37.5, 12.5)), (0, 10, (50.0, 0.0)), (0, 0, (50.0, 0.0))],
)
def test_signed_bars(value, largest, bar):
    """Less goes to the left of the middle, more to the right."""
    assert signed_bar(Fraction(value), Fraction(largest)) == bar


@pytest.mark.parametrize(
    ("part", "width"), [(Fraction(0), 0), (Fraction(1, 1000), 1), (Fraction(1, 2), 50), (Fraction(1), 100)]
)
def test_cells(part, width):
    """A share that is not nothing fills at least one percent of its cell."""
    assert percent(part) == width


def test_lanes_hold_their_bars():
    """Each lane is a chart of its own, as high as its rows, with every bar inside."""
    orders, events = timeline_lanes(sample.timeline())
    assert (orders.height, events.height) == (36, 20)
    for lane in (orders, events):
        boxes = [box for bar in lane.bars for box in (bar.uncertain, bar.undetected, bar.repair) if box is not None]
        assert all(0 <= box.y < box.y + box.height <= lane.height for box in boxes)
        boxes += [box for box, _ in lane.ground]
        assert all(0 <= box.x < box.x + box.width <= 100.001 for box in boxes)


def test_each_moment_of_a_lane_has_one_state():
    """The ground covers the whole lane without overlap, reaches above and below every bar, and hides no gap as good."""
    orders, events = timeline_lanes(sample.timeline())
    for lane in (orders, events):
        edges = [edge for box, _ in lane.ground for edge in (box.x, round(box.x + box.width, 3))]
        assert edges[0] == 0
        assert edges[-1] == 100
        assert all(abs(end - start) < 0.01 for start, end in zip(edges[1:-1:2], edges[2::2], strict=True))
        bars = [box for bar in lane.bars for box in (bar.undetected, bar.repair) if box is not None]
        assert all(box.y < bar.y and box.y + box.height > bar.y + bar.height for box, _ in lane.ground for bar in bars)
    named = [(round(box.x, 1), round(box.width, 1), state.value) for box, state in orders.ground]
    assert named == [
        (0.0, 7.1, "unknown"),
        (7.1, 32.9, "good"),
        (40.0, 10.0, "unknown"),
        (50.0, 12.5, "maintenance"),
        (62.5, 37.5, "good"),
    ]
    assert [state.value for _, state in events.ground] == ["not-monitored", "good"]


def test_after_the_moment_of_knowing_nothing_is_known():
    """A lane ends with what is not known yet, whatever was planned there."""
    lane = sample.timeline().lanes[0]
    assert [state.value for *_, state in lane.states(0.55)] == ["unknown", "good", "unknown", "maintenance", "not-yet"]


def test_a_row_of_signs_has_the_states_of_the_picture():
    """Four signs a day; bad data is seen however short, and what is not known is never a sign of good."""
    drawn = sample.timeline()
    for (table, signs), lane in zip(time_rows(drawn), drawn.lanes, strict=True):
        assert (table, len(signs)) == (lane.table, 4 * len(drawn.parts))
        lasting = {state for start, end, state in lane.states(drawn.now) if end - start > 1 / len(signs)}
        assert {TIME_SIGNS[state] for state in lasting} <= set(signs)
    assert len(set(TIME_SIGNS.values())) == len(TimeState)


def test_bad_data_counts_before_what_is_not_known_and_that_before_good():
    """In a day with all of them."""
    band = TimelineBand((TimelineStretch(0.1, 0.2, sample.NOW, sample.NOW),), 1)
    lane = TimelineLane("orders", (), 0, unobserved=band)
    assert lane.cells((0.0, 0.5, 1.0)) == [TimeState.UNKNOWN, TimeState.GOOD]
    bad = TimelineBand((TimelineStretch(0.15, 0.16, sample.NOW, sample.NOW),), 1)
    assert replace(lane, repair=bad).cells((0.0, 0.5, 1.0), 0.5) == [TimeState.REPAIR, TimeState.NOT_YET]
