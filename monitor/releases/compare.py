"""Try every way to treat a release on its own table, side by side, and say which one loses least.

Each way is tried in a worker process, on the same copy of the columns that may leave. Nothing is given out, nothing
is charged to a budget: of noisy answers the error is known without asking.

What is compared is the protected table itself, with outputs that an attacker may hold: from an exact difference of two
sums the value of a record that was left out follows. So figures are rounded before they are shown
(`RemedyTrial.coarse`), and all of it is for the steward of the table.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import mean
from tempfile import gettempdir
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

from checks import Json, Message
from checks.gx.caller import Raised
from monitor.clock import SystemClock
from monitor.releases.columns import ReleaseColumns, read_columns
from monitor.releases.plan import AS_IT_IS, RemedyKind, RemedyNotUsable, TreatmentPlan
from monitor.releases.reproduce import command_for
from monitor.releases.treatment.verify import WrittenFile
from monitor.releases.utility_figures import ComparedTables, UtilityFigures, utility_figures
from monitor.terminal.problem import Stop
from monitor.terminal.temp_folders import draft_folder
from monitor.workers import CallFailed, call_each
from remedies.differential_privacy.answers import CategoryColumn
from remedies.generalisation.keyed_order import keyed_places
from sources import require_extra
from store import StoredComparison

if TYPE_CHECKING:
    from remedies.synthesise import Synthesise

HOLDS: Final = "holds"
REFUSED: Final = "refused"
NOT_TRIED: Final = "not-tried"
ANSWERS: Final = "answers"
CRASHED: Final = "crashed"
LABEL: Final = "computed from the protected table, not a privacy-preserving release"
_DIGITS: Final = 2
_STEPS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The shares to which the change of an analysis is rounded; nearer to 0 it is 0, and beyond the last one the last."""
_STORED: Final = (
    "remedy",
    "kind",
    "status",
    "why",
    "reached",
    "epsilon",
    "records",
    "suppressed",
    "mean_information_lost",
    "seconds",
)
"""What the store keeps of each way."""
_PRELOAD: Final = (
    "monitor.releases.compare",
    "monitor.releases.treat",
    "monitor.releases.treatment.analysis",
    "numba",
    "remedies.code",
    "remedies.generalise",
    "remedies.microaggregate",
    "remedies.randomise",
    "remedies.suppress",
    "remedies.synthesise",
)
"""What trying a remedy needs: imported once, in the process that those who try are forked from."""
MOST_LOST: Final = 80.0
"""Mean information loss, in per cent, from which on a remedy is not recommended."""
MOST_ROWS: Final = 2_000_000
"""A larger table is compared by a sample of so many rows, by default."""


@dataclass(frozen=True, slots=True)
class RemedyTrial:
    """What came of one way.

    `status`: `holds`, `refused`, `not-tried` or `crashed` (with `why`), or `answers`, which has no records.

    `reached`: what was found in the output, by name, also where it is refused; of a randomised table `epsilon` instead.
    `lost`: by column, in per cent. `changes`: by analysis, how far its result moved (`median`, of all its cells), or
    why it cannot be asked. `membership`: of a synthetic table, how well an attack tells its rows from others.
    """

    name: str
    kind: str
    status: str
    why: str | None = None
    reached: Mapping[str, Json] = field(default_factory=dict)
    epsilon: str | None = None
    records: int | None = None
    suppressed: int | None = None
    lost: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, Json] = field(default_factory=dict)
    noise: Sequence[Json] = ()
    seconds: float | None = None
    command: str | None = None
    uniqueness: Json = None
    membership: Mapping[str, Json] | None = None
    warnings: Sequence[str] = ()
    figures: UtilityFigures | None = None

    @property
    def mean_loss(self) -> float | None:
        """Return the mean of what the columns lose, in per cent, suppressed records included."""
        if self.lost:
            return mean(self.lost.values())
        return 0.0 if self.status == HOLDS or self.name == AS_IT_IS else None

    def coarse(self) -> "RemedyTrial":
        """Return it with figures that are rounded so far that no record can be computed from their differences.

        What is lost: to whole per cents. How far analyses moved: to the nearest of `_STEPS`. Figures of the output that
        are no whole numbers: to two significant digits.
        """
        lost = {name: float(round(item)) for name, item in self.lost.items()}
        reached = {name: _few_digits(item) for name, item in self.reached.items()}
        changes = {name: _coarse_change(change) for name, change in self.changes.items()}
        return replace(self, lost=lost, reached=reached, changes=changes)

    @property
    def attack(self) -> Message | None:
        """Return what the attack found, as a sentence; None where there was none."""
        if self.membership is None:
            return None
        from remedies.differential_privacy.membership import described

        return described(self.membership)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "remedy": self.name,
            "kind": self.kind,
            "status": self.status,
            "why": self.why,
            "reached": dict(self.reached),
            "epsilon": self.epsilon,
            "records": self.records,
            "suppressed": self.suppressed,
            "information_lost": dict(self.lost),
            "mean_information_lost": self.mean_loss,
            "analyses": dict(self.changes),
            "noise": list(self.noise),
            "seconds": self.seconds,
            "command": self.command,
            "uniqueness": self.uniqueness,
            "membership": self.membership,
            "figures": None if self.figures is None else self.figures.plain(),
        }


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """All ways, in the order of the release. `recommended`: the one that loses least, with the reason.

    `rows`: those that were tried; `rows_of_table`: more, where these are a random sample of them.
    """

    rows: int
    rows_of_table: int
    tried: Sequence[RemedyTrial]
    recommended: str | None
    reason: str

    @property
    def figures(self) -> UtilityFigures | None:
        """Return the figures of the recommended remedy, else of the first that holds all limits."""
        found = [item.figures for item in self.tried if item.figures is not None]
        chosen = (item for item in found if item.remedy == self.recommended)
        return next(chosen, next(iter(found), None))

    def typed(self, as_typed: Callable[[str], str]) -> "ReleaseComparison":
        """Return it with each command as it is typed on the surface that shows it."""
        tried = [item if item.command is None else replace(item, command=as_typed(item.command)) for item in self.tried]
        return replace(self, tried=tried)

    def to_store(self, case: ReleaseColumns, now: datetime) -> StoredComparison:
        """Return what the store keeps of it: rounded figures, without commands, noise and analyses."""
        limits = case.release.limits.model_dump(mode="json", exclude_none=True)
        body: dict[str, Json] = {
            "rows": self.rows,
            "rows_of_table": self.rows_of_table,
            "limits": limits,
            "least_k": case.release.limits.least_k,
            "remedies": [{name: item.as_json()[name] for name in _STORED} for item in self.tried],
            "recommended": self.recommended,
            "reason": self.reason,
            "figures": None if self.figures is None else self.figures.plain(),
        }
        return StoredComparison(case.name, case.digest, body, now)


def compare(
    case: ReleaseColumns,
    plans: Sequence[TreatmentPlan | RemedyNotUsable],
    *,
    done: Callable[[], None],
    sample: int | None = None,
) -> ReleaseComparison:
    """Try all plans. `done`: is called after each.

    `sample`: of a larger table, so many rows drawn at random are tried; by default `MOST_ROWS`. That is for choosing
    only: groups are smaller in a sample, so that more is treated than in the whole table; but combinations of values
    that are rare there may be missing here. What an export holds is proved on all of it.

    Raises:
        Stop: the table cannot be read.
        MissingExtra: a remedy cannot be tried, so that no choice among all would be one.
    """
    if any(plan.kind is RemedyKind.TABLE and plan.name != AS_IT_IS for plan in _tables(plans)):
        require_extra("numba")
    remedy_trials: dict[str, RemedyTrial] = {}
    most = MOST_ROWS if sample is None else sample
    with draft_folder(Path(gettempdir())) as folder:
        rows = _copy(case, plans, folder, most)
        for plan in plans:
            if isinstance(plan, RemedyNotUsable):
                remedy_trials[plan.name] = RemedyTrial(plan.name, RemedyKind.TABLE.value, NOT_TRIED, plan.why)
                done()
            elif plan.kind is RemedyKind.ANSWERS:
                remedy_trials[plan.name] = _answered(case, plan)
                done()
        tables = _tables(plans)
        workers = max(1, min(os.cpu_count() or 1, len(tables)))
        pieces = [(case.alone(), plan, folder, _declared(case)) for plan in tables]
        with closing(call_each(_try, pieces, workers=workers, preload=_PRELOAD)) as ended:
            for place, answer in ended:
                plan = tables[place]
                remedy_trials[plan.name] = answer if isinstance(answer, RemedyTrial) else _crashed(plan, answer)
                done()
    tried = [remedy_trials[plan.name] for plan in plans]
    recommended, reason = _recommended(tried, sampled=rows > most)  # by exact figures
    if recommended is None:
        reason += _hierarchies_to_add(case)
    return ReleaseComparison(
        min(rows, most), rows, [remedy_trial.coarse() for remedy_trial in tried], recommended, reason
    )


def _crashed(plan: TreatmentPlan, answer: CallFailed | Raised) -> RemedyTrial:
    if isinstance(answer, CallFailed):
        why = f"its process ended without an answer ({answer.cause}); the machine may have run out of memory"
    else:
        why = f"internal error ({answer.classes[0]}); please report it"
    return RemedyTrial(plan.name, plan.kind.value, CRASHED, why)


def _few_digits(figure: Any) -> Any:
    """Round what is no whole number; also within the figures of each column."""
    if isinstance(figure, Mapping):
        return {name: _few_digits(item) for name, item in figure.items()}
    return float(f"{figure:.{_DIGITS}g}") if isinstance(figure, float) else figure


def _coarse_change(change: Any) -> Any:
    result = change["change"]
    if result is None:
        return change
    figures = {
        name: {**item, "mean": _step(item["mean"]), "largest": _step(item["largest"])}
        for name, item in result["figures"].items()
    }
    return {**change, "change": {**result, "figures": figures}}


def _step(share: Any) -> Any:
    """Round a relative change to the nearest step; None and `infinite` stay."""
    if not isinstance(share, int | float):
        return share
    return min((0.0, *_STEPS), key=lambda step: abs(step - share))


def _copy(case: ReleaseColumns, plans: Sequence[TreatmentPlan | RemedyNotUsable], folder: Path, most: int) -> int:
    """Copy the columns that may leave, once for all who try; return how many rows the table has."""
    columns = tuple(dict.fromkeys(column for plan in _tables(plans) for column in plan.columns))
    frame = read_columns(case, columns)
    chosen = frame
    if len(frame) > most:  # the same rows each time: many draws would show what the rounding of figures hides
        chosen = frame.iloc[keyed_places(len(frame), case.hiding_key)[:most]].reset_index(drop=True)
    chosen.to_parquet(folder / "data.parquet")
    return len(frame)


def _tables(plans: Sequence[TreatmentPlan | RemedyNotUsable]) -> Sequence[TreatmentPlan]:
    return [plan for plan in plans if isinstance(plan, TreatmentPlan) and plan.kind is not RemedyKind.ANSWERS]


def _try(
    case: ReleaseColumns, plan: TreatmentPlan, folder: Path, declared: Mapping[str, frozenset[str]]
) -> RemedyTrial:
    """Treat the table one way, in a worker, and prove what came out."""
    import pandas as pd

    from monitor.releases.treat import LimitsNotMet, treat, verify_release, write_treated
    from monitor.terminal.process_hardening import harden_process
    from remedies import Misfit, Refused

    harden_process()
    begun = perf_counter()
    frame = pd.read_parquet(folder / "data.parquet", dtype_backend="pyarrow")
    own = folder / plan.name
    own.mkdir()
    draft = own / "output.parquet"
    treated = None
    try:
        treated = treat(case, plan, frame)
        written = write_treated(case, plan, treated, draft)
        proof = verify_release(case, plan, treated, draft, written, SystemClock())
    except Misfit as error:
        return RemedyTrial(plan.name, plan.kind.value, NOT_TRIED, str(error), seconds=perf_counter() - begun)
    except (Refused, Stop) as error:
        text = "; ".join(problem.message for problem in error.problems) if isinstance(error, Stop) else str(error)
        results = error.reached if isinstance(error, LimitsNotMet) else {}
        return _row(case, plan, treated, perf_counter() - begun, status=REFUSED, why=text, reached=results)
    reached = {} if plan.has_mechanism else proof.reached
    return _row(
        case,
        plan,
        treated,
        perf_counter() - begun,
        reached=reached,
        epsilon=proof.epsilon,
        uniqueness=None if proof.uniqueness is None else proof.uniqueness.as_json(),
        warnings=() if proof.uniqueness is None else tuple(proof.uniqueness.warnings()),
        changes=_changes(case, folder / "data.parquet", draft, written),
        membership=_attacked(plan, frame),
        figures=utility_figures(ComparedTables(case, plan, treated, frame, declared)),
    )


def _attacked(plan: TreatmentPlan, frame: Any) -> Mapping[str, Json] | None:
    if plan.kind is not RemedyKind.SYNTHETIC or plan.remedy is None:
        return None
    attack = cast("Synthesise", plan.remedy).attack(frame)
    return None if attack is None else attack.as_json()


def _declared(case: ReleaseColumns) -> Mapping[str, frozenset[str]]:
    """Return, by column, the values that the table's budget lists."""
    budget = case.project.config.budgets.get(case.release.table)
    domain = {} if budget is None else budget.domain
    return {name: frozenset(map(str, item.values)) for name, item in domain.items() if isinstance(item, CategoryColumn)}


def _row(
    case: ReleaseColumns, plan: TreatmentPlan, treated: Any, seconds: float, *, status: str = HOLDS, **text: Any
) -> RemedyTrial:
    if treated is None:
        return RemedyTrial(plan.name, plan.kind.value, status, seconds=seconds, **text)
    return RemedyTrial(
        plan.name,
        plan.kind.value,
        status,
        records=len(treated.frame),
        suppressed=treated.suppressed,
        lost=treated.lost,
        seconds=seconds,
        command=command_for(case, plan, treated.bill),
        **text,
    )


def _changes(case: ReleaseColumns, before: Path, after: Path, written: WrittenFile) -> Mapping[str, Json]:
    """Run the audience's queries on both tables."""
    from monitor.releases.treatment.analysis import Analysis

    values: dict[str, Json] = {}
    for name, query in case.release.analyses.items():
        try:
            compared = Analysis(query).compared(WrittenFile().place(before))
        except Stop as error:
            values[name] = {"failure": "; ".join(problem.message for problem in error.problems), "change": None}
            continue
        compared(written.place(after))
        values[name] = compared.as_json()
    return values


def _answered(case: ReleaseColumns, plan: TreatmentPlan) -> RemedyTrial:
    """Return how noisy the answers would be; that does not depend on the table."""
    budget = case.project.config.budgets[case.release.table]
    statistic = plan.statistic
    if statistic is None:
        return RemedyTrial(plan.name, plan.kind.value, NOT_TRIED, "no statistic is named")
    price = statistic.epsilon if statistic.epsilon is not None else statistic.rho
    noise = [dict(noise.as_json()) for noise in statistic.noises(budget.terms)]
    return RemedyTrial(plan.name, plan.kind.value, ANSWERS, epsilon=f"{price:f}", noise=noise)


def _hierarchies_to_add(case: ReleaseColumns) -> str:
    """Name the quasi-identifiers without a hierarchy, with the YAML that declares one; nothing where all have one."""
    from monitor.releases.disclosure.hierarchy_proposals import hierarchy_lines, propose_hierarchies

    inline = [recipe.settings.get("hierarchies") for recipe in case.release.remedies]
    if any(isinstance(item, str) for item in inline):  # a folder of files
        return ""
    declared = {*case.release.hierarchies, *(name for item in inline if item for name in item)}
    lacking = [name for name in case.quasi if name not in declared]
    if not lacking:
        return ""
    lines = hierarchy_lines(propose_hierarchies(case.place, lacking))
    return (
        f". Without a hierarchy: {', '.join(lacking)}; begin with 'hierarchies: {{{', '.join(lines)}}}' in the release"
    )


def _recommended(tried: Sequence[RemedyTrial], *, sampled: bool) -> tuple[str | None, str]:
    """Choose among the tables that hold every limit; of a sample, nothing is said of the whole table."""
    holding = [
        remedy_trial
        for remedy_trial in tried
        if remedy_trial.status == HOLDS and remedy_trial.kind == RemedyKind.TABLE.value
    ]
    if not holding:
        return None, "no remedy meets every limit; allow suppression, declare hierarchies, or relax the limits"
    as_it_is = next((remedy_trial for remedy_trial in holding if remedy_trial.name == AS_IT_IS), None)
    if as_it_is is not None:
        return AS_IT_IS, f"the {'sample' if sampled else 'table'} meets every limit untreated"
    best = min(holding, key=lambda remedy_trial: (remedy_trial.mean_loss or 0.0, remedy_trial.suppressed or 0))
    if (best.mean_loss or 0.0) >= MOST_LOST:
        least = f"the least that a remedy loses is {best.mean_loss or 0.0:.0f} % on average"
        hint = "declare hierarchies, relax the limits, or export fewer columns"
        return None, f"{least}, and what loses {MOST_LOST:.0f} % or more is not recommended; {hint}"
    reason = (
        f"lowest information loss of {len(holding)} that meet every limit: {best.mean_loss or 0.0:.0f} % on average"
    )
    return best.name, reason if len(holding) > 1 else "the only one that meets every limit"
