"""Find the file that a URL names."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from sources._contract import Unreachable
from sources._spec import SourceSpec


def file_of(spec: SourceSpec) -> Path:
    """Give the existing file of a `sqlite:///` or `duckdb:///` URL; a relative path belongs to the source's base.

    Raises:
        Unreachable: it names no file, or a missing one; it is never created.
    """
    parts = urlsplit(spec.url or "")
    if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
        expected = f"{parts.scheme}:///FOLDER/FILE, without host and options"
        raise Unreachable(f"source '{spec.name}': its URL names no file; expected {expected}")
    path = spec.base / unquote(parts.path.removeprefix("/"))
    if not path.is_file():
        seen = "is not a file" if path.exists() else "does not exist"
        raise Unreachable(f"source '{spec.name}': '{path}' {seen}; expected a database file, none is created")
    return path.resolve()
