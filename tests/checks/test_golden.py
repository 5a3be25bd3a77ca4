"""The SQL for engines that are not here is what it was; every change of it is seen in a text that people can read."""

import pytest
import sqlglot

from tests.checks.golden import DIALECTS, file_of, golden, text_of_file

MISSING = {"mssql": ["pattern: pattern", "sampled-pattern: pattern"]}
"""The cases that a dialect has no statement for."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sql_of_every_check_is_what_it_was(dialect: str) -> None:
    """Each is one query to sqlglot. After a change that is meant: `python -m tests.checks.golden`, and read it."""
    assert text_of_file(dialect) == file_of(dialect).read_bytes().decode()
    statements = sqlglot.parse(golden(dialect), read=dialect)
    kinds = {type(statement).__name__ for statement in statements if statement is not None}
    assert kinds <= {"Select", "Union", "Semicolon"}
    assert len(statements) > 30
    missing = [block for block in golden(dialect).split("\n\n") if "-- not supported" in block]
    assert [block.splitlines()[0].removeprefix("-- ") for block in missing] == MISSING.get(dialect, [])
