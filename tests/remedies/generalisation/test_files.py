"""Hierarchies in ARX's form."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies import Misfit
from remedies.generalisation import masks, read_hierarchy, write_hierarchy
from remedies.generalisation._files import read_rows, rows_of, text_of_hierarchy

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def _hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Return any hierarchy whose labels are not empty; NULL may have a line."""
    leaves = draw(st.lists(_TEXT | st.just(""), min_size=1, max_size=8, unique=True))
    levels = [leaves]
    for _ in range(draw(st.integers(1, 3))):
        names = draw(st.lists(_TEXT, min_size=1, max_size=len(leaves)))
        parent = {node: names[number % len(names)] for number, node in enumerate(dict.fromkeys(levels[-1]))}
        levels.append([parent[node] for node in levels[-1]])
    return Hierarchy(tuple(map(tuple, levels)))


@given(_hierarchies(), st.sampled_from(";,\t|"))
def test_what_is_written_is_read_back(hierarchy: Hierarchy, delimiter: str) -> None:
    """Whatever its labels hold: delimiters, quotes, line breaks, byte order marks."""
    text = text_of_hierarchy(hierarchy, delimiter=delimiter)
    assert Hierarchy.from_csv(text, delimiter=delimiter) == hierarchy
    assert [tuple(row) for row in rows_of(text, delimiter=delimiter)] == list(zip(*hierarchy.levels, strict=True))


@given(_hierarchies())
def test_the_delimiter_of_arx_is_found(hierarchy: Hierarchy) -> None:
    """A file that was written with it is read back without naming it, unless another delimiter fits as well."""
    assert [tuple(row) for row in rows_of(text_of_hierarchy(hierarchy))] == list(zip(*hierarchy.levels, strict=True))


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_other_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    """By the number of cells that most lines have in common."""
    made = masks(["a1", "b2", "x,y;z"], hide=[1, 2])
    path = tmp_path / "letters.csv"
    write_hierarchy(made, path, delimiter=delimiter)
    assert read_hierarchy(path) == made


def test_files_of_other_programs_are_read(tmp_path: Path) -> None:
    """With a byte order mark, empty lines, carriage returns and a last line without an end."""
    path = tmp_path / "age.csv"
    path.write_bytes('\N{BYTE ORDER MARK}17;15-19;*\r\n\r\n25;"25-29";*'.encode())
    assert read_hierarchy(path) == Hierarchy((("17", "25"), ("15-19", "25-29"), ("*", "*")))


def test_the_files_of_adult_are_written_as_they_were_read(reference_data: Path, tmp_path: Path) -> None:
    """Byte for byte, but for the end of the last line."""
    files = sorted((reference_data / "adult" / "hierarchies").glob("*.csv"))
    assert len(files) == 9
    for file in files:
        write_hierarchy(read_hierarchy(file), tmp_path / file.name)
        assert (tmp_path / file.name).read_text(encoding="utf-8").splitlines() == file.read_text().splitlines()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be used: no line; expected value;ancestor;..."),
        (b"a\nb\n", "no line with an ancestor"),
        (
            b"a;x;*\nb;x\nb;x;*\nc;;*\nb;x;*",
            "1 line without 3 cells.*; 1 value with more than one line.*; level 1 is empty",
        ),
        (b"\xff\xfea;*", r"is not UTF-8 text \(byte 0\); save it as UTF-8"),
        (b'a;"x\nb;*', "age.csv is not a CSV file: unexpected end of data"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """The file is named, and all of its faults."""
    path = tmp_path / "age.csv"
    path.write_bytes(content)
    with pytest.raises(Misfit, match=message) as caught:
        read_hierarchy(path)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is a folder that stands where a file should."""
    with pytest.raises(Misfit, match=r"age.csv cannot be read \(FileNotFoundError\)"):
        read_rows(tmp_path / "age.csv")
    with pytest.raises(Misfit, match="cannot be read"):
        read_rows(tmp_path)


def test_values_without_a_level_cannot_be_written(tmp_path: Path) -> None:
    """A line needs two cells, or it would be ambiguous."""
    with pytest.raises(Misfit, match="a hierarchy without a level above its values cannot be written"):
        write_hierarchy(Hierarchy((("a",),)), tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
