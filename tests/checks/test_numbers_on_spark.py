"""Spark has the same numbers as the other engines: exact decimals, sums beyond 64 bits, NaN that lies in no range."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checks import Status, UnknownReason
from checks.accepted_values import AcceptedValues
from checks.metric import Metric
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from checks.range import Range
from sources import Source, SourceSpec, open_source
from tests.checks.ask import ask

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]  # Spark's bridge to Java

NAN = float("nan")
MONEY, LONG = Decimal("99999999999999.99"), Decimal("9" * 28 + "." + "9" * 10)
TYPES = "d DECIMAL(18,2), l DECIMAL(38,10), i BIGINT, f DOUBLE"
ROWS = [(MONEY, LONG, 2**63 - 1, NAN), (MONEY, Decimal(0), 2**63 - 1, NAN), (None, None, None, 1.0)]


@dataclass(frozen=True)
class Place:
    """A table of a Spark session, as the product reaches it."""

    source: Source
    dialect: str = "spark"

    def table(self, name: str) -> Any:
        """Return a table as an expression."""
        return self.source.table(name)

    def compiled(self, expression: Any) -> str:
        """Return the text of an expression."""
        return self.source.compile(expression)

    def run(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run a statement and return its rows by column name."""
        return self.source.fetch(sql)


@pytest.fixture
def here(spark_session: Any, tmp_path: Path) -> Iterator[Any]:
    """Return Spark with the table `t`."""
    spark_session.createDataFrame(ROWS, TYPES).write.mode("overwrite").saveAsTable("t")
    with open_source(SourceSpec("s", tmp_path, spark="local[2]")) as source:
        yield Place(source)
    spark_session.sql("DROP TABLE t")


def test_numbers(here: Any) -> None:
    """Limits of 16 and 38 digits hold to the last one, and a sum of 64 bits does not run over."""
    for column, limit, below in (("d", MONEY, "99999999999999.98"), ("l", LONG, "9" * 28 + ".9999999998")):
        assert ask(Range(column=column, max=limit), here).status is Status.PASS
        assert ask(Range(column=column, max=below), here).status is Status.FAIL
    assert ask(AcceptedValues(column="d", values=[MONEY]), here).status is Status.PASS
    assert ask(AcceptedValues(column="d", values=["99999999999999.98"]), here).observed["violations"] == 2
    assert ask(Range(column="i", max=2**70, min=-(2**70)), here).status is Status.PASS
    for column, total in (("d", "199999999999999.98"), ("i", str(2**64 - 2)), ("l", str(LONG))):
        assert ask(Metric(aggregate="sum", column=column, min=total, max=total), here).status is Status.PASS
    assert ask(Metric(aggregate="mean", column="d", min=MONEY, max=MONEY), here).status is Status.PASS


def test_nan(here: Any) -> None:
    """NaN is no NULL, lies in no range, equals itself as a key, and is in no aggregate."""
    assert ask(NotNull(columns=["f"]), here).observed == {"rows": 3, "nulls": {"f": 0}, "nan": {"f": 2}}
    for limits in ({"min": 0}, {"max": 10}):
        assert ask(Range(column="f", **limits), here).observed["violations"] == 2
    assert ask(PrimaryKey(columns=["f"]), here).observed["duplicate_keys"] == 1
    assert ask(AcceptedValues(column="f", values=[1]), here).observed["violations"] == 2
    for how in ("sum", "mean", "min", "max", "stddev"):
        assert ask(Metric(aggregate=how, column="f", max=9), here).reason is UnknownReason.NO_DATA
