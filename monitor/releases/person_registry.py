"""Compare whom a release holds with whom earlier exports of the same table held, by keyed signatures only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from checks import Json
from checks.classes.counts import KnownRelease as Earlier
from checks.classes.counts import PersonPairs
from monitor.releases.columns import ReleaseColumns
from monitor.releases.composition_risk import (
    ExportComparison,
    PromisedLimits,
    check_exposures,
    composition_risk,
    exposed_by_all,
    few_values,
    is_comparable,
    reclassified,
)
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.digests import MARKS, SameTable, TableDigest
from monitor.releases.linkage import classes_of, farthest_from_input, linked_classes, pseudonyms_in
from monitor.releases.plan import RemedyKind
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import (
    FailPoint,
    ReadTransaction,
    ReleaseEvent,
    ReleaseEventKind,
    RememberedPersons,
    StoredCounts,
    StoreError,
    WriteTransaction,
    reached,
)

if TYPE_CHECKING:
    from monitor.releases.treat import TreatedTable

_SIZE: Final = 16


def subject_of(table: str) -> str:
    """Return what exports are remembered under: the table, since its releases are of the same people."""
    return f"{table} exports"


def export_name(event: ReleaseEvent) -> str:
    """Return the name under which an export is remembered."""
    return f"{event.release} {event.recorded_at:%Y-%m-%dT%H:%M:%S.%fZ}"


def pairs_of(case: ReleaseColumns, treated: "TreatedTable") -> PersonPairs | None:
    """Return whom the output holds, and in which class, as signatures; None without a person key.

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
    named = [place for place, current_name in enumerate(people) if current_name is not None]
    persons = _signed([str(people[place]) for place in named], case.key, b"exported person")
    classes = _signed([_joined(cells[place]) for place in named], case.key, b"exported class")
    digest = blake2b(person.encode(), key=case.key, digest_size=_SIZE, person=b"exported by").digest()
    values = _class_values(case, treated, _signed(list(map(_joined, cells)), case.key, b"exported class"))
    return PersonPairs(digest, persons, classes, len(people) - len(named), values)


def _class_values(case: ReleaseColumns, treated: "TreatedTable", classes: bytes) -> bytes:
    """Return which sensitive values each class has, as `PersonPairs.values`: as they were before they were treated.

    What a label of the output stands for is at least the values that the class had, so nobody is taken for safer.
    """
    from remedies.generalisation import texts_of

    results = []
    for name in (item for item in case.sensitive if item in treated.frame.columns):
        attribute = _attribute(case, name)
        texts = texts_of(treated.before.loc[treated.frame.index, name])
        values = _signed([_joined((name, text)) for text in texts], case.key, b"exported value")
        rows = range(0, len(classes), _SIZE)
        results += sorted({attribute + classes[at : at + _SIZE] + values[at : at + _SIZE] for at in rows})
    return b"".join(results)


def _attribute(case: ReleaseColumns, name: str) -> bytes:
    return _signed([name], case.key, b"exported column")


@dataclass(frozen=True, slots=True)
class PersonRegistry:
    """What was exported of a table before, when an export began. `known`: the exports of records, the oldest first.

    `table`: by what exports of the same table are known.
    """

    decisions: ReleaseDecisions
    known: Sequence[ReleaseEvent]
    table: SameTable

    @classmethod
    def of(cls, decisions: ReleaseDecisions, state: TableDigest) -> "PersonRegistry":
        """Read it. Randomised tables and noisy answers are no records of anybody: epsilon is the measure of these."""
        with decisions.store.reading() as tx:
            table = SameTable.of(decisions.case, tx, content=state.content)
            return cls(decisions, _records(table.exports(tx)), table)

    @property
    def marks(self) -> Mapping[str, Json]:
        """Return the marks of the table, as an export remembers them."""
        return {MARKS: sorted(self.table.marks)}

    def compared(self, pairs: PersonPairs | None, treated: "TreatedTable") -> ExportComparison:
        """Compare with every earlier export of the table, and with all of them together.

        Raises:
            Stop: somebody would be exposed, or an earlier export cannot be compared; unless the release only wants
                warning.
        """
        case = self.decisions.case
        if pairs is None:
            self._check_first()
            return ExportComparison(None)
        promises = PromisedLimits.of(case, self.known)
        current_earliers = self._kept()
        named = [(export_name(event), event.recorded_at) for event in self.known]
        earliers = [current_earliers[name] for name, _ in named if name in current_earliers]
        export_comparison = ExportComparison(
            earlier=[composition_risk(name, at, current_earliers.get(name), pairs, promises.k) for name, at in named],
            by_all=exposed_by_all(earliers, pairs, promises.k),
            promises=promises,
            reclassified=reclassified(case, self.known),
            elsewhere=self._elsewhere(pairs),
        )
        export_comparison = self._with_values(export_comparison, earliers, pairs, treated)
        if case.release.re_release == "refuse":
            check_exposures(case, export_comparison)
        return export_comparison

    def _kept(self) -> Mapping[str, Earlier]:
        """Return what is remembered of the exports of this table, by name of export.

        Raises:
            Stop: it is not what was remembered.
        """
        tables = {str(item.body.get("table")) for item in self.known} | set(self.table.names)
        names, results = {export_name(event) for event in self.known}, {}
        with self.decisions.store.reading() as tx:
            for subject in map(subject_of, sorted(tables)):
                for release in tx.releases.of_subject(subject):
                    if release.name in names:
                        self.decisions.check_persons(tx, RememberedPersons(subject, release))
                    results[release.name] = release
        return results

    def _with_values(
        self,
        export_comparison: ExportComparison,
        earliers: Sequence[Earlier],
        pairs: PersonPairs,
        treated: "TreatedTable",
    ) -> ExportComparison:
        """Add what all exports together tell of sensitive values, where one of them has promised l or t."""
        case, promises = self.decisions.case, export_comparison.promises
        columns = [name for name in case.sensitive if name in treated.frame.columns]
        if promises is None or not earliers or not columns:
            return export_comparison
        comparable = [earlier for earlier in earliers if is_comparable(earlier, pairs)]
        few, far, unknown = {}, {}, []
        if promises.l is not None:
            few = {name: few_values(earliers, pairs, _attribute(case, name), promises.l) for name in columns}
            unknown = [earlier.name for earlier in comparable if earlier.pairs.values is None]
        if promises.t is not None and comparable:
            far = {name: _farthest(comparable, pairs, treated, name) for name in columns}
        return replace(export_comparison, few_values=few, distances=far, values_unknown=unknown)

    def _elsewhere(self, pairs: PersonPairs) -> Mapping[str, int]:
        """Count the persons who are in exports of other tables too, as far as these tell persons apart alike."""
        with self.decisions.store.reading() as tx:
            events = _records(tx.release_events.matching(kind=ReleaseEventKind.EXPORTED))
        others = [event for event in events if not self.table.is_of(event)]
        counts = StoredCounts(self.decisions.store)
        releases = {
            release.name: release
            for table in sorted({str(event.body.get("table")) for event in others})
            for release in counts.releases(subject_of(table))
        }
        persons = _each(pairs.people)
        results = {}
        for name in (export_name(event) for event in others):
            if name in releases and releases[name].pairs.digest == pairs.digest:
                results[name] = len(persons & _each(releases[name].pairs.people))
        return {name: many for name, many in results.items() if many}

    def remember(
        self, event: ReleaseEvent, pairs: PersonPairs | None, *, check: Callable[[ReadTransaction], None]
    ) -> None:
        """Remember an export: whom it holds first, so that no export is on record that cannot be compared.

        Whom an export held that was stopped in between, and so gave out no file, is forgotten by the next. `check`
        looks in the same step whether it may still be remembered: nobody else writes in between.

        Raises:
            Stop: another export of the table was remembered since this one began; or as `check`.
            StoreError: it cannot be written.
        """
        decisions, subject = self.decisions, subject_of(self.decisions.case.release.table)
        self._check_alone()
        persons, number = None, 0
        if pairs is not None:
            persons = RememberedPersons(subject, Earlier(export_name(event), event.recorded_at, pairs))
            number = self._write_persons(persons)
        reached(FailPoint.AFTER_EXPORT_HELD)

        def record(tx: WriteTransaction) -> bool:
            exports = self._exports(tx)
            alone = len(exports) == len(self.known)
            tx.releases.forget_all_but(
                subject, [export_name(release_event) for release_event in (*exports, *([event] if alone else []))]
            )
            if alone:
                check(tx)
                decisions.ledger.append(tx, event, persons)
                if persons is not None:
                    tx.releases.end(number)
            return alone

        if not decisions.ledger.write(record):
            raise self._overtaken()

    def _write_persons(self, persons: RememberedPersons) -> int:
        decisions = self.decisions
        try:
            return StoredCounts(decisions.store).write_release(persons.subject, persons.release)
        except StoreError:  # another export that ended meanwhile has forgotten what this one began
            self._check_alone()
            raise

    def _check_alone(self) -> None:
        with self.decisions.store.reading() as tx:
            if len(self._exports(tx)) != len(self.known):
                raise self._overtaken()

    def _exports(self, tx: ReadTransaction) -> Sequence[ReleaseEvent]:
        return _records(self.table.exports(tx))

    def _overtaken(self) -> Stop:
        message = f"another export of '{self.decisions.case.release.table}' finished while this one was running"
        hint = "run the export again; it will be compared with that one"
        return Stop(ExitCode.FAILED, Problem("release.overtaken", message, hint=hint))

    def _check_first(self) -> None:
        if not self.known:
            return
        case = self.decisions.case
        times = "once" if len(self.known) == 1 else f"{len(self.known):,} times"
        note = (
            f"'{case.release.table}' was exported {times} before, and without 'person_key' their joint exposure "
            "cannot be checked"
        )
        self.decisions.hold(note=note)
        hint = "add 'person_key' to the release"
        raise Stop(ExitCode.FAILED, Problem("release.cannot_be_checked", note, hint=hint))


def _records(exports: Sequence[ReleaseEvent]) -> Sequence[ReleaseEvent]:
    """Return the exports that hold records of persons."""
    return [export for export in exports if export.body.get("kind") == RemedyKind.TABLE.value]


def _each(signatures: bytes) -> set[bytes]:
    return {signatures[at : at + _SIZE] for at in range(0, len(signatures), _SIZE)}


def _farthest(earliers: Sequence[Earlier], pairs: PersonPairs, treated: "TreatedTable", name: str) -> float:
    """Return how far a joined class of this export and earlier ones is from the table: with each one, and with all."""
    from checks.risk.composition import joined_classes_signed

    now, before = (pairs.people, pairs.classes), [(earlier.pairs.people, earlier.pairs.classes) for earlier in earliers]
    joined = [[earlier, now] for earlier in before] + ([[*before, now]] if len(before) > 1 else [])
    values = treated.before.loc[treated.frame.index, name].reset_index(drop=True)
    result = 0.0
    for releases in joined:
        places, numbers = joined_classes_signed(releases)
        if len(places):
            sensitive = values.iloc[places].reset_index(drop=True)
            result = max(result, farthest_from_input(numbers.tolist(), sensitive, treated.before[[name]]))
    return result


def _joined(cells: Sequence[str | None]) -> str:
    return "\x1f".join("\x1e" if cell is None else f"={cell}" for cell in cells)


def _signed(texts: Sequence[str], key: bytes, purpose: bytes) -> bytes:
    """Sign texts; one that comes again is signed once."""
    entries = {
        text: blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=_SIZE, person=purpose).digest()
        for text in set(texts)
    }
    return b"".join(entries[text] for text in texts)
