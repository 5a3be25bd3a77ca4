"""Render the record of a release to one HTML file: its decisions, and a certificate of each export.

A certificate has the limits asked and reached, the columns, and how to verify the file. It has no value of the table,
and no label that values were generalised to.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, Final

from checks import ColumnClass, Message
from incidents import AGENT
from monitor.releases.plan import RemedyKind
from monitor.releases.record import ReleaseRecord
from monitor.reporting.releases import release_row
from monitor.reporting.render import page
from monitor.terminal.localizer import Localizer
from store import ReleaseEvent, ReleaseEventKind

CLASSES: Final[Mapping[ColumnClass, Message]] = {
    ColumnClass.DIRECT_IDENTIFIER: Message("direct identifier"),
    ColumnClass.QUASI_IDENTIFIER: Message("quasi-identifier"),
    ColumnClass.SENSITIVE: Message("sensitive"),
    ColumnClass.OTHER: Message("other"),
}
KINDS: Final[Mapping[RemedyKind, Message]] = {
    RemedyKind.TABLE: Message("table, verified by grouping the file"),
    RemedyKind.RANDOMISED: Message("randomised table, evaluated by its mechanism"),
    RemedyKind.SYNTHETIC: Message("synthetic table, evaluated by its mechanism"),
    RemedyKind.ANSWERS: Message("noisy statistics instead of records, evaluated by their noise"),
}
_DIVERSITY: Final = Message("distinct sensitive values per equivalence class (l)")
_CLOSENESS: Final = Message("distance of each class's sensitive values from the table's (t)")
_BY_ANOTHER_MODEL: Final = Message("the same by the model that is farthest from it")
_IN_GROUPS: Final = Message("expected re-identifications, where a member of a group names the others")
_COUNTED_ROWS: Final = Message("rows")
_COUNTED_PEOPLE: Final = Message("people, by {columns}")
_COUNTED_LINKED: Final = Message("people, by {columns}, all rows of a person together")
_OMITTED: Final = frozenset({"type", "others", "where"})
"""Parameters that a page omits: the first is the name of the remedy, the others may hold values of the table."""


@dataclass(frozen=True, slots=True)
class CertificateLimit:
    """A limit. `sign`: how what was reached must stand to what was asked; None: not asked, not measured."""

    what: Message
    shown: str
    sign: str
    asked: float | str | None
    reached: float | str | None


@dataclass(frozen=True, slots=True)
class CertificateColumn:
    """A column that left. `lost`: which share of its information, 0 to 1; None where it is not measured."""

    name: str
    says: Message
    became: Message
    lost: float | None


@dataclass(frozen=True, slots=True)
class EarlierExport:
    """The people exposed by an earlier export and this one together; None where that cannot be computed.

    `groups`: of which the rows that one has more than the other break a limit on sensitive values.
    """

    name: str
    in_both: int | None
    exposed: int | None
    left_over: int | None
    groups: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """An export as its page shows it."""

    number: int
    event: ReleaseEvent

    @property
    def body(self) -> Mapping[str, Any]:
        """Return what the registry keeps."""
        return self.event.body

    @property
    def kind(self) -> RemedyKind:
        """Return how it was proved."""
        return RemedyKind(str(self.body["kind"]))

    @property
    def kind_text(self) -> Message:
        """Return how it was proved, as a message."""
        return KINDS[self.kind]

    @property
    def grouped(self) -> bool:
        """Check whether it was proved by grouping it."""
        return self.kind is RemedyKind.TABLE

    @property
    def limits(self) -> Sequence[CertificateLimit]:
        """Return what was asked, and what was reached."""
        return tuple(limits_of(self.body) if self.grouped else _epsilon(self.body))

    @property
    def counted(self) -> Message | None:
        """Return what was counted: rows, people, or people by all of their rows; None where it was not recorded."""
        by = self.body["reached"].get("counted_by")
        if not self.grouped or by is None:
            return None
        is_linked = (self.body["reached"].get("persons") or {}).get("rows_linked")
        text = (_COUNTED_LINKED if is_linked else _COUNTED_PEOPLE) if by else _COUNTED_ROWS
        return text.given(columns=by)

    @property
    def of_file(self) -> Mapping[str, Any]:
        """Return what counting the rows of the file shows, where people were counted; else nothing."""
        result: Mapping[str, Any] = self.body["reached"].get("of_file") or {}
        return result

    @property
    def columns(self) -> Sequence[CertificateColumn]:
        """Return the columns that left."""
        return tuple(_columns(self.body))

    @property
    def parameters(self) -> Sequence[tuple[str, str]]:
        """Return the parameters of the remedy, by name."""
        texts: Mapping[str, Any] = self.body["parameters"] or {}
        formatted = {name: parameter(value) for name, value in texts.items() if name not in _OMITTED}
        return [(name, text) for name, text in formatted.items() if text]

    @property
    def earlier(self) -> Sequence[EarlierExport] | None:
        """Return the earlier exports that it was compared with; None where it could not be."""
        results = self.body["earlier"]
        if results is None:
            return None
        return [
            EarlierExport(
                str(item["export"]),
                item.get("persons_in_both"),
                item.get("persons_exposed"),
                item.get("persons_left_over"),
                sum(item.get("groups_by_difference", {}).values()),
            )
            for item in results
        ]

    @property
    def exposed_by_all(self) -> int | None:
        """Return the number of people exposed by it and all earlier exports; None with fewer than two earlier."""
        count: int | None = self.body.get("exposed_by_all")
        return count

    @property
    def noise(self) -> Sequence[Mapping[str, Any]]:
        """Return how noisy answers are."""
        results: Sequence[Mapping[str, Any]] = (
            self.body["reached"].get("noise", ()) if self.kind is RemedyKind.ANSWERS else ()
        )
        return results

    @property
    def measured(self) -> Sequence[Mapping[str, Any]]:
        """Return the tables of counts that a synthetic table was drawn from, with their expected errors."""
        results: Sequence[Mapping[str, Any]] = self.body["reached"].get("tables", ())
        return results if self.kind is RemedyKind.SYNTHETIC else ()

    @property
    def approved_at(self) -> datetime | None:
        """Return when it was approved."""
        return _moment(self.body["approved_at"])

    @property
    def expires_at(self) -> datetime | None:
        """Return when the approval ends."""
        return _moment(self.body["expires_at"])

    @property
    def check_hash(self) -> str:
        """Return the command that verifies that a file is this export."""
        line = f"{self.body['sha256']}  {self.body['file']}"
        return f"echo {shlex.quote(line)} | sha256sum --check"

    @property
    def check_question(self) -> str | None:
        """Return a command that puts the question of the proof to the file; None where no question proves it."""
        if not self.grouped:
            return None
        file = str(self.body["file"]).replace("'", "''")
        read = f"read_csv('{file}', all_varchar = true)" if PurePath(file).suffix == ".csv" else f"'{file}'"
        return f"duckdb <<'SQL'\nCREATE VIEW output AS FROM {read};\n{self.body['question']};\nSQL"


def certificates(exports: Sequence[ReleaseEvent]) -> Sequence[Certificate]:
    """Return exports, the newest first, numbered from the oldest on."""
    return [Certificate(len(exports) - place, export) for place, export in enumerate(exports)]


def limits_of(body: Mapping[str, Any]) -> Iterator[CertificateLimit]:
    """Yield each limit of a table that was grouped, with what was asked of it and reached."""
    required, reached = body["limits"], body["reached"]
    k = required.get("k")
    risk = required.get("max_risk", None if k is None else 1 / k)
    apart = reached.get("population_unique_fraction_apart")
    average_risk, uniques = required.get("max_average_risk"), required.get("max_population_unique_fraction")
    for text, style, sign, limit, value in (
        (Message("smallest equivalence class (k)"), "number", "≥", k, reached.get("k")),
        (Message("highest re-identification risk of a record"), "ratio", "≤", risk, reached.get("highest_risk")),
        (Message("mean re-identification risk of a record"), "ratio", "≤", average_risk, reached.get("average_risk")),
        (_DIVERSITY, "number", "≥", required.get("l"), _least(reached.get("l"))),
        (_CLOSENESS, "number", "≤", required.get("t"), _most(reached.get("t"))),
        (Message("share of population uniques"), "ratio", "≤", uniques, reached.get("population_unique_fraction")),
        *([] if apart is None else [(_BY_ANOTHER_MODEL, "ratio", "", None, apart)]),
    ):
        yield CertificateLimit(text, style, sign, limit, value)
    for text, style, sign, limit, word in (
        (
            Message("highest individual risk of a record, by weights"),
            "ratio",
            "≤",
            "max_individual_risk",
            "highest_individual_risk",
        ),
        (Message("expected re-identifications"), "number", "", None, "expected_reidentifications"),
        (Message("highest risk of a group (household)"), "ratio", "≤", "max_group_risk", "highest_group_risk"),
        (_IN_GROUPS, "number", "", None, "expected_reidentifications_in_groups"),
    ):
        if reached.get(word) is not None:
            yield CertificateLimit(text, style, sign, required.get(limit), reached[word])


def _epsilon(body: Mapping[str, Any]) -> Iterator[CertificateLimit]:
    yield CertificateLimit(
        Message("epsilon: bound on the influence of one row on the output"), "text", "≤", *_both(body)
    )


def _both(body: Mapping[str, Any]) -> tuple[str | None, str | None]:
    required, reached = body["limits"].get("epsilon"), body["epsilon"]
    return None if required is None else str(required), None if reached is None else str(reached)


def _columns(body: Mapping[str, Any]) -> Iterator[CertificateColumn]:
    losses: Mapping[str, float] = body["information_lost"]
    for name in body["columns"]:
        column_class, became = _class_and_change(body, name)
        share = losses.get(name)
        if share and column_class is not ColumnClass.DIRECT_IDENTIFIER:
            became = Message("treated")
        yield CertificateColumn(name, CLASSES[column_class], became, None if share is None else share / 100)


def _class_and_change(body: Mapping[str, Any], name: str) -> tuple[ColumnClass, Message]:
    if name in body["pseudonyms"]:
        return ColumnClass.DIRECT_IDENTIFIER, Message("replaced by a release-specific pseudonym")
    if name in body["quasi_identifiers"]:
        return ColumnClass.QUASI_IDENTIFIER, Message("unchanged")
    return ColumnClass.SENSITIVE if name in body["sensitive"] else ColumnClass.OTHER, Message("unchanged")


def parameter(value: Any) -> str:
    """Return a parameter of any type as one line."""
    if value is None or value in ({}, []):
        return ""
    match value:
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return "; ".join(f"{name}: {parameter(item)}" for name, item in value.items())
        case list() | tuple():
            return ", ".join(map(parameter, value))
        case _:
            return f"{value:g}" if isinstance(value, float) else str(value)


def _least(value: Any) -> Any:
    return min(value.values(), default=None) if isinstance(value, Mapping) else value


def _most(value: Any) -> Any:
    return max(value.values(), default=None) if isinstance(value, Mapping) else value


def _moment(text: Any) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


SHOWN: Final = 20
"""Certificates that the page shows in full; older ones are in its list and in the JSON form only."""

EVENTS: Final[Mapping[ReleaseEventKind, Message]] = {
    ReleaseEventKind.APPROVED: Message("approved"),
    ReleaseEventKind.HELD: Message("put on hold"),
    ReleaseEventKind.EXPORTED: Message("exported"),
}


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A line of the list. `export`: its certificate, where the line is an export."""

    event: ReleaseEvent
    what: Message
    export: Certificate | None

    @property
    def remedy(self) -> str | None:
        """Return the name of the remedy, None where the event has none."""
        result = self.event.body.get("remedy")
        return result if isinstance(result, str) else None

    @property
    def by_agent(self) -> bool:
        """Check whether no person did it."""
        return self.event.actor == AGENT


def record_html(
    record: ReleaseRecord, localizer: Localizer, *, project: str, redact: Callable[[str], str] = str
) -> str:
    """Return one self-contained page: no script, nothing fetched."""
    exports = certificates(record.exports)
    by_id = {certificate.event.id: certificate for certificate in exports}
    return page(
        "record",
        localizer,
        redact=redact,
        project=project,
        as_of=record.as_of,
        record=record,
        row=None if record.state is None else release_row(record.state),
        release=None if record.state is None else record.state.release,
        entries=[RecordLine(event, EVENTS[event.kind], by_id.get(event.id)) for event in record.events],
        certificates=exports[:SHOWN],
        more=max(0, len(exports) - SHOWN),
        limitations=tuple(limitations(exports)),
    )


def limitations(certificates: Sequence[Certificate]) -> Iterator[Message]:
    """Yield what the certificates prove, and what they do not."""
    kinds = {certificate.kind for certificate in certificates}
    yield Message(
        "The file passed its thresholds when it was verified after writing. This is neither proof of anonymity nor "
        "legal advice."
    )
    if RemedyKind.TABLE in kinds:
        yield Message(
            "Equivalence classes are formed by all quasi-identifiers in the file. Columns classified as sensitive or "
            "other are assumed to be unknown to an attacker; if they are known, the classes are smaller."
        )
        yield Message("A dash marks a limit that is not configured, or a value that was therefore not measured.")
    if kinds - {RemedyKind.TABLE}:
        yield Message(
            "A randomised or synthetic table has no k: epsilon bounds the influence of a row whatever an attacker "
            "already knows. The epsilons of several exports add up and are charged to the table's budget if it has one."
        )
    if any(certificate.body["pseudonyms"] for certificate in certificates):
        yield Message(
            "A person has the same pseudonym in every export of this release and a different one in other releases."
        )
    yield Message(
        "Not measured: background knowledge of an attacker, linkage with other tables about the same people, and the "
        "use of the file after export."
    )
    yield Message("The SHA-256 proves that a file is the recorded export. It does not prove that the file is safe.")
