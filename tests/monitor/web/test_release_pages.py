"""The pages of releases: how remedies compare, certificates, and what all exports together expose."""

from datetime import timedelta
from typing import Any

import pytest

from monitor.alerts.decision_record import encode_decision
from monitor.alerts.notification_pass import NO_CHANNEL
from monitor.config.release_model import Release
from monitor.verbs.release import ReleaseName
from monitor.web.pictures import remedy_plot
from monitor.web.views.releases import show_comparison
from store import StoredComparison, WebRole
from tests.monitor.web.releases import compared, exported, pair
from tests.monitor.web.site import Site

ADDRESS = "/releases/extract/comparison"


def test_stewards_see_how_remedies_compare(site: Site) -> None:
    """Risk against loss of the tables, in the order of the release; the recommended one is chosen in the form."""
    compared(site)
    client = site.signed_in(WebRole.STEWARD, name="ann")
    page = client.get(f"/api/v1{ADDRESS}").json()
    assert [(item["remedy"], item["k"], item["l"], item["lost"], item["recommended"]) for item in page["remedies"]] == [
        ("as-it-is", 1, None, 0.0, False),
        ("suppress", 2, 3, 0.14, True),
        ("noisy", None, None, 0.54, False),
    ]
    assert page["is_current"]
    text = client.get(ADDRESS).text
    assert '<option value="suppress" selected>' in text
    assert text.count('href="#way-') == 2


def test_columns_and_pairs_are_drawn(site: Site) -> None:
    """Each figure has its table; a cell that is too small is dashed in both maps, and its share is a dash."""
    compared(site)
    client = site.signed_in(WebRole.STEWARD, name="ann")
    text = client.get(ADDRESS).text
    assert client.get(f"/api/v1{ADDRESS}").json()["figures"]["columns"][0]["bars"][0]["before"] == 0.2
    for label in ("under 20", "20 to under 40", "40 and over", "value 1", "north", "other values", "no value"):
        assert text.count(label) >= 3
    assert (text.count('class="hidden"'), text.count('class="cell"')) == (14, 84)
    assert "small groups merged" in text
    assert "Without a figure, since fewer than two groups are large enough: note" in text


def test_the_plot_has_the_ways_whose_risk_and_loss_are_known(site: Site) -> None:
    """A randomised table has no risk of this kind; the limit is one in k."""
    compared(site)
    with site.store.reading() as tx:
        page = show_comparison(site.project, tx, ReleaseName(name="extract"), site.clock.now())
    plot = remedy_plot(page)
    assert plot is not None
    marks = {mark.names: mark for mark in plot.marks}
    assert set(marks) == {"as-it-is", "suppress"}
    assert (marks["suppress"].holds, marks["suppress"].best, marks["as-it-is"].holds) == (True, True, False)
    assert marks["suppress"].x > marks["as-it-is"].x
    assert marks["suppress"].y > marks["as-it-is"].y
    assert plot.limit == 1 / 2


@pytest.mark.parametrize("role", [WebRole.VIEWER, WebRole.RESPONDER])
def test_others_do_not(site: Site, role: WebRole) -> None:
    """Figures of the protected table are for its stewards: no page, no JSON, no way there."""
    compared(site)
    client = site.signed_in(role)
    assert client.get(ADDRESS).status_code == 403
    assert client.get(f"/api/v1{ADDRESS}").status_code == 403
    assert ADDRESS not in client.get("/releases/extract").text


def test_a_comparison_of_another_configuration_is_marked(site: Site) -> None:
    """After a change of limits the page says to compare again."""
    stored = compared(site)
    with site.store.writing() as tx:
        other = StoredComparison(stored.release, "another", stored.body, stored.compared_at)
        tx.release_events.put_comparison(other)
    client = site.signed_in(WebRole.STEWARD)
    assert not client.get(f"/api/v1{ADDRESS}").json()["is_current"]
    assert "compare again before you decide" in client.get(ADDRESS).text


def test_before_anybody_compared_the_command_is_named(site: Site) -> None:
    """The page is no error: it says what makes it."""
    text = site.signed_in(WebRole.STEWARD).get(ADDRESS).text
    assert "tablewatch release compare extract" in text
    assert site.signed_in(WebRole.STEWARD).get("/releases/nothing/comparison").status_code == 404


@pytest.mark.parametrize(
    ("changes", "exposed", "left_over"),
    [
        ({}, 0, None),
        ({"reached": {"persons": {"persons_exposed": 4}}}, 4, None),
        ({"earlier": [pair(3, 1)]}, 3, 1),
        ({"earlier": [pair(3, 1), pair(2, 0)], "exposed_by_all": 7}, 7, 1),
        ({"earlier": [pair(0, 0), pair(None, None)]}, None, None),
        ({"earlier": None}, None, None),
    ],
    ids=["one", "one that exposes", "two", "three", "not comparable", "no person key"],
)
def test_the_meter_shows_whom_all_exports_expose(
    site: Site, changes: dict[str, Any], exposed: int | None, left_over: int | None
) -> None:
    """The figure of the newest certificate: of all, else of the pair, else of the one; unknown is never 0."""
    exported(site, 1)
    site.clock.advance(timedelta(hours=1))
    exported(site, 2, **changes)
    client = site.signed_in(WebRole.VIEWER)
    together = client.get("/api/v1/releases/extract").json()["together"]
    assert (together["persons_exposed"], together["persons_left_over"]) == (exposed, left_over)
    assert (together["exports"], together["newest"], together["k"]) == (2, "extract2.csv", 2)
    text = client.get("/releases/extract").text
    assert ("cannot be computed" in text) == (exposed is None)


def test_certificates_are_one_click_away(site: Site) -> None:
    """Each export of the record leads to its certificate, by its number."""
    exported(site, 1)
    exported(site, 2)
    text = site.signed_in(WebRole.VIEWER).get("/releases/extract").text
    for number in (1, 2):
        assert f'<a href="/releases/extract/record#export-{number}">Certificate of extract{number}.csv</a>' in text
    record = site.signed_in(WebRole.VIEWER).get("/releases/extract/record")
    assert 'id="export-2">' in record.text
    assert "sha256-" in record.headers["content-security-policy"]


def test_a_release_without_exports_has_no_meter(site: Site) -> None:
    """Nothing was given away: there is nothing to add up."""
    client = site.signed_in(WebRole.VIEWER)
    assert client.get("/api/v1/releases/extract").json()["together"] is None
    assert "All exports together" not in client.get("/releases/extract").text


def test_only_remedies_of_the_release_can_be_chosen(site: Site) -> None:
    """The form lists them, none is chosen beforehand."""
    assert isinstance(site.project.config.releases["extract"], Release)
    text = site.signed_in(WebRole.STEWARD).get("/releases/extract").text
    assert '<option value=""></option><option value="as-it-is">as-it-is</option><option value="suppress">' in text


def test_the_page_of_a_release_is_in_the_language_of_the_reader(site: Site) -> None:
    """What limits do not prove is said in Japanese too."""
    page = site.signed_in(WebRole.STEWARD).get("/releases/extract", headers={"accept-language": "ja"}).text
    assert "匿名性の証明でも、法的助言でもありません。" in page
    assert "neither proof" not in page


def test_the_state_of_a_release_is_said_in_the_language_of_the_reader(site: Site) -> None:
    """In the list and on its page: the word, and why; JSON stays in English."""
    client = site.signed_in(WebRole.STEWARD)
    for path in ("/releases", "/releases/extract"):
        page = client.get(path, headers={"accept-language": "ja"}).text
        assert '<span class="mark release hold"><span aria-hidden="true">▲</span> 保留</span>' in page
        assert "はまだ実行されていません" in page
        assert "has not run yet" not in page
    (release,) = client.get("/api/v1/releases", headers={"accept-language": "ja"}).json()["releases"]
    assert (release["state"], "sentences" in release) == ("hold", False)


def test_alerts_are_said_in_the_language_of_the_reader(site: Site) -> None:
    """What happened to the incident, and the reason where no channel is notified."""
    number = site.incident()
    with site.store.writing() as tx:
        (opening,) = tx.outbox.of_incidents([number])[number]
        tx.outbox.settle([opening.id], site.clock.now(), encode_decision({}, str(NO_CHANNEL)))
    for path in ("/alerts", f"/incidents/{number}"):
        page = site.signed_in().get(path, headers={"accept-language": "ja"}).text
        assert "起票" in page
        assert "該当するルートがなく、担当者にチャネルがありません" in page
        assert str(NO_CHANNEL) not in page
