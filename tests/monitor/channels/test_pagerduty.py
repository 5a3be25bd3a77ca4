import json
from datetime import timedelta

import pytest

from checks import Severity
from incidents import Escalated
from monitor.channels.pagerduty import PagerDuty, PagerDutyKind
from tests.monitor.alerts.made import NOW, at
from tests.monitor.channels.fakes import FakePagerDuty
from tests.monitor.channels.following import following


@pytest.fixture
def paged(tmp_path):
    """Return a desk whose channel is a PagerDuty service, and that service."""
    with following(tmp_path, "pagerduty") as pair:
        yield pair


def actions(fake):
    """Return what was done to which alert, in order."""
    return [(event["event_action"], event["dedup_key"].rpartition("-")[2]) for event in fake.events]


def test_an_incident_is_triggered_acknowledged_and_resolved(paged):
    """An alert follows its incident under one key."""
    desk, fake = paged
    incident = desk.open()
    desk.step(0.1)
    desk.acknowledge(incident, 0.2)
    desk.step(0.3)
    desk.step(0.4)
    desk.end(incident, at(1))
    desk.step(1.1)
    assert actions(fake) == [("trigger", "1"), ("acknowledge", "1"), ("resolve", "1")]
    assert list(fake.alerts.values()) == ["resolved"]


def test_a_new_episode_is_a_new_alert(paged):
    """What comes late about an episode does nothing to the alert of the next, also when sent again."""
    desk, fake = paged
    incident = desk.open()
    desk.step(0.1)
    desk.end(incident, at(1))
    desk.step(1.1)
    desk.back(incident, at(2))
    desk.step(2.1)
    resolved = desk.messages()[1]
    with desk.store.writing() as tx:
        tx.deliveries.resend(resolved.id, at(3))
    desk.step(3)
    assert [action for action, _ in actions(fake)] == ["trigger", "resolve", "trigger", "resolve"]
    assert list(fake.alerts.values()) == ["resolved", "open"]


def test_an_alert_says_what_is_known_in_names_and_counts(paged):
    """Severity, table, check, times and the page are there; the summary keeps to its limit."""
    desk, fake = paged
    desk.open(severity=Severity.CRITICAL)
    desk.step(0.1)
    (event,) = fake.events
    payload = event["payload"]
    assert (payload["severity"], payload["component"], payload["group"]) == ("critical", "orders", "sales")
    assert payload["source"] == "shop"
    assert payload["class"] == "orders.not-null"
    assert payload["timestamp"] == NOW.isoformat()
    assert payload["custom_details"]["table"] == "orders"
    assert event["links"] == [{"href": "https://watch.example.org/incidents/1", "text": "Tablewatch"}]


@pytest.mark.parametrize("severity", Severity)
def test_every_severity_has_one(paged, severity):
    """The four severities are those of PagerDuty."""
    desk, fake = paged
    desk.open(severity=severity)
    desk.step(0.1)
    assert fake.events[0]["payload"]["severity"] == severity.value


def test_a_severity_that_rises_is_sent_again_under_its_key(paged):
    """An escalation changes the alert and stays acknowledged."""
    desk, fake = paged
    incident = desk.open()
    desk.step(0.1)
    desk.acknowledge(incident, 0.2)
    desk.step(0.3)
    desk.change(incident, Escalated(Severity.CRITICAL), when=at(1))
    desk.step(1.1)
    desk.step(1.2)
    assert [action for action, _ in actions(fake)] == ["trigger", "acknowledge", "trigger", "acknowledge"]
    assert len(fake.opened) == 1


def test_what_is_over_before_anybody_was_paged_pages_nobody(tmp_path):
    """An incident of quiet hours that ended in them triggers nothing."""
    quiet = "  routes: [{to: [desk], quiet_hours: nights}]\n  quiet_hours: {nights: {start: '11:00', end: '20:00'}}"
    with following(tmp_path, "pagerduty", quiet) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        desk.end(incident, at(1))
        desk.step(1.1)
        desk.step(10)
        assert fake.events == []
        assert [message.state.value for message in desk.messages()] == ["sent"]


def test_each_incident_has_a_message_of_its_own_up_to_the_cap(tmp_path):
    """A storm makes no summary: the cap lets the worst through at once, and holds the others back."""
    with following(tmp_path, "pagerduty", "  hourly_cap: 4") as (desk, fake):
        first = [desk.open("stray", check=f"c{number}") for number in range(5)]
        desk.open("board", severity=Severity.CRITICAL)
        desk.step(0.1)
        assert len(fake.opened) == 2
        assert fake.events[0]["payload"]["severity"] == "critical"
        shown = desk.messages()[-1].payload["ids"][0]
        desk.end(first[shown - 1], at(0.2))
        desk.step(0.3)
        assert fake.events[-1]["event_action"] == "resolve"
        assert desk.last()["hold"] is None or "the cap" in desk.last()["hold"]
        for hours in range(1, 12):
            desk.step(hours)
        assert len(fake.opened) == 6


@pytest.mark.parametrize("fault", [429, 500, 503, "before", "lost"])
def test_a_failure_is_tried_again_and_opens_no_second_alert(paged, fault):
    """Whether an event was taken and the answer lost, or not taken at all, one alert is open in the end."""
    desk, fake = paged
    fake.faults.append(fault)
    desk.open()
    assert desk.step(0.1).failed == 1
    message = desk.messages()[0]
    assert message.next_try_at >= at(0.1) + timedelta(seconds=30 if fault == 429 else 5)
    assert "SECRET" not in str(message.error)
    assert desk.step(1).sent == 1
    assert len(fake.opened) == 1


def test_an_event_that_is_refused_is_not_tried_again(tmp_path):
    """400 is final: the alert log has the reason, and the key is in none of it."""
    wrong = "f" * 32
    with following(tmp_path, "pagerduty", routing_key=wrong) as (desk, _):
        desk.open()
        assert desk.step(0.1).given_up == 1
        message = desk.messages()[0]
        assert message.error == "PagerDuty answered 400: it does not accept the request"
        assert wrong not in json.dumps(desk.project.loaded.redactor.value({"error": message.error}))


def test_a_key_of_another_length_is_noticed_before_it_is_used():
    """`doctor` and `config check` name the length, not the key."""
    kind = PagerDutyKind()
    assert kind.problem(PagerDuty(routing_key="short")) == "a routing key has 32 characters, this one has 5"
    assert kind.problem(PagerDuty(routing_key=FakePagerDuty.ROUTING_KEY)) is None
    clear = PagerDuty(routing_key=FakePagerDuty.ROUTING_KEY, url="http://events.example.org/")
    assert "unencrypted" in (kind.problem(clear) or "")


def test_a_private_address_is_refused_unless_it_is_allowed(tmp_path):
    """The address of the service is checked like that of a webhook."""
    with following(tmp_path, "pagerduty", allow_private=False) as (desk, fake):
        desk.open()
        desk.step(0.1)
        assert "loopback" in str(desk.messages()[0].error)
        assert fake.asked == []
