"""What each parameter of each check changes: the outcome of the check on a small table."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from checks import Misconfigured
from checks._catalog import load_catalog
from monitor.clock import SimulatedClock
from monitor.scan.results import Subject, Target
from monitor.scan.run import Engine
from sources import SourceSpec
from tests.checks.ask import NOW, Question, Rows, ask, past, place
from tests.checks.stated import stated
from tests.checks.test_re_release import judged, pairs
from tests.monitor.config.effects.effect import ABSENT, Effect
from tests.monitor.config.effects.schema_keys import check_sections


def _ago(**length: float) -> Any:
    return (NOW - timedelta(**length)).replace(tzinfo=None)


ROWS: Final = Rows(
    {"id": "int", "a": "int", "n": "int", "b": "text", "q": "text", "s": "text", "at": "timestamp", "old": "timestamp",
     "ahead": "timestamp"},
    [
        (1, 1, 1, "x", "u", "s1", _ago(hours=1), _ago(hours=3), _ago(minutes=-10)),
        (2, 2, None, "y", "u", "s2", _ago(hours=3), _ago(hours=3), _ago(hours=3)),
        (3, None, None, None, "v", "s1", _ago(hours=26), _ago(hours=30), _ago(hours=26)),
        (4, 2, 2, "x", "v", "s1", _ago(hours=50), _ago(hours=60), _ago(hours=50)),
    ],
)  # fmt: skip
TABLES: Final = {
    "t": ROWS,
    "o": Rows({"id": "int", "z": "int", "b": "text", "qq": "text"}, [(i, 7, "x", "uv"[i % 2]) for i in range(1, 5)]),
    "p": Rows({"q": "text", "qq": "text", "s": "text"}, [(q, q, "s1") for q in "uuuuvvvvww"]),
    "p2": Rows({"q": "text", "qq": "text", "s": "text"}, [(q, q, "s2") for q in "uuvvvvw"]),
    "t2": Rows({"id": "int", "a": "int"}, [(1, 1)]),
    "hours": Rows(
        {"id": "int", "at_hour": "int", "at": "timestamp", "later": "timestamp"},
        [(i, i + 9, _ago(hours=i), _ago(hours=i + 20)) for i in range(1, 5)],
    ),
    "linkable": Rows({"q": "text"}, [("u",), ("v",)]),
    "visits": Rows(
        {"p": "text", "q": "text", "s": "text"},
        [("p1", "u", "hiv"), ("p1", "u", "HIV"), ("p2", "v", "hiv"), ("p3", "v", None)],
    ),
    "skewed": Rows({"q": "text", "s": "text"}, [("u", s) for s in ("s1", "s1", "s1", "s1", "s2")]),
}
WEEKS: Final = [4, 40, 40, 40]
"""The numbers that were usual one week ago, two and so on."""


def outcome_of(
    kind: str, parameters: Mapping[str, Any], *, table: str = "t", empty: bool = False, see: str = ""
) -> object:
    """Return the status of a check of a table, or `see` of what it observed beside it."""
    tables = {**TABLES, "t": Rows(TABLES[table].types) if empty else TABLES[table]}
    check = load_catalog()[kind].model_validate(parameters)  # type: ignore[attr-defined]  # every check is a model
    with place("duckdb", **tables) as here:
        earlier = Question(check, here).wants().earlier
        weeks = 0 if earlier is None else len(earlier.ages)
        seen = [{"rows": n, "value": n, "baseline": None} for n in WEEKS[:weeks]]
        history = [past(one, timedelta(weeks=week)) for week, one in enumerate(seen, 1)]
        outcome = ask(check, here, history=history)
    return (outcome.status, outcome.observed.get(see)) if see else outcome.status


_EXPECTED: Final = {
    "days": ({}, "mon-fri", "sat-sun"),
    "holidays": ({}, [], ["2026-11-20"]),
    "start": ({}, ABSENT, "08:45"),
    "end": ({}, ABSENT, "07:00"),
    "by": ({}, ABSENT, "00:00"),
    "timezone": ({"start": "08:45"}, "UTC", "Asia/Tokyo"),
}
_LEARNED_FROM: Final = {
    "weeks": (3, 8),
    "window": ("12w", "26w"),
    "holidays": ([], ["2026-11-13"]),
    "at_least": (1, "60 %"),
}
_AGAINST: Final = {"table": ({"column": "id"}, "o", "t2"), "column": ({"table": "o"}, "id", "z"),
                   "aggregate": ({"table": "o"}, "sum", "max")}  # fmt: skip


def _exposed(parameters: Mapping[str, Any], *, rows: int = 9) -> object:
    """Return the status of a table beside an earlier release that is 3-anonymous."""
    check = load_catalog()["re_release"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    return judged(pairs("aaabbbccc"), ("spring", pairs("xxxyyyzzz")), check=check, rows=rows).status


def _exposed_values(parameters: Mapping[str, Any]) -> object:
    """Return the status of a table that is given twice: of groups of two values, a sixth away from the table."""
    check = load_catalog()["re_release"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    rows = pairs("aaabbb", people=range(6), ill="xxyxyy")
    return judged(rows, ("spring", rows), check=check).status


def _learned(parameters: Mapping[str, Any]) -> object:
    """Return what was learned from half a year of numbers that grow and vary."""
    check = load_catalog()["volume"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    days = range(180, 0, -1)
    seen = [(day, {"rows": 1000 + 3 * (180 - day) + day * day % 37}) for day in days]
    history = [replace(past(rows, timedelta(days=day)), age=None, in_span=True) for day, rows in seen]
    with place("duckdb", t=ROWS) as here:
        return ask(check, here, history=history).observed["learned"]


def _in_segments(parameters: Mapping[str, Any]) -> object:
    """Return how many segments of a table fail for themselves, and what those are called whose names are no hashes."""
    check = load_catalog()["volume"].model_validate({"min": 9, **parameters})  # type: ignore[attr-defined]  # a model
    rows = [(name, number) for number, name in enumerate("aabbbc")]
    with TemporaryDirectory() as folder:
        with closing(sqlite3.connect(f"{folder}/t.sqlite")) as connection, connection:
            connection.execute("CREATE TABLE t (a TEXT, b INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        source = SourceSpec(name="s", base=Path(folder), url="sqlite:///t.sqlite")
        target = Target(Subject("t", "t", (("t.volume", check),)), source)
        (result,) = Engine(SimulatedClock(NOW)).run([target])
    titles = {part.segment for part in result.segments if "=" in str(part.segment)}
    return len(result.segments), titles


def _answer_of(kind: str, parameters: Mapping[str, Any]) -> object:
    """Return the status of a check; None where the engine cannot do what is asked."""
    try:
        return outcome_of(kind, parameters)
    except Misconfigured:
        return None


def _pairs_of(parameters: Mapping[str, Any]) -> object:
    """Return which pairs of people and groups are asked for, and of how many rows."""
    check = load_catalog()["re_release"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    with place("duckdb", t=ROWS) as here:
        question = Question(check, here)
        return question.wants().kept, question.measure().values["rows"]


def _of_re_release() -> Iterator[Effect]:
    base = {"person": ["id"], "quasi_identifiers": ["q"], "k": 3}
    for key, first, second, observe in (
        ("person", ["id"], ["a"], _pairs_of),
        ("quasi_identifiers", ["q"], ["s"], _pairs_of),
        ("where", ABSENT, "id > 1", _pairs_of),
        ("sensitive", ["s"], ["a"], _pairs_of),
        ("l", 2, 3, _exposed_values),
        ("t", 0.1, 0.2, _exposed_values),
        ("k", 3, 4, _exposed),
        ("warn", ABSENT, {"k": 4}, _exposed),
        ("on_empty", "unknown", "pass", partial(_exposed, rows=0)),
    ):
        yield Effect(f"ReReleaseCheck.{key}", base, (first, second), observe)


def entries() -> Iterator[Effect]:
    """Yield an entry for each parameter of each check that its test file states."""
    for kind, parameters in stated("EFFECTS").items():
        section = check_sections()[kind]
        for key, (base, first, second, *rest) in parameters.items():
            table, see = [*rest, *("t", "")[len(rest) :]]
            observe = partial(outcome_of, kind, table=table, see=see, empty=key == "on_empty" and "where" not in base)
            yield Effect(f"{section}.{key}", base, (first, second), observe)
    yield from _of_re_release()
    for key, (rest_of, first, second) in _EXPECTED.items():
        base = {"column": "old", "max_age": "2h", "timezone": "UTC", "expected": {"timezone": "UTC", **rest_of}}
        yield Effect(f"Expected.{key}", base, (first, second), partial(outcome_of, "freshness"), ("expected", key))
    for key, values in _LEARNED_FROM.items():
        base = {"limits": {"learned": {"false_alarms": "1 per 90d"}}}
        yield Effect(f"Learned.{key}", base, values, _learned, ("limits", "learned", key))
        yield Effect(f"Deviation.{key}", {"deviation": {"sigma": 3}}, values, _learned, ("deviation", key))
    for key, first, second in (
        ("columns", ["a"], ["b"]),
        ("values", [], ["a"]),
        ("show", False, True),
        ("most", 2, 3),
    ):
        yield Effect(f"SegmentBy.{key}", {"by": {"columns": ["a"]}}, (first, second), _in_segments, ("by", key))
    for key, first, second in (
        ("share", 0.999999, 1e-12),
        ("method", "rows", "blocks"),
        ("confidence", 0.5, 0.999999),
    ):
        base = {"columns": ["n"], "max_ratio": 0.01, "sample": {"share": 0.999999, "confidence": 0.5}}
        yield Effect(f"Sampling.{key}", base, (first, second), partial(_answer_of, "not_null"), ("sample", key))
    promises = ("1 per 90d", "1 per 7d")
    yield Effect("Learned.false_alarms", {}, promises, _learned, ("limits", "learned", "false_alarms"))
    pooled = {"limits": {"learned": {"false_alarms": "1 per 90d"}}}
    yield Effect("Learned.pooled", pooled, (False, True), _learned, ("limits", "learned", "pooled"))
    yield Effect("Deviation.sigma", {}, (3, 4), _learned, ("deviation", "sigma"))
    for key, (rest_of, first, second) in _AGAINST.items():
        base = {"aggregate": "sum", "column": "id", "against": rest_of}
        yield Effect(f"Against.{key}", base, (first, second), partial(outcome_of, "reconcile"), ("against", key))
