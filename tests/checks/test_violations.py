"""The rows or keys that break a check, as a relation: as many as the check counts, on every engine."""

from datetime import datetime
from typing import Any

import pytest

from checks import Check, Zones, load_catalog
from tests.checks.ask import Question, Rows, ask, place

ROWS = Rows(
    {"id": "int", "word": "text", "other": "text", "at": "timestamp"},
    [
        (1, "ann", "x", datetime(2026, 11, 1)),  # noqa: DTZ001 - a naive column
        (1, "bob", "y", datetime(2026, 11, 2)),  # noqa: DTZ001
        (2, "Bob", None, datetime(2026, 11, 3)),  # noqa: DTZ001
        (None, None, None, None),
        (5, "eve\n", "x", datetime(2027, 1, 1)),  # noqa: DTZ001
    ],
)
CASES: list[tuple[dict[str, Any], str]] = [
    ({"type": "not_null", "columns": ["other"]}, "nulls"),
    ({"type": "range", "column": "id", "min": 2, "where": "id < 5"}, "violations"),
    ({"type": "range", "column": "at", "max": "2026-12-01"}, "violations"),
    ({"type": "accepted_values", "column": "word", "values": ["ann"], "allow_null": False}, "violations"),
    ({"type": "pattern", "column": "word", "pattern": "[a-z]+"}, "violations"),
    ({"type": "foreign_key", "column": "id", "references": "o.id", "where": "word <> 'bob'"}, "orphans"),
    ({"type": "unique", "columns": ["id"]}, "duplicate_keys"),
    ({"type": "primary_key", "columns": ["id"]}, "duplicate_keys"),
    ({"type": "functional_dependency", "determinant": ["id"], "dependent": "word"}, "groups"),
]


def _made(parameters: dict[str, Any]) -> Check:
    check: Check = load_catalog()[parameters["type"]].model_validate(parameters)
    return check


@pytest.mark.parametrize(("parameters", "counted"), CASES)
def test_as_many_are_listed_as_are_counted(dialect: str, parameters: dict[str, Any], counted: str) -> None:
    """Each row is listed whole, with `where`; keys stand for their rows, an incomplete one of a primary key too."""
    check = _made(parameters)
    with place(dialect, t=ROWS, o=Rows({"id": "int"}, [(1,)])) as here:
        observed = ask(check, here, zones=Zones("Asia/Tokyo")).observed
        rows = Question(check, here, zones=Zones("Asia/Tokyo")).offending()
    number = observed[counted]
    expected = number["other"] if isinstance(number, dict) else number
    of_two = {"primary_key": 1, "functional_dependency": 1}  # the key that is NULL; the second value of the group
    assert expected > 0
    assert len(rows) == expected + of_two.get(check.type, 0)
    if counted in {"nulls", "violations", "orphans"}:
        assert all(set(row) == set(ROWS.types) for row in rows)
