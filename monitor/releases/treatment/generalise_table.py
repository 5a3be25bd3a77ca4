"""Recode a table that may be larger than memory: counted where it lives, then written in pieces.

Ctrl-C ends the search for levels with what it has found, where a person has said that this would do.
"""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from checks import Json
from monitor.clock import Clock
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.output import OutputColumns, Rewriting, check_not_read, publish, rewrite
from monitor.releases.treatment.table_reader import changed, count
from monitor.releases.treatment.verify import WrittenFile, count_name, verify_file
from remedies import StopRequest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from remedies import Progress, UtilityReport
    from remedies.generalisation.frequencies import Frequencies
    from remedies.generalisation.recoded import ChosenLevels, Recodes


@dataclass(frozen=True, slots=True)
class RecodingRequest:
    """A table that is to be recoded, and how often each combination of the remedy's columns comes in it.

    `every`: the quasi-identifiers that have to be alike together; those of the remedy, and maybe more. `called`: the
    column of `counts` that says how often.
    """

    place: TableRef
    remedy: "Recodes"
    every: Sequence[str]
    counts: "pd.DataFrame"
    called: str

    @classmethod
    def of(cls, place: TableRef, remedy: "Recodes", every: Sequence[str]) -> "RecodingRequest":
        """Count the combinations where the table lives: only they come, however many rows it has.

        They are put in order, since engines group in any: sums of floats, and so ties, are then the same every time.

        Raises:
            Stop: it cannot be read, or has no such column.
        """
        names = (*remedy.columns, *remedy.sensitive)
        called = count_name(names)
        return cls(place, remedy, every, _ordered(count(place, names, called=called), names), called)

    def check_size(self) -> None:
        """Refuse a table that is too small.

        Raises:
            Misfit: it has fewer than k rows.
        """
        self.remedy.check_size(int(self.counts[self.called].sum()))

    def frequencies(self) -> "Frequencies":
        """Find the values in the remedy's hierarchies.

        Raises:
            Misfit: they have no place there, or there are fewer than k rows.
        """
        from remedies.generalisation.frequencies import read_counts

        self.check_size()
        remedy = self.remedy
        return read_counts(self.counts, remedy.built(self.counts), sensitive=remedy.sensitive, count=self.called)


def generalise_table(
    question: RecodingRequest,
    leaving: OutputColumns,
    *,
    clock: Clock,
    progress: "Progress",
    look: Callable[[TableRef], None] | None = None,
    key: bytes | None = None,
) -> "UtilityReport":
    """Choose what becomes of a table, write it, and check in the file that it keeps the limits of the remedy.

    Memory: the combinations, one piece of rows, and what `row_writer` holds. `look`: is shown the file, once it passed,
    before it has its name. `leaving.drop`: none of `question.every`, and none that the remedy looks at. `key`: by which
    what is hidden in addition is chosen, None for one that no other run has.

    Raises:
        Misfit, Refused: as the remedy.
        Stop: the file cannot be read or written, changed while it was read, or the output does not hold it.
    """
    check_not_read(leaving.out, question.place)
    remedy, frequencies = question.remedy, question.frequencies()
    with stop_on_interrupt(progress, wanted=getattr(remedy, "budget", None) is not None) as tell:
        chosen = remedy.choose(frequencies, progress=tell, key=key)
    writer = _Writer(question.place, chosen, question.every, leaving=leaving)

    def examine_draft(draft: Path) -> Mapping[str, Json]:
        reached = verify_file(remedy, question.every, frequencies, written=writer.written, clock=clock)(draft)
        if look is not None:
            look(writer.written.place(draft))
        return reached

    reached = publish(leaving.out, writer.write, examine_draft)
    return replace(remedy.bill(chosen, remedy.guarantee(reached, question.every)), row_order=leaving.order)


class _Writer:
    """Writes a table as a recoding makes it. `written`: how the file is to be read again."""

    def __init__(
        self, place: TableRef, chosen: "ChosenLevels", every: Sequence[str], *, leaving: OutputColumns
    ) -> None:
        from remedies.generalisation.frequencies import Rows

        self._place, self._recoding, self._every, self._leaving = place, chosen.recoding, every, leaving
        self.written = WrittenFile()
        self._rows = Rows(chosen.recoding.frequencies)

    def write(self, draft: Path) -> None:
        """Write what is left of the table.

        Raises:
            Stop: it cannot be read, or is not what it was when it was counted.
        """
        rewriting = Rewriting(self._schema, self._recoded, self._recoding.frequencies.rows)
        self.written = rewrite(draft, self._place, rewriting, leaving=self._leaving)

    def _schema(self, before: "pa.Schema") -> "pa.Schema":
        """Return the types of the output: texts for what has labels, all else as it is."""
        import pyarrow as pa

        labelled = {
            column.domain.column for column in self._recoding.columns if not (column.is_unchanged or column.keeps_type)
        }
        return pa.schema([(item.name, pa.string() if item.name in labelled else item.type) for item in before])

    def _recoded(self, piece: "pa.Table", _: "pa.Schema", schema: "pa.Schema") -> "pa.Table":
        import pandas as pd
        import pyarrow as pa

        from remedies.generalisation.recoding import one_zero

        frame: pd.DataFrame = piece.to_pandas(types_mapper=pd.ArrowDtype)
        combinations = self._rows.find(frame)
        if (combinations < 0).any():
            raise changed()
        treated = self._recoding.apply(frame, combinations)
        for name in treated.columns.intersection(list(self._every)):
            treated[name] = one_zero(treated[name])
        columns = [pa.array(treated[field.name], from_pandas=False).cast(field.type) for field in schema]
        return pa.table(columns, schema=schema)


def _ordered(counts: "pd.DataFrame", names: Sequence[str]) -> "pd.DataFrame":
    """Put combinations in the order of their values, as far as these have one."""
    import pyarrow as pa

    kinds: Mapping[str, Any] = dict(counts.dtypes)
    sortable = [name for name in names if not pa.types.is_nested(kinds[name].pyarrow_dtype)]
    try:
        return counts.sort_values(sortable, ignore_index=True) if sortable else counts
    except OverflowError:  # days without end: the hierarchy refuses them
        return counts


@contextmanager
def stop_on_interrupt(progress: "Progress", *, wanted: bool) -> "Iterator[Progress]":
    """Return what tells of progress; when Ctrl-C was pressed, it says once that it is enough. A second one ends it all.

    `wanted`: False leaves Ctrl-C as it is.
    """
    if not wanted:
        yield progress
        return
    pressed = warned = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        del number, frame
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def tell(share: float) -> None:
        nonlocal warned
        progress(share)
        if pressed and not warned:
            warned = True
            raise StopRequest

    before = signal.signal(signal.SIGINT, press)
    try:
        yield tell
    finally:
        signal.signal(signal.SIGINT, before)
