"""Find what each column of a dbt model is made from: the compiled SQL of the manifest, read by sqlglot.

    compiled SQL of each model ──> qualify ──> columns of the tables that it reads; filters and joins as `*`

Columns of tables come from catalog.json of `dbt docs generate`, where it is there, else from the SQL of the models and
from the names that SQL uses. A model of which some column cannot be traced, such as one of `select *` from a table of
unknown columns, has no lineage of columns: what is not known is not stated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, to_node
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

from monitor.config.lineage import EVERY

_DIALECTS: Final = {"sqlserver": "tsql", "fabric": "tsql", "databricks": "databricks", "spark2": "spark2"}
"""sqlglot's names of the adapters of dbt that are called otherwise."""


class UntracedColumn(Exception):
    """A column of a query comes from nowhere that is known."""


@dataclass(slots=True)
class ModelColumns:
    """The columns of the tables of a manifest, as far as they are known, and what each is made from.

    `made`: by table and by table that feeds it, both by their ids: the columns there of each column. `untraced`: the
    models whose SQL could not be traced.
    """

    made: dict[str, dict[str, dict[str, set[str]]]] = field(default_factory=dict)
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    untraced: list[str] = field(default_factory=list)


def trace_columns(
    nodes: Mapping[str, Mapping[str, Any]], parents: Mapping[str, Sequence[str]], catalog: Mapping[str, Any], kind: str
) -> ModelColumns:
    """Return what the columns of models are made from.

    Args:
        nodes: models, seeds, snapshots and sources of the manifest by id, parents before children.
        parents: the tables that each reads, by id.
        catalog: nodes and sources of catalog.json; empty without one.
        kind: the adapter of dbt.
    """
    known = ModelColumns()
    for name, about in catalog.items():
        columns = about.get("columns") if isinstance(about, dict) else None
        known.columns[name] = tuple(columns) if isinstance(columns, dict) else ()
    dialect = _DIALECTS.get(kind, kind)
    ids = {_relation_of(node): name for name, node in nodes.items()}
    columns = {relation: known.columns.get(name, ()) for relation, name in ids.items()}
    for name, node in nodes.items():
        sql = node.get("compiled_code")
        if node.get("resource_type") != "model":
            continue
        try:
            traced = _Query(sql if isinstance(sql, str) else "", dialect, columns)
            edges = list(traced.edges())
        except (SqlglotError, UntracedColumn, ValueError, RecursionError):
            known.untraced.append(name)
            continue
        made: dict[str, dict[str, set[str]]] = {parent: {} for parent in parents[name]}
        for column, relation, source in edges:
            if relation in ids:
                made.setdefault(ids[relation], {}).setdefault(column, set()).add(source)
        known.made[name] = made
        columns[_relation_of(node)] = known.columns[name] = known.columns.get(name) or traced.columns
    return known


_Relation = tuple[str, ...]


def _relation_of(node: Mapping[str, Any]) -> _Relation:
    parts = (node.get("database"), node.get("schema"), node.get("alias") or node.get("identifier") or node.get("name"))
    return tuple(str(part).casefold() for part in parts if part)


class _Query:
    """One SELECT with the names of all columns qualified by their tables."""

    def __init__(self, sql: str, dialect: str, columns: Mapping[_Relation, Sequence[str]]) -> None:
        tree = sqlglot.parse_one(sql, read=dialect)
        used = {_parts(table) for table in tree.find_all(exp.Table)}
        schema: dict[str, Any] = {}
        for relation in used & columns.keys():
            if columns[relation]:
                place = schema
                for part in relation[:-1]:
                    place = place.setdefault(part, {})
                place[relation[-1]] = dict.fromkeys((column.casefold() for column in columns[relation]), "text")
        lowered = tree.transform(_lower)
        qualified = qualify(
            lowered, schema=schema, dialect=dialect, infer_schema=True, validate_qualify_columns=False, identify=True
        )
        scope = build_scope(qualified)
        if scope is None or not isinstance(qualified, exp.Query):
            raise UntracedColumn("not a query")
        self._scope, self._dialect = scope, dialect
        self.columns = tuple(select.alias_or_name for select in qualified.selects)
        if qualified.is_star or not all(self.columns):
            raise UntracedColumn("a column without a name, or all columns of a table of unknown columns")

    def edges(self) -> Iterator[tuple[str, _Relation, str]]:
        """Yield each column with the table and the column that it comes from; `*` for filters and joins."""
        for column in self.columns:
            for relation, source in self._leaves(to_node(column, self._scope, self._dialect)):
                yield column.casefold(), relation, source
        for scope in self._scope.traverse():
            for column_of_clause in _filtering(scope):
                source_of = scope.sources.get(column_of_clause.table)
                if isinstance(source_of, exp.Table):
                    yield EVERY, _parts(source_of), column_of_clause.name
                elif isinstance(source_of, Scope):
                    for relation, source in self._leaves(to_node(column_of_clause.name, source_of, self._dialect)):
                        yield EVERY, relation, source

    def _leaves(self, node: Node) -> Iterator[tuple[_Relation, str]]:
        for step in node.walk():
            if step.downstream:
                continue
            if isinstance(step.expression, exp.Table):
                name = exp.to_column(step.name, dialect=self._dialect).name
                if name == EVERY:
                    raise UntracedColumn("all columns of a table of unknown columns")
                yield _parts(step.expression), name.casefold()
            elif isinstance(step.expression, exp.Placeholder) or any(step.expression.find_all(exp.Column)):
                raise UntracedColumn(f"a column of {step.name} is of no table")


def _filtering(scope: Scope) -> Iterator[exp.Column]:
    """Yield the columns that decide which rows there are: of filters and joins, and all of a query inside of these."""
    select: Any = scope.expression
    inside = select.find_ancestor(exp.Where, exp.Having, exp.Join, exp.Select)
    whole = select.selects if scope.is_subquery and inside is not None and not isinstance(inside, exp.Select) else ()
    clauses = [select.args.get(name) for name in ("where", "having", "qualify")]
    clauses += [part for join in select.args.get("joins") or () for part in (join.args.get("on"),)]
    for clause in (*clauses, *whole):
        if clause is not None:
            yield from (column for column in clause.find_all(exp.Column) if column.parent_select is select)


def _parts(table: exp.Table) -> _Relation:
    return tuple(part.name.casefold() for part in table.parts)


def _lower(node: exp.Expr) -> exp.Expr:
    """Write a name in lower case: dbt's adapters disagree about the case of what is quoted."""
    if isinstance(node, exp.Identifier):
        node.set("this", node.name.casefold())
    return node
