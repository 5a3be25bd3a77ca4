"""Generalisation on Adult (nine quasi-identifiers, 12,960 nodes) and on lattices and tables far larger.

Beside it, in the same run: every node by plain numpy, and anjana and anonypy in environments of their own, where
BENCH_ANJANA and BENCH_ANONYPY name their Python (`python -m venv DIR && DIR/bin/pip install anjana`, and `anonypy
pandas`); without them, they are left out. Needs the reference data beside the repository. Options: `adult`, `large`;
without, both.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from benchmarks._measure import Cost, measure, median, peak_mb, table
from checks.risk import Hierarchy
from remedies.generalisation import Generalisations, incognito, mondrian, optimal, utilities

BESIDE = Path(__file__).resolve().parents[1].parent / "shared" / "data"
ADULT = Path(os.environ.get("TABLEWATCH_REFERENCE_DATA", BESIDE)) / "adult"
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
RUNS = 5
ANJANA = """
import sys, time
import pandas as pd
from anjana.anonymity import k_anonymity
folder, limit, *columns = sys.argv[1:]
frame = pd.read_csv(f"{folder}/adult.csv", sep=";", dtype=str)
named = {}
for name in columns:
    lines = pd.read_csv(f"{folder}/hierarchies/adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
    named[name] = {level: lines[level].to_numpy() for level in lines.columns}
wall, cpu = time.perf_counter(), time.process_time()
out = k_anonymity(frame, [], columns, 5, float(limit), named)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
sizes = out.groupby(columns).size()
gone = len(frame) - len(out)
print(f"{wall:.2f}\\t{cpu:.2f}\\t{int((sizes ** 2).sum()) + gone * len(frame):,} ({gone} suppressed)")
"""
ANONYPY = """
import sys, time
import anonypy
import pandas as pd
folder, *columns = sys.argv[1:]
frame = pd.read_csv(f"{folder}/adult.csv", sep=";")
for name in columns:
    if name != "age":
        frame[name] = frame[name].astype("category")
wall, cpu = time.perf_counter(), time.process_time()
rows = anonypy.Preserver(frame, columns, "salary-class").anonymize_k_anonymity(k=5)
print(f"{time.perf_counter() - wall:.2f}\\t{time.process_time() - cpu:.2f}\\t{len(rows):,} rows")
"""


def main() -> None:
    """Print the tables."""
    chosen = sys.argv[2:] or ["adult", "large"]
    if "adult" in chosen:
        _adult()
    if "large" in chosen:
        _large()


# --- Adult ------------------------------------------------------------------------------------------------------------


def _adult() -> None:
    frame = pd.read_csv(ADULT / "adult.csv", sep=";", dtype=str, keep_default_na=False)
    named = {name: _hierarchy(name) for name in COLUMNS}
    counts = frame.groupby(list(COLUMNS)).size().rename("count").reset_index()
    rows = [
        _line(f"incognito, at most {limit:.0%} suppressed", *_all_nodes(counts, named, limit))
        for limit in (0, 0.02, 0.05)
    ]
    rows += [_brute_force(counts, named)]
    for by, limit in product(("discernibility", "loss"), (0, 0.02, 0.05)):
        rows.append(_line(f"optimal by {by}, at most {limit:.0%} suppressed", *_best(counts, named, by, limit)))
    rows += [
        _peer(f"anjana, at most {limit} % suppressed", "BENCH_ANJANA", ANJANA, str(limit), *COLUMNS) for limit in (0, 2)
    ]
    eight = {name: named[name] for name in COLUMNS[:-1]}
    without = frame.groupby(list(eight)).size().rename("count").reset_index()
    rows.append(_line("mondrian, 8 columns", *_parts(without, eight)))
    rows.append(_peer("anonypy's Mondrian, 8 columns", "BENCH_ANONYPY", ANONYPY, *eight))
    print(table(["Adult, k = 5", "wall s", "cpu s", "result"], [row for row in rows if row]))


def _hierarchy(name: str) -> Hierarchy:
    return Hierarchy.from_csv((ADULT / "hierarchies" / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8"))


def _line(name: str, cost: Cost, found: str) -> list[str]:
    return [name, f"{cost.wall:.3f}", f"{cost.cpu:.3f}", found]


def _repeated(work: Callable[[], object]) -> Cost:
    """Do it once to warm up, and give the medians of several times."""
    work()
    return median([measure(work) for _ in range(RUNS)])


def _all_nodes(counts: pd.DataFrame, named: Mapping[str, Hierarchy], limit: float) -> tuple[Cost, str]:
    found = incognito(counts, named, 5, limit)
    cost = _repeated(lambda: incognito(counts, named, 5, limit))
    return cost, f"{len(found.nodes):,} nodes, {len(found.minimal):,} minimal, least height {found.least_height}"


def _best(counts: pd.DataFrame, named: Mapping[str, Hierarchy], by: str, limit: float) -> tuple[Cost, str]:
    found = optimal(counts, named, 5, limit, by=by)
    cost = _repeated(lambda: optimal(counts, named, 5, limit, by=by))
    value = f"{found.value:,.0f}" if by == "discernibility" else f"{found.value:.6f}"
    return cost, f"{value} ({found.suppressed} suppressed), {'proved' if found.proved else 'not proved'}"


def _parts(counts: pd.DataFrame, named: Mapping[str, Hierarchy]) -> tuple[Cost, str]:
    found = mondrian(counts, named, 5, numeric=("age",))
    return _repeated(lambda: mondrian(counts, named, 5, numeric=("age",))), f"{utilities(found).classes:,} classes"


def _brute_force(counts: pd.DataFrame, named: Mapping[str, Hierarchy]) -> list[str]:
    """Group all rows by every node, without anything clever."""
    codes = [np.array([one.nodes()[level][pd.Index(one.levels[0]).get_indexer(counts[name])]
                       for level in range(one.height + 1)]) for name, one in named.items()]  # fmt: skip
    sizes = counts["count"].to_numpy()
    holds = 0

    def look() -> None:
        nonlocal holds
        for node in product(*(range(len(levels)) for levels in codes)):
            key = np.zeros(len(sizes), dtype=np.int64)
            for levels, level in zip(codes, node, strict=True):
                key = key * (int(levels[level].max()) + 1) + levels[level]
            _, place = np.unique(key, return_inverse=True)
            holds += int(np.bincount(place, weights=sizes).min() >= 5)

    return _line("every node by numpy, once", measure(look), f"{holds} nodes")


def _peer(name: str, variable: str, script: str, *arguments: str) -> list[str]:
    python = os.environ.get(variable)
    if python is None:
        return []
    command = [python, "-c", script, str(ADULT), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [f"{name}, once", *done.stdout.strip().splitlines()[-1].split("\t")]


# --- larger -----------------------------------------------------------------------------------------------------------


def _large() -> None:
    rows = []
    counts, named = _correlated(rows=100_000, columns=12)
    for limit in (0, 0.02):
        kept: list[Generalisations] = []
        cost = measure(lambda kept=kept, limit=limit: kept.append(incognito(counts, named, 5, limit)))
        said = f"{kept[0].lattice:,} nodes, {len(kept[0].nodes):,} hold, {len(kept[0].minimal):,} minimal"
        line = f"incognito, {len(counts):,} combinations of 12 columns, at most {limit:.0%} suppressed"
        rows.append([line, *_spent(cost), said])
    rows += _many_rows()
    print(table(["larger, k = 5", "wall s", "cpu s", "memory MB", "result"], rows))


def _correlated(*, rows: int, columns: int) -> tuple[pd.DataFrame, Mapping[str, Hierarchy]]:
    """Return columns of 6 to 20 values that hang together through three latent factors, each with three levels."""
    dice = np.random.default_rng(0)
    factors = dice.normal(size=(rows, 3))
    cells, named = {}, {}
    for column in range(columns):
        weights = dice.normal(size=3)
        score = factors @ weights / np.linalg.norm(weights) + 0.5 * dice.normal(size=rows)
        values = (6, 8, 9, 12, 16, 20)[column % 6]
        texts = [f"{value:02d}" for value in range(values)]
        edges = np.quantile(score, np.linspace(0, 1, values + 1)[1:-1])
        cells[f"q{column}"] = np.array(texts)[np.searchsorted(edges, score)]
        named[f"q{column}"] = Hierarchy.of({text: [f"g{place // 4}", "*"] for place, text in enumerate(texts)})
    return pd.DataFrame(cells).groupby(list(cells)).size().rename("count").reset_index(), named


def _many_rows(rows: int = 100_000_000, combinations: int = 20_000) -> list[list[str]]:
    """Count the combinations of a table in Parquet by one GROUP BY, and search them; some have few rows."""
    counts, named = _correlated(rows=combinations, columns=6)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as engine:
        file, few = f"{folder}/many.parquet", counts.drop(columns="count").reset_index()
        engine.execute("SET enable_progress_bar = false")
        engine.register("few", few)
        spread = f"least({len(few) - 1}, floor(-ln((hash(r.range) % 1000000000 + 1) / 1e9) * {len(few) / 12}))"
        join = f"range({rows}) AS r JOIN few ON few.index = {spread}"  # from a few rows to many, as in real tables
        engine.execute(f"COPY (SELECT few.* EXCLUDE (index) FROM {join}) TO '{file}'")
        names, found = ", ".join(named), []
        count = f"SELECT {names}, count(*) AS count FROM '{file}' GROUP BY {names}"
        grouped = measure(lambda: found.append(engine.sql(count).df()))
        searched = _repeated(lambda: found.append(optimal(found[0], named, 5, 0.000001)))
    said = f"loss {found[-1].value:.4f} ({found[-1].suppressed:,} suppressed), proved"
    line = f"{rows:,} rows, {len(few):,} combinations of 6 columns"
    return [
        [f"{line}: GROUP BY by DuckDB", *_spent(grouped), ""],
        [f"{line}: optimal, at most one row in a million suppressed", *_spent(searched), said],
    ]


def _spent(cost: Cost) -> list[str]:
    return [f"{cost.wall:.2f}", f"{cost.cpu:.2f}", f"{peak_mb():.0f}"]


if __name__ == "__main__":
    main()
