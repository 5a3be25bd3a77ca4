"""What each parameter of each check changes: the outcome of the check on a small table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from checks._catalog import load_catalog
from tests.checks.ask import NOW, Question, Rows, ask, past, place
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


_ALLOWED: Final = {"columns": ["a"]}
_K: Final = {"quasi_identifiers": ["q"], "k": 2}
_L: Final = {"quasi_identifiers": ["q"], "sensitive": ["n"], "l": 2}
_T: Final = {"quasi_identifiers": ["q"], "sensitive": ["id"], "t": 0.4, "distance": "ordered"}
_PRESENCE: Final = {"quasi_identifiers": ["q"], "population": "p", "max": 0.9}
_PAIR: Final = {"aggregate": "sum", "column": "id", "against": {"table": "o"}}
_WINDOW: Final = {"aggregate": "count", "min": 2, "time_column": "at", "window": "4h", "timezone": "UTC"}
_NAMES: Final = list(ROWS.types)
_FRESH: Final = {"column": "at", "max_age": "2h", "timezone": "UTC"}
_OLD: Final = {"column": "old", "max_age": "2h", "timezone": "UTC"}
_LINK: Final = {"auxiliary": "o", "on": ["id"], "max_unique_fraction": 0.5}
_UNIQUE: Final = {"quasi_identifiers": ["id"], "sampling_fraction": 0.5, "max_population_unique_fraction": 0.5}

_TABLE: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "not_null": {
        "columns": ({}, ["id"], ["a"]),
        "max_ratio": (_ALLOWED, 0, 0.5),
        "where": (_ALLOWED, ABSENT, "id < 3"),
        "warn": ({**_ALLOWED, "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
        "on_empty": ({**_ALLOWED, "where": "id > 99"}, "unknown", "pass"),
    },
    "pattern": {
        "column": ({"pattern": "[xy]"}, "b", "q"),
        "pattern": ({"column": "b"}, "[xy]", "x"),
        "max_ratio": ({"column": "b", "pattern": "x"}, 0, 0.5),
        "where": ({"column": "b", "pattern": "x"}, ABSENT, "id = 1"),
        "warn": ({"column": "b", "pattern": "x", "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
        "on_empty": ({"column": "b", "pattern": "x", "where": "id > 99"}, "unknown", "pass"),
    },
    "accepted_values": {
        "column": ({"values": ["x", "y"]}, "b", "q"),
        "values": ({"column": "b"}, ["x", "y"], ["x"]),
        "allow_null": ({"column": "b", "values": ["x", "y"]}, True, False),
        "max_ratio": ({"column": "b", "values": ["x"]}, 0, 0.5),
        "where": ({"column": "b", "values": ["x"]}, ABSENT, "id = 1"),
        "warn": ({"column": "b", "values": ["x"], "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
        "on_empty": ({"column": "b", "values": ["x"], "where": "id > 99"}, "unknown", "pass"),
    },
    "range": {
        "column": ({"min": 2}, "id", "z", "o"),
        "min": ({"column": "id"} | {"max": 9}, 0, 2),
        "max": ({"column": "id"}, 4, 3),
        "exclusive_min": ({"column": "id", "min": 1}, False, True),
        "exclusive_max": ({"column": "id", "max": 4}, False, True),
        "max_ratio": ({"column": "id", "min": 2}, 0, 0.5),
        "where": ({"column": "id", "min": 2}, ABSENT, "id > 1"),
        "warn": ({"column": "id", "min": 2, "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
        "on_empty": ({"column": "id", "min": 1, "where": "id > 99"}, "unknown", "pass"),
    },
    "primary_key": {
        "columns": ({}, ["id"], ["q"]),
        "where": ({"columns": ["q"]}, ABSENT, "id = 1"),
        "on_empty": ({"columns": ["id"], "where": "id > 99"}, "unknown", "pass"),
    },
    "unique": {
        "columns": ({}, ["id"], ["q"]),
        "nulls": ({"columns": ["n"]}, "distinct", "equal"),
        "where": ({"columns": ["q"]}, ABSENT, "id = 1"),
        "on_empty": ({"columns": ["id"], "where": "id > 99"}, "unknown", "pass"),
    },
    "foreign_key": {
        "column": ({"references": "o.b", "where": "id <> 2"}, "b", "q"),
        "columns": ({"references": ["o.id"]}, ["id"], ["at_hour"], "hours"),
        "references": ({"column": "id"}, "o.id", "o.z"),
        "max_ratio": ({"column": "b", "references": "o.b"}, 0, 0.5),
        "where": ({"column": "b", "references": "o.b"}, ABSENT, "id = 1"),
        "warn": ({"column": "b", "references": "o.b", "max_ratio": 0.5}, ABSENT, {"max_ratio": 0}),
        "on_empty": ({"column": "id", "references": "o.id", "where": "id > 99"}, "unknown", "pass"),
    },
    "freshness": {
        "column": ({**_FRESH}, "at", "old"),
        "max_age": (_FRESH, "2h", "30m"),
        "skew": ({**_FRESH, "column": "ahead"}, "5m", "15m"),
        "timezone": (_FRESH, "UTC", "Asia/Tokyo"),
        "expected": (_OLD, ABSENT, {"start": "08:45", "timezone": "UTC"}),
        "where": (_FRESH, ABSENT, "id > 1"),
        "warn": (_FRESH, ABSENT, {"max_age": "30m"}),
        "on_empty": ({**_FRESH, "where": "id > 99"}, "unknown", "pass"),
    },
    "volume": {
        "min": ({}, 4, 5),
        "max": ({}, 4, 3),
        "min_ratio": ({}, 0.1, 0.5),
        "max_ratio": ({"weeks": 1}, 1, 0.5),
        "weeks": ({"min_ratio": 0.5}, 1, 4),
        "column": ({"min": 2, "window": "4h", "timezone": "UTC"}, "at", "later", "hours"),
        "window": ({"min": 2, "column": "at", "timezone": "UTC"}, "4h", "2h"),
        "timezone": ({"min": 2, "column": "at", "window": "4h"}, "UTC", "Asia/Tokyo"),
        "where": ({"min": 4}, ABSENT, "id > 1"),
        "warn": ({"min": 4}, ABSENT, {"min": 5}),
        "on_empty": ({"max": 9, "where": "id > 99"}, "unknown", "pass"),
    },
    "metric": {
        "aggregate": ({"column": "id", "max": 5}, "mean", "sum"),
        "column": ({"aggregate": "sum", "max": 6}, "a", "id"),
        "value": ({"aggregate": "share", "column": "b", "min": 0.5}, "x", "y"),
        "min": ({"aggregate": "sum", "column": "id"}, 10, 11),
        "max": ({"aggregate": "sum", "column": "id"}, 10, 9),
        "tolerance": ({"aggregate": "sum", "column": "id", "max": 9}, 0, 1),
        "max_deviation": ({"aggregate": "count"}, 0.95, 0.5),
        "weeks": ({"aggregate": "count", "max_deviation": 0.5}, 1, 4),
        "time_column": (_WINDOW, "at", "later", "hours"),
        "window": (_WINDOW, "4h", "2h", "hours"),
        "timezone": (_WINDOW, "UTC", "Asia/Tokyo", "hours"),
        "where": ({"aggregate": "count", "min": 4}, ABSENT, "id > 1"),
        "warn": ({"aggregate": "count", "min": 4}, ABSENT, {"min": 5}),
        "on_empty": ({"aggregate": "count", "max": 9, "where": "id > 99"}, "unknown", "pass"),
    },
    "reconcile": {
        "aggregate": ({**_PAIR, "against": {"table": "o", "aggregate": "sum"}}, "sum", "mean"),
        "column": ({"aggregate": "sum", "against": {"table": "o", "column": "id"}}, "id", "a"),
        "against": (_PAIR, {"table": "o"}, {"table": "o", "column": "z"}),
        "tolerance": ({**_PAIR, "column": "a", "against": {"table": "o", "column": "id"}}, 0, 5),
        "relative_tolerance": ({**_PAIR, "column": "a", "against": {"table": "o", "column": "id"}}, 0, 0.5),
        "where": (_PAIR, ABSENT, "id > 1"),
        "warn": ({**_PAIR, "column": "a", "against": {"table": "o", "column": "id"}, "tolerance": 5}, ABSENT,
                 {"tolerance": 1}),
        "on_empty": ({**_PAIR, "where": "id > 99"}, "unknown", "pass"),
    },
    "schema": {
        "columns": ({}, _NAMES, ["id", "strange"]),
        "extra": ({"columns": _NAMES[:2]}, "forbid", "allow"),
        "order": ({"columns": _NAMES[::-1]}, False, True),
    },
    "sql": {
        "query": ({}, "SELECT * FROM t WHERE id > 9", "SELECT * FROM t"),
        "max": ({"query": "SELECT * FROM t"}, 0, 4),
        "warn": ({"query": "SELECT * FROM t", "max": 4}, ABSENT, {"max": 3}),
        "on_empty": ({"query": "SELECT * FROM t"}, "unknown", "pass"),
    },
    "classification": {
        "columns": ({}, dict.fromkeys(_NAMES, "other"), {"id": "other"}),
    },
    "k_anonymity": {
        "quasi_identifiers": ({"k": 2}, ["q"], ["id"]),
        "k": (_K, 2, 3),
        "max_average_risk": (_K, 0.5, 0.1),
        "other_readings": ({"quasi_identifiers": ["b"], "k": 2}, True, False, "t", "k_wildcard"),
        "population": (_K, ABSENT, "p", "t", "journalist_highest_risk"),
        "population_columns": ({**_K, "population": "o"}, {"q": "b"}, {"q": "qq"}),
        "where": (_K, ABSENT, "id < 4"),
        "warn": (_K, ABSENT, {"k": 3}),
        "on_empty": ({**_K, "where": "id > 99"}, "unknown", "pass"),
    },
    "l_diversity": {
        "quasi_identifiers": (_L, ["q"], ["a"]),
        "sensitive": (_L, ["n"], ["s"]),
        "l": (_L, 2, 3),
        "variant": ({**_L, "sensitive": ["s"]}, "distinct", "entropy", "skewed"),
        "c": ({**_L, "sensitive": ["s"], "variant": "recursive"}, 5, 2, "skewed"),
        "where": (_L, ABSENT, "id < 4"),
        "warn": (_L, ABSENT, {"l": 3}),
        "on_empty": ({**_L, "where": "id > 99"}, "unknown", "pass"),
    },
    "t_closeness": {
        "quasi_identifiers": (_T, ["q"], ["at"]),
        "sensitive": ({**_T, "distance": "equal"}, ["id"], ["s"]),
        "t": (_T, 0.4, 0.1),
        "distance": (_T, "ordered", "equal"),
        "hierarchy": ({**_T, "sensitive": ["s"], "distance": "equal", "t": 0.2}, ABSENT,
                      {"s1": ["low", "*"], "s2": ["low", "*"], "s3": ["high", "*"]}),
        "reference": ({**_T, "sensitive": ["s"], "distance": "equal", "t": 0.5}, "p", "p2"),
        "reference_columns": ({**_T, "sensitive": ["s"], "distance": "equal", "t": 0.5, "reference": "p"}, {},
                              {"s": "qq"}),
        "where": (_T, ABSENT, "id <> 2"),
        "warn": (_T, ABSENT, {"t": 0.1}),
        "on_empty": ({**_T, "where": "id > 99"}, "unknown", "pass"),
    },
    "linkage": {
        "auxiliary": ({**_LINK, "on": ["q"]}, "p", "linkable"),
        "on": ({**_LINK}, ["id"], ["b"]),
        "tolerance": (_LINK, {}, {"id": 9}),
        "entity": ({**_LINK, "on": ["b"]}, ABSENT, {"q": "qq"}, "t", "auxiliary_persons"),
        "at_least": ({**_LINK, "on": ["b"], "entity": {"q": "qq"}}, 1, 2, "t", "matched"),
        "max_unique_fraction": (_LINK, 0, 1),
        "where": ({**_LINK, "on": {"a": "id"}}, ABSENT, "id <> 1", "t", "rows"),
        "warn": ({**_LINK, "max_unique_fraction": 1}, ABSENT, {"max_unique_fraction": 0}),
        "on_empty": ({**_LINK, "where": "id > 99"}, "unknown", "pass"),
    },
    "delta_presence": {
        "quasi_identifiers": (_PRESENCE, ["q"], ["s"]),
        "population": ({**_PRESENCE}, "p", "p2"),
        "population_columns": (_PRESENCE, {}, {"q": "s"}),
        "min": (_PRESENCE, 0, 0.4),
        "max": (_PRESENCE, 0.5, 0.3),
        "where": (_PRESENCE, ABSENT, "id > 1", "t", "rows"),
        "warn": (_PRESENCE, ABSENT, {"max": 0.1}),
        "on_empty": ({**_PRESENCE, "where": "id > 99"}, "unknown", "pass"),
    },
    "population_uniqueness": {
        "quasi_identifiers": (_UNIQUE, ["id"], ["q"]),
        "sampling_fraction": ({k: v for k, v in _UNIQUE.items() if k != "sampling_fraction"}, 1, 0.01, "t",
                              "population_size"),
        "population_size": ({k: v for k, v in _UNIQUE.items() if k != "sampling_fraction"}, 4, 4000, "t",
                            "sampling_fraction"),
        "max_population_unique_fraction": ({**_UNIQUE, "sampling_fraction": 1}, 1, 0.01),
        "model": ({**_UNIQUE, "quasi_identifiers": ["b"], "sampling_fraction": 0.1}, "zayatz", "pitman", "t",
                  "estimate"),
        "where": (_UNIQUE, ABSENT, "id > 1", "t", "rows"),
        "warn": ({**_UNIQUE, "sampling_fraction": 1, "max_population_unique_fraction": 1}, ABSENT,
                 {"max_population_unique_fraction": 0}),
        "on_empty": ({**_UNIQUE, "where": "id > 99"}, "unknown", "pass"),
    },
    "reidentification_by_subset": {
        "quasi_identifiers": ({"known": 1, "max_unique_fraction": 0}, ["q"], ["id"]),
        "known": ({"quasi_identifiers": ["q", "s"], "max_unique_fraction": 0.3}, 1, 2),
        "max_unique_fraction": ({"quasi_identifiers": ["id"], "known": 1}, 0, 1),
        "where": ({"quasi_identifiers": ["q"], "known": 1, "max_unique_fraction": 0}, ABSENT, "id < 4"),
        "warn": ({"quasi_identifiers": ["id"], "known": 1, "max_unique_fraction": 1}, ABSENT,
                 {"max_unique_fraction": 0}),
        "on_empty": ({"quasi_identifiers": ["q"], "known": 1, "max_unique_fraction": 0, "where": "id > 99"},
                     "unknown", "pass"),
    },
}  # fmt: skip
"""Check: parameter: (the other parameters, a value, another value, the table by default `t`, what is seen besides)."""

_EXPECTED: Final = {
    "days": ({}, "mon-fri", "sat-sun"),
    "holidays": ({}, [], ["2026-11-20"]),
    "start": ({}, ABSENT, "08:45"),
    "end": ({}, ABSENT, "07:00"),
    "timezone": ({"start": "08:45"}, "UTC", "Asia/Tokyo"),
}
_LEARNED_FROM: Final = {
    "weeks": (3, 8),
    "window": ("6w", "26w"),
    "holidays": ([], ["2026-11-13"]),
}
_AGAINST: Final = {"table": ({"column": "id"}, "o", "t2"), "column": ({"table": "o"}, "id", "z"),
                   "aggregate": ({"table": "o"}, "sum", "max")}  # fmt: skip


def _exposed(parameters: Mapping[str, Any], *, rows: int = 9) -> object:
    """Return the status of a table beside an earlier release that hides everybody among three."""
    check = load_catalog()["re_release"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    return judged(pairs("aaabbbccc"), ("spring", pairs("xxxyyyzzz")), check=check, rows=rows).status


def _learned(parameters: Mapping[str, Any]) -> object:
    """Return what was learned from half a year of numbers that grow and vary."""
    check = load_catalog()["volume"].model_validate(parameters)  # type: ignore[attr-defined]  # a model
    days = range(180, 0, -1)
    seen = [(day, {"rows": 1000 + 3 * (180 - day) + day * day % 37}) for day in days]
    history = [replace(past(rows, timedelta(days=day)), age=None, in_span=True) for day, rows in seen]
    with place("duckdb", t=ROWS) as here:
        return ask(check, here, history=history).observed["learned"]


def _pairs_of(parameters: Mapping[str, Any]) -> object:
    """Return which pairs of persons and groups are asked for, and of how many rows."""
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
        ("k", 3, 4, _exposed),
        ("warn", ABSENT, {"k": 4}, _exposed),
        ("on_empty", "unknown", "pass", partial(_exposed, rows=0)),
    ):
        yield Effect(f"ReReleaseCheck.{key}", base, (first, second), observe)


def entries() -> Iterator[Effect]:
    """Yield an entry for each parameter of each check that `_TABLE` names."""
    for kind, parameters in _TABLE.items():
        section = check_sections()[kind]
        for key, (base, first, second, *rest) in parameters.items():
            table, see = [*rest, *("t", "")[len(rest) :]]
            observe = partial(outcome_of, kind, table=table, see=see, empty=key == "on_empty" and "where" not in base)
            yield Effect(f"{section}.{key}", base, (first, second), observe)
    yield from _of_re_release()
    for key, (rest_of, first, second) in _EXPECTED.items():
        base = {**_OLD, "expected": {"timezone": "UTC", **rest_of}}
        yield Effect(f"Expected.{key}", base, (first, second), partial(outcome_of, "freshness"), ("expected", key))
    for key, values in _LEARNED_FROM.items():
        base = {"limits": {"learned": {"false_alarms": "1 per 90d"}}}
        yield Effect(f"Learned.{key}", base, values, _learned, ("limits", "learned", key))
        yield Effect(f"Deviation.{key}", {"deviation": {"sigma": 3}}, values, _learned, ("deviation", key))
    promises = ("1 per 90d", "1 per 7d")
    yield Effect("Learned.false_alarms", {}, promises, _learned, ("limits", "learned", "false_alarms"))
    yield Effect("Deviation.sigma", {}, (3, 4), _learned, ("deviation", "sigma"))
    for key, (rest_of, first, second) in _AGAINST.items():
        base = {**_PAIR, "against": rest_of}
        yield Effect(f"Against.{key}", base, (first, second), partial(outcome_of, "reconcile"), ("against", key))
