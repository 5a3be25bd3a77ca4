"""Randomisation as a remedy: a table of people in, a randomised one out, with the mechanism as its proof."""

import math
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from remedies import Misfit, Refused, Treatment
from remedies.differential_privacy import Mechanism
from remedies.randomise import Randomise, keep_to_epsilon
from tests.remedies.people import people

GRADES, CITIES = ("low", "mid", "high"), ("Oslo", "京都", "São Paulo", "elsewhere")
DOMAINS: dict[str, Any] = {"grade": GRADES, "city": CITIES}


def treat(frame: pd.DataFrame, **parameters: Any) -> Treatment:
    """Apply the remedy."""
    return Randomise(**{"domains": DOMAINS, "others": {"city": "elsewhere"}, **parameters}).apply(frame)


def two_columns(n: int = 60) -> pd.DataFrame:
    """Return people with grade and city."""
    return people(n)[["grade", "city"]].reset_index(drop=True)


@pytest.mark.parametrize("joint", [False, True])
def test_bill_holds_the_mechanism_as_proof(joint: bool) -> None:
    """Domains, exact retentions, epsilon, the version of the code: and no group of rows that are alike."""
    guarantee = treat(two_columns(), epsilon=1, joint=joint).bill.guarantee
    assert (guarantee.holds, guarantee.columns, guarantee.limits) == (
        "differential_privacy",
        ("grade", "city"),
        {"epsilon": "1"},
    )
    assert guarantee.reached["epsilon"] == "1"
    assert guarantee.reached["mechanism"] == ("joint" if joint else "attribute-wise")
    assert guarantee.reached["domains"] == {"grade": [*GRADES], "city": [*CITIES]}
    assert guarantee.reached["code"] == "randomise-1"
    assert "GROUP BY" not in guarantee.proof
    assert "\"grade\" IS NULL OR CAST(\"grade\" AS VARCHAR) NOT IN ('low', 'mid', 'high')" in guarantee.proof


def test_epsilon_is_stated_only_if_every_column_is_covered() -> None:
    """A column that leaves unchanged is named on the bill, and there is neither epsilon nor Pk."""
    figures = treat(people(), epsilon=1).bill.figures
    assert (figures["epsilon"], figures["pk"]) == (None, None)
    assert figures["unchanged"] == ["(index)", "name", "age", "income", "joined", "diagnosis"]
    covered = treat(two_columns(), epsilon=1).bill.figures
    assert (covered["epsilon"], covered["unchanged"]) == ("1", [])
    assert covered["pk"] == pytest.approx(1 + 59 * math.exp(-2))


def test_null_and_others_are_filled() -> None:
    """With the value that is declared for them; the bill counts the cells that were NULL."""
    frame = two_columns()
    treated = treat(frame, epsilon=100)
    assert treated.bill.cells_filled == {"grade": 0, "city": int(frame["city"].isna().sum())}
    assert not treated.frame["city"].isna().any()
    assert sorted(treated.frame["city"]) == sorted(frame["city"].fillna("elsewhere"))
    assert treated.bill.cells_changed == treated.bill.cells_filled


def test_information_lost_is_what_is_drawn_anew() -> None:
    """In per cent of cells; a column that could have been one value only tells nothing afterwards."""
    lost = treat(two_columns(), retention={"grade": 0.75, "city": 0.5}).bill.information_lost
    assert lost == {"grade": 25.0, "city": 50.0}
    joint = treat(two_columns(), retention=0.25, joint=True).bill
    assert joint.information_lost == {"grade": 75.0, "city": 75.0}
    constant = treat(
        two_columns(), epsilon=1, domains={**DOMAINS, "grade": ("any",)}, others={"grade": "any", "city": "elsewhere"}
    )
    assert constant.bill.information_lost["grade"] == 100.0
    assert constant.bill.figures["epsilon"] == "1"


def test_pk_is_never_called_k() -> None:
    """It is asked for and reached by its own name."""
    bill = treat(two_columns(), pk=5).bill
    assert bill.guarantee.limits == {"pk": 5.0}
    assert 5 <= bill.figures["pk"] < 5.0001
    assert "k" not in {*bill.figures, *bill.guarantee.reached, *bill.guarantee.limits}


def test_output_that_is_not_as_randomised_is_refused() -> None:
    """Other rows, other columns, or values outside a domain; a message shows none of them."""
    remedy = Randomise(domains={"grade": GRADES}, epsilon=1)
    frame = two_columns()[["grade"]]
    mechanism = _mechanism(frame)
    for after, said in (
        (frame.iloc[:-1], "59 rows; 60 were drawn"),
        (frame.rename(columns={"grade": "Grade"}), "no column 'grade'"),
        (frame.replace("low", "secret"), "column 'grade' of the output has values outside its declared domain"),
        (frame.replace("low", None), "outside its declared domain"),
    ):
        with pytest.raises(Refused, match=said) as caught:
            remedy.guarantee(mechanism, after)
        assert "secret" not in str(caught.value)


def _mechanism(frame: pd.DataFrame) -> Any:
    from remedies.differential_privacy import randomise

    return randomise(frame, {"grade": GRADES}, epsilon=1).mechanism


def test_values_outside_a_domain_are_refused_before_anything_is_drawn() -> None:
    """Unless there is a value that they are taken for."""
    with pytest.raises(Misfit, match=r"column 'city' has \d+ cells? outside its declared domain"):
        treat(two_columns(), epsilon=1, others={})


@pytest.mark.parametrize(
    ("said", "read"), [("0.1", "0.1"), (0.1, "0.1"), (1, "1"), ("1.500", "1.5"), (Decimal(10), "10")]
)
def test_epsilon_is_read_as_an_exact_decimal(said: object, read: str) -> None:
    """However it was written."""
    remedy = Randomise.model_validate({"domains": DOMAINS, "epsilon": said})
    assert f"{remedy.epsilon:f}" == read
    assert Randomise.model_validate_json(remedy.model_dump_json()) == remedy


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon '0' is not above 0"),
        ({"epsilon": "1e0"}, "not a plain decimal"),
        ({"epsilon": True}, "epsilon is True"),
        ({"epsilon": None}, "exactly one of 'epsilon', 'pk' and 'retention'"),
        ({"pk": 3}, "exactly one of 'epsilon', 'pk' and 'retention'"),
        ({"epsilon": None, "pk": 1}, "greater than 1"),
        ({"epsilon": None, "retention": 1}, "1 is not a probability of at least 0 and below 1"),
        ({"epsilon": None, "retention": {"grade": 0.5}}, "'retention' is missing columns: city"),
        ({"epsilon": None, "retention": {"grade": 0.5, "city": 0.5}, "joint": True}, "have one 'retention'"),
        ({"epsilon": None, "retention": {**dict.fromkeys(DOMAINS, 0.5), "age": 0.5}}, "not in 'domains' is named: age"),
        ({"domains": {}}, "at least 1 item"),
        ({"domains": {"grade": ()}}, "at least 1 item"),
        ({"domains": {"grade": ("low", "low")}}, "2 values, of which only 1 differ"),
        ({"others": {"age": 1}}, "not in 'domains' is named: age"),
        ({"others": {"grade": "any"}}, "does not have the value that all others are taken for"),
        ({"rows_per_unit": 0}, "greater than or equal to 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    """Each error says what is expected."""
    with pytest.raises(ValidationError, match=message):
        Randomise.model_validate({"domains": DOMAINS, "epsilon": 1} | parameters)


def test_progress_ends_at_one() -> None:
    """Progress ends at 1."""
    reported: list[float] = []
    Randomise(domains={"grade": GRADES}, epsilon=1).apply(people(), progress=reported.append)
    assert reported == [1.0]


def test_a_range_is_declared_as_in_a_budget() -> None:
    """With its smallest and largest number, the width of its cells, and what all others are taken for."""
    domains = {"age": {"range": [0, 99], "width": 10, "other": 0}}
    remedy = Randomise.model_validate({"domains": domains, "epsilon": 100})
    treated = remedy.apply(pd.DataFrame({"age": [17, 99, None]}))
    assert sorted(treated.frame["age"]) == [0, 10, 90]
    assert Randomise.model_validate_json(remedy.model_dump_json()) == remedy
    assert treated.bill.figures["unchanged"] == []


def test_an_output_has_no_column_that_was_not_declared() -> None:
    """It would not be covered by epsilon."""
    frame = two_columns()
    remedy = Randomise.model_validate({"domains": {"grade": GRADES}, "epsilon": 1})
    mechanism = _mechanism(frame[["grade"]])
    with pytest.raises(Refused, match="the output has a column 'city' that the mechanism does not know"):
        remedy.guarantee(mechanism, frame)


@pytest.mark.parametrize(
    ("limit", "message"),
    [("1", None), (2, None), ("0.999999999", "the table costs epsilon 1; the release allows 0.999999999")],
)
def test_a_release_limits_epsilon(limit: Any, message: str | None) -> None:
    """What costs more is refused."""
    mechanism = _mechanism(two_columns()[["grade"]])
    if message is None:
        keep_to_epsilon(mechanism.epsilon, limit, unchanged=mechanism.unchanged)
        return
    with pytest.raises(Refused, match=message):
        keep_to_epsilon(mechanism.epsilon, limit, unchanged=mechanism.unchanged)


def test_no_epsilon_is_above_every_limit() -> None:
    """A column that leaves unchanged costs whatever it says; one of which nothing is left costs nothing."""
    mechanism = _mechanism(two_columns())
    with pytest.raises(Refused, match="no epsilon is guaranteed: not randomised: city"):
        keep_to_epsilon(mechanism.epsilon, 1000, unchanged=mechanism.unchanged)
    remedy = Randomise.model_validate({"domains": {"grade": GRADES}, "retention": 0})
    nothing = Mechanism.read(remedy.apply(two_columns()[["grade"]]).bill.guarantee.reached)
    keep_to_epsilon(nothing.epsilon, "0.000000001")
