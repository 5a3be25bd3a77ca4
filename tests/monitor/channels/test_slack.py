from datetime import timedelta

import pytest

from monitor.channels.slack import Slack, SlackKind
from tests.monitor.alerts.made import at
from tests.monitor.channels.fakes import FakeSlack
from tests.monitor.channels.following import following


@pytest.fixture
def chat(tmp_path):
    """Return a desk whose channel is a bot in Slack, and Slack."""
    with following(tmp_path, "slack") as pair:
        yield pair


def shown(fake):
    """Return what the one message shows by now."""
    (message,) = fake.messages.values()
    return "\n".join(block["text"]["text"] for block in message["blocks"])


def test_an_incident_is_one_message_that_is_updated_in_place(chat):
    """The message shows the state, who acknowledged, how long it took and what it cost; nothing else is posted."""
    desk, fake = chat
    incident = desk.open()
    desk.step(0.1)
    assert "*[error] orders: 3 rows are bad (#1)*" in shown(fake)
    assert "<https://watch.example.org/incidents/1|Acknowledge #1>" in shown(fake)
    desk.acknowledge(incident, 0.5)
    desk.step(0.6)
    assert "*[acknowledged] orders" in shown(fake)
    assert "Acknowledged: Fri, Nov 20, 12:30, mia" in shown(fake)
    assert "Cost so far: ¥192,000" in shown(fake)
    assert "|Open #1>" in shown(fake)
    desk.end(incident, at(2))
    desk.step(2.1)
    assert "*[resolved] orders" in shown(fake)
    assert "Duration: " in shown(fake)
    assert "Cost: ¥360,000" in shown(fake)
    assert fake.posted == 1


def test_a_new_episode_is_shown_in_the_same_message(chat):
    """One incident is one message, whatever comes of it."""
    desk, fake = chat
    incident = desk.open()
    desk.step(0.1)
    desk.end(incident, at(1))
    desk.step(1.1)
    desk.back(incident, at(2))
    desk.step(2.1)
    assert "recurred" in shown(fake)
    assert fake.posted == 1


@pytest.mark.parametrize("error", ["message_not_found", "cant_update_message", "edit_window_closed"])
def test_a_message_that_cannot_be_updated_is_posted_anew(chat, error):
    """A user deleted it, or it is too old: the news comes as a new message, which is updated from then on."""
    desk, fake = chat
    incident = desk.open()
    desk.step(0.1)
    fake.errors.append(error)
    desk.acknowledge(incident, 0.5)
    desk.step(0.6)
    assert fake.posted == 2
    desk.end(incident, at(1))
    desk.step(1.1)
    assert fake.posted == 2
    assert "[resolved]" in fake.messages["1700000000.000002"]["blocks"][0]["text"]["text"]


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive"])
def test_a_token_that_is_not_accepted_disables_the_channel(chat, error):
    """What waits for it waits, until a user enables it."""
    desk, fake = chat
    fake.errors.append(error)
    desk.open()
    assert desk.step(0.1).disabled == ("desk",)
    with desk.store.reading() as tx:
        assert tx.silences.disabled_channels()["desk"].why == f"Slack does not accept the token ({error})"
    with desk.store.writing() as tx:
        tx.silences.enable_channel("desk")
        tx.deliveries.hasten("desk", at(1))
    assert desk.step(1).sent == 1


def test_errors_say_what_to_do(chat):
    """A bot that is not in its channel fails with that reason, and the message waits for it."""
    desk, fake = chat
    fake.errors += ["not_in_channel", "fatal_error"]
    desk.open()
    desk.step(0.1)
    assert desk.messages()[0].error == "Slack: the bot is not in the channel; invite it (not_in_channel)"
    desk.step(1)
    assert desk.messages()[0].error == "Slack did not take the message"
    assert desk.step(2).sent == 1


def test_a_message_that_slack_cannot_read_is_given_up(chat):
    """Trying again would change nothing."""
    desk, fake = chat
    fake.errors.append("invalid_blocks")
    desk.open()
    assert desk.step(0.1).given_up == 1


def test_a_rate_limit_is_kept(chat):
    """429 with Retry-After: the next attempt comes no earlier."""
    desk, fake = chat
    fake.faults.append(429)
    desk.open()
    assert desk.step(0.1).failed == 1
    assert desk.messages()[0].next_try_at >= at(0.1) + timedelta(seconds=30)
    assert desk.step(1).sent == 1


def test_marks_of_slack_in_names_are_no_marks(chat):
    """A table whose name holds a link or a mention shows it as text."""
    desk, fake = chat
    desk.open(table="<!channel> <https://x|y> & co")
    desk.step(0.1)
    assert "<!channel>" not in shown(fake)
    assert "<https://x" not in shown(fake)


def test_settings_that_cannot_work_are_noticed():
    """A token of another kind, or one that would be sent in the clear, is named without being shown."""
    kind = SlackKind()
    assert kind.problem(Slack(token="xoxp-user", channel="C1")) == "a bot's token begins with xoxb-"  # noqa: S106
    assert kind.problem(Slack(token=FakeSlack.TOKEN, channel="C1")) is None
    assert "unencrypted" in str(kind.problem(Slack(token="xoxb-1", channel="C1", url="http://example.org")))  # noqa: S106


def test_a_private_address_is_refused_unless_it_is_allowed(tmp_path):
    """The address of the service is checked like that of a webhook."""
    with following(tmp_path, "slack", allow_private=False) as (desk, fake):
        desk.open()
        desk.step(0.1)
        assert "loopback" in str(desk.messages()[0].error)
        assert fake.asked == []


def test_another_channel_in_the_configuration_gets_messages_of_its_own(chat):
    """A message of the old channel is not updated through the new one."""
    desk, fake = chat
    incident = desk.open()
    desk.step(0.1)
    first = desk.item()
    text = desk.project.loaded.files[0].read_text().replace(FakeSlack.CHANNEL, "C9999")
    desk.project.loaded.files[0].write_text(text)
    from monitor.config import load
    from monitor.config.project import Project

    desk.project = Project(load(desk.project.loaded.files[0], environment={}), desk.project.clock)
    fake.CHANNEL = "C9999"
    desk.acknowledge(incident, 0.5)
    desk.step(0.6)
    assert fake.posted == 2
    assert desk.item().label != first.label
