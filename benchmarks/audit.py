"""Promises on histories of which the truth is known: how often each kind of statement came true.

python -m benchmarks audit [SCALE]    SCALE multiplies the number of trials, 1 by default

Seeds begin at `FIRST`, far above those of all other benchmarks, which were used while the statements were made. Real
data is that of `../shared/data`. What was seen while a statement was made is named so. The score is that of the command
`tablewatch audit` (`incidents.promise_score`).
"""

import csv
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

import tablewatch
from benchmarks._causal_mesh import Case
from benchmarks._measure import table
from benchmarks.faultline.faults import Injection, draw, write_state
from benchmarks.faultline.histories import RealHistory, read_histories
from benchmarks.faultline.knowledge import learn_by_hand
from benchmarks.faultline.ours import HistoryClock, WatchedTables, by_hand_text
from benchmarks.learned_limits import DAY, NOISES, RULE, START, WARM_UP, WINDOW, ZONE, Series
from benchmarks.root_causes import KINDS, place_of
from checks import OccurrenceMethod
from checks.limits import LearnedLimit, LimitRule, TimedValue, learn_limit
from checks.sampling.verdict import blocks_interval, rows_interval
from incidents import FoundBy, LevelVerdict, to_us
from incidents.promise_score import Bound, StatementCount, StatementEvidence, StatementScore
from remedies.differential_privacy import Accounting
from remedies.differential_privacy.answers import STATISTICS, Declared, Quantile, Terms

FIRST: Final = 1_000_000
"""The first seed. Other benchmarks have seeds below 100,000."""
DATA: Final = Path(__file__).parents[2] / "shared" / "data"
JUDGED: Final = 90
SERIES: Final = 40
CASES: Final = 120
INJECTIONS: Final = 240
INJECTED: Final = ("taxi_by_day", "weather_by_day", "chinook_by_week", "sakila_by_day", "beers_by_batch")
SAMPLES: Final = 4_000
DRAWS: Final = 4_000
CONFIDENCE: Final = 0.99
SUBSETS: Final = 5
HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A kind of statement on one kind of history; `unit` is that of the widths, `seen` names data seen before."""

    statement: str
    history: str
    bound: Bound | None
    evidence: StatementEvidence
    unit: str = ""

    def cells(self) -> Sequence[object]:
        """Return it as cells of a table."""
        score, promised = StatementScore.of(self.evidence.counts), self.evidence.promised
        verdict = score.verdict(self.bound, promised)
        interval = (
            "-" if score.low is None or score.high is None else f"{100 * score.low:.3g} to {100 * score.high:.3g}"
        )
        width = f"{median(self.evidence.widths):.3g} {self.unit}" if self.evidence.widths else "-"
        return (
            self.statement,
            self.history,
            "-" if promised is None or self.bound is None else f"{self.bound.value} {100 * promised:.3g}",
            f"{score.true:,} of {score.made:,}",
            interval,
            "-" if score.dispersion is None else f"{score.dispersion:.2g} ({score.groups})",
            width,
            {None: "-", LevelVerdict.UNKNOWN: "not known"}.get(verdict, str(verdict)),
        )


def main() -> None:
    """Print the table."""
    words = sys.argv[2:] if sys.argv[1:2] == ["audit"] else sys.argv[1:]
    scale = float(words[0]) if words else 1.0
    before = os.getloadavg()[0]
    jobs = [partial(maker, scale) for maker in (*MAKERS, *(REAL if DATA.is_dir() else ()))]
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = [row for made in pool.map(_made, jobs) for row in made]
    head = ("statement", "history", "promised, %", "came true", "95 % interval", "dispersion (groups)", "width", "kept")
    print(f"Seeds from {FIRST:,}; load of {before:.1f} to {os.getloadavg()[0]:.1f}.\n")
    print(table(head, [row.cells() for row in rows]))
    if not DATA.is_dir():
        print("\nNo real data: ../shared/data is absent.")


def _made(maker: Callable[[], Iterable[AuditRow]]) -> list[AuditRow]:
    return list(maker())


# --- learned limits ---------------------------------------------------------------------------------------------------


def alarms_on_noise(scale: float) -> Iterator[AuditRow]:
    """Judge series of known noise each day for 90 days; each alarm is false, and answered so.

    The power is asked of each tenth day: the value of that day less the printed loss is judged.
    """
    series = max(2, round(SERIES * scale))
    losses = []
    for noise in NOISES:
        judged = []
        for seed in range(FIRST, FIRST + series):
            looks = Series.of(seed, noise, WARM_UP + JUDGED).looks
            judged.append(_walk(looks, RULE, since=START + WARM_UP * DAY, window=WINDOW, step=10))
        losses += [each.losses for each in judged]
        evidence = _alarm_evidence(judged)
        yield AuditRow("learned limit: false alarm at a run", f"{noise} noise by day", Bound.AT_MOST, evidence)
    evidence = StatementEvidence(losses, 0.5)
    yield AuditRow("learned limit: loss of the printed size is detected", "the same series", Bound.EQUAL, evidence)


class JudgedSeries(NamedTuple):
    """The alarms of a series, the sum of their printed chances, and how often a loss of the printed size was seen."""

    alarms: StatementCount
    chances: float
    losses: StatementCount


def _alarm_evidence(judged: Sequence[JudgedSeries]) -> StatementEvidence:
    made = sum(series.alarms.made for series in judged)
    return StatementEvidence([series.alarms for series in judged], sum(series.chances for series in judged) / made)


def _walk(
    looks: Sequence[TimedValue], rule: LimitRule, *, since: datetime, window: timedelta, step: int = 0
) -> JudgedSeries:
    """Judge each look by those before it, and count alarms; consecutive looks outside on one side are one alarm."""
    judged = alarms = tried = noticed = last = 0
    chances = 0.0
    for number, look in enumerate(looks):
        past = [earlier for earlier in looks[:number] if earlier.at >= look.at - window]
        limit = learn_limit(past, look, rule=rule, zone=ZONE) if look.at >= since else None
        if not isinstance(limit, LearnedLimit):
            continue
        if last == 0:
            judged, chances = judged + 1, chances + (limit.chance or 0.0)
        alarms += limit.side != 0 and last == 0
        last = limit.side
        if step and number % step == 0 and limit.loss is not None:
            tried, noticed = tried + 1, noticed + (look.value - limit.loss < limit.low)
    return JudgedSeries(StatementCount(judged, alarms), chances, StatementCount(tried, noticed))


def alarms_on_nab(scale: float) -> Iterator[AuditRow]:
    """Judge the hourly means of NAB's series of the cloud, and the taxi by day, without their labelled windows."""
    folder = DATA / "nab/aws"
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    rule, judged = LimitRule(per_day=1 / 14), []
    for path in sorted(folder.glob("*.csv"))[: max(2, round(34 * scale))]:
        looks = _unlabelled(_means(path, HOUR), labels[path.name])
        judged.append(_walk(looks, rule, since=looks[0].at, window=WINDOW))
    history = "NAB, cloud by hour, outside its labels (seen before)"
    yield AuditRow("learned limit: false alarm at a run", history, Bound.AT_MOST, _alarm_evidence(judged))


def _means(path: Path, period: timedelta) -> Mapping[datetime, list[float]]:
    means: dict[datetime, list[float]] = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
            begin = datetime.combine(date(at.year, at.month, at.day), datetime.min.time(), UTC)
            means.setdefault(begin + (at - begin) // period * period, []).append(float(row["value"]))
    return means


def _unlabelled(means: Mapping[datetime, Sequence[float]], labels: Iterable[Sequence[str]]) -> Sequence[TimedValue]:
    spans = [tuple(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in label) for label in labels]
    inside = {at for at in means for low, high in spans if low - HOUR < at <= high}
    return [TimedValue(at, float(np.mean(values))) for at, values in sorted(means.items()) if at not in inside]


def alarms_on_histories(scale: float) -> Iterator[AuditRow]:
    """Judge rows and the mean of the first number of each load of Faultline's histories, to which nothing was done.

    Each alarm counts as false, though real data has changes of its own.
    """
    names = ["taxi_by_day", "weather_by_day", "chinook_by_week", "sakila_by_day"][: max(2, round(8 * scale))]
    rule, judged = LimitRule(per_day=1 / 30), []
    for history in read_histories(DATA, names):
        number = f'avg("{history.shape.numbers[0]}")' if history.shape.numbers else "NULL"
        loads = history.connection.execute(
            f"SELECT _load, count(*), {number} FROM rows GROUP BY 1 ORDER BY 1"
        ).fetchall()
        for place in (1, 2):
            looks = [TimedValue(history.now(row[0]), float(row[place])) for row in loads if row[place] is not None]
            if looks:
                judged.append(_walk(looks, rule, since=looks[0].at, window=WINDOW))
    evidence = _alarm_evidence(judged)
    yield AuditRow("learned limit: false alarm at a run", "Faultline's loads", Bound.AT_MOST, evidence)


# --- starts, downtime, causes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeshOutcome:
    """What a simulated history showed: starts inside their interval, widths, and the place of the planted cause."""

    starts: StatementCount
    widths: Sequence[float]
    is_within: bool | None
    place: int | None
    was_planted: bool


def mesh_statements(scale: float) -> Iterator[AuditRow]:
    """Score starts, weeks of downtime and causes on meshes of twelve tables; runs take 1 to 40 seconds."""
    cases = max(6, round(CASES * scale))
    outcomes = [_mesh(FIRST + number) for number in range(cases)]
    widths = [width for outcome in outcomes for width in outcome.widths]
    evidence = StatementEvidence([outcome.starts for outcome in outcomes], 1.0, widths)
    history = f"{cases} meshes, three weeks each"
    yield AuditRow("start between earliest and latest", history, Bound.AT_LEAST, evidence, "h")
    within = [outcome.is_within for outcome in outcomes if outcome.is_within is not None]
    evidence = StatementEvidence([StatementCount(len(within), sum(within))], 1.0)
    yield AuditRow("time before detection between low and high", f"{history}, added up", Bound.AT_LEAST, evidence)
    places = [outcome.place for outcome in outcomes if outcome.was_planted]
    for most, words in ((1, "first"), (3, "among the first three")):
        count = StatementCount(len(places), sum(place is not None and place <= most for place in places))
        yield AuditRow(f"planted cause is ranked {words}", history, None, StatementEvidence([count]))


def _mesh(seed: int) -> MeshOutcome:
    case = Case.draw(seed, KINDS[seed % len(KINDS)])
    lasting: dict[tuple[str, str], list[tuple[datetime, datetime]]] = defaultdict(list)
    for fault in sorted(case.mesh.faults, key=lambda fault: fault.start):
        spans = lasting[fault.table, fault.check]
        if spans and fault.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], fault.end))
        else:
            spans.append((fault.start, fault.end))
    with case.stored() as (project, tx):
        incidents = [incident for incident in tx.incidents.matching() if incident.found_by is FoundBy.CHECK]
        causes = case.causes_in(project, tx)
    sums, inside, widths = [0, 0, 0], 0, list[float]()
    for incident in incidents:
        for episode in incident.episodes:
            onset, key = episode.onset, (incident.table, (incident.check_id or "").rpartition(".")[2])
            start = next((low for low, high in lasting[key] if low <= episode.detected_at < high), None)
            if start is None or onset.method is OccurrenceMethod.FIRST_OBSERVATION:
                continue
            inside += onset.earliest <= start <= onset.latest
            widths.append((onset.latest - onset.earliest) / HOUR)
            sums = [old + to_us(new) for old, new in zip(sums, (onset.earliest, start, onset.latest), strict=True)]
    return MeshOutcome(
        StatementCount(len(widths), inside),
        widths,
        sums[0] <= sums[1] <= sums[2] if widths else None,
        None if causes is None else place_of(case.planted, causes.causes),
        causes is not None,
    )


def starts_of_injections(scale: float) -> Iterator[AuditRow]:
    """Record incidents of Faultline's injections: two clean runs, then faulty ones until a check by hand fails."""
    histories = read_histories(DATA, INJECTED)
    by_name = {history.name: history for history in histories}
    found: dict[bool, dict[str, list[InjectedStart]]] = {True: defaultdict(list), False: defaultdict(list)}
    drawn = (draw(seed, histories) for seed in range(FIRST, FIRST + max(8, round(INJECTIONS * scale))))
    with tempfile.TemporaryDirectory() as folder:
        for injection in drawn:
            for start in _inject(by_name[injection.history], injection, Path(folder, str(injection.seed))):
                found[start.is_first][injection.history].append(start)
    for is_first, words in ((True, "seen by the first run"), (False, "that passed the first run")):
        starts = found[is_first].values()
        counts = [StatementCount(len(group), sum(start.is_inside for start in group)) for group in starts]
        widths = [start.width_h for group in starts for start in group]
        evidence = StatementEvidence(counts, 1.0, widths)
        history = f"Faultline's injections {words}"
        yield AuditRow("start between earliest and latest", history, Bound.AT_LEAST, evidence, "h")


@dataclass(frozen=True, slots=True)
class InjectedStart:
    """The start of an incident of a fault: whether its load lies in the interval, and if the first run noticed it."""

    is_inside: bool
    is_first: bool
    width_h: float


def _inject(history: RealHistory, injection: Injection, folder: Path) -> Iterator[InjectedStart]:
    """Yield the starts of the incidents of a fault."""
    folder.mkdir()
    (folder / "tablewatch.yaml").write_text(by_hand_text(learn_by_hand(history)), encoding="utf-8")
    loaded, begin = history.loaded_at(injection.load), injection.load - 2
    with WatchedTables(folder, HistoryClock(history.now(begin))) as watch:
        for run in range(begin, injection.load + 3):
            write_state(history, run, injection if run >= injection.load else None, folder)
            watch.judge(history.now(run), is_dry=False)
        with watch.store.reading() as tx:
            episodes = [incident.episodes[0] for incident in tx.incidents.matching()]
    for episode in episodes:
        onset, is_first = episode.onset, episode.detected_at == history.now(injection.load)
        if onset.method is not OccurrenceMethod.FIRST_OBSERVATION:
            is_inside = onset.earliest <= loaded <= onset.latest
            yield InjectedStart(is_inside, is_first, (onset.latest - onset.earliest) / HOUR)


# --- samples, answers, suggestions ------------------------------------------------------------------------------------


def sampled_intervals(scale: float) -> Iterator[AuditRow]:
    """Draw rows, and blocks of rows that are alike, of tables whose share of bad rows is known."""
    rng, trials = np.random.default_rng(FIRST), max(50, round(SAMPLES * scale))
    alpha, inside, widths = 1 - CONFIDENCE, 0, list[float]()
    for _ in range(trials):
        rows, share = int(rng.integers(1_000, 50_000)), float(10 ** rng.uniform(-3.5, -0.3))
        bad, size = round(rows * share), max(1, int(rows * rng.uniform(0.01, 0.2)))
        low, high = rows_interval(int(rng.hypergeometric(bad, rows - bad, size)), size, alpha)
        inside += low <= bad / rows <= high
        widths.append(100 * (high - low))
    evidence = StatementEvidence([StatementCount(trials, inside)], CONFIDENCE, widths)
    yield AuditRow("sample: share of bad rows in its interval", "drawn rows", Bound.AT_LEAST, evidence, "points")
    inside, widths, trials = 0, [], trials // 4
    for _ in range(trials):
        sizes = rng.integers(60, 101, int(rng.integers(500, 4_000)))
        bad_rows = rng.binomial(sizes, rng.beta(0.3, 10 ** rng.uniform(0, 2), sizes.size))
        chosen = rng.choice(sizes.size, size=max(20, int(sizes.size * 0.05)), replace=False)
        blocks = [(int(sizes[place]), int(bad_rows[place]), 1) for place in chosen]
        low, high = blocks_interval(blocks, 100, alpha)
        inside += low <= bad_rows.sum() / sizes.sum() <= high
        widths.append(100 * (high - low))
    evidence = StatementEvidence([StatementCount(trials, inside)], CONFIDENCE, widths)
    yield AuditRow("sample: share of bad rows in its interval", "drawn blocks", Bound.AT_LEAST, evidence, "points")


def answers(scale: float) -> Iterator[AuditRow]:
    """Draw the noise of counts and sums, and medians of a public column; the generator has no seed."""
    draws, counts = max(100, round(DRAWS * scale)), []
    declared = Declared.model_validate({"domain": {"age": {"range": [0, 120]}}})
    for accounting, price in ((Accounting.PURE, "epsilon"), (Accounting.ZCDP, "rho")):
        for words in ({"statistic": "count"}, {"statistic": "sum", "column": "age"}):
            for size in ("0.01", "0.5", "2"):
                kind, rest = words["statistic"], {key: word for key, word in words.items() if key != "statistic"}
                statistic: Any = STATISTICS[kind].model_validate({**rest, price: size})
                for noise in statistic.noises(Terms(declared, accounting)):
                    reach = noise.within() / noise.grid
                    counts.append(StatementCount(draws, sum(abs(drawn) <= reach for drawn in noise.added([0] * draws))))
    evidence = StatementEvidence(counts, 0.95)
    yield AuditRow("noise of an answer within its bound", "counts and sums", Bound.AT_LEAST, evidence)
    if DATA.is_dir():
        yield _medians(max(50, draws // 8))


def _medians(draws: int) -> AuditRow:
    ages = pd.read_csv(DATA / "adult/adult.csv", sep=";")["age"].clip(0, 120).sample(2_000, random_state=FIRST % 2**32)
    values = ages.value_counts()
    terms = Terms(Declared.model_validate({"domain": {"age": {"range": [0, 120]}}}), Accounting.PURE)
    asked = Quantile.model_validate({"column": "age", "epsilon": "0.1", "step": 1})
    rows = [{"cell": int(age), "rows": int(count)} for age, count in values.items()]
    true, middle = 0, len(ages) / 2
    for _ in range(draws):
        answer: Any = asked.answer(rows, terms)
        below, upto = int((ages < answer["value"]).sum()), int((ages <= answer["value"]).sum())
        true += max(below - middle, middle - upto, 0) <= answer["noise"][0]["rank_within_95"]
    evidence = StatementEvidence([StatementCount(draws, true)], 0.95)
    return AuditRow("rank error of an answer within its bound", "median of 2,000 ages", Bound.AT_LEAST, evidence)


def suggestions(scale: float) -> Iterator[AuditRow]:
    """Suggest checks for a tenth of the rows of real tables, and count how many of all rows break them."""
    del scale
    tables = {
        "adult": pd.read_csv(DATA / "adult/adult.csv", sep=";"),
        "weather": pd.read_csv(DATA / "nycflights13/weather.csv"),
        "flights": pd.read_csv(DATA / "dirty/flights-dirty.csv", dtype=str),
        "beers": pd.read_csv(DATA / "dirty/beers-dirty.csv", dtype=str),
    }
    found: dict[str, dict[str, list[bool]]] = {"sure": defaultdict(list), "unsure": defaultdict(list)}
    for name, frame in tables.items():
        for number in range(SUBSETS):
            part = frame.sample(frac=0.1, random_state=FIRST + number).reset_index(drop=True)
            for proposal in tablewatch.suggest(part, name=name, show_values=True).proposals:
                most, share = proposal["breaks_at_most"], _share_broken(frame, name, proposal["check"])
                if most is not None and share is not None:
                    found["unsure" if proposal["confidence"] == "low" else "sure"][name].append(share <= most)
    for word, by_table in found.items():
        counts = [StatementCount(len(held), sum(held)) for held in by_table.values()]
        evidence = StatementEvidence(counts, 0.95)
        yield AuditRow(f"{word} suggestion: rows that break it", "a tenth of 4 tables", Bound.AT_LEAST, evidence)


def _share_broken(frame: pd.DataFrame, name: str, check: Mapping[str, Any]) -> float | None:
    """Return the share of rows that break a check; None of a check that does not count rows."""
    if check["type"] not in {"not_null", "range", "pattern", "accepted_values"}:
        return None
    strict = {key: value for key, value in check.items() if key not in {"id", "max_ratio"}}
    (result,) = tablewatch.check(frame, [strict], name=name).results
    observed: Mapping[str, Any] = result.observed
    bad = max(observed["nulls"].values()) if "nulls" in observed else observed.get("violations")
    return None if bad is None or not observed.get("rows") else bad / observed["rows"]


MAKERS: Final = (alarms_on_noise, mesh_statements, sampled_intervals, answers)
REAL: Final = (alarms_on_nab, alarms_on_histories, starts_of_injections, suggestions)


if __name__ == "__main__":
    main()
