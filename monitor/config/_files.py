"""Find the configuration, read its files and merge them into one tree.

A folder is read with everything below it (`*.yaml`, `*.yml`, in the order of their names; hidden files and folders are
left out). Mappings merge, lists append, and a scalar that two files give is an error that names both. The folders of
`teams` are read last, as `team_files` says.
"""

import errno
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.config._errors import ConfigError, TeamTexts
from monitor.config._substitute import Substitution
from monitor.config.yaml_nodes import MAX_BYTES, Node, Place, Unreadable, child, entries, items, read_yaml
from monitor.terminal.input_bounds import read_bytes
from monitor.terminal.problem import Problem

if TYPE_CHECKING:
    from monitor.config.patterns import Expansion
    from monitor.config.team_files import TeamFolder

NAMES = ("tablewatch.yaml", "tablewatch.yml")
FOLDER = "tablewatch"
_TOP_LEVEL = re.compile(r"^(?=[^\s#])", re.MULTILINE)
_MOST_FOLDERS = 2_000
_SUFFIXES = frozenset({".yaml", ".yml"})


def find(folder: Path) -> Path:
    """Return the configuration of a folder: `tablewatch.yaml`, `tablewatch.yml` or the folder `tablewatch/`.

    Raises:
        ConfigError: there is none, or more than one.
    """
    results = [Path(name) for name in NAMES if (folder / name).is_file()]
    if (folder / FOLDER).is_dir() and next(yaml_files(folder / FOLDER), None) is not None:
        results.append(Path(FOLDER))
    if len(results) == 1:
        return results[0]
    if results:
        message = f"more than one configuration in {folder}: {', '.join(map(str, results))}"
        raise ConfigError([Problem("config.ambiguous", message, hint="select one with -c, or keep only one")])
    searched = f"{', '.join(NAMES)} and {FOLDER}/"
    hint = "name one with -c FILE, create one with 'tablewatch init', or try 'tablewatch demo'"
    raise ConfigError([Problem("config.not_found", f"no configuration in {folder}: looked for {searched}", hint=hint)])


def files_of(path: Path, teams: Sequence["TeamFolder"] = ()) -> Sequence[Path]:
    """Return the files that a configuration is read from, in order: those of a folder, or the file itself.

    The folders of `teams` are not entered.
    """
    return sorted(yaml_files(path, teams)) if _is_folder(path) else [path]


def files_at_top(path: Path) -> Sequence[Path]:
    """Return the files of a configuration that are in no folder below it, in order."""
    if not _is_folder(path):
        return [path]
    return sorted(file for file in path.iterdir() if _is_name(file.name) and not file.is_dir())


def patterns_of(path: Path) -> Sequence[str]:
    """Return absolute globs of what is read as a part of a configuration, or would make it ambiguous."""
    folders = [] if not _is_folder(path) or path == Path() else [os.path.realpath(path)]
    beside = dict.fromkeys(os.path.realpath(item) for item in (path.parent, Path()))
    names = [f"{escape(folder)}{os.sep}{name}" for folder in beside for name in NAMES]
    return names + [f"{escape(folder)}{os.sep}**{os.sep}*{end}" for folder in folders for end in sorted(_SUFFIXES)]


class ConfigFiles:
    """The files of one configuration: their texts (for quoting a line) and their problems."""

    def __init__(self) -> None:
        """Start with none."""
        self.texts: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.teams: tuple[TeamFolder, ...] = ()
        self.changes: Path | None = None
        """The file of changes that pages apply, where they may."""
        self.changes_text: str | None = None
        """What is taken for that file, in place of what is on the disk."""
        self.expansion: Expansion | None = None
        """What the patterns of `tables` stand for, where there are any."""
        self.checks_tables = True
        """Whether what is loaded has the tables, so that patterns of them are checked, too."""
        self.drafts: Mapping[str, str] = {}
        """What is taken for files, in place of what is on the disk, by name."""
        self.known_text: str | None = None
        """What is taken for the file with the known tables, in place of what is on the disk."""
        self.team_of: dict[str, TeamFolder] = {}
        """The team of each file, by its name; folders are included."""
        self.of_teams: dict[str, TeamTexts] = {}
        """The texts of each team, by its name."""
        self._lines: dict[str, list[str]] = {}

    def read(self, path: Path, substitution: Substitution, team_texts: Mapping[str, TeamTexts]) -> Node | None:
        """Return the merged tree of a file or folder, with substitutions filled in; None when no file can be read.

        `team_texts`: what is taken for the files of teams, in place of those on the disk.
        """
        trees = {file: self._read_one(file, substitution) for file in files_at_top(path)}
        self._find_teams([tree for tree in trees.values() if tree is not None])
        paths = files_of(path, self.teams)
        if not paths:
            self.problems.append(Problem("config.not_found", f"no *.yaml file in {path}", str(path)))
        below = [file for file in paths if file not in trees]
        trees |= {file: self._read_one(file, substitution) for file in below}
        self._refuse_teams([trees[file] for file in below])
        self.problems += [team.foreign_link(file) for team in self.teams for file in trees if team.holds(file)]
        whole = [tree for file in paths if (tree := trees.get(file)) is not None]
        if not whole:
            return None
        tree = self._expanded(self._with_teams(self._merge(whole), substitution, team_texts), path)
        return self._with_changes(tree, path)

    def _expanded(self, tree: Node, path: Path) -> Node:
        """Return a tree with the tables that the patterns in it stand for."""
        if not any("match" in entries(item) for item in items(child(tree, "tables"))):
            return tree
        from monitor.config.patterns import (
            Expansion,
            PatternEntry,
            expand,
            known_file,
            read_known,
        )  # few files have any

        nodes = [item for item in items(child(tree, "tables")) if "match" in entries(item)]
        patterns = (PatternEntry.of(node, self.team_of.get(node.place.file)) for node in nodes)
        file = known_file(path)
        expansion = self.expansion = Expansion(file, [item for item in patterns if item is not None], tree)
        if self.known_text is not None or file.is_file():
            try:
                if self.known_text is None:
                    self.texts[str(file)] = self._text(file)
                expansion.known = read_known(self.texts[str(file)] if self.known_text is None else self.known_text)
            except Unreadable as error:
                self.problems.append(replace(error.problem, file=str(file)))
            except ValueError as error:
                hint = "remove it, and run 'tablewatch table refresh'"
                self.problems.append(Problem("config.syntax", str(error), str(file), hint=hint))
        return expand(tree, expansion, self.problems)

    def _with_changes(self, tree: Node, path: Path) -> Node:
        """Return a tree with what pages have changed over it, where that is allowed."""
        if self.changes_text is None and child(child(tree, "web"), "changes") is None:
            return tree
        from monitor.config.page_changes import are_allowed, changes_file, overlaid, refusals  # few have any

        file = changes_file(path)
        self.changes = file if are_allowed(tree) else None
        if self.changes_text is None and (self.changes is None or not file.is_file()):
            return tree
        name = str(file)
        try:
            text = self._text(file) if self.changes_text is None else self.changes_text
            self.texts[name] = text
            part, problems = read_yaml(text, name)
        except Unreadable as error:
            self.problems.append(replace(error.problem, file=name))
            return tree
        self.problems += [*problems, *refusals(part)]
        if self.expansion is not None:
            self.expansion.written = overlaid(self.expansion.written, part)
        return overlaid(tree, part)

    def _find_teams(self, trees: Sequence[Node]) -> None:
        if any(child(tree, "teams") is not None for tree in trees):
            from monitor.config.team_files import overlaps, team_folders  # few configurations have teams

            self.teams = tuple(team for tree in trees for team in team_folders(tree, self.problems))
            self.problems += overlaps(self.teams)

    def _refuse_teams(self, trees: Sequence[Node | None]) -> None:
        """Refuse teams that a file in a folder below names: its writers could grant themselves everything."""
        for tree in trees:
            if tree is not None and "teams" in tree.keys:
                place = tree.keys["teams"]
                message = "'teams' stands in a file of a folder below that of the configuration"
                hint = "move it to a file in the folder itself"
                self.problems.append(Problem("config.team_folder", message, place.file, place.line, place.column, hint))

    def _with_teams(self, tree: Node, substitution: Substitution, team_texts: Mapping[str, TeamTexts]) -> Node:
        for team in self.teams:
            from monitor.config.team_files import refusals, with_team

            texts = team_texts.get(team.name)
            before = TeamTexts() if texts is None else texts
            files = self._files_of_team(team) if texts is None else [Path(name) for name in texts.files]
            self.team_of |= dict.fromkeys([str(team.folder), *map(str, files)], team)
            granted = substitution.of_team(team, before.beside)
            trees = [self._read_one(file, granted, team=team, text=before.files.get(str(file))) for file in files]
            self.of_teams[team.name] = TeamTexts(
                {str(file): self.texts.get(str(file)) for file in files}, granted.files
            )
            substitution.files |= granted.files
            parts = [part for part in trees if part is not None]
            if parts:
                part = self._merge(parts)
                self.problems += refusals(part, team, is_earlier=texts is not None)
                tree = with_team(tree, part, team, self.problems)
        absent = [team for team in self.teams if team.name in team_texts and not team_texts[team.name].files]
        if absent:
            from monitor.config.absent_teams import without_teams

            tree = without_teams(tree, absent)
        return tree

    def _files_of_team(self, team: "TeamFolder") -> Sequence[Path]:
        """Return the files of a team; what keeps them from being read is a problem of the team alone."""
        faults = list(team.faults())
        try:
            files = [] if faults else sorted(yaml_files(team.folder))
        except ConfigError as error:
            files, faults = [], list(error.problems)
        unusual = [file for file in files if not str(file.relative_to(team.folder)).isprintable()]
        self.problems += [
            *(replace(fault, file=str(team.folder)) for fault in faults),
            *map(team.unusual_name, unusual),
        ]
        return [file for file in files if file not in unusual]

    def _read_one(
        self, path: Path, substitution: Substitution, *, team: "TeamFolder | None" = None, text: str | None = None
    ) -> Node | None:
        name = str(path)
        real = path if team is None else Path(os.path.realpath(path))  # it may become another link meanwhile
        if team is not None and text is None and not team.holds(real):
            self.problems.append(team.unreadable(Place(name, 1, 1), name))
            return None
        try:
            text = self._text(path, real) if text is None else text
            self.texts[name] = text
            tree, problems = read_yaml(text, name)
        except Unreadable as error:
            self.problems.append(replace(error.problem, file=name))
            return None
        self.problems += problems
        if not isinstance(tree.value, dict):
            message = "a configuration is a mapping of keys to values (version, project, sources, tables ...)"
            self.problems.append(Problem("config.type", message, name, tree.place.line, tree.place.column))
            return None
        substitution.fill(tree, path.parent)
        return tree

    def _text(self, path: Path, real: Path | None = None) -> str:
        return self.drafts[str(path)] if str(path) in self.drafts else _text_of(real or path)

    def read_sections(self, path: Path, keys: Collection[str], substitution: Substitution) -> Node | None:
        """Return the merged tree of some top-level keys, each read by itself, whatever is wrong elsewhere."""
        trees = []
        for file in self._trusted(path):
            try:
                text = self.texts[str(file)] = _text_of(file)
            except Unreadable:
                continue
            for section in _TOP_LEVEL.split(text):
                if section.partition(":")[0].strip(" \"'") not in keys:
                    continue
                try:
                    tree, _ = read_yaml(section, str(file))
                except Unreadable:
                    continue
                if isinstance(tree.value, dict):
                    substitution.fill(tree, file.parent)
                    trees.append(tree)
        return self._merge(trees) if trees else None

    @staticmethod
    def _trusted(path: Path) -> Sequence[Path]:
        """Return the files that are no team's: those in the folder itself, where one of them names teams."""
        at_top = files_at_top(path)
        for file in at_top:
            try:
                sections = _TOP_LEVEL.split(_text_of(file))
            except Unreadable:
                continue
            if any(section.partition(":")[0].strip(" \"'") == "teams" for section in sections):
                return at_top
        return files_of(path)

    def _merge(self, trees: Sequence[Node]) -> Node:
        merged, *others = trees
        for other in others:
            merged = self._merge_two(merged, other, key=None)
        return merged

    def _merge_two(self, first: Node, second: Node, *, key: str | None) -> Node:
        if isinstance(first.value, dict) and isinstance(second.value, dict):
            value = dict(first.value)
            for name, child in second.value.items():
                value[name] = self._merge_two(value[name], child, key=name) if name in value else child
            return replace(first, value=value, keys={**second.keys, **first.keys})
        if isinstance(first.value, list) and isinstance(second.value, list):
            return replace(first, value=[*first.value, *second.value])
        place, other = second.place, first.place
        message = f"'{key}' is given twice; also in {other.file}:{other.line}:{other.column}"
        hint = "files of a folder add to mappings and lists; a single value may appear in only one of them"
        self.problems.append(Problem("config.given_twice", message, place.file, place.line, place.column, hint))
        return first

    def quote(self, problem: Problem) -> Problem:
        """Return a problem with the team whose file it is in, and the line it points at, as it is written."""
        if problem.file is None:
            return problem
        team = self.team_of.get(problem.file)
        name = None if team is None else team.name
        return replace(problem, excerpt=self._excerpt(problem.file, problem.line), team=name)

    def _excerpt(self, file: str, line: int | None) -> str | None:
        if line is None:
            return None
        if file not in self._lines:
            self._lines[file] = self.texts.get(file, "").split("\n")
        lines = self._lines[file]
        return lines[line - 1].rstrip("\r") if line <= len(lines) else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _is_name(name: str) -> bool:
    return Path(name).suffix in _SUFFIXES and not name.startswith(".")


def yaml_files(folder: Path, teams: Sequence["TeamFolder"] = ()) -> Iterator[Path]:
    """Yield the files of a folder, in any order; the folders of `teams` are not entered.

    Raises:
        ConfigError: a folder cannot be read, or there are so many that it is none of a configuration, such as `/`.
    """
    for number, (where, folders, names) in enumerate(os.walk(folder, onerror=_refuse_folder)):
        if number >= _MOST_FOLDERS:
            message = f"{folder} has more than {_MOST_FOLDERS:,} folders, so it is not a configuration folder"
            raise ConfigError(
                [Problem("config.too_large", message, str(folder), hint="name a file, or a separate folder")]
            )
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if not any(team.holds(Path(where, name)) for team in teams)]
        yield from (Path(where, name) for name in names if _is_name(name))


def _refuse_folder(error: OSError) -> None:
    """Refuse a folder that cannot be read: its tables would not be monitored, and nothing would say so."""
    if isinstance(error, FileNotFoundError):  # removed meanwhile
        return
    name, why = str(error.filename), (error.strerror or type(error).__name__).lower()
    message, hint = f"folder {name} cannot be read ({why})", "make it readable, or move it elsewhere"
    raise ConfigError([Problem("config.unreadable", message, name, hint=hint)])


def _text_of(path: Path) -> str:
    """Read a file of at most 10 MB.

    Raises:
        Unreadable: missing, too large, or not UTF-8.
    """
    try:
        content = read_bytes(path, most=MAX_BYTES, pipes=False)
    except OSError as error:
        if error.errno == errno.EFBIG:
            hint = "split it into several files in a folder, or reduce the number of tables"
            raise Unreadable(
                Problem("config.too_large", f"{path} is larger than 10 MB", str(path), hint=hint)
            ) from None
        if isinstance(error, FileNotFoundError):
            hint = "write one with 'tablewatch init'"
            raise Unreadable(Problem("config.not_found", f"{path} does not exist", str(path), hint=hint)) from None
        why = (error.strerror or type(error).__name__).lower()
        raise Unreadable(Problem("config.unreadable", f"{path} cannot be read ({why})", str(path))) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Unreadable(
            Problem("config.encoding", "not UTF-8 text", str(path), line, hint="save it as UTF-8")
        ) from None
