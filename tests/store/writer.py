"""A process that reads and then writes, many times; started several at once by test_concurrency."""

import sys
from dataclasses import replace

from incidents import Commented
from store import open_store
from tests.store.made import AT


def main(url: str, name: str, times: int) -> None:
    """Add to a counter and to an incident, each time by looking first."""
    with open_store(url) as store:
        for number in range(times):
            with store.writing() as tx:
                watch = tx.results.watches(["counter"])["counter"]
                tx.results.save_watches([replace(watch, fail_streak=watch.fail_streak + 1)])
                incident = tx.incidents.get(1)
                tx.incidents.append(incident, [Commented(f"{name} {number}")], recorded_at=AT, actor=name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
