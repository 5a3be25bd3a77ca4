"""Faults in 400 generated columns: what proposed patterns and lists of values find, beside two simple rules.

Seeded, and nothing is read from outside. A column has one way (or a few) of writing values, rare values that are right,
and in two of three columns some faults: another format, unit or locale, a wrong letter or digit, white space, a mark of
NULL.
"""

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path

import pandas as pd

from benchmarks._measure import table
from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.suggest.suggest import SuggestionTarget, suggest_checks
from sources import SourceSpec

COLUMNS = 400
ROWS = 4_000
PER_TABLE = 40
_CITIES = (
    "Oslo Bergen Trondheim Stavanger Berlin Hamburg München Köln Paris Lyon Marseille Madrid Sevilla Lisboa Porto Roma"
)
_UNITS = ("kg", "lb", "cm", "in", "km", "mi")


@dataclass(frozen=True, slots=True)
class FaultyColumn:
    """A generated column: what it holds, its values as texts, and which of them are faults."""

    kind: str
    texts: Sequence[str]
    faults: frozenset[str]


Maker = Callable[[random.Random], tuple[Callable[[], str], Callable[[str], str]]]


def _codes(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    prefix = "".join(seeded.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=seeded.randint(1, 3)))
    mark, digits = seeded.choice("-_/ "), seeded.randint(3, 6)

    def right() -> str:
        return f"{prefix}{mark}{seeded.randrange(10**digits):0{digits}}"

    return right, lambda value: seeded.choice(
        [value.lower(), value[:-1], value.replace(mark, ""), value[:-1] + "O", f"{value} ", value + "1", "N/A"]
    )


def _plates(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    def right() -> str:
        letters = "".join(seeded.choices("ABCDEFGH", k=seeded.randint(1, 3)))
        return f"{letters}-{seeded.randint(1, 9999)}"

    return right, lambda value: seeded.choice(
        [value.replace("-", ""), value.lower(), f"-{value}", value.replace("-", "--")]
    )


def _dates(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    form, other = seeded.sample(["%d/%m/%Y", "%d.%m.%Y", "%Y%m%d", "%d-%b-%Y", "%m/%d/%y"], 2)

    def day() -> date:
        return date(2020, 1, 1) + timedelta(days=seeded.randrange(2000))

    return lambda: day().strftime(form), lambda _: seeded.choice(
        [day().strftime(other), "0000-00-00", "unknown", f"{day()}"]
    )


def _amounts(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    def number() -> float:
        return seeded.uniform(1, 999_999)

    def english(value: float) -> str:
        return f"{value:,.2f}"

    def german(value: float) -> str:
        return english(value).translate(str.maketrans(",.", ".,"))

    right, wrong = seeded.sample([english, german], 2)
    sign = seeded.choice(["", "€ ", "$"])
    return lambda: sign + right(number()), lambda value: seeded.choice([sign + wrong(number()), "-", value + "?"])


def _measures(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    unit, other = seeded.sample(_UNITS, 2)
    space = seeded.choice(["", " "])
    return (
        lambda: f"{seeded.uniform(1, 300):.1f}{space}{unit}",
        lambda value: seeded.choice([value.replace(unit, other), value.removesuffix(unit), value.replace(".", ",")]),
    )


def _categories(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    names = seeded.sample(_CITIES.split(), seeded.randint(5, 12))
    weights = [1 / (rank + 1) ** 1.5 for rank in range(len(names))]
    rare = [f"Nordby {letter}" for letter in "ABC"]

    def right() -> str:
        return seeded.choice(rare) if seeded.random() < 0.002 else seeded.choices(names, weights)[0]

    def wrong(value: str) -> str:
        at = seeded.randrange(1, max(2, len(value) - 1))
        swapped = value[: at - 1] + value[at : at + 1] + value[at - 1] + value[at + 1 :]
        return seeded.choice([swapped, value.upper(), f"{value} ", value[:at] + value[at + 1 :]])

    return right, wrong


def _names(seeded: random.Random) -> tuple[Callable[[], str], Callable[[str], str]]:
    parts = ["an", "el", "ri", "ka", "to", "mu", "sen", "da", "lo", "vi", "O'", "Mc"]

    def right() -> str:
        return "".join(seeded.choices(parts, k=seeded.randint(2, 4))).capitalize() + seeded.choice(
            ["", "", " Jr.", "-Li"]
        )

    return right, lambda value: seeded.choice([value.upper(), f"{value}  x", value + "1"])


_MAKERS: Mapping[str, Maker] = {
    "codes": _codes,
    "codes of several lengths": _plates,
    "dates": _dates,
    "amounts in two locales": _amounts,
    "measures with units": _measures,
    "categories": _categories,
    "names (no rule expected)": _names,
}


def generate(seed: int, columns: int = COLUMNS) -> Sequence[FaultyColumn]:
    """Return columns of all kinds in turn; every third has no fault."""
    seeded = random.Random(seed)
    results = []
    for at in range(columns):
        kind = list(_MAKERS)[at % len(_MAKERS)]
        right, wrong = _MAKERS[kind](seeded)
        values = [right() for _ in range(ROWS)]
        rightful, faults = set(values), set()
        for place in seeded.sample(range(ROWS), 0 if at % 3 == 0 else seeded.randint(1, ROWS // 100)):
            fault = wrong(values[place])
            if fault not in rightful:
                values[place] = fault
                faults.add(fault)
        results.append(FaultyColumn(kind, values, frozenset(faults)))
    return results


def by_suggestions(columns: Sequence[FaultyColumn], folder: Path) -> Sequence[frozenset[str]]:
    """Return what proposed patterns and lists of values would find in each column."""
    flagged: list[frozenset[str]] = []
    for start in range(0, len(columns), PER_TABLE):
        part = columns[start : start + PER_TABLE]
        frame = pd.DataFrame({f"c{at}": column.texts for at, column in enumerate(part)})
        frame.to_parquet(folder / f"t{start}.parquet")
        spec = SourceSpec("s", folder, files=f"t{start}.parquet")
        target = Target(Subject(f"t{start}", f"t{start}", ()), spec)
        (suggestions,) = suggest_checks([SuggestionTarget(target)], SystemClock()).tables
        results: list[set[str]] = [set() for _ in part]
        for proposal in suggestions.proposals:
            check = proposal.check or {}
            if check.get("type") in {"pattern", "accepted_values"}:
                at = int(proposal.columns[0][1:])
                results[at] |= {value for value in part[at].texts if not _fits(value, check)}
        flagged += map(frozenset, results)
    return flagged


def _fits(value: str, check: Mapping[str, object]) -> bool:
    if check["type"] == "pattern":
        return re.fullmatch(str(check["pattern"]), value) is not None
    values = check["values"]
    return isinstance(values, list) and value in values


def by_frequency(columns: Sequence[FaultyColumn], share: float) -> Sequence[frozenset[str]]:
    """Return values that are rarer than a share of the rows; in columns of many values, those of rare shapes."""
    results = []
    for column in columns:
        counts = Counter(column.texts)
        key: Callable[[str], str] = str if len(counts) <= 100 else _shape
        keys = Counter(map(key, column.texts))
        results.append(frozenset(value for value in counts if keys[key(value)] < share * ROWS))
    return results


def by_majority(columns: Sequence[FaultyColumn]) -> Sequence[frozenset[str]]:
    """Return values whose shape, runs taken for one letter, is not the most frequent of the column."""
    results = []
    for column in columns:
        shapes = Counter(_short_shape(value) for value in column.texts)
        usual, rows = shapes.most_common(1)[0]
        regular = rows >= 0.9 * ROWS
        results.append(frozenset(value for value in column.texts if regular and _short_shape(value) != usual))
    return results


def _shape(value: str) -> str:
    return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "9", value)))


def _short_shape(value: str) -> str:
    return "".join(letter for letter, _ in groupby(_shape(value)))


def score(columns: Sequence[FaultyColumn], flagged: Sequence[frozenset[str]]) -> tuple[float | None, float | None, int]:
    """Return precision and recall over distinct values of columns, and how many values were flagged."""
    hits = sum(len(column.faults & flags) for column, flags in zip(columns, flagged, strict=True))
    every, total = sum(map(len, flagged)), sum(len(column.faults) for column in columns)
    return (hits / every if every else None), (hits / total if total else None), every


def main() -> None:
    """Print precision at recall over all columns, for three seeds, and by kind of column for the first."""
    seeds = [int(word) for word in sys.argv[2:]] or [1, 2, 3]
    rows = []
    for seed in seeds:
        columns = generate(seed)
        with tempfile.TemporaryDirectory() as folder:
            contenders = {
                "tablewatch suggest": by_suggestions(columns, Path(folder)),
                "frequency cut, 0.1 % of rows": by_frequency(columns, 0.001),
                "frequency cut, 1 % of rows": by_frequency(columns, 0.01),
                "majority pattern": by_majority(columns),
            }
        rows += [(name, seed, *_texts(score(columns, flagged))) for name, flagged in contenders.items()]
        if seed == seeds[0]:
            kinds = [
                (kind, name, *_texts(_of_kind(columns, flagged, kind)))
                for kind in _MAKERS
                for name, flagged in contenders.items()
            ]
    print(f"**{COLUMNS} columns of {ROWS:,} rows**, faults in two of three, at most 1 % of rows.\n")
    print(table(("rule", "seed", "precision", "recall", "values flagged"), rows))
    print()
    print(table(("kind of column", "rule", "precision", "recall", "values flagged"), kinds))


def _of_kind(
    columns: Sequence[FaultyColumn], flagged: Sequence[frozenset[str]], kind: str
) -> tuple[float | None, float | None, int]:
    pairs = [(column, flags) for column, flags in zip(columns, flagged, strict=True) if column.kind == kind]
    return score([column for column, _ in pairs], [flags for _, flags in pairs])


def _texts(result: tuple[float | None, float | None, int]) -> tuple[str, str, str]:
    precision, recall, every = result
    return ("-" if precision is None else f"{precision:.3f}", "-" if recall is None else f"{recall:.3f}", f"{every:,}")


if __name__ == "__main__":
    main()
