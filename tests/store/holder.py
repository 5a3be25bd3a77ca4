"""A process that holds something of a store until its input ends; started by tests that take it away again."""

import sys

from store import daemon_lock, open_store


def main(what: str, url: str) -> None:
    """Hold the daemon's lock, or lead; say how that went, and wait."""
    if what == "lock":
        with daemon_lock(url):
            _wait("held")
    else:
        with open_store(url) as store, store.lead() as leads:
            _wait("leads" if leads else "follows")


def _wait(said: str) -> None:
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
