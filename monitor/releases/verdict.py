"""Judge a table, or a file that was written, by the limits of a release: with checks, in an engine, on what is there.

What judges knows nothing of what treated: it counts groups in the file, by all quasi-identifiers that are in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Final

from checks import Check, ColumnClass, Json, Status
from checks.classes.tables import PersonColumn
from monitor.clock import Clock
from monitor.config import Release
from monitor.config.release_checks import release_checks
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.linkage import pseudonyms_in
from monitor.scan.results import CheckResult

if TYPE_CHECKING:
    import pandas as pd

    from monitor.releases.columns import ReleaseColumns
    from monitor.releases.disclosure.uniqueness import Uniqueness
    from monitor.releases.linkage import LinkedUnit, PersonLevelK


RISK_FIGURES: Final = (
    "highest_individual_risk",
    "expected_reidentifications",
    "highest_group_risk",
    "expected_reidentifications_in_groups",
)
"""What is reached by individual risks, as the check of population uniqueness observes it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks of a release found. `columns`: the quasi-identifiers that were grouped by."""

    columns: tuple[str, ...]
    results: Sequence[CheckResult]

    @property
    def broken(self) -> Sequence[CheckResult]:
        """Return the limits that are broken, and those that could not be evaluated."""
        return [result for result in self.results if result.outcome.status in {Status.FAIL, Status.UNKNOWN}]

    @property
    def holds(self) -> bool:
        """Check whether all limits were evaluated and met."""
        return bool(self.results) and not self.broken

    @property
    def why(self) -> str:
        """Describe what does not hold."""
        if not self.results:
            return "the release has no limit that applies to a table"
        return "; ".join(str(item.outcome.message) for item in self.broken)

    def observed(self, kind: str) -> Mapping[str, Any]:
        """Return what a check observed, by its type; nothing if it was not asked."""
        return next((result.outcome.observed for result in self.results if result.check.type == kind), {})

    def figures(self) -> Mapping[str, Json]:
        """Return what was reached, as plain data; None is what no limit asks for."""
        k, diverse, close = (self.observed(kind) for kind in ("k_anonymity", "l_diversity", "t_closeness"))
        unique = self.observed("population_uniqueness")
        return {
            "k": k.get("k"),
            "highest_risk": k.get("highest_risk"),
            "average_risk": k.get("average_risk"),
            "records_below_k": k.get("records_below_k"),
            "l": diverse.get("l_distinct"),
            "t": close.get("t"),
            "population_unique_fraction": _decided(unique),
            **({"population_unique_fraction_apart": apart} if (apart := _decided(unique, "model_apart")) else {}),
            **{word: unique[word] for word in RISK_FIGURES if word in unique},
        }


def judge(
    name: str,
    release: Release,
    place: TableRef,
    *,
    columns: Sequence[str],
    clock: Clock,
    linked_by: Sequence[str] = (),
) -> Verdict:
    """Judge a table by the limits of a release; `columns`: which columns it has.

    Whether columns are classified is not asked of a file: it has those that it was written with.

    `linked_by`: columns by which the rows of a person are compared together. A file by itself is judged without.
    """
    there = set(columns)
    of_file = {column: kind for column, kind in release.columns.items() if column in there}
    key = release.person_key if release.person_key in there - set(release.pseudonyms) else None
    update = {"columns": of_file, "person_key": key, "pseudonyms": tuple(linked_by)}
    lacks = [column for column in (release.weight, release.group_key) if column is not None and column not in there]
    release = release.model_copy(update=update)
    left_out = {"classification", *(["population_uniqueness"] if lacks else [])}  # these are judged beside the file
    checks = [check for check in release_checks(name, release) if check.type not in left_out]
    grouped = release.classified(ColumnClass.QUASI_IDENTIFIER)
    return Verdict(grouped, place.ask([_plain(check) for check in checks], clock) if checks else ())


def judge_people(
    case: "ReleaseColumns",
    frame: "pd.DataFrame",
    units: "Sequence[LinkedUnit]",
    clock: Clock,
    *,
    stands_for: "pd.DataFrame | None" = None,
) -> Sequence[Verdict]:
    """Judge treated rows by the limits of a release, counting the people whose rows they are.

    A file tells them only where pseudonyms leave, and need not have weights and groups, so the rows are written beside
    it with a number for each person, their weights and groups, and judged there.

    Args:
        case: the release.
        frame: the rows as they leave.
        units: whose each row is, in each way in which that is known.
        clock: the time.
        stands_for: the weight and the group of each row, where the release has one.
    """
    beside = [] if stands_for is None else list(stands_for.columns)
    wanted = [name for name in (*case.quasi, *case.sensitive) if name in frame.columns and name not in beside]
    if (not units and stands_for is None) or not len(frame) or not wanted:
        return ()
    verdicts = []
    rows = frame[wanted] if stands_for is None else frame[wanted].join(stands_for)
    with _beside(case, rows, units) as (place, names):
        wanted += beside
        if not units:
            verdicts.append(judge(case.name, case.release, place, columns=wanted, clock=clock))
        for unit, name in zip(units, names, strict=True):
            columns = {**case.release.columns, name: ColumnClass.DIRECT_IDENTIFIER}
            of_unit = {"columns": columns, "person_key": None if unit.apart else name, "pseudonyms": ()}
            release = case.release.model_copy(update=of_unit)
            linked_by = (name,) if pseudonyms_in(case, frame) else ()
            verdicts.append(judge(case.name, release, place, columns=[*wanted, name], clock=clock, linked_by=linked_by))
    return verdicts


@contextmanager
def _beside(
    case: "ReleaseColumns", rows: "pd.DataFrame", units: "Sequence[LinkedUnit]"
) -> "Iterator[tuple[TableRef, Sequence[str]]]":
    """Yield a table of rows with a number for each person by each unit, and the columns of these.

    It lies in a folder that only the owner can read.
    """
    import pandas as pd

    from monitor.releases.columns import one_of_each
    from monitor.releases.treatment.verify import WrittenFile
    from monitor.terminal.temp_folders import draft_folder

    table, names = one_of_each(rows, case.quasi).reset_index(drop=True), []
    for unit in units:
        name = str(unit.of_row.name)
        names.append(f"{name} (person)" if name in table.columns else name)
        table[names[-1]] = pd.Series(pd.factorize(unit.of_row)[0], dtype="Int64").replace(-1, pd.NA)
    with draft_folder(Path(gettempdir())) as folder:
        table.to_parquet(folder / "rows.parquet")
        yield WrittenFile().place(folder / "rows.parquet"), names


def people_singled_out(
    case: "ReleaseColumns", frame: "pd.DataFrame", columns: Sequence[str], units: "Sequence[LinkedUnit]"
) -> "Uniqueness | None":
    """Count which people some columns of treated rows identify; None where no column says whose a row is.

    Where several do, by the one by which columns called `other` identify the largest share.
    """
    from monitor.releases.disclosure.uniqueness import find_uniqueness

    if not units:
        return None
    wanted = [name for name in dict.fromkeys((*case.quasi, *columns)) if name in frame.columns]
    judged = case.release.classified(ColumnClass.OTHER)
    with _beside(case, frame[wanted], units) as (place, names):
        is_linked = bool(pseudonyms_in(case, frame))
        people = [PersonColumn(name, unit.apart, is_linked) for unit, name in zip(units, names, strict=True)]
        return find_uniqueness(place, columns, case.quasi, *people, judged=judged)


def counted_figures(verdict: Verdict, of_people: Sequence[Verdict], crowd: "PersonLevelK | None") -> Mapping[str, Json]:
    """Return what was reached: in people where they were counted, and what the file alone shows (`of_file`)."""
    rows = verdict.figures()
    if not of_people:
        return {**rows, "of_file": None}
    every: list[Mapping[str, Any]] = [rows, *(item.figures() for item in of_people)]
    figures: dict[str, Any] = {}
    for name in dict.fromkeys(name for item in every for name in item):
        present = [item[name] for item in every if item.get(name) is not None]
        figures[name] = (min if name in {"k", "l"} else max)(present, default=None)
    if crowd is not None and crowd.least is not None and figures["k"] is not None:
        figures["k"] = min(figures["k"], crowd.least)
        figures["highest_risk"] = 1 / figures["k"]
    return {**figures, "of_file": None if crowd is None else rows}


def _plain(check: Check) -> Check:
    """Leave out what a check measures beside its limit."""
    fields: Any = getattr(type(check), "model_fields", {})
    copy: Any = check
    current_check: Check = copy.model_copy(update={"other_readings": False}) if "other_readings" in fields else check
    return current_check


def _decided(unique: Mapping[str, Any], word: str = "decision") -> Json:
    """Return the share of the population that an estimate says is unique: the one decided for, or one far from it."""
    model = unique.get(word)
    result = unique.get(model) if isinstance(model, str) else None
    share: Json = result.get("fraction_of_population") if isinstance(result, Mapping) else None
    return share
