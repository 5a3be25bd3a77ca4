"""A refused form comes back: filled as it was sent, with each message at its field, and the focus on the first.

The page that has the form is rendered again; the form is found in it by its address, so that this holds for the
form of every verb. Attributes in our templates are quoted and escaped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from re import Match
from typing import Final

from monitor.terminal.problem import Problem

_FIELD: Final = re.compile(
    r"<input\b[^>]*>|<select\b[^>]*>.*?</select>|<textarea\b[^>]*>.*?</textarea>", re.DOTALL | re.IGNORECASE
)
_FORM: Final = re.compile(r"<form [^>]*>.*?</form>", re.DOTALL)
_TEXT_AREA: Final = re.compile(r"(<textarea\b[^>]*>).*?(</textarea>)", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r'\s(?P<name>[a-z-]+)="(?P<value>[^"]*)"')
_DETAILS: Final = re.compile(r"<details\b|</details>")
_FIELDS_OF_CODES: Final[Mapping[str, str]] = {
    "cause.unknown": "cause",
    "table.unknown": "table",
    "domain.unknown": "domain",
    "incident.impossible_order": "occurred",
    "sign_in.refused": "password",
    "release.no_note": "note",
}
"""The field of a problem that names none."""
_ID: Final = "refused"


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """What was sent to an address, and why it was refused."""

    action: str
    values: Mapping[str, Sequence[str]]
    problems: Sequence[Problem]

    def shown_on(self, page: str) -> str:
        """Return a page with the form as it was sent; the reasons stand above the page where it has no such form."""
        page = page.replace("<title>", "<title>\N{BLACK UP-POINTING TRIANGLE} ", 1)
        for match in _FORM.finditer(page):
            if f'action="{escape(self.action)}"' in match[0] and self._is_of(match[0]):
                return _opened(page[: match.start()]) + self._filled(match[0]) + page[match.end() :]
        main = page.index(">", page.index("<main")) + 1
        return page[:main] + self._general(self.problems) + page[main:]

    def _is_of(self, form: str) -> bool:
        """Check whether a form has the hidden values that were sent; a version may have become another one."""
        hidden = [dict(_ATTRIBUTE.findall(field)) for field in _FIELD.findall(form) if 'type="hidden"' in field]
        sent = [field for field in hidden if field["name"] in self.values and field["name"] != "if_version"]
        return all(escape(self._sent(field["name"])) == field["value"] for field in sent)

    def _filled(self, form: str) -> str:
        names = {attributes.get("name", "") for attributes in map(_attributes, _FIELD.findall(form))}
        by_field: dict[str, list[Problem]] = {}
        for problem in self.problems:
            field = problem.field or _FIELDS_OF_CODES.get(problem.code)
            if field is None and problem.hint is not None and "'force': true" in problem.hint:
                field = "force"
            by_field.setdefault(field if field in names else "", []).append(problem)
        general = by_field.pop("", [])
        first = next((name for name in map(_name, _FIELD.findall(form)) if name in by_field), None)
        filled = _FIELD.sub(lambda match: self._field(match, by_field, "" if general else first), form)
        start = filled.index(">") + 1
        return filled[:start] + (self._general(general) if general else "") + filled[start:]

    def _field(self, match: Match[str], problems: Mapping[str, Sequence[Problem]], first: str | None) -> str:
        field, attributes = match[0], _attributes(match[0])
        name = attributes.get("name", "")
        kind = attributes.get("type", "")
        if kind == "hidden" or not name:
            return field
        field = _with_value(field, kind, self.values.get(name) or [""])
        if name not in problems:
            return field
        text = "; ".join(f"{item.message}: {item.hint}" if item.hint else item.message for item in problems[name])
        marks = f' aria-invalid="true" aria-describedby="{_ID}-{name}"{" autofocus" if name == first else ""}'
        at = re.match(r"<\w+", field)
        end = at.end() if at else 0
        return f'<span class="refused" id="{_ID}-{name}">{escape(text)}</span>{field[:end]}{marks}{field[end:]}'

    def _sent(self, name: str) -> str:
        return (self.values.get(name) or [""])[-1]

    @staticmethod
    def _general(problems: Sequence[Problem]) -> str:
        texts = "".join(
            f"{escape(problem.message)}{f'<br><small>{escape(problem.hint)}</small>' if problem.hint else ''} "
            for problem in problems
        )
        return f'<p class="refused" role="alert" tabindex="-1" autofocus id="{_ID}">{texts}</p>'


def _attributes(field: str) -> Mapping[str, str]:
    return dict(_ATTRIBUTE.findall(field.partition(">")[0] + ">"))


def _name(field: str) -> str:
    return _attributes(field).get("name", "")


def _with_value(field: str, kind: str, values: Sequence[str]) -> str:
    """Return a field with the value that was sent, a box by all of its name; a password is not repeated."""
    value = values[-1]
    if kind == "password":
        return field
    if field.startswith("<textarea"):
        return _TEXT_AREA.sub(lambda match: f"{match[1]}\n{escape(value)}{match[2]}", field)
    if field.startswith("<select"):
        plain = re.sub(r"(<option\b[^>]*?) selected", r"\1", field)
        chosen = "|".join(re.escape(escape(item)) for item in values)
        return re.sub(rf'(<option value="(?:{chosen})")', r"\1 selected", plain)
    if kind in {"checkbox", "radio"}:
        plain = field.replace(" checked", "")
        return plain[:-1] + " checked>" if unescape(_attributes(field).get("value", "")) in values else plain
    plain = re.sub(r'\svalue="[^"]*"', "", field)
    return f'{plain[:-1]} value="{escape(value)}">'


def _opened(before: str) -> str:
    """Return the text before a form with the last section that hides it, if one does, opened."""
    depth, opens = 0, None
    for match in reversed(list(_DETAILS.finditer(before))):
        depth += 1 if match[0] == "</details>" else -1
        if depth < 0:
            opens = match.end()
            break
    return before if opens is None else f"{before[:opens]} open{before[opens:]}"
