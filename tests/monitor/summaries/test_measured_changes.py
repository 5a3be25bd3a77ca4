"""Changes in series of measurements: columns, figures, and the segment with most of the violations."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Message, Status
from monitor.summaries.measured_changes import LargestShare, column_changes, largest_share, value_shifts
from store import Result

AT = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _results(*observed: Mapping[str, Any], status: Status = Status.PASS) -> list[Result]:
    """Return results, one an hour."""
    return [
        Result(f"r{n}", "t.c", "t", AT + n * HOUR, status, None, item, Message("x"), 0.1)
        for n, item in enumerate(observed)
    ]


def test_columns_change_between_two_looks():
    """What is missing, new and of another type is counted and named; unknown results are passed over."""
    before, after = {"a": "int64", "b": "string", "c": "date"}, {"a": "float64", "c": "date", "d": "int64"}
    (change,) = column_changes(_results({"columns": before}, {}, {"columns": after}, {"columns": after}))
    assert (change.since, change.until) == (AT, AT + 2 * HOUR)
    assert change.evidence == {"missing": 1, "extra": 1, "changed": 1, "names": "b, d, a"}


def test_of_many_columns_a_few_are_named():
    """The sentence stays short."""
    wide = {f"c{number}": "int64" for number in range(9)}
    (change,) = column_changes(_results({"columns": {}}, {"columns": wide}))
    assert change.evidence["names"] == "c0, c1, c2, c3, c4 … (+4)"


def test_a_figure_that_leaves_its_baseline_is_a_shift_and_the_first_of_several_counts():
    """It is compared with the baseline of its check, and lasts until it is back."""
    rows = [1000, 990, 1010, 1000, 1005, 995, 400, 410, 1000, 1010, 380]
    shifts = value_shifts(_results(*({"rows": count, "baseline": 1000} for count in rows)))
    assert [(shift.since, shift.until) for shift in shifts] == [
        (AT + 5 * HOUR, AT + 6 * HOUR),
        (AT + 9 * HOUR, AT + 10 * HOUR),
    ]
    assert shifts[0].evidence == {"value": 400.0, "usual": 1000.0}
    assert shifts[0].strength == 1


def test_without_a_baseline_what_was_before_is_usual():
    """The median of the figures before stands for it; a figure that varies widely does not shift."""
    steady = [{"value": value} for value in (10, 10, 11, 10, 9, 10, 10, 10, 11, 10, 9, 25)]
    (shift,) = value_shifts(_results(*steady))
    assert shift.evidence == {"value": 25.0, "usual": 10.0}
    wild = [{"value": value} for value in (10, 90, 15, 60, 8, 70, 12, 95, 20, 55, 9, 80, 11)]
    assert value_shifts(_results(*wild)) == []


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True), st.integers(), st.text(max_size=3)), max_size=30))
def test_any_figures_can_be_looked_at(values):
    """Text, NaN, infinity and nothing are no figures; a strength lies between 0 and 1."""
    for shift in value_shifts(_results(*({"value": value} for value in values))):
        assert 0 < shift.strength <= 1


def _segments(*parts: tuple[int, int], status: Status = Status.FAIL) -> list[Result]:
    results = _results(*({"rows": rows, "nulls": {"a": nulls, "b": 0}} for rows, nulls in parts), status=status)
    return [
        Result(
            **{**{name: getattr(item, name) for name in item.__slots__}, "message": item.message.about(f"segment {n}")}
        )
        for n, item in enumerate(results)
    ]


def test_the_segment_with_most_of_the_violations_is_named_by_contribution():
    """Its share is that of all violations; a segment is named as the check may name it."""
    share = _share(_segments((800, 5), (100, 90), (100, 5)))
    assert share is not None
    assert share.evidence == {"segment": "segment 1", "share": 0.9, "rows": 0.1, "failing": 1, "segments": 3}
    assert share.strength == pytest.approx(0.8)


def _share(segments: list[Result]) -> LargestShare | None:
    """Return the largest share where all segments are followed."""
    rows = sum(int(segment.observed.get("rows") or 0) for segment in segments)
    (whole,) = _results({"rows": rows, "segments": len(segments), "failing": 1})
    return largest_share(whole, segments)


@pytest.mark.parametrize(
    "parts", [[], [(100, 50)], [(100, 0), (100, 0)], [(900, 90), (100, 10)], [(100, 40), (100, 30), (100, 30)]]
)
def test_no_segment_stands_out(parts):
    """One alone, none in violation, as many as of the rows, or less than half: nothing is said."""
    assert _share(_segments(*parts)) is None


def test_segments_without_violations_count_by_their_distance_or_their_failing():
    """Rows that are missing contribute by how many; what has no figure contributes one."""
    counts = [{"rows": 100, "baseline": 1000}, {"rows": 990, "baseline": 1000}, {"rows": 1000, "baseline": 1000}]
    share = _share(_results(*counts, status=Status.FAIL))
    assert share is not None
    assert share.evidence["share"] == pytest.approx(900 / 910)
    late = [*_results({"age_s": 9}, status=Status.FAIL), *_results({"age_s": 1}, {"age_s": 1})]
    share = _share(late)
    assert share is not None
    assert share.evidence["share"] == 1
