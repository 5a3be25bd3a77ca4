"""A protected table in a SQLite file, a ledger beside it, and requests."""

import csv
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from monitor.answers.ask import AnswerService
from monitor.answers.data_set import DataSet
from monitor.clock import SimulatedClock
from monitor.config import Budget
from remedies.differential_privacy.answers import STATISTICS, Statistic
from sources import SourceSpec
from store import Store, StoredLedger
from tests.store.made import AT

DECLARED: Final[dict[str, Any]] = {
    "total": "1",
    "domain": {"sex": ["F", "M"], "age": {"range": [0, 99], "width": 20}, "amount": {"low": 0, "high": 100}},
}
ROWS: Final = (("ann", "F", 33, 12.0), ("bob", "M", 71, 120.0), ("eve", "F", None, None))


def table(folder: Path, rows: Any = ROWS) -> None:
    """Write the table again."""
    with closing(sqlite3.connect(folder / "people.db")) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("CREATE TABLE people (who TEXT, sex TEXT, age INTEGER, amount REAL)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)


def csv_table(folder: Path, rows: Any = ROWS) -> None:
    """Write the table as CSV."""
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("who", "sex", "age", "amount"), *rows])


def data_set(folder: Path, **declared: Any) -> DataSet:
    """Return the table with its declaration."""
    spec = SourceSpec("s", folder, url="sqlite:///people.db", blind=True)
    return DataSet("people", "people", spec, Budget.model_validate({**DECLARED, **declared}), "a key")


def csv_data_set(folder: Path, **declared: Any) -> DataSet:
    """Return the table in a CSV file with its declaration."""
    spec = SourceSpec("s", folder, files="people.csv", blind=True)
    return replace(data_set(folder, **declared), source=spec)


def statistic(**words: Any) -> Statistic:
    """Return a statistic, by default a count at 0.1."""
    said: dict[str, Any] = {"statistic": "count", **({} if "rho" in words else {"epsilon": "0.1"}), **words}
    return STATISTICS[said["statistic"]].model_validate(said)


@dataclass
class Counter:
    """A ledger with the budget of a data set, and who asks."""

    ledger: StoredLedger
    teller: AnswerService

    @classmethod
    def of(cls, store: Store, folder: Path, *budgets: DataSet) -> "Counter":
        """Create budgets."""
        ledger = StoredLedger(store, folder / "anchor")
        for budget in budgets:
            ledger.create(budget.budget, actor="ann", now=AT)
        return cls(ledger, AnswerService(ledger, SimulatedClock(AT), "ann"))

    def spent(self, of: DataSet) -> int:
        """Return what was spent, in nano units."""
        return self.ledger.balance("people", of.budget.unit).spent
