"""Tables of a contract of ODCS: where they lie, their checks, and how the configuration has them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from checks import Check, Severity, load_catalog
from checks.parameters.errors import describe_error
from monitor.config.project import Project
from monitor.integrations.odcs_document import ContractPart, UnreadableContract
from monitor.integrations.odcs_quality import Relation
from monitor.integrations.proposal import in_one_line
from monitor.terminal.problem import Problem

_TYPES: Final = {
    "string": "string", "date": "date", "timestamp": "timestamp", "time": "time", "number": "number",
    "integer": "int", "boolean": "boolean", "array": "array", "object": "struct", "map": "map",
}  # fmt: skip
_ABOUT: Final = ("id", "severity", "open_on", "open_after", "resolve_after", "confirm", "why", "runbook")
"""Parameters that do not change the question of a check."""


@dataclass(slots=True)
class ContractTable:
    """A table of the contract: its name, where it lies, what is said of it, and its checks.

    `formats`: how its files write dates and times, by the key of the configuration. `zones`: of its columns of times.
    `questions`, `names`: what its checks ask, and their ids.
    """

    name: str
    relation: Relation
    source: str
    settings: dict[str, Any]
    columns: Mapping[str, str]
    formats: Mapping[str, str] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)
    questions: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ContractPlace:
    """The location of the tables of a contract: a configured source by its name, or a server."""

    name: str | None
    server: str = ""
    dialect: str = "duckdb"
    url: str | None = None
    files: str | None = None
    schema: str | None = None
    csv: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_csv(self) -> bool:
        """Check whether files without types are read."""
        return self.files is not None and not self.files.endswith(".parquet")

    def of_table(self, name: str) -> str:
        """Return the source of a table: files have one for each."""
        return self.name or (slug(f"{self.server}-{name}") if self.files is not None else self.server)

    def relation(self, physical: str) -> str:
        """Return the name of a table within its source."""
        return f"{self.schema}.{physical}" if self.schema is not None else physical

    def yaml(self, name: str, physical: str, settings: Mapping[str, Any]) -> str:
        """Return the source in the configuration; `settings` are those of CSV files.

        By the standard, times that name no zone are UTC.
        """
        if self.url is not None:
            return f'{{url: "{self.url}", timezone: UTC}}'
        files = (self.files or "").replace("{model}", name).replace("{object}", name)
        csv: dict[str, Any] = {**self.csv, **settings} if self.is_csv else {}
        return in_one_line({"files": files, "table": physical, "timezone": "UTC", **({"csv": csv} if csv else {})})


def place_of_tables(document: ContractPart, present: Project | None, source: str | None, path: Path) -> ContractPlace:
    """Return where the tables of a contract lie: the configured source, or the first server that can be one.

    Raises:
        UnreadableContract: there is neither.
    """
    if source is not None or (present is not None and len(present.config.sources) == 1):
        _skip_servers(document)
        return ContractPlace(_configured_source(present, source))
    seen, chosen = [], None
    for server in document.parts("servers"):
        seen.append(str(server.text("type")))
        place = place_of(server)
        if place is None:
            server.refuse("no source is made of a server of this type or format")
        elif chosen is not None:
            server.refuse("a table has one source, and an earlier server is taken")
        else:
            chosen = place
        server.skip()
    if chosen is None:
        hint = "configure the source first ('tablewatch init') and name it with --source"
        text = f"no server of the contract can be a source (seen: {', '.join(seen) or 'none'})"
        raise UnreadableContract(Problem("contract.no_source", text, str(path), hint=hint))
    return chosen


def _configured_source(present: Project | None, wanted: str | None) -> str:
    names = list(present.config.sources) if present is not None else []
    name = wanted or names[0]
    if name not in names:
        hint = f"known: {', '.join(names)}" if names else "there is no configuration yet; see 'tablewatch init'"
        raise UnreadableContract(Problem("contract.source", f"source '{name}' is not configured", hint=hint))
    return name


def _skip_servers(document: ContractPart) -> None:
    for server in document.parts("servers"):
        server.refuse("a configured source holds the tables")
        server.skip()


def place_of(server: ContractPart) -> ContractPlace | None:
    """Return where a server keeps its tables; None for a kind that cannot be a source."""
    name = slug(server.text("server") or "server")
    kind, schema = server.text("type"), server.text("schema")
    match kind:
        case "local" if (path := server.text("path")) and server.text("format") in {"csv", "parquet"}:
            csv = {key: value for key in ("delimiter", "encoding") if (value := server.text(key))}
            return ContractPlace(None, name, files=path, csv=csv)
        case "duckdb" if path := server.text("database"):
            return ContractPlace(
                None, name, url=f"duckdb:///{_escaped(path)}", schema=schema if schema != "main" else None
            )
        case "postgres" | "postgresql" if host := server.text("host"):
            port, database = server.plain("port") or 5432, server.text("database") or ""
            login = "${POSTGRES_USER}:${POSTGRES_PASSWORD}"
            url = f"postgresql://{login}@{_escaped(host)}:{_escaped(str(port))}/{_escaped(database)}"
            return ContractPlace(None, name, "postgres", url=url, schema=schema)
    return None


def _escaped(text: str) -> str:
    return text.replace("$", "$$").replace("\\", "\\\\").replace('"', '\\"')


def owner_of(document: ContractPart) -> Mapping[str, dict[str, str]]:
    """Return the owner by name: the team, or in a list of members the one whose role is owner."""
    team = document.plain("team")
    if isinstance(team, dict) and isinstance(team.get("name"), str):
        return {slug(team["name"]): {"name": team["name"]}}
    members = team if isinstance(team, list) else team.get("members") if isinstance(team, dict) else None
    for member in members if isinstance(members, list) else ():
        name = member.get("username") or member.get("name") if isinstance(member, dict) else None
        if isinstance(name, str) and "owner" in str(member.get("role")).casefold():
            entry = {"email": name} if re.fullmatch("[^@ ]+@[^@ ]+", name) else {"name": name}
            return {slug(name.partition("@")[0]): entry}
    return {}


def first_look(part: ContractPart, key: str) -> Iterator[ContractPart]:
    """Yield the mappings of a list for a first look, which names nothing."""
    return ContractPart(part.node, part.path, []).parts(key)


def text_columns(part: ContractPart) -> Iterator[str]:
    """Yield the names of the columns of texts."""
    for column in first_look(part, "properties"):
        if column.text("logicalType") == "string":
            yield column.text("name") or ""


def built_check(check: Mapping[str, Any]) -> Any:
    """Return the check that parameters make, or what is wrong with them."""
    try:
        model: Any = load_catalog()[str(check["type"])]
        return model.model_validate(dict(check))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        return f"no check of type {check['type']} can be made of it: {describe_error(first)}"


def question_of(check: Any) -> str:
    """Return the parameters of a check that decide its result; equal for equivalent checks."""
    asked: dict[str, Any] = check.model_dump(mode="json", exclude=set(_ABOUT))
    if check.type == "sql":
        asked["query"] = check.query.strip().rstrip(";")
    return json.dumps(asked, sort_keys=True)


def by_column(check: Any) -> Sequence[Check]:
    """Return a check that looks at each of its columns alone as one check for each."""
    if check.type != "not_null":
        return [check]
    return [check.model_copy(update={"columns": (name,)}) for name in check.columns]


def table_lines(table: ContractTable, checks: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a table of the configuration."""
    yield f"  - name: {in_one_line(table.name)}"
    yield from (f"    {key}: {in_one_line(value)}" for key, value in {"source": table.source, **table.settings}.items())
    if checks:
        yield "    checks:"
    yield from (f"      - {in_one_line(check)}" for check in checks)


def named_apart(name: str, names: set[str]) -> str:
    """Return a name that is none of the others."""
    number, base = 2, name[:76]
    while name in names:
        name, number = f"{base}-{number}", number + 1
    return name


def slug(text: str) -> str:
    """Return a text as a name of the configuration."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "contract"


def about_rule(rule: ContractPart) -> dict[str, Any]:
    """Return id, severity and reason of a rule of quality, as parameters of a check."""
    about: dict[str, Any] = {}
    if name := rule.text("id") or rule.text("name"):
        about["id"] = slug(name)
    severity = rule.text("severity")
    if severity is not None and severity.lower() in set(Severity):
        if severity.lower() != Severity.ERROR:
            about["severity"] = severity.lower()
    elif severity is not None:
        rule.refuse(f"an unknown severity (expected {', '.join(Severity)}); 'error' is used", "severity")
    if why := rule.text("description") or rule.text("businessImpact"):
        about["why"] = " ".join(why.split())[:500]
    return about


def type_of(column: ContractPart) -> str | None:
    """Return the family of types that a column has; what is not compared is named."""
    kind = column.text("logicalType")
    if column.plain("physicalType") is not None and kind is None:
        column.refuse("a type of one engine is not compared; give the logicalType", "physicalType")
    if kind is not None and kind not in _TYPES:
        column.refuse(f"a type that is not known; expected one of {', '.join(_TYPES)}", "logicalType")
    for key in ("properties", "items", "map"):
        if column.plain(key) is not None:
            column.refuse("parts of a nested column are not checked", key)
    return _TYPES.get(kind or "")
