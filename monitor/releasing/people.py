"""Compare whom a release holds with whom earlier exports of the same table held, by keyed signatures only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from checks import Json
from checks._counts import PersonPairs
from checks._counts import Release as Earlier
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import Case
from monitor.releasing.decide import Decisions
from store import ReleaseEventKind, Store, StoredCounts

if TYPE_CHECKING:
    import pandas as pd

    from monitor.releasing.treat import Treated

_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class Exposure:
    """What an earlier export and this one give away together.

    `intersected`: persons in both who are alike, in both, with fewer than k - 1 others. `left_over`: persons in one of
    them only whom the difference of the two singles out. Both None where the two cannot be compared.
    """

    name: str
    exported_at: datetime
    intersected: int | None
    left_over: int | None

    def as_json(self) -> dict[str, Json]:
        """Give it as plain data."""
        return {
            "export": self.name,
            "exported_at": self.exported_at.isoformat(),
            "persons_exposed": self.intersected,
            "persons_left_over": self.left_over,
        }


def subject_of(case: Case) -> str:
    """Name what exports are remembered under: the table, since its releases are of the same people."""
    return f"{case.release.table} exports"


def pairs_of(case: Case, frame: "pd.DataFrame", treated: "Treated") -> PersonPairs | None:
    """Give whom the output holds, and in which class, as signatures; None without a person key.

    `frame`: the table as it was read, whose index the output's rows still have.
    """
    person = case.release.person_key
    if person is None:
        return None
    from remedies.generalisation import texts_of

    after = treated.frame
    people = texts_of(frame[person].loc[after.index])
    grouped = [name for name in case.quasi if name in after.columns]
    cells = list(zip(*(texts_of(after[name]) for name in grouped), strict=True)) if grouped else [()] * len(after)
    named = [place for place, one in enumerate(people) if one is not None]
    persons = _signed([str(people[place]) for place in named], case.key, b"exported person")
    classes = _signed([_joined(cells[place]) for place in named], case.key, b"exported class")
    digest = blake2b(person.encode(), key=case.key, digest_size=_SIZE, person=b"exported by").digest()
    return PersonPairs(digest, persons, classes, len(people) - len(named))


def compared(decisions: Decisions, pairs: PersonPairs | None) -> Sequence[Exposure] | None:
    """Compare with every earlier export of the table; None where that cannot be done, and there is none.

    Raises:
        Stop: somebody would be exposed, or an earlier export cannot be compared; unless the release only wants warning.
    """
    if pairs is None:
        _check_first(decisions)
        return None
    found = _exposures(decisions, pairs)
    if decisions.case.release.re_release == "refuse":
        for one in found:
            _check_exposure(decisions.case, one)
    return found


def _check_first(decisions: Decisions) -> None:
    case = decisions.case
    with decisions.store.reading() as view:
        events = view.release_events(kind=ReleaseEventKind.EXPORTED)
    earlier = [event for event in events if event.body.get("table") == case.release.table]
    if earlier:
        times = "once" if len(earlier) == 1 else f"{len(earlier):,} times"
        note = (
            f"'{case.release.table}' was exported {times} before, and without 'person_key' it cannot be checked whom "
            "the exports expose together"
        )
        decisions.hold(note=note)
        hint = "give the release a 'person_key'"
        raise Stop(ExitCode.FAILED, Problem("release.cannot_be_checked", note, hint=hint))


def _check_exposure(case: Case, one: Exposure) -> None:
    if one.intersected == 0:
        return
    seen = f"export {one.name} told people apart by another column, or under another key, so nobody can compare the two"
    if one.intersected is not None:
        persons = "1 person" if one.intersected == 1 else f"{one.intersected:,} persons"
        seen = f"together with export {one.name} it leaves {persons} in groups smaller than {case.k}"
    hint = "treat it as that export was treated; or say 're_release: warn' in the release"
    raise Stop(ExitCode.FAILED, Problem("release.exposes", f"'{case.name}' is refused: {seen}", hint=hint))


def _exposures(decisions: Decisions, pairs: PersonPairs) -> Sequence[Exposure]:
    from checks.risk._composition import intersect_signed, left_over_signed

    case, found = decisions.case, []
    for one in StoredCounts(decisions.store).releases(subject_of(case)):
        if one.pairs.digest != pairs.digest:
            found.append(Exposure(one.name, one.released_at, None, None))
            continue
        before, after = (one.pairs.people, one.pairs.classes), (pairs.people, pairs.classes)
        exposed = intersect_signed(before, after, case.k).exposed
        found.append(Exposure(one.name, one.released_at, exposed, left_over_signed(before, after, case.k)))
    return found


def remember(case: Case, store: Store, *, name: str, at: datetime, pairs: PersonPairs) -> None:
    """Remember whom an export holds.

    Raises:
        StoreError: it cannot be written.
    """
    StoredCounts(store).remember_release(subject_of(case), Earlier(name, at, pairs))


def _joined(cells: Sequence[str | None]) -> str:
    return "\x1f".join("\x1e" if cell is None else f"={cell}" for cell in cells)


def _signed(texts: Sequence[str], key: bytes, purpose: bytes) -> bytes:
    """Sign texts; one that comes again is signed once."""
    known = {
        text: blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=_SIZE, person=purpose).digest()
        for text in set(texts)
    }
    return b"".join(known[text] for text in texts)
