"""Randomise a table, and give out a file whose very bytes were read again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.treatment.output import write_verified
from monitor.releases.treatment.table_reader import columns_in, read
from monitor.releases.treatment.verify import WrittenFile
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.spreadsheet import restore_frame
from remedies import Misfit, RowOrder
from sources import did_you_mean

if TYPE_CHECKING:
    from decimal import Decimal

    import pandas as pd

    from remedies import Guarantee, Progress, UtilityReport
    from remedies.differential_privacy import Mechanism
    from remedies.randomise import Randomise
    from remedies.synthesise import Synthesise

ASIDE = ("rows_changed", "cells_changed", "cells_blanked", "cells_filled")
"""What a bill says of the table that was given: it does not go with the output."""


@dataclass(frozen=True, slots=True)
class RandomiseRequest:
    """A table, how it is randomised, which of its columns leave, and in which order its rows.

    `limit`: the release's on epsilon.
    """

    place: TableRef
    remedy: "Randomise"
    kept: Sequence[str]
    limit: "Decimal | None" = None
    order: RowOrder = RowOrder.RANDOM


def blind(place: TableRef) -> TableRef:
    """Return a table so that how a value is read does not depend on the others: cells of CSV are texts."""
    return TableRef(replace(place.target, source=replace(place.target.source, blind=True)))


def kept_columns(place: TableRef, names: Sequence[str], *, drop: Sequence[str], drop_rest: bool) -> tuple[str, ...]:
    """Return the columns that leave, in the order of the table.

    Raises:
        Stop: a column is not there, or is both randomised and dropped, or the table cannot be read.
    """
    there = tuple(columns_in(place))
    problems = [
        Problem("remedy.misfit", f"column '{name}' not found{did_you_mean(name, there)}")
        for name in dict.fromkeys((*names, *drop))
        if name not in there
    ]
    both = [name for name in names if name in drop]
    if both:
        problems.append(Problem("remedy.misfit", f"column '{both[0]}' is both randomised and dropped"))
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    return tuple(name for name in there if name in names or not (drop_rest or name in drop))


def randomise_into(randomise_request: RandomiseRequest, out: Path, progress: "Progress") -> "UtilityReport":
    """Randomise a table, write it, and return the bill, with the guarantee of what was read again from the file.

    Raises:
        Stop: the table cannot be read or does not fit the declarations, or the file cannot be written.
        Refused: the file is not as it was randomised, or the release does not allow it; nothing is left behind.
    """
    from remedies.differential_privacy import Mechanism

    try:
        treated = randomise_request.remedy.treat(
            read(randomise_request.place, randomise_request.kept), order=randomise_request.order, progress=progress
        )
    except Misfit as error:
        hint = "set --other A=VALUE for NULL and values outside the domain of A"
        outside = "outside its declared domain" in str(error)
        raise Stop(ExitCode.USAGE, Problem("remedy.misfit", str(error), hint=hint if outside else None)) from None
    mechanism = Mechanism.read(treated.bill.guarantee.reached)
    frame = treated.frame if out.suffix == ".parquet" else spelled(treated.frame, randomise_request.remedy.columns)
    guarantee = write_verified(frame, out, _prove(randomise_request, mechanism), order=randomise_request.order)
    return replace(treated.bill, guarantee=guarantee)


def synthesise_into(
    place: TableRef, remedy: "Synthesise", out: Path, *, limit: "Decimal | None", progress: "Progress"
) -> "UtilityReport":
    """Write a synthetic table, and return the bill, with the guarantee of what was read again from the file.

    Raises:
        Stop: the table cannot be read or does not fit the declarations, or the file cannot be written.
        Refused: the file is not as it was drawn, or the release does not allow it; nothing is left behind.
    """
    from remedies.randomise import keep_to_epsilon

    if limit is not None:
        keep_to_epsilon(remedy.loss, limit)
    wanted = (*remedy.columns, *([remedy.unit] if remedy.unit else []))
    source = blind(place)
    kept_columns(source, wanted, drop=(), drop_rest=True)
    treated = remedy.apply(read(source, wanted), progress=progress)
    frame = treated.frame if out.suffix == ".parquet" else spelled(treated.frame, remedy.columns)

    def prove(draft: Path) -> "Guarantee":
        after = read_again(WrittenFile().exactly(remedy.columns).place(draft), remedy.labels, draft)
        return remedy.guarantee(treated.bill.guarantee.reached, after)

    return replace(treated.bill, guarantee=write_verified(frame, out, prove, order=RowOrder.RANDOM))


def _prove(randomise_request: RandomiseRequest, mechanism: "Mechanism") -> "Callable[[Path], Guarantee]":
    def prove(draft: Path) -> "Guarantee":
        from remedies.randomise import keep_to_epsilon

        if randomise_request.limit is not None:
            keep_to_epsilon(mechanism.epsilon, randomise_request.limit, unchanged=mechanism.unchanged)
        written = WrittenFile().exactly(randomise_request.remedy.columns)
        return randomise_request.remedy.guarantee(mechanism, read_again(written.place(draft), mechanism.domains, draft))

    return prove


def read_again(place: TableRef, domains: "Mapping[str, Sequence[object]]", draft: Path) -> "pd.DataFrame":
    """Read a randomised or synthetic file, with the values of its domains in the place of the texts of a CSV file.

    Raises:
        Stop: it cannot be read, or two values of a domain are one in it.
    """
    from remedies.generalisation import text_of

    frame = read(place)
    if draft.suffix != ".csv":
        return frame
    return restore_frame(frame, {name: map(text_of, values) for name, values in domains.items()})


def spelled(frame: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    """Return the frame with the texts of values that a CSV file would spell otherwise, such as times."""
    from pandas.api.types import is_bool_dtype, is_integer_dtype, is_string_dtype

    from remedies.generalisation import texts_of

    plain = (is_bool_dtype, is_integer_dtype, is_string_dtype)
    odd = [name for name in columns if not any(test(frame[name].dtype) for test in plain)]
    spelled = frame.copy(deep=False)
    for name in odd:
        spelled[name] = texts_of(frame[name])
    return spelled
