"""Which rows of a unit count depends on that unit's own rows, and on nothing else in the table."""

from collections.abc import Sequence
from typing import Any

import ibis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remedies.differential_privacy.answers import rows as _rows
from remedies.differential_privacy.answers.reading import Reader
from tests.remedies.differential_privacy.answers.exact import Row, duckdb_engine, sqlite_engine, terms_of
from tests.tiers import examples

COLUMNS = {"who": "TEXT", "other": "TEXT", "sex": "TEXT", "amount": "DOUBLE"}
TEXTS = st.sampled_from(["a", "b", "a\x1f", "\x1e", "", "\x1fb", "é", None])
ROWS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.sampled_from([1.0, 2.0, -0.0, 0.0, None])), max_size=6)


def kept(engine: Any, rows: Sequence[Row], whose: str, most: int) -> list[Row]:
    """Return what a statistic reads of the rows of a unit that count: cells and units of the grid."""
    domain = {"sex": ["a", "b", "\x1e", "é"], "amount": {"low": 0, "high": 2, "missing": 2}}
    terms = terms_of(unit="who", rows_per_unit=most, domain=domain)
    reader = _rows.meant_rows(
        Reader(engine.table, engine.dialect), terms.declared, where=(), columns=("sex", "amount"), key="a key"
    )
    found = engine.run(engine.compile(reader.table), rows)
    return sorted(tuple(row[name] for name in reader.held.values()) for row in found if row["who"] == whose)


@pytest.mark.parametrize("hashed", [True, False], ids=["hashed", "all hashes equal"])
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=ROWS, others=ROWS, most=st.integers(1, 2), data=st.data())
def test_only_its_own_rows_decide_which_of_them_count(
    hashed: bool, rows: list[Row], others: list[Row], most: int, data: st.DataObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However other units' rows change, and in whatever order rows lie, the same rows of a unit count."""
    if not hashed:
        monkeypatch.setattr(_rows, "_hash", lambda *_: ibis.literal("the same"))
    own = [("z", *row[1:]) for row in rows]
    mixed = data.draw(st.permutations([*own, *others]))
    for engine_of in (sqlite_engine, duckdb_engine):
        with engine_of(COLUMNS) as engine:
            alone = kept(engine, own, "z", most)
            assert len(alone) == min(most, len(own))
            assert kept(engine, mixed, "z", most) == alone


def test_both_directions_of_a_pair_are_one_unit() -> None:
    """The direction of a payment does not change the unit of its row; NULL is not the same as a strange name."""
    terms = terms_of(unit=["who", "other"], pairs=["who", "other"], domain={"sex": ["a"]})
    rows = [("x", "y", "a", 1.0), ("y", "x", "b", 1.0), ("x", None, "a", 1.0), (None, "x", "b", 1.0)]
    strange = [("x", "\x1e", "a", 1.0), ("=", "x", "a", 1.0), ("x", "=\x1e", "a", 1.0)]
    for engine_of in (sqlite_engine, duckdb_engine):
        with engine_of(COLUMNS) as engine:
            reader = Reader(engine.table, engine.dialect)
            found = _rows.meant_rows(reader, terms.declared, where=(), columns=("sex",), key="a key")
            assert len(engine.run(engine.compile(found.table), rows)) == 2
            assert len(engine.run(engine.compile(found.table), [*rows, *strange])) == 5


def test_another_key_takes_other_rows() -> None:
    """A writer of rows cannot foresee which of them count: that follows from the key."""
    terms = terms_of(unit="who", domain={"sex": [str(place) for place in range(20)]})
    rows = [("x", "y", str(place), 1.0) for place in range(20)]
    taken = set()
    with sqlite_engine(COLUMNS) as engine:
        for key in map(str, range(20)):
            reader = Reader(engine.table, engine.dialect)
            found = _rows.meant_rows(reader, terms.declared, where=(), columns=("sex",), key=key)
            (row,) = engine.run(engine.compile(found.table), rows)
            taken.add(row["sex"])
    assert len(taken) > 5


def test_a_text_that_is_no_utf_8_does_not_stop_the_rest() -> None:
    """SQLite holds texts that are none; a row with one is counted like all others, and its unit is cut like all."""
    terms = terms_of(unit="who", domain={"sex": ["a"]})
    with sqlite_engine(COLUMNS) as engine:
        reader = Reader(engine.table, engine.dialect)
        found = _rows.meant_rows(reader, terms.declared, where=(), columns=("sex",), key="a key")
        sql = engine.compile(found.table.count().name("rows"))
        strange = """FROM (SELECT "who", "other", CAST(x'ff41' AS TEXT) AS "sex", "amount" FROM "t")"""
        broken = sql.replace('FROM "t"', strange)
        assert broken != sql
        assert engine.run(broken, [("x", "y", "a", 1.0), ("y", "y", "a", 1.0)]) == [{"rows": 2}]
