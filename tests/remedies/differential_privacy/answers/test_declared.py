"""What a request is: canonical, priced in one unit, and about declared columns only."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from remedies import Misfit
from remedies.differential_privacy.accounting import Accounting
from remedies.differential_privacy.answers import STATISTICS, AnyStatistic, Declared, Statistic, Terms, WhereComparison
from remedies.differential_privacy.answers.grid import Grid
from tests.remedies.differential_privacy.answers.exact import terms_of

DOMAIN = {
    "sex": ["F", "M"],
    "sign": {"values": [-1, 0.5, 2], "other": 2},
    "member": [True, False],
    "age": {"range": [0, 25], "width": 10},
    "amount": {"low": -1, "high": 1, "grid": "0.1"},
}


def statistic(**words: Any) -> Statistic:
    """Return a statistic at 0.1."""
    return STATISTICS[words["statistic"]].model_validate({"epsilon": "0.1", **words})


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("age >= 18", ("age", ">=", "18")),
        ("  age>=18 ", ("age", ">=", "18")),
        ("sex = F", ("sex", "=", "F")),
        ("sex!=F", ("sex", "!=", "F")),
        ("my column <= -3.5", ("my column", "<=", "-3.5")),
        ("note = a = b", ("note", "=", "a = b")),
        ("note = two\nlines", ("note", "=", "two\nlines")),
    ],
)
def test_a_comparison_is_read(said: str, parts: tuple[str, str, str]) -> None:
    """A column, a sign and a value; written again, it is read as the same."""
    found = WhereComparison.parse(said)
    assert (found.column, found.sign, found.value) == parts
    assert WhereComparison.parse(str(found)) == found
    assert WhereComparison.parse(found) is found


@pytest.mark.parametrize("said", ["", "age", ">= 18", "age >=", "= =", 3, None, ["age >= 18"]])
def test_what_is_no_comparison_is_refused(said: object) -> None:
    """Without a column, a sign or a value it is none."""
    with pytest.raises(ValueError, match="a comparison such as"):
        WhereComparison.parse(said)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("height > 3", "no declared domain"),
        ("sex = X", "no declared value"),
        ("sex > F", "equal \\(=\\) or not"),
        ("member = yes", "no declared value"),
        ("age > old", "compared with a number"),
        ("age > nan", "compared with a number"),
        ("age > inf", "compared with a number"),
        ("age > 1e300", "compared with a number"),
        ("sign = 3", "no declared value"),
        ("age >= 18 or 1", "compared with a number"),
    ],
)
def test_only_what_is_declared_is_compared(said: str, message: str) -> None:
    """A column without a domain, a value that is not declared, and what is no number are refused."""
    with pytest.raises(Misfit, match=message):
        statistic(statistic="count", where=[said]).check(terms_of(domain=DOMAIN))


@pytest.mark.parametrize(
    "said", ["sign = 0.5", "sign != -1", "sign >= 0.7", "member = TRUE", "amount < 0.05", "age = 7"]
)
def test_declared_values_are_compared(said: str) -> None:
    """Fractions among declared values, and any number of a column of numbers, can be compared with."""
    statistic(statistic="count", where=[said]).check(terms_of(domain=DOMAIN))


def test_the_same_request_is_the_same_data() -> None:
    """However a request is written, what the ledger keeps of it is the same plain data; of columns, those it reads."""
    terms = terms_of(domain=DOMAIN)
    one = statistic(statistic="sum", column="amount", where=["sex=F"], epsilon="0.10")
    other = statistic(statistic="sum", column="amount", where=["sex = F"], epsilon=0.1, by=[])
    assert one.request(terms) == other.request(terms)
    said = json.loads(json.dumps(one.request(terms)))
    assert said == one.request(terms)
    assert set(said["domain"]) == {"amount", "sex"}
    assert (said["epsilon"], said["unit"], said["rows_per_unit"], said["where"]) == ("0.1", "row", 1, ["sex = F"])
    whole = TypeAdapter(AnyStatistic)
    assert whole.validate_python({"statistic": "sum", "column": "amount", "where": ["sex = F"], "epsilon": 0.1}) == one


@pytest.mark.parametrize(
    "changed",
    [
        {"domain": {**DOMAIN, "sex": ["M", "F"]}},
        {"domain": {**DOMAIN, "amount": {"low": -1, "high": 1, "grid": "0.1", "missing": 1}}},
        {"domain": DOMAIN, "unit": "who"},
        {"domain": DOMAIN, "unit": ["who", "whom"], "pairs": ["who", "whom"]},
    ],
)
def test_what_changes_an_answer_is_part_of_the_request(changed: dict[str, Any]) -> None:
    """Another domain of a column that it reads, another unit and pairs are another request."""
    asked = statistic(statistic="sum", column="amount", by=["sex"])
    before = terms_of(domain=DOMAIN, unit=["who", "whom"] if "pairs" in changed else ())
    assert asked.request(before) != asked.request(terms_of(**changed))


@pytest.mark.parametrize("price", [{}, {"epsilon": "1", "rho": "1"}, {"epsilon": True}, {"epsilon": [1]}, {"rho": "0"}])
def test_one_price_is_given(price: dict[str, Any]) -> None:
    """A request costs epsilon or rho, one of the two, above 0."""
    with pytest.raises(ValidationError):
        STATISTICS["count"].model_validate(price)


def test_a_price_in_the_other_unit_is_refused() -> None:
    """A budget in rho is not charged in epsilon, nor the other way round."""
    declared = Declared.model_validate({"domain": DOMAIN})
    with pytest.raises(Misfit, match="accounted in rho"):
        statistic(statistic="count").check(Terms(declared, Accounting.ZCDP))
    with pytest.raises(Misfit, match="accounted in epsilon"):
        STATISTICS["count"].model_validate({"rho": "1"}).check(Terms(declared, Accounting.PURE))


def test_cells_are_numbered_and_named() -> None:
    """The cells of several columns together are all combinations; each has one number and one name."""
    terms = terms_of(domain=DOMAIN)
    grid = Grid.of(("sex", "age", "sign"), terms.declared)
    assert grid.size == 3 * 4 * 3
    named = [tuple(grid.labels(number).values()) for number in range(grid.size)]
    assert len(set(named)) == grid.size
    assert (named[0], named[-1]) == (("F", 0, -1), (None, None, 2))
    assert {name[1] for name in named} == {0, 10, 20, None}
    found = [{"cell": 4, "rows": 7}, {"cell": 35, "rows": None}]
    assert grid.filled(found, "rows") == [0] * 4 + [7] + [0] * 31
    assert (Grid.of((), terms.declared).size, Grid.of((), terms.declared).labels(0)) == (1, {})


def test_too_many_cells_are_refused() -> None:
    """Too many cells are refused before anything is charged."""
    domain = {name: {"range": [0, 999]} for name in ("a", "b")}
    with pytest.raises(Misfit, match="have 1,002,001 cells together"):
        statistic(statistic="histogram", by=["a", "b"]).check(terms_of(domain=domain))
    with pytest.raises(Misfit, match="more than 10,000 candidates"):
        statistic(statistic="quantile", column="a", step=1).check(terms_of(domain={"a": {"low": 0, "high": 20_000}}))


@pytest.mark.parametrize("words", [{"epsilon": "0.000000001"}, {"rho": "0.000000001"}])
def test_what_cannot_be_split_is_refused(words: dict[str, Any]) -> None:
    """A mean of the smallest price cannot pay for a sum and a count."""
    accounting = Accounting.ZCDP if "rho" in words else Accounting.PURE
    asked = STATISTICS["mean"].model_validate({"column": "amount", "by": ["sex"], **words})
    with pytest.raises(Misfit, match="cannot be split"):
        asked.check(Terms(Declared.model_validate({"domain": DOMAIN}), accounting))
