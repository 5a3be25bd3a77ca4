"""A synthetic Adult (30,162 rows, nine columns) at epsilon 1: half the L1 distance of its pairs and triples of columns.

Beside it, in the same run, MST (McKenna, Miklau, Sheldon 2021) on `mbi`, which fits the distribution, where BENCH_MBI
names a Python that has it (`python -m venv DIR && DIR/bin/pip install mbi pandas`, 1 GB); without it, it is left out.
Both have rho 0.01495, which is epsilon 1 for delta 1e-9 by the numerical conversion. Needs the reference data beside
the repository.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import measure, table
from benchmarks.generalisation import ADULT
from remedies.differential_privacy import Adjacency, synthesise

RUNS = 5
RHO = "0.01495"
MST = """
import sys, time, warnings
warnings.simplefilter("ignore")
from itertools import combinations
import numpy as np, pandas as pd
from mbi import Dataset, Domain, LinearMeasurement, estimation
file, out, rho, runs = sys.argv[1:]
frame, rho = pd.read_csv(file), float(rho)
sizes = {name: int(frame[name].max()) + 1 for name in frame}
domain = Domain(tuple(sizes), tuple(sizes.values()))
data = Dataset({name: frame[name].to_numpy() for name in frame}, domain)
random = np.random.default_rng()
def measured(cliques):
    sigma = (len(cliques) / (2 * rho / 3)) ** 0.5
    noise = [data.project(c).datavector() for c in cliques]
    return [LinearMeasurement(x + random.normal(0, sigma, x.size), c, sigma) for x, c in zip(noise, cliques)]
for run in range(int(runs)):
    begun = time.perf_counter()
    first = measured([(name,) for name in sizes])
    model = estimation.MirrorDescent().estimate(domain, first, iters=1000)
    score = {}
    for pair in combinations(sizes, 2):
        expected = np.asarray(model.project(pair).datavector())
        score[pair] = np.abs(np.asarray(data.project(pair).datavector()) - expected).sum()
    parts, tree = {name: name for name in sizes}, []
    epsilon = (8 * rho / 3 / (len(sizes) - 1)) ** 0.5
    while len(tree) < len(sizes) - 1:
        candidates = [(a, b) for a, b in score if parts[a] != parts[b]]
        chosen = int(np.argmax([epsilon / 2 * score[pair] + random.gumbel() for pair in candidates]))
        a, b = candidates[chosen]
        tree.append((a, b))
        old, new = parts[b], parts[a]
        parts = {name: new if part == old else part for name, part in parts.items()}
    model = estimation.MirrorDescent().estimate(domain, first + measured(tree), iters=5000)
    rows = model.synthetic_data().to_dict()
    pd.DataFrame({name: rows[name] for name in sizes}).to_csv(f"{out}/{run}.csv", index=False)
    print(time.perf_counter() - begun)
"""


def main() -> None:
    """Print the table."""
    frame = pd.read_csv(ADULT / "adult.csv", sep=";", dtype=str, keep_default_na=False)
    domains = {name: sorted(frame[name].unique()) for name in frame}  # of a public table
    coded = pd.DataFrame({name: pd.Categorical(frame[name], domains[name]).codes.astype(np.int64) for name in frame})
    zcdp, pure = {"rho": RHO, "delta": "1e-9"}, {"epsilon": 1}
    ways: list[tuple[str, dict[str, Any]]] = [
        ("tree, add-remove", {**zcdp, "adjacency": Adjacency.ADD_REMOVE}),
        ("tree, substitute", zcdp),
        ("tree, substitute, pure epsilon 1", pure),
    ]
    lines = [_ours(name, words, frame, domains, coded) for name, words in ways]
    if python := os.environ.get("BENCH_MBI"):
        lines.insert(0, _mst(python, coded))
    print(table(["Adult, epsilon 1", "pairs: mean", "worst", "triples: mean", "worst", "wall s"], lines))


def _ours(
    name: str, words: dict[str, Any], frame: pd.DataFrame, domains: dict[str, list[str]], coded: pd.DataFrame
) -> Sequence[str]:
    made: list[pd.DataFrame] = []
    seconds = [measure(lambda: made.append(synthesise(frame, domains, **words).frame)).wall for _ in range(RUNS)]
    codes = [
        pd.DataFrame(  # NULL, which Adult has not, is one value more
            {
                column: np.where(codes < 0, len(domains[column]), codes)
                for column in domains
                for codes in [pd.Categorical(each[column].astype(object), domains[column]).codes.astype(np.int64)]
            }
        )
        for each in made
    ]
    return _line(name, coded, codes, seconds)


def _mst(python: str, coded: pd.DataFrame) -> Sequence[str]:
    with tempfile.TemporaryDirectory() as folder:
        coded.to_csv(f"{folder}/adult.csv", index=False)
        command = [python, "-W", "ignore", "-c", MST, f"{folder}/adult.csv", folder, RHO, str(RUNS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        made = [pd.read_csv(Path(folder) / f"{run}.csv") for run in range(RUNS)]
    return _line("MST on mbi, add-remove", coded, made, list(map(float, done.stdout.split())))


def _line(name: str, coded: pd.DataFrame, made: Sequence[pd.DataFrame], seconds: Sequence[float]) -> Sequence[str]:
    errors = np.array([[*_errors(coded, each, 2), *_errors(coded, each, 3)] for each in made]).mean(axis=0)
    return [name, *(f"{error:.4f}" for error in errors), f"{np.mean(seconds):.2f}"]


def _errors(before: pd.DataFrame, after: pd.DataFrame, columns: int) -> tuple[float, float]:
    """Return the mean and the largest error of all tables of so many columns."""
    sizes = [int(max(before[name].max(), after[name].max())) + 1 for name in before]
    found = []
    for places in combinations(range(len(sizes)), columns):
        shape = [sizes[place] for place in places]
        counts = [
            np.bincount(
                np.ravel_multi_index([each.iloc[:, place] for place in places], shape), minlength=int(np.prod(shape))
            )
            / len(each)
            for each in (before, after)
        ]
        found.append(float(np.abs(counts[0] - counts[1]).sum()) / 2)
    return float(np.mean(found)), max(found)


if __name__ == "__main__":
    main()
