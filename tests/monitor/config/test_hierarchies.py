"""The hierarchies of a release."""

from pathlib import Path

import pytest

from monitor.config import load
from tests.monitor.config.conftest import SMALL, Load, Problems

_RELEASE = """
releases:
  extract:
    table: orders
    columns: {born: quasi-identifier, zip: quasi-identifier, sex: quasi-identifier}
    hierarchies:
      born: {type: dates, levels: [month, year]}
      zip: {type: mask, hide: [1, 2]}
      sex: {type: file, path: kept/sex.csv}
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Write the file that the release names."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "sex.csv").write_text("M;*\nF;*\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("kept")
def test_a_release_has_the_hierarchies_it_declares(load_text: Load) -> None:
    """Ready to be built for the values of a table."""
    found = load_text(SMALL + _RELEASE).config.releases["extract"].hierarchies
    assert list(found) == ["born", "zip", "sex"]
    assert found["born"].build(["2024-05-17"]).levels[1:] == (("2024-05",), ("2024",), ("*",))
    assert found["zip"].build([53715]).levels[1:] == (("5371*",), ("537**",), ("*",))
    assert found["sex"].build(["F"]).levels == (("M", "F"), ("*", "*"))


def test_a_path_begins_at_the_file_that_names_it(kept: Path) -> None:
    """Not where the command is started, and not at the folder of the configuration."""
    folder = kept / "tablewatch"
    (folder / "given").mkdir(parents=True)
    (folder / "all.yaml").write_text(SMALL, encoding="utf-8")
    (folder / "given" / "extract.yaml").write_text(_RELEASE.replace("kept/", "../../kept/"), encoding="utf-8")
    loaded = load(folder, environment={})
    spec = loaded.config.releases["extract"].hierarchies["sex"]
    assert spec.build(["M"]).height == 1
    other = kept / "other.yaml"
    other.write_text(SMALL + _RELEASE, encoding="utf-8")
    moved = kept / "kept" / "moved.yaml"
    (kept / "kept" / "kept").symlink_to(kept / "kept")
    moved.write_text(SMALL + _RELEASE, encoding="utf-8")
    assert load(other, environment={}).digest != load(moved, environment={}).digest


def test_columns_of_the_table_are_known_where_the_release_names_none(kept: Path, problems_of: Problems) -> None:
    """Its classification is that of the table."""
    del kept
    release = _RELEASE.replace(
        "    columns: {born: quasi-identifier, zip: quasi-identifier, sex: quasi-identifier}\n", ""
    )
    table = SMALL.replace(
        "    owner: crew\n    checks", "    owner: crew\n    columns: {born: quasi-identifier}\n    checks"
    )
    assert [problem.message.split(":")[0] for problem in problems_of(table + release)] == [
        "unknown column 'zip'",
        "unknown column 'sex'",
    ]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("old", "new", "line", "message", "hint"),
    [
        ("zip: {type: mask", "zipp: {type: mask", 21, "unknown column 'zipp'", "did you mean 'zip'?"),
        ("type: mask", "type: masks", 21, "unknown type of hierarchy 'masks'", "did you mean 'mask'? known: intervals"),
        ("type: mask, ", "", 21, "missing key 'type'", "known: intervals, bins"),
        ("{type: mask, hide: [1, 2]}", "mask", 21, "a hierarchy is a mapping with a 'type'", "known"),
        ("hide: [1, 2]", "hides: [1]", 21, "unknown key 'hides'", "did you mean 'hide'"),
        ("hide: [1, 2]", "hide: [2, 1]", 21, "'hide' is not ascending", ""),
        ("hide: [1, 2]", "hide: [one]", 21, "'hide' takes a whole number, not 'one'", ""),
        ("[month, year]", "[week, year]", 20, "level 'year' splits level 'week'", ""),
        ("[month, year]", "[month, years]", 20, "one of 'day', 'week'", ""),
        ("kept/sex.csv", "sex.csv", 22, "no hierarchy file 'sex.csv'", "relative to the file that names them"),
        ("{type: mask, hide: [1, 2]}", "{type: tree, groups: {a: [], b: [c, c]}}", 21, "1 group", ""),
        (
            "{type: mask, hide: [1, 2]}",
            "{type: bins, levels: [[[null, 26], [30, 51], [50, null]]]}",
            21,
            "level 1 has a gap at 26-29",
            "",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(
    problems_of: Problems, old: str, new: str, line: int, message: str, hint: str
) -> None:
    """With the line, and with what was probably meant."""
    problem = problems_of(SMALL + _RELEASE.replace(old, new))[0]
    assert message in problem.message
    assert problem.line == line
    assert hint in (problem.hint or "")


@pytest.mark.usefixtures("kept")
def test_all_faults_of_a_list_are_reported(problems_of: Problems) -> None:
    """The gap and the overlap are two problems."""
    bins = "{type: bins, levels: [[[null, 26], [30, 51], [50, null]]]}"
    found = problems_of(SMALL + _RELEASE.replace("{type: mask, hide: [1, 2]}", bins))
    assert [problem.message for problem in found] == ["level 1 has a gap at 26-29", "level 1 covers 50 twice"]


def test_hierarchies_are_a_mapping(problems_of: Problems) -> None:
    """A list of them has no columns."""
    text = SMALL + "\nreleases: {extract: {table: orders, hierarchies: [{type: mask}]}}\n"
    assert [problem.message for problem in problems_of(text)] == [
        "'hierarchies' takes a mapping of keys to values, not a list"
    ]
