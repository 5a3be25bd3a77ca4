"""A small shop whose tables are loaded as time goes by: an application's SQLite, events in Parquet, a DuckDB warehouse.

Loads write real files; a fault changes what a load writes, or keeps it from running. A fixed seed gives the numbers.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from monitor.demo import _plan as plan

_CUSTOMERS = 400
_SCHEMA = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, email TEXT, prefecture TEXT, updated_at TEXT);
CREATE TABLE orders (order_id INTEGER, customer_id INTEGER, amount INTEGER, ordered_at TEXT, loaded_at TEXT);
CREATE INDEX orders_loaded_at ON orders (loaded_at);
CREATE TABLE members (
    member_id INTEGER PRIMARY KEY, email TEXT, birth_year INTEGER, postcode TEXT, sex TEXT, spends TEXT
);
"""
_REVENUE_TABLE = """
CREATE TABLE daily_revenue (day DATE, prefecture VARCHAR, orders BIGINT, revenue BIGINT, built_at TIMESTAMPTZ)
"""
_REVENUE_OF_A_DAY = """
SELECT prefecture, count(*), sum(amount) FROM orders JOIN customers USING (customer_id)
WHERE ordered_at >= ? AND ordered_at < ? GROUP BY prefecture
"""
_MEMBERS = 600
_AREAS = ("060-08", "060-09", "980-00", "980-08", "150-00", "151-00", "160-00", "460-00", "530-00", "530-08", "810-00")
_SPENDS = ("under 5,000", "5,000 to 20,000", "20,000 to 50,000", "over 50,000")
_PREFECTURES = ("Hokkaido", "Miyagi", "Tokyo", "Aichi", "Osaka", "Hiroshima", "Fukuoka")


@dataclass
class Shop:
    """The shop's files in a folder; `start` is the Monday (aware) on which its history begins."""

    folder: Path
    start: datetime
    orders_made: int = 0
    events_made: int = 0
    fault: plan.PlantedFault | None = None
    """A fault of the live demo, while it lasts."""

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(7)

    @property
    def database(self) -> Path:
        """Return the application's SQLite file."""
        return self.folder / "shop.sqlite"

    @property
    def warehouse(self) -> Path:
        """Return the warehouse's DuckDB file."""
        return self.folder / "warehouse.duckdb"

    def build(self) -> None:
        """Create the files with their first rows."""
        (self.folder / "lake").mkdir(parents=True)
        with self._sqlite() as shop:
            shop.executescript(_SCHEMA)
            shop.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?, ?)", _members())
        with duckdb.connect(str(self.warehouse)) as warehouse:
            warehouse.execute(_REVENUE_TABLE)
        self.sync_customers(self.start - timedelta(hours=3))
        self.load_orders(self.start - timedelta(minutes=10))
        self.build_revenue(self.start - timedelta(hours=2))

    def loads(self) -> Sequence[tuple[timedelta, timedelta, Callable[[datetime], None]]]:
        """Return the loads: how often each runs, when first after the start, and what it does."""
        return (
            (timedelta(hours=1), timedelta(minutes=50), self.load_orders),
            (timedelta(hours=6), timedelta(hours=5, minutes=50), self.load_events),
            (timedelta(days=1), timedelta(hours=5), self.sync_customers),
            (timedelta(days=1), timedelta(hours=5, minutes=30), self.build_revenue),
        )

    def sync_customers(self, now: datetime) -> None:
        """Write every customer again, as the nightly sync of a CRM does."""
        if plan.STALE_CUSTOMERS.silences(now - self.start):
            return
        rows = [
            (
                number,
                None if number % 97 == 0 else f"customer{number}@example.co.jp",
                _PREFECTURES[number % len(_PREFECTURES)],
                _text(now),
            )
            for number in range(1, _CUSTOMERS + 1)
        ]
        with self._sqlite() as shop:
            shop.executemany("INSERT OR REPLACE INTO customers VALUES (?, ?, ?, ?)", rows)

    def load_orders(self, now: datetime) -> None:
        """Load the orders of the last hour."""
        if plan.LATE_LOAD.silences(now - self.start) or self.fault is plan.LATE_LOAD:
            return
        rows = self._new_orders(now)
        with self._sqlite() as shop:
            shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)
            if now == self.start + plan.DUPLICATES.begins or self.fault is plan.DUPLICATES:
                shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", rows)

    def repair_duplicates(self, _now: datetime) -> None:
        """Delete the repeated orders, as the engineer on duty does."""
        with self._sqlite() as shop:
            shop.execute("DELETE FROM orders WHERE rowid NOT IN (SELECT min(rowid) FROM orders GROUP BY order_id)")

    def repair_nulls(self, _now: datetime) -> None:
        """Fill in the customers that the deploy lost."""
        with self._sqlite() as shop:
            shop.execute("UPDATE orders SET customer_id = order_id % ? + 1 WHERE customer_id IS NULL", (_CUSTOMERS,))

    def repair_amounts(self, _now: datetime) -> None:
        """Bring the amounts back to yen."""
        with self._sqlite() as shop:
            shop.execute("UPDATE orders SET amount = amount / 100 WHERE amount >= 100000")

    def load_events(self, now: datetime) -> None:
        """Add the events of the last six hours to the day's Parquet file."""
        count = int(self._random.normal(600 if now.astimezone(self.start.tzinfo).hour >= 11 else 300, 12))
        if plan.HALF_VOLUME.touches(now - self.start):
            count //= 2
        ids = range(self.events_made, self.events_made + count)
        self.events_made += count
        moments = [
            now - timedelta(seconds=float(age)) for age in np.sort(self._random.uniform(0, 6 * 3600 - 1, count))[::-1]
        ]
        day = self.folder / "lake" / f"day={now.astimezone(self.start.tzinfo):%Y-%m-%d}"
        day.mkdir(exist_ok=True)
        file = day / "events.parquet"
        before = [pq.read_table(file, partitioning=None)] if file.exists() else []
        columns = {
            "event_id": pa.array(ids, pa.int64()),
            "session_id": pa.array([f"s{number // 3}" for number in ids], pa.string()),
            "event_at": pa.array(moments, pa.timestamp("us", tz="UTC")),
        }
        pq.write_table(pa.concat_tables([*before, pa.table(columns)]), file)

    def build_revenue(self, now: datetime) -> None:
        """Add yesterday's revenue by prefecture to the warehouse."""
        day = (now.astimezone(self.start.tzinfo) - timedelta(days=1)).date()
        with self._sqlite() as shop:
            limits = (f"{day}T00:00:00", f"{day + timedelta(days=1)}T00:00:00")
            rows = shop.execute(_REVENUE_OF_A_DAY, limits).fetchall()
        copies = 2 if now == self.start + plan.TWICE_BUILT.begins else 1
        with duckdb.connect(str(self.warehouse)) as warehouse:
            for prefecture, orders, revenue in rows * copies:
                warehouse.execute(
                    "INSERT INTO daily_revenue VALUES (?, ?, ?, ?, ?)", [day, prefecture, orders, revenue, now]
                )

    def _new_orders(self, now: datetime) -> list[tuple[int, int | None, int, str, str]]:
        count = max(2, int(self._random.poisson(6 if 8 <= now.astimezone(self.start.tzinfo).hour <= 23 else 2)))
        ids = range(self.orders_made + 1, self.orders_made + count + 1)
        self.orders_made += count
        amounts = self._random.integers(8, 400, count) * 100
        factor = 100 if plan.TIMES_HUNDRED.touches(now - self.start) else 1
        ages = np.sort(self._random.uniform(0, 3599, count))[::-1]
        lost = plan.NULLS.touches(now - self.start) or self.fault is plan.NULLS
        return [
            (
                number,
                None if lost else number % _CUSTOMERS + 1,
                int(amount) * factor,
                _text(now - timedelta(seconds=float(age))),
                _text(now),
            )
            for number, amount, age in zip(ids, amounts, ages, strict=True)
        ]

    def _sqlite(self) -> "_Connection":
        return _Connection(self.database)


class _Connection:
    """A connection that commits and closes at the end of its block."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("PRAGMA synchronous=OFF")

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._connection.commit()
        self._connection.close()


def _members() -> Iterator[tuple[int, str, int, str, str, str]]:
    """Yield the members of the loyalty programme: people who can be identified by year of birth, postcode and sex."""
    random = np.random.default_rng(11)
    years = np.clip(random.normal(1982, 14, _MEMBERS), 1938, 2007).astype(int)
    areas, houses = random.integers(0, len(_AREAS), _MEMBERS), random.integers(0, 100, _MEMBERS)
    sexes, spends = random.integers(0, 2, _MEMBERS), random.integers(0, len(_SPENDS), _MEMBERS)
    for place in range(_MEMBERS):
        postcode = f"{_AREAS[areas[place]]}{houses[place]:02}"
        sex, spent = ("F", "M")[sexes[place]], _SPENDS[spends[place]]
        yield place + 1, f"member{place + 1}@example.co.jp", int(years[place]), postcode, sex, spent


def _text(moment: datetime) -> str:
    """Write a time as the shop's application does: local wall clock without a zone."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")
