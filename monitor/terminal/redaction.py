"""Keep secrets out of everything that is shown.

A value that came from the environment or from a file is a secret wherever it turns up, and so is the password of any
URL, and what signs one: `X-Amz-Signature`, `sig` of a shared access signature, a token.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final
from unicodedata import category

_HARMLESS: Final = "\t\u200c\u200d"
"""A tab, and the two marks that shape letters (Persian, Hindi) and join emoji."""
_NOT_PLAIN: Final = re.compile(r"[^ -~]")
_PLAIN_JSON: Final = re.compile(r"[ -~\n]*")
_UNPRINTABLE: Final = re.compile(r"[^ -~\n]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Show control characters as escapes (`\x1b`): text must not move the cursor, turn its direction or recolour."""
    if text.isprintable():
        return text
    harmless = keep + _HARMLESS

    def shown(match: re.Match[str]) -> str:
        item = match[0]
        return item if item.isprintable() or item in harmless or category(item) == "Zs" else _escape(item)

    return _NOT_PLAIN.sub(shown, text)


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


MASK = "***"
_SHORTEST = 4
"""Masking every `1` or `on` would destroy a text; shorter values are masked by `config show` only, at their place."""

_URL_PASSWORD = re.compile(r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@\"']*:)[^\s\"']+?(?P<after>@(?!\S*?@))")
_QUERY_SECRET = re.compile(
    r"(?P<before>[?&;](?:[\w.-]*(?:password|passwd|passphrase|pwd|token|secret|credential|signature|hmac|api[_-]?key"
    r"|private_key|access_?key)[\w.-]*|sig|sas|key)=)[^\s&;\"'#]+",
    re.IGNORECASE,
)
_SECRET_KEYS = frozenset({"secret", "password", "token"})
"""Keys that are taken for secrets whatever the configuration says."""


class Redactor:
    """Masks known secrets, and passwords in URLs, in any text or JSON value."""

    def __init__(
        self,
        secrets: Iterable[str] = (),
        *,
        published: Iterable[str] = (),
        keys: Iterable[str] = (),
        urls: bool = True,
    ) -> None:
        """Remember secrets; `published` names (tables, channels, the project) identify results and are never masked.

        `keys` hold secrets in lines of a file that cannot be read (`line`), beside `secret`, `password` and `token`.
        `urls=False` lets the passwords of URLs through, for a person who asked to see them.
        """
        self._urls = urls
        self._keyed = _keyed(_SECRET_KEYS.union(keys))
        names = set(secrets) - set(published)
        lines = {line.strip() for secret in names for line in secret.splitlines()}
        self._secrets = sorted({text for text in names | lines if len(text) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join(re.escape(secret) for secret in self._secrets)) if self._secrets else None

    def __call__(self, text: str) -> str:
        """Mask every secret in a text."""
        if self._pattern is not None:
            text = self._pattern.sub(MASK, text)
        if self._urls and "://" in text:
            text = _URL_PASSWORD.sub(rf"\g<before>{MASK}\g<after>", text)
            text = _QUERY_SECRET.sub(rf"\g<before>{MASK}", text)
        return text

    def line(self, text: str) -> str:
        """Mask every secret in a line of a configuration, which may not be readable as a whole."""
        return self(self._keyed.sub(rf"\g<before>{MASK}", text) if self._urls else text)

    def value(self, value: Any) -> Any:
        """Mask every secret in a JSON value; the shape stays."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


@cache
def _keyed(keys: frozenset[str]) -> re.Pattern[str]:
    """Match what stands after a key that holds a secret, in YAML or JSON, to the end of the value in its line."""
    words = "|".join(sorted(map(re.escape, keys)))
    return re.compile(
        rf"""(?P<before>\b(?:{words}|url(?=["']?\s*:\s*["']?https?://))["']?\s*:\s*)"""
        r"""(?:"[^"]*"?|'[^']*'?|[^\s"',}\]][^,}\]]*)"""
    )
