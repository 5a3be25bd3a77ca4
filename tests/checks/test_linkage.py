"""Records cannot be linked by an attacker who holds another table."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from checks import Kind, Misconfigured, Status, UnknownReason
from checks.linkage import LinkageCheck
from checks.risk import Linkage, linkage
from tests.checks.ask import ENGINES, EXAMPLES, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT
from tests.tiers import examples

OBSERVED = {"rows", "matched", "uniquely_matched", "uniquely_matched_both_ways", "fraction", "candidates"}
_GIVEN = {"auxiliary": "o", "on": ["id"], "max_unique_fraction": 0.5}
EFFECTS = {
    "auxiliary": ({**_GIVEN, "on": ["q"]}, "p", "linkable"),
    "on": ({**_GIVEN}, ["id"], ["b"]),
    "tolerance": (_GIVEN, {}, {"id": 9}),
    "entity": ({**_GIVEN, "on": ["b"]}, ABSENT, {"q": "qq"}, "t", "auxiliary_persons"),
    "at_least": ({**_GIVEN, "on": ["b"], "entity": {"q": "qq"}}, 1, 2, "t", "matched"),
    "max_unique_fraction": (_GIVEN, 0, 1),
    "where": ({**_GIVEN, "on": {"a": "id"}}, ABSENT, "id <> 1", "t", "rows"),
    "warn": ({**_GIVEN, "max_unique_fraction": 1}, ABSENT, {"max_unique_fraction": 0}),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"auxiliary": "{other}", "on": ["id", "name"]},
    {"auxiliary": "{other}", "on": ["twin"]},
    {"auxiliary": "{other}", "on": ["twin"], "max_unique_fraction": 1},
    {"auxiliary": "{other}", "on": {"born": "seen"}, "tolerance": {"born": "3650d"}, "where": "age > 5"},
    {"auxiliary": "{other}", "on": ["age", "wage"], "tolerance": {"age": 1000000, "wage": 0.5}},
    {"auxiliary": "{other}", "on": ["fee"], "tolerance": {"fee": 1e300}, "entity": "name"},
    {"auxiliary": "{other}", "on": ["age"], "entity": {"name": "email"}, "at_least": 1},
    {"auxiliary": "{other}", "on": ["name"], "tolerance": {"name": "1d"}},
    {"auxiliary": "{other}", "on": ["name"], "tolerance": {"name": 1}},
    {"auxiliary": "{other}", "on": {"name": "age"}},
    {"auxiliary": "{other}", "on": ["nowhere"]},
]

PATIENT = {"born": "date", "sex": "text", "zip": "text"}
PATIENTS = Rows(
    PATIENT,
    [
        (date(1976, 1, 21), "m", "53715"),
        (date(1986, 4, 13), "f", "53715"),
        (date(1976, 2, 28), "m", "53703"),
        (date(1976, 1, 21), "m", "53703"),
        (date(1986, 4, 13), "f", "53706"),
        (None, "f", "53706"),
    ],
)
VOTER = {"name": "text", "birthday": "date", "gender": "text", "postcode": "text"}
VOTERS = Rows(
    VOTER,
    [
        ("Andre", date(1976, 1, 21), "m", "53715"),
        ("Beth", date(1981, 1, 10), "f", "55410"),
        ("Carol", date(1944, 10, 1), "f", "90210"),
        ("Ellen", None, "f", "53706"),
    ],
)
VOTING = LinkageCheck(auxiliary="voters", on={"born": "birthday", "sex": "gender", "zip": "postcode"})

RATING = {"subscriber": "int", "film": "text", "stars": "int", "rated": "timestamp"}
RATINGS = Rows(
    RATING,
    [
        (who, film, stars, datetime(2005, 1, day, 20, 15, 0, 500_000))  # noqa: DTZ001 - a naive column
        for who, film, stars, day in (
            (1, "a", 5, 1),
            (1, "b", 4, 9),
            (1, "c", 3, 20),
            (2, "a", 5, 2),
            (2, "b", 1, 9),
            (3, "a", 4, 3),
            (3, "c", 3, 21),
        )
    ],
)
KNOWN = Rows(
    {"friend": "text", "film": "text", "stars": "int", "rated": "date"},
    [
        ("ann", "a", 5, date(2005, 1, 2)),
        ("ann", "b", 4, date(2005, 1, 10)),
        ("bob", "a", 5, date(2005, 1, 2)),
        ("bob", "b", 2, date(2005, 1, 9)),
        ("cid", "c", 3, date(2005, 1, 20)),
        ("dan", None, 5, date(2005, 1, 1)),
        (None, "a", 5, date(2005, 1, 1)),
    ],
)


def test_a_match_that_others_have_too_is_unique_one_way_only(dialect):
    """Two rows that find the same auxiliary row have one candidate each, but it may be either of them."""
    tables = {"t": Rows({"a": "int"}, [(1,), (3,), (9,), (20,), (20,)]), "aux": Rows({"a": "int"}, [(2,), (8,), (20,)])}
    with place(dialect, **tables) as here:
        near = ask(LinkageCheck(auxiliary="aux", on=("a",), tolerance={"a": 1}), here).observed
        exact = ask(LinkageCheck(auxiliary="aux", on=("a",)), here).observed
    assert (near["uniquely_matched"], near["uniquely_matched_both_ways"]) == (5, 1)
    assert (exact["uniquely_matched"], exact["uniquely_matched_both_ways"]) == (2, 0)


def test_columns_that_share_no_value_compare_nothing(dialect):
    """`01234` is never `1234`: no match of such columns is a finding; where each has a common value, none is one."""
    types = {"zip": "text", "n": "int", "a": "int", "b": "int"}
    own = Rows(types, [("01234", 5, 1, 1), ("02345", 3, 2, 2)])
    with place(dialect, t=own, aux=Rows(types, [("1234", 1, 1, 2), ("2345", 9, 2, 1)])) as here:
        apart = ask(LinkageCheck(auxiliary="aux", on=("zip",)), here)
        near = ask(LinkageCheck(auxiliary="aux", on=("n",), tolerance={"n": 2}), here)
        far = ask(LinkageCheck(auxiliary="aux", on=("n",), tolerance={"n": 1}), here)
        both = ask(LinkageCheck(auxiliary="aux", on=("a", "b")), here)
    assert (apart.status, apart.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert str(apart.message).startswith("no value of zip occurs both here and in aux, so nothing was compared")
    assert (near.observed["matched"], far.status, far.observed["not_compared"]) == (1, Status.UNKNOWN, ["n"])
    assert (both.status, both.observed["matched"]) == (Status.PASS, 0)


def test_the_library_has_no_share_of_what_was_not_compared():
    """No value in common, or no row: the share is None."""
    own, other = pd.DataFrame({"zip": ["01234"]}), pd.DataFrame({"zip": ["1234"]})
    found = linkage(own, other, on=["zip"])
    assert (found.not_compared, found.fraction, found.matched) == (("zip",), None, 0)
    assert linkage(own, other[:0], on=["zip"]).fraction is None
    assert linkage(own, own, on=["zip"]).fraction == 1.0


def films(**parameters: Any) -> LinkageCheck:
    """Return the linkage of known people with the subscribers."""
    shared = {"on": ("film", "stars", "rated"), "tolerance": {"rated": "3d"}, "entity": {"subscriber": "friend"}}
    return LinkageCheck(**{"auxiliary": "known", **shared, **parameters})


def test_voter_list(dialect):
    """One patient matches one voter; a NULL matches nothing, not even another NULL."""
    with place(dialect, t=PATIENTS, voters=VOTERS) as here:
        outcome = ask(VOTING, here)
    assert outcome.status is Status.FAIL
    assert VOTING.kind is Kind.DISCLOSURE
    assert outcome.observed == {
        "rows": 6,
        "null_rows": 1,
        "auxiliary_rows": 4,
        "matched": 1,
        "uniquely_matched": 1,
        "uniquely_matched_both_ways": 1,
        "fraction": 1 / 6,
        "candidates": {"0": 5, "1": 1, "2-4": 0, "5+": 0},
    }
    assert outcome.expected == {"max_unique_fraction": 0.0}
    assert str(outcome.message) == "1 of 6 rows matches exactly one row of voters (17%)"


def test_ratings(dialect):
    """A few ratings known to within days single a person out."""
    with place(dialect, t=RATINGS, known=KNOWN) as here:
        outcome = ask(films(), here)
        some = ask(films(at_least=2), here)
        loose = ask(films(tolerance={"rated": "3d", "stars": 1}), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed == {
        "rows": 7,
        "null_rows": 0,
        "auxiliary_rows": 7,
        "auxiliary_persons": 4,
        "matched": 2,
        "uniquely_matched": 1,
        "uniquely_matched_both_ways": 0,
        "fraction": 0.25,
        "candidates": {"0": 2, "1": 1, "2-4": 1, "5+": 0},
    }
    assert str(outcome.message) == "1 of 4 people of known matches exactly one person (25%)"
    assert (some.observed["uniquely_matched"], some.observed["uniquely_matched_both_ways"]) == (1, 1)
    assert loose.observed["candidates"] == {"0": 1, "1": 2, "2-4": 1, "5+": 0}


def test_limit_and_softer_limit(dialect):
    """The limit itself is allowed; breaking only the softer one is a warning."""
    strict = {"max_unique_fraction": 0.25, "warn": {"max_unique_fraction": 0.1}}
    with place(dialect, t=RATINGS, known=KNOWN) as here:
        assert ask(films(max_unique_fraction=0.25), here).status is Status.PASS
        assert ask(films(**strict), here).status is Status.WARN


def test_filter(dialect):
    """The own filter narrows the table, not the auxiliary one."""
    check = VOTING.model_copy(update={"where": "zip = '53703'"})
    with place(dialect, t=PATIENTS, voters=VOTERS) as here:
        outcome = ask(check, here)
    assert outcome.status is Status.PASS
    assert (outcome.observed["rows"], outcome.observed["auxiliary_rows"]) == (2, 4)


def test_nothing_to_look_at(dialect):
    """A table without rows is unknown, and so is an auxiliary table that knows nothing."""
    for own, other in (
        (Rows(PATIENT), VOTERS),
        (PATIENTS, Rows(VOTER)),
        (PATIENTS, Rows(VOTER, [("x", None, "f", "1")])),
    ):
        with place(dialect, t=own, voters=other) as here:
            outcome = ask(VOTING, here)
        assert outcome.reason is UnknownReason.NO_DATA
    with place(dialect, t=RATINGS, known=Rows(KNOWN.types, [(None, *row[1:]) for row in KNOWN.rows])) as here:
        assert ask(films(), here).reason is UnknownReason.NO_DATA


def test_columns_that_are_not_there():
    """Unknown columns of either table are named, with the nearest one."""
    with place("duckdb", t=PATIENTS, voters=VOTERS) as here:
        for parameters, message in (
            ({"on": {"brn": "birthday"}}, r"column 'brn' not found; did you mean 'born'\?"),
            ({"on": {"born": "brithday"}}, r"voters: column 'brithday' not found; did you mean 'birthday'\?"),
            ({"on": {"born": "birthday"}, "entity": {"whom": "name"}}, "column 'whom' not found"),
            ({"on": {"born": "birthday"}, "entity": {"sex": "nmae"}}, "voters: column 'nmae' not found"),
        ):
            with pytest.raises(Misconfigured, match=message):
                ask(LinkageCheck(auxiliary="voters", **parameters), here)


def test_tolerance_of_another_kind():
    """A tolerance fits the type of its column, and columns of two kinds are not compared."""
    with place("duckdb", t=RATINGS, known=KNOWN) as here:
        for parameters, message in (
            ({"on": ["film"], "tolerance": {"film": 1}}, "'film' is of type string, which has no distance"),
            ({"on": ["rated"], "tolerance": {"rated": 3}}, "'rated' is of type .*; expected a duration such as 3d"),
            (
                {"on": ["stars"], "tolerance": {"stars": "3d"}},
                "'stars' is of type int64; .* a duration tolerance applies",
            ),
            ({"on": {"film": "stars"}}, "'film' is of type string and 'stars' of the other table of type int64"),
            ({"on": {"stars": "film"}, "tolerance": {"stars": 1}}, "'film' is of type string, which has no distance"),
        ):
            with pytest.raises(Misconfigured, match=message):
                ask(LinkageCheck(auxiliary="known", **parameters), here)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"on": []}, "at least 1"),
        ({"on": {}}, "at least 1"),
        ({"on": ["a", "a"]}, "each column once"),
        ({"on": ["a"], "tolerance": {"b": 1}}, "'tolerance' is for columns in 'on'; not there: b"),
        ({"on": ["a"], "tolerance": {"a": -1}}, "a number not below 0, or a duration such as 3d"),
        ({"on": ["a"], "tolerance": {"a": "-3d"}}, "a duration such as 26h"),
        ({"on": ["a"], "tolerance": {"a": True}}, "a number not below 0, or a duration such as 3d"),
        ({"on": ["a"], "at_least": 2}, "it needs 'entity'"),
        ({"on": ["a"], "entity": "p", "at_least": 0}, "greater than or equal to 1"),
        ({"on": ["a"], "entity": {"p": "q", "r": "s"}}, "'entity' is one column"),
        ({"on": ["a"], "max_unique_fraction": 2}, "less than or equal to 1"),
    ],
)
def test_parameters(wrong, message):
    """Refuses what cannot be asked, before any table is looked at."""
    with pytest.raises(ValidationError, match=message):
        LinkageCheck(auxiliary="b", **wrong)


TEXTS = {"at": "text"}
DAYS = LinkageCheck(auxiliary="b", on=("at",), tolerance={"at": "1d"})


def test_text_is_read_as_times(dialect):
    """With a duration as tolerance, ISO texts are times: with an offset moments, without one wall clocks."""
    own = Rows(TEXTS, [("2026-01-01T23:30:00+09:00",), ("2026-01-03 00:00:00.000001Z",)])
    with place(dialect, t=own, b=Rows(TEXTS, [("2026-01-01T14:30:00Z",), ("2026-01-04T00:00Z",)])) as here:
        assert ask(DAYS, here).observed["candidates"] == {"0": 0, "1": 2, "2-4": 0, "5+": 0}
    with place(dialect, t=own, b=Rows({"at": "timestamptz"}, [(datetime(2026, 1, 1, tzinfo=UTC),)])) as here:
        assert ask(DAYS, here).observed["matched"] == 1
    own = Rows(TEXTS, [("2026-01-01",), ("2026-01-03 00:00",)])
    with place(dialect, t=own, b=Rows({"at": "date"}, [(date(2026, 1, 2),)])) as here:
        assert ask(DAYS, here).observed["matched"] == 2


def test_times_that_cannot_be_compared(dialect):
    """Values that are no times, offsets in some of them, and moments beside wall clocks make it unknown."""
    wall, moment = ("2026-01-01 10:00",), ("2026-01-01 10:00Z",)
    for own, other, message in (
        ([wall, ("Andre",)], [wall], "at: 1 value is not a valid timestamp"),
        ([wall], [("Andre",), ("Beth",)], "at: 2 values are not valid timestamps"),
        ([wall, moment], [wall], "at: 1 of 2 values have an offset, the others have none"),
        ([wall], [moment], "at: one table has timestamps without a time zone"),
    ):
        with place(dialect, t=Rows(TEXTS, own), b=Rows(TEXTS, other)) as here:
            outcome = ask(DAYS, here)
        assert outcome.reason is UnknownReason.MISCONFIGURED
        assert str(outcome.message).startswith(message)
        assert "Andre" not in f"{outcome.message}{outcome.observed}"


def test_text_in_a_column_of_numbers():
    """SQLite keeps text in any column: with a tolerance, that is unknown; exactly, it is just another value."""
    check = LinkageCheck(auxiliary="b", on=("n",), tolerance={"n": 1})
    with place("sqlite", t=Rows({"n": "int"}, [(1,), ("Andre",)]), b=Rows({"n": "int"}, [(2,)])) as here:
        outcome = ask(check, here)
        assert (outcome.reason, str(outcome.message)) == (UnknownReason.MISCONFIGURED, "n: 1 value is not a number")
        assert ask(LinkageCheck(auxiliary="b", on=("n",)), here).observed["not_compared"] == ["n"]


def test_distances_at_the_edge(dialect):
    """The tolerance itself is within it: of fractions, of whole numbers and of decimals, far from 0 as well."""
    types = {"f": "float", "i": "int", "d": "decimal"}
    own = Rows(types, [(0.8, 2**60, Decimal("1000000.30")), (-0.8, -5, Decimal("-0.30"))])
    other = Rows(types, [(0.7, 2**60 + 3, Decimal("1000000.20")), (-0.9, -8, Decimal("-0.45"))])
    with place(dialect, t=own, b=other) as here:
        for column, width, matched in (
            ("f", 0.1, 2),
            ("f", 0.09, 0),
            ("i", 3, 2),
            ("i", 2, 0),
            ("i", 3.9, 2),
            ("d", 0.1, 1),
        ):
            check = LinkageCheck(auxiliary="b", on=(column,), tolerance={column: width})
            seen = ask(check, here).observed
            if matched:
                assert seen["matched"] == matched, (column, width)
            else:
                assert seen["not_compared"] == [column], width


def test_what_is_no_number_matches_nothing():
    """NaN is no value, and nothing is near infinity."""
    strange = Rows({"f": "float"}, [(float("nan"),), (float("inf"),), (1e308,), (None,), (1.0,)])
    for dialect in set(ENGINES) - {"sqlite", "mysql"}:
        with place(dialect, t=strange, b=strange) as here:
            near = ask(LinkageCheck(auxiliary="b", on=("f",), tolerance={"f": 0.5}), here)
            exact = ask(LinkageCheck(auxiliary="b", on=("f",)), here)
        assert (near.observed["null_rows"], near.observed["matched"]) == (3, 2)
        assert (exact.observed["null_rows"], exact.observed["matched"]) == (2, 3)


def test_many_columns(dialect):
    """A dozen shared columns, some with tolerances, and a filter are one statement that every engine takes."""
    types = {f"c{n}": ("int", "text", "timestamp", "float")[n % 4] for n in range(12)} | {"who": "int"}
    at = datetime(2026, 1, 1)  # noqa: DTZ001 - a naive column
    values = tuple((n, f"x{n}", at + timedelta(days=n), n / 4)[n % 4] for n in range(12))
    tolerance = {f"c{n}": ("1", None, "2d", "0.5")[n % 4] for n in range(12)}
    tolerance = {name: text if text == "2d" else float(text) for name, text in tolerance.items() if text}
    asked = {"auxiliary": "b", "on": tuple(list(types)[:-1]), "tolerance": tolerance, "where": "c0 >= 0 AND who > 0"}
    with place(dialect, t=Rows(types, [(*values, 1), (*values, 2)]), b=Rows(types, [(*values, 7)])) as here:
        assert ask(LinkageCheck(**asked), here).observed["uniquely_matched"] == 2
        assert ask(LinkageCheck(**asked, entity="who"), here).observed["candidates"]["2-4"] == 1


# --- the engines and the library agree --------------------------------------------------------------------------------

ZONE = timezone(timedelta(hours=9))
DAY = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = {"n": "int", "f": "float", "x": "text", "day": "date", "at": "timestamp", "z": "timestamptz", "who": "int"}
ROW = st.tuples(
    st.integers(-4, 4) | st.none(),
    st.sampled_from([-0.3, 0.0, 0.1, 0.7, 0.8, 2.5]) | st.none(),
    st.sampled_from(["", "x", "東京", "X"]) | st.none(),
    st.integers(0, 3).map(lambda n: (DAY + timedelta(days=n)).date()) | st.none(),
    st.integers(0, 5).map(lambda n: (DAY + timedelta(hours=9 * n, microseconds=n % 2)).replace(tzinfo=None))
    | st.none(),
    st.integers(0, 5).map(lambda n: (DAY + timedelta(hours=9 * n)).astimezone(ZONE)) | st.none(),
    st.integers(1, 4) | st.none(),
)
ASKED: Sequence[Mapping[str, Any]] = (
    {"on": ("n",)},
    {"on": ("x", "day")},
    {"on": ("n", "x"), "entity": "who"},
    {"on": ("n",), "tolerance": {"n": 1}},
    {"on": ("x", "f"), "tolerance": {"f": 0.1}},
    {"on": ("f", "n"), "tolerance": {"f": 0.1, "n": 2.5}},
    {"on": {"day": "at"}, "tolerance": {"day": "1d"}},
    {"on": ("z", "x"), "tolerance": {"z": "12h"}},
    {"on": ("at", "n"), "tolerance": {"at": "9h", "n": 1}, "entity": "who"},
    {"on": ("x", "day"), "tolerance": {"day": "1d"}, "entity": "who", "at_least": 1},
    {"on": ("n", "f"), "tolerance": {"n": 1}, "entity": "who", "at_least": 2},
)


def frame(rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return rows as a frame of objects, as they are."""
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)


def in_library(check: LinkageCheck, own: Sequence[Any], other: Sequence[Any]) -> Linkage:
    """Ask the library what the check asks."""
    return linkage(
        frame(own),
        frame(other),
        on=check.on,
        tolerance=check.tolerance,
        entity=check.entity,
        at_least=check.at_least,
    )


@settings(max_examples=examples(EXAMPLES), deadline=None)
@given(st.lists(ROW, min_size=1, max_size=9), st.lists(ROW, min_size=1, max_size=9), st.sampled_from(ASKED))
def test_agrees_with_the_library(own, other, asked):
    """Every engine gives the numbers that the library gives on frames of the same rows."""
    check = LinkageCheck(auxiliary="b", **asked)
    found = in_library(check, own, other)
    for dialect in ENGINES:
        with place(dialect, t=Rows(COLUMNS, own), b=Rows(COLUMNS, other)) as here:
            outcome = ask(check, here)
        if outcome.status is Status.UNKNOWN:
            assert found.fraction is None, dialect
            if outcome.reason is not UnknownReason.NO_DATA:
                assert outcome.reason is UnknownReason.MISCONFIGURED
                assert tuple(outcome.observed["not_compared"]) == found.not_compared
            continue
        seen = outcome.observed
        assert (seen["matched"], seen["uniquely_matched"]) == (found.matched, found.uniquely_matched), dialect
        assert seen["uniquely_matched_both_ways"] == found.uniquely_matched_both_ways, dialect
        assert seen["fraction"] == found.fraction
        assert sum(seen["candidates"].values()) == found.rows
