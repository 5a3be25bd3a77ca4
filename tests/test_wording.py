"""What users read is plain technical English: no phrase of the list below comes back."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from monitor.cli import build_command, command_paths
from monitor.config.schema import json_schema
from tests.templates.message_ids import PACKAGES, ROOT, texts_of_templates

BANNED: Final = (
    r"until (noticed|repaired)",
    r"\b(goes|went|gone|go) bad\b",
    r"\b(was|were|is|are) (noticed|told|heard)\b",
    r"\bhears? (of|nothing)\b",
    r"\btells? (nobody|nothing|it of)\b",
    r"\btold apart\b",
    r"\bgiv(e|es|en|ing) (out|away)\b",
    r"\bgave out\b",
    r"\bread again\b",
    r"\bfound again\b",
    r"\bfinding a record\b",
    r"\blooks? (at|for|again)\b(?! it for)",
    r"\blooked at\b",
    r"\bleft out\b",
    r"\bleaves? out\b",
    r"\bthe bill\b",
    r"\bput right\b",
    r"\bwall clocks?\b",
    r"\bsingles? out\b",
    r"\bdoes (most of )?the (most )?damage\b",
    r"\bstumbled\b",
    r"\bstanding statistics?\b",
    r"\bkeeps? every limit\b",
    r"\bis alike with\b|\bthat are alike\b",
    r"\bsays? of persons\b",
    r"\bin all\b(?! )",
    r"\bBad for\b",
    r"\bTake care of\b",
    r"\bgoodbye\b",
    r"\bby itself\b",
    r"\bcrowd to hide\b",
    r"\bhides? among\b",
    r"\bis no (time|number|encoding|table|file|JSON|CSV)\b",
    r"\bcalled otherwise\b",
    r"\bnothing is known\b|\bnobody knows\b",
    r"\bwhoever\b",
    r"\bleaves? with [0-9]",
    r"\bin the place of\b",
    r"\banew\b",
    r"\bvouch(es)?\b",
    r"\bsummed up\b",
)
"""Metaphors and words of our own, each of which the field has a term for."""
WRONG: Final = re.compile("|".join(f"(?:{phrase})" for phrase in BANNED))
ODD: Final = re.compile(
    r"\b(somebody|nobody|anybody|everybody|someone|anyone|everyone|whoever|whom|anew|besides|told|persons|buried|stirred)"
    r"(?!\w)",
    re.IGNORECASE,
)
"""Words of comments, docstrings and messages for which engineers write a noun: a user, an attacker, the process."""
JOINT: Final = re.compile(r"""(["'])\s*\n\s*[a-zA-Z]{0,2}["']""")
"""Where a literal is written in two pieces."""
STRINGS: Final = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
QUOTED: Final = re.compile(r"`[^`]*`")


def texts_of_code() -> Iterator[tuple[str, str]]:
    """Yield each literal of several words, with its place, of modules with a banned phrase; users read no docstring."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if not WRONG.search(JOINT.sub("", text)):  # a hundred times faster than parsing it
                continue
            tree = ast.parse(text)
            docstrings = {
                id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_text(node.value)
            }
            for node in ast.walk(tree):
                if is_text(node) and id(node) not in docstrings and " " in node.value:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def is_text(node: ast.AST) -> Any:
    """Check whether a node is a literal text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def texts_of_help() -> Iterator[tuple[str, str]]:
    """Yield the help of every command and option."""
    waiting = [(f"tablewatch {name}", build_command(name)) for name in command_paths()]
    while waiting:
        name, command = waiting.pop()
        yield name, command.help or ""
        yield from ((f"{name} {option.name}", getattr(option, "help", None) or "") for option in command.params)
        waiting += [(f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items()]


def texts_of_schema(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the description of every key of the configuration."""
    if isinstance(value, dict):
        if isinstance(value.get("description"), str):
            yield place, value["description"]
        for key, inner in value.items():
            yield from texts_of_schema(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of_schema(inner, place)


def wrong_phrases(texts: Iterator[tuple[str, str]]) -> list[str]:
    """Return the phrases of the list that occur in texts, each with its place."""
    found = ((place, WRONG.search(text)) for place, text in texts)
    return [f"{place}: {match[0]!r}" for place, match in found if match is not None]


def test_no_message_has_a_banned_phrase() -> None:
    """Messages, labels and hints use the terms of the field."""
    assert wrong_phrases(texts_of_code()) == []


def test_no_help_has_a_banned_phrase() -> None:
    """So does the help of commands and options."""
    assert wrong_phrases(texts_of_help()) == []


def test_no_key_is_described_with_a_banned_phrase() -> None:
    """So does what editors show of the configuration."""
    assert wrong_phrases(texts_of_schema(json_schema())) == []


def test_no_template_has_a_banned_phrase() -> None:
    """So do reports, pages, mails and alerts."""
    assert wrong_phrases((text.place, f"{text.one or ''} {text.text}") for text in texts_of_templates()) == []


@pytest.mark.parametrize("page", [Path("README.md")], ids=str)
def test_no_page_has_a_banned_phrase(page: Path) -> None:
    """So does what a newcomer reads first."""
    lines = enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1)
    assert wrong_phrases((f"{page}:{number}", line) for number, line in lines) == []


def test_a_banned_phrase_is_noticed() -> None:
    """The phrases that this was written for are in the list."""
    for text in ("time until noticed", "it is left out", "nothing was given out", "wall clock"):
        assert wrong_phrases(iter([("here", text)])), text


def _prose(path: Path, *, messages: bool) -> Iterator[tuple[int, str]]:
    """Yield each line of comments and docstrings, and of messages; keys of one word and bytes are no prose."""
    docstring_starts = {
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and is_text(node.value)
    }
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_message = messages and token.type in STRINGS and " " in token.string and token.string[0] not in "bB"
            is_docstring = token.type == tokenize.STRING and token.start[0] in docstring_starts
            if token.type == tokenize.COMMENT or is_message or is_docstring:
                yield from enumerate(token.string.splitlines(), token.start[0])


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_no_prose_has_an_odd_word(package: str) -> None:
    """Comments, docstrings and messages name the user, the attacker or the process; `quoted` names are code."""
    assert [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if ODD.search(path.read_text(encoding="utf-8"))
        for number, line in _prose(path, messages=package != "tests")
        if (match := ODD.search(QUOTED.sub("", line)))
    ] == []


def test_an_odd_word_is_noticed(tmp_path: Path) -> None:
    """In a comment, a docstring and a message, but not as a key, in bytes or quoted."""
    module = tmp_path / "module.py"
    module.write_text(
        '"""Nobody is here."""\n# whoever\nTEXT = "told of it"\nKEY, SALT = "told", b"hidden besides"\n# `anew`\n'
    )
    odd = [number for number, line in _prose(module, messages=True) if ODD.search(QUOTED.sub("", line))]
    assert odd == [1, 2, 3]


def test_every_package_says_what_it_is_for():
    """The docstring of a package describes it: no placeholder, no word of our own for a package."""
    texts = {path: path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
    placeholders = r"\bTODO\b|\bFIXME\b|\b(this|the|a|each|of) rooms?\b(?! for)"
    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if re.search(placeholders, text)] == []


def _pieces(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line of each text that is written as two, the end of the first and the start of the second."""
    before = None
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.STRING:
                prefix, _, rest = token.string.partition('"')
                if "r" not in prefix.lower() and before is not None:
                    yield token.start[0], before, rest.rstrip('"')
                before = rest.rstrip('"') if "r" not in prefix.lower() else None
            elif token.type not in {tokenize.NL, tokenize.COMMENT}:
                before = None


@pytest.mark.parametrize("package", PACKAGES)
def test_texts_in_two_pieces_have_a_space_between(package: str) -> None:
    """A message that is broken at the end of a line reads as one sentence."""
    assert [
        f"{path.relative_to(ROOT)}:{line}: {end[-20:]}|{start[:20]}"
        for path in (ROOT / package).rglob("*.py")
        for line, end, start in _pieces(path)
        if re.search(r"(?<!\\)[\w,.;:)](?<!\\n)$", end) and re.match(r"[\w(]", start)
    ] == []
