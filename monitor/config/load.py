"""Load a configuration: read it, fill it in, check all of it, and say everything that is wrong at once."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import ValidationError

from checks.parameters.numbers import as_json
from monitor.config._errors import ConfigError, TeamTexts
from monitor.config._files import ConfigFiles, files_of, find, yaml_files
from monitor.config._references import (
    Names,
    checks_of_nothing,
    early_references,
    foreign_sources,
    outside_references,
    references_of,
    repeated_tables,
    unknown_references,
)
from monitor.config._substitute import UNFILLED, Substitution, environment_of, hide_secrets, secret_keys
from monitor.config.checks import (
    CheckBuilder,
    Hierarchies,
    build_checks,
    build_hierarchies,
    problems_of_checks,
    with_hierarchies,
)
from monitor.config.messages import limited_suggestions, problem_at, word_errors
from monitor.config.model import Config, Table
from monitor.config.yaml_nodes import Node, Place, child, entries, find_node, items, plain_data, text
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.terminal.redaction import MASK, Redactor
from sources import path_in_url

if TYPE_CHECKING:
    from monitor.config.team_files import TeamFolder

_Position: TypeAlias = tuple[str | None, int | None, int | None]

_LATE: Final = frozenset(
    {
        "alerts",
        "budgets",
        "contracts",
        "daemon",
        "openlineage",
        "products",
        "releases",
        "report",
        "rules",
        "slo",
        "teams",
        "web",
    }
)
"""The sections that a command may leave out, and with them the checks of tables; see `load_for`."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known of a configuration once all of its sections were checked; the fields are those of `Loaded`."""

    config: Config
    read_beside: tuple[Path, ...] = ()
    digest: str = ""
    notes: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration with its files, places and digests.

    `path` was loaded, a file or a folder; `files` were read, in this order. `redactor` masks what came from the
    environment or a file, and passwords in URLs. `tree` and `texts` are what was read, with the places.
    `apart`: why teams keep what their files said before (`team_fallback`), by name; of those, `left_out` had nothing.
    `unset`: by source, what is missing to open it, a variable or a file.
    `checked` checks all sections, once; it raises `Stop` where some were left until now and have errors.
    """

    config: Config
    path: Path
    files: tuple[Path, ...]
    redactor: Redactor
    checked: Callable[[], Checked]
    tree: Node
    texts: ConfigFiles
    unset: Mapping[str, Problem] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()

    @property
    def read_beside(self) -> tuple[Path, ...]:
        """Return the files that `files` name: those of `${file:...}`, and of hierarchies."""
        return self.checked().read_beside

    @property
    def digest(self) -> str:
        """Return a digest that changes whenever anything in it changes, also a value that was filled in."""
        return self.checked().digest

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Return what is to be noted and is no error."""
        return self.checked().notes

    def place(self, *path: str | int) -> Place:
        """Return where a value stands: `loaded.place("tables", 0, "name")`.

        Of a missing one, where its parent stands.
        """
        node, _ = find_node(self.tree, path)
        return node.place

    def check_places(self) -> Mapping[str, Place]:
        """Return where each check stands, by its id; of a check that a release adds, where its table's checks stand."""
        return {
            table.check_id(check): self.place("tables", at, "checks", index)
            for at, table in enumerate(self.config.tables)
            for index, check in enumerate(table.checks)
        }

    def problem(self, path: Sequence[str | int], code: str, message: str, hint: str | None = None) -> Problem:
        """Return a problem of a value that was found later, with its place and the line it stands in."""
        at = self.place(*path)
        problem = Problem(code, message, at.file, at.line, at.column, hint)
        return self.texts.quote(problem)

    def team_of_table(self, at: int) -> "TeamFolder | None":
        """Return the team in whose files a table stands, by the table's place among all."""
        return self.texts.team_of.get(self.place("tables", at).file)

    def is_left_out(self, table: str) -> bool:
        """Check whether a table that is missing may be in files of a team that cannot be read, or not be known yet."""
        teams = [team for team in self.texts.teams if team.name in self.apart]
        expansion = self.texts.expansion
        may_come = expansion is not None and expansion.may_take(table)
        if not may_come and not any(team.may_define(table) for team in teams):
            return False
        return all(other.name != table for other in self.config.tables)

    def files_now(self) -> Sequence[Path]:
        """Return the files that it would be read from now, some of which may be new; a folder that cannot be read."""
        expansion = self.texts.expansion
        own = (self.texts.changes, None if expansion is None else expansion.file)
        written = [file for file in own if file is not None and file.is_file()]
        return [*files_of(self.path, self.texts.teams), *self._files_of_teams(), *written]

    def _files_of_teams(self) -> Iterator[Path]:
        for team in self.texts.teams:
            try:
                yield from sorted(yaml_files(team.folder))
            except ConfigError:
                yield team.folder

    @property
    def home(self) -> Path:
        """Return the folder in which the configuration lies."""
        return _home(self.path)

    def folder(self, source: str) -> Path:
        """Return the folder that a source's `files` and file URLs are relative to: that of the file that names it."""
        return Path(self.place("sources", source).file).parent

    @property
    def values_digest(self) -> str:
        """Return a fingerprint of the values alone, wherever the files lie and in whatever order tables and checks are.

        It is kept beside the masked values, so it is slow to compute: passwords must not be guessed by it.
        """
        values = self.values(redacted=False)
        for table in values["tables"]:
            table["checks"] = sorted(table.get("checks") or (), key=_fingerprint)
        values["tables"].sort(key=itemgetter("name"))
        content = _fingerprint(values).encode()
        return hashlib.scrypt(content, salt=b"tablewatch configuration", n=1 << 14, r=8, p=1, dklen=8).hex()

    def values(self, *, redacted: bool = True, relative: bool = False, expanded: bool = True) -> Any:
        """Return the configuration as it was read, merged and filled in, as plain data.

        Masked if `redacted`. Where it is `relative`, `${here}` stays, so that it says the same in any folder. Where it
        is not `expanded`, patterns of tables stay.
        """
        expansion = None if expanded else self.texts.expansion
        tree = self.tree if expansion is None else expansion.written
        return as_json(_values(tree, self.redactor if redacted else None, relative=relative))


def load(
    path: Path | str,
    *,
    environment: Mapping[str, str] | None = None,
    team_texts: Mapping[str, TeamTexts] | None = None,
    files: ConfigFiles | None = None,
    lazily: bool = False,
    changes: str | None = None,
) -> Loaded:
    """Load a file or a folder of files.

    `team_texts`: what to take for the files of teams, in place of those on the disk, by team. `files` takes what is
    read, for a caller who wants it after an error too. `lazily`: as in `load_for`. `changes`: what to take for the file
    of changes that pages apply, whether they may or not.

    Raises:
        ConfigError: it is missing or wrong; all problems at once, in the order of their places.
    """
    with limited_suggestions():
        files = ConfigFiles() if files is None else files
        files.changes_text = changes
        return _load(path, environment, team_texts or {}, files, lazily=lazily)


def load_drafts(path: Path, drafts: Mapping[str, str]) -> Loaded:
    """Load a configuration with texts in the place of some of its files, by their names.

    Raises:
        ConfigError: as `load`.
    """
    files = ConfigFiles()
    files.drafts = drafts
    return load(path, files=files)


def load_sources(path: Path) -> Loaded:
    """Load the sources and the store of a configuration, without tables and all that may name one.

    Raises:
        ConfigError: as `load`; of what is left out only errors of YAML count.
    """
    with limited_suggestions():
        return _load(path, None, {}, ConfigFiles(), lazily=False, sections=_OF_SOURCES)


def load_for(invocation: Invocation, *, lazily: bool = False, known: str | None = None) -> Loaded:
    """Load the configuration named by `--config`, else the one in the working folder; the command learns its secrets.

    `lazily`: the checks of tables, and sections that few commands need, are typed when one of them is first used, all
    together, and their errors raise `Stop` then. Where another section is wrong, all errors are raised at once.
    `known`: what to take for the file with the known tables.

    Raises:
        Stop: there is none, or it has errors.
    """
    try:
        files = ConfigFiles()
        files.known_text = known
        loaded = load(invocation.config_path or find(Path.cwd()), files=files, lazily=lazily)
    except ConfigError as error:
        invocation.redactor = error.redactor
        raise Stop(ExitCode.USAGE, *error.problems) from None
    invocation.redactor = loaded.redactor
    return loaded


def _load(
    path: Path | str,
    environment: Mapping[str, str] | None,
    team_texts: Mapping[str, TeamTexts],
    files: ConfigFiles,
    *,
    lazily: bool,
    sections: frozenset[str] | None = None,
) -> Loaded:
    path = Path(path)
    variables, beside = environment_of(path, os.environ if environment is None else environment)
    substitution = Substitution(variables)
    if beside is not None:
        substitution.files[beside] = None
    tree = files.read(path, substitution, team_texts)
    if tree is None:
        problems = [*files.problems, *substitution.problems]
        raise _error(problems, files, Redactor(substitution.secrets, keys=secret_keys()))
    if sections is not None:
        left = {name: node for name, node in entries(tree).items() if name in sections}
        tree = replace(tree, value={**left, "tables": replace(tree, value=[], keys={})})
        files.checks_tables = False
    return _loaded(tree, path, files, substitution, lazily=lazily)


def load_tree(tree: Node) -> Loaded:
    """Load a configuration that is in no file; nothing in it is substituted.

    Raises:
        ConfigError: it is wrong; all problems at once.
    """
    with limited_suggestions():
        return _loaded(tree, Path(), ConfigFiles(), Substitution({}))


def _loaded(tree: Node, path: Path, files: ConfigFiles, substitution: Substitution, *, lazily: bool = False) -> Loaded:
    secrets = substitution.secrets | hide_secrets(tree)
    redactor = Redactor(secrets, published=_published(tree), keys=secret_keys())
    check = cache(partial(_checked, tree, path, files, substitution, redactor))
    checked = partial(_check_later, check)
    config = _begun(tree, path, [*files.problems, *substitution.problems], checked) if lazily else None
    return Loaded(
        config=check().config if config is None else config,
        path=path,
        files=tuple(Path(name) for name in files.texts),
        redactor=redactor,
        checked=checked,
        tree=tree,
        texts=files,
        unset=substitution.unset,
    )


def _begun(tree: Node, path: Path, problems: Sequence[Problem], checked: Callable[[], Checked]) -> Config | None:
    """Return a configuration that completes itself by `checked()`; None if what stands first in it has errors."""
    early = _early(tree)
    if problems and not {_position(item) for item in problems} <= set(_positions(tree)) - set(_positions(early)):
        return None
    try:
        config = _with_store_beside(Config.model_validate(plain_data(early)), path)
    except ValidationError:
        return None
    if any(chain(repeated_tables(tree), early_references(tree))):
        return None

    def table(at: int) -> Table:
        return checked().config.tables[at]

    config.complete_later(_LATE, lambda: checked().config)
    for at, begun in enumerate(config.tables):
        begun.complete_later({"checks"}, partial(table, at))
    return config


def _early(tree: Node) -> Node:
    """Return what every command needs: a tree without the late sections, and tables without their checks."""
    sections = {name: node for name, node in entries(tree).items() if name not in _LATE}
    tables = [
        replace(table, value={name: node for name, node in entries(table).items() if name != "checks"})
        if isinstance(table.value, dict)
        else table
        for table in items(sections.get("tables"))
    ]
    if tables:
        sections["tables"] = replace(sections["tables"], value=tables)
    return replace(tree, value=sections)


def _positions(node: Node) -> Iterator[_Position]:
    yield node.place.file, node.place.line, node.place.column
    for inner in (*entries(node).values(), *items(node)):
        yield from _positions(inner)


def _check_later(check: Callable[[], Checked]) -> Checked:
    try:
        with limited_suggestions():
            return check()
    except ConfigError as error:
        raise Stop(ExitCode.USAGE, *error.problems) from None


def _checked(tree: Node, path: Path, files: ConfigFiles, substitution: Substitution, redactor: Redactor) -> Checked:
    problems = [*files.problems, *substitution.problems]
    builder, hierarchies = build_checks(tree), build_hierarchies(tree)
    if files.expansion is not None and files.checks_tables:
        nodes = [pattern.node for pattern in files.expansion.patterns]
        problems += [*references_of(nodes, Names.of(tree)), *problems_of_checks(nodes)]
    config, errors = _validate(tree, builder, hierarchies)
    problems += [*builder.problems, *hierarchies.problems, *errors, *repeated_tables(tree), *unknown_references(tree)]
    problems += [*foreign_sources(tree, builder.built), *checks_of_nothing(tree, builder.built)]
    notes: list[Problem] = []
    if config is not None and config.releases:
        from monitor.config.release_checks import with_releases  # few files have releases

        config, errors, notes = with_releases(tree, config)
        problems += errors
    if config is not None and config.products:
        problems += _products_of_nothing(tree, config)
    if problems or config is None:
        raise _error(problems, files, redactor)
    notes = [
        *map(_when_opened, substitution.unset.values()),
        *outside_references(tree, builder.built),
        *(() if files.expansion is None else files.expansion.notes()),
        *_unpriced_tiers(config),
        *_unreachable_owners(config),
        *notes,
    ]
    return Checked(
        config=_with_store_beside(config, path),
        read_beside=(*substitution.files, *hierarchies.files),
        digest=_digest(tree, hierarchies),
        notes=tuple(files.quote(note) for note in notes),
    )


def _home(path: Path) -> Path:
    """Return the folder of a configuration, which is one itself, or a file in it."""
    return (path if path.is_dir() else path.parent).resolve()


def _with_store_beside(config: Config, path: Path) -> Config:
    """Return a configuration whose default store lies beside it, as sources do, wherever it is read from."""
    folder = _home(path)
    if "url" in config.storage.model_fields_set or folder == Path.cwd():
        return config
    url = f"sqlite:///{path_in_url(str(folder / 'tablewatch.db'))}"
    return config.model_copy(update={"storage": config.storage.model_copy(update={"url": url})})


def _when_opened(problem: Problem) -> Problem:
    return replace(problem, message=f"{problem.message}; the source cannot be opened without it")


def _products_of_nothing(tree: Node, config: Config) -> Iterator[Problem]:
    """Find products whose words choose no table, or cannot be understood."""
    from monitor.config.selector import select  # few files have products

    for name, product in config.products.items():
        try:
            select(product.tables, config)
        except Stop as stop:
            node, _ = find_node(tree, ("products", name, "tables"))
            yield from (problem_at(node.place, item.code, item.message, item.hint) for item in stop.problems)


def load_readable(path: Path, *, environment: Mapping[str, str] | None = None) -> Loaded | None:
    """Load what can be read of a configuration that has errors: the project, its time zone and its store; no table.

    Each top-level key is read by itself, so that an error in another one, even one of YAML, does not matter. None if
    nothing that can be read names the store.
    """
    variables, _ = environment_of(path, os.environ if environment is None else environment)
    files, substitution = ConfigFiles(), Substitution(variables)
    tree = files.read_sections(path, _OF_THE_STORE, substitution)
    if tree is None or not isinstance(tree.value, dict) or "storage" not in tree.value:
        return None
    data = plain_data(tree)
    storage = data["storage"] if isinstance(data["storage"], dict) else {}
    sources = {"unknown": {"url": "sqlite:///unknown"}}  # a configuration has one; nothing is read from it
    fixed = {
        "version": 1,
        "project": "unknown",
        "sources": sources,
        "tables": [],
        "storage": {"url": storage.get("url")},
    }
    for named in (data, {key: value for key, value in data.items() if key == "project"}, {}):
        try:
            config = Config.model_validate(fixed | {key: named[key] for key in named if key != "storage"})
        except ValidationError:
            continue
        secrets = substitution.secrets | hide_secrets(tree)
        redactor = Redactor(secrets, published={config.project}, keys=secret_keys())
        read = tuple(Path(name) for name in files.texts)
        return Loaded(
            config=config,
            path=path,
            files=read,
            redactor=redactor,
            checked=partial(Checked, config),
            tree=tree,
            texts=files,
        )
    return None


_OF_SOURCES: Final = frozenset({"version", "project", "timezone", "storage", "sources"})
"""The top-level keys that are needed to open sources."""
_OF_THE_STORE: Final = frozenset({"project", "timezone", "storage"})
"""The top-level keys that are needed to open the store and to show times."""


def _validate(tree: Node, builder: CheckBuilder, hierarchies: Hierarchies) -> tuple[Config | None, list[Problem]]:
    data = plain_data(tree)
    with_hierarchies(data, hierarchies)
    tables = data.get("tables")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        if isinstance(table, dict) and isinstance(table.get("checks"), list):
            table["checks"] = builder.checks.get(index, ())
    try:
        return Config.model_validate(data), []
    except ValidationError as error:
        return None, list(word_errors(error.errors(include_url=False, include_input=False), tree, Config))


def _error(problems: Iterable[Problem], files: ConfigFiles, redactor: Redactor) -> ConfigError:
    """Return the error with problems ordered by place, each with the line it points at.

    At the place of a variable without a value only that problem is listed; others follow from it.
    """
    ordered = sorted(dict.fromkeys(problems), key=lambda item: (item.file or "", item.line or 0, item.column or 0))
    unfilled = {_position(item) for item in ordered if item.code in UNFILLED}
    shown = [item for item in ordered if item.code in UNFILLED or _position(item) not in unfilled]
    return ConfigError([files.quote(item) for item in shown], redactor, files.of_teams)


def _position(problem: Problem) -> _Position:
    return problem.file, problem.line, problem.column


def _published(tree: Node) -> set[str]:
    """Return the names that identify results: of the project, of tables, of checks and of channels."""
    names = {text(tree, "project"), *entries(child(child(tree, "alerts"), "channels"))}
    for table in items(child(tree, "tables")):
        names |= {text(table, "name"), *(text(check, "id") for check in items(child(table, "checks")))}
    return {name for name in names if name is not None}


def _digest(tree: Node, hierarchies: Hierarchies) -> str:
    """Return a digest of the values and of the folders that relative paths start from."""
    folders = {name: str(Path(node.place.file).parent) for name, node in entries(child(tree, "sources")).items()}
    hierarchy_folders = [hierarchies.folders] if hierarchies.folders else []
    return _fingerprint(as_json(plain_data(tree)), folders, *hierarchy_folders)


def _fingerprint(values: Mapping[str, Any], *others: Any) -> str:
    """Return a digest of values regardless of the order of keys, except in `ownership`, where the last match counts."""
    patterns = list(values.get("ownership") or ())
    content = json.dumps([values, patterns, *others], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _values(node: Node, redact: Redactor | None, *, relative: bool) -> Any:
    value = node.value
    if isinstance(value, dict):
        return {key: _values(child, redact, relative=relative) for key, child in value.items()}
    if isinstance(value, list):
        return [_values(child, redact, relative=relative) for child in value]
    if redact is not None and node.masked is not None:
        value = redact(node.masked) or MASK
    elif redact is not None and isinstance(value, str):
        value = redact(value)
    return value.replace(node.here, "${here}") if relative and node.here and isinstance(value, str) else value


def _unpriced_tiers(config: Config) -> list[Problem]:
    priced = set(config.cost.tiers)
    tiers = {table.tier for table in config.tables if table.tier and table.name not in config.cost.tables}
    unpriced = sorted(tiers - priced)
    if not priced or not unpriced:
        return []
    message = f"tier {', '.join(unpriced)} has no price in cost.tiers; an hour of its downtime costs only the roles"
    return [Problem("config.unpriced_tier", message)]


def _unreachable_owners(config: Config) -> Iterator[Problem]:
    """Yield owners whose channels get no alerts, since a route without a match applies to all."""
    everything = next((number for number, route in enumerate(config.alerts.routes, 1) if route.is_for_all), None)
    if everything is None:
        return
    reached = {channel for route in config.alerts.routes for channel in route.to}
    owners = {config.owner_of(table) for table in config.tables}
    for name in sorted(owner for owner in owners if owner is not None):
        channel = config.owners[name].channel
        if channel is not None and channel not in reached:
            message = (
                f"owner '{name}' gets no alerts on {channel}: route {everything} has no match, so it always applies"
            )
            yield Problem("config.unheard_owner", message, hint=f"add a route with match: {{owner: {name}}}")
