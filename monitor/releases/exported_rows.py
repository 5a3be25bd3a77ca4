"""The rows of an export as keyed signatures: whose each is, its class, what that was made of, and its values."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from checks.classes.pairs import SIGNATURE
from checks.classes.spellings import normal_form
from checks.risk.compared_releases import (
    COMBINATIONS,
    OF_PEOPLE,
    PUBLISHED,
    SUPPRESSED,
    WRITTEN,
    ReleasedRows,
    SuppressedRows,
    column_of,
)
from monitor.releases.columns import ReleaseColumns
from monitor.releases.linkage import classes_of, pseudonyms_in

if TYPE_CHECKING:
    import pandas as pd

    from monitor.releases.treat import TreatedTable

Cells = Sequence[tuple[str | None, ...]]


def released_rows(case: ReleaseColumns, treated: "TreatedTable", *, is_close: bool = False) -> ReleasedRows | None:
    """Sign the rows that leave; None without a person key. `is_close`: whether any export promises t.

    Where a pseudonym links the rows of a person, those of all of them together are the class.

    Raises:
        Misfit: a value has no text.
    """
    person = case.release.person_key
    if person is None or treated.people is None:
        return None
    from remedies.generalisation import texts_of

    people = texts_of(treated.people)
    before, made_of = (frame.loc[treated.frame.index] for frame in (treated.before, treated.made_of))
    classes, raw = _cells(classes_of(case, treated.frame)), _cells(classes_of(case, made_of))
    published = _signed(list(map(_joined, raw)), case.key, b"exported from")
    is_linked = bool(pseudonyms_in(case, treated.frame))
    if is_linked:
        classes, raw = _linked(people, classes), _linked(people, raw)
    named = [place for place, name in enumerate(people) if name is not None]
    sensitive = [name for name in case.sensitive if name in treated.frame.columns]
    if is_close:
        sensitive += [name + WRITTEN for name in sensitive if not case.declared(name)["spelling_is_a_value"]]
    names = (*sensitive, *(name + OF_PEOPLE for name in sensitive if is_linked), COMBINATIONS, SUPPRESSED, PUBLISHED)
    return ReleasedRows(
        digest=blake2b(person.encode(), key=case.key, digest_size=SIGNATURE, person=b"exported by").digest(),
        people=_signed([str(people[place]) for place in named], case.key, b"exported person"),
        named=named,
        classes=_signed(list(map(_joined, classes)), case.key, b"exported class"),
        made_of=_signed(list(map(_joined, raw)), case.key, b"exported from"),
        values={name: _values(case, before, name) for name in sensitive},
        table={name: _values(case, treated.before, name) for name in sensitive},
        columns={name: signed_name(case, name) for name in names},
        missing={
            name: b"" if case.declared(column_of(name))["missing_is_a_value"] else _value(case, name, None)
            for name in sensitive
        },
        published=published,
        suppressed=_suppressed(case, treated, sensitive),
    )


def signed_combinations(case: ReleaseColumns, quasi: "pd.DataFrame") -> bytes:
    """Sign the combination of quasi-identifiers of each row of a table, as `made_of`."""
    return _signed(list(map(_joined, _cells(classes_of(case, quasi)))), case.key, b"exported from")


def signed_name(case: ReleaseColumns, name: str) -> bytes:
    """Sign the name of a column, or of what is remembered in the place of one."""
    return _signed([name], case.key, b"exported column")


def _suppressed(case: ReleaseColumns, treated: "TreatedTable", sensitive: Sequence[str]) -> SuppressedRows:
    rows = treated.left_out
    if rows is None or not len(rows):
        return SuppressedRows()
    classes, made_of = (_cells(classes_of(case, frame)) for frame in (rows, treated.made_of.loc[rows.index]))
    return SuppressedRows(
        _signed(list(map(_joined, classes)), case.key, b"exported class"),
        _signed(list(map(_joined, made_of)), case.key, b"exported from"),
        {name: _values(case, treated.before.loc[rows.index], name) for name in sensitive},
    )


def _cells(frame: "pd.DataFrame") -> Cells:
    from remedies.generalisation import texts_of

    if not len(frame.columns):
        return [()] * len(frame)
    return list(zip(*(texts_of(frame[name]) for name in frame.columns), strict=True))


def _linked(people: Sequence[str | None], cells: Cells) -> Cells:
    """Return the class of each row with those of all rows of its person: what a reader sees who can tell them."""
    texts, rows = list(map(_joined, cells)), defaultdict(list)
    for person, text in zip(people, texts, strict=True):
        rows[person].append(text)
    whole = {person: "\x1d".join(sorted(parts)) for person, parts in rows.items()}
    return [(text, whole[person]) for person, text in zip(people, texts, strict=True)]


def _values(case: ReleaseColumns, frame: "pd.DataFrame", name: str) -> bytes:
    """Sign the values of a column as they are judged: in one spelling, and what is missing as one."""
    from remedies.generalisation import texts_of

    texts, declared = texts_of(frame[column_of(name)]), case.declared(column_of(name))
    if not (declared["spelling_is_a_value"] or name.endswith(WRITTEN)):
        spelled = {text: None if text is None else normal_form(text) for text in set(texts)}
        texts = [spelled[text] for text in texts]
    if not declared["missing_is_a_value"]:
        texts = [text if text is not None and text.strip() else None for text in texts]
    return _signed([_joined((column_of(name), text)) for text in texts], case.key, b"exported value")


def _value(case: ReleaseColumns, name: str, text: str | None) -> bytes:
    return _signed([_joined((column_of(name), text))], case.key, b"exported value")


def _joined(cells: Sequence[str | None]) -> str:
    return "\x1f".join("\x1e" if cell is None else f"={cell}" for cell in cells)


def _signed(texts: Sequence[str], key: bytes, purpose: bytes) -> bytes:
    """Sign texts; one that comes again is signed once."""
    entries = {
        text: blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=SIGNATURE, person=purpose).digest()
        for text in set(texts)
    }
    return b"".join(entries[text] for text in texts)
