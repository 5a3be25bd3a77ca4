"""A CSV file is read as the table it is, or refused with the line and the reason; never as one column of text."""

import csv
import gzip
import io
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sources import CsvOptions, QueryFailed, SourceSpec, TimedOut, open_source
from tests.tiers import examples

LONG = 30_000
"""Rows, more than DuckDB looks at to find a layout."""


def read(folder: Path, content: bytes, name: str = "t.csv", **rest: Any) -> list[dict[str, Any]]:
    """Write a file and read it as a table."""
    (folder / name).write_bytes(content)
    with open_source(SourceSpec("s", folder, files=name, **rest)) as source:
        rows = source.fetch(source.compile(source.table(source.tables()[0])))
        [counted] = source.fetch(f"SELECT count(*) AS n FROM {source.tables()[0]}")
    assert counted["n"] == len(rows)
    return [dict(row) for row in rows]


def refusal(folder: Path, content: bytes, name: str = "t.csv", **rest: Any) -> str:
    """Write a file whose cells hold a canary, and return why it is not read; the canary is not in it."""
    with pytest.raises(QueryFailed) as caught:
        read(folder, content, name, **rest)
    assert "canary" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("above", [0, LONG])
def test_lines_of_up_to_16_mb_are_read(tmp_path: Path, above: int) -> None:
    """A long text is a text; a longer one is refused with its line."""
    start = b"id,word\n" + b"1,x\n" * above
    found = read(tmp_path, start + b"2," + b"y" * 15_000_000 + b"\n3,2026-01-01\n")
    assert [len(row["word"]) for row in found[above:]] == [15_000_000, 10]
    text = refusal(tmp_path, start + b"2," + b"canary" * 3_000_000 + b"\n")
    assert str(above + 2) in text
    assert "longer than 16 MB" in text


@pytest.mark.parametrize("rows", [3, LONG])
@pytest.mark.parametrize(
    ("usual", "other"), [(b"\n", b"\r\n"), (b"\r\n", b"\n"), (b"\n", b"\r"), (b"\r\n", b"\r"), (b"\r", b"\n")]
)
def test_line_ends_of_two_kinds_are_read(tmp_path: Path, usual: bytes, other: bytes, rows: int) -> None:
    """Rows that another program appended are rows, wherever they stand."""
    content = b"id,word" + usual + (b"1,x" + usual) * rows + b'2,"y\r\nz"' + other + b"3,z" + usual
    found = read(tmp_path, content)
    assert [row["id"] for row in found] == [1] * rows + [2, 3]
    assert found[rows]["word"] == "y\r\nz"


@pytest.mark.parametrize(
    ("row", "seen"),
    [
        (b"7\n", "1 cell, but the first row has 2"),
        (b"7,canary,8\n", "3 cells, but the first row has 2"),
        (b"7;canary\n", "1 cell, but the first row has 2"),
        (b'7,"canary\n', "an unclosed quote"),
        (b'7,"canary"x\n', "text between a closing quote and the next delimiter"),
        (b"7,canary\xe9\n", "bytes that are not valid UTF-8"),
        (b"7,canary\x00\n", "a NUL character"),
        (b"\x00" * 4096, "a NUL character"),
    ],
)
@pytest.mark.parametrize("above", [1, LONG])
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_table_is_refused_with_its_line(
    tmp_path: Path, row: bytes, seen: str, above: int, packed: bool
) -> None:
    """A row that does not belong is named by its line, also behind cells of several lines and far down."""
    content = b'id,word\n0,"a\nb"\n' + b"1,x\n" * above + row + b"8,y\n"
    refused = refusal(tmp_path, gzip.compress(content), "t.csv.gz") if packed else refusal(tmp_path, content)
    assert f"line {above + 4}: {seen}" in refused


def test_a_value_of_another_type_is_named_by_its_line(tmp_path: Path) -> None:
    """The line is that of the file, although DuckDB counts rows; in a copy too."""
    for end in (b"\n", b"\r\n"):
        for skip in (0, 2):
            content = b"\n" * skip + b'id,word\n0,"a\nb"' + end + b"1,x\n" * LONG + b"canary,y\n"
            refused = refusal(tmp_path, content, csv=CsvOptions(skip_lines=skip))
            assert f"line {LONG + 4 + skip}: a value does not fit the type of its column, BIGINT" in refused


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"id:word\n1:canary\n2:b\n", 1),
        (b"id word\n1 canary\n2 b\n", 1),
        (b"id^word\n1^canary\n", 1),
        (b"id\x1fword\n1\x1fcanary\n", 1),
        (b"id\n1;canary\n2;b\n", 2),
        (b'"id;word\n1;canary\n', 1),
        (b'id;"word\n1;canary\n', 1),
        (b"id;word\n1,canary\n2,b\n", 2),
        (b"Report of May\n\nid,word\n1,canary\n", 3),
        (b"# made by canary\nid,word\n1,a\n", 2),
    ],
)
def test_no_file_is_one_column_of_text_by_mistake(tmp_path: Path, content: bytes, line: int) -> None:
    """Another delimiter than the usual ones, or lines above the header, are a reason that says what to declare."""
    assert f"line {line}: " in refusal(tmp_path, content)


def test_a_declared_delimiter_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """When the writer changes the delimiter, the volume does not go on passing."""
    assert "no cells separated by ','" in refusal(tmp_path, b"id;word\n1;canary\n", csv=CsvOptions(delimiter=","))


def test_one_column_may_be_declared(tmp_path: Path) -> None:
    """What looks like several columns is one if a delimiter says so, and what does not is one anyway."""
    assert read(tmp_path, b"full name\nAnna Li\nBo Ek\n", csv=CsvOptions(delimiter=","))[0] == {"full name": "Anna Li"}
    assert read(tmp_path, b"note\nso; so\nwell\n") == [{"note": "so; so"}, {"note": "well"}]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    """Files with a mark are read whatever is declared."""
    content = "id,word\r\n1,café 日本\r\n".encode(encoding)
    for csv_options in (CsvOptions(), CsvOptions(encoding="cp1252")):
        assert read(tmp_path, content, csv=csv_options) == [{"id": 1, "word": "café 日本"}]


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "utf-16-le", "utf-16-be", "cp932"])
@pytest.mark.parametrize("blind", [False, True])
def test_a_declared_encoding_is_read(tmp_path: Path, encoding: str, blind: bool) -> None:
    """Texts of other encodings are read once they are declared; line ends may be mixed there too."""
    content = "番号,語\r\n1,日本\n2,表\r\n".encode(encoding)
    found = read(tmp_path, content, csv=CsvOptions(encoding=encoding), blind=blind)
    assert [row["語"] for row in found] == ["日本", "表"]


@pytest.mark.parametrize("encoding", ["latin-1", "shift_jis", "utf-16-le"])
def test_an_undeclared_encoding_is_never_guessed(tmp_path: Path, encoding: str) -> None:
    """Which of the old encodings a file is in cannot be seen; the reason names the option."""
    assert "declare csv.encoding" in refusal(tmp_path, "id,word\n1,é表canary\n".encode(encoding, "ignore"))


def test_a_wrong_encoding_is_named_by_its_line(tmp_path: Path) -> None:
    """A declared encoding that the file is not in is refused like an undeclared one."""
    content = "番号,語\n1,日本\n".encode("shift_jis") + b"2,\xff\xff\n"
    assert "line 3: bytes that are not valid shift_jis" in refusal(
        tmp_path, content, csv=CsvOptions(encoding="shift_jis")
    )


@pytest.mark.parametrize(
    "days",
    [
        ["01/02/2026", "03/04/2026"],
        ["13/02/2026", "01/02/2026"],
        ["02/13/2026"],
        ["1.2.2026"],
        ["13.02.26"],
        ["26-03-01"],
    ],
)
def test_a_day_that_can_be_read_two_ways_is_text(tmp_path: Path, days: list[str]) -> None:
    """Only dates that begin with the year are dates: what a file holds this week does not decide about the next."""
    content = "id,d\n" + "".join(f"1,{day}\n" for day in days)
    assert [row["d"] for row in read(tmp_path, content.encode())] == days
    timed = content.replace("\n1,", " 10:00:00\n1,").replace("id,d 10:00:00", "id,d")
    assert all(isinstance(row["d"], str) for row in read(tmp_path, timed.encode()))


def test_declared_formats_of_days_are_read(tmp_path: Path) -> None:
    """A declared format makes days and times of them; a value of another format is named by its line."""
    formats = CsvOptions(date_format="%d/%m/%Y", timestamp_format="%d/%m/%Y %H:%M")
    content = b"d,t\n01/02/2026,01/02/2026 10:30\n"
    assert read(tmp_path, content, csv=formats) == [{"d": date(2026, 2, 1), "t": datetime(2026, 2, 1, 10, 30)}]  # noqa: DTZ001 - naive in the file
    late = b"d,t\n" + b"01/02/2026,\n" * LONG + b"02/13/2026,\n"
    assert f"line {LONG + 2}: a value does not fit" in refusal(tmp_path, late, csv=formats)


def test_a_declared_date_in_an_unsure_format_is_refused(tmp_path: Path) -> None:
    """Who declares a column to be of days has to say how they are written."""
    declared = CsvOptions(types={"d": "DATE"})
    assert "declare csv.date_format" in refusal(tmp_path, b"id,d\n1,01/02/2026\n", csv=declared)


@pytest.mark.parametrize("day", ["2026-03-01", "2026/03/01", "2026.3.1"])
def test_a_day_that_begins_with_the_year_is_a_day(tmp_path: Path, day: str) -> None:
    """Forms that cannot be mistaken are dates without being declared."""
    assert read(tmp_path, f"id,d\n1,{day}\n".encode()) == [{"id": 1, "d": date(2026, 3, 1)}]


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    """Its columns are known, and its volume is none."""
    for content in (b"id,word\n", b"id,word", b"\xef\xbb\xbfid;word\r\n"):
        assert read(tmp_path, content) == []


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\r\n"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, content: bytes) -> None:
    """An export that failed is not a table with a column of no name."""
    assert "expected a header line with the column names" in refusal(tmp_path, content)


def test_names_that_come_again_are_numbered(tmp_path: Path) -> None:
    """Columns of one name can be distinguished."""
    assert read(tmp_path, b"id,id,ID,\n1,2,3,4\n") == [{"id": 1, "id_1": 2, "ID_2": 3, "column3": 4}]


def test_quotes_escapes_and_lines_above_are_declared(tmp_path: Path) -> None:
    """Layouts that are refused by themselves are read once they are declared, blindly as well."""
    content = b"made on Monday, by hand\n\nid,word\n1,'a, \\'b'\n"
    options = CsvOptions(quote="'", escape="\\", skip_lines=2)
    assert read(tmp_path, content, csv=options) == [{"id": 1, "word": "a, 'b"}]
    assert read(tmp_path, content, csv=options, blind=True) == [{"id": "1", "word": "a, 'b"}]


def test_files_of_other_layouts_are_one_table(tmp_path: Path) -> None:
    """Files of one table may differ in delimiter, encoding and line ends; folders stay columns."""
    for day, content in {
        "1": b"id,word\n1,a\n",
        "2": "word;id\né;2\n".encode("utf-16"),
        "3": b"id\tword\r\n3\tc\n",
    }.items():
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "t.csv").write_bytes(content)
    with open_source(SourceSpec("s", tmp_path, files="*/*.csv", table="t")) as source:
        found = source.fetch(source.compile(source.table("t").order_by("id")))
    assert [(row["id"], row["word"], row["day"]) for row in found] == [(1, "a", 1), (2, "é", 2), (3, "c", 3)]


def test_a_bad_file_of_many_is_named(tmp_path: Path) -> None:
    """Of a table of many files the one that is to blame is named, whether it shows at once or late."""
    (tmp_path / "a.csv").write_bytes(b"id,word\n1,x\n")
    for above in (1, LONG):
        (tmp_path / "b.csv").write_bytes(b"id,word\n" + b"1,x\n" * above + b"2\n")
        with (
            pytest.raises(QueryFailed, match=rf"'b\.csv', line {above + 2}: 1 cell"),
            open_source(SourceSpec("s", tmp_path, files="*.csv", table="t")) as source,
        ):
            source.fetch(source.compile(source.table("t").count().as_table()))


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"id,word\n" + b"1,x\n" * 1000, mtime=0)[:-9]])
def test_a_packed_file_that_is_cut_short_is_refused(tmp_path: Path, content: bytes) -> None:
    """A half of an upload is reported as such."""
    assert "'t.csv.gz' is truncated" in refusal(tmp_path, content, "t.csv.gz")


def test_reading_a_file_beforehand_ends_with_the_time(tmp_path: Path) -> None:
    """What is done outside the engine is within query_timeout too."""
    rows = "".join(f"{row},{row * 7919 % 1_000_003}\n" for row in range(100_000))  # less than 100 times its size packed
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"id,word\n" + rows.encode() * 200, 1))
    spec = SourceSpec("s", tmp_path, files="t.csv.gz", query_timeout=timedelta(milliseconds=200))
    with open_source(spec) as source, pytest.raises(TimedOut, match="query_timeout"):
        source.table("t")


CELLS = st.text(st.sampled_from("abé日\"',;\t|\r\n \\"), max_size=5).map(lambda text: f"q{text}")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), width=st.integers(1, 4), delimiter=st.sampled_from(",;\t|"))
def test_every_well_formed_file_is_read_whole(tmp_path: Path, data: st.DataObject, width: int, delimiter: str) -> None:
    """Whatever stands in quoted cells, and however the rows end, each cell is what was written."""
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=len(rows) + 1, max_size=len(rows) + 1))
    text = io.StringIO(newline="")
    text.write(delimiter.join(f"c{place}" for place in range(width)) + ends[0])
    for row, end in zip(rows, ends[1:], strict=True):
        csv.writer(text, delimiter=delimiter, lineterminator="", quoting=csv.QUOTE_ALL).writerow(row)
        text.write(end)
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    found = read(tmp_path, text.getvalue().encode(encoding))
    assert sorted(list(row.values()) for row in found) == sorted(rows)


LOOSE = CsvOptions(strict=False)


@pytest.mark.parametrize("rows", [0, LONG])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_rows_of_another_length_are_marked_where_they_are_allowed(tmp_path: Path, rows: int, end: bytes) -> None:
    """Wherever they stand: a cell that lacks is NULL, one too many is cut, and no row is lost."""
    lines = [b"id,word", *[b"1,x"] * rows, b"2", b"", b'3,"a,b",9', b"4,y", b"5,,"]
    found = read(tmp_path, end.join(lines) + b"\n", csv=LOOSE)[rows:]
    assert [tuple(row.values()) for row in found] == [
        (2, None, True), (3, "a,b", True), (4, "y", False), (5, None, True),
    ]  # fmt: skip


def test_the_mark_has_its_type_without_such_rows_and_without_any(tmp_path: Path) -> None:
    """A check of the column compares with true and false in any case."""
    assert read(tmp_path, b"id,word\n1,x\n", csv=LOOSE) == [{"id": 1, "word": "x", "ragged": False}]
    (tmp_path / "t.csv").write_bytes(b"id,word\n")
    with open_source(SourceSpec("s", tmp_path, files="t.csv", csv=LOOSE)) as source:
        assert str(source.table("t").schema()["ragged"]) == "boolean"


@pytest.mark.parametrize("strict", [True, False])
def test_an_open_quote_is_refused_strictly_or_not(tmp_path: Path, strict: bool) -> None:
    """Where a row ends is unknown then."""
    text = refusal(tmp_path, b'id,word\n1,x\n7,"canary\n8,y\n', csv=CsvOptions(strict=strict))
    assert "'t.csv', line 3: an unclosed quote; close it" in text


def test_a_value_of_another_type_is_named_by_its_line_among_ragged_rows(tmp_path: Path) -> None:
    """The line is that of the file as it lies, not of what is read of it."""
    content = b"id,word\n1\n\n2,x,y\n" + b"3,x\n" * LONG + b"canary,x\n"
    assert f"line {LONG + 5}: a value does not fit the type of its column" in refusal(tmp_path, content, csv=LOOSE)


def test_a_column_called_ragged_and_no_header_are_refused(tmp_path: Path) -> None:
    """The name would stand for two things, or for none."""
    assert "line 1: a column 'ragged', which csv.strict: false makes" in refusal(
        tmp_path, b"id,Ragged\n1,x\n", csv=LOOSE
    )
    text = refusal(tmp_path, b"1,x\n", csv=CsvOptions(strict=False, header=False))
    assert "csv.strict: false without a header" in text


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1), min_size=1, max_size=5
        ),
        max_size=8,
    )
)
def test_every_row_is_read_and_marked_if_it_is_ragged(tmp_path: Path, rows: list[list[str]]) -> None:
    """As many rows as were written, each with its first cells."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["one", "two", "three"], *rows])
    texts = {"one": "VARCHAR", "two": "VARCHAR", "three": "VARCHAR"}
    found = read(tmp_path, out.getvalue().encode(), csv=CsvOptions(strict=False, types=texts))
    expected = [(*row[:3], *[None] * (3 - len(row)), len(row) != 3) for row in rows]
    assert [tuple(row.values()) for row in found] == expected


@pytest.mark.parametrize("row", [b"7,8\n", b"7" * 1024], ids=["rows", "one line"])
@pytest.mark.parametrize("blind", [False, True])
def test_a_packed_file_that_holds_a_hundred_times_its_size_is_refused(tmp_path: Path, row: bytes, blind: bool) -> None:
    """Some MB that hold gigabytes keep no command busy: no more is read, whatever its parts say they hold."""
    part = gzip.compress(row * (4_000_000 // len(row)))
    packed = gzip.compress(b"a,b\n") + part * 120
    assert "100 times as many bytes" in refusal(tmp_path, packed, "t.csv.gz", blind=blind)
