"""Plans as the workers made them, kept by the daemon and sent along with the next job.

So any worker takes any table without planning it anew, a recycled one too, and a plan is in memory once. The daemon
never opens them.
"""

from collections import OrderedDict
from typing import Final

from monitor.scan.results import Subject

_MOST_BYTES: Final = 64 * 1024 * 1024


class KeptPlans:
    """The plans of the tables that were looked at last, within a bound of memory."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._held = 0
        self._plans: OrderedDict[str, tuple[Subject, bytes]] = OrderedDict()

    def get(self, subject: Subject) -> bytes | None:
        """Return the plan that was made for exactly this."""
        known = self._plans.get(subject.name)
        if known is None or known[0] != subject:
            return None
        self._plans.move_to_end(subject.name)
        return known[1]

    def keep(self, subject: Subject, plan: bytes) -> None:
        """Keep a plan in place of the table's last one; an empty one only forgets that."""
        known = self._plans.pop(subject.name, None)
        self._held -= len(known[1]) if known is not None else 0
        if plan:
            self._plans[subject.name] = (subject, plan)
            self._held += len(plan)
        while self._held > self._most:
            _, (_, oldest) = self._plans.popitem(last=False)
            self._held -= len(oldest)
