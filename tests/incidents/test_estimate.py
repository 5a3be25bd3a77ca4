"""The planning figure, before anything happened."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from incidents import ExpectedIncidents, Lever, StaffRole, money
from incidents.estimate import estimate

ROLES = (
    StaffRole(Decimal(2), Decimal(4000), Decimal("0.25")),
    StaffRole(Decimal(10), Decimal(5000), Decimal("0.2")),
)
ARTICLE = ExpectedIncidents(1000, Fraction(1, 15), timedelta(hours=4), timedelta(hours=9))


def test_the_figure_of_the_article():
    """1000 tables, one incident per 15 tables and year, 4 h to detect, 9 h to repair: 866.67 h and 10,400,000 JPY."""
    found = estimate(ARTICLE, roles=ROLES, improve=Fraction(20, 100))
    assert found.incidents == Fraction(1000, 15)
    assert found.downtime_h == Fraction(2600, 3)
    assert found.hourly_cost == 12_000
    assert found.annual_cost == 10_400_000, "rounding to 867 h first would give 10,404,000"
    assert found.saving == 2_080_000
    assert str(money(found.annual_cost, 0)) == "10400000"
    assert found.lever is Lever.REPAIR


def test_business_loss_is_added():
    """An investor report at 100,000 JPY an hour comes on top of the people."""
    assert estimate(ARTICLE, roles=ROLES, loss_per_hour=Fraction(100_000)).hourly_cost == 112_000
    assert estimate(ARTICLE).annual_cost == 0


def test_no_saving_unless_asked():
    """Without an improvement there is no saving, which is not a saving of nothing."""
    assert estimate(ARTICLE, roles=ROLES).saving is None


@pytest.mark.parametrize(
    ("ttd", "ttr", "lever"),
    [(9, 4, Lever.DETECT), (5, 5, Lever.BOTH_ALIKE), (4, 9, Lever.REPAIR), (0, 0, Lever.NONE), (6, 4, Lever.DETECT)],
)
def test_the_lever_follows_the_larger_part(ttd, ttr, lever):
    """At least 60 % of the time to detect, or of the time to repair, is the lever."""
    expected = replace(ARTICLE, ttd=timedelta(hours=ttd), ttr=timedelta(hours=ttr))
    assert estimate(expected).lever is lever


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tables": -1}, "tables is -1, expected 0 or more"),
        ({"incidents_per_table_year": Fraction(-1, 15)}, "incidents per table and year is -0.0666667"),
        ({"ttd": timedelta(hours=-4)}, "time to detect is -4"),
        ({"ttr": timedelta(hours=-1)}, "time to repair is -1"),
    ],
)
def test_what_cannot_be_expected_is_refused(changed, message):
    """Nothing is negative; the message names what is."""
    with pytest.raises(ValueError, match=message):
        estimate(replace(ARTICLE, **changed))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss_per_hour": Fraction(-1)}, "loss per hour is -1"),
        ({"improve": Fraction(-1, 5)}, "improvement is -0.2"),
        ({"improve": Fraction(6, 5)}, "improvement is 120%, expected at most 100%"),
    ],
)
def test_no_more_than_all_can_be_saved(given, message):
    """An improvement is a share, a loss is none that pays."""
    with pytest.raises(ValueError, match=message):
        estimate(ARTICLE, **given)
