"""Fill `${...}` in, after the YAML has been read and inside scalar values only: no value can change the structure.

`${NAME}` is an environment variable, or of a file `.env` beside the configuration where the environment has none,
`${NAME:-default}` has a default for one that is unset or empty, `${file:PATH}` is the content of a file (relative to
the configuration file's folder, without the line break at its end), `${here}` is that folder, `$$` is a dollar sign.
The folder's name is always itself: percent-encoded inside of a URL, escaped in the glob of `files`. What is filled in
is not looked at again. When an unquoted scalar is one substitution and nothing else, the outcome is read as a plain
YAML scalar, so that `${PORT}` can be a number; in quotes, or as a part of a text, it stays text.

What is missing for the place of a source is a problem when that source is opened, and not before (ADR 61).

What came from outside is secret, and so are keys of signatures and addresses that are as good as one: the
address of a chat's webhook or of a heartbeat can be used by all who know it, wherever in it the token stands. Passwords
in the URLs of sources and of the store are masked by `monitor.terminal.redaction`, by their shape.
"""

import errno
import glob
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import reduce
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from checks import did_you_mean
from monitor.channels import KINDS
from monitor.config.yaml_nodes import Node, child, entries, resolve
from monitor.terminal.input_bounds import read_bytes
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import MASK
from sources import path_in_url

if TYPE_CHECKING:
    from monitor.config.team_files import TeamFolder

_PLACE_KEYS = frozenset({"files", "delta", "iceberg", "url", "uri", "spark"})
"""Keys of a source whose values are needed when it is opened, and not before."""
UNFILLED = frozenset({"config.substitution", "config.missing_variable", "config.missing_file", "config.not_granted"})
"""Codes of the problems that leave a value unfilled."""
_MAX_SECRET_FILE = 65_536
_MOST_COMPARED = 200
_GLOB_KEYS = {"files", "delta"}
_PIECE = re.compile(r"\$\$|\$\{(?P<body>[^{}]*)\}|\$\{.*", re.DOTALL)
_NAME = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", re.DOTALL)


def environment_of(path: Path, environment: Mapping[str, str]) -> tuple[Mapping[str, str], Path | None]:
    """Return an environment with what `.env` beside a configuration adds to it, and that file if there is one.

    It is read as python-dotenv reads it, which also fills in `${NAME}` inside a value; lines that are none are skipped.
    """
    file = path.parent / ".env"
    try:
        text = read_bytes(file, most=_MAX_SECRET_FILE, pipes=False).decode("utf-8-sig")
    except (OSError, ValueError):
        return environment, file if file.is_file() else None
    from dotenv.parser import parse_stream
    from dotenv.variables import parse_variables

    values: dict[str, str] = {}
    known: Any = ChainMap(cast("dict[str, str]", environment), values)  # what the process has comes first
    for line in parse_stream(StringIO(text)):
        if line.key is not None and line.value is not None:
            values[line.key] = "".join(part.resolve(known) for part in parse_variables(line.value))
    return {**values, **environment}, file


class Substitution:
    """Fills in one configuration; remembers what came from outside (`secrets`), from where, and what went wrong."""

    def __init__(
        self,
        environment: Mapping[str, str],
        team: "TeamFolder | None" = None,
        earlier: Mapping[Path, str | None] | None = None,
    ) -> None:
        """Initialise with the environment; for a team, only granted variables, and earlier files (`earlier`)."""
        self.secrets: set[str] = set()
        self.problems: list[Problem] = []
        self.files: dict[Path, str | None] = {}
        """The files that were read, with their content, which is secret; None of one that could not be read."""
        self.unset: dict[str, Problem] = {}
        """By source, what of its place could not be filled in: a problem when it is opened (ADR 61)."""
        self._environment = environment
        self._team = team
        self._earlier = earlier or {}
        self._visited: set[int] = set()
        self._compared = 0

    def of_team(self, team: "TeamFolder", earlier: Mapping[Path, str | None]) -> "Substitution":
        """Return the one for the files of a team: it reads what the team was granted, and adds to what this one has.

        `files` are its own.
        """
        granted = {name: value for name, value in self._environment.items() if team.may_read(name)}
        of_team = Substitution(granted, team, earlier)
        of_team.secrets, of_team.problems, of_team.unset = self.secrets, self.problems, self.unset
        return of_team

    def fill(self, node: Node, folder: Path, *, keys: tuple[str, ...] = ()) -> None:
        """Fill in a tree in place, which stands under these keys; an aliased node is filled in once."""
        if id(node) in self._visited:
            return
        self._visited.add(id(node))
        if isinstance(node.value, dict):
            for name, child in node.value.items():
                self.fill(child, folder, keys=(*keys, name))
        elif isinstance(node.value, list):
            for child in node.value:
                self.fill(child, folder, keys=(*keys, ""))
        elif isinstance(node.value, str) and "$" in node.value:
            before = len(self.problems)
            text = node.value
            self._fill_scalar(node, text, folder, in_glob=bool(keys) and keys[-1] in _GLOB_KEYS)
            missing = self.problems[before:]
            if missing and _is_of_place(keys) and all(problem.code in _MISSING for problem in missing):
                del self.problems[before:]
                self.unset.setdefault(keys[1], missing[0])
                node.value = text

    def _fill_scalar(self, node: Node, text: str, folder: Path, *, in_glob: bool) -> None:
        parts, shown, outside = [], [], False
        end = 0
        for piece in _PIECE.finditer(text):
            literal = text[end : piece.start()]
            if piece["body"] == "here":
                path = str(folder.resolve())
                in_url = "://" in text[: piece.start()]
                filled, secret = path_in_url(path) if in_url else glob.escape(path) if in_glob else path, False
                node.here = filled
            else:
                filled, secret = self._piece(piece, node, folder)
            parts += [literal, filled]
            shown += [literal, MASK if secret else filled]
            outside |= secret
            end = piece.end()
        whole = "".join([*parts, text[end:]])
        alone = node.plain and len(parts) == 2 and not parts[0] and end == len(text) and text != "$$"
        node.value = resolve(whole) if alone and whole else whole
        if outside:
            node.masked = "".join([*shown, text[end:]])

    def _piece(self, piece: re.Match[str], node: Node, folder: Path) -> tuple[str, bool]:
        """Return what a piece stands for, and whether it came from outside."""
        body = piece["body"]
        if piece[0] == "$$":
            return "$", False
        if body is not None and body.startswith("file:"):
            return self._from_file(body.removeprefix("file:"), node, folder)
        match = _NAME.fullmatch(body) if body is not None else None
        if match is None:
            hint = "write ${NAME}, ${NAME:-default}, ${file:PATH} or ${here}; $${ stands for a literal ${"
            self._add("config.substitution", "an invalid substitution", node, hint)
            return "", False
        return self._from_environment(match["name"], match["default"], node)

    def _from_environment(self, name: str, default: str | None, node: Node) -> tuple[str, bool]:
        if self._team is not None and not self._team.may_read(name):
            what = f"read environment variable {name}"
            self.problems.append(self._team.refusal(node.place, what, self._team.grants.variables))
            return "", False
        value = self._environment.get(name)
        if default is not None and not value:
            return default, False
        if value is None:
            hint = f"set it, or write ${{{name}:-default}} to give a default{self._nearest(name)}"
            self._add("config.missing_variable", f"environment variable {name} is not set", node, hint)
            return "", False
        return self._remember(value)

    def _nearest(self, name: str) -> str:
        self._compared += 1
        return did_you_mean(name, self._environment) if self._compared <= _MOST_COMPARED else ""

    def _from_file(self, name: str, node: Node, folder: Path) -> tuple[str, bool]:
        path = folder / name
        earlier = self._earlier.get(path)
        if earlier is not None:
            self.files[path] = earlier
            return self._remember(earlier)
        if self._team is not None and not self._team.holds(path):
            self.problems.append(self._team.unreadable(node.place, name))
            return "", False
        self.files[path] = None
        try:
            text = read_bytes(path, most=4 * _MAX_SECRET_FILE, pipes=False).decode("utf-8")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, ValueError) as error:
            why = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else _reason(error)
            self._add("config.missing_file", f"file '{name}' {why}", node, "the path is relative to this file's folder")
            return "", False
        if len(text) > _MAX_SECRET_FILE:
            self._add(
                "config.missing_file", f"file '{name}' is longer than {_MAX_SECRET_FILE:,} characters", node, None
            )
            return "", False
        self.files[path] = text = text.rstrip("\r\n")
        return self._remember(text)

    def _remember(self, value: str) -> tuple[str, bool]:
        if value:
            self.secrets.add(value)
        return value, True

    def _add(self, code: str, message: str, node: Node, hint: str | None) -> None:
        place = node.place
        self.problems.append(Problem(code, message, place.file, place.line, place.column, hint))


_MISSING = frozenset({"config.missing_variable", "config.missing_file"})


def _is_of_place(keys: tuple[str, ...]) -> bool:
    """Check whether a value stands under a key of a source that says where it is."""
    return len(keys) > 2 and keys[0] == "sources" and keys[2] in _PLACE_KEYS


def _reason(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "does not exist"
        case PermissionError():
            return "may not be read"
        case IsADirectoryError():
            return "is a folder"
        case OSError(errno=errno.EINVAL):
            return "is not a regular file"
        case OSError(errno=errno.EFBIG):
            return f"is longer than {_MAX_SECRET_FILE:,} characters"
        case _:
            return "cannot be read"


_TOKEN_LETTERS = 8
"""A path of an address that is shorter is no token; hunting `/hook` through all texts would destroy them."""


def hide_secrets(tree: Node) -> set[str]:
    """Mask every secret at its place, and give what must be masked everywhere else."""
    return {secret for node, address in _places(tree) for secret in _hide(node, address=address)}


def secret_keys() -> set[str]:
    """Return the keys whose values are secret, for lines of a file that cannot be read as YAML.

    `url` is not among them: sources have one too, so in such a line only one of http is masked.
    """
    names = {place.keys[-1] if place.keys else kind.name for kind in KINDS.values() for place in kind.secrets}
    return (names | {"heartbeat_url", "signature_key", "secret", "client_secret"}) - {"url"}


def _places(tree: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the values that are secret, and whether each is an address."""
    for channel in entries(child(child(tree, "alerts"), "channels")).values():
        for kind in KINDS.values():
            for place in kind.secrets:
                node = reduce(child, place.keys, child(channel, kind.name))
                if node is not None:
                    yield node, place.is_address
    heartbeat = child(child(tree, "daemon"), "heartbeat_url")
    if heartbeat is not None:
        yield heartbeat, True
    secret = child(child(tree, "storage"), "signature_key")
    if secret is not None:
        yield secret, False
    web, events = child(tree, "web"), child(tree, "openlineage")
    for section, key in ((child(web, "proxy"), "secret"), (child(web, "oidc"), "client_secret"), (events, "token")):
        shared = child(section, key)
        if shared is not None:
            yield shared, False


def _hide(node: Node, *, address: bool) -> Iterator[str]:
    if isinstance(node.value, dict | list):  # a mistake, but no less a secret
        for inner in entries(node).values() if isinstance(node.value, dict) else node.value:
            yield from _hide(inner, address=address)
        return
    value = "" if node.value is None else str(node.value)
    scheme, colon, rest = value.partition("://")
    if not (address and colon):
        node.masked = MASK
        yield value
        return
    text = MASK
    if scheme in {"http", "https"}:  # its host is no secret, and says where a message goes
        host, slash, path = rest.rpartition("@")[2].partition("/")
        text = f"{host}{slash}{MASK if path else ''}"
        if len(path) >= _TOKEN_LETTERS:
            yield path
    node.masked = f"{scheme}://{text}"
    if text != rest:
        yield rest
