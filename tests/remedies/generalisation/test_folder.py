"""A folder of hierarchies."""

from pathlib import Path

import pytest

from remedies import Misfit
from remedies.generalisation import hierarchies_in
from remedies.generalisation.folder import hierarchy_files


def _folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return tmp_path


def test_files_are_found_by_their_names(tmp_path: Path) -> None:
    """As the column, or ending in it as ARX's do; lines and declarations."""
    folder = _folder(
        tmp_path,
        adult_hierarchy_sex__csv="M;*\nF;*\n",
        age__yaml="{type: intervals, widths: [5, 10]}",
        notes__txt="sex",
        **{"._age__csv": "what a file manager left"},
    )
    found = hierarchies_in(folder, ["sex", "age"])
    assert list(found) == ["sex", "age"]
    assert found["sex"].build(["M"]).levels == (("M", "F"), ("*", "*"))
    assert found["age"].build([17]).levels == (("17",), ("15-19",), ("10-19",), ("*",))


def test_the_longest_column_owns_a_file(tmp_path: Path) -> None:
    """`mean_age.csv` is that of `mean_age`, asked for or not."""
    folder = _folder(tmp_path, mean_age__csv="1;*\n", age__csv="2;*\n")
    assert {name: path.name for name, path in hierarchy_files(folder, ["age"], others=["mean_age"]).items()} == {
        "age": "age.csv"
    }
    assert hierarchies_in(folder, ["mean_age", "age"])["mean_age"].build([1]).values == ("1",)


def test_two_files_of_one_column_are_refused(tmp_path: Path) -> None:
    """Both are named: which is meant is unknown."""
    folder = _folder(tmp_path, age__csv="2;*\n", adult_age__csv="2;*\n")
    with pytest.raises(Misfit, match=r"two hierarchies for column 'age' in .*: adult_age.csv and age.csv; keep one"):
        hierarchies_in(folder, ["age"])
    folder = _folder(tmp_path, sex__csv="M;*\n", sex__yaml="{}")
    with pytest.raises(Misfit, match=r"sex.csv and sex.yaml"):
        hierarchies_in(folder, ["sex"])


def test_a_column_without_a_file_is_named(tmp_path: Path) -> None:
    """With the file that was probably meant."""
    folder = _folder(tmp_path, zipcode__csv="2;*\n")
    with pytest.raises(
        Misfit, match=r"no hierarchy for column 'zipcod' in .*; expected zipcod.csv, zipcod.yaml .*; did you mean"
    ):
        hierarchies_in(folder, ["zipcod"])
    with pytest.raises(Misfit, match=r"cannot be read \(FileNotFoundError\); expected a folder of hierarchies"):
        hierarchies_in(folder / "nowhere", ["age"])


def test_scalars_of_yaml_are_texts_as_they_are_written(tmp_path: Path) -> None:
    """Norway is no boolean, and a code keeps its zero; a file is looked for beside the one that names it."""
    folder = _folder(
        tmp_path,
        country__yaml="type: tree\ngroups:\n  North: [NO, 'SE', 0123]\n  none: [null, ~]\n",
        sex__yaml="{type: file, path: kept.csv}",
        kept__csv="M;*\n",
        age__yaml="{type: bins, levels: [[[null, 18], [18, null]]], root: null}",
    )
    found = hierarchies_in(folder, ["sex", "age"])
    assert found["sex"].build(["M"]).values == ("M",)
    assert found["age"].build([17]).levels == (("17",), ("<18",))
    with pytest.raises(Misfit, match="1 value is in several places: ''"):  # NULL has two places in the tree
        hierarchies_in(folder, ["country"])["country"].build([])
    _folder(tmp_path, country__yaml="{type: tree, groups: {North: [NO, 'SE', 0123, 'null']}}")
    assert hierarchies_in(folder, ["country"])["country"].build([]).values == ("NO", "SE", "0123", "null")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: intervals", "age.yaml: not valid YAML in line 1"),
        ("{type: intervals, widths: [5], widths: [6]}", "age.yaml: a key in line 1 comes twice"),
        ("{type: intervals, [5]: [6]}", "age.yaml: a key in line 1 is no text"),
        ("{type: intervals, widths: &w [5], snap: *w}", "line 1 is named again by '\\*'; write it out"),
        ("{type: interval}", "age.yaml: .*'interval'"),
        ("", "age.yaml: "),
        ("[5]", "age.yaml: "),
        ("{type: intervals, widths: [5, 7]}", "age.yaml: width 7 is no multiple of 5"),
        ("\x01", "age.yaml: not valid YAML"),
    ],
)
def test_declarations_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """The file is named, and what is wrong."""
    with pytest.raises(Misfit, match=message):
        hierarchies_in(_folder(tmp_path, age__yaml=text), ["age"])
    (tmp_path / "age.yaml").write_bytes(b"\xff")
    with pytest.raises(Misfit, match="not UTF-8 text"):
        hierarchies_in(tmp_path, ["age"])


def test_the_files_of_adult_are_found(reference_data: Path) -> None:
    """ARX's own names, and columns with a hyphen."""
    columns = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    found = hierarchies_in(reference_data / "adult" / "hierarchies", [*columns, "salary-class"])
    heights = [spec.build([]).height for spec in found.values()]
    assert heights == [1, 4, 1, 2, 3, 2, 2, 2, 1]
