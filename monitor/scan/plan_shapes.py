"""Plan tables of one shape once: those with equal columns and equal checks run the same SQL but for their name.

The plan of a shape is made for a table that is not there, with generated check ids; both are replaced for each
table (ADR 39). Plans of shapes stay in the memory of this process, and hold what a plan holds: no value of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from sqlglot import exp

from checks import Check, CheckParameters, Severity
from monitor.scan.planner import plan
from monitor.scan.results import Subject
from monitor.scan.sql_template import SqlTemplate
from monitor.scan.table_plan import TablePlan
from sources import Source, SourceSpec
from sources.expressions import ops

_STAND_IN: Final = "tablewatch table"
_MOST_SHAPES: Final = 500


@dataclass(frozen=True, slots=True)
class PlanShape:
    """The key of a cached plan, without the names of the table and of its checks."""

    spec: SourceSpec
    dialect: str
    columns: object
    namespace: object
    subject: Subject


_plans: dict[str, tuple[PlanShape, TablePlan | None]] = {}
"""By the text of the shape, in the order in which they were made; None where a table has to be planned by itself."""


def plan_by_shape(subject: Subject, source: Source, spec: SourceSpec) -> TablePlan:
    """Return what `plan` returns, from the plan of the table's shape where that says it all.

    Raises:
        TableNotFound, SourceError: as `plan`.
    """
    place: Any = source.table(subject.relation).op()
    named_elsewhere = subject.is_past or any(check.refers_to for _, check in subject.checks)
    if named_elsewhere or type(place) not in (ops.DatabaseTable, ops.UnboundTable):
        return plan(subject, source)
    ids = {f"{_STAND_IN} {number}": check_id for number, (check_id, _) in enumerate(subject.checks)}
    checks = tuple(zip(ids, (_without_limits(check) for _, check in subject.checks), strict=True))
    general = replace(subject, name=_STAND_IN, relation=_STAND_IN, checks=checks)
    shape = PlanShape(spec, source.dialect, place.schema, place.namespace, general)
    text = repr(shape)
    if text.count(_STAND_IN) != len(ids) + 2:  # it stands in the configuration, or is the name of a column
        return plan(subject, source)
    naming = _Naming(source.dialect, place.name, ids)
    made = _plans.get(text)
    if made is None or made[0] != shape:
        made = shape, _plan_of(shape, source, place, naming)
        _plans[text] = made
        if len(_plans) > _MOST_SHAPES:
            oldest, *_ = _plans  # in one step: other threads add plans meanwhile
            _plans.pop(oldest, None)
    return plan(subject, source) if made[1] is None else naming.named(made[1], subject)


def _without_limits(check: Check) -> Check:
    """Return a check without what only its judgement looks at."""
    if not isinstance(check, CheckParameters) or check.warn is not None:
        return check
    return check.model_copy(update={"id": None, "severity": Severity.ERROR, **dict.fromkeys(check.judged_only)})


def _plan_of(shape: PlanShape, source: Source, place: Any, naming: _Naming) -> TablePlan | None:
    """Return the plan of a shape; None where the names of a table cannot be put in."""
    made = plan(shape.subject, source, table=place.copy(name=_STAND_IN).to_expr())
    if made.refused or _STAND_IN in repr(naming.named(made, replace(shape.subject, name="", relation="", checks=()))):
        return None
    return made


class _Naming:
    """Puts the names of one table and of its checks into the plan of its shape."""

    def __init__(self, dialect: str, name: str, ids: Mapping[str, str]) -> None:
        self._hole, self._name = (exp.to_identifier(text, quoted=True).sql(dialect) for text in (_STAND_IN, name))
        self._ids = ids

    def named(self, made: TablePlan, subject: Subject) -> TablePlan:
        others = {field.name: self._of(getattr(made, field.name)) for field in fields(made) if field.name != "subject"}
        return replace(made, subject=subject, **others)

    def _of(self, value: Any) -> Any:
        if isinstance(value, SqlTemplate):
            return replace(value, sql=value.sql.replace(self._hole, self._name))
        if isinstance(value, str):
            return self._ids.get(value, value)
        if isinstance(value, Mapping):
            return {self._of(key): self._of(part) for key, part in value.items()}
        if isinstance(value, tuple):
            return tuple(map(self._of, value))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{field.name: self._of(getattr(value, field.name)) for field in fields(value)})
        return value
