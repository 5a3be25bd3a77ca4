"""Treat a table as a plan says, write it, read what was written again, and prove the limits of the release on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks import ColumnClass, Json
from monitor.clock import Clock
from monitor.releases.columns import ReleaseColumns, one_of_each, with_pseudonyms
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.disclosure.uniqueness import Uniqueness, find_uniqueness
from monitor.releases.linkage import crowd_in, readings_in, reference_of, too_alike, units_of
from monitor.releases.plan import RemedyKind, TreatmentPlan
from monitor.releases.treatment.output import write_frame
from monitor.releases.treatment.table_reader import reading
from monitor.releases.treatment.verify import WrittenFile, texts_in
from monitor.releases.verdict import counted_figures, judge, judge_people, people_singled_out
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.spreadsheet import escape_frame
from remedies import RowOrder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from remedies import Progress, UtilityReport
    from remedies.generalisation.frequencies import EarlierOutput, Frequencies


@dataclass(frozen=True, slots=True, eq=False)
class TreatedTable:
    """What became of a table. `frame`: in the rows' own order and index; `before`: the same columns, untreated.

    `people`: whose row each row of `frame` is; None without a person key. `identifiers`: its direct identifiers then.
    `stands_for`: the weight and the group of each row of `frame`, as far as the release has them.
    `quasi`: all quasi-identifiers, untreated, also those that are dropped, as far as they were read. `left_out`: the
    rows that the remedy suppressed, as they would read.
    """

    frame: "pd.DataFrame"
    before: "pd.DataFrame"
    bill: "UtilityReport | None"
    people: "pd.Series[Any] | None" = None
    identifiers: "pd.DataFrame | None" = None
    quasi: "pd.DataFrame | None" = None
    left_out: "pd.DataFrame | None" = None
    stands_for: "pd.DataFrame | None" = None

    @property
    def made_of(self) -> "pd.DataFrame":
        """Return what the classes are made of: the table with its quasi-identifiers as they were."""
        return self.before if self.quasi is None else self.quasi

    def kept(self, rows: "npt.NDArray[np.bool_]") -> "TreatedTable":
        """Return it with some of its rows held back; `rows`, of each row whether it stays."""
        people = None if self.people is None else self.people[rows]
        identifiers = None if self.identifiers is None else self.identifiers[rows]
        stands_for = None if self.stands_for is None else self.stands_for[rows]
        return replace(self, frame=self.frame[rows], people=people, identifiers=identifiers, stands_for=stands_for)

    @property
    def suppressed(self) -> int:
        """Count the rows that were left out."""
        return len(self.before) - len(self.frame)

    @property
    def lost(self) -> Mapping[str, float]:
        """Return the information that is lost, by column, in per cent."""
        return {} if self.bill is None else self.bill.information_lost


class LimitsNotMet(Stop):
    """What was written does not hold the limits. `reached`: what was found in it all the same."""

    def __init__(self, text: str, reached: Mapping[str, Json] | None = None) -> None:
        message = f"the output failed verification: {text}"
        hint = "nothing was published; 'tablewatch release compare' shows the results of the other remedies"
        super().__init__(ExitCode.FAILED, Problem("release.not_proved", message, hint=hint))
        self.reached = reached or {}


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found in the bytes that were written.

    `epsilon`: of a randomised table, what it costs a person. `texts`: columns that were read as texts, as they stand.
    """

    rows: int
    columns: tuple[str, ...]
    question: str
    reached: Mapping[str, Json]
    epsilon: str | None = None
    uniqueness: Uniqueness | None = None
    texts: tuple[str, ...] = ()


def treat(
    case: ReleaseColumns,
    plan: TreatmentPlan,
    frame: "pd.DataFrame",
    *,
    progress: "Progress | None" = None,
    earlier: "Callable[[], Sequence[EarlierOutput]] | None" = None,
) -> TreatedTable:
    """Treat the columns of a plan; the frame itself stays as it is. It has the person key too, where there is one.

    `earlier`: reads what earlier exports did with the rows, as `Recodes.apply` takes it.

    Raises:
        Misfit, Refused: as the remedy.
    """
    from remedies.generalisation.recoded import Recodes

    if plan.kind is RemedyKind.SYNTHETIC and plan.remedy is not None:  # none of its rows is one of the table
        made = plan.remedy.apply(frame, progress=progress)
        return TreatedTable(made.frame, made.frame, made.bill)
    before = frame[list(plan.columns)]
    after, bill, left_out = before, None, None
    if plan.remedy is not None:
        if isinstance(plan.remedy, Recodes):
            hidden = earlier() if earlier is not None and plan.remedy.sensitive else ()
            result = plan.remedy.apply(before, progress=progress, key=case.hiding_key, earlier=hidden)
        else:
            result = plan.remedy.apply(before, progress=progress)
        after, bill, left_out = result.frame, result.bill, result.suppressed
    key = case.release.person_key
    people = None if key is None else frame[key].loc[after.index]
    identifiers = frame[[name for name in case.person_columns if name in frame.columns]].loc[after.index]
    quasi = frame[[name for name in case.quasi if name in frame.columns]]
    stands_for = frame[list(case.risk_columns)].loc[after.index] if case.risk_columns else None
    return TreatedTable(after, before, bill, people, identifiers, quasi, left_out, stands_for)


def write_treated(case: ReleaseColumns, plan: TreatmentPlan, treated: TreatedTable, draft: Path) -> WrittenFile:
    """Write what was treated, ready to leave, and say how it is to be read again.

    Raises:
        Stop: a CSV file cannot hold it. OSError: it cannot be written.
    """
    from monitor.releases.treatment.randomise_table import spelled

    frame = treated.frame
    if plan.has_mechanism and draft.suffix == ".csv":
        frame = spelled(frame, getattr(plan.remedy, "columns", ()))
    ready = one_of_each(with_pseudonyms(frame, case), case.quasi)
    write_frame(ready, draft, order=RowOrder.RANDOM)
    return WrittenFile(texts=texts_in(ready))


def verify_release(
    case: ReleaseColumns, plan: TreatmentPlan, treated: TreatedTable, draft: Path, written: WrittenFile, clock: Clock
) -> Verification:
    """Read a file again, and find in it what the release asks for.

    Raises:
        Stop: it does not hold that, or is not what was written.
        Refused: it is not as it was randomised.
        Misfit: it holds values that cannot be distinguished.
    """
    exact = getattr(plan.remedy, "columns", ()) if plan.has_mechanism else case.quasi
    written = written.exactly([name for name in exact if name in plan.columns])
    place, texts = written.place(draft), tuple(sorted(written.texts))
    rows, columns = _shape(place)
    if (rows, columns) != (len(treated.frame), tuple(map(str, treated.frame.columns))):
        raise LimitsNotMet("the file does not contain the rows and columns that were written")
    if plan.has_mechanism:
        return _by_mechanism(case, plan, treated, place, draft)
    _check_flat(case, treated.frame)
    verdict = judge(case.name, case.release, place, columns=columns, clock=clock)
    references = {name: _reference(treated, name, draft) for name in _close(case, treated.frame)}
    far, of_input = _from_input(case, place, treated, references)
    units = units_of(case, treated.frame, treated.people, treated.identifiers if treated.people is None else None)
    crowd = crowd_in(case, treated.frame, units)
    few = case.release.limits.least_k is not None and crowd is not None and crowd.exposed > 0
    why = [verdict.why] if not verdict.holds else []
    why += [far] if far else []
    why += [f"{_persons(crowd.exposed)} in a group with fewer than {case.k - 1} others"] if few and crowd else []
    of_people = judge_people(case, treated.frame, units, clock, stands_for=treated.stands_for)
    broken = [result for item in of_people for result in item.broken]
    why += [str(item.outcome.message) for item in broken if not (few and item.check.type == "k_anonymity")]
    why += too_alike(case, treated.frame, units, references=references, out=draft)
    reached = {
        **counted_figures(verdict, of_people, crowd),
        "t_of_input": of_input,
        "persons": None if crowd is None else crowd.as_json(),
        "counted_by": [str(unit.of_row.name) for unit in units],
    }
    uniqueness = people_singled_out(case, treated.frame, untreated(case, plan), units)
    uniqueness = uniqueness or find_uniqueness(place, untreated(case, plan), case.quasi)
    why += too_unique(case, uniqueness)
    if why:
        raise LimitsNotMet("; ".join(why), reached)
    return Verification(rows, columns, question_of(verdict.columns), reached, uniqueness=uniqueness, texts=texts)


def untreated(case: ReleaseColumns, plan: TreatmentPlan) -> Sequence[str]:
    """Return the columns that leave as they are: sensitive ones and others that the remedy does not treat."""
    treats = getattr(plan.remedy, "columns", ())
    loose = case.release.classified(ColumnClass.OTHER, ColumnClass.SENSITIVE)
    return [name for name in loose if name in plan.columns and name not in treats]


def too_unique(case: ReleaseColumns, uniqueness: Uniqueness) -> Sequence[str]:
    """Return whether a column called `other` identifies more records than the release allows."""
    limit = case.release.limits.unclassified_uniqueness
    others = case.release.classified(ColumnClass.OTHER)
    if limit is None:
        return ()
    unknown = [name for name in uniqueness.not_counted if name in others]
    if unknown:
        return [
            f"what columns classified 'other' identify was not counted of: {', '.join(unknown)}; classify or drop them"
        ]
    if uniqueness.share(others) <= limit:
        return ()
    broken = [item for item in uniqueness.singled_out_by(others) if item.records > limit * uniqueness.rows]
    name = ", ".join(f"'{item.columns[0]}' ({item.records:,} of {uniqueness.rows:,})" for item in broken)
    text = "columns classified 'other' identify more than"
    return [f"{text} {limit:g} of them, alone or with the quasi-identifiers: {name}; classify or drop them"]


def _persons(many: int) -> str:
    return "1 person is" if many == 1 else f"{many:,} people are"


def _check_flat(case: ReleaseColumns, frame: "pd.DataFrame") -> None:
    """Check that no nested value is to be compared: engines take lists and structs of different bytes for equal.

    Raises:
        NotProved: one is.
    """
    import pandas as pd
    import pyarrow as pa

    for name in (*(current_name for current_name in case.quasi if current_name in frame.columns), *_close(case, frame)):
        kind = frame[name].dtype
        if isinstance(kind, pd.ArrowDtype) and pa.types.is_nested(kind.pyarrow_dtype):
            raise LimitsNotMet(f"the values of '{name}' are lists or structs, which cannot be compared exactly")


def _close(case: ReleaseColumns, frame: "pd.DataFrame") -> Sequence[str]:
    """Return the sensitive columns of a treated table that have to be close to the one that was given."""
    if case.release.limits.t is None or not len(frame):
        return ()
    return [name for name in case.sensitive if name in frame.columns]


def _from_input(
    case: ReleaseColumns, place: TableRef, treated: TreatedTable, references: "Mapping[str, Frequencies]"
) -> tuple[str | None, Mapping[str, Json]]:
    """Measure how far the file's groups are from the table that was given; the check measures it from the file itself.

    Gives what is too far, if anything is, and the distance of each sensitive column.
    """
    from monitor.releases.treatment.table_reader import count
    from monitor.releases.treatment.verify import count_name
    from remedies import Misfit
    from remedies.generalisation.criteria import farthest

    limit = case.release.limits.t
    columns = [name for name in case.quasi if name in treated.frame.columns]
    if limit is None or not columns:
        return None, {}
    far, results = [], {}
    for name, reference in references.items():
        counts = count(place, [*columns, name], called=count_name([*columns, name]))
        try:
            readings = readings_in(case, name, reference)
            item = farthest(counts, columns, name, distance="equal", reference=reference, readings=readings)
        except Misfit as error:
            raise LimitsNotMet(str(error)) from None
        results[name] = item.t
        if item.above(limit):
            far.append(f"a group is {item.t:.4g} away from the input in {name}; {limit:g} is allowed")
    return "; ".join(far) or None, results


def _reference(treated: TreatedTable, name: str, draft: Path) -> "Frequencies":
    """Count the values of a sensitive column in the table that was given, as the file would spell them."""
    return reference_of(escape_frame(treated.before[[name]], draft))


def question_of(columns: Sequence[str]) -> str:
    """Return the SQL with which a user can verify the file."""
    from remedies import grouped_by

    return grouped_by(columns) if columns else "SELECT count(*) FROM output"


def _shape(place: TableRef) -> tuple[int, tuple[str, ...]]:
    with reading(place) as (source, table):
        (row,) = source.fetch(source.compile(table.aggregate(rows=table.count())))
        return int(row["rows"]), tuple(table.columns)


def _by_mechanism(
    case: ReleaseColumns, plan: TreatmentPlan, treated: TreatedTable, place: TableRef, draft: Path
) -> Verification:
    from monitor.releases.treatment.randomise_table import read_again
    from remedies.differential_privacy import Mechanism
    from remedies.randomise import keep_to_epsilon, keep_to_pk

    remedy: Any = plan.remedy
    limit = case.release.limits.epsilon
    if limit is None:
        raise LimitsNotMet("the release has no limit on epsilon, which is required for a randomised table")
    if treated.bill is None:
        raise LimitsNotMet("nothing was randomised")
    if treated.people is not None and _most_rows(treated.people) > remedy.rows_per_unit:
        raise LimitsNotMet(
            f"a person has more rows than the maximum of {remedy.rows_per_unit:,} that '{plan.name}' assumes, so its "
            "epsilon does not hold; set 'rows_per_unit'"
        )
    record: Any = treated.bill.guarantee.reached
    if plan.kind is RemedyKind.SYNTHETIC:
        epsilon, unchanged, domains = remedy.loss, (), remedy.labels
    else:
        record = Mechanism.read(record)
        epsilon, unchanged, domains = record.epsilon, record.unchanged, record.domains
    keep_to_epsilon(epsilon, limit, unchanged=unchanged)
    keep_to_pk(epsilon, len(treated.frame), case.release.limits.least_k)
    after = read_again(place, domains, draft)
    guarantee = remedy.guarantee(record, after)
    return Verification(
        rows=len(after),
        columns=tuple(map(str, after.columns)),
        question=guarantee.proof,
        reached=guarantee.reached,
        epsilon=None if epsilon is None else f"{epsilon:f}",
    )


def _most_rows(people: "pd.Series[Any]") -> int:
    """Return how many rows a person has at most; rows without a person are taken for one person's."""
    return int(people.value_counts(dropna=False).max()) if len(people) else 0
