"""Compare the people of a release with those of earlier exports of the same table, by keyed signatures only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from checks import ColumnClass, Json
from checks.classes.counts import KnownRelease as Earlier
from checks.classes.counts import PersonPairs
from checks.risk.compared_releases import ComparedRows, ReleasedRows, linked_rows, worst_of_columns
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
from monitor.releases.hold_back import rows_to_keep
from monitor.releases.linkage import farthest_from_input, linkable_rows
from monitor.releases.missing_classes import missing_in_all
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
        """Read it. Randomised tables and noisy answers are no records of people: epsilon is the measure of these."""
        with decisions.store.reading() as tx:
            table = SameTable.of(decisions.case, tx, content=state.content)
            return cls(decisions, _records(table.exports(tx)), table)

    @property
    def marks(self) -> Mapping[str, Json]:
        """Return the marks of the table, as an export remembers them."""
        return {MARKS: sorted(self.table.marks)}

    def promises(self) -> PromisedLimits:
        """Return the limits that hold over all exports of the table: of its releases, and of each earlier export."""
        return PromisedLimits.of(self.decisions.case, self.known, self.table.sisters(self.decisions.case))

    def strictest(self) -> ReleaseColumns:
        """Return the release with the strictest limits of all releases and exports; itself where it only warns.

        What another release, or an earlier export, that promised l or t did not declare to be a value is none here.
        """
        case, promises = self.decisions.case, self.promises()
        release = case.release
        if release.re_release != "refuse":
            return case
        words = {word: self._declared_by_all(word) for word in ("missing_is_a_value", "spelling_is_a_value")}
        update: dict[str, object] = {word: names for word, names in words.items() if names != getattr(release, word)}
        if promises.broken_by(release.limits):
            update["limits"] = promises.applied(release.limits)
        return replace(case, release=release.model_copy(update=update)) if update else case

    def _declared_by_all(self, word: str) -> Sequence[str]:
        """Return the columns that the release declares, and each release or export that promised l or t of them."""
        names: Sequence[str] = getattr(self.decisions.case.release, word)
        for sister in self.table.sisters(self.decisions.case):
            if sister.limits.l is not None or sister.limits.t is not None:
                own = sister.classified(ColumnClass.SENSITIVE)
                names = tuple(name for name in names if name in getattr(sister, word) or name not in own)
        for event in self.known:
            declared, sensitive, limits = (event.body.get(item) for item in (word, "sensitive", "limits"))
            if isinstance(declared, list) and isinstance(sensitive, list) and isinstance(limits, Mapping):
                promised = {"l", "t"} & set(limits)
                names = tuple(name for name in names if not promised or name in declared or name not in sensitive)
        return names

    def compared(self, rows: ReleasedRows | None, treated: "TreatedTable") -> ExportComparison:
        """Compare with every earlier export of the table, and with all of them together.

        Raises:
            Stop: people would be exposed, or an earlier export cannot be compared; unless the release only wants
                warning.
        """
        case = self.decisions.case
        if rows is None:
            self._check_first()
            return ExportComparison(None)
        promises, pairs, stored = self.promises(), rows.pairs(), self._kept()
        named = [(export_name(event), event.recorded_at) for event in self.known]
        earliers = [stored[name] for name, _ in named if name in stored]
        compared = {item.earlier.name: item for item in self._compared(stored, rows, pairs, treated)}
        kept = np.ones(len(treated.frame), dtype=np.bool_)
        values = {name: item.by_difference(promises.of_class, kept) for name, item in compared.items()}
        export_comparison = ExportComparison(
            earlier=[
                composition_risk(name, at, stored.get(name), pairs, promises.k, values.get(name, {}))
                for name, at in named
            ],
            by_all=exposed_by_all(earliers, pairs, promises.k),
            promises=promises,
            reclassified=reclassified(case, self.known),
            elsewhere=self._elsewhere(pairs),
            linked=worst_of_columns(
                {
                    name: int(linked_rows(list(compared.values()), name, promises.of_class, kept).sum())
                    for name in rows.values or ("",)
                }
            ),
        )
        export_comparison = self._with_values(export_comparison, earliers, pairs, treated, rows)
        has_values = promises.l is not None or promises.t is not None
        unknown = [
            name
            for name, item in compared.items()
            if not (item.is_counted if has_values else item.earlier.pairs.is_counted)
        ]
        export_comparison = replace(export_comparison, values_unknown=unknown)
        if has_values:
            missing = missing_in_all([item.earlier for item in compared.values()], rows, promises.of_class)
            export_comparison = replace(export_comparison, missing=missing)
        if case.release.re_release == "refuse":
            check_exposures(case, export_comparison, way_out=lambda: self._way_out(list(compared.values())))
        return export_comparison

    def _compared(
        self, stored: Mapping[str, Earlier], rows: ReleasedRows, pairs: PersonPairs, treated: "TreatedTable"
    ) -> Sequence[ComparedRows]:
        """Lay the rows beside each earlier export that can be compared."""
        case, results = self.decisions.case, []
        for event in self.known:
            earlier = stored.get(export_name(event))
            if earlier is not None and is_comparable(earlier, pairs):
                results.append(ComparedRows(earlier, rows, linkable_rows(case, event, treated.frame)))
        return results

    def earlier(self) -> Sequence[Earlier]:
        """Return what is remembered of the exports of the table, the oldest first.

        Raises:
            Stop: it is not what was remembered.
        """
        stored = self._kept()
        return [stored[name] for name in map(export_name, self.known) if name in stored]

    def hold_back(self, rows: ReleasedRows, treated: "TreatedTable") -> "TreatedTable":
        """Return what can leave now, so that no limit is broken together with earlier exports.

        Raises:
            Stop: nothing would be left.
        """
        compared = self._compared(self._kept(), rows, rows.pairs(), treated)
        if not compared:
            return treated
        keep = rows_to_keep(compared, self.promises().of_class)
        if not keep.any():
            message = "no row would be left: together with earlier exports each class breaks a limit"
            hint = "use the same treatment as for the earlier exports; or wait for more rows"
            raise Stop(ExitCode.FAILED, Problem("release.exposes", message, hint=hint))
        return treated.kept(keep)

    def _way_out(self, compared: Sequence[ComparedRows]) -> str:
        """Return which rows to hold back, as the beginning of a hint; nothing where that would not help."""
        if not compared:
            return ""
        keep = rows_to_keep(compared, self.promises().of_class)
        many, groups = int((~keep).sum()), len(np.unique(compared[0].classes[1][~keep]))
        if not many or not keep.any():
            return ""
        rows = "1 row" if many == 1 else f"{many:,} rows"
        return f"hold back {rows} in {'1 group' if groups == 1 else f'{groups:,} groups'} with --hold-back; or "

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
        rows: ReleasedRows,
    ) -> ExportComparison:
        """Add what all exports together tell of sensitive values, where one of them has promised l or t."""
        case, promises = self.decisions.case, export_comparison.promises
        columns = [name for name in case.sensitive if name in treated.frame.columns]
        if promises is None or not earliers or not columns:
            return export_comparison
        comparable = [earlier for earlier in earliers if is_comparable(earlier, pairs)]
        few, far = {}, {}
        if promises.l is not None:
            few = {
                name: few_values(earliers, pairs, rows.columns[name], promises.l, missing=rows.missing[name])
                for name in columns
            }
        if promises.t is not None and comparable:
            far = {name: _farthest(case, comparable, pairs, treated, name) for name in columns}
        return replace(export_comparison, few_values=few, distances=far)

    def _elsewhere(self, pairs: PersonPairs) -> Mapping[str, int]:
        """Count the people who are in exports of other tables too, as far as these tell people apart alike."""
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
        """Remember an export: its people first, so that no export is on record that cannot be compared.

        The people of an export that was stopped in between, without a file, are forgotten by the next. `check`
        decides in the same transaction whether it may still be remembered.

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
    """Return the exports that hold records of people."""
    return [export for export in exports if export.body.get("kind") == RemedyKind.TABLE.value]


def _each(signatures: bytes) -> set[bytes]:
    return {signatures[at : at + _SIZE] for at in range(0, len(signatures), _SIZE)}


def _farthest(
    case: ReleaseColumns, earliers: Sequence[Earlier], pairs: PersonPairs, treated: "TreatedTable", name: str
) -> float:
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
            result = max(result, farthest_from_input(case, numbers.tolist(), sensitive, treated.before[[name]]))
    return result
