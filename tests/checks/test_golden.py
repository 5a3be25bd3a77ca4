"""The SQL for engines that are not here is what it was; every change of it is seen in a text that people can read."""

import pytest
import sqlglot

from tests.checks.golden import DIALECTS, FOLDER, Unopened, golden


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sql_of_every_check_is_what_it_was(dialect: str) -> None:
    """After a change that is meant: `python -m tests.checks.golden`, and read the difference."""
    assert golden(dialect) == (FOLDER / f"{dialect}.sql").read_bytes().decode()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_one_query_of_its_dialect(dialect: str) -> None:
    """Sqlglot reads each of them as one query."""
    Unopened(dialect)  # some dialects come with Ibis' compilers
    statements = sqlglot.parse((FOLDER / f"{dialect}.sql").read_bytes().decode(), read=dialect)
    kinds = {type(statement).__name__ for statement in statements if statement is not None}
    assert kinds <= {"Select", "Union", "Semicolon"}
    assert len(statements) > 30


def test_what_cannot_be_compiled_is_listed() -> None:
    """A reader of the files sees which check has no statement where."""
    missing = {
        (dialect, line)
        for dialect in DIALECTS
        for block in (FOLDER / f"{dialect}.sql").read_bytes().decode().split("\n\n")
        if "-- not supported" in block
        for line in [block.splitlines()[0].removeprefix("-- ")]
    }
    assert missing == set(_MISSING)


_MISSING = [("mssql", "pattern: pattern"), ("mssql", "sampled-pattern: pattern")]
