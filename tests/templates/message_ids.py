"""Find every text that a catalogue may translate: `Message(...)` in code, `_` and `ngettext` in templates."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2.ext import babel_extract

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sources", "checks", "incidents", "remedies", "store", "monitor")


@dataclass(frozen=True, slots=True)
class Text:
    """A text to translate, with its singular where it counts something, and where it stands."""

    text: str
    one: str | None
    place: str

    @property
    def key(self) -> str | tuple[str, str]:
        """Return the id as a catalogue has it: gettext names a text that counts by its singular."""
        return self.text if self.one is None else (self.one, self.text)


def texts_of_templates() -> list[Text]:
    """Return the texts of all templates."""
    found = []
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        with path.open("rb") as file:
            for line, _, message, _ in babel_extract(file, ["_", "ngettext"], [], {"silent": "false"}):
                strings = [part for part in ([message] if isinstance(message, str) else message) if part is not None]
                place = f"{path.relative_to(ROOT)}:{line}"
                found.append(Text(strings[-1], strings[0] if len(strings) > 1 else None, place))
    return found


def texts_of_code(*folders: str) -> list[Text]:
    """Return the texts of all `Message(...)` calls in the code below some folders."""
    found = []
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += _texts_of_module(path)
    return found


def _texts_of_module(path: Path) -> list[Text]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [text for scope in _scopes(tree) for text in _texts_of_scope(scope, path)]


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


def _texts_of_scope(scope: ast.AST, path: Path) -> Iterator[Text]:
    bound = _bound(scope)
    for node in _own(scope):
        if isinstance(node, ast.Call) and makes_message(node):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            first = node.args[0] if node.args else given.get("text")
            if first is None:  # made of what was stored
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            texts, ones = _strings(first, bound, node.lineno), []
            if "one" in given:
                ones = _strings(given["one"], bound, node.lineno)
                ones = ones if len(ones) == len(texts) else ones[-1:] * len(texts)
            for text, one in zip(texts, ones or [None] * len(texts), strict=True):
                yield Text(text, one, place)


def makes_message(call: ast.Call) -> bool:
    """Check whether a call is `Message(...)`, also as an attribute: `checks.Message(...)`."""
    return getattr(call.func, "id", None) == "Message" or getattr(call.func, "attr", None) == "Message"


def _bound(scope: ast.AST) -> dict[str, list[tuple[int, str]]]:
    """Return the strings that names are bound to in a scope, with their lines, in order."""
    bound: dict[str, list[tuple[int, str]]] = {}
    for node in _own(scope):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(target.elts, node.value.elts, strict=True) if both else [(target, node.value)]
            for name, value in pairs:
                if isinstance(name, ast.Name):
                    strings = _strings(value, {}, node.lineno)
                    bound.setdefault(name.id, []).extend((node.lineno, string) for string in strings)
    return bound


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Walk a module or function without the functions inside it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef):
            waiting[:0] = ast.iter_child_nodes(node)


def _strings(node: ast.expr, bound: dict[str, list[tuple[int, str]]], line: int) -> list[str]:
    match node:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.IfExp():
            return _strings(node.body, bound, line) + _strings(node.orelse, bound, line)
        case ast.Name():
            return [text for bound_at, text in bound.get(node.id, []) if bound_at < line]
        case _:
            return []
