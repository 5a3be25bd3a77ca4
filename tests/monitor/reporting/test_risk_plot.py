"""The plot of risk against what is lost: every way at its place, no label over another."""

from hypothesis import given
from hypothesis import strategies as st

from monitor.reporting.risk_plot import HEIGHT, TOP, PlottedRemedy, RiskPlot, _box, _overlap, risk_plot

WAYS = st.lists(
    st.builds(
        PlottedRemedy,
        number=st.integers(1, 20),
        name=st.text("abcdefgh-", min_size=1, max_size=14),
        risk=st.floats(0.0001, 1),
        lost=st.floats(0, 1),
        holds=st.booleans(),
        best=st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def way(number: int, risk: float, lost: float, *, holds: bool = True) -> PlottedRemedy:
    """Return a way."""
    return PlottedRemedy(number, f"way-{number}", risk, lost, holds, best=False)


@given(WAYS, st.none() | st.floats(0.001, 0.5))
def test_every_way_has_a_mark_inside_of_the_plot(ways: list[PlottedRemedy], limit: float | None) -> None:
    """None is left out, and none stands outside of the axes."""
    plot = risk_plot(ways, limit)
    assert sorted(id(way) for mark in plot.marks for way in mark.ways) == sorted(map(id, ways))
    for mark in plot.marks:
        assert plot.left <= mark.x <= plot.right
        assert TOP <= mark.y <= TOP + HEIGHT
    assert (plot.limit_y is None) is (limit is None)


@given(WAYS)
def test_more_risk_is_higher_and_more_loss_further_right(ways: list[PlottedRemedy]) -> None:
    """Marks of one way each keep the order of what they show."""
    single = [mark for mark in risk_plot(ways, 0.2).marks if len(mark.ways) == 1]
    for one in single:
        for other in single:
            if one.ways[0].risk > other.ways[0].risk:
                assert one.y <= other.y
            if one.ways[0].lost > other.ways[0].lost:
                assert one.x >= other.x


def test_what_keeps_the_limit_stands_on_its_line_or_below() -> None:
    """A risk of 1/k is on the line; a smaller one below, a larger one above."""
    plot = risk_plot([way(1, 1.0, 0.0), way(2, 0.2, 0.3), way(3, 0.05, 0.6)], 0.2)
    above, on, below = sorted(plot.marks, key=lambda mark: mark.y)
    assert plot.limit_y is not None
    assert above.y < plot.limit_y == on.y < below.y


def test_ways_at_one_place_share_a_mark() -> None:
    """What holds and what does not stay apart."""
    plot = risk_plot([way(1, 0.2, 0.3), way(2, 0.2, 0.301), way(3, 0.2, 0.3, holds=False)], 0.2)
    assert sorted(mark.numbers for mark in plot.marks) == ["1, 2", "3"]


def test_labels_do_not_cover_one_another() -> None:
    """Also where all ways reach the same risk, as they do when k is what they aim at."""
    plot = risk_plot([way(number, 0.2, number / 12) for number in range(1, 9)], 0.2)
    assert not overlapping(plot)


def overlapping(plot: RiskPlot) -> list[tuple[str, str]]:
    """Return the labels that cover one another."""
    marks = plot.marks
    return [
        (mark.names, other.names)
        for place, mark in enumerate(marks)
        for other in marks[place + 1 :]
        if _overlap(_box(mark), _box(other))
    ]
