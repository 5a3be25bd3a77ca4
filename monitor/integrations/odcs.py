"""Propose sources, owners, tables, checks and promises from a contract of the Open Data Contract Standard (ODCS 3.1).

https://bitol-io.github.io/open-data-contract-standard/v3.1.0/. The schema becomes checks of types, required values,
keys, lists and ranges; rules of quality become checks (`odcs_quality`); of the service levels, those about the age of
data become checks, and those about incidents an entry of `contracts`, which is judged from the incident log. What is
not taken is named with its line and the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.config.checks import propose_id
from monitor.config.project import Project
from monitor.integrations.odcs_columns import csv_formats, read_options
from monitor.integrations.odcs_document import ContractPart, read_document
from monitor.integrations.odcs_levels import read_levels
from monitor.integrations.odcs_quality import OPERATORS, NotExpressible, Relation, checks_of_rule
from monitor.integrations.odcs_tables import (
    ContractPlace,
    ContractTable,
    about_rule,
    built_check,
    by_column,
    first_look,
    named_apart,
    owner_of,
    place_of_tables,
    question_of,
    slug,
    table_lines,
    text_columns,
    type_of,
)
from monitor.integrations.proposal import head_of, in_one_line
from monitor.integrations.results import IgnoredItem
from sources import dialect_of


@dataclass(frozen=True, slots=True)
class ProposedContract:
    """Text to put into the configuration, what of it is new, and what of the contract is not taken."""

    text: str
    tables: int
    checks: int
    not_taken: Sequence[IgnoredItem]


def propose_contract(path: Path, present: Project | None, *, source: str | None = None) -> ProposedContract:
    """Return what a contract is in the configuration; of a configuration that there is, only what it does not have.

    Args:
        path: the contract.
        present: the project that there is.
        source: the configured source of the tables; without one, the first server that can be a source.

    Raises:
        UnreadableContract: it cannot be read, or nothing says where its tables lie.
    """
    not_taken: list[IgnoredItem] = []
    document = read_document(path, not_taken)
    contract = _Contract(document, present, source, path)
    contract.read()
    document.close()
    return contract.proposal(not_taken)


class _Contract:
    """The state of reading a contract."""

    def __init__(self, document: ContractPart, present: Project | None, source: str | None, path: Path) -> None:
        self._document = document
        self._present = present
        self._place = place_of_tables(document, present, source, path)
        self._path = path
        self._sources: dict[str, str] = {}
        self._owner: Mapping[str, dict[str, str]] = {}
        self._tables: dict[str, ContractTable] = {}
        self._levels: Mapping[str, Mapping[str, Any]] = {}
        self.name = slug(document.text("name") or document.text("id") or path.name.partition(".")[0])

    def read(self) -> None:
        """Read all parts."""
        domain, place = self._document.text("domain"), self._place
        self._owner = owner_of(self._document)
        for part in self._document.parts("schema"):
            table = self._table(part, place)
            if table is None:
                continue
            if domain is not None:
                table.settings["domain"] = slug(domain)
            if self._owner:
                table.settings["owner"] = next(iter(self._owner))
            self._tables[part.text("name") or table.name] = table
            self._read_columns(part, table)
            self._read_rules(part, table, None)
            if part.plain("relationships") is not None:
                part.refuse("relationships are read at columns only", "relationships")
        self._levels = read_levels(self._document, self._tables, self.name, self._add)
        self._domain = domain

    # --- tables and columns -------------------------------------------------------------------------------------------

    def _table(self, part: ContractPart, place: "ContractPlace") -> ContractTable | None:
        name = part.text("name")
        if name is None:
            part.refuse("it has no name")
            part.skip()
            return None
        physical = part.text("physicalName") or name
        part.plain("logicalType")
        part.plain("physicalType")
        columns = {
            column.text("name") or "": column.text("physicalName") or column.text("name") or ""
            for column in first_look(part, "properties")
        }
        source, relation = place.of_table(name), place.relation(physical)
        settings: dict[str, Any] = {}
        configured = None
        if self._present is not None:
            configured = self._present.config.table(name) or self._present.config.table(physical)
        if configured is not None and self._present is not None:
            source, relation = configured.source, configured.table or configured.name
            name = configured.name
        elif relation != name:
            settings["table"] = relation
        if place.name is None:
            types = {columns[column]: "VARCHAR" for column in text_columns(part)} if place.is_csv else {}
            formats = csv_formats(part) if place.is_csv else {}
            self._sources[source] = place.yaml(name, physical, {**formats, **({"types": types} if types else {})})
        else:
            formats = {}
        if description := part.text("description"):
            settings["description"] = " ".join(description.split())[:500]
        relation_in_sql = Relation(self._dialect(source, place), relation)
        return ContractTable(name, relation_in_sql, source, settings, columns, formats)

    def _dialect(self, source: str, place: "ContractPlace") -> str:
        if self._present is not None and source in self._present.config.sources:
            return dialect_of(self._present.source_spec(source))
        return place.dialect

    def _read_columns(self, part: ContractPart, table: ContractTable) -> None:
        typed: dict[str, str] = {}
        named: list[str] = []
        keys: list[tuple[int, str]] = []
        for column in part.parts("properties"):
            name = column.text("name")
            if name is None:
                column.refuse("it has no name")
                column.skip()
                continue
            name = column.text("physicalName") or name
            named.append(name)
            if kind := type_of(column):
                typed[name] = kind
            if column.flag("primaryKey"):
                position = column.plain("primaryKeyPosition")
                keys.append((position if isinstance(position, int) else len(named), name))
            self._read_column(column, name, table)
        if named:
            agreed: Any = typed if len(typed) == len(named) else named
            self._add(part, table, {"type": "schema", "columns": agreed, "extra": "allow", "id": "schema"})
            if typed and len(typed) < len(named):
                self._add(part, table, {"type": "schema", "columns": typed, "extra": "allow", "id": "schema-types"})
        if keys:
            self._add(part, table, {"type": "primary_key", "columns": [name for _, name in sorted(keys)]})

    def _read_column(self, column: ContractPart, name: str, table: ContractTable) -> None:
        is_key = column.flag("primaryKey")
        if column.flag("required") and not is_key:
            self._add(column, table, {"type": "not_null", "columns": [name]})
        elif is_key:
            column.flag("required")
        if column.flag("unique"):
            self._add(column, table, {"type": "unique", "columns": [name]})
        values = column.plain("enum")
        options = column.part("logicalTypeOptions")
        if options is not None:
            values = options.plain("enum") if values is None else values
            for check in read_options(options, column.text("logicalType"), name, table):
                self._add(options, table, check)
            options.close()
        if values is not None:
            listed = [item.get("value") if isinstance(item, dict) else item for item in values if item is not None]
            self._add(column, table, {"type": "accepted_values", "column": name, "values": listed})
        self._read_relationships(column, name, table)
        self._read_rules(column, table, name)

    def _read_relationships(self, column: ContractPart, name: str, table: ContractTable) -> None:
        for relationship in column.parts("relationships"):
            to = relationship.text("to")
            kind = relationship.text("type") or "foreignKey"
            if to is None or to.count(".") != 1 or kind != "foreignKey":
                relationship.refuse("only a foreignKey to one TABLE.COLUMN of the contract is checked")
                relationship.skip()
                continue
            self._add(relationship, table, {"type": "foreign_key", "column": name, "references": to})
            relationship.skip()

    # --- rules and service levels -------------------------------------------------------------------------------------

    def _read_rules(self, part: ContractPart, table: ContractTable, column: str | None) -> None:
        for rule in part.parts("quality"):
            data = rule.data
            try:
                checks = checks_of_rule(data, column, table.relation)
            except NotExpressible as error:
                rule.refuse(str(error))
                rule.skip()
                continue
            about = about_rule(rule)
            for number, check in enumerate(checks):
                suffix = {"id": f"{about['id']}-{number + 1}"} if number and "id" in about else {}
                self._add(rule, table, {**check, **about, **suffix})
            for key in ("schedule", "scheduler"):
                if data.get(key) is not None:
                    rule.refuse("a check runs at the schedule of its table", key)
            for key in ("type", "metric", "rule", "arguments", "query", "unit", "dialect", *OPERATORS):
                rule.plain(key)

    def _add(self, part: ContractPart, table: ContractTable, check: dict[str, Any]) -> None:
        """Add a check that can be built; else name the part, with what is wrong."""
        built = built_check(check)
        if isinstance(built, str):
            part.refuse(built)
            return
        wrong = next(iter(built.sql_errors(table.relation.dialect).values()), None) if check["type"] == "sql" else None
        if wrong is not None:
            part.refuse(wrong)
            return
        question = question_of(built)
        if question in table.questions:
            return
        name = named_apart(str(check.get("id") or propose_id(built)), table.names)
        table.checks.append({**check, "id": name})
        table.questions.add(question)
        table.names.add(name)

    # --- text ---------------------------------------------------------------------------------------------------------

    def proposal(self, not_taken: Sequence[IgnoredItem]) -> ProposedContract:
        """Return the text of what the configuration does not have yet."""
        config = None if self._present is None else self._present.config
        lines: list[str] = []
        for section, entries in self._sections():
            new = {key: text for key, text in entries.items() if config is None or key not in getattr(config, section)}
            if new:
                lines += [f"{section}:", *(f"  {in_one_line(key)}: {text}" for key, text in new.items()), ""]
        lines += self._changed_promises()
        pending = {table.name: self._new_checks(table) for table in self._tables.values()}
        new_tables = [table for table in self._tables.values() if config is None or config.table(table.name) is None]
        if new_tables:
            lines.append("tables:")
        for table in new_tables:
            lines += table_lines(table, pending[table.name])
        for table in (item for item in self._tables.values() if item not in new_tables and pending[item.name]):
            lines.append(f"# add to the checks of table {in_one_line(table.name)}:")
            lines += [f"#   - {in_one_line(check)}" for check in pending[table.name]]
        if not lines:
            lines.append("# everything that can be taken of the contract is configured")
        if config is None:
            lines = [*head_of(self.name, f"tablewatch import contract {self._path.name}"), *lines]
        tables = sum(table in new_tables or bool(pending[table.name]) for table in self._tables.values())
        checks = sum(map(len, pending.values()))
        return ProposedContract("\n".join(lines).rstrip("\n") + "\n", tables, checks, not_taken)

    def _changed_promises(self) -> Iterator[str]:
        """Yield the service levels that the configuration has under the same name with other numbers, as comments."""
        present = {} if self._present is None else self._present.config.contracts
        for name, entry in self._promises().items():
            if name in present:
                yield f"# contract {in_one_line(name)} has other service levels in the file: {in_one_line(entry)}"

    def _promises(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the service levels that the configuration does not have under any name."""
        from monitor.config.contracts_model import Contract
        from monitor.config.promised import promised_contracts

        promises = () if self._present is None else promised_contracts(self._present.config)
        present = [promise.contract for promise in promises]
        promised = {name: entry for name, entry in self._levels.items() if len(entry) > 1}
        return {name: entry for name, entry in promised.items() if Contract.model_validate(entry) not in present}

    def _sections(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        yield "sources", self._sources
        yield "owners", {name: in_one_line(entry) for name, entry in self._owner.items()}
        title = {} if self._domain is None else {slug(self._domain): in_one_line({"title": self._domain})}
        yield "domains", title
        yield "contracts", {name: in_one_line(entry) for name, entry in self._promises().items()}

    def _new_checks(self, table: ContractTable) -> Sequence[dict[str, Any]]:
        """Return the checks that the configuration does not have, under names of their own."""
        configured = None if self._present is None else self._present.config.table(table.name)
        if configured is None:
            return table.checks
        names = {check.name for check in configured.checks}
        present = {question_of(single) for check in configured.checks for single in by_column(check)}
        new = []
        for check in table.checks:
            if question_of(built_check(check)) in present:
                continue
            new.append({**check, "id": named_apart(str(check["id"]), names)})
            names.add(str(new[-1]["id"]))
        return new
