"""Render a comparison of remedies to one HTML file: side by side, and as a plot of risk against what is lost."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checks import Message
from monitor.releases.columns import ReleaseColumns
from monitor.releases.compare import ANSWERS, CRASHED, HOLDS, NOT_TRIED, REFUSED, ReleaseComparison, RemedyTrial
from monitor.releases.plan import AS_IT_IS, RemedyKind
from monitor.reporting.render import page
from monitor.reporting.risk_plot import PlottedRemedy, RiskPlot, risk_plot
from monitor.terminal.localizer import Localizer

STATUSES: Final[Mapping[str, Message]] = {
    HOLDS: Message("meets every limit"),
    REFUSED: Message("rejected"),
    NOT_TRIED: Message("not tried"),
    CRASHED: Message("crashed"),
}
SHAPES: Final[Mapping[str, str]] = {HOLDS: "●", REFUSED: "○", NOT_TRIED: "\N{EN DASH}", CRASHED: "✕"}


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A way, by its number on the page."""

    number: int
    tried: RemedyTrial
    best: bool

    @property
    def status(self) -> Message:
        """Return the outcome as a message."""
        return STATUSES[self.tried.status]

    @property
    def shape(self) -> str:
        """Return a sign that needs no colour."""
        return SHAPES[self.tried.status]

    @property
    def is_synthetic(self) -> bool:
        """Check whether its rows are drawn from noisy counts."""
        return self.tried.kind == RemedyKind.SYNTHETIC.value

    @property
    def lost(self) -> float | None:
        """Return the mean share of information that is lost, 0 to 1."""
        value = self.tried.mean_loss
        return None if value is None else value / 100

    def reached(self, name: str) -> Any:
        """Return a figure that was found in the output; the weakest where there is one for each column."""
        result: Any = self.tried.reached.get(name)
        if isinstance(result, Mapping):
            weakest = max if name == "t" else min
            return weakest(result.values(), default=None)
        return result


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one figure of an analysis: a share, the text `infinite`, or None."""

    number: int
    remedy: str
    analysis: str
    figure: str | None
    mean: float | str | None
    largest: float | str | None
    lines: int
    failure: str | None


def comparison_html(
    case: ReleaseColumns,
    release_comparison: ReleaseComparison,
    localizer: Localizer,
    *,
    project: str,
    as_of: datetime,
    redact: Callable[[str], str] = str,
) -> str:
    """Return one self-contained page: no script, nothing fetched."""
    lines = [
        ComparisonLine(number, item, item.name == release_comparison.recommended)
        for number, item in enumerate(release_comparison.tried, start=1)
    ]
    tables = [line for line in lines if line.tried.kind == RemedyKind.TABLE.value]
    return page(
        "comparison",
        localizer,
        redact=redact,
        project=project,
        as_of=as_of,
        case=case,
        found=release_comparison,
        lines=lines,
        tables=tables,
        randomised=[line for line in lines if line.tried.kind == RemedyKind.RANDOMISED.value or line.is_synthetic],
        answers=[line for line in lines if line.tried.status == ANSWERS],
        plot=plot_of(tables, case.release.limits.least_k),
        best=next((line for line in lines if line.best), None),
        columns=list(dict.fromkeys(name for line in lines for name in line.tried.lost)),
        losing=[line for line in lines if line.tried.lost],
        changes=(changes := list(_changes(lines))),
        ranged=[
            item
            for item in changes
            if not isinstance(item.mean, str | None) and not isinstance(item.largest, str | None)
        ],
        figures=[line.tried.figures for line in lines if line.tried.figures is not None],
        as_it_is=AS_IT_IS,
    )


def plot_of(tables: Sequence[ComparisonLine], least_k: int | None) -> RiskPlot | None:
    """Return the plot of remedies with a known risk and loss; None without any. Randomised tables have no such risk."""
    ways = [
        PlottedRemedy(table.number, table.tried.name, float(risk), table.lost, table.tried.status == HOLDS, table.best)
        for table in tables
        if (risk := table.tried.reached.get("highest_risk"))
        and isinstance(risk, int | float)
        and table.lost is not None
    ]
    return risk_plot(ways, None if least_k is None else 1 / least_k) if ways else None


def _changes(lines: Sequence[ComparisonLine]) -> Iterator[Change]:
    for line in lines:
        for analysis, text in line.tried.changes.items():
            entry: Any = text
            head = (line.number, line.tried.name, analysis)
            change = entry["change"]
            if change is None:
                yield Change(*head, None, None, None, 0, entry["failure"])
                continue
            moved = change["vanished"] + change["appeared"]
            for figure, item in change["figures"].items():
                yield Change(*head, figure, item["mean"], item["largest"], moved, None)
            if not change["figures"]:
                yield Change(*head, None, None, None, moved, None)
