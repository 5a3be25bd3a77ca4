"""The page of downtime."""

from tests.monitor.web.site import Site


def test_downtime_is_split_by_incident(site: Site) -> None:
    """Each with its number, its title and its part of the whole; the page leads to it."""
    numbers = [site.incident("late"), site.incident("wrong", table="refunds")]
    client = site.signed_in()
    page = client.get("/downtime.json?by=incident").json()
    assert sorted((int(group["key"]), group["title"]) for group in page["groups"]) == [
        (numbers[0], "late"),
        (numbers[1], "wrong"),
    ]
    assert sum(group["downtime_h"] for group in page["groups"]) == page["total"]["downtime_h"]
    assert {group["n"] for group in page["groups"]} == {1}
    assert f'<a href="/incidents/{numbers[1]}">#{numbers[1]} wrong</a>' in client.get("/downtime?by=incident").text
    assert {group["title"] for group in client.get("/downtime.json?by=table").json()["groups"]} == {None}
