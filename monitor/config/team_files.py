"""Read the folders of teams, and refuse what a team's files were not granted.

    teams ─> team_folders ─> (files of a folder, read as one tree) ─> refusals ─> with_team ─> the whole tree

A team adds tables, list entries and named entries; it changes nothing of other files. Its files are read
after all others, with the environment variables that it was granted. No file outside of its folder is read for it,
however it is named: by a symbolic link, by `..`, by `${file:...}` or as a runbook.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from monitor.config.messages import problem_at
from monitor.config.scalars import is_name_of_runbook
from monitor.config.teams_model import Team, fits, is_covered
from monitor.config.yaml_nodes import Node, Place, child, entries, items, plain_data, text
from monitor.terminal.problem import Problem

NOT_GRANTED: Final = "config.not_granted"
_ALERTS: Final = ("channels", "routes")


@dataclass(frozen=True, slots=True)
class TeamFolder:
    """A team's folder, and the grants of its files, declared at `place`."""

    name: str
    grants: Team
    folder: Path
    place: Place

    @property
    def real(self) -> Path:
        """Return where the folder is, if no symbolic link below the folder of the main file leads elsewhere."""
        return Path(os.path.realpath(Path(self.place.file).parent), self.grants.folder)

    def holds(self, path: Path) -> bool:
        """Check whether a path is in the folder, also after symbolic links are followed."""
        try:
            return Path(os.path.realpath(path)).is_relative_to(self.real)
        except ValueError:  # a name that no file can have
            return False

    def walks(self, file: Path) -> bool:
        """Check whether a file stands in the folder, whatever it is a link to."""
        return self.holds(file.parent)

    def faults(self) -> Iterator[Problem]:
        """Find what is wrong with the folder itself, which is the team's, as its files are."""
        if not os.path.isdir(self.folder):  # noqa: PTH112 -- Path.is_dir raises where a folder above is forbidden
            fault, hint = "does not exist", "keep an empty file such as .gitkeep in it where it has no others"
        elif not self.holds(self.folder):
            fault, hint = "leads elsewhere by a symbolic link", "put a folder in its place"
        else:
            return
        message = f"the folder of team '{self.name}' {fault}"
        yield Problem("config.team_folder", message, str(self.folder), hint=hint)

    def unusual_name(self, file: Path) -> Problem:
        """Return the problem that the name of a file would not be shown as it is."""
        name = ascii(str(file.relative_to(self.folder)))
        message = f"the name {name} of a file of team '{self.name}' has characters that cannot be shown"
        return Problem("config.team_folder", message, str(self.folder), hint="rename it")

    def foreign_link(self, file: Path) -> Problem:
        """Return the problem that a file which is trusted is a link to one that the team writes."""
        message = f"{file} is a link into the folder of team '{self.name}', which could grant itself everything"
        return Problem("config.team_folder", message, str(file), hint="put a file in its place")

    def may_define(self, table: str) -> bool:
        """Check whether its files may define a table."""
        return fits(table, self.grants.tables)

    def may_read(self, variable: str) -> bool:
        """Check whether its files may read an environment variable."""
        return fits(variable, self.grants.variables)

    def refusal(self, place: Place, what: str, granted: Iterable[str]) -> Problem:
        """Return the problem that something was not granted, with what was, and where."""
        hint = f"granted to it: {', '.join(granted) or 'none'} ({self.place.file}:{self.place.line})"
        return problem_at(place, NOT_GRANTED, f"team '{self.name}' may not {what}", hint)

    def unreadable(self, place: Place, name: str) -> Problem:
        """Return the problem that a file is named which is not in the folder."""
        message = f"team '{self.name}' may not read '{name}', which is not in its folder"
        return problem_at(place, NOT_GRANTED, message, f"its folder: {self.folder} ({self.place.file})")


def team_folders(tree: Node, problems: list[Problem]) -> Iterator[TeamFolder]:
    """Yield the folders of the teams that a file names; one that it may not name is added to the problems.

    What is wrong with the rest of a team is found by its model, later.
    """
    for name, node in entries(child(tree, "teams")).items():
        try:
            grants = Team.model_validate(plain_data(node))
        except ValidationError:
            continue
        place = node.value["folder"].place if isinstance(node.value, dict) else node.place
        written = Path(grants.folder)
        if written.is_absolute() or ".." in written.parts or not written.parts:
            message = f"folder '{grants.folder}' is not below the folder of this file"
            problems.append(problem_at(place, "config.team_folder", message))
        else:
            yield TeamFolder(name, grants, Path(place.file).parent / written, node.place)


def overlaps(teams: Iterable[TeamFolder]) -> Iterator[Problem]:
    """Find teams whose folders are one, or one in the other: whose files they are would be a guess."""
    earlier: list[TeamFolder] = []
    for team in teams:
        for other in earlier:
            if team.real.is_relative_to(other.real) or other.real.is_relative_to(team.real):
                message = f"the folders of teams '{other.name}' and '{team.name}' overlap"
                yield problem_at(team.place, "config.team_folder", message, "give each team a folder of its own")
        earlier.append(team)


def refusals(tree: Node, team: TeamFolder, *, is_earlier: bool) -> Iterator[Problem]:
    """Find what the files of a team define without a grant.

    `is_earlier`: of files as they were read before. Where runbooks are is not checked then: their folder may be gone,
    or lead elsewhere.
    """
    for key in entries(tree):
        if key not in team.grants.may:
            yield team.refusal(tree.keys[key], f"define '{key}'", team.grants.may)
    yield from _of_tables(tree, team)
    if not is_earlier:
        yield from _of_runbooks(tree, team)
    for contract in entries(child(tree, "contracts")).values():
        yield from _each(child(contract, "tables"), team, "promise anything of table", team.grants.tables)
    yield from _of_products(tree, team)
    yield from _of_maintenance(tree, team)
    yield from _of_alerts(child(tree, "alerts"), team, products=entries(child(tree, "products")))


def _of_tables(tree: Node, team: TeamFolder) -> Iterator[Problem]:
    grants = team.grants
    for table in items(child(tree, "tables")):
        yield from _name(child(table, "name"), team, "define table", grants.tables)
        yield from _name(child(table, "source"), team, "read source", grants.sources)
        yield from _name(child(table, "owner"), team, "name owner", grants.owners)
        yield from _name(child(table, "domain"), team, "add to domain", grants.domains)


def _of_runbooks(tree: Node, team: TeamFolder) -> Iterator[Problem]:
    for table in items(child(tree, "tables")):
        for check in items(child(table, "checks")):
            runbook = child(check, "runbook")
            words = str(runbook.value).strip() if runbook is not None else ""
            if runbook is not None and is_name_of_runbook(words) and not team.holds(team.folder / words):
                yield team.unreadable(runbook.place, runbook.masked or words)


def _of_products(tree: Node, team: TeamFolder) -> Iterator[Problem]:
    """Refuse products of other tables: routes by product would lead their incidents here."""
    for product in entries(child(tree, "products")).values():
        yield from _name(child(product, "owner"), team, "name owner", team.grants.owners)
        for word in items(child(product, "tables")):
            words = str(word.value)
            granted = [name for name in team.grants.tables if name == "*" or ":" not in words]
            if not words.startswith("!") and not is_covered(words, granted):
                yield team.refusal(word.place, f"offer tables '{word.masked or words}'", team.grants.tables)
        if all(str(word.value).startswith("!") for word in items(child(product, "tables"))):
            yield team.refusal(product.place, "offer all tables but some", team.grants.tables)


def _of_maintenance(tree: Node, team: TeamFolder) -> Iterator[Problem]:
    for window in items(child(tree, "maintenance")):
        tables, domains = items(child(window, "tables")), items(child(window, "domains"))
        if not tables and not domains:
            yield team.refusal(window.place, "plan maintenance of every table", team.grants.tables)
        yield from _each(child(window, "tables"), team, "plan maintenance of table", team.grants.tables)
        yield from _each(child(window, "domains"), team, "plan maintenance of domain", team.grants.domains)


def _of_alerts(alerts: Node | None, team: TeamFolder, *, products: Iterable[str]) -> Iterator[Problem]:
    grants = team.grants
    for key in entries(alerts):
        if alerts is not None and key not in _ALERTS:
            yield team.refusal(alerts.keys[key], f"set 'alerts.{key}'", [f"alerts.{name}" for name in _ALERTS])
    channels = child(alerts, "channels")
    for name, channel in entries(channels).items():
        if channels is not None and not fits(name, grants.channels):
            yield team.refusal(channels.keys[name], f"define channel '{name}'", grants.channels)
        if child(channel, "on_call") is not None:  # it names a file, and channels of others
            what = f"team '{team.name}' may not define channel '{name}' of kind on_call"
            yield problem_at(channel.place, NOT_GRANTED, what, "define it in the main file; its people are channels")
    for route in items(child(alerts, "routes")):
        yield from _each(child(route, "to"), team, "send to channel", grants.channels)
        match = child(route, "match")
        own_product = (text(match, "product") or "") in products
        limits = (("table", grants.tables), ("owner", grants.owners), ("domain", grants.domains))
        if not own_product and not any(_is_granted(child(match, key), patterns) for key, patterns in limits):
            what = "route alerts that are not of its own: 'match' names no table, owner, domain or product of it"
            yield team.refusal(route.place, what, [*grants.tables, *grants.owners, *grants.domains])


def _is_granted(node: Node | None, patterns: Iterable[str]) -> bool:
    return node is not None and isinstance(node.value, str) and fits(node.value, patterns)


def _name(node: Node | None, team: TeamFolder, what: str, patterns: Iterable[str]) -> Iterator[Problem]:
    """Refuse a name that no pattern grants; a value that is no text is an error of its own."""
    if node is not None and isinstance(node.value, str) and not fits(node.value, patterns):
        yield team.refusal(node.place, f"{what} '{node.masked or node.value}'", patterns)


def _each(node: Node | None, team: TeamFolder, what: str, patterns: Iterable[str]) -> Iterator[Problem]:
    for item in items(node):
        yield from _name(item, team, what, patterns)


def with_team(tree: Node, part: Node, team: TeamFolder, problems: list[Problem]) -> Node:
    """Return the whole tree with what a team adds; an entry that is there already stays, and is a problem."""
    granted: dict[str, Node] = {key: node for key, node in entries(part).items() if key in team.grants.may}
    return _added(tree, replace(part, value=granted), team, problems, depth=2)


def _added(tree: Node, part: Node, team: TeamFolder, problems: list[Problem], *, depth: int) -> Node:
    """Add entries to a mapping and to its lists, down to named entries: they belong to the first file."""
    value = dict(entries(tree))
    for key, node in entries(part).items():
        current = value.get(key)
        if current is None:
            value[key] = node
        elif isinstance(current.value, list) and isinstance(node.value, list):
            value[key] = replace(current, value=[*current.value, *node.value])
        elif depth and isinstance(current.value, dict) and isinstance(node.value, dict):
            inner = depth - 1 if key == "alerts" else 0
            value[key] = _added(current, node, team, problems, depth=inner)
        else:
            other = current.place
            message = f"team '{team.name}' may not change '{key}', which {other.file}:{other.line} defines"
            problems.append(problem_at(part.keys[key], NOT_GRANTED, message, "give it another name"))
    return replace(tree, value=value, keys={**part.keys, **tree.keys})
