"""The kinds of faults, how they are drawn, and the states of a table with one of them.

A fault begins with a load and strikes this and all later loads, unless its kind says otherwise. Of a load, the share
`severity` of its rows is struck (at least one), in the order of md5('SEED:ROW'), so that other tools can do the same.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import Final

from benchmarks.faultline.histories import RealHistory

RUNS: Final = 3
"""At how many runs, from the first that can see a fault, a tool may find it."""
NEW_KEY: Final = 10_000_000
"""What is added to a key that is a number, for a row that has no other with its key."""
SPELLINGS: Final = (
    "'\"' || {0} || '\"'",
    "{0} || ' '",
    "CASE WHEN {0} = upper({0}) THEN lower({0}) ELSE upper({0}) END",
)


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault: what is written to the public list of injections.

    `load`: the first load that is struck, from 0. `severity`: a share of rows, or what the kind says. `column`: empty
    where a whole row, load or table is struck; two columns that are swapped are separated by a comma. `variant`: a
    whole number that the kind explains.
    """

    seed: int
    history: str
    kind: str
    load: int
    severity: float
    column: str
    variant: int

    def as_json(self) -> Mapping[str, object]:
        """Return the fields."""
        return asdict(self)


Columns = dict[str, str]
"""The expression of each column of a row."""


@dataclass(frozen=True, slots=True)
class Strike:
    """What a fault makes of the loads that it strikes.

    `columns`: the new expressions of struck rows; `keep`: which rows stay; `again`: rows that are added, as conditions
    with expressions.
    """

    columns: Mapping[str, str]
    keep: str = "true"
    again: tuple[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of faults: what it is in one sentence, where it can be, how severe, and what it does."""

    text: str
    candidates: Callable[[RealHistory], Sequence[str]]
    severity: Callable[[random.Random], float]
    strike: Callable[[RealHistory, Injection], Strike]
    variants: int = 1


def kinds() -> Mapping[str, FaultKind]:
    """Return the kinds by name, in the order in which they are drawn."""
    return _KINDS


def draw(seed: int, histories: Sequence[RealHistory]) -> Injection:
    """Return the injection of a seed: the kinds in turn, all else drawn, again while it changes nothing."""
    chance = random.Random(f"faultline {seed}")
    names = [name for name, kind in _KINDS.items() if any(map(kind.candidates, histories))]
    name = names[seed % len(names)]
    kind = _KINDS[name]
    possible = [history for history in histories if kind.candidates(history)]
    while True:
        history = chance.choice(possible)
        load, column = chance.choice(_loads(history)), chance.choice(kind.candidates(history))
        severity, variant = round(kind.severity(chance), 4), chance.randrange(kind.variants)
        injection = Injection(seed, history.name, name, load, severity, column, variant)
        if _changes(history, injection):
            return injection


def _changes(history: RealHistory, injection: Injection) -> bool:
    """Check whether a fault changes anything at the first run that can see it."""
    if injection.kind in {"stale dimension", "type change"}:
        return True
    run, least = injection.load, injection.load
    clean, faulty = (state_sql(history, run, each, least) for each in (None, injection))
    sides = f"(({clean}) EXCEPT ALL ({faulty})) UNION ALL (({faulty}) EXCEPT ALL ({clean}))"
    return history.connection.execute(f"SELECT count(*) FROM ({sides})").fetchall() != [(0,)]


def write_state(history: RealHistory, run: int, injection: Injection | None, folder: Path) -> None:
    """Write the table, and its dimension, as a run sees them, as Parquet files that are called as they are."""
    _write(history, state_sql(history, run, injection), folder / f"{history.name}.parquet")
    if history.has_dimension:
        _write(history, _dimension_sql(history, run, injection), folder / "dimension.parquet")


def _write(history: RealHistory, sql: str, file: Path) -> None:
    history.connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")


def state_sql(history: RealHistory, run: int, injection: Injection | None, least: int = 0) -> str:
    """Return the SELECT of the table as a run sees it, of loads from `least` on."""
    plain = {name: f'"{name}"' for name in history.shape.columns}
    if injection is None or injection.kind == "stale dimension":
        return _select(history, plain, f"SELECT * FROM rows WHERE _load BETWEEN {least} AND {run}")
    strike = _KINDS[injection.kind].strike(history, injection)
    order = f"md5('{injection.seed}:' || _row)"
    ranked = f"""
      SELECT *, row_number() OVER (PARTITION BY _load ORDER BY {order})
        <= greatest(1, ceil({injection.severity} * count(*) OVER (PARTITION BY _load))) AS _struck
      FROM rows WHERE _load BETWEEN {injection.load} AND {run}
    """
    whole = injection.kind == "type change"
    earlier = f"SELECT * FROM rows WHERE _load >= {least} AND _load < {injection.load}"
    before = _select(history, {**plain, **strike.columns} if whole else plain, earlier)
    changed = {
        name: (strike.columns[name] if whole else f"CASE WHEN _struck THEN {strike.columns[name]} ELSE {sql} END")
        if name in strike.columns
        else sql
        for name, sql in plain.items()
    }
    parts = [before, _select(history, changed, f"SELECT * FROM ({ranked}) WHERE {strike.keep.format(run=run)}")]
    if strike.again is not None:
        condition, columns = strike.again
        added = f"SELECT * REPLACE (greatest(_load, {injection.load}) AS _load) FROM ({ranked}) WHERE {condition}"
        if injection.kind == "repeated load":
            added = f"SELECT * REPLACE ({injection.load} AS _load) FROM rows WHERE {condition}"
        parts.append(_select(history, {**plain, **columns}, added))
    return " UNION ALL ".join(parts)


def _select(history: RealHistory, columns: Mapping[str, str], rows: str) -> str:
    shown = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    first = history.loaded_at(0).replace(tzinfo=None)
    seconds = int(history.period.total_seconds())
    return f"SELECT {shown}, TIMESTAMP '{first}' + to_seconds(_load * {seconds}) AS loaded_at FROM ({rows})"


def _dimension_sql(history: RealHistory, run: int, injection: Injection | None) -> str:
    stale = injection is not None and injection.kind == "stale dimension"
    load = max(0, min(run, injection.load - int(injection.severity))) if injection is not None and stale else run
    moment = history.loaded_at(load).replace(tzinfo=None)
    return f"SELECT * EXCLUDE (_load), TIMESTAMP '{moment}' AS loaded_at FROM dimension WHERE _load <= {load}"


def _loads(history: RealHistory) -> Sequence[int]:
    """Return the loads with which a fault may begin: those after the warm-up that have rows, with runs after them."""
    found = history.connection.execute(
        f"SELECT DISTINCT _load FROM rows WHERE _load BETWEEN {history.warm} AND {history.runs - RUNS} ORDER BY 1"
    ).fetchall()
    return [load for (load,) in found]


def _anywhere(_: RealHistory) -> Sequence[str]:
    return [""]


def _numbers(history: RealHistory) -> Sequence[str]:
    return history.shape.numbers


def _pairs(history: RealHistory) -> Sequence[str]:
    """Return pairs of neighbouring columns of one type."""
    names, types = history.shape.measures, history.shape.columns
    return [f"{one},{other}" for at, one in enumerate(names) for other in names[at + 1 :] if types[one] == types[other]]


def _share(least: float, most: float) -> Callable[[random.Random], float]:
    """Return how to draw a share whose logarithm is uniform."""
    return lambda chance: exp(chance.uniform(log(least), log(most)))


def _whole(most: int) -> Callable[[random.Random], float]:
    return lambda chance: float(chance.randint(1, most))


def _replaced(make: Callable[[RealHistory, Injection], str]) -> Callable[[RealHistory, Injection], Strike]:
    """Return a strike that puts an expression in place of one column of struck rows."""
    return lambda history, injection: Strike({injection.column: make(history, injection)})


def _scaled(factor: int) -> Callable[[RealHistory, Injection], Strike]:
    def make(history: RealHistory, injection: Injection) -> str:
        sign = "*" if injection.variant == 0 else "/"
        return f'("{injection.column}" {sign} {factor})::{history.shape.columns[injection.column]}'

    return _replaced(make)


def _new_key(history: RealHistory) -> Mapping[str, str]:
    """Return another key for a row."""
    name = next((key for key in history.shape.key if history.shape.columns[key] != "VARCHAR"), history.shape.key[0])
    if history.shape.columns[name] == "TIMESTAMP":
        return {name: f'"{name}" + INTERVAL 1 SECOND'}
    return {name: f'"{name}" + {NEW_KEY}'}


def _orphan(history: RealHistory, injection: Injection) -> str:
    name = injection.column
    return f"'X' || \"{name}\"" if history.shape.columns[name] == "VARCHAR" else f'"{name}" + {NEW_KEY}'


def _stuck(_: RealHistory, injection: Injection) -> str:
    name = injection.column
    return f'(SELECT last("{name}" ORDER BY _row) FROM rows WHERE _load < {injection.load} AND "{name}" IS NOT NULL)'


def _swap(_: RealHistory, injection: Injection) -> Strike:
    one, other = injection.column.split(",")
    return Strike({one: f'"{other}"', other: f'"{one}"'})


def _late(_: RealHistory, injection: Injection) -> Strike:
    return Strike({}, keep=f"{{run}} >= {injection.load + int(injection.severity)}")


def _repeated(_: RealHistory, injection: Injection) -> Strike:
    first = injection.load - int(injection.severity)
    return Strike({}, again=(f"_load BETWEEN {first} AND {injection.load - 1}", {}))


def _twin(history: RealHistory, _: Injection) -> Strike:
    return Strike({name: f'"twin_{name}"' for name in history.shape.measures})


_KINDS: Final[Mapping[str, FaultKind]] = {
    "NULLs": FaultKind(
        "A share of the values of a column is NULL.",
        lambda history: [name for name in history.shape.columns if name not in history.shape.key],
        _share(0.02, 1),
        _replaced(lambda *_: "NULL"),
    ),
    "duplicated keys": FaultKind(
        "A share of the rows is there twice.", _anywhere, _share(0.01, 1), lambda *_: Strike({}, again=("_struck", {}))
    ),
    "orphans": FaultKind(
        "A share of the references names no row of the dimension.",
        lambda history: [history.shape.reference[0]] if history.shape.reference else [],
        _share(0.01, 1),
        _replaced(_orphan),
    ),
    "late load": FaultKind("No load comes for one, two or three runs; then all of them.", _anywhere, _whole(3), _late),
    "halved load": FaultKind(
        "A load lacks 30 to 90 % of its rows.",
        _anywhere,
        lambda chance: chance.uniform(0.3, 0.9),
        lambda *_: Strike({}, keep="NOT _struck"),
    ),
    "doubled load": FaultKind(
        "A load has 50 to 100 % more rows, each under a key of its own.",
        _anywhere,
        lambda chance: chance.uniform(0.5, 1),
        lambda history, _: Strike({}, again=("_struck", _new_key(history))),
    ),
    "repeated load": FaultKind(
        "The rows of the last one, two or three loads come again with this load; once.", _anywhere, _whole(3), _repeated
    ),
    "unit x 10": FaultKind(
        "A share of the values of a column is ten times as large, or a tenth.",
        _numbers,
        _share(0.05, 1),
        _scaled(10),
        2,
    ),
    "unit x 100": FaultKind(
        "A share of the values of a column is a hundred times as large, or a hundredth.",
        _numbers,
        _share(0.05, 1),
        _scaled(100),
        2,
    ),
    "sign flip": FaultKind(
        "A share of the values of a column has the other sign.",
        _numbers,
        _share(0.02, 1),
        _replaced(lambda _, injection: f'-"{injection.column}"'),
    ),
    "changed encoding": FaultKind(
        "A share of the texts of a column is in quotes, has a blank at its end, or is in the other case.",
        lambda history: history.shape.texts,
        _share(0.02, 1),
        _replaced(lambda _, injection: SPELLINGS[injection.variant].format(f'"{injection.column}"')),
        len(SPELLINGS),
    ),
    "swapped columns": FaultKind(
        "Two columns of one type are swapped in a share of the rows.", _pairs, _share(0.1, 1), _swap
    ),
    "new category": FaultKind(
        "A share of the values of a column of few values is a new one.",
        lambda history: history.shape.categories,
        _share(0.01, 1),
        _replaced(lambda *_: "'unheard-of'"),
    ),
    "shifted time zone": FaultKind(
        "A share of the times of events is one to nine hours earlier or later.",
        lambda history: [history.shape.event] if history.shape.event else [],
        _share(0.1, 1),
        _replaced(
            lambda _, injection: (
                f'"{injection.column}" {"+-"[injection.variant % 2]} INTERVAL {injection.variant // 2 + 1} HOUR'
            )
        ),
        18,
    ),
    "stale dimension": FaultKind(
        "The dimension stays as it was one, two or three loads before.",
        lambda history: [""] if history.has_dimension else [],
        _whole(3),
        lambda *_: Strike({}),
    ),
    "type change": FaultKind(
        "A column of numbers is one of text.",
        _numbers,
        lambda _: 1.0,
        _replaced(lambda _, injection: f'"{injection.column}"::VARCHAR'),
    ),
    "stuck value": FaultKind(
        "A share of the values of a column is the last one before the fault.",
        _numbers,
        _share(0.3, 1),
        _replaced(_stuck),
    ),
    "real errors": FaultKind(
        "A share of the rows is as it was before it was cleaned by hand (beers, flights).",
        lambda history: [""] if history.has_twin else [],
        _share(0.05, 1),
        _twin,
    ),
}
