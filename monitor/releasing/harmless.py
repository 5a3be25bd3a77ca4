"""Look in the bytes of a CSV file for cells that a spreadsheet would run: by other code than what wrote them."""

import csv
from collections.abc import Sequence
from pathlib import Path

from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.leaving import PARTS, RUNS, UNSEEN


def check_harmless(draft: Path, columns: Sequence[str]) -> None:
    """See that no cell of a CSV file, and no part of one, begins like a formula, but numbers, which stay numbers.

    Raises:
        Stop: one does; the column is named, the cell is not.
    """
    if draft.suffix != ".csv":
        return
    with draft.open(encoding="utf-8", newline="") as opened:
        for cells in csv.reader(opened):
            for place, cell in enumerate(cells):
                if any(_begins_as_formula(part) and not _is_number(part) for part in (cell, *PARTS.split(cell))):
                    named = columns[place] if place < len(columns) else "a column without a name"
                    message = f"the output was read again and is refused: a spreadsheet would run cells of '{named}'"
                    raise Stop(ExitCode.FAILED, Problem("release.formula", message, hint="write a .parquet file"))


def _begins_as_formula(cell: str) -> bool:
    seen = next((place for place, sign in enumerate(cell) if sign not in UNSEEN), len(cell))
    return cell.startswith(RUNS) or cell[seen:].startswith(RUNS)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
