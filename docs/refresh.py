"""Write the generated parts of the documentation: `python -m docs.refresh`.

A part stands between `<!-- generated: NAME -->` and `<!-- end of NAME -->` in any page; NAME is a key of `PARTS`. A
test fails when a page is not what this would write. To add a part: write its function, name it in `PARTS`, put the two
comments where it belongs.
"""

import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from docs.audit import ROOT, pages
from docs.check_stubs import check_stubs
from docs.companies import companies
from docs.hierarchies import examples
from monitor.cli import build_command, command_paths
from monitor.config.schema import json_schema
from monitor.demo import build_demo, tell

_PART: Final = re.compile(r"(?<=<!-- generated: )(?P<name>[a-z-]+) -->\n.*?(?=<!-- end of (?P=name) -->)", re.DOTALL)
_DEMO: Final = "tablewatch-demo"
DEMO_NOW: Final = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)
_NOT_SHOWN: Final = ({"$ref": "#/$defs/Substitution"}, {"type": "null"})
_FEW: Final = 3
"""So many rows or commands are worth a reference."""
_MANY: Final = 4
"""In more sections than these a key is described once."""
_WORDS: Final = {
    "`15m` `26h`": "duration",
    "`UTC` `Asia/Tokyo`": "zone",
    "`09:00` `19:30`": "clock time",
    "`mon-fri` `mon,wed,sat`": "weekdays",
    "`every 15m` `cron: 0 6 * * mon-fri`": "schedule",
    "`0 8 * * mon`": "cron line",
    "number or text": "number",
}
"""Terms of the section "Durations, schedules, zones" in place of examples."""
_SHARED: Final = frozenset({"--config", "--format", "--help"})


def refreshed(page: str) -> str:
    """Return the text of a page with its generated parts as they are now.

    Raises:
        KeyError: a part without a generator.
    """
    return _PART.sub(lambda part: f"{part['name']} -->\n{PARTS[part['name']]()}\n", page)


# --- the configuration ------------------------------------------------------------------------------------------------


def configuration_reference() -> str:
    """Describe every section of the configuration once, but not the checks, which have a page of their own."""
    schema = json_schema()
    paths: dict[str, str] = {}
    _find_sections(schema, schema["$defs"], "", paths)
    models = {"": schema, **{path: schema["$defs"][name] for name, path in paths.items()}}
    return "\n".join(_sections(models, _Words(schema["$defs"], paths)))


def _find_sections(part: dict[str, Any], defs: dict[str, Any], path: str, paths: dict[str, str]) -> None:
    """Fill `paths`: where each model stands first, by its name, in the order of the page."""
    for key, value in part["properties"].items():
        if path.startswith("tables[]") and key == "checks":
            continue
        for name, suffix in _models_in(value):
            if "properties" in defs[name] and name not in paths:
                paths[name] = f"{path}.{key}{suffix}".lstrip(".")
                _find_sections(defs[name], defs, paths[name], paths)


def _models_in(value: Any, suffix: str = "") -> Iterator[tuple[str, str]]:
    if "$ref" in value:
        yield value["$ref"].removeprefix("#/$defs/"), suffix
    if "if" in value:
        yield from _models_in(value["else"], suffix)
        yield from _models_in(value["then"], f"{suffix} with {value['if']['required'][0]}")
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


def _sections(models: Mapping[str, dict[str, Any]], words: "_Words") -> Iterator[str]:
    """Yield each section: equal ones together, what all types of a section take once, a part of another as its keys."""
    rows = {path: _rows(path, part, words) for path, part in models.items()}
    counts = Counter(row for path, own in rows.items() for row in own if row not in _of_every_type(path, rows))
    common = [row for row, count in counts.items() if count > _MANY]
    yield _section("Keys of several sections", "", common)
    for path, part in models.items():
        place = path.partition(" {")[0]
        equal = [other for other in models if rows[other] == rows[path]]
        if path != equal[0]:
            continue
        shared = _of_every_type(path, rows)
        if shared and path == next(other for other in models if other.startswith(f"{place} {{")):
            yield _section(f"`{place}`", "Keys of every type:", shared)
        own = [row for row in rows[path] if row not in shared]
        about = part.get("description", "").partition("\n\n")[0].replace("\n", " ") if path else ""
        whole = next((other for other in models if other != path and set(own) < set(rows[other])), None)
        if whole is not None and len(own) >= _FEW:
            keys = ", ".join(row.split(": ")[0].removeprefix("- ") for row in own)
            about, own = f"{about} Its keys are those of `{whole}`: {keys}.", []
        also = ", ".join(row.split(": ")[0].removeprefix("- ") for row in own if row in common)
        lines = [*(row for row in own if row not in common), *([f"- Also {also}"] if also else [])]
        yield _section(", ".join(f"`{other}`" for other in equal) if path else "The whole", about, lines)


def _of_every_type(path: str, rows: Mapping[str, list[str]]) -> list[str]:
    """Return the lines of a section that all types of it have."""
    place, _, kind = path.partition(" {")
    types = [other for other in rows if kind and other.startswith(f"{place} {{")]
    return [row for row in rows[path] if types and all(row in rows[other] for other in types)]


def _rows(path: str, part: dict[str, Any], words: "_Words") -> list[str]:
    """Return a line for each key: what it may be, its default and its meaning; a section right below has no name."""
    rows = []
    for key, value in part["properties"].items():
        if "const" in value and key != "version":
            continue
        below = re.escape(f"{path}.{key}".lstrip("."))
        kind = re.sub(rf"section `{below}(\[\]|\.NAME)?`", "section", words.of(value))
        about = f". {value['description']}" if value.get("description") else ""
        rows.append(f"- `{key}`: {kind}{_default(key, value, part)}{about}")
    return rows


def _section(title: str, about: str, rows: list[str]) -> str:
    return "\n".join([f"### {title}", *(["", about] if about else []), *(["", *rows] if rows else []), ""])


@dataclass(frozen=True)
class _Words:
    """Says what a value of the schema may be."""

    defs: dict[str, Any]
    paths: dict[str, str]

    def of(self, value: dict[str, Any]) -> str:
        """Return what a value may be, in a few words."""
        words = self._words(value)
        return _WORDS.get(words, words)

    def _words(self, value: dict[str, Any]) -> str:
        if "$ref" in value:
            name = value["$ref"].removeprefix("#/$defs/")
            return f"section `{self.paths[name]}`" if name in self.paths else self.of(self.defs[name])
        if "if" in value:
            return " or ".join(self.of(value[branch]) for branch in ("else", "then"))
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
        return ", **required**"
    default = value.get("default")
    return "" if default in (None, [], {}) or isinstance(default, dict) else f" (`{default}`)"


# --- the command line -------------------------------------------------------------------------------------------------


def commands() -> str:
    """Describe every command: what it does, an example, its own options; those that several share stand first, once."""
    groups = {name: dict(_leaves(f"tablewatch {name}", build_command(name))) for name in command_paths()}
    rows = {name: {path: _options(command) for path, command in group.items()} for name, group in groups.items()}
    everywhere = Counter(row for group in rows.values() for row in {row for own in group.values() for row in own})
    common = {row for row, count in everywhere.items() if count >= _FEW}
    lines = [*_shared("Options of several commands", common)]
    for name, group in groups.items():
        counts = Counter(row for own in rows[name].values() for row in own if row not in common)
        often = {row for row, count in counts.items() if count >= _FEW}
        inside = often if len(often) > 1 else set[str]()
        lines += _shared(f"Options of `tablewatch {name}` commands", inside)
        lines += [_command(path, command, rows[name][path], common | inside) for path, command in group.items()]
    return "\n".join(lines)


def _shared(title: str, rows: set[str]) -> list[str]:
    return [f"### {title}", "", *sorted(rows), ""] if rows else []


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands that can be called, with their names."""
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    if not inner or command.callback is None or getattr(command, "invoke_without_command", False):
        yield path, command
    for name, one in inner.items():
        yield from _leaves(f"{path} {name}", one)


def _command(path: str, command: Any, rows: list[str], shared: set[str]) -> str:
    text, _, example = (command.help or "").partition("Example: ")
    shown = ["```", example.strip(), "```", ""] if example.strip() not in {"", path} else []
    own = [row for row in rows if row not in shared]
    also = ", ".join(row.split(": ")[0].removeprefix("- ") for row in rows if row in shared)
    options = [*own, *([f"- Also {also}"] if also else [])]
    return "\n".join([f"### `{path}`", "", text.strip(), "", *shown, *options, *([""] if options else [])])


def _options(command: Any) -> list[str]:
    """Return a line for each option of a command, without those that every command takes."""
    rows = []
    for parameter in command.params:
        words = [word for word in (*parameter.opts, *parameter.secondary_opts) if word.startswith("-")]
        if _SHARED.intersection(words) and "--format" not in words:
            continue
        shown = ", ".join(f"`{word}`" for word in words) or f"`{(parameter.metavar or parameter.name).upper()}`"
        help_text = getattr(parameter, "help", None) or ""
        if "--format" not in words or help_text != "Output format: text or JSON.":
            rows.append(f"- {shown}: {help_text}{_choices(parameter, help_text)}")
    return rows


def _choices(parameter: Any, help_text: str) -> str:
    """Return the values that an option may have, if they are a closed set and its help does not name all of them."""
    values = [choice.value for choice in parameter.type_descriptor.choices or ()]
    is_named = all(re.search(rf"\b{re.escape(value)}\b", help_text) for value in values)
    return "" if is_named else f" {' '.join(f'`{value}`' for value in values)}"


# --- the demo ---------------------------------------------------------------------------------------------------------


def demo() -> str:
    """Return what the demo prints, built as of a fixed moment."""
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    with TemporaryDirectory() as folder, chdir(folder):  # a long path would break lines
        tell(build_demo(Path(_DEMO), now=DEMO_NOW)).draw(console)
        said = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    return "```\n" + "\n".join(line.rstrip() for line in said.splitlines()) + "\n```"


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "configuration-reference": configuration_reference,
    "commands": commands,
    "demo": demo,
    "hierarchy-examples": examples,
    "microaggregation-picture": companies,
}


FILES: Final[Mapping[Path, Callable[[], str]]] = {ROOT / "tablewatch" / "checks.pyi": check_stubs}
"""Files of which nothing is written by hand."""


def main() -> None:
    """Write every page, and the files that are generated whole."""
    for page in (*pages(), *FILES):
        old = page.read_text(encoding="utf-8")
        new = FILES[page]() if page in FILES else refreshed(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"refreshed {page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
