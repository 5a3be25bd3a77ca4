"""Weights and households in a release: judged before and after, in the certificate, and where the file has neither."""

import numpy as np
import pandas as pd
import pytest

from monitor.releases.assess import assess_release
from monitor.releases.treat import LimitsNotMet
from monitor.releases.verify_file import verify_file
from tests.monitor.releases.desk import COLUMNS, people

CLASSES = {**COLUMNS, "home": "direct-identifier", "weight": "other"}


def _survey() -> pd.DataFrame:
    frame = people()
    return frame.assign(home=[f"h{number // 2}" for number in range(len(frame))], weight=np.arange(len(frame)) + 10.0)


def _risk(desk, **release):
    desk.write(_survey(), columns=CLASSES, weight="weight", group_key="home", person_key="id", **release)
    with desk.decisions() as decisions:
        return assess_release(decisions).assessment.observed["population_uniqueness"]


def test_households_hold_a_release(desk):
    """Ten people of a class stand for hundreds, a household has two members, and the limit is of the household."""
    observed = _risk(desk, limits={"k": 5})
    highest, of_group = observed["highest_individual_risk"], observed["highest_group_risk"]
    assert observed["groups"] == 20
    assert highest < of_group < 2 * highest
    kept = _risk(desk, limits={"k": 5, "max_group_risk": of_group * 1.001})
    assert kept["highest_group_risk"] == of_group
    desk.write(limits={"k": 5, "max_group_risk": of_group * 0.999}).approve()
    with pytest.raises(LimitsNotMet, match="the highest risk of a group of 'home' is"):
        desk.export()


def test_certificate_has_the_risks(desk):
    """The file has no household; its risks are those of the rows that were written, and are in the certificate."""
    observed = _risk(desk, limits={"k": 5, "max_individual_risk": 0.5, "max_group_risk": 0.5})
    desk.approve()
    body = desk.export().event.body
    assert "home" not in body["columns"]
    assert (body["weight"], body["group_key"]) == ("weight", "home")
    for word in ("highest_individual_risk", "expected_reidentifications", "highest_group_risk"):
        assert body["reached"][word] == pytest.approx(observed[word])
    with desk.decisions() as decisions:
        verified = verify_file(decisions.case.project, decisions.store, desk.folder / "out.parquet")
    assert verified.is_verified


def test_weights_that_do_not_leave(desk):
    """Where neither weight nor household is in the file, its rows are judged with theirs all the same."""
    recipe = {"remedy": "suppress", "drop": ["weight"]}
    observed = _risk(desk, limits={"k": 5, "max_individual_risk": 0.5}, remedies=[recipe])
    desk.approve("suppress")
    body = desk.export(remedy="suppress").event.body
    assert "weight" not in body["columns"]
    assert body["reached"]["highest_individual_risk"] == pytest.approx(observed["highest_individual_risk"])
    desk.write(limits={"k": 5, "max_individual_risk": 0.0001}).approve("suppress")
    with pytest.raises(LimitsNotMet, match="the highest individual risk is"):
        desk.export("again.parquet", remedy="suppress")


def test_unfit_weights_refuse(desk):
    """A weight that is missing gives no risk, so nothing leaves."""
    frame = _survey()
    frame.loc[3, "weight"] = None
    desk.write(frame, columns=CLASSES, weight="weight", limits={"k": 5, "max_individual_risk": 0.5}).approve()
    with pytest.raises(LimitsNotMet, match="1 of 40 rows have no weight from 1 to 1e12 in 'weight'"):
        desk.export()


def test_a_household_is_no_person(desk):
    """The key of groups repeats, and is not taken for a person where there is no person key."""
    desk.write(_survey(), columns=CLASSES, group_key="home", limits={"k": 5})
    with desk.decisions() as decisions:
        assessment = assess_release(decisions).assessment
    assert assessment.observed["k_anonymity"]["counted_by"] is None
    assert assessment.observed["population_uniqueness"]["highest_individual_risk"] == pytest.approx(0.1)
    assert assessment.special_as_json()["known"] == 2
