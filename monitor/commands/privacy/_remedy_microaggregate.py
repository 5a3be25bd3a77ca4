"""`tablewatch privacy remedy microaggregate`: records become the centroid of their group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from monitor.commands._options import limits_in_words, names_in, note_compiling, pairs_in, with_progress
from monitor.commands.privacy._remedy_options import (
    Drop,
    DropIdentifiers,
    Force,
    Given,
    KeepOrder,
    Out,
    drop_columns,
    each_once,
    row_order,
    with_uniqueness,
)
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

if TYPE_CHECKING:
    from monitor.releases.disclosure.table_ref import TableRef
    from remedies import RowOrder, UtilityReport
    from remedies.microaggregate import Microaggregate


_NO_COLUMNS: Final = Problem(
    "remedy.no_columns", "no column is named: name the quasi-identifiers", hint="--columns a,b,c"
)


def microaggregate(
    ctx: typer.Context,
    given: Given,
    out: Out,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Quasi-identifiers; by default the columns classified so."),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Minimum equivalence class size.")] = 5,
    method: Annotated[str, typer.Option(help="best, npn, fdh, mdav or vmdav.")] = "best",
    nominal: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Nominal columns: values without an order.")
    ] = None,
    ordinal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=LOW<MID<HIGH", help="Ordinal column with its levels; just A if they sort naturally. Repeatable."
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="A=2,...", help="Weight of a column's squared distances.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same groups.")] = 0,
    budget: Annotated[str | None, typer.Option(metavar="30s", help="Time budget of best.")] = None,
    sweeps: Annotated[
        str | None, typer.Option(metavar="N,...", help="Number of sweeps, to reproduce an earlier result.")
    ] = None,
    anchors: Annotated[int, typer.Option(help="Number of anchors of fdh.")] = 3,
    divisor: Annotated[float, typer.Option(help="Divisor of the radius around an anchor, for fdh.")] = 3,
    gamma: Annotated[float, typer.Option(help="Group growth factor gamma of vmdav.")] = 0.2,
    memory: Annotated[
        str | None, typer.Option(metavar="2GB", help="Process a file larger than memory within this memory limit.")
    ] = None,
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Group records by k or more, and write each as the centroid of its group.

    The file is verified, and published only if each equivalence class has at least k records.

    Example: tablewatch privacy remedy microaggregate people.csv safe.csv --columns age,income --k 5
    """
    from remedies.microaggregate import Microaggregate

    parameters: dict[str, Any] = {
        "columns": names_in(columns),
        "k": k,
        "method": method,
        "nominal": names_in(nominal),
        "ordinal": dict(map(_levels, ordinal or [])),
        "weights": pairs_in(weights),
        "seed": seed,
        "budget": budget,
        "sweeps": None if sweeps is None else sweeps.split(","),
        "anchors": anchors,
        "divisor": divisor,
        "gamma": gamma,
    }
    output = _OutputOptions(given, out, memory, drop, drop_identifiers, force, row_order(kept=keep_order))
    _treat(ctx.obj, output, Microaggregate, parameters)


def _levels(text: str) -> tuple[str, Sequence[str]]:
    name, _, levels = text.partition("=")
    return name, levels.split("<") if levels else ()


@dataclass(frozen=True, slots=True)
class _OutputOptions:
    """The options beside the parameters of the remedy."""

    given: str
    out: Path
    memory: str | None
    drop: str | None
    drop_identifiers: bool
    force: bool
    order: "RowOrder"


def _treat(
    invocation: Invocation, output: _OutputOptions, remedy: "type[Microaggregate]", parameters: dict[str, Any]
) -> None:
    """Treat a table, write and verify the file, and print its utility report."""
    from checks import ColumnClass
    from monitor.clock import SystemClock
    from monitor.config.project import protected_files
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.output import check_not_read, check_place, verify_k, write_verified
    from monitor.releases.treatment.table_reader import columns_in, read
    from monitor.releases.treatment.verify import WrittenFile, texts_in
    from monitor.reporting.terminal_views.generalisation import draw_bill
    from remedies.generalisation.recoding import one_zero

    text, out = output.given, output.out
    check_place(out, text=text, force=output.force, protected=protected_files(invocation))
    place = table_ref_of(text, invocation)
    check_not_read(out, place)
    names = place.classified(ColumnClass.QUASI_IDENTIFIER)
    parameters["columns"] = parameters["columns"] or names
    if not parameters["columns"]:
        raise Stop(ExitCode.USAGE, _NO_COLUMNS)
    with limits_in_words(together=""):
        chosen = remedy.model_validate({name: value for name, value in parameters.items() if value is not None})
    every = tuple(dict.fromkeys((*chosen.columns, *names)))
    there = columns_in(place)
    left_out, _ = drop_columns(place, output.drop, identifiers=output.drop_identifiers, there=there, needed=every)
    note_compiling(invocation, [chosen])
    if output.memory is None:
        frame = read(place, [name for name in there if name not in left_out])
        treated = with_progress(chosen.name, lambda tell: chosen.apply(frame, progress=tell))
        bill = replace(treated.bill, row_order=output.order)
        safe = treated.frame.assign(**{name: one_zero(treated.frame[name]) for name in names})
        written = WrittenFile(texts=texts_in(safe)).exactly(every)
        prove = verify_k(every, k=chosen.k, clock=SystemClock(), written=written)
        reached = write_verified(safe, out, prove, order=output.order)
    else:
        bill = _streamed(place, output, chosen, every, drop=left_out)
        reached = int(str(bill.guarantee.reached["k"]))
    result = {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": text,
        "output": str(out),
        "quasi_identifiers": list(every),
        "dropped": list(left_out),
        "seconds": bill.figures["seconds"],
        "method": bill.figures["method"],
        "k": reached,
        "information_loss": bill.figures["information_loss"],
        "lower_bound": bill.figures["lower_bound"],
        "bill": bill.as_json(),
    }
    result = with_uniqueness(result, out, every, invocation)
    invocation.emit(result, lambda console: draw_bill(console, bill, out, reached, columns=every))


def _streamed(
    place: "TableRef", output: _OutputOptions, remedy: "Microaggregate", every: Sequence[str], *, drop: Sequence[str]
) -> "UtilityReport":
    from monitor.releases.treatment.output import OutputColumns
    from monitor.releases.treatment.streaming_microaggregation import bytes_in, check_options, treat_file

    size = bytes_in(output.memory or "")
    check_options(remedy)
    leaving = OutputColumns(output.out, drop, output.order)
    return with_progress(
        remedy.name,
        lambda tell: treat_file(place, leaving, remedy, memory=size, every=every, progress=tell),
    )


def code(
    ctx: typer.Context,
    given: Given,
    out: Out,
    top: Annotated[
        list[str] | None,
        typer.Option(metavar="A=80,...", help="Top code: this number of column A and all above are merged."),
    ] = None,
    bottom: Annotated[
        list[str] | None,
        typer.Option(metavar="A=20,...", help="Bottom code: all numbers of column A below this one are merged."),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--as",
            help="number: the bound, so that the column stays numeric; label: the text >=80.",
        ),
    ] = "number",
    drop: Drop = None,
    drop_identifiers: DropIdentifiers = False,
    keep_order: KeepOrder = False,
    force: Force = False,
) -> None:
    """Code the largest and the smallest numbers, so that extremes do not stand out.

    The file is verified, and published only if no number lies beyond a bound.

    Example: tablewatch privacy remedy code people.csv safe.csv --top age=80,income=200000 --bottom age=18
    """
    from monitor.config.project import protected_files
    from monitor.releases.disclosure.table_ref import table_ref_of
    from monitor.releases.treatment.output import OutputColumns, check_place
    from monitor.releases.treatment.table_reader import columns_in
    from monitor.releases.treatment.top_bottom_coding import code_extremes
    from monitor.reporting.terminal_views.generalisation import draw_coding
    from remedies.code import Code

    invocation: Invocation = ctx.obj
    check_place(out, text=given, force=force, protected=protected_files(invocation))
    with limits_in_words(""):
        remedy = Code.model_validate({"top": _bounds(top), "bottom": _bounds(bottom), "as": form})
    place = table_ref_of(given, invocation)
    left_out, names = drop_columns(
        place, drop, identifiers=drop_identifiers, there=columns_in(place), needed=remedy.columns
    )
    leaving = OutputColumns(out, left_out, row_order(kept=keep_order))
    bill = with_progress("code", lambda tell: code_extremes(remedy, place, leaving, progress=tell))
    result = {
        "schema": "tablewatch.remedy/1",
        "ok": True,
        "input": given,
        "output": str(out),
        "columns": list(remedy.columns),
        "direct_identifiers": names,
        "dropped": list(left_out),
        "seconds": bill.figures["seconds"],
        "bill": bill.as_json(),
    }
    result = with_uniqueness(result, out, remedy.columns, invocation)
    invocation.emit(result, lambda console: draw_coding(console, bill, out, names=names))


def _bounds(parts: list[str] | None) -> dict[str, str]:
    """Read `a=80,b=5`."""
    return each_once(_bound(pair) for words in parts or () for pair in names_in(words))


def _bound(text: str) -> tuple[str, str]:
    name, sign, bound = text.partition("=")
    if not (name and sign and bound):
        message = f"'{text}' is not a column bound; expected a column, '=' and a number"
        raise Stop(ExitCode.USAGE, Problem("remedy.limit", message))
    return name.strip(), bound.strip()
