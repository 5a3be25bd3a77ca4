"""Write the generated parts of the documentation: `python -m docs.refresh`.

A part stands between `<!-- generated: NAME -->` and `<!-- end of NAME -->` in any page; NAME is a key of `PARTS`. A
test fails when a page is not what this would write. To add a part: write its function, name it in `PARTS`, put the two
comments where it belongs.
"""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from docs.companies import companies
from docs.hierarchies import examples
from monitor.cli import build_command, command_files
from monitor.config.schema import json_schema
from monitor.demo import build_demo, tell

ROOT: Final = Path(__file__).parents[1]
_PART: Final = re.compile(r"(?<=<!-- generated: )(?P<name>[a-z-]+) -->\n.*?(?=<!-- end of (?P=name) -->)", re.DOTALL)
_DEMO: Final = "tablewatch-demo"
DEMO_NOW: Final = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)
_NOT_SHOWN: Final = ({"$ref": "#/$defs/Substitution"}, {"type": "null"})
_SHARED: Final = frozenset({"--config", "--format", "--help"})


def refreshed(page: str) -> str:
    """Return the text of a page with its generated parts as they are now.

    Raises:
        KeyError: a part that nobody generates.
    """
    return _PART.sub(lambda part: f"{part['name']} -->\n{PARTS[part['name']]()}\n", page)


def pages() -> Iterator[Path]:
    """Yield every page that may have generated parts."""
    yield from sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


# --- the configuration ------------------------------------------------------------------------------------------------


def configuration_reference() -> str:
    """Describe every section of the configuration once, but not the checks, which have a page of their own."""
    schema = json_schema()
    paths: dict[str, str] = {}
    _find_sections(schema, schema["$defs"], "", paths)
    models = {"": schema, **{path: schema["$defs"][name] for name, path in paths.items()}}
    return "\n".join(_section(path, model, _Words(schema["$defs"], paths)) for path, model in models.items())


def _find_sections(part: dict[str, Any], defs: dict[str, Any], path: str, paths: dict[str, str]) -> None:
    """Fill `paths`: where each model stands first, by its name, in the order of the page."""
    for key, value in part["properties"].items():
        if (path, key) == ("tables[]", "checks"):
            continue
        for name, suffix in _models_in(value):
            if "properties" in defs[name] and name not in paths:
                paths[name] = f"{path}.{key}{suffix}".lstrip(".")
                _find_sections(defs[name], defs, paths[name], paths)


def _models_in(value: Any, suffix: str = "") -> Iterator[tuple[str, str]]:
    if "$ref" in value:
        yield value["$ref"].removeprefix("#/$defs/"), suffix
    if isinstance(value.get("items"), dict):
        yield from _models_in(value["items"], suffix + "[]")
    for named in _named(value):
        yield from _models_in(named, suffix + ".NAME")
    told_apart = value.get("discriminator", {})
    for word, reference in told_apart.get("mapping", {}).items():
        yield from _models_in({"$ref": reference}, f"{suffix} {{{told_apart['propertyName']}: {word}}}")
    for choice in value.get("anyOf", []):
        yield from _models_in(choice, suffix)


def _named(value: dict[str, Any]) -> Iterator[Any]:
    """Yield what stands under the names of a mapping whose names are free."""
    yield from (value.get("patternProperties") or {}).values()
    if isinstance(value.get("additionalProperties"), dict):
        yield value["additionalProperties"]


def _section(path: str, part: dict[str, Any], words: "_Words") -> str:
    title = f"### `{path}`" if path else "### The whole"
    about = "" if not path else f"\n{part.get('description', '')}\n"
    rows = [
        f"| `{key}` | {words.of(value)} | {_default(key, value, part)} | {value.get('description', '')} |"
        for key, value in part["properties"].items()
    ]
    return "\n".join([title, about, "| key | value | default | |", "|---|---|---|---|", *rows, ""])


@dataclass(frozen=True)
class _Words:
    """Says what a value of the schema may be."""

    defs: dict[str, Any]
    paths: dict[str, str]

    def of(self, value: dict[str, Any]) -> str:
        if "$ref" in value:
            name = value["$ref"].removeprefix("#/$defs/")
            return f"section `{self.paths[name]}`" if name in self.paths else self.of(self.defs[name])
        if "anyOf" in value:
            choices = [one for one in value["anyOf"] if one not in _NOT_SHOWN]
            if any(choice.get("type") == "number" for choice in choices):
                return "number"
            examples = {"examples": value["examples"]} if "examples" in value else {}
            return " or ".join(dict.fromkeys(self.of({**choice, **examples}) for choice in choices))
        words = value.get("examples", [])[:2] or value.get("enum", [value["const"]] if "const" in value else [])
        return " ".join(f"`{word}`" for word in words) or self._kind(value)

    def _kind(self, value: dict[str, Any]) -> str:
        kind = str(value.get("type", "any"))
        if "prefixItems" in value:
            return f"[{', '.join(self.of(one) for one in value['prefixItems'])}]"
        if kind == "array" and "items" not in value:
            return "empty list"
        if kind == "array":
            return "list of checks" if "oneOf" in value["items"] else f"list of: {self.of(value['items'])}"
        if kind == "object" and "oneOf" in value:
            return f"section by its `{value['discriminator']['propertyName']}`"
        if kind == "object":
            inner = next(_named(value), None)
            return "mapping" if inner is None else f"by name: {self.of(inner)}"
        plain = {"string": str(value.get("format", "text")), "integer": "whole number", "boolean": "`true` `false`"}
        return plain.get(kind, kind)


def _default(key: str, value: dict[str, Any], part: dict[str, Any]) -> str:
    if key in part.get("required", []):
        return "**required**"
    default = value.get("default")
    return "" if default in (None, [], {}) or isinstance(default, dict) else f"`{default}`"


# --- the command line -------------------------------------------------------------------------------------------------


def commands() -> str:
    """Describe every command: what it does, an example, its own options."""
    return "\n".join(line for name in command_files() for line in _command(f"tablewatch {name}", build_command(name)))


def _command(path: str, command: Any) -> Iterator[str]:
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    if not inner or command.callback is None or getattr(command, "invoke_without_command", False):
        yield f"### `{path}`\n"
        yield _prose(command.help or "")
        yield from _options(command)
    for name, one in inner.items():
        yield from _command(f"{path} {name}", one)


def _prose(text: str) -> str:
    said, _, example = text.partition("Example: ")
    shown = f"\n```\n{example.strip()}\n```\n" if example else ""
    return f"{said.strip()}\n{shown}"


def _options(command: Any) -> Iterator[str]:
    rows = []
    for parameter in command.params:
        words = [word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("-")]
        if _SHARED.intersection(words) and "--format" not in words:
            continue
        shown = ", ".join(f"`{word}`" for word in words) or f"`{(parameter.metavar or parameter.name).upper()}`"
        help_text = getattr(parameter, "help", None) or ""
        if "--format" in words and help_text == "Output format: text or JSON.":
            continue
        rows.append(f"| {shown} | {help_text.replace('|', '&#124;')} |")
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows, ""])


# --- the demo ---------------------------------------------------------------------------------------------------------


def demo() -> str:
    """Return what the demo prints, built as of a fixed moment."""
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    with TemporaryDirectory() as folder:
        built = build_demo(Path(folder) / _DEMO, now=DEMO_NOW)
        tell(built).draw(console)
        said = console.file.getvalue().replace(f"{folder}{os.sep}", "")  # type: ignore[attr-defined]  # a StringIO
    return "```\n" + "\n".join(line.rstrip() for line in said.splitlines()) + "\n```"


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "configuration-reference": configuration_reference,
    "commands": commands,
    "demo": demo,
    "hierarchy-examples": examples,
    "microaggregation-picture": companies,
}


def main() -> None:
    """Write every page anew."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = refreshed(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"refreshed {page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
