"""Hierarchies that are proposed: for the kind of each column, and never with a value of it."""

from pathlib import Path

import pandas as pd
import yaml

from monitor.config.release_model import Release
from monitor.releases.disclosure.hierarchy_proposals import propose_hierarchies, release_block
from monitor.releases.disclosure.table_ref import TableRef
from monitor.scan.results import Subject, Target
from remedies.generalisation import hierarchy_spec
from sources import SourceSpec


def _place(folder: Path) -> TableRef:
    numbers = range(100)
    frame = pd.DataFrame(
        {
            "age": [20 + number * 7 % 60 for number in numbers],
            "pay": [1000.5 + 37.25 * number for number in numbers],
            "zip": [f"{53000 + number}" for number in numbers],
            "sex": ["F", "M"] * 50,
            "born": pd.to_datetime("1970-01-01") + pd.to_timedelta(range(0, 36500, 365), unit="D"),
            "seen": [f"2026-01-{1 + number % 28:02}" for number in numbers],
            "city name": [f"town of {chr(97 + number % 26)} and {number // 26} others" for number in numbers],
            "none": [None] * 100,
        }
    )
    frame.to_parquet(folder / "t.parquet")
    spec = SourceSpec(name="t", base=folder, files="t.parquet")
    return TableRef(Target(Subject("t", "t", ()), spec))


def test_ranges_prefixes_and_dates_are_proposed(tmp_path: Path) -> None:
    """By the kind of the values; names and few values become one, and a hierarchy that is proposed can be built."""
    place = _place(tmp_path)
    names = ["age", "pay", "zip", "sex", "born", "seen", "city name", "none", "gone"]
    found = propose_hierarchies(place, names)
    assert found["age"] == {"type": "intervals", "widths": [5, 10, 20]}
    assert found["pay"]["widths"] == [200, 400, 800]
    assert found["zip"] == {"type": "mask", "hide": [1, 2, 3, 4]}
    assert found["born"] == found["seen"] == {"type": "dates", "levels": ["month", "year", "5-year"]}
    assert found["sex"] == found["city name"] == found["none"] == {"type": "flat"}
    assert "gone" not in found
    for words in found.values():
        hierarchy_spec(words)


def test_a_release_to_paste_is_one(tmp_path: Path) -> None:
    """The block is YAML that a configuration takes, with odd names too."""
    columns = {"zip": "quasi-identifier", "city name": "quasi-identifier", "no": "sensitive", "年": "other"}
    block = release_block("extract", "t", columns, propose_hierarchies(_place(tmp_path), ["zip", "city name"]))
    said = yaml.safe_load(block)["releases"]["extract"]
    release = Release.model_validate(said)
    assert set(release.columns) == set(columns)
    assert (release.limits.k, release.limits.l) == (5, 2)
    assert set(release.hierarchies) == {"zip", "city name"}
