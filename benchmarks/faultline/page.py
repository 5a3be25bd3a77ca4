"""The tables of the benchmark: contestants, kinds of faults, histories."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from benchmarks._measure import table
from benchmarks.faultline.faults import RUNS, Injection, kinds
from benchmarks.faultline.histories import DAY, HOUR, WEEK, RealHistory
from benchmarks.faultline.scores import PRICE, Estimate, Outcomes, by_history, missed_hours, share, weeks

_OURS: Final = "tablewatch"
_HAND: Final = "tablewatch, by hand"
_FIRST: Final = "tablewatch, `init` alone"


@dataclass(frozen=True)
class Results:
    """What all contestants made of all histories: `outcomes` by contestant and history."""

    histories: Sequence[RealHistory]
    injections: Sequence[Injection]
    outcomes: Mapping[str, Mapping[str, Outcomes]]
    absent: Sequence[str] = ()
    load: tuple[float, float] = (0.0, 0.0)
    versions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, RealHistory]:
        """Return the histories by name."""
        return {history.name: history for history in self.histories}

    def found(self, contestant: str) -> Mapping[int, int | None]:
        """Return at which run each injection was found."""
        return {seed: run for each in self.outcomes[contestant].values() for seed, run in each.found.items()}

    def share(self, contestant: str, kind: str | None = None, *, judged_by: str | None = None) -> Estimate:
        """Return the share found, of all or of one kind; of what another contestant judged too, if so."""
        kept = {each.seed for each in self.injections if kind in {None, each.kind}}
        kept &= {*self.found(judged_by or contestant)}
        runs = [run for seed, run in self.found(contestant).items() if seed in kept]
        return share(sum(run is not None for run in runs), len(runs))

    def hours(self, contestant: str) -> Estimate:
        """Return the hours that a fault is not known, on average."""
        hours: dict[str, list[float]] = {}
        found = self.found(contestant)
        for each in self.injections:
            if each.seed in found:
                missed = missed_hours(self.by_name[each.history], each, found[each.seed])
                hours.setdefault(each.history, []).append(missed)

        def mean(names: Sequence[str]) -> float:
            every = [hour for name in names for hour in hours[name]]
            return sum(every) / len(every)

        return by_history(list(hours), mean)

    def false_alarms(self, contestant: str) -> Estimate:
        """Return how many checks began to fail on clean states in a week of a table."""
        outcomes = self.outcomes[contestant]

        def rate(names: Sequence[str]) -> float:
            return sum(outcomes[name].episodes / weeks(self.by_name[name], outcomes[name]) for name in names) / len(
                names
            )

        return by_history(list(outcomes), rate)

    def time_to_detection(self, contestant: str) -> str:
        """Return the hours and runs from the load to the run that finds, of what is found, on average."""
        runs = self.found(contestant)
        found = [(each, run) for each in self.injections if (run := runs.get(each.seed)) is not None]
        if not found:
            return "-"
        hours = [missed_hours(self.by_name[each.history], each, run) for each, run in found]
        return f"{sum(hours) / len(found):.1f} h, run {sum(run for _, run in found) / len(found):.2f}"


def tables(results: Results) -> str:
    """Return the tables as Markdown."""
    return "\n\n".join((contestants(results), by_kind(results), by_history_table(results)))


def contestants(results: Results) -> str:
    """Return the table of contestants."""
    head = (
        "contestant",
        "histories",
        "injections",
        "found, %",
        "of the same, ours by hand, %",
        "time to detection, if found",
        "false alarms a week and table",
        "hours unknown",
        f"cost at {PRICE} an hour",
        "lines",
        "cpu s a state",
    )
    rows = []
    for name, outcomes in results.outcomes.items():
        hours, states = results.hours(name), sum(each.states for each in outcomes.values())
        lines = sorted(each.lines for each in outcomes.values())
        rows.append(
            (
                name,
                len(outcomes),
                len(results.found(name)),
                results.share(name).text(),
                results.share(_HAND, judged_by=name).text() if _HAND in results.outcomes else "-",
                results.time_to_detection(name),
                results.false_alarms(name).text(2),
                hours.text(),
                f"{hours.value * PRICE:,.0f}",
                f"{lines[0]} to {lines[-1]}",
                f"{sum(each.cpu for each in outcomes.values()) / max(1, states):.3f}",
            )
        )
    return table(head, rows)


def by_kind(results: Results) -> str:
    """Return the share found of each kind, in percent."""
    rows = [
        (kind, *(_plain(results.share(name, kind), results, name, kind) for name in results.outcomes))
        for kind in kinds()
        if any(each.kind == kind for each in results.injections)
    ]
    return table(("kind of fault", *results.outcomes), rows)


def _plain(estimate: Estimate, results: Results, name: str, kind: str) -> str:
    seeds = {each.seed for each in results.injections if each.kind == kind}
    return f"{estimate.value:.0f} ({estimate.low:.0f}-{estimate.high:.0f})" if seeds & {*results.found(name)} else "-"


def by_history_table(results: Results) -> str:
    """Return the share found on each history, and the checks that began to fail on clean states."""
    rows = []
    for history in results.histories:
        if not any(history.name in outcomes for outcomes in results.outcomes.values()):
            continue
        cells = []
        for outcomes in results.outcomes.values():
            each = outcomes.get(history.name)
            if each is None or not each.found:
                cells.append("-")
                continue
            hits = sum(run is not None for run in each.found.values())
            cells.append(f"{share(hits, len(each.found)).value:.0f} / {each.episodes}")
        rows.append((history.name, *cells))
    return table(("history: found, % / false alarms", *results.outcomes), rows)


def losses(results: Results) -> str:
    """Return the kinds of which another tool finds more than ours: by hand than by hand, at first than `init`."""
    rows = []
    for mine, other in _pairs(results):
        common = {*results.found(mine)} & {*results.found(other)}
        for kind in kinds():
            seeds = [each.seed for each in results.injections if each.kind == kind and each.seed in common]
            hits = [sum(results.found(name)[seed] is not None for seed in seeds) for name in (mine, other)]
            if hits[1] > hits[0]:
                rows.append((kind, mine, f"{hits[0]} of {len(seeds)}", other, f"{hits[1]} of {len(seeds)}"))
    if not rows:
        return "No tool finds more of any kind."
    return table(("kind of fault", "ours", "found", "other tool", "found"), rows)


def prices(results: Results) -> str:
    """Return the figures in which another tool is better than ours, on the histories that both judged."""
    rows = []
    for mine, other in _pairs(results):
        names = [name for name in results.outcomes[mine] if name in results.outcomes[other]]
        for what, figure in _FIGURES.items():
            ours, theirs = (
                sum(figure(results.by_name[name], results.outcomes[contestant][name]) for name in names) / len(names)
                for contestant in (mine, other)
            )
            if theirs < ours:
                rows.append((what, mine, f"{ours:.2f}", other, f"{theirs:.2f}"))
    if not rows:
        return "No tool has fewer false alarms, takes less time or needs fewer lines."
    return table(("mean over histories", "ours", "", "other tool", ""), rows)


def _pairs(results: Results) -> Iterator[tuple[str, str]]:
    """Yield ours and another contestant that are alike and judged a history both: by hand, or a first configuration."""
    for mine in (_HAND, _FIRST):
        for other in results.outcomes:
            alike = other.endswith("by hand") is (mine == _HAND) and not other.startswith(_OURS)
            if alike and mine in results.outcomes and {*results.outcomes[mine]} & {*results.outcomes[other]}:
                yield mine, other


def page(results: Results) -> str:
    """Return the page."""
    done = datetime.now(UTC).date().isoformat()
    counts = sorted({len(results.found(name)) for name in results.outcomes if name.startswith(_OURS)})
    of_peers = sorted({len(results.found(name)) for name in results.outcomes if not name.startswith(_OURS)}) or [0]
    versions = ", ".join(f"{name} {number}" for name, number in results.versions.items())
    absent = " ".join(f"{ABSENT[name]}" for name in [*results.absent, *ABSENT] if name in ABSENT)
    missing = f"No environment was there for: {', '.join(results.absent)}. " if results.absent else ""
    histories = [
        (
            each.name,
            SOURCES[each.name.partition("_")[0]],
            _period(each),
            f"{_rows(each):,}",
            each.warm,
            each.runs - each.warm,
        )
        for each in results.histories
    ]
    definitions = [(f"{name}", kind.text) for name, kind in kinds().items()]
    return _PAGE.read_text(encoding="utf-8").format(
        date=done,
        drawn=f"{len(results.injections):,}",
        injections=f"{counts[-1]:,}",
        peers=f"{of_peers[-1]:,}",
        versions=versions,
        load=f"{results.load[0]:.0f} to {results.load[1]:.0f}",
        losses=losses(results),
        prices=prices(results),
        contestants=contestants(results),
        kinds=by_kind(results),
        by_history=by_history_table(results),
        absent=missing + absent,
        histories=table(("history", "what", "a load is", "rows", "runs to learn from", "runs with faults"), histories),
        definitions=table(("kind", "what is injected"), definitions),
        runs=RUNS,
        price=PRICE,
    )


def _period(history: RealHistory) -> str:
    return {HOUR: "an hour", DAY: "a day", WEEK: "a week"}[history.period]


def _rows(history: RealHistory) -> int:
    (count,) = history.connection.execute("SELECT count(*) FROM rows").fetchone() or (0,)
    return int(count)


_FIGURES: Final[Mapping[str, Callable[[RealHistory, Outcomes], float]]] = {
    "false alarms a week": lambda history, outcomes: outcomes.episodes / weeks(history, outcomes),
    "cpu s a state": lambda _, outcomes: outcomes.cpu / max(1, outcomes.states),
    "lines": lambda _, outcomes: float(outcomes.lines),
}
SOURCES: Final = {
    "taxi": "passengers of taxis in New York each half hour (NAB)",
    "ec2": "a metric of a virtual machine every five minutes (NAB)",
    "rds": "a metric of a database server every five minutes (NAB)",
    "weather": "hourly weather at three airports (nycflights13)",
    "chinook": "lines of the invoices of a shop (Chinook)",
    "sakila": "rentals of films (Sakila)",
    "beers": "beers (Raha), in the order of the file",
    "flights": "times of flights from several web sites (Raha), in the order of the file",
}
ABSENT: Final = {
    "elementary": "Elementary's tests are a package of dbt's hub, which was not reached from here.",
    "dqx": "DQX was not measured: it is made for Spark in a workspace of Databricks.",
}
_PAGE: Final = Path(__file__).with_name("page.md")
