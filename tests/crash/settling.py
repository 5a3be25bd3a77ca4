"""Let time pass after a crash, until every fail has its incident and everything is said that there is to say."""

import time
from itertools import count

from tests.crash.invariants import Remains, Seen
from tests.crash.nursery import Life, Nursery, until
from tests.crash.places import Place

_LIVES = 20
_PATIENCE_S = 4.0
_WAITS = (
    "SELECT (SELECT count(*) FROM delivery WHERE state = 'waiting')"
    " + (SELECT count(*) FROM transition WHERE settled_us IS NULL)"
    " + (NOT EXISTS (SELECT 1 FROM delivery))"
    " + (SELECT count(*) FROM check_state WHERE fail_streak > 0 AND NOT EXISTS"
    " (SELECT 1 FROM incident WHERE incident.check_id = check_state.check_id AND state <> 'resolved'))"
)


def settle(nursery: Nursery, place: Place, seen: Seen, *, shift_s: float, step_s: float) -> Remains:
    """Start daemons on ever later clocks, each of which looks at every table, until nothing waits; give what is left.

    `step_s`: how much later each is: what holds a message back, a lease or a rest, has passed by then.
    """
    for number in count(1):
        life = nursery.begin("watch", place.folder, shift_s=shift_s + number * step_s)
        until(lambda life=life: _checks(life) == 2 * len(place.tables), "a look at every table")
        end = time.monotonic() + _PATIENCE_S
        while Remains(place.store).number(_WAITS) and time.monotonic() < end:
            life.wait(0.1)
        assert life.kill() == -9, life.said()
        seen.acknowledged += life.acknowledged()
        remains = Remains(place.store)
        if not remains.number(_WAITS):
            return remains
        assert number < _LIVES, f"{remains.number(_WAITS)} wait for ever"
    raise AssertionError


def _checks(life: Life) -> int:
    return len({check for check, *_ in life.acknowledged()})
