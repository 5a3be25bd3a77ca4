"""What Prometheus reads of the web application."""

from datetime import timedelta

from store import Scheduled, WebRole
from tests.monitor.web.site import Site


def test_metrics_are_those_of_the_store(site: Site) -> None:
    """Open incidents are counted, a table that waits is seen; what is resolved is not open."""
    site.schedule("orders", due_in=-timedelta(minutes=2))
    numbers = [site.incident(title) for title in ("late", "wrong", "gone")]
    client = site.signed_in()
    client.post(f"/incidents/{numbers[0]}/ack")
    client.post(f"/incidents/{numbers[1]}/resolve", data={"resolution": "fixed"})
    done = site.client(authorization=f"Bearer {site.token(WebRole.VIEWER)}").get("/metrics")
    assert done.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = done.text.splitlines()
    assert 'tablewatch_incidents{kind="quality",severity="error",state="acknowledged"} 1.0' in lines
    assert 'tablewatch_incidents{kind="quality",severity="error",state="open"} 1.0' in lines
    assert "tablewatch_scheduler_lag_seconds 120.0" in lines
    assert 'tablewatch_daemons{state="running"} 0.0' in lines
    assert "tablewatch_web_event_streams 0.0" in lines
    assert 'state="resolved"' not in done.text


def test_the_first_page_names_what_a_daily_limit_delays(site: Site) -> None:
    """The overview, in English and Japanese, and the API show which tables wait for the next day."""
    now = site.clock.now()
    with site.store.writing() as tx:
        tx.schedule.reschedule([Scheduled("orders", "every 1h", "UTC", now, now + timedelta(minutes=10), now)])
    client = site.signed_in()
    assert "Delayed by the daily limit of their source (1): orders" in client.get("/").text
    assert "実行を延期中" in client.get("/", headers={"accept-language": "ja"}).text
    assert client.get("/api/v1/overview").json()["daemon"]["delayed"] == [{"table": "orders", "since": now.isoformat()}]
