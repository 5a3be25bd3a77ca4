"""Three databases in the likeness of Chinook, Northwind and Sakila, in the words of each engine, with rows of our own.

What each is known for is in it: names in capitals, names with spaces and views of such names, text dates, keys of two
columns, tables that refer to themselves and to each other in a circle, enums, sets, domains, spatial and search types,
partitions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

ENGINES: Final = ("postgres", "mysql", "sqlite", "duckdb")
_TYPES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "whole": ("integer", "int", "INTEGER", "INTEGER"),
    "small": ("smallint", "smallint unsigned", "SMALLINT", "USMALLINT"),
    "flag": ("boolean", "tinyint(1)", "BIT", "BOOLEAN"),
    "text": ("varchar(60)", "varchar(60)", "NVARCHAR(60)", "VARCHAR"),
    "code": ("character(5)", "char(5)", "CHARACTER(5)", "CHAR(5)"),
    "long": ("text", "longtext", "NTEXT", "TEXT"),
    "price": ("numeric(10,2)", "decimal(10,2)", "NUMERIC(10,2)", "DECIMAL(10,2)"),
    "real": ("real", "float", "REAL", "FLOAT"),
    "day": ("date", "date", "DATE", "DATE"),
    "time": ("timestamp", "datetime", "DATETIME", "TIMESTAMP"),
    "moment": ("timestamptz", "timestamp", "TIMESTAMP", "TIMESTAMPTZ"),
    "bytes": ("bytea", "longblob", "BLOB", "BLOB"),
    "rating": ("mpaa_rating", "enum('G','PG','R')", "VARCHAR(10)", "ENUM('G', 'PG', 'R')"),
    "year": ("release_year", "year", "YEAR", "INTEGER"),
    "several": ("text[]", "set('Trailers','Scenes')", "VARCHAR(99)", "VARCHAR[]"),
    "search": ("tsvector", "longtext", "TEXT", "STRUCT(word VARCHAR, place INTEGER)"),
    "place": ("point", "point", "BLOB", "MAP(VARCHAR, DOUBLE)"),
}
_VALUES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "bytes": (r"'\x0102'", "x'0102'", "x'0102'", r"'\x01\x02'::BLOB"),
    "several": ("'{Trailers}'", "'Trailers'", "'Trailers'", "['Trailers']"),
    "search": ("'dark film'", "'dark film'", "'dark film'", "{'word': 'film', 'place': 1}"),
    "place": ("'(1,2)'", "ST_GeomFromText('POINT(1 2)')", "x'00'", "MAP {'x': 1.5}"),
    "yes": ("true", "1", "1", "true"),
}
_BEFORE: Final[Mapping[str, Sequence[str]]] = {
    "postgres": (
        "CREATE TYPE mpaa_rating AS ENUM ('G', 'PG', 'R')",
        "CREATE DOMAIN release_year AS integer CHECK (VALUE BETWEEN 1901 AND 2155)",
    ),
    "mysql": ("SET sql_mode = 'ANSI_QUOTES'",),
}


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A table: its name, its columns with `{words}` for their types, and its rows by number.

    A value `{word}` is one that each engine writes in its own way.
    """

    name: str
    columns: str
    row: Callable[[int], Sequence[Any]]
    rows: int = 40


@dataclass(frozen=True, slots=True)
class Sample:
    """A database: its tables in the order of their references, views, and what is declared afterwards by engine."""

    tables: Sequence[SampleTable]
    views: Mapping[str, str]
    references: int
    """The number of foreign keys that every engine has."""
    after: Mapping[str, Sequence[str]]

    def statements(self, engine: str) -> Iterator[str]:
        """Yield the statements that make and fill it."""
        at = ENGINES.index(engine)
        types = {word: names[at] for word, names in _TYPES.items()}
        values = {f"{{{word}}}": texts[at] for word, texts in _VALUES.items()}
        yield from _BEFORE.get(engine, ())
        for table in self.tables:
            yield f'CREATE TABLE "{table.name}" ({table.columns.format(**types)})'
            for i in range(1, table.rows + 1):  # one by one: a row may refer to the one before
                row = ", ".join(_literal(value, values) for value in table.row(i))
                yield f'INSERT INTO "{table.name}" VALUES ({row})'
        yield from (f'CREATE VIEW "{name}" AS {query}' for name, query in self.views.items())
        yield from self.after.get(engine, ())


def _literal(value: Any, values: Mapping[str, str]) -> str:
    if value is None:
        return "NULL"
    return values.get(value, "'" + value.replace("'", "''") + "'") if isinstance(value, str) else str(value)


def _time(i: int, *, day: bool = False) -> str:
    at = datetime(2009, 1, 1) + timedelta(hours=7 * i)  # noqa: DTZ001 - a column without a zone
    return f"{at:%Y-%m-%d}" if day else f"{at:%Y-%m-%d %H:%M:%S}"


_CHINOOK: Final = Sample(
    (
        SampleTable("Artist", '"ArtistId" {whole} PRIMARY KEY, "Name" {text}', lambda i: (i, f"Band O'{i}")),
        SampleTable(
            "Album",
            '"AlbumId" {whole} PRIMARY KEY, "Title" {text} NOT NULL, "ArtistId" {whole} NOT NULL, '
            'FOREIGN KEY ("ArtistId") REFERENCES "Artist" ("ArtistId")',
            lambda i: (i, f"Records, vol. {i}", 1 + i % 9),
        ),
        SampleTable(
            "Track",
            '"TrackId" {whole} PRIMARY KEY, "Name" {text} NOT NULL, "AlbumId" {whole}, "Composer" {text}, '
            '"Milliseconds" {whole} NOT NULL, "Bytes" {whole}, "UnitPrice" {price} NOT NULL, '
            'FOREIGN KEY ("AlbumId") REFERENCES "Album" ("AlbumId")',
            lambda i: (
                i,
                f"Song {i}",
                1 + i % 40,
                None if i % 3 else "A. Writer",
                200_000 + i,
                5_000 * i,
                0.99 + i % 2,
            ),
            rows=400,
        ),
        SampleTable(
            "Employee",
            '"EmployeeId" {whole} PRIMARY KEY, "LastName" {text} NOT NULL, "ReportsTo" {whole}, "HireDate" {time}, '
            '"Email" {text}, FOREIGN KEY ("ReportsTo") REFERENCES "Employee" ("EmployeeId")',
            lambda i: (i, f"Name{i}", None if i == 1 else i // 2, _time(i), f"name{i}@example.org"),
            rows=8,
        ),
        SampleTable("Playlist", '"PlaylistId" {whole} PRIMARY KEY, "Name" {text}', lambda i: (i, "Music"), rows=18),
        SampleTable(
            "PlaylistTrack",
            '"PlaylistId" {whole} NOT NULL, "TrackId" {whole} NOT NULL, PRIMARY KEY ("PlaylistId", "TrackId"), '
            'FOREIGN KEY ("PlaylistId") REFERENCES "Playlist" ("PlaylistId"), '
            'FOREIGN KEY ("TrackId") REFERENCES "Track" ("TrackId")',
            lambda i: (1 + i % 18, i),
            rows=300,
        ),
    ),
    {},
    references=5,
    after={},
)
_NORTHWIND: Final = Sample(
    (
        SampleTable(
            "Customers",
            '"CustomerID" {code} PRIMARY KEY, "CompanyName" {text} NOT NULL, "Postal Code" {text}',
            lambda i: (f"AB{i:03}", f"Trader & Co {i}", f"{i:05}"),
        ),
        SampleTable(
            "Categories",
            '"CategoryID" {whole} PRIMARY KEY, "Description" {long}, "Picture" {bytes}',
            lambda i: (i, "Soft drinks", "{bytes}"),
            rows=8,
        ),
        SampleTable(
            "Products",
            '"ProductID" {whole} PRIMARY KEY, "CategoryID" {whole}, "UnitPrice" {price}, "UnitsInStock" {small}, '
            '"Discontinued" {flag} NOT NULL, FOREIGN KEY ("CategoryID") REFERENCES "Categories" ("CategoryID")',
            lambda i: (i, 1 + i % 8, 9.5 + i, 0 if i % 5 else i, "{yes}"),
        ),
        SampleTable(
            "Orders",
            '"OrderID" {whole} PRIMARY KEY, "CustomerID" {code}, "OrderDate" {text}, "ShippedDate" {day}, '
            '"Freight" {price}, FOREIGN KEY ("CustomerID") REFERENCES "Customers" ("CustomerID")',
            lambda i: (10_247 + i, f"AB{1 + i % 40:03}", _time(i, day=True), _time(i, day=True) if i % 4 else None, i),
            rows=200,
        ),
        SampleTable(
            "Order Details",
            '"OrderID" {whole} NOT NULL, "ProductID" {whole} NOT NULL, "Quantity" {small} NOT NULL, '
            '"Discount" {real} NOT NULL, PRIMARY KEY ("OrderID", "ProductID"), '
            'FOREIGN KEY ("OrderID") REFERENCES "Orders" ("OrderID"), '
            'FOREIGN KEY ("ProductID") REFERENCES "Products" ("ProductID")',
            lambda i: (10_247 + (i + 1) // 2, 1 + i % 40, i % 90, 0.25),
            rows=300,
        ),
    ),
    {
        "Alphabetical list of products": 'SELECT p.* FROM "Products" p ORDER BY p."ProductID"',
        "Order Subtotals": 'SELECT "OrderID", sum("Quantity") AS "Sub total" FROM "Order Details" GROUP BY "OrderID"',
    },
    references=4,
    after={},
)
_SAKILA: Final = Sample(
    (
        SampleTable(
            "film",
            "film_id {whole} PRIMARY KEY, title {text} NOT NULL, release_year {year}, rental_rate {price} NOT NULL, "
            "rating {rating}, special_features {several}, fulltext_words {search}, last_update {moment} NOT NULL",
            lambda i: (i, f"FILM {i}", 2006, 4.99, ("G", "PG", "R")[i % 3], "{several}", "{search}", _time(i)),
            rows=100,
        ),
        SampleTable(
            "address",
            "address_id {whole} PRIMARY KEY, address2 {text}, location {place}, last_update {moment} NOT NULL",
            lambda i: (i, None, "{place}", _time(i)),
        ),
        SampleTable(
            "store",
            "store_id {whole} PRIMARY KEY, manager_staff_id {whole} NOT NULL, address_id {whole} NOT NULL, "
            "FOREIGN KEY (address_id) REFERENCES address (address_id)",
            lambda i: (i, i, i),
            rows=2,
        ),
        SampleTable(
            "staff",
            "staff_id {whole} PRIMARY KEY, store_id {whole} NOT NULL, picture {bytes}, active {flag} NOT NULL, "
            "FOREIGN KEY (store_id) REFERENCES store (store_id)",
            lambda i: (i, i, "{bytes}", "{yes}"),
            rows=2,
        ),
        SampleTable(
            "rental",
            "rental_id {whole} PRIMARY KEY, rental_date {time} NOT NULL, film_id {whole} NOT NULL, "
            "return_date {time}, staff_id {whole} NOT NULL, FOREIGN KEY (film_id) REFERENCES film (film_id), "
            "FOREIGN KEY (staff_id) REFERENCES staff (staff_id)",
            lambda i: (i, _time(i), 1 + i % 100, _time(i + 20) if i % 9 else None, 1 + i % 2),
            rows=300,
        ),
    ),
    {"film_list": "SELECT film_id AS fid, title, rental_rate AS price, rating FROM film"},
    references=4,
    after={
        "postgres": (
            "ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id)",
            "CREATE TABLE payment (payment_id int, amount numeric, paid timestamptz) PARTITION BY RANGE (paid)",
            "CREATE TABLE payment_p1 PARTITION OF payment FOR VALUES FROM ('2022-01-01') TO ('2022-02-01')",
            "CREATE TABLE payment_p2 PARTITION OF payment FOR VALUES FROM ('2022-02-01') TO ('2022-03-01')",
            "INSERT INTO payment SELECT i, 5, date '2022-01-01' + 5 * i FROM generate_series(1, 9) i",
            "CREATE MATERIALIZED VIEW rental_by_category AS SELECT rating, count(*) AS n FROM film GROUP BY rating",
        ),
        "mysql": ("ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id)",),
    },
)
SAMPLES: Final[Mapping[str, Sample]] = {"chinook": _CHINOOK, "northwind": _NORTHWIND, "sakila": _SAKILA}
