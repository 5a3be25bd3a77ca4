"""CSV and Parquet files as tables."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import ibis
import pytest

from sources import (
    CsvOptions,
    FileTimes,
    QueryFailed,
    SourceSpec,
    TableNotFound,
    TableRemoved,
    Unreachable,
    open_source,
)
from sources._contract import Source

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return what writes a small CSV or Parquet file by its path."""

    def make(path: str, query: str = "SELECT 1 AS id") -> None:
        whole = tmp_path / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        quoted = str(whole).replace("'", "''")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{quoted}'")

    return make


def spec(folder: Path, files: str, **rest: object) -> SourceSpec:
    """Declare a source of files."""
    return SourceSpec("lake", folder, files=files, **rest)  # type: ignore[arg-type]  # the tests' shorthand


def count(source: Source, table: str) -> int:
    """Count the rows of a table."""
    [row] = source.fetch(source.compile(source.table(table).count().name("n")))
    return int(row["n"])


def test_each_file_is_a_table_named_after_its_stem(tmp_path: Path, write: Write) -> None:
    """Files of both formats, of one folder or several, become tables; what is hidden or of another kind does not."""
    for path in ("orders.csv", "deep/refunds.parquet", "deep/deeper/visits.tsv", ".hidden.csv", ".cache/x.csv"):
        write(path)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"id\n1\n2\n"))
    (tmp_path / "notes.txt").write_text("id\n1\n")
    write("_delta_log/00.checkpoint.parquet")
    (tmp_path / "folder.csv").mkdir()
    with open_source(spec(tmp_path, "**/*")) as source:
        assert source.tables() == ["orders", "packed", "refunds", "visits"]
        assert [count(source, table) for table in source.tables()] == [1, 2, 1, 1]


DAILY = FileTimes("orders-%Y-%m-%d", timedelta(hours=26))


def test_the_name_of_a_file_says_when_its_rows_were_there(tmp_path: Path, write: Write) -> None:
    """Rows of plain, packed and rewritten files have the begin of their period and what was declared after it."""
    write("orders-2026-11-21.csv")
    (tmp_path / "orders-2026-11-22.csv.gz").write_bytes(gzip.compress(b"id\n1\n2\n"))
    (tmp_path / "orders-2026-11-23.csv").write_bytes(b"note;id\r\ncaf\xe9;3\r\n")
    csv = CsvOptions(encoding="cp1252")
    with open_source(spec(tmp_path, "orders-*", table="orders", csv=csv, file_times=DAILY)) as source:
        rows = source.fetch("SELECT file_time, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1")
        assert [(row["file_time"], row["n"]) for row in rows] == [
            (datetime.fromisoformat(f"2026-11-{day} 02:00"), n) for day, n in ((22, 1), (23, 2), (24, 1))
        ]
        assert list(source.table("orders").columns) == ["id", "note", "file_time"]


def test_parquet_files_of_one_month_each(tmp_path: Path, write: Write) -> None:
    """A period is as long as the name says: a month begins on its first day."""
    for month in ("2026-10", "2026-11"):
        write(f"sales {month}.parquet")
    times = FileTimes("sales %Y-%m", timedelta(days=31))
    with open_source(spec(tmp_path, "*.parquet", table="sales", file_times=times)) as source:
        rows = source.fetch("SELECT file_time FROM sales ORDER BY 1")
    assert [row["file_time"].date() for row in rows] == [date(2026, 11, 1), date(2026, 12, 2)]


def test_a_name_without_a_period_is_an_error(tmp_path: Path, write: Write) -> None:
    """A file of another name is named, not left out, and a column that would be hidden is refused."""
    write("orders-2026-11-21.csv")
    write("orders-latest.csv")
    with pytest.raises(Unreachable, match="name of file 'orders-latest' does not have the form 'orders-%Y-%m-%d'"):
        open_source(spec(tmp_path, "*.csv", table="orders", file_times=DAILY)).__enter__()
    (tmp_path / "orders-latest.csv").unlink()
    write("orders-2026-11-22.csv", "SELECT 1 AS File_Time")
    with (
        open_source(spec(tmp_path, "*.csv", table="orders", file_times=DAILY)) as source,
        pytest.raises(QueryFailed, match="the files have a column 'file_time'"),
    ):
        source.table("orders")


def test_an_underscore_above_the_glob_hides_nothing(tmp_path: Path, write: Write) -> None:
    """Only what the glob itself finds can lie in a table format's log."""
    write("_mine/data/orders.csv")
    with open_source(spec(tmp_path, "_mine/*/*.csv")) as source:
        assert source.tables() == ["orders"]


@pytest.mark.parametrize("name", ["orders.csv", "orders [1].csv", "it's.csv", "50%*?.csv", "日本.csv", 'a"; DROP.csv'])
def test_any_file_name_is_read(tmp_path: Path, write: Write, name: str) -> None:
    """Names with brackets, quotes and stars are names, neither patterns nor SQL."""
    write(name)
    write("other.csv")
    with open_source(spec(tmp_path, name)) as source:
        assert source.tables() == [name.removesuffix(".csv")]
        assert count(source, name.removesuffix(".csv")) == 1


def test_a_dotted_stem_is_a_whole_name(tmp_path: Path, write: Write) -> None:
    """`sales.orders.parquet` is the table `sales.orders`."""
    write("sales.orders.parquet")
    with open_source(spec(tmp_path, "*.parquet")) as source:
        assert count(source, "sales.orders") == 1
        with pytest.raises(TableNotFound):
            source.table("orders")


@pytest.mark.parametrize("other", ["b/orders.csv", "a/orders.parquet", "b/ORDERS.csv"])
def test_two_files_of_one_stem_are_an_error(tmp_path: Path, write: Write, other: str) -> None:
    """Two files that would be one table are refused, both named; DuckDB's names know no case."""
    write("a/orders.csv")
    write(other)
    with (
        pytest.raises(Unreachable, match=r"would both be table '(orders|ORDERS)'.*or give 'table'"),
        open_source(spec(tmp_path, "*/*")),
    ):
        pass


@pytest.mark.parametrize("files", ["nothing/*.csv", "*.md", "notes.md", ".", ""])
def test_a_missing_file_is_reported(tmp_path: Path, files: str) -> None:
    """A glob that matches nothing readable is Unreachable, and says what was expected."""
    (tmp_path / "notes.md").write_text("id\n1\n")
    expected = "no file matches .*; expected files ending in .csv"
    with pytest.raises(Unreachable, match=expected), open_source(spec(tmp_path, files)):
        pass


@pytest.mark.parametrize("files", ["*.xlsx", "Q1.XLSX", "*"])
def test_a_file_of_another_format_is_named_with_its_remedy(tmp_path: Path, files: str) -> None:
    """A file that is there is not called missing: the error says what makes a table of it."""
    for name in ("Q1.XLSX", "a.xlsx", "notes.md"):
        (tmp_path / name).touch()
    expected = "'(Q1.XLSX|a.xlsx)' cannot be read; expected files ending in .csv.*; export each sheet as CSV"
    with pytest.raises(Unreachable, match=expected), open_source(spec(tmp_path, files)):
        pass


def test_a_glob_is_one_table(tmp_path: Path, write: Write) -> None:
    """With `table` all files are one table; columns are matched by name, a missing one is NULL."""
    write("a.csv", "SELECT 1 AS id, 'x' AS note")
    write("b.csv", "SELECT 'y' AS note, 2 AS id, true AS gift")
    with open_source(spec(tmp_path, "*.csv", table="events")) as source:
        assert source.tables() == ["events"]
        events = source.table("events")
        assert events.columns == ("id", "note", "gift")
        rows = source.fetch(source.compile(events.order_by("id")))
    assert rows == [{"id": 1, "note": "x", "gift": None}, {"id": 2, "note": "y", "gift": True}]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_are_partitions(tmp_path: Path, write: Write, ending: str) -> None:
    """Folders named `key=value` are columns of the table, typed."""
    write(f"day=2026-01-01/shop=1/part.{ending}")
    write(f"day=2026-01-02/shop=2/part.{ending}", "SELECT 2 AS id")
    with open_source(spec(tmp_path, f"*/*/*.{ending}", table="events")) as source:
        rows = source.fetch(source.compile(source.table("events").order_by("id")))
    assert rows == [
        {"id": 1, "day": date(2026, 1, 1), "shop": 1},
        {"id": 2, "day": date(2026, 1, 2), "shop": 2},
    ]


def test_one_table_has_one_format(tmp_path: Path, write: Write) -> None:
    """CSV and Parquet cannot be one table."""
    write("a.csv")
    write("b.parquet")
    with pytest.raises(Unreachable, match="mixes CSV and Parquet"), open_source(spec(tmp_path, "*", table="events")):
        pass


def test_csv_options_are_obeyed(tmp_path: Path) -> None:
    """Delimiter, header, types and the texts that mean NULL are as declared; an empty value is NULL as well."""
    (tmp_path / "a.csv").write_text("001;NA;1\n002;;-\n")
    options = CsvOptions({"column0": "VARCHAR", "column2": "DECIMAL(10,2)"}, ";", header=False, null_values=("NA", "-"))
    with open_source(spec(tmp_path, "a.csv", csv=options)) as source:
        rows = source.fetch(source.compile(source.table("a").order_by("column0")))
        assert str(source.table("a").schema()["column2"]) == "decimal(10, 2)"
    assert [row["column0"] for row in rows] == ["001", "002"]
    assert [row["column1"] for row in rows] == [None, None]
    assert rows[1]["column2"] is None


@pytest.mark.parametrize(("quoted", "seen"), [(True, [None, None, "x"]), (False, ["", None, "x"])])
def test_an_empty_text_in_quotes_may_be_a_text(tmp_path: Path, quoted: bool, seen: list[str | None]) -> None:
    """By default it is NULL, as most writers of CSV mean it."""
    (tmp_path / "t.csv").write_text('"a","b"\n"",1\n,2\n"x",3\n', encoding="utf-8")
    with open_source(spec(tmp_path, "*.csv", csv=CsvOptions({"a": "VARCHAR"}, quoted_nulls=quoted))) as source:
        assert [row["a"] for row in source.fetch("SELECT a FROM t ORDER BY b")] == seen


def test_declared_types_go_to_the_files_that_have_the_columns(tmp_path: Path, write: Write) -> None:
    """One declaration serves all files of a source; each takes the types of its own columns."""
    write("a.csv", "SELECT 1 AS id")
    write("b.csv", "SELECT 1 AS code")
    with open_source(spec(tmp_path, "*.csv", csv=CsvOptions({"code": "VARCHAR"}))) as source:
        assert source.table("a").schema()["id"].is_integer()
        assert source.table("b").schema()["code"].is_string()


def test_a_type_for_no_column_is_reported(tmp_path: Path, write: Write) -> None:
    """A type declared for a column that the only table lacks is an error with the near name."""
    write("a.csv", "SELECT 1 AS code")
    with (
        open_source(spec(tmp_path, "*.csv", csv=CsvOptions({"cods": "VARCHAR"}))) as source,
        pytest.raises(QueryFailed, match=r"csv.types names column 'cods', which is in no file; did you mean 'code'"),
    ):
        source.table("a")


@pytest.mark.parametrize(
    ("values", "kind", "keys"),
    [
        (["12345678901234567890", "12345678901234567891", "7"], "decimal(38, 0)", 3),
        (["-" + "9" * 38, "9" * 38, "5"], "decimal(38, 0)", 3),
        (["", "18446744073709551616", "18446744073709551617"], "decimal(38, 0)", 2),
        (["1" * 38 + "1", "1" * 38 + "2"], "string", 2),
        (["12345678901234567890", "1.5"], "float64", 2),
        (["12345678901234567890", "1e3"], "string", 2),
        (["12345678901234567890", "nan"], "float64", 2),
        (["1.5", "2.25"], "float64", 2),
        (["1", "9223372036854775807"], "int64", 2),
    ],
)
def test_whole_numbers_beyond_64_bits_are_told_apart(tmp_path: Path, values: list[str], kind: str, keys: int) -> None:
    """They are decimals, or texts where no decimal holds them: as floating point numbers, neighbours were one key."""
    (tmp_path / "a.csv").write_text("id,n\n" + "".join(f"{value},1\n" for value in values))
    with open_source(spec(tmp_path, "a.csv")) as source:
        column = source.table("a")["id"]
        assert str(column.type()) == kind
        [row] = source.fetch(source.compile(column.nunique().name("n")))
        assert row["n"] == keys
    declared = spec(tmp_path, "a.csv", csv=CsvOptions(types={"id": "DOUBLE"}))
    with open_source(declared) as source:
        assert str(source.table("a")["id"].type()) == "float64"


def test_whole_numbers_of_many_files_are_looked_at_together(tmp_path: Path) -> None:
    """One fraction in another file of the table makes the column floating point, as for other numbers."""
    (tmp_path / "a.csv").write_text("id\n12345678901234567890\n")
    (tmp_path / "b.csv").write_text("id\n12345678901234567891\n")
    with open_source(spec(tmp_path, "*.csv", table="t")) as source:
        assert str(source.table("t")["id"].type()) == "decimal(38, 0)"
        assert count(source, "t") == 2
    (tmp_path / "b.csv").write_text("id\n1.5\n")
    with open_source(spec(tmp_path, "*.csv", table="t")) as source:
        assert str(source.table("t")["id"].type()) == "float64"


def test_a_note_of_the_delimiter_is_no_header(tmp_path: Path) -> None:
    """The line that spreadsheets write above the header is named, with what to declare; then the file is read."""
    (tmp_path / "a.csv").write_text("sep=;\r\nid;v\r\n1;2\r\n")
    with open_source(spec(tmp_path, "a.csv")) as source, pytest.raises(QueryFailed) as error:
        source.table("a")
    assert "line 1: a note of the delimiter for spreadsheets, not a header" in str(error.value)
    assert "declare csv.skip_lines: 1 and csv.delimiter: ';'" in str(error.value)
    declared = CsvOptions(skip_lines=1, delimiter=";")
    with open_source(spec(tmp_path, "a.csv", csv=declared)) as source:
        assert source.table("a").columns == ("id", "v")


def test_an_unknown_type_is_reported(tmp_path: Path, write: Write) -> None:
    """A type that DuckDB does not have is an error that points at `csv`."""
    write("a.csv")
    with (
        open_source(spec(tmp_path, "*.csv", csv=CsvOptions({"id": "STRNIG"}))) as source,
        pytest.raises(QueryFailed, match=r"'a.csv' cannot be read: .*the csv options do not fit"),
    ):
        source.table("a")


def test_a_broken_file_spoils_its_own_table_only(tmp_path: Path, write: Write) -> None:
    """A Parquet file cut short fails as a table; the others are read."""
    write("good.parquet")
    (tmp_path / "bad.parquet").write_text("canary" * 10)
    with open_source(spec(tmp_path, "*.parquet")) as source:
        assert count(source, "good") == 1
        with pytest.raises(QueryFailed, match=r"'bad.parquet' cannot be read: incomplete") as caught:
            source.table("bad")
        assert "canary" not in str(caught.value)
        assert source.fetch("SELECT count(*) AS n FROM good") == [{"n": 1}]


def test_a_value_that_breaks_the_detected_type_is_not_printed(tmp_path: Path) -> None:
    """A word far down in a column of numbers fails the statement, points at csv.types and is not shown."""
    (tmp_path / "a.csv").write_text("n\n" + "1\n" * 50_000 + "canary\n")
    with open_source(spec(tmp_path, "a.csv")) as source:
        numbers = source.table("a")
        with pytest.raises(
            QueryFailed, match=r"'a\.csv', line 50002: a value does not fit .* BIGINT; declare csv\.types"
        ) as caught:
            source.fetch(source.compile(numbers.aggregate(total=numbers.n.sum())))
        assert "canary" not in str(caught.value)


def test_a_file_that_goes_away_is_a_table_that_is_gone(tmp_path: Path, write: Write) -> None:
    """A file that went away during the pass is reported as such; the source's other tables are still there."""
    write("a.csv")
    write("b.csv")
    with open_source(spec(tmp_path, "*.csv")) as source:
        source.table("a")
        (tmp_path / "a.csv").unlink()
        with pytest.raises(TableRemoved, match=r"'a.csv' was removed while checks were running"):
            source.fetch("SELECT count(*) AS n FROM a")
        assert count(source, "b") == 1


def test_a_statement_may_name_any_table_of_the_source(tmp_path: Path, write: Write) -> None:
    """Tables without a view are there for a statement of one's own, whatever their neighbours are."""
    write("orders.csv", "SELECT 1 AS id")
    write("refunds.csv", "SELECT 1 AS id")
    (tmp_path / "bad.parquet").write_text("junk" * 10)
    with open_source(spec(tmp_path, "*")) as source:
        assert source.fetch("SELECT count(*) AS n FROM orders JOIN refunds USING (id)") == [{"n": 1}]
        with pytest.raises(QueryFailed, match="names a table or function that does not exist"):
            source.fetch("SELECT count(*) AS n FROM nowhere")


def test_a_link_in_the_folder_is_followed(tmp_path: Path, write: Write) -> None:
    """A linked file that the glob matches is one of the declared files, wherever it lies."""
    write("elsewhere/real.csv")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "linked.csv").symlink_to(tmp_path / "elsewhere" / "real.csv")
    with open_source(spec(tmp_path, "here/*.csv")) as source:
        assert count(source, "linked") == 1


def test_a_path_may_be_absolute_or_lead_up(tmp_path: Path, write: Write) -> None:
    """Relative globs belong to the base, absolute ones do not."""
    write("data/a.csv")
    (tmp_path / "config").mkdir()
    for files in (f"{tmp_path}/data/*.csv", "../data/*.csv", "../data/a.csv"):
        with open_source(spec(tmp_path / "config", files)) as source:
            assert count(source, "a") == 1


@pytest.mark.reference_data
def test_the_weather_table_is_read_as_published(reference_data: Path) -> None:
    """The weather table has its published rows, NULLs and duplicate keys, and its hours are moments in UTC."""
    declared = spec(reference_data, "nycflights13/*.csv", csv=CsvOptions(null_values=("NA",)))
    with open_source(declared) as source:
        weather = source.table("weather")
        assert str(weather.schema()["time_hour"]).startswith("timestamp('UTC'")
        assert weather.schema()["wind_gust"].is_floating()
        nulls = {name: weather[name].isnull().sum() for name in ("wind_gust", "pressure", "wind_dir")}
        [row] = source.fetch(source.compile(weather.aggregate(rows=weather.count(), **nulls)))
        key = weather.group_by("origin", "year", "month", "day", "hour").aggregate(n=weather.count())
        [twice] = source.fetch(source.compile(key.filter(key.n > 1).count().name("n")))
    assert row == {"rows": 26_115, "wind_gust": 20_778, "pressure": 2_729, "wind_dir": 460}
    assert twice == {"n": 3}


@pytest.mark.parametrize(
    ("cells", "is_time"),
    [
        (["2026-11-25 10:00:00+09:00", "2026-11-25 01:00:00Z"], True),
        (["2026-11-25T10:00:00.5+0900", ""], True),
        (["2026-11-25 10:00:00+09:00", "2026-11-25 10:00:00"], False),
        (["2026-11-25 10:00:00+09:00", "2026-11-25"], False),
    ],
)
@pytest.mark.parametrize("split", [True, False])
def test_a_csv_time_without_an_offset_is_not_one_of_utc(
    tmp_path: Path, cells: list[str], is_time: bool, split: bool
) -> None:
    """Where some times have an offset and others none, the column is text, in one file and in several."""
    rows = [f"{number},{cell}" for number, cell in enumerate(cells)]
    for number, part in enumerate([[row] for row in rows] if split else [rows]):
        (tmp_path / f"{number}.csv").write_text("\n".join(["id,at", *part, ""]), encoding="utf-8")
    with open_source(spec(tmp_path, "*.csv", table="events")) as source:
        kind = source.table("events").at.type()
    assert (kind.is_timestamp(), kind.is_string()) == (is_time, not is_time)


@pytest.mark.parametrize(
    ("cells", "is_text"),
    [
        (["0x10", "16"], True),
        (["0x10", "0x11"], True),
        (["1e3", "1000", "5"], True),
        (["12e4", "13", "77"], True),
        (["1", " 1", "2"], True),
        (["1e3", "2e5"], False),
        (["1e3", "2.5", "7"], False),
        ([" 1", " 2", "10"], False),
        (["-1", "0", "1"], False),
        (["1.0", "1.00", "2"], False),
    ],
)
def test_codes_of_a_csv_file_are_not_read_as_numbers(tmp_path: Path, cells: list[str], is_text: bool) -> None:
    """Different texts that DuckDB would read as one number stay texts where they look like codes."""
    rows = [f"{number},{cell}" for number, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["id,code", *rows, ""]), encoding="utf-8")
    with open_source(spec(tmp_path, "t.csv")) as source:
        table = source.table("t")
        assert table.code.type().is_string() == is_text
        rows = source.fetch(source.compile(table.select("code")))
        assert not is_text or {row["code"] for row in rows} == set(cells)
        assert table.id.type().is_integer()


def test_the_broken_file_of_many_is_named(tmp_path: Path, write: Write) -> None:
    """Of several Parquet files, the message names the one that is none."""
    write("a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"")
    text = r"'b.parquet' cannot be read: incomplete, or not Parquet"
    with open_source(spec(tmp_path, "*.parquet", table="events")) as source, pytest.raises(QueryFailed, match=text):
        source.table("events")


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("content", [b"no gzip", b"\x1f\x8b\x08\x00cut short"])
def test_a_false_gzip_is_named(blind: bool, content: bytes, tmp_path: Path) -> None:
    """The file and the fault are named, also where no row may decide how it is read."""
    (tmp_path / "t.csv.gz").write_bytes(content)
    source = open_source(SourceSpec("s", tmp_path, files="*.csv.gz", blind=blind))
    with source, pytest.raises(QueryFailed, match=r"'t\.csv\.gz' is truncated or not gzip-compressed"):
        source.table("t")


def test_files_are_read_without_pandas(tmp_path: Path, write: Write) -> None:
    """CSV with dates, and Parquet of two shapes, are opened and counted before pandas, which costs memory and time."""
    write("it's.csv", "SELECT '2026-01-0' || i AS day FROM range(1, 4) t(i)")
    write("p/a.parquet", "SELECT 1.5::DECIMAL(20, 2) AS n")
    write("p/b.parquet", "SELECT 2 AS n, 'x' AS word")
    program = (
        "import sys; from pathlib import Path; from sources import SourceSpec, open_source\n"
        "for files, name in (('*.csv', \"it's\"), ('p/*.parquet', 'p')):\n"
        "    with open_source(SourceSpec('s', Path(sys.argv[1]), files=files, table=name)) as source:\n"
        "        print(*source.fetch(source.compile(source.table(name).count().as_table()))[0].values())\n"
        "print('pandas' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["3", "2", "False"]


def test_a_statement_names_a_hundred_columns_of_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes are found in each of 250 columns, and Ibis compiles each question about them once, not per column."""
    names = [f"c{at}" for at in range(250)]
    rows = [["0x10" if at == 249 else str(row * at) for at in range(250)] for row in range(3)]
    text = "\n".join(",".join(cells) for cells in [names, *rows])
    (tmp_path / "wide.csv").write_text(text + "\n", encoding="utf-8")
    compiled = []
    to_sql = ibis.to_sql
    monkeypatch.setattr(ibis, "to_sql", lambda *args, **rest: compiled.append(args) or to_sql(*args, **rest))
    with open_source(spec(tmp_path, "wide.csv")) as source:
        kinds = source.table("wide").schema()
    assert (kinds["c248"].is_integer(), kinds["c249"].is_string()) == (True, True)
    assert len(compiled) <= 4
