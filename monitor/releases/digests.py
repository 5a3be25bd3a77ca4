"""Fingerprint the columns of a table that are to leave, so that an approval is of what somebody has seen."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from checks import Json
from monitor.releases.columns import ReleaseColumns
from monitor.releases.plan import RemedyKind, TreatmentPlan
from monitor.releases.same_table import content_mark
from monitor.releases.treatment.table_reader import reading
from monitor.terminal.problem import ExitCode, Problem, Stop


def declared_digest(case: ReleaseColumns, plan: TreatmentPlan) -> str:
    """Return it; an approval is of this too, since not all of it stands in the release.

    A remedy is completed by the product, by the files of hierarchies and, where noise is drawn, by the table's budget.

    Raises:
        Stop: a file cannot be read.
    """
    model: Any = plan.remedy or plan.statistic
    budget = None if plan.kind is RemedyKind.TABLE else case.project.config.budgets.get(case.release.table)
    parts = {
        "columns": plan.columns,
        "words": None if model is None else _with_files(model.model_dump(mode="json", serialize_as_any=True)),
        "budget": None if budget is None else budget.model_dump(mode="json", exclude={"total", "statistics"}),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _with_files(value: Json) -> Json:
    """Put the contents of files in the place of their names."""
    if isinstance(value, Mapping):
        values = {name: _with_files(item) for name, item in value.items()}
        return (
            {**values, "path": _contents(value["path"])} if value.get("type") == "file" and "path" in value else values
        )
    return [_with_files(item) for item in value] if isinstance(value, list | tuple) else value


def _contents(path: Json) -> str:
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError as error:
        message = f"{path} cannot be read ({type(error).__name__}); expected a hierarchy file"
        raise Stop(ExitCode.USAGE, Problem("remedy.hierarchy", message)) from None


COLUMN_GONE: Final = "release.column_gone"


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The state of a table. `fingerprint`: keyed for one release, what an approval is of.

    `content`: the same under the project's key, by which a copy of the table is known; None of a table without rows,
    since all of these are alike.
    """

    fingerprint: str
    content: str | None


def state_of(case: ReleaseColumns, columns: Sequence[str]) -> TableDigest:
    """Compute a keyed fingerprint of some columns of a table: their names and types, and the rows in any order.

    The engine hashes and adds up; nothing but two sums and a count comes. The same table has another fingerprint after
    an engine was upgraded that hashes otherwise: then it has to be approved again.

    Raises:
        Stop: a column is not there, the table cannot be read, or this engine has no hash.
    """
    from checks.classes.row_hash import hash_sums, row_hash

    with reading(case.place) as (source, table):
        gone = [name for name in columns if name not in table.columns]
        if gone:
            message = f"'{case.place.name}' has no column {', '.join(gone)}, which the release classifies"
            raise Stop(ExitCode.USAGE, Problem(COLUMN_GONE, message, hint="correct the release's 'columns'"))
        hashed = row_hash([table[name] for name in columns], source.dialect)
        if hashed is None:
            message = (
                f"{source.dialect} has no row hash supported by Tablewatch, so an approval cannot be bound to "
                "the content of a table"
            )
            raise Stop(ExitCode.NOT_EVALUATED, Problem("release.no_hash", message, hint="export the table to Parquet"))
        rows = table.select(hashed=hashed)
        low, high = hash_sums(rows["hashed"], source.dialect)
        (sums,) = source.fetch(source.compile(rows.aggregate(rows=rows.count(), low=low, high=high)))
        types = [[name, str(table.schema()[name])] for name in columns]
    content = json.dumps([types, *(int(sums[name] or 0) for name in ("rows", "low", "high"))])
    key = case.secret(b"state")
    fingerprint = blake2b(content.encode(), key=key, digest_size=16, person=b"release state").hexdigest()
    return TableDigest(fingerprint, content_mark(content, key=case.key) if sums["rows"] else None)
