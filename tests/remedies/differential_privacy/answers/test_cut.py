"""Which rows of a unit count is drawn for each unit by itself, and each of its rows has the same chance."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from scipy.stats import binom, hypergeom

from remedies.differential_privacy.answers import STATISTICS
from sources import SourceSpec, open_source
from tests.remedies.differential_privacy.answers.exact import Spy, terms_of
from tests.remedies.differential_privacy.answers.test_places import KINDS

FALSE_ALARM: Final = 1e-9
UNITS: Final = 2_000
VISITS: Final = {"equal": ("Tokyo",) * 5 + ("Osaka",) * 5, "duplicates": ("Tokyo",) * 5 + ("Osaka",)}
CITIES: Final[dict[str, Any]] = {"city": ["Tokyo", "Osaka"], "spent": {"low": 0, "high": 9}}


@pytest.fixture(params=VISITS)
def case(request: pytest.FixtureRequest) -> str:
    """Return the name of what every customer did."""
    return str(request.param)


@pytest.fixture(params=KINDS)
def visits(request: pytest.FixtureRequest, case: str, tmp_path: Path) -> Iterator[SourceSpec]:
    """Yield each kind of source in turn with a table of visits of 2,000 customers."""
    rows = "SELECT range::BIGINT AS customer, unnest([{}]) AS city, 3 AS spent FROM range({})".format(
        ", ".join(f"'{city}'" for city in VISITS[case]), UNITS
    )
    make = {"csv": _file, "parquet": _file, "sqlite": _sqlite, "postgresql": _postgresql, "spark": _spark}
    yield from make[request.param](request, tmp_path, rows, request.param)


def _file(_: pytest.FixtureRequest, folder: Path, rows: str, kind: str) -> Iterator[SourceSpec]:
    duckdb.execute(f"COPY ({rows}) TO '{folder}/visits.{kind}' (FORMAT {kind})")
    yield SourceSpec("s", folder, files=f"visits.{kind}", blind=True)


def _sqlite(_: pytest.FixtureRequest, folder: Path, rows: str, __: str) -> Iterator[SourceSpec]:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "visits.db")) as connection, connection:
        connection.execute("CREATE TABLE visits (customer INTEGER, city TEXT, spent INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", duckdb.execute(rows).fetchall())
    yield SourceSpec("s", folder, url="sqlite:///visits.db", blind=True)


def _postgresql(request: pytest.FixtureRequest, folder: Path, rows: str, _: str) -> Iterator[SourceSpec]:
    import psycopg

    server, name = request.getfixturevalue("postgres_url"), f"tablewatch_cut_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"CREATE TABLE {name}.visits (customer BIGINT, city TEXT, spent INTEGER)")
        with connection.cursor().copy(f"COPY {name}.visits FROM STDIN") as copy:
            for row in duckdb.execute(rows).fetchall():
                copy.write_row(row)
        options = f"?options=-csearch_path%3D{name}"
        yield SourceSpec("s", folder, url=f"{server}{options}", blind=True)
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def _spark(request: pytest.FixtureRequest, folder: Path, rows: str, _: str) -> Iterator[SourceSpec]:
    session = request.getfixturevalue("spark_session")
    session.sql("DROP TABLE IF EXISTS visits")
    found = duckdb.execute(rows).fetchall()
    session.createDataFrame(found, "customer BIGINT, city STRING, spent INT").write.saveAsTable("visits")
    yield SourceSpec("s", folder, spark="local[2]", blind=True)
    session.sql("DROP TABLE IF EXISTS visits")


def ask(spec: SourceSpec, words: dict[str, Any], key: str = "a key", **declared: Any) -> Any:
    """Return an answer, whose noise a `Spy` has taken away."""
    terms = terms_of(domain=CITIES, **{"unit": "customer", **declared})
    statistic = STATISTICS[words["statistic"]].model_validate({**words, "epsilon": "1"})
    with open_source(spec) as source:
        table = source.table("visits")
        asked = statistic.statement(table, source.dialect, terms, key=key, types_declared=source.types_declared)
        return statistic.answer(source.fetch(source.compile(asked)), terms)


def test_the_choice_is_independent_between_units_and_unbiased(
    visits: SourceSpec, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of customers who did the same, as many visits of each city are kept as if each had drawn one of theirs."""
    Spy(monkeypatch)
    words = {"statistic": "histogram", "by": ["city"]}
    share = VISITS[case].count("Tokyo") / len(VISITS[case])
    groups = ask(visits, words)["groups"]
    assert sum(group["value"] for group in groups) == UNITS
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], UNITS, share)
    assert low <= groups[0]["value"] <= high
    assert ask(visits, words)["groups"] == groups
    assert ask(visits, words, key="another")["groups"] != groups
    two = ask(visits, words, rows_per_unit=2)["groups"]
    assert sum(group["value"] for group in two) == 2 * UNITS
    draw = hypergeom(len(VISITS[case]), VISITS[case].count("Tokyo"), 2)
    spread = 6.2 * (UNITS * draw.var()) ** 0.5  # a normal variable is further off once in 10^9 times
    assert abs(two[0]["value"] - UNITS * draw.mean()) <= spread
    assert ask(visits, {"statistic": "sum", "column": "spent"})["value"] == 3 * UNITS
    assert ask(visits, {"statistic": "count"}, rows_per_unit=4)["value"] == 4 * UNITS
    assert ask(visits, {"statistic": "count", "where": ["city = Osaka"]}, rows_per_unit=1)["value"] == UNITS


@pytest.mark.parametrize("step", [1, 2, 1_000])
def test_neighbouring_units_choose_by_themselves(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two units agree in what is kept of them as often as two coins."""
    Spy(monkeypatch)
    rows = f"SELECT range AS customer, unnest(['Tokyo', 'Osaka']) AS city FROM range({UNITS})"
    chosen = []
    for part in range(0, UNITS, 50):  # each unit by itself would take long: 50 at a time, distinguished by their cities
        cities = [f"{town} {unit}" for unit in range(part, part + 50) for town in ("Tokyo", "Osaka")]
        duckdb.execute(
            f"COPY (SELECT customer, city || ' ' || customer AS city FROM ({rows}) "
            f"WHERE customer BETWEEN {part} AND {part + 49}) TO '{tmp_path}/visits.parquet' (FORMAT parquet)"
        )
        spec = SourceSpec("s", tmp_path, files="visits.parquet", blind=True)
        monkeypatch.setitem(CITIES, "city", cities)
        groups = ask(spec, {"statistic": "histogram", "by": ["city"]})["groups"]
        chosen += [group["value"] for group in groups[:-1:2]]
    assert set(chosen) == {0, 1}
    alike = sum(one == other for one, other in zip(chosen, chosen[step:], strict=False))
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], UNITS - step, 0.5)
    assert low <= alike <= high


def test_pairs_and_composite_units_choose_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair is one unit from either side, and what is kept of it does not follow its direction."""
    Spy(monkeypatch)
    duckdb.execute(
        f"COPY (SELECT range AS customer, range + 1 AS shop, 'Tokyo' AS city FROM range({UNITS}) UNION ALL "
        f"SELECT range + 1, range, 'Osaka' FROM range({UNITS})) TO '{tmp_path}/visits.parquet' (FORMAT parquet)"
    )
    spec = SourceSpec("s", tmp_path, files="visits.parquet", blind=True)
    words = {"statistic": "histogram", "by": ["city"]}
    pair = ask(spec, words, unit=["customer", "shop"], pairs=["customer", "shop"])["groups"]
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], UNITS, 0.5)
    assert low <= pair[0]["value"] <= high
    assert sum(group["value"] for group in pair) == UNITS
    other_way = ask(spec, words, unit=["shop", "customer"], pairs=["shop", "customer"])["groups"]
    assert other_way == pair
    both = ask(spec, words, unit=["customer", "shop"])["groups"]
    assert [group["value"] for group in both] == [UNITS, UNITS, 0]
