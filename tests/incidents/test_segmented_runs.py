"""Tracks of segments, from what runs stored."""

import pytest

from checks import MOST_SEGMENTS
from incidents.result_tracks import FAILED, PASSED, UNKNOWN
from incidents.segmented_runs import SegmentedRun


@pytest.mark.parametrize(
    ("segments", "failing", "unknown", "followed", "rest"),
    [
        (3, 0, 0, {}, PASSED),
        (3, 1, 0, {"a": FAILED}, PASSED),
        (3, 2, 0, {"a": FAILED}, FAILED),
        (3, 0, 1, {"a": UNKNOWN}, PASSED),
        (3, 0, 2, {"a": UNKNOWN}, UNKNOWN),
        (MOST_SEGMENTS, 1, 0, {"a": FAILED}, UNKNOWN),
        (MOST_SEGMENTS, 2, 0, {"a": FAILED}, FAILED),
        (None, 0, 0, {}, UNKNOWN),
        (0, 0, 0, {}, UNKNOWN),
    ],
)
def test_the_rest_is_what_the_followed_segments_leave(segments, failing, unknown, followed, rest):
    """Those that failed beyond the followed ones fail it; where segments were not measured, it is not known to pass."""
    run = SegmentedRun(1, 2, UNKNOWN, segments, failing, unknown, followed)
    assert run.rest == rest
