"""Kill the daemon at random moments while it keeps tickets: one incident is one ticket, and no ticket is left open."""

import os
import random
import threading

import pytest

from tests.crash.invariants import Remains, Seen
from tests.crash.places import TABLES, Place
from tests.crash.settling import settle
from tests.monitor.alerts.receivers import listening
from tests.monitor.channels.fakes import FakeJira, FakeServiceNow
from tests.monitor.channels.following import SETTINGS
from tests.monitor.channels.test_tickets import is_search
from tests.tiers import examples

ROUNDS = int(os.environ.get("TABLEWATCH_CRASH_TICKET_ROUNDS", str(examples(20))))
SEED = int(os.environ.get("TABLEWATCH_CRASH_SEED", "20261121"))

_LONGEST_LIFE_S = 4.0
_LONGER_THAN_A_SEARCH_LAGS_S = 130.0
_DAY_S = 86_400.0


class _Flaky:
    """Of 100 requests 15 are answered 500, 5 are reset unread, 10 are done and not answered."""

    def __init__(self, *args):
        super().__init__(*args)
        self._dice = random.Random(SEED)
        self._one = threading.Lock()
        self.fair = False
        self.uncertain = 0
        self.lags = True

    def next_fault(self):
        chance = 1.0 if self.fair else self._dice.random()
        self.uncertain += chance < 0.30
        return 500 if chance < 0.15 else "before" if chance < 0.20 else "lost" if chance < 0.30 else None

    def answer(self, request, content):
        with self._one:
            return super().answer(request, content)


class _FlakyJira(_Flaky, FakeJira):
    pass


class _FlakyServiceNow(_Flaky, FakeServiceNow):
    pass


def _channel(kind, port):
    settings = SETTINGS[kind](f"http://127.0.0.1:{port}") | {"allow_private": "true"}
    return f"{{{kind}: {{{', '.join(f'{name}: {value!r}' for name, value in settings.items())}}}}}".replace(
        "'true'", "true"
    )


@pytest.mark.timeout(max(600, 6 * ROUNDS))
@pytest.mark.parametrize(("kind", "fake"), [("jira", _FlakyJira()), ("servicenow", _FlakyServiceNow())])
def test_one_incident_is_one_ticket(nursery, tmp_path, record_property, kind, fake):
    """Whatever dies between asking for a ticket and writing down its name, no second one is made."""
    dice = random.Random(SEED)
    with listening(fake) as receiver:
        place = Place(tmp_path, port=receiver.port)
        file = tmp_path / "tablewatch.yaml"
        hook = file.read_text().partition("channels: {hook: ")[2].partition("\n")[0][:-1]
        file.write_text(file.read_text().replace(hook, _channel(kind, receiver.port)))
        seen, shift_s = Seen(), 0.0
        for _ in range(ROUNDS):
            if dice.random() < 0.4:
                shift_s += _LONGER_THAN_A_SEARCH_LAGS_S if dice.random() < 0.7 else 8 * _DAY_S
                fake.index()
            for name in TABLES:
                if dice.random() < 0.3:
                    place.turn(name)
            for name in fake.tickets:
                if dice.random() < 0.1 and not fake.is_closed(name):
                    fake.work_on(name)
            life = nursery.begin("watch", place.folder, shift_s=shift_s)
            _wait_for_requests(life, fake, dice.choice((1, 1, 2, 3)))
            life.wait(dice.uniform(0.0, 0.06))
            assert life.wait(0.0) is None, life.said()
            assert life.kill() == -9
            seen.acknowledged += life.acknowledged()
            receiver.drain()
            _one_each(fake)
        fake.fair = True
        fake.index()
        fake.lags = False
        remains = settle(nursery, place, seen, shift_s=shift_s, step_s=2 * _DAY_S)
        remains.are_sound()
        _are_true(fake, remains)
        for name, value in {
            "kills": ROUNDS,
            "tickets": len(fake.tickets),
            "requests": len(fake.asked),
            "uncertain": fake.uncertain,
            "searches": sum(is_search(method, path) for method, path in fake.asked),
        }.items():
            record_property(name, value)
            print(kind, name, value)  # noqa: T201 - the numbers of a soak
    assert fake.tickets


def _wait_for_requests(life, fake, number):
    """Let a daemon live until it has asked so often; many of the kills fall between a request and what comes of it."""
    before, left = len(fake.asked), int(_LONGEST_LIFE_S / 0.005)
    while len(fake.asked) < before + number and left:
        life.wait(0.005)
        left -= 1


def _one_each(fake):
    labels = [ticket["label"] for ticket in fake.tickets.values()]
    assert len(labels) == len(set(labels)), "two tickets with the label of one incident"


def _are_true(fake, remains: Remains):
    """Claim that incidents and tickets are the same ones, and that those are closed whose incident is over."""
    _one_each(fake)
    rows = remains.ask(
        "SELECT item, label, state, flapping FROM external_item JOIN incident ON incident.id = incident_id"
    )
    assert {item for item, *_ in rows} == {*fake.tickets}, "tickets that only one side knows"
    for item, label, state, flapping in rows:
        assert fake.tickets[item]["label"] == label
        assert flapping or fake.is_closed(item) == (state == "resolved"), (item, state)
    result = remains.number("SELECT count(DISTINCT incident_id) FROM told")
    assert result == len(fake.tickets)
