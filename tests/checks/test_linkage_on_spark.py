"""Spark gives the numbers that the library gives on frames of the same rows: where two tables are looked at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from checks import ClassQuestion
from checks.classes.population import Population
from checks.classes.tables import ClassTables
from checks.delta_presence import DeltaPresence
from checks.linkage import LinkageCheck
from checks.risk import JournalistRisk, delta_presence, journalist_risk, linkage, t_closeness
from checks.t_closeness import TClosenessCheck
from sources import Source, SourceSpec, open_source
from tests.checks.ask import Question, ask

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]  # Spark's bridge to Java

DAY = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = ("n", "f", "x", "day", "at", "z", "who")
TYPES = "n BIGINT, f DOUBLE, x STRING, day DATE, at TIMESTAMP_NTZ, z TIMESTAMP_LTZ, who BIGINT"


def rows(seed: int, count: int) -> Sequence[tuple[Any, ...]]:
    """Return rows that collide often, with a NULL in every seventh value."""
    numbers = [(seed * 7 + place * (3 + seed)) % 5 for place in range(count)]
    made = []
    for place, n in enumerate(numbers):
        wall = (DAY + timedelta(hours=9 * n, microseconds=place % 2)).replace(tzinfo=None)
        day, moment = date(2026, 1, 1 + n % 3), DAY + timedelta(hours=9 * (n + place % 2))
        row: list[Any] = [
            n - 2,
            (0.7, 0.8, -0.3, float("nan"), 2.5)[n],
            "xy東"[place % 3],
            day,
            wall,
            moment,
            place % 4,
        ]
        if place % 7 == seed % 7:
            row[place % len(row)] = None
        made.append(tuple(row))
    return made


@dataclass(frozen=True)
class Place:
    """Tables of a Spark session, as the product reaches them."""

    source: Source
    dialect: str = "spark"

    def table(self, name: str) -> Any:
        """Return a table as an expression."""
        return self.source.table(name)

    def compiled(self, expression: Any) -> str:
        """Return the text of an expression."""
        return self.source.compile(expression)

    def run(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """Run a statement and give its rows by column name."""
        return self.source.fetch(sql)


@pytest.fixture
def here(spark_session: Any, tmp_path: Path) -> Iterator[Place]:
    """Yield Spark with the tables `t` and `b`."""
    for name, made in (("t", rows(1, 23)), ("b", rows(2, 17))):
        spark_session.createDataFrame(list(made), TYPES).write.mode("overwrite").saveAsTable(name)
    with open_source(SourceSpec("s", tmp_path, spark="local[2]")) as source:
        yield Place(source)
    for name in "tb":
        spark_session.sql(f"DROP TABLE {name}")


def frame(made: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return rows as a frame of objects, as they are."""
    return pd.DataFrame(made, columns=list(COLUMNS), dtype=object)


def test_linkage(here: Place) -> None:
    """Exactly and within tolerances on numbers, dates, wall clocks and moments; by rows and by people."""
    exact: Sequence[Mapping[str, Any]] = ({"on": ("n", "x")}, {"on": ("f",)}, {"on": ("x", "z")}, {"on": ("day", "x")})
    near: Sequence[Mapping[str, Any]] = (
        {"on": ("n", "x"), "tolerance": {"n": 1}},
        {"on": ("x", "f"), "tolerance": {"f": 0.1}},
        {"on": {"day": "at", "x": "x"}, "tolerance": {"day": "1d"}},
        {"on": ("at", "x"), "tolerance": {"at": "9h"}},
        {"on": ("z", "n"), "tolerance": {"z": "12h", "n": 1}},
    )
    persons: Sequence[Mapping[str, Any]] = ({}, {"entity": "who"}, {"entity": "who", "at_least": 2})
    for asked, who in product((*exact, *near), persons):
        check = LinkageCheck(auxiliary="b", **asked, **who)
        found = linkage(
            frame(rows(1, 23)),
            frame(rows(2, 17)),
            on=check.on,
            tolerance=check.tolerance,
            entity=check.entity,
            at_least=check.at_least,
        )
        seen = ask(check, here).observed  # type: ignore[arg-type]  # a place like the others
        result = (seen["matched"], seen["uniquely_matched"], seen["uniquely_matched_both_ways"])
        assert result == (found.matched, found.uniquely_matched, found.uniquely_matched_both_ways), asked


def test_presence_and_journalist_risk(here: Place) -> None:
    """NULL equals NULL across the tables there too."""
    for names in (("n", "x"), ("day",), ("x", "who")):
        own, people = frame(rows(1, 23)), frame(rows(2, 17))
        check = DeltaPresence(quasi_identifiers=names, population="b", max=1)
        seen, presence = ask(check, here).observed, delta_presence(own, people, names)  # type: ignore[arg-type]  # as above
        assert (seen["classes"], seen["population_classes"]) == (presence.classes, presence.population_classes)
        assert seen["records_outside_population"] == presence.outside
        question = Question(check, here)  # type: ignore[arg-type]  # as above
        asked = ClassQuestion(names, Population.of(question.context, "b", names, {}).sizes)
        answer = here.run(here.compiled(asked.answer(ClassTables(question.context.filtered, names))))
        outside = sum(int(row["outside"]) for row in answer)
        counted = [(int(row["population_size"]), int(row["rows"])) for row in answer]
        assert JournalistRisk.of(counted, k=3, outside=outside) == journalist_risk(own, people, names, 3)


def test_closeness_to_a_reference(here: Place) -> None:
    """Groups are compared with another table's values there too, some of which only one of the two has."""
    own, people = frame(rows(1, 23)), frame(rows(2, 17))
    for name, distance in (("x", "equal"), ("n", "ordered")):
        check = TClosenessCheck(quasi_identifiers=("who",), sensitive=(name,), t=0.4, distance=distance, reference="b")
        seen = ask(check, here).observed  # type: ignore[arg-type]  # a place like the others
        found = t_closeness(own, ["who"], name, distance=distance, reference=people, t=0.4)
        above = found.columns[name].above
        assert seen["reference_t"] == pytest.approx(found.t, rel=1e-12)
        assert above is not None
        assert (seen["reference_records_above_t"], seen["reference_classes_above_t"]) == (above.records, above.classes)
