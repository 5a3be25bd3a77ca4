"""Tables and figures of the two papers that the project comes from, beside the values they print.

python -m benchmarks papers [--part disclosure|microaggregation] [--trials 30] [--rows 10000 50000] [--write docs]
python -m benchmarks papers --anchors 0,3,4,8,10 --divisor 3    the FDH path of the 11 companies from anchors by row

The first is on batch and interactive disclosure (Yamaguchi, Terada, Yoshiura), the second on microaggregation by paths
(DEIM 2015 G1-4). `--write FOLDER` writes FOLDER/papers.md with its charts; without it, the text is printed. Minutes.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks._charts import boxes, lines
from benchmarks._donors import donors
from benchmarks._measure import table
from remedies.differential_privacy import Replacement, compare, epsilon_of, pk_of, reconstruct, retention
from remedies.differential_privacy.expected_error import spearman
from remedies.microaggregation import fdh_path, information_loss, mhm, npn_path

Floats = npt.NDArray[np.float64]

USERS: Final = np.array([[78, 298, 558, 338, 189, 146, 102], [144, 805, 1538, 855, 361, 350, 278]], dtype=np.float64)
AGES: Final = ("<18", "18-24", "25-34", "35-44", "45-49", "50-55", "56+")
CELLS: Final = tuple(f"{gender} {age}" for gender in "FM" for age in AGES)
SIZES: Final = USERS.shape
ROWS: Final = int(USERS.sum())
EPSILONS: Final = (0.1, 1.0, 4.0)
PRINTED: Final[Mapping[float, tuple[float, str, float, int]]] = {
    0.1: (0.011, "-", 1430, 14),
    1.0: (0.11, "900", 959, 91),
    4.0: (0.44, "-", 287, 109),
}
"""Retention, k, L2 of the batch, and number of answers where both are alike, as the paper prints them."""
QUERIES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500)
STEPS: Final = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
COMPANIES: Final = (
    *(("A&A Ltd", 790, 55), ("B&B SpA", 710, 44), ("C&C Inc", 730, 32), ("D&D BV", 810, 17), ("E&E SL", 950, 3)),
    *(("F&F GmbH", 510, 25), ("G&G AG", 400, 45), ("H&H SA", 330, 50), ("I&I LLC", 510, 5), ("J&J Co", 760, 52)),
    ("K&K Sarl", 50, 12),
)
FDH_PRINTED: Final = (10, 5, 2, 1, 6, 7, 9, 0, 3, 4, 8)
OPTIMUM: Final = (0, 0, 0, 1, 1, 2, 2, 2, 1, 0, 2)
KS: Final = (2, 5, 10, 50, 100)
NPN_PRINTED: Final[Mapping[int, tuple[float, Sequence[float]]]] = {
    10_000: (22.92, (5.50, 20.22, 29.09, 47.13, 56.99)),
    50_000: (604.4, (5.68, 13.19, 21.58, 38.24, 45.74)),
}
"""Seconds of the path and information loss by k that the paper prints for NPN, by rows."""


class Chapter(NamedTuple):
    """A part of the page, and its charts by file name."""

    text: str
    charts: Mapping[str, str]


def main() -> None:
    """Print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers")
    parser.add_argument("--part", choices=("disclosure", "microaggregation"))
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--rows", type=int, nargs="*", default=list(NPN_PRINTED))
    parser.add_argument("--anchors", help="rows of the 11 companies, such as 0,3,4,8,10")
    parser.add_argument("--divisor", type=float, default=3.0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args([one for one in sys.argv[1:] if one != "papers"])
    if given.anchors:
        print(_from_anchors([int(one) for one in given.anchors.split(",")], given.divisor))
        return
    chapters = [disclosure(given.trials)] if given.part in {"disclosure", None} else []
    chapters += [microaggregation(given.rows)] if given.part in {"microaggregation", None} else []
    text = "\n".join([_HEAD, *(chapter.text for chapter in chapters)])
    if given.write is None:
        print(text)
        return
    images = given.write / "images"
    images.mkdir(parents=True, exist_ok=True)
    (given.write / "papers.md").write_text(text, encoding="utf-8")
    for name, chart in (item for chapter in chapters for item in chapter.charts.items()):
        (images / name).write_text(chart, encoding="utf-8")


_HEAD: Final = """# The two papers

Tables and figures of the two papers that Tablewatch comes from, computed here, beside the values that the papers print;
`-` where a printed value is not at hand. `python -m benchmarks papers --write docs` writes this page; `--trials`,
`--rows` and `--part` make it smaller or larger. Where a paper does not follow from its own equations, the equations are
followed ([why](differential-privacy.md#where-the-paper-is-not-followed)).
"""
_RECONSTRUCTION: Final = """
The printed retentions are epsilon / 9, the first term of a series of equation 6.

**Reconstruction (table 2)**: L2 to the table after steps of equation 3, from the expected counts of a batch, and the
root mean square from random batches.
"""
_CELLS: Final = """
On random counts the error falls, then rises: a stopping rule is needed.

**Figures 5 to 7**: counts by cell in the trials: the batch as it is (BT), reconstructed until the discrepancy rule
stops (BR), one noisy answer (IT1).
"""
_FOUND_ANCHORS: Final = """
The paper does not print its anchors. No three or four records as anchors give its path; these five do
(`python -m benchmarks papers --anchors 0,3,4,8,10 --divisor 3`). Table 3 is another partition than that of the path: it
is the optimum over all partitions.
"""
_DONORS: Final = """**Tables 4 to 9**: a table like one about donors (`benchmarks/_donors.py`, seed 1), 36 columns, one
thread; loss in per cent by k. The data of the paper (300,000 and 500,000 records of KDD Cup 98, which has 191,779) are
not public in that form: losses are of the same kind, not the same, and printed seconds are of a Xeon of 2.93 GHz.
`path`: processor seconds of the path; `total`: with the optimal cut at k = 5.
"""


def disclosure(trials: int) -> Chapter:
    """Return the paper on batch and interactive disclosure."""
    rng = np.random.default_rng(20)
    simulated = {epsilon: _simulated(epsilon, trials, rng) for epsilon in EPSILONS}
    compared = compare(USERS.astype(np.int64), [f"{epsilon:g}" for epsilon in EPSILONS], queries=QUERIES, runs=0)
    parts = [
        "## Batch and interactive disclosure\n",
        f"Users of MovieLens 1M by gender and age; {ROWS:,} users (table 1).\n",
        table(("", *AGES), [(gender, *(f"{n:.0f}" for n in row)) for gender, row in zip("FM", USERS, strict=True)]),
        "\n**Figure 3**: retention and k by epsilon.\n",
        "![Retention by epsilon](images/papers-retention.svg)\n![k by epsilon](images/papers-k.svg)\n",
        "**Parameters**: retention of equation 6, k of equation 7, scale of the noise of one answer, 2 / epsilon.\n",
        table(
            ("epsilon", "retention", "printed", "epsilon of the printed retention", "k", "printed", "scale"),
            [_parameters(epsilon) for epsilon in EPSILONS],
        ),
        _RECONSTRUCTION,
        table(
            ("steps", *(f"epsilon {epsilon:g}{of}" for epsilon in EPSILONS for of in ("", ", random"))),
            [(step, *_after_steps(step, simulated)) for step in STEPS],
        ),
        _CELLS,
        *(
            f"![Counts by cell at epsilon {epsilon:g}](images/papers-cells-{number}.svg)"
            for number, epsilon in enumerate(EPSILONS, 5)
        ),
        "\n**Table 5, figure 8**: root mean square L2, in users. BT and IT by formula, BR simulated.\n",
        table(("", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)), list(_errors(compared, simulated))),
        "\nThe paper prints 1430, 959 and 287 for its batch. The closest of these readings:\n",
        table(
            ("epsilon", "printed", "closest reading", "its L2", "off"), [_closest(one, simulated) for one in EPSILONS]
        ),
        "\nNo one reading gives all three.\n\n![L2 by number of answers](images/papers-l2.svg)\n",
        "**Figure 9**: Spearman's correlation of ranks with the table, mean over the trials.\n",
        table(("", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)), list(_ranks(simulated))),
        "\n![Ranks by number of answers](images/papers-ranks.svg)\n",
        "**Table 6**: the number of answers from which on each is less accurate than the batch, by L2.\n",
        table(
            ("epsilon", "printed", "from the printed L2", "BT by its formula", "BR, simulated"),
            [_crossovers(one, simulated) for one in EPSILONS],
        ),
        "",
    ]
    return Chapter("\n".join(parts), _charts(simulated))


class Trials(NamedTuple):
    """Counts of simulated batches, reconstructions and answers, (trials, 14) each; `answers`: by how many there are."""

    rho: float
    batch: Floats
    rebuilt: Floats
    answers: Mapping[int, Floats]

    @property
    def factors(self) -> list[Replacement]:
        """Return how each attribute was randomised."""
        return [Replacement(self.rho, size) for size in SIZES]


def _simulated(epsilon: float, trials: int, rng: np.random.Generator) -> Trials:
    rho = retention(f"{epsilon:g}", SIZES)
    batch = _batches(rho, trials, rng)
    factors = [Replacement(rho, size) for size in SIZES]
    rebuilt = np.array([reconstruct(one.reshape(SIZES), factors).counts.ravel() for one in batch])
    answers = {x: USERS.ravel() + rng.laplace(0, 2 * x / epsilon, (trials, USERS.size)) for x in QUERIES}
    return Trials(rho, batch, rebuilt, answers)


def _batches(rho: float, trials: int, rng: np.random.Generator) -> Floats:
    """Return counts of randomised tables: each attribute kept with rho, else drawn from its domain."""
    one, two = (Replacement(rho, size).dense() for size in SIZES)
    chances = np.kron(one, two)
    drawn = [rng.multinomial(int(n), row, trials) for n, row in zip(USERS.ravel(), chances, strict=True)]
    return np.asarray(np.sum(drawn, axis=0), dtype=np.float64)


def _rms(estimates: Floats) -> float:
    return float(np.sqrt(np.mean(np.sum((estimates - USERS.ravel()) ** 2, axis=1))))


def _expected(rho: float) -> tuple[float, float]:
    """Return bias and root mean square L2 of a batch by formula."""
    one, two = (Replacement(rho, size).dense() for size in SIZES)
    chances = np.kron(one, two)
    counts = USERS.ravel()
    bias = counts @ chances - counts
    variance = counts @ (chances * (1 - chances))
    return float(np.linalg.norm(bias)), float(np.sqrt(bias @ bias + variance.sum()))


def _parameters(epsilon: float) -> tuple[object, ...]:
    printed, k, _, _ = PRINTED[epsilon]
    rho = retention(f"{epsilon:g}", SIZES)
    spent = epsilon_of(printed, SIZES)
    return (
        f"{epsilon:g}",
        f"{rho:.10f}",
        printed,
        f"{spent:.4f}",
        f"{pk_of(ROWS, epsilon=f'{epsilon:g}'):.4f}",
        k,
        f"{2 / epsilon:g}",
    )


def _after_steps(step: int, simulated: Mapping[float, Trials]) -> Iterator[str]:
    for trials in simulated.values():
        factors = trials.factors
        expected = factors[1].forward(factors[0].forward(USERS, axis=0), axis=1)
        noiseless = reconstruct(expected, factors, stop=step).counts
        yield f"{np.linalg.norm(noiseless - USERS):.4f}"
        rebuilt = np.array([reconstruct(one.reshape(SIZES), factors, stop=step).counts.ravel() for one in trials.batch])
        yield f"{_rms(rebuilt):.1f}"


def _errors(compared: Any, simulated: Mapping[float, Trials]) -> Iterator[tuple[object, ...]]:
    yield "BT, printed", *(f"{PRINTED[epsilon][2]:g}" for epsilon in EPSILONS)
    yield "BT", *(f"{at.attribute_wise.as_is.rms_l2:.3f}" for at in compared.at)
    yield "BR", *(f"{_rms(trials.rebuilt):.1f}" for trials in simulated.values())
    for place, x in enumerate(QUERIES):
        yield f"IT{x}", *(f"{at.interactive[place].continuous:.3f}" for at in compared.at)


def _closest(epsilon: float, simulated: Mapping[float, Trials]) -> tuple[object, ...]:
    printed = PRINTED[epsilon]
    trials = simulated[epsilon]
    rng = np.random.default_rng(6)
    readings: dict[str, float] = {}
    for name, rho in (("retention of equation 6", trials.rho), ("printed retention", printed[0])):
        bias, rms = _expected(rho)
        readings |= {f"{name}, bias": bias, f"{name}, root mean square": rms}
        factors = [Replacement(rho, size) for size in SIZES]
        batches = _batches(rho, 10, rng)
        for step in (10, 100, 1000):
            rebuilt = [reconstruct(one.reshape(SIZES), factors, stop=step).counts.ravel() for one in batches]
            readings[f"{name}, reconstructed in {step} steps"] = _rms(np.array(rebuilt))
    name = min(readings, key=lambda one: abs(readings[one] - printed[2]))
    off = readings[name] / printed[2] - 1
    return f"{epsilon:g}", f"{printed[2]:g}", name, f"{readings[name]:.1f}", f"{off:+.1%}"


def _ranks(simulated: Mapping[float, Trials]) -> Iterator[tuple[object, ...]]:
    truth = USERS.ravel()
    yield "BT", *(f"{spearman(truth, one.batch) or 0:.3f}" for one in simulated.values())
    yield "BR", *(f"{spearman(truth, one.rebuilt) or 0:.3f}" for one in simulated.values())
    for x in QUERIES:
        yield f"IT{x}", *(f"{spearman(truth, one.answers[x]) or 0:.3f}" for one in simulated.values())


def _crossovers(epsilon: float, simulated: Mapping[float, Trials]) -> tuple[object, ...]:
    one_answer = 2 / epsilon * np.sqrt(2 * USERS.size)
    _, _, printed_l2, printed = PRINTED[epsilon]
    own = _expected(simulated[epsilon].rho)[1], _rms(simulated[epsilon].rebuilt)
    return f"{epsilon:g}", printed, *(int(error // one_answer) + 1 for error in (printed_l2, *own))


def _charts(simulated: Mapping[float, Trials]) -> Mapping[str, str]:
    grid = [round(float(one), 3) for one in np.linspace(0.05, 6, 120)]
    charts = {
        "papers-retention.svg": lines(
            "Retention by epsilon, V = (2, 7)",
            {
                "equation 6": [(one, retention(f"{one:g}", SIZES)) for one in grid],
                "printed: epsilon / 9": [(one, one / 9) for one in grid],
            },
            across="epsilon",
            up="retention",
        ),
        "papers-k.svg": lines(
            "k of Pk-anonymity by epsilon, N = 6,040",
            {"equation 7": [(one, pk_of(ROWS, epsilon=f"{one:g}")) for one in grid]},
            across="epsilon",
            up="k",
            log_y=True,
        ),
    }
    curves: dict[str, list[tuple[float, float]]] = {}
    ranks: dict[str, list[tuple[float, float]]] = {}
    for number, (epsilon, trials) in enumerate(simulated.items(), 5):
        series = {"BT": trials.batch, "BR": trials.rebuilt, "IT1": trials.answers[1]}
        charts[f"papers-cells-{number}.svg"] = boxes(
            f"Counts by cell, epsilon {epsilon:g}",
            CELLS,
            {name: counts.T.tolist() for name, counts in series.items()},
            USERS.ravel().tolist(),
            up="users",
        )
        curves[f"IT, {epsilon:g}"] = [(x, 2 * x / epsilon * float(np.sqrt(2 * USERS.size))) for x in QUERIES]
        curves[f"BT, {epsilon:g}"] = [(x, _expected(trials.rho)[1]) for x in QUERIES]
        ranks[f"IT, {epsilon:g}"] = [(x, spearman(USERS.ravel(), trials.answers[x]) or 0.0) for x in QUERIES]
        ranks[f"BT, {epsilon:g}"] = [(x, spearman(USERS.ravel(), trials.batch) or 0.0) for x in QUERIES]
    across = "answers that share epsilon"
    charts["papers-l2.svg"] = lines(
        "L2 by number of answers (figure 8)", curves, across=across, up="L2", log_x=True, log_y=True
    )
    charts["papers-ranks.svg"] = lines(
        "Ranks by number of answers (figure 9)", ranks, across=across, up="Spearman", log_x=True
    )
    return charts


def microaggregation(sizes: Sequence[int]) -> Chapter:
    """Return the paper on microaggregation by paths."""
    scores = (_companies() - _companies().mean(axis=0)) / _companies().std(axis=0)
    npn_path(donors(500))  # compiles
    fdh_path(donors(500))
    mhm(donors(500), np.arange(500), 5)
    parts = [
        "## Microaggregation by paths\n",
        "**Tables 1 and 2**: companies, and their z-scores (population standard deviation).\n",
        table(
            ("", "company", "area", "employees", "z(area)", "z(employees)"),
            [(n, *row, *(f"{z:.3f}" for z in scores[n])) for n, row in enumerate(COMPANIES)],
        ),
        "\n**Paths**, k = 3, information loss 100 SSE / SST.\n",
        table(
            ("path", "records", "groups", "loss %", "printed"),
            [
                ("NPN", *_company_row(npn_path(_companies())), "55.10"),
                ("FDH, the printed path", *_company_row(np.array(FDH_PRINTED)), "43.74"),
                ("FDH, anchors 0, 3, 4, 8, 10, m = 3", *_company_row(_fdh([0, 3, 4, 8, 10], 3.0)), "43.74"),
                (
                    "none: the groups of table 3",
                    "-",
                    _groups(np.array(OPTIMUM)),
                    f"{_loss(np.array(OPTIMUM)):.4f}",
                    "-",
                ),
            ],
        ),
        _FOUND_ANCHORS,
        _DONORS,
    ]
    for rows in sizes:
        parts += [
            f"{rows:,} rows:\n",
            table(("path", "path s", "total s", *(f"k = {k}" for k in KS)), list(_timed(rows))),
            "",
        ]
    return Chapter("\n".join(parts), {})


def _companies() -> Floats:
    return np.array([row[1:] for row in COMPANIES], dtype=np.float64)


def _fdh(anchors: Sequence[int], divisor: float) -> npt.NDArray[np.int64]:
    return fdh_path(_companies(), anchors=np.array(anchors), divisor=divisor)


def _groups(labels: npt.NDArray[Any]) -> str:
    names = list(dict.fromkeys(labels.tolist()))
    return " ".join("{" + ",".join(map(str, np.flatnonzero(labels == one))) + "}" for one in names)


def _loss(labels: npt.NDArray[Any]) -> float:
    return float(information_loss(_companies(), labels))


def _company_row(path: npt.NDArray[np.int64]) -> tuple[str, str, str]:
    labels = mhm(_companies(), path, 3)
    return ",".join(map(str, path)), _groups(labels), f"{_loss(labels):.4f}"


def _from_anchors(anchors: Sequence[int], divisor: float) -> str:
    path, groups, loss = _company_row(_fdh(anchors, divisor))
    return f"path {path}\ngroups {groups}\nloss {loss} %"


def _timed(rows: int) -> Iterator[tuple[object, ...]]:
    given = donors(rows)
    printed = NPN_PRINTED.get(rows)
    if printed is not None:
        yield "NPN, printed", f"{printed[0]:g}", "-", *(f"{loss:.2f}" for loss in printed[1])
    ways = {"NPN": lambda: npn_path(given)}
    for anchors in (3, 10):
        for m in (1, 2, 3, 4):
            ways[f"FDH, A = {anchors}, m = {m}"] = lambda a=anchors, m=m: fdh_path(given, anchors=a, divisor=m)
    for name, way in ways.items():
        begun = process_time()
        path = way()
        seconds = process_time() - begun
        losses = []
        total = seconds
        for k in KS:
            begun = process_time()
            labels = mhm(given, path, k)
            total += process_time() - begun if k == 5 else 0.0
            losses.append(f"{information_loss(given, labels):.2f}")
        yield name, f"{seconds:.2f}", f"{total:.2f}", *losses


if __name__ == "__main__":
    main()
