r"""Clean the text of others for each kind of output: names of tables, owners, columns and files, titles and notes.

Whoever may name a table may put ESC, BEL, C1 controls or marks of direction into its name. Where it is shown they are
text, and nothing else:

=====================  ==========================================================================================
terminal, log          `visible`: each is written as an escape (`\x1b`); `frame.console` and `daemon.journal` do it
page, Markdown         `visible`, and then what HTML or Markdown would read as markup is escaped (`reports.render`)
Prometheus label       `visible`; its own escapes come on top (`daemon.metrics`)
mail header, title     `visible`, in one line (`alerts.message`, `alerts.wording`)
JSON                   `json_text`: the value stays what it is, written with JSON's own escapes (`\u001b`)
=====================  ==========================================================================================
"""

import json
import re
from typing import Any, Final
from unicodedata import category

_HARMLESS: Final = "\t\u200c\u200d"
"""A tab, and the two marks that shape letters (Persian, Hindi) and join emoji."""
_PLAIN_JSON: Final = re.compile(r"[ -~\n]*")
_UNPRINTABLE: Final = re.compile(r"[^ -~\n]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Show control characters as escapes (`\x1b`): text must not move the cursor, turn its direction or recolour."""
    if text.isprintable():
        return text
    current_text = keep + _HARMLESS
    return "".join(
        one if one.isprintable() or one in current_text or category(one) == "Zs" else _escape(one) for one in text
    )


def one_line(text: str) -> str:
    """Return a text as one line, with control characters as escapes: for titles and mail headers."""
    return visible(" ".join(text.split()))


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    r"""Return one JSON value as text; what is not printable stands in it as JSON's escapes (`\u001b`).

    `ascii_only`: so does whatever is not ASCII.

    Raises:
        ValueError: a number in it is not finite, which JSON cannot say.
    """
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
    return text if _PLAIN_JSON.fullmatch(text) else _UNPRINTABLE.sub(_as_json, text)


def _as_json(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _escape(character: str) -> str:
    return ascii(character)[1:-1]
