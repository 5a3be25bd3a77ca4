"""The validator of hierarchies."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies.generalisation import FaultKind, HierarchyFault, hierarchy_faults, read_hierarchy, row_faults


def _rows(text: str) -> list[list[str]]:
    return [line.split(";") for line in text.split()]


def _told(faults: tuple[HierarchyFault, ...]) -> list[tuple[FaultKind, int | None, str | int]]:
    return [(fault.kind, fault.level, fault.what) for fault in faults]


def test_a_sound_hierarchy_has_no_fault() -> None:
    """Intervals that have no value in the file are no gap."""
    assert row_faults(_rows("17;15-19;* 18;15-19;* 42;40-44;*"), [17, 18.0, None, "42"]) == ()


def test_bins_with_a_gap_and_an_overlap_are_flagged_for_both() -> None:
    """26 to 29 are in no bin and 50 is in two; the labels may stand in brackets."""
    for form in ("{}", "[{}]"):
        low, middle, high = (form.format(label) for label in ("-25", "30-50", "50-"))
        rows = [["24", low, "*"], ["25", low, "*"], ["30", middle, "*"], ["50", middle, "*"], ["51", high, "*"]]
        found = row_faults(rows)
        assert _told(found) == [(FaultKind.GAP, 1, "26-29"), (FaultKind.OVERLAP, 1, "50")]
        assert [fault.message for fault in found] == [
            "level 1 has a gap at 26-29; add an interval for it, or widen one beside it",
            "level 1 covers 50 twice; end one interval where the next begins",
        ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [(FaultKind.EMPTY, None, 0)]),
        ("a b", [(FaultKind.EMPTY, None, 2)]),
        ("a;x;* b;x;* d;y;* c;x", [(FaultKind.RAGGED, None, 1)]),
        ("a;x;* b;x;* c;y;* b;x;*", [(FaultKind.DUPLICATE, 0, 1)]),
        ("a;x;* b;x;* c;y;* b;y;*", [(FaultKind.DUPLICATE, 0, 1)]),
        ("a;;* b;x;* c;x;*", [(FaultKind.EMPTY, 1, 1)]),
        ("a;x;p;* b;x;q;* c;y;q;* d;z;q;*", [(FaultKind.SPLIT, 2, 1)]),
        ("a;x;p;* b;x;q;* c;x;r;*", [(FaultKind.SPLIT, 2, 1), (FaultKind.NOT_MONOTONE, 2, 3)]),
        ("a;x;* b;y;*", [(FaultKind.UNCHANGED, 1, 2)]),
        ("a;x b;x c;y", [(FaultKind.NO_ROOT, 1, 2)]),
        ("5;0-4;* 4;0-4;* 6;5-9;*", [(FaultKind.MISPLACED, 1, 1)]),
    ],
)
def test_each_fault(text: str, found: list[tuple[FaultKind, int | None, str | int]]) -> None:
    """Found where it is, with what is meant or how many."""
    assert _told(row_faults(_rows(text))) == found


def test_all_faults_are_found_at_once() -> None:
    """Also in what is no hierarchy."""
    text = "1;0-4;0-9;x 2;0-4;y;y 2;0-4;0-9;x 7;6-9;0-9;x 9;6-9;0-9;x 8;6-9"
    faults = row_faults(_rows(text), [1, 2, 3, 4.5, None])
    assert {fault.kind for fault in faults} == {
        FaultKind.RAGGED,
        FaultKind.DUPLICATE,
        FaultKind.MISSING_VALUE,
        FaultKind.SPLIT,
        FaultKind.GAP,
        FaultKind.UNCHANGED,
        FaultKind.NO_ROOT,
    }
    (missing,) = (fault for fault in faults if fault.kind is FaultKind.MISSING_VALUE)
    assert (missing.what, missing.message) == (
        2,
        "2 values of the table without a line; add one for each, or mend the values",
    )
    assert not any("4.5" in fault.message for fault in faults)


def test_only_what_loses_values_or_cannot_be_read_is_fatal() -> None:
    """What a label looks like, a level too many and a missing root are no reason to refuse."""
    harmless = row_faults(_rows("5;0-4 4;0-4 6;5-9 7;8-9"))
    assert {fault.kind for fault in harmless} == {FaultKind.OVERLAP, FaultKind.MISPLACED, FaultKind.NO_ROOT}
    assert not any(fault.fatal for fault in harmless)
    assert all(fault.fatal for fault in row_faults(_rows("a;x;p b;x;q"), ["c"]) if fault.kind is not FaultKind.NO_ROOT)


def test_null_may_have_any_label() -> None:
    """Its line does not keep a level from being read as intervals; it is known whether it has one or not."""
    assert row_faults(_rows("17;15-19;* 18;15-19;* 25;25-29;* ;unknown;*"), [17, None]) == ()
    assert _told(row_faults(_rows("17;15-19;*"), ["", 17])) == [
        (FaultKind.MISSING_VALUE, 0, 1),
        (FaultKind.UNCHANGED, 1, 1),
        (FaultKind.UNCHANGED, 2, 1),
    ]


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_has_no_fatal_fault_is_a_hierarchy(rows: list[list[str]]) -> None:
    """And what is none has one."""
    fatal = any(fault.fatal for fault in row_faults(rows))
    try:
        made = Hierarchy(tuple(zip(*rows, strict=True)))
    except ValueError:
        assert fatal
    else:
        assert not fatal
        assert hierarchy_faults(made) == row_faults(rows)


def test_the_ages_of_adult_stand_beside_their_intervals(reference_data: Path) -> None:
    """ARX's own file has 5 under `0-4`, 10 under `5-9` and so on; all else is sound."""
    for file in sorted((reference_data / "adult" / "hierarchies").glob("*.csv")):
        found = _told(hierarchy_faults(read_hierarchy(file)))
        expected = [(FaultKind.MISPLACED, level, count) for level, count in ((1, 20), (2, 10), (3, 5))]
        assert found == (expected if file.stem.endswith("_age") else [])


def test_values_of_a_file_are_named_and_those_of_a_table_are_not() -> None:
    """A warning names the level, the labels of the file and what to do; of a table's values it says only how many."""
    rows = _rows("a;x b;x c;y")
    (named,) = row_faults(rows, written=True)
    (counted,) = row_faults(rows)
    assert named.message.startswith("the last level, 1, has 2 labels ('x', 'y'); without a common one")
    assert "add a level that is '*' on every line" in named.message
    assert "'x'" not in counted.message
    missing = [
        row_fault
        for row_fault in row_faults(rows, ["secret"], written=True)
        if row_fault.kind is FaultKind.MISSING_VALUE
    ]
    assert ["secret" in one.message for one in missing] == [False]
