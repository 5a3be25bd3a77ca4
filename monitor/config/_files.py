"""Find the configuration, read its files and merge them into one tree.

A folder is read with everything below it (`*.yaml`, `*.yml`, in the order of their names; hidden files and folders are
left out). Mappings merge, lists append, and a scalar that two files give is an error that names both.
"""

import errno
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path

from monitor.config._errors import ConfigError
from monitor.config._substitute import Substitution
from monitor.config.yaml_nodes import MAX_BYTES, Node, Unreadable, read_yaml
from monitor.terminal.input_bounds import read_bytes
from monitor.terminal.problem import Problem

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
    if (folder / FOLDER).is_dir() and next(_yaml_files(folder / FOLDER), None) is not None:
        results.append(Path(FOLDER))
    if len(results) == 1:
        return results[0]
    if results:
        message = f"more than one configuration in {folder}: {', '.join(map(str, results))}"
        raise ConfigError([Problem("config.ambiguous", message, hint="select one with -c, or keep only one")])
    looked = f"{', '.join(NAMES)} and {FOLDER}/"
    hint = "name one with -c FILE, create one with 'tablewatch init', or try 'tablewatch demo'"
    raise ConfigError([Problem("config.not_found", f"no configuration in {folder}: looked for {looked}", hint=hint)])


def files_of(path: Path) -> Sequence[Path]:
    """Return the files that a configuration is read from, in order: those of a folder, or the file itself."""
    return sorted(_yaml_files(path)) if _is_folder(path) else [path]


def patterns_of(path: Path) -> Sequence[str]:
    """Return absolute globs of what is read as a part of a configuration, or would make it ambiguous."""
    folders = [] if not _is_folder(path) or path == Path() else [os.path.realpath(path)]
    beside = dict.fromkeys(os.path.realpath(item) for item in (path.parent, Path()))
    names = [f"{escape(folder)}{os.sep}{name}" for folder in beside for name in NAMES]
    return names + [f"{escape(folder)}{os.sep}**{os.sep}*{end}" for folder in folders for end in sorted(_SUFFIXES)]


class ConfigFiles:
    """The files of one configuration: their texts (for quoting a line) and what was wrong with them."""

    def __init__(self) -> None:
        """Start with none."""
        self.texts: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._lines: dict[str, list[str]] = {}

    def read(self, path: Path, substitution: Substitution) -> Node | None:
        """Return the merged tree of a file or folder, with substitutions filled in; None when no file can be read."""
        paths = files_of(path)
        if not paths:
            self.problems.append(Problem("config.not_found", f"no *.yaml file in {path}", str(path)))
        trees = [tree for tree in (self._read_one(path, substitution) for path in paths) if tree is not None]
        return self._merge(trees) if trees else None

    def _read_one(self, path: Path, substitution: Substitution) -> Node | None:
        name = str(path)
        try:
            text = _text_of(path)
            self.texts[name] = text
            tree, problems = read_yaml(text, name)
        except Unreadable as error:
            self.problems.append(error.problem)
            return None
        self.problems += problems
        if not isinstance(tree.value, dict):
            message = "a configuration is a mapping of keys to values (version, project, sources, tables ...)"
            self.problems.append(Problem("config.type", message, name, tree.place.line, tree.place.column))
            return None
        substitution.fill(tree, path.parent)
        return tree

    def read_sections(self, path: Path, keys: Collection[str], substitution: Substitution) -> Node | None:
        """Return the merged tree of some top-level keys, each read by itself, whatever is wrong elsewhere."""
        trees = []
        for file in files_of(path):
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
        """Return a problem with the line it points at, as it is written."""
        if problem.file is None or problem.line is None:
            return problem
        if problem.file not in self._lines:
            self._lines[problem.file] = self.texts.get(problem.file, "").split("\n")
        lines = self._lines[problem.file]
        inside = problem.line <= len(lines)
        return replace(problem, excerpt=lines[problem.line - 1].rstrip("\r") if inside else None)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _yaml_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, in any order.

    Raises:
        ConfigError: it has so many folders that it is none of a configuration, such as `/`.
    """
    for number, (where, folders, names) in enumerate(os.walk(folder)):
        if number >= _MOST_FOLDERS:
            message = f"{folder} has more than {_MOST_FOLDERS:,} folders, so it is not a configuration folder"
            raise ConfigError(
                [Problem("config.too_large", message, str(folder), hint="name a file, or a separate folder")]
            )
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            if Path(name).suffix in _SUFFIXES and not name.startswith("."):
                yield Path(where, name)


def _text_of(path: Path) -> str:
    """Read a file of at most 1 MB.

    Raises:
        Unreadable: missing, too large, or not UTF-8.
    """
    try:
        content = read_bytes(path, most=MAX_BYTES, pipes=False)
    except OSError as error:
        if error.errno == errno.EFBIG:
            hint = "split it into several files in a folder, or reduce the number of tables"
            raise Unreadable(Problem("config.too_large", f"{path} is larger than 1 MB", str(path), hint=hint)) from None
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
