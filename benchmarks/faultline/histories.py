"""Real tables in time: a table grows by one load before each run, and its dimension is loaded again before each run.

Load n holds the rows of one period (a day, an hour, a week) and comes half an hour after it (five minutes by hour). The
run that follows comes as long after the load. No row of a load is changed later.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

import duckdb
import pandas as pd

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(weeks=1)
_TWINS: Final = ("clean", "dirty")
CLOUD: Final = (
    "ec2_cpu_utilization_24ae8d",
    "ec2_cpu_utilization_825cc2",
    "ec2_network_in_257a54",
    "rds_cpu_utilization_e47b3b",
)
"""Series of which no value of the last 90 hours lies beyond the limits that a configuration by hand has."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table by what they hold.

    `columns`: names with types of DuckDB, without `loaded_at`. `event`: when the thing happened, if a column says so.
    `reference`: a column and the key of the dimension that it names.
    """

    columns: Mapping[str, str]
    key: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    event: str | None = None
    reference: tuple[str, str] | None = None

    @property
    def texts(self) -> Sequence[str]:
        """Return the columns of text."""
        return [name for name, type_ in self.columns.items() if type_ == "VARCHAR"]

    @property
    def measures(self) -> Sequence[str]:
        """Return the columns that are neither key nor reference."""
        used = {*self.key, *((self.reference[0],) if self.reference else ())}
        return [name for name in self.columns if name not in used]


@dataclass(frozen=True)
class RealHistory:
    """A table in time. Its rows lie in `rows` of a connection, with `_row` (from 0) and `_load`.

    `warm`: the first run at which a fault may begin; the runs before it are what tools may learn from.
    """

    name: str
    shape: Shape
    period: timedelta
    begin: datetime
    runs: int
    warm: int
    connection: duckdb.DuckDBPyConnection = field(repr=False, compare=False)
    has_dimension: bool = False
    has_twin: bool = False
    """Whether the same rows are there with the errors that they had in truth (columns `twin_...`)."""

    @property
    def lag(self) -> timedelta:
        """Return how long after its period a load comes, and after the load a run."""
        return timedelta(minutes=5 if self.period == HOUR else 30)

    def loaded_at(self, load: int) -> datetime:
        """Return when a load comes."""
        return self.begin + (load + 1) * self.period + self.lag

    def now(self, run: int) -> datetime:
        """Return the time of a run."""
        return self.loaded_at(run) + self.lag


def read_histories(data: Path, names: Sequence[str] | None = None) -> Sequence[RealHistory]:
    """Return the histories that are named, or all, from the folder of reference data.

    Raises:
        FileNotFoundError: a file is not there.
    """
    makers = _makers(data)
    return [maker() for name, maker in makers.items() if names is None or name in names]


def history_names() -> Sequence[str]:
    """Return the names of all histories."""
    return list(_makers(Path()))


def _makers(data: Path) -> Mapping[str, Callable[[], RealHistory]]:
    cloud = {name: partial(_cloud, data / "nab/aws" / f"{name}.csv", name) for name in CLOUD}
    return {
        "taxi_by_day": partial(_taxi, data, "taxi_by_day", DAY, runs=214, warm=120),
        "taxi_by_hour": partial(_taxi, data, "taxi_by_hour", HOUR, runs=672, warm=504),
        **cloud,
        "weather_by_day": partial(_weather, data),
        "chinook_by_week": partial(_chinook, data),
        "sakila_by_day": partial(_sakila, data),
        "beers_by_batch": partial(_beers, data),
        "flights_by_batch": partial(_flights, data),
    }


def _made(  # noqa: PLR0913 - what a history is made of
    name: str,
    shape: Shape,
    frame: pd.DataFrame,
    period: timedelta,
    *,
    begin: datetime,
    runs: int,
    warm: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> RealHistory:
    """Return a history of rows that have an `_event`, from which their load follows. `more`: columns never shown."""
    frame = frame.sort_values("_event", kind="stable").reset_index(drop=True)
    loads = ((frame["_event"] - pd.Timestamp(begin.replace(tzinfo=None))) // pd.Timedelta(period)).astype("int64")
    frame = frame.assign(_load=loads, _row=range(len(frame)))
    frame = frame[(frame["_load"] >= 0) & (frame["_load"] < runs)]
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("frame", frame)
    columns = ", ".join(f'"{column}"::{type_} AS "{column}"' for column, type_ in {**shape.columns, **more}.items())
    connection.execute(f"CREATE TABLE rows AS SELECT {columns}, _row, _load FROM frame ORDER BY _row")
    connection.unregister("frame")
    return RealHistory(name, shape, period, begin, runs, warm, connection)


def _with_dimension(history: RealHistory, other: Sequence[str] = ()) -> RealHistory:
    """Return a history with its dimension: each key from the load in which it first occurs, with values of its own."""
    column, key = history.shape.reference or ("", "")
    more = "".join(f', any_value("{name}") AS "{name}"' for name in other)
    history.connection.execute(
        f'CREATE TABLE dimension AS SELECT "{column}" AS "{key}"{more}, min(_load) AS _load FROM rows GROUP BY 1'
    )
    return replace(history, has_dimension=True)


def _taxi(data: Path, name: str, period: timedelta, *, runs: int, warm: int) -> RealHistory:
    frame = pd.read_csv(data / "nab/nyc_taxi.csv", parse_dates=["timestamp"])
    hours = frame["timestamp"].dt.hour
    frame["part_of_day"] = [("night", "morning", "afternoon", "evening")[hour // 6] for hour in hours]
    frame["weekday"] = frame["timestamp"].dt.day_name()
    frame = frame.rename(columns={"timestamp": "began_at", "value": "passengers"}).assign(
        _event=lambda f: f["began_at"]
    )
    shape = Shape(
        {"began_at": "TIMESTAMP", "passengers": "BIGINT", "part_of_day": "VARCHAR", "weekday": "VARCHAR"},
        ("began_at",),
        ("passengers",),
        ("part_of_day", "weekday"),
        event="began_at",
    )
    return _made(name, shape, frame, period, begin=datetime(2014, 7, 1, tzinfo=UTC), runs=runs, warm=warm)


def _cloud(file: Path, name: str) -> RealHistory:
    frame = pd.read_csv(file, parse_dates=["timestamp"]).drop_duplicates("timestamp")
    frame = frame.rename(columns={"timestamp": "measured_at"}).assign(host=name[-6:], metric=name[:-7])
    frame["_event"] = frame["measured_at"]
    shape = Shape(
        {"measured_at": "TIMESTAMP", "host": "VARCHAR", "metric": "VARCHAR", "value": "DOUBLE"},
        ("measured_at",),
        ("value",),
        ("host", "metric"),
        event="measured_at",
    )
    begin = frame["measured_at"].min().to_pydatetime().replace(minute=0, tzinfo=UTC) + HOUR
    return _made(name, shape, frame, HOUR, begin=begin, runs=330, warm=240)


def _weather(data: Path) -> RealHistory:
    frame = pd.read_csv(data / "nycflights13/weather.csv", na_values=["NA"])
    frame["hour_at"] = pd.to_datetime(frame[["year", "month", "day", "hour"]])
    frame = frame.drop_duplicates(["origin", "hour_at"]).assign(_event=lambda f: f["hour_at"])
    numbers = ("temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib")
    shape = Shape(
        {"origin": "VARCHAR", "hour_at": "TIMESTAMP", **dict.fromkeys(numbers, "DOUBLE")},
        ("origin", "hour_at"),
        numbers,
        ("origin",),
        event="hour_at",
        reference=("origin", "code"),
    )
    begin = datetime(2013, 1, 1, tzinfo=UTC)
    return _with_dimension(_made("weather_by_day", shape, frame, DAY, begin=begin, runs=363, warm=180))


def _chinook(data: Path) -> RealHistory:
    sql = """
      SELECT l.InvoiceLineId AS line_id, i.InvoiceId AS invoice_id, i.CustomerId AS customer_id,
        i.InvoiceDate AS invoiced_at, i.BillingCountry AS country, l.UnitPrice AS unit_price, l.Quantity AS quantity,
        i.Total AS total, m.Name AS media
      FROM InvoiceLine l JOIN Invoice i USING (InvoiceId) JOIN Track t USING (TrackId)
        JOIN MediaType m USING (MediaTypeId)
      ORDER BY l.InvoiceLineId
    """
    connection = sqlite3.connect(f"file:{data / 'chinook/Chinook_Sqlite.sqlite'}?mode=ro", uri=True)
    frame = pd.read_sql(sql, connection, parse_dates=["invoiced_at"]).assign(_event=lambda f: f["invoiced_at"])
    connection.close()
    columns = {
        **dict.fromkeys(("line_id", "invoice_id", "customer_id"), "BIGINT"),
        "invoiced_at": "TIMESTAMP",
        "country": "VARCHAR",
        "unit_price": "DOUBLE",
        "quantity": "BIGINT",
        "total": "DOUBLE",
        "media": "VARCHAR",
    }
    numbers = ("unit_price", "quantity", "total")
    shape = Shape(
        columns, ("line_id",), numbers, ("country", "media"), event="invoiced_at", reference=("customer_id", "id")
    )
    begin = frame["invoiced_at"].min().to_pydatetime().replace(hour=0, minute=0, tzinfo=UTC)
    return _with_dimension(_made("chinook_by_week", shape, frame, WEEK, begin=begin, runs=255, warm=156), ("country",))


def _sakila(data: Path) -> RealHistory:
    text = (data / "sakila/data.sql").read_text(encoding="utf-8")
    rentals, items, films = (pd.DataFrame(list(_copied(text, name))) for name in ("rental", "inventory", "film"))
    items = items.rename(columns={"store_id": "store"})[["inventory_id", "film_id", "store"]]
    films = films[["film_id", "rental_rate", "length", "rating"]]
    frame = rentals.merge(items, on="inventory_id").merge(films, on="film_id")
    frame["rented_at"] = pd.to_datetime(frame["rental_date"], utc=True, format="mixed").dt.tz_localize(None)
    frame = frame[frame["rented_at"] < "2005-12-31"].assign(_event=lambda f: f["rented_at"])
    columns = {
        **dict.fromkeys(("rental_id", "inventory_id", "customer_id", "store"), "BIGINT"),
        "rented_at": "TIMESTAMP",
        "rental_rate": "DOUBLE",
        "length": "BIGINT",
        "rating": "VARCHAR",
    }
    shape = Shape(
        columns,
        ("rental_id",),
        ("rental_rate", "length"),
        ("rating",),
        event="rented_at",
        reference=("customer_id", "id"),
    )
    begin = datetime(2005, 5, 24, tzinfo=UTC)
    return _with_dimension(_made("sakila_by_day", shape, frame, DAY, begin=begin, runs=92, warm=63), ("store",))


def _copied(text: str, name: str) -> Iterator[Mapping[str, str | None]]:
    """Yield the rows of a table of a dump of PostgreSQL."""
    head, _, rest = text.partition(f"COPY public.{name} (")[2].partition(") FROM stdin;\n")
    columns = head.split(", ")
    for line in rest.partition("\n\\.")[0].split("\n"):
        values = [None if value == "\\N" else value for value in line.split("\t")]
        yield dict(zip(columns, values, strict=True))


def _beers(data: Path) -> RealHistory:
    names = {"beer-name": "name", "brewery-name": "brewery"}
    texts = ("name", "style", "ounces", "abv", "ibu", "brewery", "city", "state")
    columns = {"id": "BIGINT", "brewery_id": "BIGINT", **dict.fromkeys(texts, "VARCHAR")}
    shape = Shape(columns, ("id",), (), ("ounces", "state"), reference=("brewery_id", "id"))
    return _with_dimension(_batches(data / "dirty", "beers", shape, names), ("brewery",))


def _flights(data: Path) -> RealHistory:
    times = ("sched_dep_time", "act_dep_time", "sched_arr_time", "act_arr_time")
    columns = {"tuple_id": "BIGINT", **dict.fromkeys(("src", "flight", *times), "VARCHAR")}
    return _batches(data / "dirty", "flights", Shape(columns, ("tuple_id",), (), ("src",)), {})


def _batches(folder: Path, name: str, shape: Shape, names: Mapping[str, str]) -> RealHistory:
    """Return a table without times, in the order of its file, in 100 loads of a day; its twin has the real errors."""
    clean, dirty = (pd.read_csv(folder / f"{name}-{kind}.csv", dtype=str).rename(columns=names) for kind in _TWINS)
    begin, size = datetime(2025, 1, 6, tzinfo=UTC), len(clean) // 100 + 1
    first = pd.Timestamp(begin.replace(tzinfo=None))
    frame = clean.assign(_event=[first + (at // size) * pd.Timedelta(DAY) for at in range(len(clean))])
    for column in shape.measures:
        frame[f"twin_{column}"] = dirty[column]
    twins = {f"twin_{column}": shape.columns[column] for column in shape.measures}
    runs = (len(clean) - 1) // size
    history = _made(f"{name}_by_batch", shape, frame, DAY, begin=begin, runs=runs, warm=70, more=twins)
    return replace(history, has_twin=True)
