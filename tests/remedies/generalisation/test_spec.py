"""How a hierarchy is declared."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from checks.risk import Hierarchy
from remedies import Misfit
from remedies.generalisation import (
    FaultKind,
    bins,
    breaks,
    coding,
    dates,
    hierarchy_spec,
    intervals,
    masks,
    path_of_null,
    read_hierarchy,
    tree,
)
from remedies.generalisation.spec import SPECS, level_name

_AGES = [17, 25, 80, None]
_DAYS = ["2024-05-17", "2024-06-01"]


@pytest.mark.parametrize(
    ("declared", "values", "made"),
    [
        (
            {"type": "intervals", "widths": [5, 10], "origin": 1, "snap": [None, 60], "top": 70, "root": "any"},
            _AGES,
            intervals(_AGES, widths=[5, 10], origin=1, snap=(None, 60), codes=(None, 70), root="any"),
        ),
        ({"type": "intervals", "widths": ["0.1"]}, [0.25], intervals([0.25], widths=[Decimal("0.1")])),
        (
            {"type": "intervals", "breaks": [[18, 65], [65]], "bottom": 10},
            _AGES,
            breaks(_AGES, levels=[[18, 65], [65]], codes=(10, None)),
        ),
        (
            {"type": "bins", "levels": [[[None, 18], [18, None]], {"all": [None, None]}], "root": None},
            _AGES,
            bins(_AGES, levels=[[(None, 18), (18, None)], {"all": (None, None)}], root=None),
        ),
        (
            {"type": "dates", "levels": ["month", "5-year"]},
            _DAYS,
            dates(_DAYS, levels=["month", "5-year"]),
        ),
        (
            {"type": "dates", "levels": ["year"], "pattern": "%d.%m.%Y"},
            ["17.5.2024"],
            dates(["17.5.2024"], levels=["year"], pattern="%d.%m.%Y"),
        ),
        ({"type": "mask", "hide": [1, 3]}, [53715], masks([53715], hide=[1, 3])),
        (
            {"type": "mask", "keep": [2], "character": "_", "length": 7},
            [53715],
            masks([53715], keep=[2], character="_", length=7),
        ),
        ({"type": "tree", "groups": {"a": ["x"], "b": ["y"]}}, ["x"], tree(None, groups={"a": ["x"], "b": ["y"]})),
        ({"type": "coding", "top": 80, "bottom": 20}, _AGES, coding(_AGES, top=80, bottom=20)),
    ],
)
def test_a_declaration_makes_what_its_function_makes(declared: Any, values: list[object], made: Hierarchy) -> None:
    """With all of its words; it is frozen, and can be written and read again."""
    spec = hierarchy_spec(declared)
    assert spec.build(values) == made
    assert hierarchy_spec(spec.model_dump(mode="json")) == spec
    assert not any(fault.fatal for fault in spec.faults(values))
    assert spec.beside(Path("elsewhere")) == spec
    with pytest.raises(ValidationError):
        spec.type = "other"  # type: ignore[attr-defined] - every declaration has a type


def test_a_file_is_looked_for_beside_the_one_that_names_it(tmp_path: Path) -> None:
    """And looked through before it is used."""
    (tmp_path / "sex.csv").write_text("M|*\nF|*\n", encoding="utf-8")
    spec = hierarchy_spec({"type": "file", "path": "sex.csv", "delimiter": "|"}).beside(tmp_path)
    assert spec.build(["M", None]) == read_hierarchy(tmp_path / "sex.csv")
    assert [fault.kind for fault in spec.faults(["M", "x"])] == [FaultKind.MISSING_VALUE]
    with pytest.raises(Misfit, match=r"sex.csv cannot be used: 1 value of the table without a line"):
        spec.build(["M", "x"])
    (tmp_path / "sex.csv").write_text("M|*\nF|*\nF|*|*", encoding="utf-8")
    assert [fault.kind for fault in spec.faults()] == [FaultKind.RAGGED]


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [
        ({"type": "intervals", "widths": [5], "root": None}, [FaultKind.UNCHANGED, FaultKind.NO_ROOT]),
        ({"type": "intervals", "breaks": [[20, 30, 70]], "root": None}, [FaultKind.UNCHANGED, FaultKind.NO_ROOT]),
        ({"type": "bins", "levels": [[[0, 20], [21, 99]]]}, [FaultKind.GAP]),
        ({"type": "tree", "groups": {"a": [17, 25, 80], "b": []}}, [FaultKind.EMPTY]),
        ({"type": "tree", "groups": {"a": [17], "b": [25]}}, [FaultKind.MISSING_VALUE, FaultKind.UNCHANGED]),
    ],
)
def test_faults_of_declarations(declared: Any, kinds: list[FaultKind]) -> None:
    """Those of the declaration first, and then those of the values in it."""
    spec = hierarchy_spec(declared)
    assert [fault.kind for fault in spec.faults(_AGES)] == kinds


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"type": "interval"}, "no type 'interval'; did you mean 'intervals'"),
        ({"widths": [5]}, "no 'type'; a hierarchy is declared by a 'type', one of intervals, bins"),
        ([], "no 'type'"),
        ({"type": "intervals"}, "either 'widths' or 'breaks'"),
        ({"type": "intervals", "widths": [5], "breaks": [[5]]}, "either 'widths' or 'breaks'"),
        ({"type": "intervals", "breaks": [[5]], "snap": [1, 2]}, "'origin' and 'snap' go with 'widths'"),
        ({"type": "intervals", "widths": [5, 7]}, "width 7 is no multiple of 5"),
        ({"type": "intervals", "widths": [5], "snap": [2, 1]}, "'snap' from 2 to 1"),
        ({"type": "intervals", "breaks": [[1], [2]]}, "2 is no break there"),
        ({"type": "intervals", "widths": ["wide"]}, "widths.0: expected a number"),
        ({"type": "intervals", "widths": [float("nan")]}, "widths.0: expected a finite number"),
        ({"type": "intervals", "width": [5]}, "width: unknown key"),
        ({"type": "intervals", "widths": [5], "root": ""}, "root: expected a non-empty text"),
        ({"type": "bins", "levels": []}, "levels: expected at least 1 of them"),
        ({"type": "dates", "levels": ["week", "month"]}, "level 'month' splits level 'week'"),
        ({"type": "dates", "levels": ["weeks"]}, "levels.0: expected one of 'day', 'week'"),
        ({"type": "mask"}, "either 'hide' or 'keep'"),
        ({"type": "coding"}, "'top' or 'bottom'"),
        ({"type": "coding", "top": 1, "bottom": 2}, "'bottom' 2 is above 'top' 1"),
        ({"type": "file"}, "path: missing"),
    ],
)
def test_what_is_no_declaration_is_refused(declared: Any, message: str) -> None:
    """It says where and what."""
    with pytest.raises(Misfit, match=message):
        hierarchy_spec(declared)


def test_lists_with_gaps_are_declared_but_not_built() -> None:
    """So that all of their faults can be shown."""
    spec = hierarchy_spec({"type": "bins", "levels": [[[None, 26], [30, 51], [50, None]]]})
    assert [(fault.kind, fault.what) for fault in spec.faults()] == [
        (FaultKind.GAP, "26-29"),
        (FaultKind.OVERLAP, "50"),
    ]
    with pytest.raises(Misfit, match="has a gap at 26-29; level 1 covers 50 twice"):
        spec.build([1])


def test_words_of_a_declaration_are_described() -> None:
    """For editors and for the reference of the configuration."""
    for word, spec in SPECS.items():
        properties = spec.model_json_schema()["properties"]
        assert properties.pop("type")["const"] == word
        assert all("description" in found for found in properties.values())


@pytest.mark.parametrize(
    ("declared", "levels"),
    [
        ({"type": "intervals", "widths": [5, 10], "top": 70}, [">=70", "bands of 5", "bands of 10"]),
        ({"type": "intervals", "breaks": [[18, 65], [65]], "root": None}, ["0 labels", "0 labels"]),
        ({"type": "bins", "levels": [[[0, 18], [18, None]]], "root": None}, ["0 labels"]),
        ({"type": "dates", "levels": ["month", "year"], "pattern": "%d.%m.%Y"}, ["month", "year"]),
        ({"type": "mask", "hide": [1, 3]}, ["last character hidden", "last 3 characters hidden"]),
        ({"type": "mask", "keep": [4, 2], "root": None}, ["first 4 characters kept", "first 2 characters kept"]),
        ({"type": "coding", "bottom": 20, "root": "any"}, ["<20"]),
        ({"type": "flat", "root": "any"}, []),
        ({"type": "tree", "groups": {"a": ["x", "z"], "b": ["y"]}}, ["2 labels"]),
    ],
)
def test_a_column_that_holds_only_null_has_the_declared_levels(declared: Any, levels: list[str]) -> None:
    """NULL stays NULL up to the root, and for good where there is none."""
    spec = hierarchy_spec(declared)
    hierarchy = spec.build([None, float("nan")])
    assert not spec.faults([None])
    root = declared.get("root", "*")
    assert path_of_null(hierarchy) == (None,) * (len(levels) + 1) + ((root,) if root else ())
    names = ["unchanged", *levels, *(["one label for all"] if root else [])]
    assert [level_name(spec, hierarchy, level) for level in range(hierarchy.height + 1)] == names


@pytest.mark.parametrize(
    ("declared", "value", "path"),
    [
        ({"type": "intervals", "widths": [5], "top": 70}, "17", ("17", "17", "15-19", "*")),
        ({"type": "intervals", "breaks": [[18]], "root": None}, "17", ("17", "<18")),
        ({"type": "bins", "levels": [[[None, 18], [18, None]]]}, "17", ("17", "<18", "*")),
        ({"type": "dates", "levels": ["month"]}, "2026-11-26", ("2026-11-26", "2026-11", "*")),
        ({"type": "coding", "bottom": 18}, "17", ("17", "<18", "*")),
    ],
)
def test_an_empty_text_stays_empty_up_to_the_root(declared: Any, value: str, path: tuple[str, ...]) -> None:
    """Among numbers or dates, and in a column that holds nothing else."""
    spec, root = hierarchy_spec(declared), declared.get("root", "*") or ""
    empty = ("",) * (len(path) - 1) + (root,)
    assert set(zip(*spec.build(["", value, None]).levels, strict=True)) == {path, empty}
    for values in ([""], ["", None]):
        hierarchy = spec.build(values)
        assert not spec.faults(values)
        assert list(zip(*hierarchy.levels, strict=True))[hierarchy.levels[0].index("")] == empty
    assert level_name(spec, spec.build([""]), 1) == level_name(spec, spec.build([None]), 1)
