"""PostgreSQL fails where a number is too large or too small for a float; no value of a column may make it fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from remedies.differential_privacy.answers import STATISTICS
from sources import SourceSpec, open_source
from tests.remedies.differential_privacy.answers.exact import Spy, terms_of

pytestmark = pytest.mark.postgres

NUMBERS = ("1e400", "-1e4000", "1e-400", "-1e-4000", "0", "NaN", "Infinity", "-Infinity", "7.5")
FLOATS = ("1e308", "-1e308", "5e-324", "-5e-324", "0", "NaN", "Infinity", "-Infinity", "7.5")


@pytest.fixture
def spec(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SourceSpec]:
    """Yield a table of numbers at the ends of what the server can hold."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS strict_numbers CASCADE")
        connection.execute("CREATE SCHEMA strict_numbers")
        connection.execute("CREATE TABLE strict_numbers.numbers (who INTEGER, exact NUMERIC, near DOUBLE PRECISION)")
        for who, (exact, near) in enumerate(zip(NUMBERS, FLOATS, strict=True)):
            connection.execute("INSERT INTO strict_numbers.numbers VALUES (%s, %s, %s)", (who, exact, near))
        yield SourceSpec("s", tmp_path_factory.getbasetemp(), url=postgres_url, blind=True)
        connection.execute("DROP SCHEMA strict_numbers CASCADE")


@pytest.mark.parametrize("kind", ["NUMERIC(10, 2)", "NUMERIC(38, 10)", "NUMERIC(60, 30)", "NUMERIC(5, 0)"])
def test_decimals_of_a_declared_precision_are_read(
    postgres_url: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amounts of money, for instance: how many places a column has is nothing that a person has to mind."""
    import psycopg

    Spy(monkeypatch)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS decimals CASCADE")
        connection.execute("CREATE SCHEMA decimals")
        connection.execute(f"CREATE TABLE decimals.paid (amount {kind})")
        connection.execute("INSERT INTO decimals.paid VALUES (7.25), (-3), ('NaN'), (NULL), (9999)")
    asked = STATISTICS["sum"].model_validate({"statistic": "sum", "column": "amount", "epsilon": "1"})
    terms = terms_of(domain={"amount": {"low": 0, "high": 100, "missing": 1}})
    with open_source(SourceSpec("s", tmp_path, url=postgres_url, blind=True)) as source:
        sql = source.compile(asked.statement(source.table("decimals.paid"), source.dialect, terms, key=""))
        assert asked.answer(source.fetch(sql), terms)["value"] == 7 + 0 + 1 + 1 + 100


@pytest.mark.parametrize("column", ["exact", "near"])
@pytest.mark.parametrize("unit", ["row", "who"])
def test_no_number_makes_the_statement_fail(
    spec: SourceSpec, column: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enormous and tiny numbers, infinities and NaN are clamped, rounded and put into cells like all others."""
    Spy(monkeypatch)
    limits = {"low": -1000, "high": 1000, "grid": 10, "missing": 20}
    for domain in (limits, {"range": [-1000, 1000], "width": 100, "other": 20}):
        terms = terms_of(unit=unit, domain={column: domain})
        found = []
        for said in ({"statistic": "sum", "column": column}, {"statistic": "count", "where": [f"{column} < 8"]}):
            statistic = STATISTICS[said["statistic"]].model_validate({**said, "epsilon": "1"})
            with open_source(spec) as source:
                table = source.table("strict_numbers.numbers")
                sql = source.compile(statistic.statement(table, source.dialect, terms, key="a key"))
                found.append(statistic.answer(source.fetch(sql), terms)["value"])
        assert found == [30 if domain is limits else 28, 6]
