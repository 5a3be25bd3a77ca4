"""The key of signatures. It is never in the store: an attacker with a copy of the store alone cannot guess values.

Of a SQLite store it is a file beside it, made when it is first needed. Daemons that share a PostgreSQL store need the
same key, so it comes from the configuration.
"""

import os
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Final

from store._errors import StoreUnavailable
from store._files import make_draft, put_on_disk, remove_draft, store_file

_BYTES: Final = 32
_LEAST_GIVEN: Final = 16
_HEX: Final = "hex:"


def signature_key(url: str, text: str | None = None) -> bytes:
    """Return the key of a store's signatures: made from the one that is given, else of the file beside the store.

    Args:
        url: of the store.
        text: what the configuration says, at least 16 characters; `hex:` and the content of a key file is that key.

    Raises:
        StoreUnavailable: PostgreSQL and none is given; the given one is short; the file cannot be read or made.
    """
    if text is not None:
        if len(text) < _LEAST_GIVEN:
            raise StoreUnavailable(
                f"'signature_key' of the storage is short; expected {_LEAST_GIVEN} characters or more"
            )
        if text.startswith(_HEX):
            return _key_of(text.removeprefix(_HEX), "'signature_key' of the storage")
        return blake2b(text.encode(), digest_size=_BYTES, person=b"signature key").digest()
    store = store_file(url)
    if store is None:
        raise StoreUnavailable(
            "counts and releases that are kept on PostgreSQL need 'signature_key' of the storage, the same for every "
            "daemon; give a long random text, from a file or the environment"
        )
    return _read(Path(f"{store}.key"))


def _read(file: Path) -> bytes:
    try:
        if not file.exists():
            _make(file)
        text = file.read_text(encoding="ascii")
    except OSError as error:
        raise StoreUnavailable(f"{file}, the key of signatures, cannot be read or made ({error.strerror})") from None
    except UnicodeDecodeError:
        text = ""
    return _key_of(text, str(file))


def _key_of(text: str, name: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise StoreUnavailable(
            f"{name} is not a signature key (expected {_BYTES} bytes in hexadecimal digits); restore it, or remove "
            "it to create a new one: then all classes are recounted, and earlier releases cannot be compared"
        )
    return key


def _make(file: Path) -> None:
    """Make a key under another name and rename it, so that no process reads a partial key, or another one."""
    draft = make_draft(file)
    try:
        with open(draft, "w", encoding="ascii", opener=_for_the_owner) as writing:
            writing.write(token_hex(_BYTES) + "\n")
        put_on_disk(draft)
        try:
            os.link(draft, file)
        except FileExistsError:  # another process was faster
            return
        except OSError:  # a disk without links
            draft.rename(file)
        put_on_disk(file.parent)
    finally:
        remove_draft(draft)


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
