"""Root causes: how often the planted cause of an incident is first, and among the first three that are shown.

python -m benchmarks root_causes [FIRST_SEED [CASES]]

The histories are those of `benchmarks._causal_mesh`. "Before" is the score of ADR 46, of the same facts without the
lineage of columns and without failed jobs; "after" that of ADR 99.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Final

from benchmarks._causal_mesh import Case, Planted
from benchmarks._measure import table
from incidents.causes import Beginning, CauseKind, Likelihood
from monitor.summaries.causes import IncidentCauses, NamedCause

FIRST: Final = 7_000
"""Seeds below 1,000 were used while the scores were chosen."""
CASES: Final = 245
WITHOUT: Final = 50
KINDS: Final = tuple(CauseKind)
_PRIORS: Final[Mapping[CauseKind, float]] = {
    CauseKind.UPSTREAM: 0.9,
    CauseKind.SCHEMA: 0.8,
    CauseKind.EVENT: 0.6,
    CauseKind.VOLUME: 0.6,
    CauseKind.EARLIER: 0.5,
    CauseKind.SEGMENT: 0.5,
    CauseKind.JOB: 0.0,
}


def before(causes: IncidentCauses) -> Sequence[NamedCause]:
    """Return the candidates in the order of the score of ADR 46, without failed jobs."""
    began = causes.beginning
    earlier = [cause for cause in causes.causes if cause.candidate.clue.kind is CauseKind.EARLIER]
    known = sum(cause.candidate.clue.evidence["incidents"] for cause in earlier)

    def score(cause: NamedCause) -> float:
        clue = cause.candidate.clue
        strength = clue.strength
        if clue.kind is CauseKind.EARLIER:
            strength = clue.evidence["alike"] * (0.5 + clue.evidence["incidents"] / known / 2)
        elif clue.kind is CauseKind.SEGMENT:
            strength = strength**0.5
        width = max(began.latest - began.earliest, timedelta(minutes=1))
        chance = 1 / (1 + clue.a_day * ((width + timedelta(hours=4)) / timedelta(days=1)))
        time = 1.0 if clue.since is None or clue.until is None else _time(began, clue.since, clue.until)
        return _PRIORS[clue.kind] * time * 0.85**clue.distance * strength * chance

    scored = [(score(cause), cause) for cause in causes.causes]

    def order(pair: tuple[float, NamedCause]) -> tuple[float, int, float]:
        clue = pair[1].candidate.clue
        return -pair[0], clue.distance, inf if clue.since is None else clue.since.timestamp()

    return [cause for points, cause in sorted(scored, key=order) if points > 0]


def _time(began: Beginning, since: datetime, until: datetime) -> float:
    interval = Beginning(began.earliest, began.latest).fit(since, until)
    if began.loaded_at is None:
        return interval
    step = (until - since) / 24
    moments = [since + step * (point + 0.5) for point in range(24)] if step else [since]
    delays = [began.loaded_at - moment for moment in moments]
    half = timedelta(hours=2)
    longer = sum(1 - max(0.0, delay / (delay + half)) for delay in delays if delay >= timedelta()) / len(delays)
    return 0.75 * longer + 0.25 * interval


def nearest(causes: IncidentCauses) -> Sequence[NamedCause]:
    """Return the candidates by how near they are to the detection in time; what has no time comes last."""
    latest = causes.beginning.latest

    def gap(cause: NamedCause) -> timedelta:
        clue = cause.candidate.clue
        if clue.since is None or clue.until is None:
            return timedelta.max
        return abs(latest - (clue.since + (clue.until - clue.since) / 2))

    return sorted(causes.causes, key=gap)


def place_of(planted: Planted, ordered: Sequence[NamedCause]) -> int | None:
    """Return the place of the planted cause, from 1; None if it is not there."""
    return next((place for place, cause in enumerate(ordered, 1) if planted.is_shown_by(cause)), None)


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """How a case went: the place of the planted cause in each order, of how many, and the first one's word.

    `above`: the kind of what is first where the planted cause is not.
    """

    kind: CauseKind | None
    places: Mapping[str, int | None]
    candidates: int
    word: Likelihood | None
    above: CauseKind | None


def run_case(asked: tuple[int, CauseKind | None]) -> CaseOutcome | None:
    """Return how a case went; None if no check noticed the incident before the end."""
    seed, kind = asked
    case = Case.draw(seed, kind)
    both = case.causes()
    if both is None:
        return None
    without, using = both
    orders = {
        "before": before(without),
        "no columns": without.causes,
        "after": using.causes,
        "nearest": nearest(using),
    }
    places = {name: place_of(case.planted, ordered) for name, ordered in orders.items()}
    first = using.causes[0].candidate if using.causes else None
    above = None if first is None or places["after"] == 1 else first.clue.kind
    return CaseOutcome(kind, places, len(using.causes), None if first is None else first.likelihood, above)


def main() -> None:
    """Print how often planted causes are found, by kind, and what is shown where there is none."""
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FIRST
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else CASES
    planted = [(first + number, KINDS[number % len(KINDS)]) for number in range(cases)]
    without = [(first + cases + number, None) for number in range(min(WITHOUT, cases))]
    with ProcessPoolExecutor(max_workers=2) as pool:
        outcomes = [outcome for outcome in pool.map(run_case, [*planted, *without]) if outcome is not None]
    print(f"{cases + len(without) - len(outcomes)} more cases had no incident: no check looked before the end.\n")
    every = [outcome for outcome in outcomes if outcome.kind is not None]
    by_kind = [(kind.value, [outcome for outcome in every if outcome.kind is kind]) for kind in KINDS]
    six = ("all but failed jobs", [outcome for outcome in every if outcome.kind is not CauseKind.JOB])
    head = ("planted", "cases", "first three before", "after", "first before", "without columns", "after")
    print(table((*head, "nearest in time", "not shown"), [_row(*of) for of in (*by_kind, six, ("all", every))]))
    words = [outcome.word for outcome in outcomes if outcome.kind is None]
    of_planted = [(outcome.word, outcome.places["after"] == 1) for outcome in every]
    head = ("the first candidate is called", *(word.value for word in Likelihood), "(there is none)")
    counts = [sum(word is one for word in words) for one in (*Likelihood, None)]
    planted_counts = [sum(word is one for word, _ in of_planted) for one in (*Likelihood, None)]
    right = [sum(word is one and is_right for word, is_right in of_planted) for one in (*Likelihood, None)]
    rows = [("no cause in the data", *counts), ("a cause is planted", *planted_counts), ("of these it is that", *right)]
    print("\n" + table(head, rows))
    misses = [(outcome.kind, outcome.above) for outcome in every if outcome.places["after"] != 1]
    head = ("planted, but not first", "cases", *(kind.value for kind in KINDS))
    rows = [
        (kind.value, sum(missed is kind for missed, _ in misses), *(misses.count((kind, above)) for above in KINDS))
        for kind in KINDS
    ]
    print("\nWhat is first instead:\n\n" + table(head, rows))


def _row(name: str, outcomes: Sequence[CaseOutcome]) -> tuple[object, ...]:
    def share(order: str, most: int) -> str:
        places = [outcome.places[order] for outcome in outcomes]
        return f"{100 * sum(place is not None and place <= most for place in places) / len(places):.0f} %"

    three = (share("before", 3), share("after", 3))
    first = (share("before", 1), share("no columns", 1), share("after", 1))
    not_shown = sum(outcome.places["after"] is None for outcome in outcomes)
    return name, len(outcomes), *three, *first, share("nearest", 3), not_shown


if __name__ == "__main__":
    main()
