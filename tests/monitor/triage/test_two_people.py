"""Two people who change one incident at the same moment: one does, the other is refused with what is possible now."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from checks import Severity
from incidents import State
from monitor.terminal.problem import Stop
from monitor.triage.errors import explained
from monitor.triage.incident_editor import IncidentEditor
from tests.monitor.alerts.desk import Desk
from tests.monitor.alerts.made import NOW, project


@pytest.mark.parametrize(
    ("ann", "bob", "text"),
    [
        (
            ("acknowledge", 1),
            ("acknowledge", 1),
            "is acknowledged: ack is not possible; possible: assign, snooze, resol",
        ),
        (("reopen", 3), ("reopen", 3), "is open: reopen is not possible; possible: ack, assign"),
        (("merge", 1, 2), ("merge", 2, 1), "was itself merged into #"),
        (("name_root", 1, 2), ("name_root", 2, 1), "would be its own root cause"),
    ],
)
def test_of_two_people_one_is_refused(tmp_path, ann, bob, text):
    """Through two connections at once exactly one wins, and the other's error names what stands in the way."""
    both_ready = threading.Barrier(2)
    made = project(tmp_path, now=NOW + timedelta(hours=1))
    with made.open_store() as store:
        desk = Desk(made, store)
        for number in range(3):
            desk.open("orders", NOW, Severity.ERROR, check=f"c{number}")
        with store.reading() as tx:
            third = tx.incidents.get(3)
        desk.end(third, NOW)

        def act(who, verb, *numbers):
            times = {"detected_at": made.clock.now(), "occurred_at": None} if verb == "reopen" else {}
            with made.open_store() as own:
                editor = IncidentEditor(made, own, actor=who)
                both_ready.wait()
                try:
                    with explained():
                        getattr(editor, verb)(*numbers, **times)
                except Stop as stop:
                    return stop.problems[0].message
            return None

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(act, ("ann", "bob"), (ann[0], bob[0]), *zip(ann[1:], bob[1:], strict=True)))
        (refused,) = [answer for answer in answers if answer is not None]
        assert text in refused
        with store.reading() as tx:
            changed = [incident for incident in tx.incidents.matching() if len(tx.incidents.events(incident.id)) > 1]
        assert len([incident for incident in changed if incident.id != 3 or incident.state is State.OPEN]) == 1
