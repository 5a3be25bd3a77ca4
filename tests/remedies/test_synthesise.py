"""The remedy: a synthetic table and its bill, of which nothing depends on the table but what is noisy."""

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from remedies import Refused, RowOrder
from remedies.differential_privacy import Accounting
from remedies.synthesise import Synthesise

DOMAINS: dict[str, Any] = {"grade": ("low", "high"), "age": {"range": [0, 99], "width": 10}}


def remedy(**words: Any) -> Synthesise:
    """Return a remedy at epsilon 1."""
    return Synthesise.model_validate({"domains": DOMAINS, "epsilon": 1, **words})


def table() -> pd.DataFrame:
    """Return forty people, one without a grade."""
    return pd.DataFrame({"grade": ["low"] * 20 + ["high"] * 19 + [None], "age": range(40), "name": "n"})


def test_the_bill_has_the_loss_and_no_figure_of_the_table():
    """No cell is compared with the table; a column loses what noise takes of its tables."""
    treatment = remedy().apply(table())
    bill = treatment.bill
    assert list(treatment.frame.columns) == ["grade", "age"]
    assert (bill.rows, bill.rows_changed, bill.rows_suppressed, dict(bill.cells_changed)) == (40, 0, 0, {})
    assert bill.row_order is RowOrder.RANDOM
    assert bill.figures["epsilon"] == bill.guarantee.reached["epsilon"] == "1"
    assert all(0 < lost <= 100 for lost in bill.information_lost.values())
    assert 'CAST("age" AS VARCHAR) NOT IN' in bill.guarantee.proof


@pytest.mark.parametrize(
    ("words", "pure", "zcdp", "loss"),
    [
        ({}, 10**9, 5 * 10**8, "1"),
        ({"delta": "1e-6"}, None, 17_480_000, "1"),
        ({"epsilon": None, "rho": "0.01", "delta": "1e-6"}, None, 10**7, "0.75"),
    ],
)
def test_the_charge_is_in_the_unit_of_the_budget(words: dict[str, Any], pure: int, zcdp: int, loss: str):
    """A pure loss costs half its square in rho; a loss under zCDP has no price in epsilon. The parts add up to it."""
    made = remedy(**words)
    assert made.cost(Accounting.PURE) == pure
    price = made.cost(Accounting.ZCDP)
    assert price == pytest.approx(zcdp, rel=0.001)
    assert made.loss == pytest.approx(Decimal(loss), abs=Decimal("0.01"))
    assert made.price[1] - 10 < sum(made.parts().values()) <= made.price[1]


def test_another_output_is_refused():
    """Rows, columns and values are those that the mechanism could make; NULL only where no value stands for it."""
    made = remedy(others={"grade": "low"})
    treatment = made.apply(table())
    reached, after = treatment.bill.guarantee.reached, treatment.frame
    assert made.guarantee(reached, after).reached == reached
    for changed, reason in (
        (after.head(3), "has 3 rows; 40 were drawn"),
        (after.drop(columns="age"), "has no column 'age'"),
        (after.assign(note="x"), "has a column 'note'"),
        (after.assign(age=7), "column 'age' of the output has values outside"),
        (after.assign(grade=None), "column 'grade' of the output has values outside"),
    ):
        with pytest.raises(Refused, match=reason):
            made.guarantee(reached, changed)
    assert made.guarantee(reached, after.assign(age=pd.array([None] * 40, dtype="Int64")))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"epsilon": None}, "one of 'epsilon' and 'rho'"),
        ({"rho": 1}, "one of 'epsilon' and 'rho'"),
        ({"epsilon": None, "rho": 1}, "needs a 'delta'"),
        ({"domains": {}}, "at least 1"),
        ({"others": {"grade": "none"}}, "does not have the value"),
        ({"rows": 0}, "greater than or equal to 1"),
        ({"epsilon": "0.0000000001"}, "places"),
        ({"epsilon": "0.000000001"}, "too few for 2 columns"),
        ({"epsilon": "0.000001", "adjacency": "add-remove"}, "noise of the number of rows"),
    ],
)
def test_what_makes_no_sense_is_refused(words: dict[str, Any], reason: str):
    """Before a table is there."""
    with pytest.raises(ValidationError, match=reason):
        remedy(**words)
