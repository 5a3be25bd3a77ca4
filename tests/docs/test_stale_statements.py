"""The documentation does not say of anything that it is still to come: what is documented is acted on."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from monitor.config.schema import json_schema

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
STALE: Final = re.compile(
    r"\bnot (yet )?acted on\b|\bnot yet\b|\bwill be\b|\bplanned\b|\bTODO\b|\bcoming\b|\bto be (implemented|done)\b"
    r"|\b(in|by) (this|a later|a future|the next) version\b|\bhas no effect\b|\bnot (implemented|supported) yet\b",
    re.IGNORECASE,
)
ALLOWED: Final = (
    ("planned maintenance", "work that people plan"),
    ("planned work", "work that people plan"),
    ("or will be as soon as", "a channel is told"),
    ("for a part of the week or not yet", "a table that was not watched in a week"),
    ("claimed and not yet done", "a table that is in hand"),
)
"""Phrases in which such words are true, and of what they are said."""


def _descriptions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("description"), str):
            yield value["description"]
        for inner in value.values():
            yield from _descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _descriptions(inner)


def stale_statements(text: str) -> list[str]:
    """Return the statements of a text that something is still to come, with some words around each."""
    line = " ".join(text.split())
    for phrase, _ in ALLOWED:
        line = re.sub(re.escape(phrase), "", line, flags=re.IGNORECASE)
    return [line[max(0, match.start() - 60) : match.end() + 60] for match in STALE.finditer(line)]


def test_no_page_says_that_something_is_still_to_come() -> None:
    """No page says that something it documents is not acted on by this version."""
    assert [stale for page in PAGES for stale in stale_statements(page.read_text(encoding="utf-8"))] == []


def test_no_key_of_the_configuration_is_described_as_still_to_come() -> None:
    """What editors show of a key, and the tables of the documentation, is what it does now."""
    assert [stale for text in _descriptions(json_schema()) for stale in stale_statements(text)] == []


def test_every_allowed_phrase_occurs() -> None:
    """A phrase that went is allowed no longer."""
    texts = [*(page.read_text(encoding="utf-8") for page in PAGES), *_descriptions(json_schema())]
    whole = " ".join(" ".join(text.split()) for text in texts).lower()
    assert [phrase for phrase, _ in ALLOWED if phrase not in whole] == []


@pytest.mark.parametrize(
    "text",
    ["remedies and approval are not yet\nacted on", "It will be checked in a later version.", "TODO", "coming soon"],
)
def test_a_stale_statement_is_noticed(text: str) -> None:
    """The statement that this was written for is one of them."""
    assert stale_statements(text)
