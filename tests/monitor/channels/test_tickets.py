"""One incident is one ticket, in Jira and in ServiceNow, and the incident follows it."""

from datetime import timedelta

import pytest

from checks import Severity
from incidents import Escalated, State
from monitor.alerts.ticket_pull import PullResult
from monitor.channels import KINDS, DeliverySucceeded
from monitor.channels.tickets import SETTLES_S
from monitor.clock import SimulatedClock
from monitor.daemon.notifier import Notifier
from monitor.scan.clock_change import bring_notifications_back
from tests.monitor.alerts.made import at
from tests.monitor.channels.following import following

BOTH = pytest.mark.parametrize("kind", ["jira", "servicenow"])


def said(ticket):
    """Return what was written on a ticket after it was made."""
    if "comments" in ticket:
        return ["\n".join(one["content"][0]["text"] for one in body["content"]) for body in ticket["comments"]]
    return ticket["work_notes"]


@BOTH
def test_an_incident_is_one_ticket_from_its_beginning_to_its_end(tmp_path, kind):
    """It is made, commented on when something changes, and closed."""
    with following(tmp_path, kind) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        desk.acknowledge(incident, 0.2)
        desk.step(0.3)
        desk.change(incident, Escalated(Severity.CRITICAL), when=at(0.4))
        desk.step(0.5)
        desk.end(incident, at(1))
        desk.step(1.1)
        ((name, ticket),) = fake.tickets.items()
        assert fake.is_closed(name)
        heads = [text.partition("]")[0] + "]" for text in said(ticket)]
        assert heads == ["[acknowledged]", "[critical]", "[resolved]"]
        assert (desk.item().item, desk.item().status) == (name, "closed")


@BOTH
def test_a_new_episode_opens_its_ticket_again(tmp_path, kind):
    """The same ticket, commented on and open."""
    with following(tmp_path, kind) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        desk.end(incident, at(1))
        desk.step(1.1)
        desk.back(incident, at(2))
        desk.step(2.1)
        (name,) = fake.tickets
        assert not fake.is_closed(name)
        assert desk.item().status == "new"


@BOTH
@pytest.mark.parametrize("fault", ["lost", "before", 500, 502])
@pytest.mark.parametrize("lags", [False, True])
def test_an_uncertain_attempt_makes_no_second_ticket(tmp_path, kind, fault, lags):
    """The label is looked for first; a search that finds nothing proves something only after a while."""
    with following(tmp_path, kind) as (desk, fake):
        fake.lags = lags
        fake.faults.append(fault)
        desk.open()
        assert desk.step(0.1).failed == 1
        desk.step(0.1 + 10 / 3600)
        assert len(fake.tickets) == (fault == "lost")
        fake.index()
        for number in range(2, 6):
            desk.step(0.1 * number)
        assert len(fake.tickets) == 1
        assert desk.item().item == next(iter(fake.tickets))


@BOTH
def test_the_wait_begins_again_with_each_attempt_that_may_have_made_it(tmp_path, kind):
    """A daemon died amid the first attempt, the answer to the second was lost: the third waits."""
    with following(tmp_path, kind) as (desk, fake):
        desk.open()
        desk.told(at(0), arrives=False)
        channel = desk.project.config.alerts.channels["desk"]
        with desk.store.writing() as tx:
            tx.external_items.begin(1, "desk", channel.kind.target(channel.settings), at(0), settles_s=SETTLES_S)
        fake.lags = True
        fake.faults.extend([None, "lost"])  # a search; a ticket, and no answer
        assert desk.step(0.1).failed == 1
        desk.step(0.1 + 10 / 3600)
        assert len(fake.tickets) == 1
        fake.index()
        desk.step(0.3)
        assert len(fake.tickets) == 1
        assert desk.item().item == next(iter(fake.tickets))


@BOTH
def test_the_next_attempt_waits_until_a_search_proves_something(tmp_path, kind):
    """It says so, and comes when the service has settled."""
    with following(tmp_path, kind) as (desk, fake):
        fake.faults.append("before")
        desk.open()
        desk.step(0.1)
        desk.step(0.1 + 10 / 3600)
        (message,) = desk.messages()
        assert "not known yet whether an earlier attempt" in str(message.error)
        assert message.next_try_at >= at(0.1) + timedelta(seconds=SETTLES_S)


@BOTH
def test_a_clock_that_is_set_back_does_not_put_a_ticket_off(tmp_path, kind):
    """The wait for a search that proves something is two minutes of the new clock, not the hours it was set back."""
    with following(tmp_path, kind) as (desk, fake):
        fake.faults.append("before")
        desk.open()
        desk.step(6)
        desk.project.clock = SimulatedClock(at(1))
        with desk.store.writing() as tx:
            bring_notifications_back(tx, at(1))
        desk.step(1)
        assert (len(fake.tickets), desk.item().begun_at) == (0, at(1))
        desk.step(1.1)
        assert len(fake.tickets) == 1


@BOTH
def test_a_ticket_that_is_gone_is_not_made_again(tmp_path, kind):
    """A user deleted it, or hid it: that is for a person to see, in the alert log."""
    with following(tmp_path, kind) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        fake.tickets.clear()
        desk.acknowledge(incident, 0.2)
        desk.step(0.3)
        assert fake.tickets == {}
        assert str(desk.messages()[1].error).endswith("answered 404")


@BOTH
def test_credentials_that_are_not_accepted_disable_the_channel(tmp_path, kind):
    """What waits for it waits; the error has neither the credentials nor what was answered."""
    with following(tmp_path, kind) as (desk, fake):
        fake.LOGIN = "another"
        desk.open()
        assert desk.step(0.1).disabled == ("desk",)
        assert str(desk.messages()[0].error).endswith("answered 401: it does not accept the credentials")


@BOTH
def test_a_ticket_that_is_worked_on_acknowledges(tmp_path, kind):
    """Once: the status is acted on when it changes."""
    with following(tmp_path, kind) as (desk, fake):
        desk.open()
        desk.step(0.1)
        assert desk.pull(0.2) == PullResult(read=1)
        fake.work_on(desk.item().item)
        assert desk.pull(0.3) == PullResult(read=1, changed=1)
        assert desk.incident().state is State.ACKNOWLEDGED
        assert desk.events() == [("tablewatch", "opened"), ("desk", "acknowledged")]
        assert desk.pull(0.4) == PullResult(read=1)


@BOTH
def test_a_closed_ticket_is_an_event_of_its_incident(tmp_path, kind):
    """The incident goes on: its check decides."""
    with following(tmp_path, kind) as (desk, fake):
        desk.open()
        desk.step(0.1)
        fake.close(desk.item().item)
        desk.pull(0.2)
        desk.pull(0.3)
        assert desk.incident().state is State.OPEN
        assert desk.events() == [("tablewatch", "opened"), ("desk", "commented")]


@BOTH
def test_a_closed_ticket_resolves_where_that_is_configured(tmp_path, kind):
    """The incident ends as fixed, and is not reopened when the ticket is."""
    with following(tmp_path, kind, close_resolves=True) as (desk, fake):
        desk.open(check="other")
        desk.step(0.1)
        fake.close(desk.item().item)
        desk.pull(0.2)
        assert desk.incident().state is State.RESOLVED
        assert desk.incident().cause == f"ticket {desk.item().item} was closed"
        fake.work_on(desk.item().item)
        desk.pull(0.5)
        assert desk.incident().state is State.RESOLVED


@BOTH
def test_a_ticket_that_cannot_be_opened_again_ends_no_new_episode(tmp_path, kind):
    """A ticket that stayed closed since the last episode says nothing about this one."""
    with following(tmp_path, kind, close_resolves=True) as (desk, fake):
        incident = desk.open(check="other")
        desk.step(0.1)
        fake.close(desk.item().item)
        desk.pull(0.2)
        desk.step(0.3)
        desk.back(incident, at(2))
        if kind == "jira":
            fake.CATEGORIES = {"Done": "done"}
        desk.step(2.1)
        desk.pull(2.2)
        assert desk.incident().state is State.OPEN


@BOTH
def test_a_service_that_does_not_answer_changes_nothing(tmp_path, kind):
    """The reason is in our words; the next read finds out."""
    with following(tmp_path, kind) as (desk, fake):
        desk.open()
        desk.step(0.1)
        fake.work_on(desk.item().item)
        fake.faults.append(503)
        assert str(desk.pull(0.2).problem).endswith("answered 503")
        assert desk.incident().state is State.OPEN
        assert desk.pull(0.3).changed == 1


@BOTH
@pytest.mark.parametrize("body", [b"", b"[]", b'{"issues": [1], "result": [1]}', b"<html>"])
def test_an_answer_of_another_form_is_a_failure(tmp_path, kind, body):
    """Something else at the address: the message is tried again, and reading tickets changes nothing."""
    with following(tmp_path, kind) as (desk, fake):
        desk.open()
        desk.step(0.1)
        fake.answer = lambda *_: (200, None)
        fake.body = body
        desk.open("stray")
        assert desk.step(0.2).failed == 1
        assert "documented form" in str(desk.messages()[1].error)
        assert desk.pull(0.3).changed == 0


@BOTH
def test_many_tickets_are_read_with_few_requests(tmp_path, kind):
    """Fifty at once."""
    with following(tmp_path, kind, "  hourly_cap: 1000") as (desk, fake):
        for number in range(51):
            desk.open("stray", check=f"c{number}")
        desk.step(0.1)
        assert len(fake.tickets) == 51
        for name in fake.tickets:
            fake.work_on(name)
        before = len(fake.asked)
        assert desk.pull(0.2) == PullResult(read=51, changed=51)
        assert len(fake.asked) - before == 2


@BOTH
def test_fields_of_the_configuration_are_those_of_the_ticket(tmp_path, kind):
    """What a project demands can be given; what a closing demands too."""
    more = {"issue_type": "Bug", "fields": {"priority": {"name": "High"}}, "close_status": "Won't Do"}
    if kind == "servicenow":
        more = {"fields": {"assignment_group": "data"}, "close_fields": {"close_code": "Duplicate"}}
    with following(tmp_path, kind, **more) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        desk.end(incident, at(1))
        desk.step(1.1)
        (ticket,) = fake.tickets.values()
        if kind == "jira":
            assert ticket["fields"]["priority"] == {"name": "High"}
            assert ticket["fields"]["issuetype"] == {"name": "Bug"}
            assert ticket["status"] == "Won't Do"
        else:
            assert (ticket["assignment_group"], ticket["close_code"]) == ("data", "Duplicate")


@BOTH
def test_a_private_address_is_refused_unless_it_is_allowed(tmp_path, kind):
    """The address is checked like that of a webhook, before anything is sent and before anything is read."""
    with following(tmp_path, kind, allow_private=False) as (desk, fake):
        desk.open()
        desk.step(0.1)
        assert "loopback" in str(desk.messages()[0].error)
        assert fake.asked == []


@BOTH
def test_the_daemon_reads_tickets_in_their_time(tmp_path, kind):
    """Every `pull_every_s` seconds; it says what went wrong without saying where."""
    with following(tmp_path, kind, pull_every_s=60) as (desk, fake):
        desk.open()
        desk.step(0.1)
        notifier = Notifier(desk.store, desk.project.clock, holder="me")
        notifier.pull(desk.project)
        assert not any(is_search(*one) for one in fake.asked), "another daemon leads"
        notifier.notify(desk.project)
        for seconds in (0, 30, 31, 30):
            desk.project.clock.advance(timedelta(seconds=seconds))
            notifier.pull(desk.project)
        assert sum(is_search(*one) for one in fake.asked) == 2


def is_search(method, path):
    """Check whether a request was a search."""
    return path.endswith("/search/jql") or (method == "GET" and path.endswith("/table/incident"))


def test_a_field_that_jira_refuses_is_named(tmp_path):
    """Its name, and nothing that Jira said of it."""
    with following(tmp_path, "jira", fields={"reporter": {"id": "x"}}) as (desk, _):
        desk.open()
        assert desk.step(0.1).given_up == 1
        assert desk.messages()[0].error == "Jira answered 400: it does not accept the request (fields reporter)"


def test_closing_fields_that_jira_refuses_are_named(tmp_path):
    """`close_fields` goes with the transition."""
    with following(tmp_path, "jira", close_fields={"customfield_1": 1}) as (desk, _):
        incident = desk.open()
        desk.step(0.1)
        desk.end(incident, at(1))
        assert desk.step(1.1).given_up == 1
        assert str(desk.messages()[1].error).endswith("(fields customfield_1)")


def test_a_workflow_without_an_end_is_said_so(tmp_path):
    """The comment stands on the issue, and the alert log says why it is open."""
    with following(tmp_path, "jira") as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        fake.CATEGORIES = {"To Do": "new", "In Progress": "indeterminate"}
        desk.end(incident, at(1))
        assert desk.step(1.1).given_up == 1
        assert "no transition to the status that closes it" in str(desk.messages()[1].error)


@BOTH
def test_a_secret_is_not_sent_in_the_clear(kind, tmp_path):
    """`doctor` and `config check` notice an address without TLS."""
    with following(tmp_path, kind) as (desk, _):
        settings = desk.project.config.alerts.channels["desk"].settings
        assert KINDS[kind].problem(settings) is None  # the loopback
        clear = settings.model_copy(update={"url": "http://tickets.example.org"})
        assert "unencrypted" in str(KINDS[kind].problem(clear))


@BOTH
def test_the_end_of_what_nobody_was_told_makes_a_closed_ticket(tmp_path, kind):
    """What quiet hours held back until it was over is a ticket all the same, and closed."""
    quiet = "  routes: [{to: [desk], quiet_hours: nights}]\n  quiet_hours: {nights: {start: '11:00', end: '20:00'}}"
    with following(tmp_path, kind, quiet) as (desk, fake):
        incident = desk.open()
        desk.step(0.1)
        desk.end(incident, at(1))
        desk.step(1.1)
        desk.step(10)
        ((name, ticket),) = fake.tickets.items()
        assert fake.is_closed(name)
        assert said(ticket) == []


@pytest.mark.parametrize("kind", ["pagerduty", "slack", "jira", "servicenow"])
def test_a_channel_is_tried_and_leaves_nothing_open(tmp_path, kind):
    """`tablewatch alert test` makes a page or a ticket and closes it, which shows that both are allowed."""
    from monitor.alerts.dispatch import send
    from monitor.alerts.trial_message import TrialMessageKind, trial_message

    with following(tmp_path, kind) as (desk, fake):
        for like in (TrialMessageKind.INCIDENT, TrialMessageKind.RESOLVED):
            trial = trial_message(desk.project, "desk", like, now=at(0))
            assert isinstance(send(desk.project, trial), DeliverySucceeded)
        if kind == "pagerduty":
            assert {*fake.alerts.values()} == {"resolved"}
        if kind in {"jira", "servicenow"}:
            assert len(fake.tickets) == 2
            assert all(fake.is_closed(name) for name in fake.tickets)
        with desk.store.reading() as tx:
            assert tx.external_items.of_incident(0) == []
