"""Fingerprint what a remedy would do: its words, what completes them, and the files that they name."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checks import Json
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import ReleaseColumns
from monitor.releasing.plan import RemedyKind, TreatmentPlan


def declared_digest(case: ReleaseColumns, plan: TreatmentPlan) -> str:
    """Give it; an approval is of this too, since not all of it stands in the release.

    A remedy is completed by the product, by the files of hierarchies and, where noise is drawn, by the table's budget.

    Raises:
        Stop: a file cannot be read.
    """
    model: Any = plan.remedy or plan.statistic
    budget = None if plan.kind is RemedyKind.TABLE else case.project.config.budgets.get(case.release.table)
    said = {
        "columns": plan.columns,
        "words": None if model is None else _with_files(model.model_dump(mode="json", serialize_as_any=True)),
        "budget": None if budget is None else budget.model_dump(mode="json", exclude={"total", "statistics"}),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _with_files(said: Json) -> Json:
    """Put the contents of files in the place of their names."""
    if isinstance(said, Mapping):
        found = {name: _with_files(one) for name, one in said.items()}
        return {**found, "path": _contents(said["path"])} if said.get("type") == "file" and "path" in said else found
    return [_with_files(one) for one in said] if isinstance(said, list | tuple) else said


def _contents(path: Json) -> str:
    try:
        return hashlib.sha256(Path(str(path)).read_bytes()).hexdigest()
    except OSError as error:
        message = f"{path} cannot be read ({type(error).__name__}); expected a hierarchy file"
        raise Stop(ExitCode.USAGE, Problem("remedy.hierarchy", message)) from None
