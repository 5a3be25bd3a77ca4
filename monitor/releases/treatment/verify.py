"""Read a file again that was written, and compare it with the limits: the engine groups it again, exactly as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checks import Check, Json, Status, load_catalog
from monitor.clock import Clock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.scan.results import Subject, Target
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.spreadsheet import restore_frame
from remedies import Misfit, Refused
from sources import CsvOptions, SourceSpec

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from monitor.scan.results import CheckResult
    from remedies import Guarantee
    from remedies.code import Code
    from remedies.generalisation.frequencies import Frequencies
    from remedies.generalisation.limits import Closeness, Limited

_LONG: Final = 2**63
_DIGITS: Final = 38
"""Of the widest decimals that DuckDB has."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """How a file is read again. `texts`: columns of texts, whatever they look like: `01` and `1` are two of them.

    `kinds`: columns of numbers that a reader of CSV would take for other ones, and DuckDB's types for them.
    """

    texts: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    memory_limit: str = "2GB"

    @classmethod
    def of(cls, schema: "pa.Schema") -> "WrittenFile":
        """Read a file as it was written."""
        import pyarrow as pa

        kinds = {item.name: _duckdb_type(item.type) for item in schema}
        return cls(
            texts=[item.name for item in schema if pa.types.is_string(item.type)],
            kinds={name: kind for name, kind in kinds.items() if kind is not None},
        )

    def exactly(self, columns: Sequence[str]) -> "WrittenFile":
        """Read these columns of a CSV as the texts that stand there: as numbers, two long ones could become one."""
        return replace(self, texts=tuple(dict.fromkeys((*self.texts, *columns))))

    def place(self, path: Path) -> TableRef:
        """Return the file as a table."""
        types = {**self.kinds, **dict.fromkeys(self.texts, "VARCHAR")} if path.suffix == ".csv" else {}
        csv = CsvOptions(types=types, quoted_nulls=False)  # "" was written for an empty text, nothing for NULL
        spec = SourceSpec(
            name="the output",
            base=path.parent,
            files=escape(path.name),
            table="output",
            csv=csv,
            memory_limit=self.memory_limit,
            query_timeout=timedelta(days=1),  # only this process waits for the file
        )
        return TableRef(Target(Subject("the output", "output", ()), spec))


def _duckdb_type(kind: "pa.DataType") -> str | None:
    """Return the type of numbers that would come back otherwise: rounded, or with other digits; None for all else."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})" if kind.precision <= _DIGITS else None
    return {pa.uint64(): "UBIGINT", pa.float32(): "FLOAT"}.get(kind)


def texts_in(frame: "pd.DataFrame") -> Sequence[str]:
    """Return the columns of texts."""
    from pandas.api.types import is_string_dtype

    return [str(name) for name in frame.columns if is_string_dtype(frame[name].dtype)]


def verify_file(
    remedy: "Limited", columns: Sequence[str], before: "Frequencies", *, written: WrittenFile, clock: Clock
) -> Callable[[Path], Mapping[str, Json]]:
    """Return what finds in a file that `columns` hold all that a remedy promises: k, l and t.

    k and l are counted by the checks `k_anonymity` and `l_diversity`; t is the distance from the distribution that
    `before` has, the table that was given, and beside it that from the file's own.

    The function raises Stop where something is not reached, or cannot be counted.
    """

    def found(path: Path) -> Mapping[str, Json]:
        place = written.exactly(columns).place(path)
        checks = [k_check(columns, remedy.k), *(_l(columns, name, item) for name, item in remedy.l.items())]
        (first, *others) = place.ask(checks, clock)
        reached = reached_in(first, columns)
        diverse = {
            name: reached_in(result, columns)[f"l_{item.kind}"]
            for (name, item), result in zip(remedy.l.items(), others, strict=True)
        }
        close = {name: _t(place, columns, name, item, before) for name, item in remedy.t.items()}
        return {"k": reached["k"], "l": diverse, "t": close}

    return found


def verify_bounds(remedy: "Code", written: Callable[[], WrittenFile] = WrittenFile) -> Callable[[Path], "Guarantee"]:
    """Return what counts, in a file, the numbers of each column that lie beyond its bounds.

    `written`: how to read it, once it is there.

    The function raises Stop where there is one, or where the file cannot be read.
    """

    def found(path: Path) -> "Guarantee":
        from monitor.releases.treatment.table_reader import reading

        with reading(replace(written(), texts=texts).place(path)) as (source, table):
            beyond = [_beyond(table[name], *remedy.beyond(name)) for name in remedy.columns]
            counts = {f"c{number}": item.sum() for number, item in enumerate(beyond)}
            (row,) = source.fetch(source.compile(table.aggregate(**counts)))
        try:
            return remedy.guarantee(dict(zip(remedy.columns, map(int, row.values()), strict=True)))
        except Refused as error:
            raise limits_not_met(str(error), remedy.columns) from None

    texts = remedy.columns if remedy.form.value == "label" else ()
    return found


def _beyond(column: Any, low: Any, high: Any, with_top: bool) -> Any:
    """Return an expression that is 1 for a number beyond its bounds, else 0."""
    import ibis

    numbers = column if column.type().is_integer() else column.try_cast("float64")
    tests = [] if low is None else [numbers < exact(low)]
    if high is not None:
        tests.append(numbers >= exact(high) if with_top else numbers > exact(high))
    return ibis.or_(*tests).ifelse(1, 0)  # 0 for what is no number: neither beyond nor within


def exact(bound: Any) -> int | float:
    """Return a bound as an engine takes it: whole ones as whole numbers, which are compared without rounding."""
    return int(bound) if bound == int(bound) and abs(bound) < _LONG else float(bound)


def reached_in(result: "CheckResult", columns: Sequence[str]) -> Mapping[str, Any]:
    """Return what a check has seen of an output, which it passes.

    Raises:
        Stop: it does not.
    """
    outcome = result.outcome
    if outcome.status in {Status.PASS, Status.WARN}:  # it warns of floats, whatever was done to them
        return outcome.observed
    code = ExitCode.FAILED if outcome.status is Status.FAIL else ExitCode.NOT_EVALUATED
    raise limits_not_met(str(outcome.message), columns, code=code)


def limits_not_met(text: str, columns: Sequence[str], *, code: ExitCode = ExitCode.FAILED) -> Stop:
    """Return that an output is not given out, and why."""
    problem = Problem(
        "remedy.not_proved",
        f"the output failed verification and is not published: {text}",
        hint=f"quasi-identifiers verified: {', '.join(columns)}; treat all of them",
    )
    return Stop(code, problem)


def k_check(columns: Sequence[str], k: int) -> Check:
    """Return the check that counts records that are alike, NULL being a value of its own."""
    model: Any = load_catalog()["k_anonymity"]
    check: Check = model.model_validate(
        {"type": "k_anonymity", "quasi_identifiers": tuple(columns), "k": k, "other_readings": False}
    )
    return check


def _l(columns: Sequence[str], name: str, wanted: Any) -> Check:
    model: Any = load_catalog()["l_diversity"]
    check: Check = model.model_validate(
        {
            "type": "l_diversity",
            "id": f"l-{name}" if name.isascii() and name.isidentifier() else None,
            "quasi_identifiers": tuple(columns),
            "sensitive": (name,),
            "l": wanted.l,
            "variant": wanted.kind,
            "c": wanted.c,
            **{word: (name,) for word, is_set in wanted.declared.items() if is_set},
        }
    )
    return check


def _t(
    place: TableRef, columns: Sequence[str], name: str, closeness: "Closeness", before: "Frequencies"
) -> Mapping[str, Json]:
    """Read a file's combinations again, and compare each class with the table that was given.

    Raises:
        Stop: one is too far from it.
    """
    from checks.risk.pairs import readings_of
    from monitor.releases.treatment.table_reader import count
    from remedies.generalisation import text_of
    from remedies.generalisation.criteria import farthest

    counts = count(place, [*columns, name], called=count_name([*columns, name]))
    if is_csv(place):
        counts = restore_frame(counts, {name: map(text_of, before.sensitive_values[name])})
    try:
        built = closeness.built(name, before.sensitive_values[name])
        readings = readings_of(before.sensitive_values[name], **closeness.declared)
        how: Any = {"distance": closeness.how, "hierarchy": built, "readings": readings}
        result = farthest(counts, columns, name, reference=before, **how)
    except Misfit as error:
        raise limits_not_met(str(error), columns, code=ExitCode.NOT_EVALUATED) from None
    if result.above(closeness.t):
        raise limits_not_met(
            f"a class is {result.t:.4f} away from the input in '{name}'; {closeness.t} is allowed", columns
        )
    return {"t": result.t, "t_of_output": result.t_of_output}


def is_csv(place: TableRef) -> bool:
    """Return whether a table is a CSV file, whose texts may have an apostrophe against spreadsheets."""
    return (place.target.source.files or "").endswith(".csv")


def count_name(columns: Sequence[str]) -> str:
    """Return a name for counts that no column has."""
    name = "count"
    while name in columns:
        name += "_"
    return name
