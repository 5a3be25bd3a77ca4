"""Treat a table as a plan says, write it, read what was written again, and prove the limits of the release on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks import Json
from monitor.clock import Clock
from monitor.disclosure.place import Place
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import Case
from monitor.releasing.leaving import harmless, shuffled, with_pseudonyms
from monitor.releasing.plan import Kind, Plan
from monitor.releasing.verdict import Verdict, judge
from monitor.treatment.given import read, reading
from monitor.treatment.output import sink
from monitor.treatment.proved import Written, texts_in

if TYPE_CHECKING:
    import pandas as pd

    from remedies import Bill, Progress


@dataclass(frozen=True, slots=True, eq=False)
class Treated:
    """What became of a table. `frame`: in the rows' own order and index; `before`: the same columns, untreated."""

    frame: "pd.DataFrame"
    before: "pd.DataFrame"
    bill: "Bill | None"

    @property
    def suppressed(self) -> int:
        """Count the rows that were left out."""
        return len(self.before) - len(self.frame)

    @property
    def lost(self) -> Mapping[str, float]:
        """Give the information that is lost, by column, in per cent."""
        return {} if self.bill is None else self.bill.information_lost

    @property
    def seconds(self) -> float:
        """Give how long the remedy took."""
        found = 0.0 if self.bill is None else self.bill.figures.get("seconds", 0.0)
        return float(found) if isinstance(found, int | float) else 0.0


class NotProved(Stop):
    """What was written does not hold the limits. `reached`: what was found in it all the same."""

    def __init__(self, seen: str, reached: Mapping[str, Json] | None = None) -> None:
        message = f"the output was read again and is refused: {seen}"
        hint = "nothing was given out; 'tablewatch release compare' shows what the other remedies reach"
        super().__init__(ExitCode.FAILED, Problem("release.not_proved", message, hint=hint))
        self.reached = reached or {}


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found in the bytes that were written. `verdict`: of a table; `mechanism`: of a randomised one."""

    rows: int
    columns: tuple[str, ...]
    question: str
    reached: Mapping[str, Json]
    verdict: Verdict | None = None
    epsilon: str | None = None


def treat(plan: Plan, frame: "pd.DataFrame", *, progress: "Progress | None" = None) -> Treated:
    """Treat the columns of a plan; the frame itself stays as it is.

    Raises:
        Misfit, Refused: as the remedy.
    """
    before = frame[list(plan.columns)]
    if plan.remedy is None:
        return Treated(before, before, None)
    found = plan.remedy.apply(before, progress=progress)
    return Treated(found.frame, before, found.bill)


def write(case: Case, treated: Treated, draft: Path) -> Written:
    """Write what was treated, ready to leave, and say how it is to be read again.

    Raises:
        Stop: a CSV file cannot hold it. OSError: it cannot be written.
    """
    import pyarrow as pa

    ready = harmless(shuffled(with_pseudonyms(treated.frame, case)), draft)
    table = pa.Table.from_pandas(ready, preserve_index=False).replace_schema_metadata(None)
    with sink(draft, table.schema) as put:
        put(table)
    return Written(texts=texts_in(ready))


def prove(case: Case, plan: Plan, treated: Treated, draft: Path, written: Written, clock: Clock) -> Proof:
    """Read a file again, and find in it what the release asks for.

    Raises:
        NotProved: it does not hold that, or is not what was written.
        Refused: it is not as it was randomised.
    """
    place = written.exactly([name for name in case.quasi if name in plan.columns]).place(draft)
    if plan.kind is Kind.RANDOMISED:
        return _randomised(case, plan, treated, read(place))
    rows, columns = _shape(place)
    if (rows, columns) != (len(treated.frame), _names(treated.frame, case, draft)):
        raise NotProved("the file does not have the rows and columns that were written")
    verdict = judge(case, place, columns=columns, clock=clock)
    if not verdict.holds:
        raise NotProved(verdict.why, verdict.figures())
    return Proof(rows, columns, question_of(verdict.columns), verdict.figures(), verdict)


def question_of(columns: Sequence[str]) -> str:
    """Give the question that anybody can put to the file, in SQL."""
    from remedies import grouped_by

    return grouped_by(columns) if columns else "SELECT count(*) FROM output"


def _names(frame: "pd.DataFrame", case: Case, draft: Path) -> tuple[str, ...]:
    del case
    return tuple(map(str, harmless(frame.head(0), draft).columns))


def _shape(place: Place) -> tuple[int, tuple[str, ...]]:
    with reading(place) as (source, table):
        (row,) = source.fetch(source.compile(table.aggregate(rows=table.count())))
        return int(row["rows"]), tuple(table.columns)


def _randomised(case: Case, plan: Plan, treated: Treated, after: "pd.DataFrame") -> Proof:
    from remedies.differential_privacy import Mechanism
    from remedies.randomise import Randomise, keep_to_epsilon

    remedy: Any = plan.remedy
    assert isinstance(remedy, Randomise)  # noqa: S101 - what the kind means
    limit = case.release.limits.epsilon
    if limit is None:
        raise NotProved("the release has no limit on epsilon, by which alone a randomised table can be judged")
    if treated.bill is None:
        raise NotProved("nothing was randomised")
    mechanism: Mechanism = Mechanism.read(treated.bill.guarantee.reached)
    keep_to_epsilon(mechanism, limit)
    guarantee = remedy.guarantee(mechanism, after)
    return Proof(
        rows=len(after),
        columns=tuple(map(str, after.columns)),
        question=guarantee.proof,
        reached=guarantee.reached,
        epsilon=None if mechanism.epsilon is None else f"{mechanism.epsilon:f}",
    )
