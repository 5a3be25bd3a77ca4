"""The message catalogues: nothing stale, the report complete, every place kept."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po

from monitor.terminal.localizer import Localizer, catalogue
from tests.templates.message_ids import PACKAGES, ROOT, Text, makes_message, texts_of_code, texts_of_templates

PASSED_ON = {
    "monitor/reporting/filters.py": "says the texts of the templates, which are found there",
    "checks/gx/worker_door.py": "says why there is no verdict, which opens no incident and so is in no report",
}
"""Files that make a message of a text they were given."""

LANGUAGES = sorted(path.name for path in (ROOT / "templates" / "locale").iterdir())


@pytest.fixture(params=LANGUAGES)
def translated(request) -> Catalog:
    """Read the catalogue of each language."""
    path = ROOT / "templates" / "locale" / request.param / "LC_MESSAGES" / "tablewatch.po"
    with path.open("rb") as file:
        return read_po(file, locale=request.param, abort_invalid=True)


def product_texts() -> list[Text]:
    """Return every text of the product."""
    return texts_of_templates() + texts_of_code(*PACKAGES)


def messages_of(read: Catalog) -> Iterator[Message]:
    """Return the messages, without the header."""
    return (message for message in read if message.id)


def places(text: str) -> list[tuple[str, str]]:
    """Return the places of a text with their kinds, in the order of the alphabet."""
    return sorted((name, kind or "") for _, name, kind, _ in Formatter().parse(text) if name is not None)


def test_there_are_catalogues():
    """Japanese is there."""
    assert "ja" in LANGUAGES


def test_nothing_is_stale(translated):
    """Every id of a catalogue is a text of the product."""
    known = {text.key for text in product_texts()}
    stale = [message.id for message in messages_of(translated) if message.id not in known]
    assert not stale


def says_something(text: Text) -> bool:
    """Check whether a text is more than its places."""
    return any(letter.isalpha() for literal, *_ in Formatter().parse(text.text) for letter in literal)


def test_reports_and_messages_are_complete(translated):
    """Every text of the report, of alerts, of all templates, and of checks (they become titles) is translated."""
    texts = texts_of_templates() + texts_of_code("monitor/reporting", "monitor/alerts", "checks")
    wanted = {text.key: text.place for text in texts if says_something(text)}
    there = {
        message.id
        for message in messages_of(translated)
        if all(message.string if message.pluralizable else [message.string])
    }
    missing = sorted(f"{place}: {key}" for key, place in wanted.items() if key not in there)
    assert not missing


def test_places_are_kept(translated):
    """A translation has the places of its original, each with its kind, and no others."""
    for message in messages_of(translated):
        originals = message.id if message.pluralizable else [message.id]
        for string in message.string if message.pluralizable else [message.string]:
            assert places(string) == places(originals[-1]), message.id


def test_no_fuzzy_entry(translated):
    """A guess is no translation."""
    assert not [message.id for message in translated if message.fuzzy and message.id]


def test_every_text_can_be_found():
    """The text of each message stands in the code, as a literal or under a name, so that a translator can find it."""
    hidden = []
    found = {text.place for text in texts_of_code(*PACKAGES)}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            for call in calls_of_message(path):
                stored = not call.args or isinstance(call.args[0], ast.Attribute)
                if f"{name}:{call.lineno}" not in found and not stored and name not in PASSED_ON:
                    hidden.append(f"{name}:{call.lineno}")
    assert not hidden


def calls_of_message(path: Path) -> Iterator[ast.Call]:
    """Yield the places of a file where a message is made."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "Message" in text else ():  # parsing takes a hundred times longer
        if isinstance(node, ast.Call) and makes_message(node):
            yield node


def test_messages_are_made_under_their_own_name():
    """`Message` is imported under no other name, where the search for texts would miss it."""
    renamed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "Message" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "Message"
        and (node.module or "").startswith("checks")
        and alias.asname not in {None, "Message"}
    ]
    assert not renamed


@pytest.mark.parametrize("language", LANGUAGES)
def test_stored_forms_are_translated(language):
    """A title keeps one form of a text that counts; both forms find their translation."""
    one, many = (
        "{rows:count} row, at least {limit:count} expected",
        "{rows:count} rows, at least {limit:count} expected",
    )
    localizer = Localizer(language, "UTC")
    assert catalogue(language).singulars[many] == one
    assert localizer.text(one) != one
    assert localizer.text(many) != many
    assert localizer.text("") == ""
