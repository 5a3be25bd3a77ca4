"""Observed time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from checks.volume import Volume
from incidents import Gap, Watch, Window
from monitor.config import Config
from monitor.summaries.coverage import Observed

START = datetime(2026, 11, 9, tzinfo=UTC)
END = 40
CHECKS = ("a.volume", "b.volume", "gone.volume")
CONFIG = Config.model_validate(
    {
        "version": 1,
        "project": "p",
        "timezone": "UTC",
        "sources": {"db": {"url": "sqlite:///x.db"}},
        "tables": [{"name": name, "source": "db", "checks": [Volume(min=1)]} for name in ("a", "b")],
    }
)
HOURS = st.integers(0, END)
GAPS = st.lists(st.tuples(st.sampled_from(CHECKS), HOURS, HOURS).filter(lambda gap: gap[1] < gap[2]), max_size=8)
RUNS = st.dictionaries(st.sampled_from(CHECKS), st.tuples(HOURS, HOURS).map(sorted), max_size=3)


def _at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


@given(RUNS, GAPS, HOURS, HOURS)
def test_something_is_seen_where_a_check_had_begun_and_has_no_gap(
    runs: dict[str, Sequence[int]], gaps: list[tuple[str, int, int]], first: int, last: int
) -> None:
    """Hour by hour: a check sees from its first run on, outside of its gaps, and once removed until its last run."""
    first, last = min(first, last), max(first, last) + 1
    watches = {name: Watch(name, _at(since), _at(until), "pass") for name, (since, until) in runs.items()}
    known = [Gap(name, name.partition(".")[0], _at(start), _at(end), "not-run") for name, start, end in gaps]
    expected = any(
        since <= hour < (until if name == "gone.volume" else END)
        and not any(name == gap and start <= hour < end for gap, start, end in gaps)
        for name, (since, until) in runs.items()
        for hour in range(first, last)
    )
    observed = Observed.of(watches, known, CONFIG, _at(END))
    assert observed.in_some_of(Window.of(_at(first), _at(last))) is expected
    assert sorted(observed.starts + observed.ends) == [
        one for pair in zip(observed.starts, observed.ends, strict=True) for one in pair
    ]
