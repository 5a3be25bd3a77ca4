"""What holds whatever happens: incidents, messages that arrive or do not, silences, nights, crashes, a full channel."""

from collections import defaultdict
from contextlib import suppress
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, multiple, precondition, rule

from checks import Severity
from incidents import (
    Acknowledged,
    Escalated,
    Flapped,
    NotAllowed,
    Resolution,
    Resolved,
    Snoozed,
    State,
    verbs,
)
from store import DeliveryState, Scope, StoreConflict
from tests.monitor.alerts.machine import NotificationMachine, run
from tests.monitor.alerts.made import NOW

ALERTS = """
  hourly_cap: 3
  routes:
    - {match: {severity: error}, to: [desk], quiet_hours: nights}
    - {to: [audit]}
  quiet_hours: {nights: {start: "22:00", end: "07:00", let_through: [critical]}}
"""
TABLES = ("orders", "lines", "board", "stray")
NOT_ANY_MORE = ("no longer one of its channels", "no route leads to the channel any longer")
TELLING = ("first", "reopened")


class Speaking(NotificationMachine):
    """Any history of incidents, reported on the way."""

    alerts = ALERTS
    many = 0
    incidents = Bundle("incidents")

    # --- what happens -------------------------------------------------------------------------------------------------

    @rule(target=incidents, table=st.sampled_from(TABLES), severity=st.sampled_from(list(Severity)))
    def open(self, table, severity):
        """Something goes wrong."""
        self.made += 1
        return self.desk.open(table, self.now, severity, check=f"c{self.made}").id

    @precondition(lambda self: self.many < 5)
    @rule(target=incidents, number=st.integers(4, 8))
    def open_many(self, number):
        """Many tables go wrong at once."""
        self.made += 1
        self.many += 1
        opened = [self.desk.open(f"t{one}", self.now, check=f"c{self.made}").id for one in range(number)]
        return multiple(*opened)

    def change(self, number, *changes):
        """Change an incident if it can be."""
        with self.store.reading() as tx:
            incident = tx.incidents.get(number)
        with suppress(StoreConflict):
            self.desk.change(incident, *changes, when=self.now)

    def state(self, number):
        """Return where an incident stands."""
        with self.store.reading() as tx:
            return tx.incidents.get(number)

    @rule(number=incidents)
    def turn(self, number):
        """It ends, or begins again."""
        incident = self.state(number)
        if incident.merged_into is not None:
            return
        if incident.state is State.RESOLVED:
            self.desk.back(incident, self.now)
        else:
            self.change(number, Resolved(self.now, Resolution.FIXED))

    @rule(number=incidents, severity=st.sampled_from(list(Severity)))
    def rescale(self, number, severity):
        """Its severity changes."""
        if self.state(number).state is not State.RESOLVED:
            self.change(number, Escalated(severity))

    @rule(number=incidents, what=st.sampled_from(["ack", "snooze"]), hours=st.integers(1, 30))
    def care(self, number, what, hours):
        """A user acknowledges or snoozes it."""
        if self.state(number).state is State.RESOLVED:
            return
        later = self.now + timedelta(hours=hours)
        self.change(number, Acknowledged(self.now) if what == "ack" else Snoozed(later))

    @rule(number=incidents)
    def flap(self, number):
        """It begins to flap, or settles."""
        self.change(number, Flapped(not self.state(number).flapping))

    @rule(first=incidents, second=incidents)
    def merge(self, first, second):
        """Two turn out to be one."""
        one, other = self.state(first), self.state(second)
        with suppress(NotAllowed):
            self.change(first, verbs.merge(one, other, lookup=self.state, now=self.now, force=False))

    @rule(
        scope=st.sampled_from([(Scope.ALL, None), (Scope.TABLE, "orders"), (Scope.DOMAIN, "sales")]),
        hours=st.integers(1, 9),
    )
    def silence(self, scope, hours):
        """A user silences alerts."""
        with self.store.writing() as tx:
            tx.silences.add(
                scope=scope[0],
                name=scope[1],
                starts_at=self.now,
                until=self.now + timedelta(hours=hours),
                reason="quiet",
                by="sato",
            )

    @rule(channel=st.sampled_from(["desk", "audit"]))
    def go(self, channel):
        """The other end of a channel is gone."""
        self.desk.gone(channel)

    @rule(channel=st.sampled_from(["desk", "audit"]))
    def enable(self, channel):
        """A channel is enabled."""
        self.desk.enable(channel, self.now)

    @rule(to=st.sampled_from(["desk", "audit", "owners"]))
    def reroute(self, to):
        """A user routes all to one channel, or to the owners."""
        self.desk.route("  hourly_cap: 3" + ("" if to == "owners" else f"\n  routes: [{{to: [{to}]}}]"))
        self.project = self.desk.project

    @rule()
    def route_as_before(self):
        """A user takes that back."""
        self.desk.route(ALERTS)
        self.project = self.desk.project

    # --- what must hold -----------------------------------------------------------------------------------------------

    def keys_in(self, payload):
        """Return which incidents a message is about."""
        return payload["ids"]

    def heard(self):
        """Return what each channel heard of each incident, in order: reason, episode, whether it was over."""
        found = defaultdict(list)
        for message in self.messages():
            if message.state is DeliveryState.SENT:
                for each in message.payload["incidents"]:
                    found[message.channel, each["id"]].append((each["reason"], each["episode"], each["over"]))
        return found

    @precondition(lambda self: hasattr(self, "store"))
    @invariant()
    def no_end_without_a_problem(self):
        """No channel gets the end of what it was not notified of, and no beginning twice."""
        found = self.heard()
        for (channel, number), story in found.items():
            knows = False
            for reason, _, is_over in story:
                assert reason != "resolved" or knows, (channel, number, story)
                knows = not is_over
            began = [(reason, at_episode) for reason, at_episode, _ in story if reason in TELLING]
            assert len(began) == len(set(began)), (channel, number, story)
            assert [reason for reason, *_ in story].count("first") <= 1

    @precondition(lambda self: hasattr(self, "store"))
    @invariant()
    def the_cap_holds(self):
        """No hour has more messages than the cap."""
        messages = self.messages()
        for channel in ("desk", "audit"):
            times = [message.created_at for message in messages if message.channel == channel]
            hour = timedelta(hours=1)
            assert all(sum(time - hour < other <= time for other in times) <= 3 for time in times)

    def calm_down(self):
        """End outages and flapping, for three days."""
        self.route_as_before()
        self.enable("desk"), self.enable("audit")
        with self.store.reading() as tx:
            flapping = [incident.id for incident in tx.incidents.matching() if incident.flapping]
        for number in flapping:
            self.change(number, Flapped(flapping=False))
        super().calm_down()

    def everything_is_settled(self):
        """Every change ends with a recorded decision, and no message is left; what was kept back was reported."""
        with self.store.reading() as tx:
            assert tx.outbox.waiting(10) == [] or all(
                self.is_muted(waiting_transition) for waiting_transition in tx.outbox.waiting(99)
            )
            decided = tx.outbox.decided_since(NOW - timedelta(days=1), 10_000)
        assert all(one.decision["channels"] or one.decision["why"] for one in decided)
        found = self.heard()
        for one in decided:
            for channel, record in one.decision["channels"].items():
                owed = one.settled_at and record["owed"] and record["reason"] in {"first", "reopened", "escalated"}
                rerouted = record["why"] in NOT_ANY_MORE  # its severity fell meanwhile, or routes changed
                if owed and not rerouted and self.state(one.incident_id).merged_into is None:
                    assert found[channel, one.incident_id] or (channel, one.incident_id) in self.lost

    def is_muted(self, transition):
        """Return whether a change waits for a root to be repaired, which is all that may wait for ever."""
        records = [one for one in transition.decision["channels"].values() if one["action"] == "held"]
        return all(record["held_by"] == "downstream" for record in records)

    def everybody_knows_the_truth(self):
        """Each channel ends up knowing what lasts, and believes in nothing that is over."""
        self.everything_is_settled()
        found = self.heard()
        with self.store.reading() as tx:
            incidents = tx.incidents.matching()
            result = tx.outbox.last_notifications([incident.id for incident in incidents])
            waiting = {waiting_transition.incident_id for waiting_transition in tx.outbox.waiting(10_000)}
        known = {(one.channel, one.incident_id): one for one in result}
        for incident in incidents:
            routed = ["audit", "desk"] if incident.severity.rank >= Severity.ERROR.rank else ["audit"]
            for channel in routed:
                if (channel, incident.id) in self.lost or incident.id in waiting:
                    continue
                belief = known.get((channel, incident.id))
                if incident.state is State.RESOLVED:
                    assert belief is None or belief.reason == "resolved", (
                        channel,
                        incident,
                        found[channel, incident.id],
                    )
                else:
                    assert belief is not None, (channel, incident)
                    assert belief.reason != "resolved"
                    assert belief.episodes == len(incident.episodes)
                    assert belief.severity.rank >= incident.severity.rank


TestSpeaking = run(Speaking, 25)
