"""Without its noise, every statistic is the number that plain Python gives, wherever the table lives."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers import STATISTICS, Declared, Terms
from sources import SourceSpec, open_source
from tests.remedies.differential_privacy.answers.exact import Spy, terms_of
from tests.remedies.differential_privacy.answers.places import DECLARED, PEOPLE, Person, place

KINDS: Final = (
    "csv",
    "parquet",
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]),
)


@pytest.fixture(params=KINDS)
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceSpec]:
    """Yield every kind of source in turn, with all people."""
    with place(request.param, request, tmp_path, PEOPLE) as spec:
        yield spec


@pytest.fixture(params=KINDS)
def few(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], SourceSpec]]:
    """Yield a way to have so many of the people in each kind of source."""
    opened = []

    def make(number: int) -> SourceSpec:
        held = place(request.param, request, tmp_path, PEOPLE[:number])
        opened.append(held)
        return held.__enter__()

    yield make
    for held in opened:
        held.__exit__(None, None, None)


@pytest.fixture
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    Spy(monkeypatch)


def ask(spec: SourceSpec, terms: Terms, **words: Any) -> Any:
    """Ask a source, and give the answer."""
    price = {"epsilon": "0.1"} if terms.accounting is Accounting.PURE else {"rho": "0.1"}
    statistic = STATISTICS[words["statistic"]].model_validate({**price, **words})
    statistic.check(terms)
    with open_source(spec) as source:
        table = source.table("people")
        sql = source.compile(statistic.statement(table, source.dialect, terms, key="a key"))
        return statistic.answer(source.fetch(sql), terms)


def amount(person: Person) -> Fraction:
    """Read an amount as it is declared: NULL and NaN as 1, from -2 to 3, in halves."""
    said = person[3]
    if said is None or math.isnan(said):
        return Fraction(1)
    return Fraction(round(min(max(said, -2), 3) * 2), 2)


def age(person: Person) -> int | None:
    """Read an age as its cell is called; None where it is in none."""
    return None if person[2] is None or not 0 <= person[2] <= 100 else person[2] // 20 * 20


@pytest.mark.usefixtures("_exact")
def test_without_noise_counts_are_exact(people: SourceSpec) -> None:
    """Rows, and rows of each declared value, are counted as Python counts them; all others are in the last cell."""
    terms = terms_of(**DECLARED)
    assert ask(people, terms, statistic="count")["value"] == len(PEOPLE)
    sexes = DECLARED["domain"]["sex"]
    result = ask(people, terms, statistic="histogram", by=["sex"])["groups"]
    assert result == [{"by": {"sex": sex}, "value": sum(person[1] == sex for person in PEOPLE)} for sex in sexes] + [
        {"by": {"sex": None}, "value": sum(person[1] not in sexes for person in PEOPLE)}
    ]
    days = ask(people, terms, statistic="histogram", by=["born"])["groups"]
    assert [group["value"] for group in days] == [4, 1, 4]
    both = ask(people, terms, statistic="histogram", by=["age", "member"])["groups"]
    expected = {
        (one, true): sum((age(person), person[5] is True) == (one, true) for person in PEOPLE)
        for one in (0, 20, 40, 60, 80, 100, None)
        for true in (True, False)
    }
    assert {(group["by"]["age"], group["by"]["member"]): group["value"] for group in both} == expected


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("sex = F", lambda person: person[1] == "F"),
        ("sex != F", lambda person: person[1] not in {"F", None}),
        ('sex = O\'Neil \\ "q"', lambda person: person[1] == 'O\'Neil \\ "q"'),
        ("age >= 39", lambda person: person[2] is not None and person[2] >= 39),
        ("age != 15", lambda person: person[2] not in {15, None}),
        ("amount < 1.25", lambda person: person[3] is not None and person[3] < 1.25),
        ("member = true", lambda person: person[5] is True),
        ("member = false", lambda person: person[5] is not True),
        ("price <= 10.26", lambda person: person[4] is not None and float(person[4]) <= 10.26),
    ],
)
@pytest.mark.usefixtures("_exact")
def test_without_noise_the_rows_that_are_meant_are_counted(
    people: SourceSpec, where: str, meant: Callable[[Person], bool]
) -> None:
    """A comparison means the rows that it means in Python; what has no such value, none."""
    terms = terms_of(**DECLARED)
    assert ask(people, terms, statistic="count", where=[where])["value"] == sum(map(meant, PEOPLE))


@pytest.mark.usefixtures("_exact")
def test_without_noise_sums_means_and_quantiles_are_exact(people: SourceSpec) -> None:
    """Clamped and rounded to the grid as declared, numbers add up as in Python."""
    terms = terms_of(**DECLARED)
    amounts = [amount(person) for person in PEOPLE]
    assert ask(people, terms, statistic="sum", column="amount")["value"] == sum(amounts)
    mean = ask(people, terms, statistic="mean", column="amount")
    assert mean["value"] == pytest.approx(float(sum(amounts) / len(amounts)))
    middle = ask(people, terms, statistic="quantile", column="amount")
    candidates = [Fraction(half, 2) for half in range(-4, 7)]
    below = {candidate: sum(other < candidate for other in amounts) for candidate in candidates}
    upto = {candidate: sum(other <= candidate for other in amounts) for candidate in candidates}
    half = Fraction(len(amounts), 2)
    assert middle["value"] == max(candidates, key=lambda one: min(half - below[one], upto[one] - half))
    prices = [0 if one[4] is None else min(max(one[4], -1), 50) for one in PEOPLE]
    assert ask(people, terms, statistic="sum", column="price")["value"] == pytest.approx(float(sum(prices)))
    assert ask(people, terms, statistic="sum", column="age")["value"] == sum(
        0 if one[2] is None else min(max(one[2], 0), 100) for one in PEOPLE
    )
    groups = ask(people, terms, statistic="sum", column="amount", by=["member"])["groups"]
    assert [group["value"] for group in groups] == [
        sum(amount(one) for one in PEOPLE if (one[5] is True) is true) for true in (True, False)
    ]


@pytest.mark.usefixtures("_exact")
def test_so_many_rows_of_a_unit_count(people: SourceSpec) -> None:
    """Of each unit so many rows are kept; rows without a unit are those of one unit."""
    for rows, kept in ((1, 5), (2, 8), (3, 9)):
        terms = terms_of(**DECLARED, unit="who", rows_per_unit=rows)
        assert ask(people, terms, statistic="count")["value"] == kept
        shared = ask(people, terms, statistic="histogram", by=["sex"])["groups"]
        assert sum(group["value"] for group in shared) == kept
        assert ask(people, terms, statistic="count", where=["sex = F"])["value"] == min(rows, 2)


@pytest.mark.usefixtures("_exact")
def test_other_accounting_finds_the_same(people: SourceSpec) -> None:
    """In zcdp accounting the same numbers are found."""
    terms = Terms(Declared.model_validate(DECLARED), Accounting.ZCDP)
    assert ask(people, terms, statistic="count")["value"] == len(PEOPLE)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.usefixtures("_exact")
def test_a_table_with_few_rows_has_all_cells(few: Callable[[int], SourceSpec], number: int) -> None:
    """Without rows, or with one, every cell, sum and quantile is answered; a mean of no rows is withheld."""
    spec, terms = few(number), terms_of(**DECLARED)
    assert ask(spec, terms, statistic="count")["value"] == number
    groups: Sequence[Any] = ask(spec, terms, statistic="histogram", by=["sex"])["groups"]
    assert (len(groups), sum(group["value"] for group in groups)) == (6, number)
    assert ask(spec, terms, statistic="sum", column="price")["value"] == (0.01 if number else 0)
    assert ask(spec, terms, statistic="mean", column="price")["value"] == (0.01 if number else None)
    assert ask(spec, terms, statistic="mean", column="price", where=["sex = M"])["value"] is None
    assert -1 <= ask(spec, terms, statistic="quantile", column="price")["value"] <= 50
    assert ask(spec, terms_of(**DECLARED, unit="who"), statistic="count")["value"] == number
