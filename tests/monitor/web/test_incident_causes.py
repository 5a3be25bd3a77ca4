"""What may have caused an incident, on its page and in its JSON."""

import html
from datetime import timedelta

from store import LoggedEvent, LoggedEventKind, WebRole
from tests.monitor.web.site import Site


def _log(site: Site, note: str, *, minutes: int, table: str | None = None) -> None:
    at = site.clock.now() - timedelta(minutes=minutes)
    with site.store.writing() as tx:
        tx.logged_events.add(LoggedEvent(LoggedEventKind.DEPLOY, at, table, None, note, "ci", at))


def test_the_page_lists_candidates_and_claims_nothing(site: Site) -> None:
    """The likeliest stands first, what a person wrote is escaped, and both languages say that none is certain."""
    number = site.incident()
    _log(site, "long before", minutes=900, table="orders")
    _log(site, "loader <b>2.3</b>", minutes=62, table="orders")
    _log(site, "too late", minutes=5, table="orders")
    client = site.signed_in(WebRole.VIEWER)
    text = client.get(f"/incidents/{number}").text
    assert "What may have caused it" in text
    assert "None is known to be the cause." in text
    assert "loader &lt;b&gt;2.3&lt;/b&gt;" in text
    assert text.index("loader &lt;b&gt;") < text.index("long before")
    assert "too late" not in text
    japanese = client.get(f"/incidents/{number}", headers={"accept-language": "ja"}).text
    assert "原因と確定したものではありません" in html.unescape(japanese)
    assert "orders のデプロイ" in japanese


def test_json_has_the_parts_of_each_score(site: Site) -> None:
    """The score is their product; the evidence is a text with its values, the message the same in English."""
    number = site.incident()
    _log(site, "loader 2.3", minutes=62)
    (cause,) = site.signed_in().get(f"/api/v1/incidents/{number}").json()["causes"]
    product = 1.0
    for part in cause["parts"].values():
        product *= part
    assert abs(cause["score"] - product) < 1e-3
    assert (cause["kind"], cause["event"], cause["incident"], cause["table"]) == ("event", 1, None, None)
    assert cause["evidence"]["values"]["note"] == "loader 2.3"
    assert cause["message"].endswith(": loader 2.3")


def test_where_nothing_changed_the_page_says_so(site: Site) -> None:
    """An incident without candidates has none."""
    number = site.incident()
    assert "Nothing in the store changed near its beginning." in site.signed_in().get(f"/incidents/{number}").text
