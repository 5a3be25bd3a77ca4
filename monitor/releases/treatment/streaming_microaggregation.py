"""Microaggregate a file that is larger than memory: it is read twice, and its rows lie on disk in between."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from checks import did_you_mean
from monitor.clock import SystemClock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.output import OutputColumns, publish, row_writer, verify_k
from monitor.releases.treatment.table_reader import changed, table_not_read
from monitor.releases.treatment.verify import WrittenFile
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.temp_folders import draft_folder
from remedies import Guarantee, Misfit, UtilityReport, grouped_by
from sources import Source, SourceError, open_source

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from remedies.microaggregate import Microaggregate
    from remedies.microaggregation.numbers import Floats
    from remedies.microaggregation.out_of_core import OutOfCore

LEAST: Final = 768 * 10**6
"""Bytes with which a table can be treated at all: what is loaded takes half of it."""
_LOADED: Final = 450 * 10**6
_SWEEPS: Final = 3
_SHUFFLED: Final = 24
"""Which part of the memory is rows that wait to be put in random order; permuting them takes three times as much."""
_EXACT: Final = 2**53
_ONLY_IN_MEMORY: Final = ("ordinal", "nominal", "weights", "budget")


def bytes_in(text: str) -> int:
    """Read a size such as 2GB or 512 MiB.

    Raises:
        Stop: it is none, or too little.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT])(i?)B", text)
    if match is None:
        raise _refused(f"'{text}' is not a memory size", "write it as 2GB or 512MiB")
    size = int(Decimal(match[1]) * (1024 if match[3] else 1000) ** (" KMGT".index(match[2])))
    if size < LEAST:
        raise _refused(f"{text} of memory is not enough", f"give it {LEAST // 10**6} MB or more")
    return size


def check_options(remedy: "Microaggregate") -> None:
    """Check that nothing is asked for that only works in memory.

    Raises:
        Stop: something is.
    """
    others = [name for name in _ONLY_IN_MEMORY if getattr(remedy, name)]
    if remedy.method.value != "best":
        others.append("method")
    if others:
        names = ", ".join(f"--{name}" for name in others)
        raise _refused(
            f"--memory supports only numeric columns with the method best; {names} is not supported", "remove one"
        )


def treat_file(
    place: TableRef,
    leaving: OutputColumns,
    remedy: "Microaggregate",
    *,
    memory: int,
    every: Sequence[str],
    progress: Callable[[float], None],
) -> UtilityReport:
    """Write a file, with `memory` bytes at most, in which `every` column together is k-anonymous.

    While it runs, the folder of `out` holds 16 bytes for each cell of the columns and 32 for each row, and all columns
    once more if the rows come out in random order, in a folder that only its owner can read.

    Raises:
        Misfit: a column is not numeric or has missing values, or there are fewer than k rows.
        Stop: the file cannot be read or written, changed while it was read, or the output does not hold that.
    """
    from remedies.microaggregation.out_of_core import OutOfCore

    begun, out = monotonic(), leaving.out
    written = WrittenFile(memory_limit=f"{memory // 2 // 10**6}MB").exactly(every)
    prove = verify_k(every, k=remedy.k, clock=SystemClock(), written=written)
    if place.target.source.files is None:
        raise _refused(
            f"'{place.name}' is not a file", "--memory supports CSV and Parquet files only; export the table to one"
        )
    spec = replace(place.target.source, memory_limit=f"{memory // 4 // 10**6}MB")
    try:
        with open_source(spec) as source, draft_folder(out.parent) as folder:
            table = source.table(place.target.subject.relation).drop(*leaving.drop)
            kinds = [_kind(table, name) for name in remedy.columns]
            sweeps = _SWEEPS if remedy.sweeps is None else remedy.sweeps[0]
            most = _most(memory, columns=len(kinds), k=remedy.k)
            work = OutOfCore(folder, kinds, remedy.k, most=most, seed=remedy.seed, sweeps=sweeps)
            work.group(_blocks(source, table, remedy.columns), progress=progress)
            how = {"order": leaving.order, "memory": memory // _SHUFFLED}
            write = partial(_write, _Reading(source, table), work, (remedy.columns, every), how=how)
            reached = publish(out, write, prove)
    except SourceError as error:
        raise table_not_read(error) from None
    except OSError as error:
        raise _refused(f"'{out.parent}' cannot be written: {error.strerror}", "free disk space there") from None
    bill = _bill(remedy, work, every, reached, seconds=monotonic() - begun, sweeps=sweeps)
    return replace(bill, row_order=leaving.order)


def _most(memory: int, *, columns: int, k: int) -> int:
    """Return how many rows fit: a quarter is the engine's, and a row is held in several forms at once."""
    from remedies.microaggregation.out_of_core import fewest

    most = int((0.75 * memory - _LOADED + 0.25 * LEAST) / (80 * columns + 400))
    if most < fewest(k):
        raise _refused("the smallest possible block of rows does not fit", "increase the memory limit, or reduce k")
    return most


def _kind(table: "ir.Table", name: str) -> np.dtype:
    if name not in table.columns:
        raise Misfit(f"column '{name}' not found{did_you_mean(name, table.columns)}")
    kind = table.schema()[name]
    if not (kind.is_integer() or kind.is_floating()):
        text = "expected integers or floats: remove --memory, or drop the column"
        raise Misfit(f"column '{name}' has type {kind}; {text}")
    result: np.dtype = kind.to_numpy()
    return result


def _blocks(source: Source, table: "ir.Table", columns: Sequence[str]) -> "Iterator[Floats]":
    for piece in source.columns(source.compile(table.select(*columns))):
        yield np.column_stack([_numbers(cells.arrow(), name) for cells, name in zip(piece, columns, strict=True)])


def _numbers(cells: "pa.Array", name: str) -> "Floats":
    """Return cells as floats.

    Raises:
        Misfit: some are missing, not finite or no float64.
    """
    missing = "missing or infinite values; with --memory, fill them or drop the records first"
    if cells.null_count:
        raise Misfit(f"column '{name}' has {missing}")
    numbers = cells.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise Misfit(f"column '{name}' has {missing}")
    if numbers.dtype.kind in "iu" and len(numbers) and max(int(numbers.max()), -int(numbers.min())) >= _EXACT:
        raise Misfit(f"column '{name}' holds whole numbers of 2**53 or more; remove --memory")
    values: Floats = numbers.astype(np.float64)
    return values


@dataclass(frozen=True, slots=True)
class _Reading:
    """An open source, and the table in it."""

    source: Source
    table: "ir.Table"


def _write(
    reading: _Reading,
    work: "OutOfCore",
    names: tuple[Sequence[str], Sequence[str]],
    draft: Path,
    *,
    how: Mapping[str, Any],
) -> None:
    """Read all columns again, and write them with what was found in the place of the treated ones.

    `names`: the treated columns, and all that are grouped by; of these the others have one zero, without a sign.
    `how`: order and memory of `row_writer`.
    """
    import pyarrow as pa

    columns, every = names
    source, table = reading.source, reading.table
    schema = table.schema().to_pyarrow()
    others = [schema.get_field_index(name) for name in every if name not in columns]
    given_out = _Rows(work.rows())
    with row_writer(draft, schema, **how) as write:
        for piece in source.columns(source.compile(table)):
            whole = [column.arrow().cast(field.type) for column, field in zip(piece, schema, strict=True)]
            for first in range(0, len(whole[0]), work.handful):
                cells = [column.slice(first, work.handful) for column in whole]
                for place in others:
                    cells[place] = _one_zero(cells[place])
                _replace(cells, schema, columns, given_out)
                write(pa.record_batch(cells, schema=schema))
    if given_out.more():
        raise changed()


def _replace(cells: "list[pa.Array]", schema: "pa.Schema", columns: Sequence[str], given_out: "_Rows") -> None:
    """Put what was found in the place of what was read.

    Raises:
        Stop: what was read is not what it was.
    """
    import pyarrow as pa

    before, after = given_out.next(len(cells[0]))
    for number, name in enumerate(columns):
        place = schema.get_field_index(name)
        if not np.array_equal(before[:, number], _numbers(cells[place], name)):
            raise changed()
        kind = schema.field(place).type
        cells[place] = pa.array(after[:, number].astype(kind.to_pandas_dtype()), type=kind)


def _one_zero(cells: "pa.Array") -> "pa.Array":
    import pyarrow as pa
    from pyarrow import compute

    return compute.add(cells, pa.scalar(0.0, cells.type)) if pa.types.is_floating(cells.type) else cells


class _Rows:
    """Takes as many rows as are asked for from pieces of other sizes."""

    def __init__(self, pieces: "Iterator[tuple[Floats, Floats]]") -> None:
        self._pieces = pieces
        self._here: tuple[Floats, Floats] | None = next(pieces, None)

    def next(self, rows: int) -> "tuple[Floats, Floats]":
        """Return the next rows: as read, as given out."""
        got: list[tuple[Floats, Floats]] = []
        while rows and self._here is not None:
            before, after = self._here
            got.append((before[:rows], after[:rows]))
            rest = before[rows:], after[rows:]
            rows -= len(got[-1][0])
            self._here = rest if len(rest[0]) else next(self._pieces, None)
        if rows:
            raise changed()
        return np.concatenate([item for item, _ in got]), np.concatenate([other for _, other in got])

    def more(self) -> bool:
        """Check whether rows are left."""
        return self._here is not None


def _bill(
    remedy: "Microaggregate", work: "OutOfCore", every: Sequence[str], reached: int, *, seconds: float, sweeps: int
) -> UtilityReport:
    result = work.found
    varies = result.total > 0
    lost = np.divide(100 * result.lost, result.total, out=np.zeros(len(varies)), where=varies)
    return UtilityReport(
        remedy=remedy.name,
        rows=result.rows,
        rows_changed=result.rows_changed,
        rows_suppressed=0,
        cells_changed=dict(zip(remedy.columns, result.changed.tolist(), strict=True)),
        information_lost=dict(zip(remedy.columns, lost.tolist(), strict=True)),
        guarantee=Guarantee("k_anonymity", tuple(every), {"k": remedy.k}, {"k": reached}, grouped_by(every)),
        figures={
            "method": "best",
            "seed": remedy.seed,
            "k": result.smallest,
            "groups": result.groups,
            "largest_group": result.largest,
            "information_loss": float(lost[varies].mean()) if varies.any() else 0.0,
            "lower_bound": None,
            "sweeps": [sweeps],
            "seconds": seconds,
        },
    )


def _refused(message: str, hint: str) -> Stop:
    return Stop(ExitCode.USAGE, Problem("remedy.memory", message, hint=hint))
