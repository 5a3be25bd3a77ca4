"""Compare whom a release holds with whom earlier exports of the same table held, by keyed signatures only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from checks._counts import PersonPairs
from checks._counts import Release as Earlier
from monitor.frame.problem import ExitCode, Problem, Stop
from monitor.releasing.case import Case
from monitor.releasing.crowd import linked_classes
from monitor.releasing.decide import Decisions
from monitor.releasing.exposure import Compared, check_exposures, exposed_by_all, exposure
from monitor.releasing.linked import classes_of, pseudonyms_in
from monitor.releasing.plan import Kind
from monitor.releasing.same_table import names_of
from store import FailPoint, ReleaseEvent, ReleaseEventKind, StoredCounts, StoreError, View, reached

if TYPE_CHECKING:
    from monitor.releasing.treat import Treated

_SIZE: Final = 16


def subject_of(table: str) -> str:
    """Name what exports are remembered under: the table, since its releases are of the same people."""
    return f"{table} exports"


def export_name(event: ReleaseEvent) -> str:
    """Give the name under which an export is remembered."""
    return f"{event.release} {event.recorded_at:%Y-%m-%dT%H:%M:%S.%fZ}"


def pairs_of(case: Case, treated: "Treated") -> PersonPairs | None:
    """Give whom the output holds, and in which class, as signatures; None without a person key.

    Where a pseudonym links the rows of a person, those of all of them together are the class.

    Raises:
        Misfit: a value has no text.
    """
    person = case.release.person_key
    if person is None or treated.people is None:
        return None
    from remedies.generalisation import texts_of

    after = treated.frame
    people = texts_of(treated.people)
    cells: Sequence[Sequence[str | None]]
    if len(after) and pseudonyms_in(case, after):
        cells = [(str(number),) for number in linked_classes(treated.people, classes_of(case, after))]
    else:
        grouped = [name for name in case.quasi if name in after.columns]
        cells = list(zip(*(texts_of(after[name]) for name in grouped), strict=True)) if grouped else [()] * len(after)
    named = [place for place, one in enumerate(people) if one is not None]
    persons = _signed([str(people[place]) for place in named], case.key, b"exported person")
    classes = _signed([_joined(cells[place]) for place in named], case.key, b"exported class")
    digest = blake2b(person.encode(), key=case.key, digest_size=_SIZE, person=b"exported by").digest()
    return PersonPairs(digest, persons, classes, len(people) - len(named))


@dataclass(frozen=True, slots=True)
class Registry:
    """What was exported of a table before, when an export began. `known`: the exports of records, the oldest first.

    `names`: all that the table is called in the configuration.
    """

    decisions: Decisions
    known: Sequence[ReleaseEvent]
    names: Sequence[str]

    @classmethod
    def of(cls, decisions: Decisions) -> "Registry":
        """Read it. Randomised tables and noisy answers are no records of anybody: epsilon is the measure of these."""
        names = names_of(decisions.case.project, decisions.case.release.table)
        with decisions.store.reading() as view:
            return cls(decisions, _of_table(view, names), names)

    def compared(self, pairs: PersonPairs | None) -> Compared:
        """Compare with every earlier export of the table, and with all of them together.

        Raises:
            Stop: somebody would be exposed, or an earlier export cannot be compared; unless the release only wants
                warning.
        """
        case = self.decisions.case
        if pairs is None:
            self._check_first()
            return Compared(None)
        counts = StoredCounts(self.decisions.store)
        kept = {one.name: one for name in self.names for one in counts.releases(subject_of(name))}
        named = [(export_name(event), event.recorded_at) for event in self.known]
        earlier = [exposure(name, at, kept.get(name), pairs, case.k) for name, at in named]
        found = Compared(earlier, exposed_by_all([kept[name] for name, _ in named if name in kept], pairs, case.k))
        if case.release.re_release == "refuse":
            check_exposures(case, found)
        return found

    def remember(self, event: ReleaseEvent, pairs: PersonPairs | None, *, check: Callable[[View], None]) -> None:
        """Remember an export: whom it holds first, so that no export is on record that cannot be compared.

        Whom an export held that was stopped in between, and so gave out no file, is forgotten by the next. `check`
        looks in the same step whether it may still be remembered: nobody else writes in between.

        Raises:
            Stop: another export of the table was remembered since this one began; or as `check`.
            StoreError: it cannot be written.
        """
        decisions, subject = self.decisions, subject_of(self.decisions.case.release.table)
        self._check_alone()
        if pairs is not None:
            self._remember_pairs(Earlier(export_name(event), event.recorded_at, pairs))
        reached(FailPoint.AFTER_EXPORT_HELD)
        with decisions.store.writing() as book:
            exports = self._exports(book)
            alone = len(exports) == len(self.known)
            book.forget_all_but(subject, [export_name(one) for one in (*exports, *([event] if alone else []))])
            if alone:
                check(book)
                book.add_release_event(event)
        if not alone:
            raise self._overtaken()

    def _remember_pairs(self, held: Earlier) -> None:
        decisions = self.decisions
        try:
            StoredCounts(decisions.store).remember_release(subject_of(decisions.case.release.table), held)
        except StoreError:  # another export that ended meanwhile has forgotten what this one began
            self._check_alone()
            raise

    def _check_alone(self) -> None:
        with self.decisions.store.reading() as view:
            if len(self._exports(view)) != len(self.known):
                raise self._overtaken()

    def _exports(self, view: View) -> Sequence[ReleaseEvent]:
        return _of_table(view, self.names)

    def _overtaken(self) -> Stop:
        message = f"another export of '{self.decisions.case.release.table}' ended while this one was made"
        hint = "export again: it is compared with that one then"
        return Stop(ExitCode.FAILED, Problem("release.overtaken", message, hint=hint))

    def _check_first(self) -> None:
        if not self.known:
            return
        case = self.decisions.case
        times = "once" if len(self.known) == 1 else f"{len(self.known):,} times"
        note = (
            f"'{case.release.table}' was exported {times} before, and without 'person_key' it cannot be checked whom "
            "the exports expose together"
        )
        self.decisions.hold(note=note)
        hint = "give the release a 'person_key'"
        raise Stop(ExitCode.FAILED, Problem("release.cannot_be_checked", note, hint=hint))


def _of_table(view: View, names: Sequence[str]) -> Sequence[ReleaseEvent]:
    events = view.release_events(kind=ReleaseEventKind.EXPORTED)
    mine = [one for one in events if one.body.get("table") in names]
    return [one for one in mine if one.body.get("kind") == Kind.TABLE.value]


def _joined(cells: Sequence[str | None]) -> str:
    return "\x1f".join("\x1e" if cell is None else f"={cell}" for cell in cells)


def _signed(texts: Sequence[str], key: bytes, purpose: bytes) -> bytes:
    """Sign texts; one that comes again is signed once."""
    known = {
        text: blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=_SIZE, person=purpose).digest()
        for text in set(texts)
    }
    return b"".join(known[text] for text in texts)
