"""A randomised table: what it may cost is exact, what comes out lies in the domain, what is not covered is named."""

import json
import math
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remedies import Misfit
from remedies.differential_privacy import mechanism as _randomise
from remedies.differential_privacy import random_bytes
from remedies.differential_privacy._reconstruct import reconstruct
from remedies.differential_privacy._retention import epsilon_of, pk_of, retention
from remedies.differential_privacy.answers import SteppedColumn
from remedies.differential_privacy.domain import CategoryDomain
from remedies.differential_privacy.mechanism import INDEX, Mechanism, randomise, redrawn
from remedies.differential_privacy.random_bytes import ONE, random_order
from tests.remedies.differential_privacy.distributions import FALSE_ALARM
from tests.remedies.differential_privacy.movielens import COUNTS, ROWS, SIZES
from tests.tiers import examples

GENDERS, AGES = ("F", "M"), ("<18", "18-24", "25-34", "35-44", "45-49", "50-55", "56+")
DOMAINS: Mapping[str, tuple[str, ...]] = {"gender": GENDERS, "age": AGES}


def users(times: int = 1) -> pd.DataFrame:
    """Return the users of the paper, each so many times."""
    cells = np.repeat(np.arange(COUNTS.size), COUNTS.ravel() * times)
    gender, age = np.unravel_index(cells, SIZES)
    return pd.DataFrame({"gender": np.take(GENDERS, gender), "age": np.take(AGES, age)})


def tabulated(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Count genders by ages."""
    gender, age = (pd.Categorical(frame[name], DOMAINS[name]).codes for name in DOMAINS)
    return np.bincount(gender.astype(int) * 7 + age, minlength=14).reshape(SIZES)


def likelihoods(size: int, rho: Fraction, monkeypatch: pytest.MonkeyPatch) -> list[list[Fraction]]:
    """Run the code on everything its flags and integers can be, and give the exact probability of each outcome."""
    found = [[Fraction(0)] * size for _ in range(size)]
    for kept, drawn in product((True, False), range(size)):
        monkeypatch.setattr(_randomise, "flags", lambda threshold, n, kept=kept: _said(threshold, n, rho, kept=kept))
        monkeypatch.setattr(_randomise, "many_below", lambda bound, n, drawn=drawn: np.full(n, drawn % bound))
        weight = (rho if kept else 1 - rho) / size
        for value in range(size):
            found[value][int(redrawn(np.array([value]), size, rho)[0])] += weight
    return found


def _said(threshold: int, count: int, rho: Fraction, *, kept: bool) -> npt.NDArray[np.bool_]:
    assert Fraction(threshold, ONE) == rho  # or the weights of `likelihoods` would be others
    return np.full(count, kept)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("epsilon", ["0.000000001", "0.1", "1", "4", "40"])
def test_likelihoods_differ_by_no_more_than_e_to_epsilon(
    epsilon: str, joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all rows and all outcomes, in exact fractions; and by the least that the 64 bits of a threshold allow."""
    domains = {"a": (1, 2), "b": (1, 2, 3)}
    mechanism = randomise(pd.DataFrame({"a": [1], "b": [1]}), domains, epsilon=epsilon, joint=joint).mechanism
    cells = (6,) if joint else (2, 3)
    tables = [likelihoods(*each, monkeypatch) for each in zip(cells, mechanism.retentions, strict=True)]
    assert all(sum(row) == 1 for table in tables for row in table)
    worst = math.prod(
        max(one[out] / other[out] for one in table for other in table for out in range(len(table))) for table in tables
    )
    assert worst == mechanism.likelihood_ratio
    bound = Fraction(Context(prec=60).exp(Decimal(epsilon))) * (1 - Fraction(1, 10**58))
    assert worst <= bound
    assert mechanism.epsilon == mechanism.epsilon_of_row == Decimal(epsilon) or Decimal(epsilon) == 40


@pytest.mark.usefixtures("fixed_bytes")
@pytest.mark.parametrize("joint", [False, True])
def test_rows_come_out_as_the_matrix_says(joint: bool) -> None:
    """All 14 x 14 frequencies of 604,000 rows are where they should be; a retention off by 0.02 would be seen."""
    before = users(100).rename_axis("a name, so that rows stay where they are")
    found = randomise(before, DOMAINS, epsilon=1, joint=joint)
    went = tabulated(before).size * _cells(before) + _cells(found.frame)
    seen = np.bincount(went, minlength=196).reshape(14, 14)
    matrix = found.mechanism.factors[0].dense()
    if not joint:
        matrix = np.kron(matrix, found.mechanism.factors[1].dense())
    expected = COUNTS.ravel()[:, None] * 100 * matrix
    assert np.abs((seen - expected) / np.sqrt(expected * (1 - matrix))).max() < FALSE_ALARM


def _cells(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    gender, age = (pd.Categorical(frame[name], DOMAINS[name]).codes.astype(np.int64) for name in DOMAINS)
    return np.asarray(gender * 7 + age)


@pytest.mark.usefixtures("fixed_bytes")
def test_reconstruction_comes_nearer_to_the_truth() -> None:
    """At epsilon 1 the counts are at least 40 % nearer than those of the randomised table."""
    found = randomise(users(), DOMAINS, epsilon=1)
    randomised = tabulated(found.frame)
    back = reconstruct(randomised, found.mechanism.factors)
    assert np.linalg.norm(back.counts - COUNTS) < 0.6 * np.linalg.norm(randomised - COUNTS)


def test_retentions_are_those_of_the_paper() -> None:
    """Attribute-wise by equation 6, jointly by its closed form, by Pk through equation 7."""
    one_by_one = randomise(users(), DOMAINS, epsilon=1).mechanism
    assert [float(rho) for rho in one_by_one.retentions] == pytest.approx([retention(1, SIZES)] * 2, rel=1e-15)
    jointly = randomise(users(), DOMAINS, epsilon=1, joint=True).mechanism
    assert [float(rho) for rho in jointly.retentions] == pytest.approx([math.expm1(1) / (math.e + 13)])
    crowd = randomise(users(), DOMAINS, pk=900).mechanism
    assert crowd.epsilon is not None
    assert 900 <= pk_of(ROWS, epsilon=crowd.epsilon) < 900.001


def test_retentions_can_be_stated() -> None:
    """For all columns or by column; epsilon is what they cost, rounded up to nine places."""
    each = randomise(users(), DOMAINS, retention={"gender": 0.5, "age": Fraction(1, 4)}).mechanism
    assert each.retentions == (Fraction(1, 2), Fraction(1, 4))
    assert each.epsilon is not None
    assert 0 <= each.epsilon - Decimal(epsilon_of([0.5, 0.25], SIZES)) <= Decimal("1.001e-9")
    assert randomise(users(), DOMAINS, retention=0).mechanism.epsilon == 0


def test_epsilon_is_for_all_rows_of_a_person() -> None:
    """Who has three rows is protected by the epsilon asked for, so each row gets a third of it."""
    mechanism = randomise(users(), DOMAINS, epsilon=3, rows_per_unit=3).mechanism
    assert (mechanism.epsilon, mechanism.epsilon_of_row) == (3, 1)
    assert randomise(users(), DOMAINS, epsilon=1, rows_per_unit=3).mechanism.epsilon == 1


def test_epsilon_is_stated_only_if_every_column_is_covered() -> None:
    """A column that leaves unchanged is named, an index that may tell of a row as well, and nothing is bounded."""
    table = users().assign(name="somebody")
    found = randomise(table, DOMAINS, epsilon=1).mechanism
    assert (found.epsilon, found.unchanged, found.epsilon_of_row) == (None, ("name",), 1)
    assert randomise(table, {**DOMAINS, "name": ("somebody",)}, epsilon=1).mechanism.epsilon == 1
    for index in (users().index[::-1], users().index.rename("row"), np.arange(ROWS)):
        assert randomise(users().set_axis(index), DOMAINS, epsilon=1).mechanism.unchanged == (INDEX,)


@pytest.mark.usefixtures("fixed_bytes")
def test_place_of_a_row_tells_nothing() -> None:
    """Of a sorted table, hardly randomised, no half has more of one gender than chance gives it."""
    table = pd.DataFrame({"gender": ["F"] * 5000 + ["M"] * 5000})
    found = randomise(table, {"gender": GENDERS}, epsilon=50)
    assert found.mechanism.shuffled
    assert abs((found.frame["gender"][:5000] == "F").sum() - 2500) < FALSE_ALARM * 25
    assert (found.frame["gender"] == "F").sum() == 5000


def test_order_stays_where_epsilon_is_not_stated() -> None:
    """Rows belong to what is beside them."""
    table = users().assign(name=np.arange(ROWS))
    found = randomise(table, DOMAINS, epsilon=50)
    assert not found.mechanism.shuffled
    pd.testing.assert_frame_equal(found.frame, table)


@pytest.mark.usefixtures("fixed_bytes")
def test_each_order_is_as_likely() -> None:
    """All 24 orders of four rows."""
    seen = pd.Series([tuple(random_order(4)) for _ in range(24_000)]).value_counts()
    assert len(seen) == 24
    assert abs(seen - 1000).max() < FALSE_ALARM * math.sqrt(1000)


def test_order_is_drawn_anew_if_two_words_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or rows that came first would be likelier to come first."""
    words = iter([np.array([7, 7, 1], dtype=np.uint64), np.array([5, 9, 1], dtype=np.uint64)])
    monkeypatch.setattr(random_bytes, "many_below", lambda *_: next(words))
    assert random_order(3).tolist() == [2, 0, 1]


def test_a_column_of_another_name_that_reads_alike_is_not_covered() -> None:
    """The number 1 and the text 1 are two names."""
    found = randomise(pd.DataFrame({"1": [True], 1: [False]}), {"1": (True, False)}, epsilon=1)
    assert found.mechanism.unchanged == ("1",)
    assert found.mechanism.epsilon is None


def test_others_and_null_are_taken_for_a_declared_value() -> None:
    """What is taken for what is fixed before anything is drawn, so that nothing else about it comes out."""
    table = pd.DataFrame({"city": ["Oslo", "Atlantis", None, "京都"]})
    domains = {"city": ("Oslo", "京都", "elsewhere")}
    found = randomise(table, domains, epsilon=50, others={"city": "elsewhere"})
    assert sorted(found.frame["city"]) == ["Oslo", "elsewhere", "elsewhere", "京都"]
    assert (found.cells_changed, found.rows_changed) == ({"city": 2}, 2)
    assert found.mechanism.as_json()["others"] == {"city": "elsewhere"}


def test_values_outside_a_domain_are_counted_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a value that they are taken for, and before anything is drawn."""
    monkeypatch.setattr(_randomise, "flags", lambda *_: pytest.fail("drawn"))
    table = pd.DataFrame({"city": ["Oslo", "Atlantis", None]})
    with pytest.raises(Misfit, match="column 'city' has 2 cells outside its declared domain") as caught:
        randomise(table, {"city": ("Oslo", "京都")}, epsilon=1)
    assert "Atlantis" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "domain"),
    [
        (pd.Series([1.0, 2.0, np.nan]), (0, 1, 2)),
        (pd.Series([1, 2, 0], dtype="int8"), (0, 1, 2)),
        (pd.Series(["1", None, "2"], dtype=object), (0, 1, 2)),
        (pd.Series(["1", "2", "7"], dtype="category"), (0, 1, 2)),
    ],
)
def test_type_of_a_column_tells_of_its_domain_alone(column: "pd.Series[Any]", domain: tuple[int, ...]) -> None:
    """A column that became one of floats, since a value is missing, comes out as any other of these whole numbers."""
    found = randomise(column.to_frame("n"), {"n": domain}, epsilon=1, others={"n": 0})
    assert found.frame["n"].dtype == np.dtype("int64")
    assert found.mechanism.epsilon == 1


def test_nothing_of_the_table_is_in_the_mechanism() -> None:
    """Two tables of as many rows are randomised with the same."""
    other = users().assign(gender="M", age="56+")
    assert randomise(users(), DOMAINS, epsilon=1).mechanism == randomise(other, DOMAINS, epsilon=1).mechanism


def test_mechanism_is_plain_data() -> None:
    """With fractions as texts, and the version of what was drawn."""
    found: Mechanism = randomise(pd.DataFrame({"a": [True]}), {"a": (True, False)}, retention=0.5).mechanism
    assert found.as_json() == {
        "mechanism": "attribute-wise",
        "domains": {"a": ["true", "false"]},
        "others": {},
        "ranges": {},
        "retentions": ["1/2"],
        "epsilon_of_row": "1.098612289",
        "epsilon": "1.098612289",
        "adjacency": "substitute",
        "rows": 1,
        "rows_per_unit": 1,
        "unchanged": [],
        "shuffled": True,
        "code": "randomise-1",
    }


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=30),
    st.booleans(),
    st.sampled_from(["0.01", "1", "10"]),
)
@settings(max_examples=examples(50))
def test_every_value_lies_in_its_domain(rows: list[tuple[int, str]], joint: bool, epsilon: str) -> None:
    """There are as many rows; the table given is as it was."""
    table = pd.DataFrame(rows, columns=["n", "c"]).astype({"n": "int64"})
    before = table.copy()
    found = randomise(table, {"n": (0, 1, 2, 3), "c": tuple("abcd")}, epsilon=epsilon, joint=joint)
    pd.testing.assert_frame_equal(table, before)
    assert found.frame.index.equals(table.index)
    assert set(found.frame["n"]) <= {0, 1, 2, 3}
    assert set(found.frame["c"]) <= set("abcd")


def _wrong() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"domains": {}}, "no column is named"
    yield {"domains": {"aeg": AGES}}, "column 'aeg' not found; did you mean 'age'"
    yield {"domains": {"age": ()}}, "one or more values"
    yield {"domains": {"age": "56+"}}, "one or more values"
    yield {"domains": {"age": (*AGES, None)}}, "holds NULL"
    yield {"domains": {"age": (1, 1.0, 2)}}, "3 values, of which only 2 differ"
    yield {"others": {"age": "0"}}, "does not have the value that all others are taken for"
    yield {"others": {"aeg": "0"}}, "column 'aeg' has no domain; did you mean 'age'"
    yield {"pk": 5}, "exactly one of epsilon, pk and retention"
    yield {"epsilon": None}, "exactly one of epsilon, pk and retention"
    yield {"epsilon": None, "retention": 1}, "0 to below 1"
    yield {"epsilon": None, "retention": {"age": 0.5}}, "column 'gender' has no retention"
    yield {"epsilon": None, "retention": {"age": 0.5}, "joint": True}, "have one retention"
    yield {"epsilon": None, "retention": {"aeg": 0.5}}, "column 'aeg' has no domain"
    yield {"epsilon": None, "pk": ROWS}, "below the number of rows"
    yield {"epsilon": 0}, "epsilon '0' is not above 0"
    yield {"rows_per_unit": 0}, "1 or more"
    yield {"domains": {"age": ("<18",), "gender": ("F",)}}, "nothing to randomise"


@pytest.mark.parametrize(("changes", "message"), list(_wrong()))
def test_declarations_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    """Each error says what is expected."""
    options: dict[str, Any] = {"domains": DOMAINS, "epsilon": 1} | changes
    domains = options.pop("domains")
    with pytest.raises(Misfit, match=message):
        randomise(users(), domains, **options)


def test_a_column_twice_is_refused() -> None:
    """Two columns of one name cannot be distinguished."""
    with pytest.raises(Misfit, match="2 columns are named 'a'; rename them"):
        randomise(pd.DataFrame([[1, 2]], columns=["a", "a"]), {"a": (1, 2)}, epsilon=1)


def test_columns_too_wide_to_be_joint_are_refused() -> None:
    """More combinations than 64 bits can number."""
    table = pd.DataFrame({name: [1] for name in "abcdefg"})
    with pytest.raises(Misfit, match="more combinations than can be numbered"):
        randomise(table, {name: range(1000) for name in "abcdefg"}, epsilon=1, joint=True)


@pytest.mark.parametrize("joint", [False, True])
def test_a_record_is_read_again(joint: bool) -> None:
    """As it was written, but for the types of values, which it does not have."""
    domains: dict[str, Any] = {"gender": ("F", "M"), "age": SteppedColumn(range=(0, 99), width=10)}
    frame = pd.DataFrame({"gender": ["F", "M"], "age": [17, 99]})
    written = randomise(frame, domains, epsilon=1, joint=joint, rows_per_unit=2).mechanism
    read = Mechanism.read(json.loads(json.dumps(written.as_json())))
    assert read.as_json() == written.as_json()
    assert (read.retentions, read.factors) == (written.retentions, written.factors)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"retentions": ["1/3"]}, "epsilon of the record does not follow"),
        ({"retentions": ["1"]}, "epsilon of the record does not follow"),
        ({"retentions": []}, "epsilon of the record does not follow"),
        ({"domains": {"a": []}}, "epsilon of the record does not follow"),
        ({"epsilon": "0.5"}, "epsilon of the record does not follow"),
        ({"unchanged": ["b"]}, "epsilon of the record does not follow"),
        ({"rows_per_unit": 0}, "epsilon of the record does not follow"),
        ({"code": "randomise-0"}, "the record is of version 'randomise-0', expected 'randomise-1'"),
        ({"retentions": ["1/0"]}, "expected the record of a mechanism"),
        ({"ranges": {"a": [1]}}, "expected the record of a mechanism"),
        ({"mechanism": "other"}, "expected the record of a mechanism"),
        ({"epsilon_of_row": "many"}, "expected the record of a mechanism"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changed: dict[str, Any], message: str) -> None:
    """Epsilon is computed again from the retentions."""
    record = randomise(pd.DataFrame({"a": [True]}), {"a": (True, False)}, retention=0.5).mechanism.as_json()
    with pytest.raises(Misfit, match=message):
        Mechanism.read({**record, **changed})
    with pytest.raises(Misfit, match="expected the record of a mechanism"):
        Mechanism.read([record])


def test_numbers_of_a_range_are_put_into_cells() -> None:
    """Each is its cell's smallest number, however it is spelled; what is none is what is declared for it."""
    column = pd.Series(["1930", "1939.9", " 1940", "2009", "2.009e3", "2010", "no", None], name="born")
    declared = SteppedColumn(range=(1930, 2009), width=10, other=1975)
    found = randomise(column.to_frame(), {"born": declared}, epsilon=100)
    assert sorted(found.frame["born"]) == [1930, 1930, 1940, 1970, 1970, 1970, 2000, 2000]
    assert found.frame["born"].dtype == np.dtype("int64")
    assert found.mechanism.domains == {"born": (1930, 1940, 1950, 1960, 1970, 1980, 1990, 2000)}
    assert found.mechanism.ranges == {"born": (1930, 2009, 10)}
    assert found.mechanism.others == {"born": 1970}
    assert found.cells_changed == {"born": 7}


def test_numbers_outside_a_range_are_counted() -> None:
    """Unless one is named that they are taken for; it has to be in the range."""
    frame = pd.DataFrame({"age": [-1, 0, 120, 121]})
    with pytest.raises(Misfit, match="column 'age' has 2 cells outside its declared domain"):
        randomise(frame, {"age": SteppedColumn(range=(0, 120))}, epsilon=1)
    with pytest.raises(Misfit, match="the range of column 'age' does not have the number"):
        randomise(frame, {"age": SteppedColumn(range=(0, 120))}, epsilon=1, others={"age": 121})
    found = randomise(frame, {"age": SteppedColumn(range=(0, 120))}, epsilon=100, others={"age": "7"})
    assert sorted(found.frame["age"]) == [0, 7, 7, 120]


@pytest.mark.parametrize(
    ("domain", "written"),
    [
        ((1, 2, 3), [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], ["1.0", "2.0", "3.0"], [Decimal("1.00"), 2, 3]]),
        (("1", "2"), [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.00"]]),
        ((True, False), [[True, False], [1, 0], [1.0, 0.0], ["True", "False"], ["true", "0"]]),
        (
            ("2026-11-20", "2026-11-21"),
            [
                ["2026-11-20", "2026-11-21"],
                ["2026-11-20 00:00:00", "2026-11-21T00:00:00.000"],
                [pd.Timestamp("2026-11-20"), pd.Timestamp("2026-11-21")],
                [pd.Timestamp("2026-11-20", tz="UTC"), pd.Timestamp("2026-11-21", tz="UTC")],
            ],
        ),
        (("007", "7", "8"), [["007", "7", "8"], ["007", "7", "8.0"]]),
    ],
)
def test_a_value_has_its_place_in_whatever_type_its_column_came(
    domain: tuple[Any, ...], written: list[list[Any]]
) -> None:
    """One NULL or one text may have decided the type of a whole column: each value is still the same of the domain."""
    read = CategoryDomain.read("x", domain, {})
    for values in written:
        for column in (pd.Series(values), pd.Series(values, dtype=object)):
            assert read.read_column(column).places.tolist() == list(range(len(domain)))
