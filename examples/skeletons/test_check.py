from checks.skeleton import Skeleton
from tests.checks.ask import Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT

OBSERVED = {"rows", "violations"}
EFFECTS = {
    "column": ({"most": 1}, "b", "s"),
    "most": ({"column": "s"}, 1, 2),
    "max_ratio": ({"column": "s", "most": 1}, 0, 1),
    "where": ({"column": "b", "most": 0}, ABSENT, "id = 3"),
    "warn": ({"column": "s", "most": 1, "max_ratio": 1}, ABSENT, {"max_ratio": 0}),
    "on_empty": ({"column": "b", "most": 1, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [{"column": "name", "most": 0}, {"column": "name", "most": 999}, {"column": "age", "most": 1}]


def test_counts_texts_that_are_too_long(dialect):
    """Says how many rows are bad, of how many; NULL is allowed."""
    with place(dialect, t=Rows({"v": "text"}, [("a",), ("long",), (None,)])) as here:
        outcome = ask(Skeleton(column="v", most=1), here)
    assert outcome.observed == {"rows": 3, "violations": 1}
    assert str(outcome.message) == "v: 1 of 3 rows have a text that is too long (33%)"
