"""Merge questions about the same equivalence classes into one statement, and take its rows apart again.

    question ─┐                         ┌─ figure 0: rows of the first answer
    question ─┼─ one UNION ALL ── run ──┼─ figure 1: ...
    question ─┘                         └─ ...

Answers have different columns, so each is laid into the same slots: `i0, i1, ...` for whole numbers, `x0, ...` for
floats, `t0, ...` for text. All branches read one class table, which the engine makes once (Ibis names it in WITH).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir

from checks import ClassQuestion, Context
from checks._classes import ClassTables

FIGURE = "figure"
_TYPES = {"i": "int64", "x": "float64", "t": "string"}


@dataclass(frozen=True, slots=True)
class UnionPart:
    """One answer in a family's statement: its number, its columns by slot, and the (check id, name) that wanted it."""

    figure: int
    columns: Mapping[str, str]
    wanted_by: tuple[tuple[str, str], ...]

    def of(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Give its rows among those of the statement, under the names that the answer gave them."""
        mine = (row for row in rows if row[FIGURE] == self.figure)
        return [{name: row[slot] for slot, name in self.columns.items()} for row in mine]


@dataclass(frozen=True, slots=True)
class UnionQuery:
    """Questions that one statement answers, as an expression."""

    statement: ir.Table
    parts: tuple[UnionPart, ...]


@dataclass(frozen=True, slots=True)
class ClassRequest:
    """A question, and who asks it."""

    check_id: str
    name: str
    question: ClassQuestion
    context: Context


def union_queries(asked: Iterable[ClassRequest]) -> list[UnionQuery]:
    """Merge questions: one family for each set of quasi-identifiers of the same rows."""
    groups: dict[tuple[object, frozenset[str]], list[ClassRequest]] = {}
    for one in asked:
        rows = one.context.filtered.op()
        groups.setdefault((rows, frozenset(one.question.quasi_identifiers)), []).append(one)
    return [_union_query(group) for group in groups.values()]


def _union_query(group: Sequence[ClassRequest]) -> UnionQuery:
    sensitive = dict.fromkeys(column for one in group for column in one.question.sensitive)
    first = group[0]
    tables = ClassTables(first.context.filtered, first.question.quasi_identifiers, tuple(sensitive))
    answers: dict[object, tuple[ir.Table, list[tuple[str, str]]]] = {}
    for one in group:
        answer = one.question.answer(tables)
        answers.setdefault(answer.op(), (answer, []))[1].append((one.check_id, one.name))
    slots = [_slots(answer) for answer, _ in answers.values()]
    width = {letter: max(sum(slot[0] == letter for slot in one) for one in slots) for letter in _TYPES}
    parts, branches = [], []
    for number, (columns, (answer, wanted_by)) in enumerate(zip(slots, answers.values(), strict=True)):
        parts.append(UnionPart(number, columns, tuple(wanted_by)))
        branches.append(_laid_out(answer, number, columns, width))
    return UnionQuery(branches[0] if len(branches) == 1 else ibis.union(*branches, distinct=False), tuple(parts))


def _slots(answer: ir.Table) -> dict[str, str]:
    """Give each column of an answer a slot, by its type.

    Raises:
        TypeError: a column is neither a number nor text.
    """
    found: dict[str, str] = {}
    for name, type_ in answer.schema().items():
        letter = "i" if type_.is_integer() else "x" if type_.is_floating() else "t" if type_.is_string() else None
        if letter is None:
            raise TypeError(f"an answer about classes has a column of type {type_}; expected numbers or text")
        found[f"{letter}{sum(slot[0] == letter for slot in found)}"] = name
    return found


def _laid_out(answer: ir.Table, number: int, columns: Mapping[str, str], width: Mapping[str, int]) -> ir.Table:
    """Select an answer's columns in the slots that all answers have; what it has no column for is NULL."""
    laid: dict[str, ir.Value] = {FIGURE: ibis.literal(number, type="int64")}
    for letter, type_ in _TYPES.items():
        for place in range(width[letter]):
            name = columns.get(f"{letter}{place}")
            laid[f"{letter}{place}"] = ibis.null(type_) if name is None else answer[name].cast(type_)
    return answer.select(**laid)
