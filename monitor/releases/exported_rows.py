"""The rows of an export as keyed signatures: whose each is, its class, what that was made of, and its values."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from checks.classes.counts import PersonPairs
from checks.classes.pairs import COPIES, SIGNATURE
from checks.classes.spellings import normal_form
from checks.risk.composition import codes_of_signatures
from monitor.releases.columns import ReleaseColumns
from monitor.releases.linkage import classes_of, pseudonyms_in

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from monitor.releases.treat import TreatedTable

Cells = Sequence[tuple[str | None, ...]]
COMBINATIONS: Final = ""
"""What the combinations of quasi-identifiers are remembered under, in the place of a column's name."""
WRITTEN: Final = "\x1f"
"""What the values of a column, each spelling by itself, are remembered under: this after the column's name."""
SUPPRESSED: Final = "\x00suppressed"
"""As `COMBINATIONS`, of rows that are left out: their classes are those that they would be in."""
PUBLISHED: Final = "\x00published"
"""Which combinations leave; where a pseudonym links rows, those of `COMBINATIONS` are of all rows of a person."""


@dataclass(frozen=True, slots=True)
class SuppressedRows:
    """Rows that are left out, as `ExportedRows`: the class that each would be in. Pseudonyms link none of them."""

    classes: bytes = b""
    made_of: bytes = b""
    values: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExportedRows:
    """Signatures of 16 bytes for each row, in the order of the rows.

    `people`: only of rows that name a person, as `named` says. `made_of`: the quasi-identifiers of the row before it
    was treated. `values`: by sensitive column, as before it was treated: what a label of the output stands for is at
    least the values that the class had; in one spelling, unless the release declares each to be a value, and as they
    are written where t is promised, which no spelling may bring nearer. `table`: by sensitive column, the values of all
    rows of the table. `missing`: the signature of what is no value, empty where it is one. `published`: the quasi-
    identifiers of the row alone, where `made_of` has those of other rows too.
    """

    digest: bytes
    people: bytes
    named: Sequence[int]
    classes: bytes
    made_of: bytes
    values: Mapping[str, bytes]
    table: Mapping[str, bytes]
    columns: Mapping[str, bytes]
    missing: Mapping[str, bytes]
    published: bytes = b""
    suppressed: SuppressedRows = SuppressedRows()

    @classmethod
    def of(cls, case: ReleaseColumns, treated: "TreatedTable", *, is_close: bool = False) -> "ExportedRows | None":
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
        if pseudonyms_in(case, treated.frame):
            classes, raw = _linked(people, classes), _linked(people, raw)
        named = [place for place, name in enumerate(people) if name is not None]
        sensitive = [name for name in case.sensitive if name in treated.frame.columns]
        if is_close:
            sensitive += [name + WRITTEN for name in sensitive if not case.declared(name)["spelling_is_a_value"]]
        return cls(
            digest=blake2b(person.encode(), key=case.key, digest_size=SIGNATURE, person=b"exported by").digest(),
            people=_signed([str(people[place]) for place in named], case.key, b"exported person"),
            named=named,
            classes=_signed(list(map(_joined, classes)), case.key, b"exported class"),
            made_of=_signed(list(map(_joined, raw)), case.key, b"exported from"),
            values={name: _values(case, before, name) for name in sensitive},
            table={name: _values(case, treated.before, name) for name in sensitive},
            columns={name: signed_name(case, name) for name in (*sensitive, COMBINATIONS, SUPPRESSED, PUBLISHED)},
            missing={
                name: b"" if case.declared(_column(name))["missing_is_a_value"] else _value(case, name, None)
                for name in sensitive
            },
            published=published,
            suppressed=_suppressed(case, treated, sensitive),
        )

    def numbered(self, name: str) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]":
        """Return the number of the value of each row, rows of the table by number, and the number of no value."""
        import numpy as np

        values, table, missing = codes_of_signatures(self.values[name], self.table[name], self.missing[name])
        totals = np.bincount(table, minlength=1 + int(values.max(initial=0))).astype(np.int64)
        return values, totals, int(missing.max(initial=-1))

    def pairs(self) -> PersonPairs:
        """Return what is remembered of it."""
        classes = b"".join(_at(self.classes, place) for place in self.named)
        unnamed = len(self.classes) // SIGNATURE - len(self.named)
        person = {place: _at(self.people, number) for number, place in enumerate(self.named)}
        parts = [(name, self.classes, values) for name, values in ((COMBINATIONS, self.made_of), *self.values.items())]
        parts.append((SUPPRESSED, self.suppressed.classes, self.suppressed.made_of))
        if self.published != self.made_of:
            parts.append((PUBLISHED, self.published, self.published))
        counts, people = Counter[bytes](), set()
        for name, groups, values in parts:
            for place in range(len(values) // SIGNATURE):
                cell = self.columns[name] + _at(groups, place) + _at(values, place)
                counts[cell] += 1
                people.add((cell, None if groups is self.suppressed.classes else person.get(place)))
        holders = Counter(cell for cell, _ in people)
        stored = b"".join(
            cell + b"".join(many.to_bytes(COPIES, "little") for many in (copies, holders[cell]))
            for cell, copies in sorted(counts.items())
        )
        return PersonPairs(self.digest, self.people, classes, unnamed, stored)


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


def _at(signatures: bytes, place: int) -> bytes:
    return signatures[place * SIGNATURE : (place + 1) * SIGNATURE]


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

    texts, declared = texts_of(frame[_column(name)]), case.declared(_column(name))
    if not (declared["spelling_is_a_value"] or name.endswith(WRITTEN)):
        spelled = {text: None if text is None else normal_form(text) for text in set(texts)}
        texts = [spelled[text] for text in texts]
    if not declared["missing_is_a_value"]:
        texts = [text if text is not None and text.strip() else None for text in texts]
    return _signed([_joined((_column(name), text)) for text in texts], case.key, b"exported value")


def _value(case: ReleaseColumns, name: str, text: str | None) -> bytes:
    return _signed([_joined((_column(name), text))], case.key, b"exported value")


def _column(name: str) -> str:
    return name.removesuffix(WRITTEN)


def worst_of_columns(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return the largest count of each column, of those by its values in one spelling and as they are written."""
    columns = dict.fromkeys(map(_column, counts))
    return {name: max(counts.get(name, 0), counts.get(name + WRITTEN, 0)) for name in columns}


def _joined(cells: Sequence[str | None]) -> str:
    return "\x1f".join("\x1e" if cell is None else f"={cell}" for cell in cells)


def _signed(texts: Sequence[str], key: bytes, purpose: bytes) -> bytes:
    """Sign texts; one that comes again is signed once."""
    entries = {
        text: blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=SIGNATURE, person=purpose).digest()
        for text in set(texts)
    }
    return b"".join(entries[text] for text in texts)
