"""A scheduled query whose slot is leased, and when it is too early to charge it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from checks import Json, Outcome
from monitor.config.answer_series import AnswerSeries
from monitor.daemon.claims import LeasedTable
from monitor.scan.private_question import PrivateQuestion
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Charge, Claim, Granted
from sources import SourceSpec
from store import RequestHistory, SlotState

MOST_CHARGES: Final = 2
"""How often a slot is charged at most."""

_MOST_DOUBLINGS: Final = 16


@dataclass(eq=False, kw_only=True)
class LeasedStatistic(LeasedTable):
    """A scheduled query whose slot is leased.

    `at`: when it continues, in monotonic seconds. `claim`: of its request, since before the charge. `answer`: the last
    answer of a worker, if `heard`. `ends`: the final state of its slot, once it is known.
    """

    series: AnswerSeries
    at: float = 0.0
    request: "Request | None" = None
    claim: Claim | None = None
    granted: Granted | None = None
    heard: bool = False
    answer: Mapping[str, Json] | Outcome | None = None
    free_tries: int = 0
    ends: SlotState | None = None

    def release(self) -> None:
        """Release the claim of its request."""
        claim, self.claim = self.claim, None
        if claim is not None:
            claim.release()

    @property
    def apart(self) -> bool:
        """Return True: its source may be opened in another way than for checks."""
        return True


@dataclass(frozen=True, slots=True)
class Request:
    """A query with its data set, its price, and its interval."""

    question: PrivateQuestion
    source: SourceSpec
    charge: Charge
    period: timedelta


def rests(tries: RequestHistory, period: timedelta, now: datetime) -> bool:
    """Check whether it is too early for another charge, after several without an answer.

    After two it is run in the next slot, after three one slot is left out, then three, seven, ...
    """
    if tries.unanswered < MOST_CHARGES or tries.unanswered_at is None:
        return False
    rest = period * (1 << min(tries.unanswered - MOST_CHARGES, _MOST_DOUBLINGS)) - period / 2
    return timedelta() <= now - tries.unanswered_at < rest


def spent(charge: Charge, total: int) -> str:
    """Describe that a budget does not cover a charge any more; the same words as long as the total is the same."""
    return (
        f"of the budget of {charge.data_set} ({text_of(total)} in total) less is left than the {text_of(charge.nano)} "
        "that an answer costs"
    )
