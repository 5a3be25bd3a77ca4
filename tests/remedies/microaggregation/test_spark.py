"""Tables of Spark are microaggregated cell by cell, and whole groups travel."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks._donors import donors
from remedies import Misfit
from remedies.microaggregation import information_loss, microaggregate, spark

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]  # Spark's bridge to Java
TYPES = (
    "name string, age int, income double, height float, visits bigint, seen timestamp, heard timestamp_ntz, "
    "debt decimal(12,2), more map<string,int>"
)
COLUMNS = ["age", "income", "height", "visits"]


@pytest.fixture(scope="module")
def people(spark_session: Any) -> Any:
    """Return a table of 3,000 people, with columns of many types."""
    rng = np.random.default_rng(1)
    rows = [
        (
            f"p{number}",
            int(rng.integers(18, 90)),
            float(rng.lognormal(10, 1)),
            float(np.float32(rng.normal(170, 9))),
            int(rng.poisson(3)),
            datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number),
            datetime(2026, 1, 1) if number % 2 else None,  # noqa: DTZ001 - a time without a zone is what is tested
            None if number % 3 else Decimal(number) / 100,
            {"a": number},
        )
        for number in range(3_000)
    ]
    return spark_session.createDataFrame(rows, TYPES).repartition(3).cache()


def _groups(frame: Any) -> list[int]:
    return [row["count"] for row in frame.groupBy(*COLUMNS).count().collect()]


@pytest.mark.parametrize("sweeps", [0, 1, 2])
def test_k_holds_after_every_stage(people: Any, sweeps: int) -> None:
    """Whichever stage is the last one, no record is alone in its group, and none is lost."""
    sizes = _groups(spark.microaggregate(people, COLUMNS, 4, cells=4, sweeps=sweeps))
    assert min(sizes) >= 4
    assert sum(sizes) == 3_000


def test_other_columns_and_all_types_are_kept(people: Any) -> None:
    """Only the named columns change; types, names and the other cells of each record are as they were."""
    treated = spark.microaggregate(people, COLUMNS, 3, cells=4, sweeps=1)
    assert [(field.name, field.dataType) for field in treated.schema] == [
        (field.name, field.dataType) for field in people.schema
    ]
    others = [name for name in people.columns if name not in COLUMNS]
    assert _by_name(treated.select(others)) == _by_name(people.select(others))
    assert _by_name(treated) != _by_name(people)


def test_the_order_of_the_input_is_not_in_the_output(spark_session: Any) -> None:
    """Rows that were sorted come out in random order, in another one each time, and as the same rows in all of them."""
    frame = spark_session.range(2_000).selectExpr("id", "cast(id * 7919 % 1009 as int) as age").repartition(1)
    treated = spark.microaggregate(frame.sort("id"), ["age"], 3, cells=4, sweeps=1)
    orders = [[row["id"] for row in treated.collect()]]
    orders += [[row["id"] for row in treated.collect()]]
    orders += [[row["id"] for row in spark.microaggregate(frame, ["age"], 3, cells=4, sweeps=1).collect()]]
    assert orders[0] == orders[1] != orders[2]
    for order in (orders[0], orders[2]):
        assert sorted(order) == list(range(2_000))
        assert (np.asarray(order) == np.arange(2_000)).sum() <= 12
        assert stats.spearmanr(order, np.arange(2_000)).pvalue > 1e-9
        assert stats.spearmanr(order[1:], order[:-1]).pvalue > 1e-9
        ages = np.asarray(order) * 7919 % 1009
        assert stats.spearmanr(ages, np.arange(2_000)).pvalue > 1e-9


def test_the_partitioning_does_not_matter(people: Any) -> None:
    """The same rows in another order and in other partitions give the same rows."""
    one, other = (
        spark.microaggregate(frame, COLUMNS, 3, cells=4, seed=7, sweeps=2)
        for frame in (people, people.orderBy("name").repartition(5))
    )
    assert _by_name(one) == _by_name(other)


def test_little_is_lost_by_cells(spark_session: Any) -> None:
    """Centroids are means of their groups, and cells lose little more than the whole table at once."""
    table = donors(4_000)[:, :6]
    names = [f"c.{number}" for number in range(6)]
    frame = spark_session.createDataFrame(table.tolist(), names)
    treated = np.array(spark.microaggregate(frame, names, 5, cells=8).collect())
    _, labels = np.unique(treated, axis=0, return_inverse=True)
    assert np.allclose(treated.mean(axis=0), table.mean(axis=0))
    scores = (table.std(axis=0) ** 2 - treated.std(axis=0) ** 2) / table.std(axis=0) ** 2
    assert np.bincount(labels).min() >= 5
    assert 100 * scores.mean() < 1.15 * microaggregate(table, 5, sweeps=3).information_loss
    assert information_loss(treated, labels) == pytest.approx(0, abs=1e-9)


def test_many_equal_records_are_parted(spark_session: Any) -> None:
    """A value that most records hold is one cell by value; it is worked on in parts, and k holds."""
    rows = [(f"p{number}", 1 if number < 2_500 else number, 1.0) for number in range(3_000)]
    frame = spark_session.createDataFrame(rows, "name string, age int, income double")
    treated = spark.microaggregate(frame, ["age", "income"], 5, cells=8, sweeps=1)
    sizes = {tuple(row)[:2]: row["count"] for row in treated.groupBy("age", "income").count().collect()}
    assert min(sizes.values()) >= 5
    assert sizes[1, 1.0] >= 2_490


def test_fewer_than_2k_records_are_one_group(spark_session: Any) -> None:
    """Whole numbers are rounded half to even."""
    frame = spark_session.createDataFrame([(1,), (2,)], "a int")
    assert [row.a for row in spark.microaggregate(frame, ["a"], 2).collect()] == [2, 2]


@pytest.mark.parametrize(
    ("change", "columns", "k", "said"),
    [
        (lambda frame: frame, ["agee"], 3, "column 'agee' not found; did you mean 'age'?"),
        (lambda frame: frame, ["name"], 3, "column 'name' has type string; expected integers or floats"),
        (lambda frame: frame, [], 3, "no columns are named"),
        (lambda frame: frame, ["age"], 1, "k is 1; a group needs at least 2 records"),
        (lambda frame: frame, ["age"], 4000, "the table has 3000 records; groups of k = 4000 need at least 4000"),
        (lambda frame: frame.limit(0), ["age"], 2, "the table has 0 records"),
        (lambda frame: frame.selectExpr("IF(age < 50, NULL, age) AS age"), ["age"], 3, "missing or infinite values"),
        (lambda frame: frame.selectExpr("IF(age < 50, double('NaN'), 1) AS age"), ["age"], 3, "missing or infinite"),
        (lambda frame: frame.selectExpr("IF(age < 50, double('-inf'), 1) AS age"), ["age"], 3, "missing or infinite"),
        (lambda frame: frame.selectExpr("age + 9007199254740992 AS age"), ["age"], 3, r"2\*\*53 or more"),
        (lambda frame: frame.selectExpr("income * 1e300 AS age"), ["age"], 3, "squares are no float"),
    ],
)
def test_what_does_not_fit_is_refused(
    people: Any, change: Callable[[Any], Any], columns: list[str], k: int, said: str
) -> None:
    """The message names column and rule, and no value."""
    with pytest.raises(Misfit, match=said.replace("?", r"\?")):
        spark.microaggregate(change(people), columns, k)


def _by_name(frame: Any) -> list[str]:
    return sorted(str(row.asDict()) for row in frame.collect())
