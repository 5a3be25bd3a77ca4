"""The page of budgets: what was left on each day, and when a budget is spent at the rate of the last days."""

from datetime import date, timedelta
from itertools import count
from typing import Any, Final

import pytest

from store import StoredLedger, WebRole
from tests.monitor.web.ledger import charge, open_budget
from tests.monitor.web.site import Site

_NUMBERS: Final = count()


@pytest.fixture
def ledger(site: Site, tmp_path_factory: pytest.TempPathFactory) -> StoredLedger:
    """Return a ledger with a budget of 10."""
    return open_budget(site.store, tmp_path_factory.mktemp("anchor") / "anchor", site.clock.now())


def _charge(site: Site, ledger: StoredLedger, epsilon: str) -> None:
    charge(ledger, f"r{next(_NUMBERS)}", epsilon, site.clock.now())


def _budget(site: Site) -> dict[str, Any]:
    (budget,) = site.signed_in(WebRole.STEWARD).get("/api/v1/budgets").json()["budgets"]
    read: dict[str, Any] = budget
    return read


def test_what_was_left_is_known_for_each_day(site: Site, ledger: StoredLedger) -> None:
    """Full from its creation until the first charge, and down by what was charged on a day from that day on."""
    site.clock.advance(timedelta(days=3))
    _charge(site, ledger, "1")
    site.clock.advance(timedelta(days=2))
    _charge(site, ledger, "2.5")
    _charge(site, ledger, "0.5")
    days = _budget(site)["days"]
    assert [day["left_share"] for day in days] == [1.0, 1.0, 1.0, 0.9, 0.9, 0.6]
    site.clock.advance(timedelta(days=100))
    assert len(_budget(site)["days"]) == 91


@pytest.mark.parametrize(
    ("charges", "a_day", "after_days"),
    [
        ([(0, "1")], "1", 9),  # 9 are left
        ([(0, "1"), (9, "1")], "0.2", 40),  # 2 in ten days, 8 are left
        ([(0, "6"), (40, "0.28")], "0.01", 372),  # what is older than 28 days does not count
        ([(0, "10")], "10", 0),
        ([(0, "0.000000001")], "0.000000001", None),  # beyond any calendar
    ],
)
def test_it_is_said_when_a_budget_is_spent(
    site: Site, ledger: StoredLedger, charges: list[tuple[int, str]], a_day: str, after_days: int | None
) -> None:
    """At the average of the last 28 days, or of the days since the budget was created."""
    for days, epsilon in charges:
        site.clock.advance(timedelta(days=days))
        _charge(site, ledger, epsilon)
    forecast = _budget(site)["forecast"]
    assert forecast["a_day"] == a_day
    if after_days is None:
        assert forecast["spent_on"] is None
    else:
        today = date.fromisoformat(_budget(site)["days"][-1]["day"])
        assert date.fromisoformat(forecast["spent_on"]) - today == timedelta(days=after_days)


def test_without_a_charge_there_is_no_forecast(site: Site, ledger: StoredLedger) -> None:
    """Neither before the first nor a month after the last; the page says so."""
    assert _budget(site)["forecast"] is None
    assert "Nothing has been charged yet." in site.signed_in(WebRole.STEWARD).get("/budgets").text
    _charge(site, ledger, "1")
    site.clock.advance(timedelta(days=28))
    assert _budget(site)["forecast"] is None
    assert "Nothing was charged in the last 28 days." in site.signed_in(WebRole.STEWARD).get("/budgets").text


def test_a_rate_is_over_the_time_that_exists(site: Site, ledger: StoredLedger) -> None:
    """A budget of today has a rate of today, one of six days a rate of six; neither speaks of the last 28 days."""
    _charge(site, ledger, "1")
    budget, page = _budget(site), site.signed_in(WebRole.STEWARD).get("/budgets").text
    assert (len(budget["days"]), budget["forecast"]["over_days"]) == (1, 1)
    assert "as on the 1 day since it was created" in page
    site.clock.advance(timedelta(days=5))
    assert _budget(site)["forecast"]["over_days"] == 6
    assert "as in the last 6 days" in site.signed_in(WebRole.STEWARD).get("/budgets").text
    site.clock.advance(timedelta(days=10))
    _charge(site, ledger, "1")
    site.clock.advance(timedelta(days=20))
    assert _budget(site)["forecast"]["over_days"] == 28
    assert "28 days" in site.signed_in(WebRole.STEWARD).get("/budgets").text
