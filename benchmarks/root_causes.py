"""Root causes: how often the planted cause of an incident is among the first three that are shown.

python -m benchmarks root_causes [FIRST_SEED [CASES]]

The histories are those of `benchmarks._causal_mesh`.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from benchmarks._causal_mesh import Case, Planted
from benchmarks._measure import table
from incidents.causes import CauseKind, Likelihood
from monitor.summaries.causes import IncidentCauses, NamedCause

FIRST: Final = 5_000
"""Seeds below 1,000 were used while the score was chosen."""
CASES: Final = 210
WITHOUT: Final = 50
KINDS: Final = tuple(CauseKind)


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
    """How a case went: the place of the planted cause as ranked and by time, of how many, and the first one's word."""

    kind: CauseKind | None
    place: int | None
    by_time: int | None
    candidates: int
    word: Likelihood | None


def run_case(asked: tuple[int, CauseKind | None]) -> CaseOutcome | None:
    """Return how a case went; None if no check noticed the incident before the end."""
    seed, kind = asked
    case = Case.draw(seed, kind)
    causes = case.causes()
    if causes is None:
        return None
    places = (place_of(case.planted, causes.causes), place_of(case.planted, nearest(causes)))
    word = causes.causes[0].candidate.likelihood if causes.causes else None
    return CaseOutcome(kind, *places, len(causes.causes), word)


def main() -> None:
    """Print how often planted causes are found, by kind, and what is shown where there is none."""
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FIRST
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else CASES
    planted = [(first + number, KINDS[number % len(KINDS)]) for number in range(cases)]
    without = [(first + cases + number, None) for number in range(min(WITHOUT, cases))]
    with ProcessPoolExecutor(max_workers=2) as pool:
        outcomes = [outcome for outcome in pool.map(run_case, [*planted, *without]) if outcome is not None]
    print(f"{cases + len(without) - len(outcomes)} more cases had no incident: no check looked before the end.\n")
    head = ("planted", "cases", "first three", "first", "random order", "nearest in time", "candidates", "not shown")
    every = [outcome for outcome in outcomes if outcome.kind is not None]
    rows = [_row(kind.value, [outcome for outcome in every if outcome.kind is kind]) for kind in KINDS]
    print(table(head, [*rows, _row("all", every)]))
    words = [outcome.word for outcome in outcomes if outcome.kind is None]
    counts = [sum(word is one for word in words) for one in (*Likelihood, None)]
    of_planted = [sum(outcome.word is one for outcome in every) for one in (*Likelihood, None)]
    head = ("the first candidate is called", *(word.value for word in Likelihood), "(there is none)")
    print("\n" + table(head, [("no cause in the data", *counts), ("a cause is planted", *of_planted)]))


def _row(name: str, outcomes: Sequence[CaseOutcome]) -> tuple[object, ...]:
    count = len(outcomes)
    among = [sum(place is not None and place <= most for place in places) for places, most in _places(outcomes)]
    chance = sum(min(1.0, 3 / outcome.candidates) for outcome in outcomes if outcome.place is not None)
    shares = [f"{100 * part / count:.0f} %" for part in (among[0], among[1], chance, among[2])]
    mean = sum(outcome.candidates for outcome in outcomes) / count
    return name, count, *shares, f"{mean:.0f}", sum(outcome.place is None for outcome in outcomes)


def _places(outcomes: Sequence[CaseOutcome]) -> Iterator[tuple[list[int | None], int]]:
    ranked = [outcome.place for outcome in outcomes]
    yield ranked, 3
    yield ranked, 1
    yield [outcome.by_time for outcome in outcomes], 3


if __name__ == "__main__":
    main()
