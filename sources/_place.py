"""Find what a URL names: its kind, and the file."""

import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from sources._contract import Unreachable
from sources._spec import SourceSpec


def scheme_of(url: str) -> str:
    """Return what stands before `://`, empty if nothing does; the rest may be anything and is not looked at."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    return match[1].lower() if match else ""


def path_in_url(path: str) -> str:
    """Return a path as it stands in a URL; letters that are not ASCII stay readable."""
    return "".join(quote(letter) if letter.isascii() else letter for letter in path)


def file_of(spec: SourceSpec) -> Path:
    """Return the existing file of a `sqlite:///` or `duckdb:///` URL; a relative path belongs to the source's base.

    Raises:
        Unreachable: it names no file, or a missing one; it is never created.
    """
    parts = urlsplit(spec.url or "")
    if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
        marks = "a ? or # of its name as %3F or %23"
        expected = f"{parts.scheme}:///FOLDER/FILE, without host and options, {marks}"
        raise Unreachable(f"source '{spec.name}': its URL names no file; expected {expected}")
    path = spec.base / unquote(parts.path.removeprefix("/"))
    if not path.is_file():
        text = "is not a file" if path.exists() else "does not exist"
        raise Unreachable(f"source '{spec.name}': '{path}' {text}; expected a database file, none is created")
    return path.resolve()
