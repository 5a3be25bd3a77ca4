"""Keep secrets out of everything that is shown.

A value that came from the environment or from a file is a secret wherever it turns up, and so is the password of any
URL.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
_SHORTEST = 4
"""Masking every `1` or `on` would destroy a text; shorter values are masked by `config show` only, at their place."""

_URL_PASSWORD = re.compile(r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@\"']*:)[^\s\"']+?(?P<after>@(?!\S*?@))")
_QUERY_SECRET = re.compile(
    r"(?P<before>[?&;][\w.-]*(?:password|passwd|passphrase|pwd|token|secret|credentials?|api[_-]?key|private_key|access_key)"
    r"[\w.-]*=)[^\s&;\"'#]+",
    re.IGNORECASE,
)
_KEYED = re.compile(
    r"""(?P<before>\b(?:secret|password|token|apprise|heartbeat_url|url(?=["']?\s*:\s*["']?https?://))["']?\s*:\s*)"""
    r"""(?:"[^"]*"?|'[^']*'?|[^\s"',}\]][^,}\]]*)"""
)
"""What stands after a key that holds a secret, in YAML or JSON, to the end of the value as far as a line tells."""


class Redactor:
    """Masks known secrets, and passwords in URLs, in any text or JSON value."""

    def __init__(self, secrets: Iterable[str] = (), *, published: Iterable[str] = (), urls: bool = True) -> None:
        """Remember secrets; `published` names (tables, checks, the project) identify results and are never masked.

        `urls=False` lets the passwords of URLs through, for a person who asked to see them.
        """
        self._urls = urls
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
        """Mask every secret in a line of a configuration, which nobody may have been able to read as a whole."""
        return self(_KEYED.sub(rf"\g<before>{MASK}", text) if self._urls else text)

    def value(self, value: Any) -> Any:
        """Mask every secret in a JSON value; the shape stays."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value
