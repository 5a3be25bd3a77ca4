"""Estimate the counts that a table had before it was randomised, by the record of how that was done."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.table_reader import count
from monitor.releases.treatment.verify import count_name, is_csv
from monitor.terminal.input_bounds import read_text
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.spreadsheet import restore_frame
from remedies import Misfit
from remedies.differential_privacy import Mechanism, Reconstruction, Replacement, reconstruct
from remedies.generalisation import text_of

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST: Final = 1_000_000

_LARGEST: Final = 64_000_000
"""Bytes of a record."""


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """Counts of a randomised table, and estimates of what they were before, with an axis for each column."""

    domains: Mapping[str, Sequence[str]]
    counts: "npt.NDArray[np.int64]"
    found: Reconstruction

    def cells(self) -> Iterator[Mapping[str, Any]]:
        """Yield each cell: its values, how often it comes in the randomised table, and the estimate."""
        for at in np.ndindex(self.counts.shape):
            values = {name: domain[place] for (name, domain), place in zip(self.domains.items(), at, strict=True)}
            yield {"by": values, "randomised": int(self.counts[at]), "estimate": float(self.found.counts[at])}


def read_record(path: Path) -> Mechanism:
    """Read how a table was randomised: what the command printed as JSON, or the record itself.

    Raises:
        Stop: the file cannot be read, or is not that.
    """
    from monitor.terminal.problem import not_read

    try:
        record: Any = json.loads(read_text(path, most=_LARGEST))
    except OSError as error:
        raise Stop(ExitCode.USAGE, not_read("remedy.record", path, error)) from None
    except (ValueError, RecursionError):
        raise Stop(ExitCode.USAGE, Problem("remedy.record", "the file is not JSON", file=str(path))) from None
    for key in ("bill", "guarantee", "reached"):
        record = record.get(key, record) if isinstance(record, Mapping) else record
    try:
        return Mechanism.read(record)
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("remedy.record", str(error), file=str(path))) from None


def reconstruct_table(
    place: TableRef,
    mechanism: Mechanism,
    columns: Sequence[str],
    *,
    method: Literal["bayes", "inverse", "inverse-projected"],
    stop: int | Literal["discrepancy"],
) -> Reconstructed:
    """Count a randomised table where it lives, and estimate the counts before; without columns, of all together.

    Raises:
        Stop: the table cannot be read.
        Misfit: it is not of this mechanism, or the method does not fit the counts.
    """
    columns = tuple(columns) or tuple(mechanism.domains)
    strange = [name for name in columns if name not in mechanism.domains]
    if strange or len(set(columns)) < len(columns):
        raise Misfit(f"expected randomised columns, each once: {', '.join(mechanism.domains)}")
    domains = {name: [str(value) for value in mechanism.domains[name]] for name in columns}
    counts = _counted(place, domains, mechanism.rows)
    result = reconstruct(counts, _factors(mechanism, domains), method=method, stop=stop)
    return Reconstructed(domains, counts, result)


def _counted(place: TableRef, domains: Mapping[str, Sequence[str]], rows: int) -> "npt.NDArray[np.int64]":
    shape = tuple(map(len, domains.values()))
    if math.prod(shape) > _MOST:
        raise Misfit(
            f"the columns have {math.prod(shape):,} cells together, expected at most {_MOST:,}; name fewer columns"
        )
    called = count_name(list(domains))
    rows_of = count(place, list(domains), called=called)
    if is_csv(place):
        rows_of = restore_frame(rows_of, domains)
    counts = np.zeros(shape, dtype=np.int64)
    entries: list[dict[str | None, int]] = [
        {text: place for place, text in enumerate(values)} for values in domains.values()
    ]
    for *cells, times in rows_of[[*domains, called]].itertuples(index=False, name=None):
        at = tuple(texts.get(text_of(cell), -1) for texts, cell in zip(entries, cells, strict=True))
        if -1 in at:
            raise Misfit("the table has values outside the declared domains; it was not randomised with this mechanism")
        counts[at] += int(times)
    if counts.sum() != rows:
        raise Misfit(f"the table has {int(counts.sum()):,} rows; {rows:,} were randomised")
    return counts


def _factors(mechanism: Mechanism, domains: Mapping[str, Sequence[str]]) -> tuple[Replacement, ...]:
    """Return the matrix of each axis; of columns that were drawn together, one over all cells.

    Whatever is kept or drawn together, a part of it is kept or drawn together, with the same retention.
    """
    if mechanism.joint:
        cells = math.prod(map(len, domains.values()))
        return (Replacement(float(mechanism.retentions[0]), cells),)
    kept = dict(zip(mechanism.domains, mechanism.retentions, strict=True))
    return tuple(Replacement(float(kept[name]), len(values)) for name, values in domains.items())
