"""A process that runs what is due until nothing is left, and says which slots it finished; several at once in tests.

It works through simulated hours: what a table is due after a slot is an hour later, until the given number of hours.
"""

import sys
from datetime import timedelta

from store import SlotDecision, open_store
from tests.store.made import AT, HOUR

SECOND = timedelta(seconds=1)


def main(url: str, name: str, hours: int, batch: int) -> None:
    """Claim and finish in turn; what is found taken by others is passed over."""
    end = AT + hours * HOUR
    with open_store(url) as store:
        while True:
            with store.reading() as tx:
                due = tx.schedule.due(
                    end - SECOND, batch
                )  # seen before the claim, as another may have moved it by then
                if not due and not tx.slots.running():
                    return
            claims = [SlotDecision(one, one.next_slot, one.next_slot + HOUR, one.next_slot + HOUR) for one in due]
            with store.writing() as tx:
                leases = tx.slots.claim(claims, holder=name, now=end, lease_until=end + HOUR)
            _say(f"claimed {len(leases)}")
            with store.writing() as tx:
                done = tx.slots.finish(leases, now=end, run_ids={lease.id: f"{name}-{lease.id}" for lease in leases})
            for lease in leases:
                if lease.id in done:
                    _say(f"done {lease.table} {lease.slot.isoformat()}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
