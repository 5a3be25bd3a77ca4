"""What every kind of source promises, tried on each."""

import traceback
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from sources import QueryFailed, SourceError, TableNotFound, TimedOut, Unreachable
from tests.sources.conftest import WITH_SCHEMAS, WITH_TIMEOUTS, Place, fetched

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Spark's bridge to Java leaves sockets to the collector
    pytest.mark.filterwarnings("ignore:fetch_arrow_table"),  # Ibis 12 calls what DuckDB 1.5 has a new name for
]

WRITES = (
    "INSERT INTO orders VALUES (4, 1.0, 'x', NULL)",
    "DELETE FROM orders",
    "UPDATE orders SET id = 0",
    "DROP TABLE orders",
    "CREATE TABLE planted (id INTEGER)",
    "CREATE TEMPORARY TABLE planted (id INTEGER)",
    "SELECT 1 AS one; DROP TABLE orders",
    "ATTACH DATABASE 'planted.db' AS planted",
    "COPY orders TO 'planted.csv'",
    "PRAGMA user_version = 7",
    "VACUUM",
    "SET TimeZone = 'Asia/Tokyo'",
    "EXPLAIN SELECT 1",
    "",
)


def test_rows_come_by_name_with_python_values(place: Place) -> None:
    """A statement gives its rows by column name: whole numbers, decimals where the engine has them, None for NULL."""
    with place.open() as source:
        rows = source.fetch("SELECT id, amount, note FROM orders ORDER BY id")
    exact = Decimal("10.50") if place.has_decimals else 10.5
    assert rows[0] == {"id": 1, "amount": exact, "note": None}
    assert isinstance(rows[0]["amount"], Decimal) == place.has_decimals
    assert rows[2] == {"id": 3, "amount": None, "note": "gift"}


def test_columns_hold_what_pieces_hold(place: Place) -> None:
    """An answer taken column by column has the same values, of the same types, NULL included, as one taken by rows."""
    statement = "SELECT id, amount, note, placed_at FROM orders ORDER BY id"
    with place.open() as source:
        rows = [row for piece in source.pieces(statement) for row in piece]
        found: list[tuple[Any, ...]] = []
        for columns in source.columns(statement):
            coded = [column.coded() for column in columns]
            found += zip(*([values[number] for number in places.tolist()] for values, places in coded), strict=True)
            assert [len(column) for column in columns] == [len(columns[0])] * 4
            assert columns[0].numbers().tolist() == [row[0] for row in rows]
            assert [column.arrow().to_pylist() for column in columns] == [
                list(cells) for cells in zip(*rows, strict=True)
            ]
    assert found == rows
    assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in rows]


def test_an_expression_is_compiled_and_measured(place: Place) -> None:
    """What Ibis says about a table runs in the engine and gives the numbers."""
    with place.open() as source:
        orders = source.table("orders")
        wanted = orders.aggregate(
            rows=orders.count(), missing=orders.note.isnull().sum(), newest=orders.placed_at.max()
        )
        [row] = source.fetch(source.compile(wanted))
    assert (row["rows"], row["missing"]) == (3, 1)
    assert str(row["newest"]).rstrip("0") == "2026-01-02 10:00:00.5"


def test_tables_are_named(place: Place) -> None:
    """The catalogue lists the tables."""
    with place.open() as source:
        assert "orders" in source.tables()


@pytest.mark.parametrize("place", WITH_SCHEMAS, indirect=True)
def test_a_schema_stands_before_the_dot(place: Place) -> None:
    """`sales.refunds` is the table `refunds` of the schema `sales`."""
    with place.open() as source:
        refunds = source.table("sales.refunds")
        assert source.fetch(source.compile(refunds.select("id"))) == [{"id": 7}]


def test_an_unknown_table_is_not_found_and_the_near_one_is_named(place: Place) -> None:
    """A misspelt table is TableNotFound, with the name that was probably meant."""
    with place.open() as source, pytest.raises(TableNotFound, match=r"table 'ordres' not found.*did you mean 'orders'"):
        source.table("ordres")


def test_an_unknown_schema_is_not_found(place: Place) -> None:
    """A table of a schema that does not exist is TableNotFound."""
    with place.open() as source, pytest.raises(TableNotFound):
        source.table("nowhere.orders")


@pytest.mark.parametrize("statement", WRITES)
def test_nothing_can_be_written(place: Place, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not one SELECT is refused, and the table is as it was."""
    monkeypatch.chdir(place.spec.base)
    before = sorted(path.name for path in place.spec.base.iterdir())
    with place.open() as source:
        with pytest.raises(QueryFailed):
            source.fetch(statement)
        assert source.fetch("SELECT count(*) AS n, min(id) AS least FROM orders") == [{"n": 3, "least": 1}]
    assert sorted(path.name for path in place.spec.base.iterdir()) == before


@pytest.mark.parametrize("place", WITH_TIMEOUTS, indirect=True)
def test_an_endless_statement_is_stopped(place: Place, impatient: dict[str, timedelta]) -> None:
    """A statement that outlives query_timeout is TimedOut, and the source still answers afterwards."""
    with place.open(**impatient) as source:
        with pytest.raises(TimedOut, match=r"no answer within 0.3 s; see query_timeout"):
            source.fetch(place.endless)
        patient = fetched(source, "SELECT 1 AS one")
    assert patient == [{"one": 1}]


def test_a_failing_statement_is_told_in_our_words(place: Place) -> None:
    """An error names the source and the driver's class, and hides the driver's own error."""
    statement = "SELECT 1 / 0 AS n, nosuchcolumn_canary FROM orders"
    with place.open() as source, pytest.raises(SourceError) as caught:
        source.fetch(statement)
    result = "".join(traceback.format_exception(caught.value))
    assert "source 'shop'" in str(caught.value)
    assert "nosuchcolumn_canary" not in result.replace(statement, "")


def test_a_value_that_does_not_fit_is_not_printed(place: Place) -> None:
    """Drivers print the value that they could not convert; our error does not."""
    with place.open() as source:
        note = source.table("orders").note
        try:
            source.fetch(source.compile(note.cast("int64").sum().name("n")))
        except SourceError as error:
            result = "".join(traceback.format_exception(error))
            assert "late" not in result
            assert "gift" not in result
        else:
            assert place.kind in {"sqlite", "mysql"}, "they take text for a number without a word; all others refuse"


def test_a_frame_holds_the_named_columns_and_one_row_more(place: Place) -> None:
    """A frame has the columns in the order asked for, and one row more than the cap where the table has it."""
    with place.open() as source:
        capped = source.frame("orders", ["note", "id"], 1)
        whole = source.frame("orders", ["id"], 10)
        bare = source.frame("orders", [], 1)
    assert (list(capped.columns), len(capped)) == (["note", "id"], 2)
    assert sorted(whole["id"]) == [1, 2, 3]
    assert (len(bare), len(bare.columns)) == (2, 0)


def test_a_frame_of_an_unknown_column_names_the_near_one(place: Place) -> None:
    """A column that is not there is reported with the one that was probably meant."""
    with place.open() as source, pytest.raises(QueryFailed, match=r"column 'nots' not found.*did you mean 'note'"):
        source.frame("orders", ["nots"], 1)


def test_a_source_is_open_inside_its_block_only(place: Place) -> None:
    """Outside the block nothing answers; the block can be entered again."""
    source = place.open()
    with pytest.raises(Unreachable, match="is not open"):
        source.tables()
    for _ in range(2):
        with source:
            assert source.fetch("SELECT count(*) AS n FROM orders") == [{"n": 3}]
    with pytest.raises(Unreachable, match="is not open"):
        source.fetch("SELECT 1 AS one")
