"""Episodes in columns: what reports aggregate, a million at a time, in integer microseconds.

A row is one episode. Words (tables, checks) are codes into a tuple of names. All arithmetic on these is exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, TypeAlias

from checks import Kind, OccurrenceMethod
from checks.classes.arrays import np, npt
from incidents._model import Episode, Incident, Resolution, from_us, to_us

Ints: TypeAlias = "npt.NDArray[np.int64]"

OPEN_END: Final = 2**63 - 1
"""The end of an episode that lasts."""

HOUR_US: Final = 3_600_000_000

EVIDENCE: Final = (OccurrenceMethod.BAD_ROWS, OccurrenceMethod.FRESHNESS_DEADLINE, OccurrenceMethod.PERSON)
"""Methods that name a moment at which data was bad; the others assume one."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a figure is about: `[start_us, end_us)` in microseconds UTC."""

    start_us: int
    end_us: int

    def __post_init__(self) -> None:
        if self.end_us <= self.start_us:
            raise ValueError(f"a window ends after it starts; seen {from_us(self.start_us)} to {from_us(self.end_us)}")

    @classmethod
    def of(cls, start: datetime, end: datetime) -> "Window":
        """Return the window between two aware times."""
        return cls(to_us(start), to_us(end))


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Episodes, sorted by incident id and then by onset.

    Shapes: every array has one entry per episode. `incident` ids; `table`, `check`, `root_table` and `cause` are codes
    into `names` (`check` is -1 for an incident that a person reported, `cause` where none was given; `root_table` is
    the table of the root cause, else its own); `severity` is `Severity.rank`; `resolution` is the index in
    `Resolution`, -1 while open; `answered` is `Incident.answered`; `disclosure` marks disclosure incidents, `proven`
    the beginnings of which evidence names the moment. Times in microseconds UTC: `occurred` within [`earliest`,
    `latest`], `detected`, `resolved`
    (`OPEN_END` while it lasts), `acknowledged` (`OPEN_END` while it is unacknowledged).
    """

    names: tuple[str, ...]
    incident: Ints
    table: Ints
    check: Ints
    root_table: Ints
    cause: Ints
    severity: Ints
    resolution: Ints
    disclosure: "npt.NDArray[np.bool_]"
    answered: "npt.NDArray[np.bool_]"
    proven: "npt.NDArray[np.bool_]"
    occurred: Ints
    earliest: Ints
    latest: Ints
    detected: Ints
    resolved: Ints
    acknowledged: Ints

    @classmethod
    def of(cls, incidents: Iterable[Incident], *, roots: Mapping[int, Incident] | None = None) -> "Spans":
        """Return the episodes of incidents. `roots` are incidents, by id, among which root causes are looked up too."""
        ordered = sorted(incidents, key=lambda incident: incident.id)
        entries = {**(roots or {}), **{incident.id: incident for incident in ordered}}
        names: dict[str, int] = {}
        rows = [
            _row(incident, episode, root_table=_root_table(incident, entries), names=names)
            for incident in ordered
            for episode in incident.episodes
        ]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(_COLUMNS))
        columns = dict(zip(_COLUMNS, np.ascontiguousarray(table.T), strict=True))
        flags = {name: columns[name].astype(np.bool_) for name in ("disclosure", "answered", "proven")}
        return cls(names=tuple(names), **{**columns, **flags})

    def take(self, rows: Ints) -> "Spans":
        """Return some of the rows, in the given order; each at most once."""
        if rows.size == self.incident.size and (rows[1:] > rows[:-1]).all():
            return self
        return Spans(self.names, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def touching(self, since_us: int, until_us: int) -> "Spans":
        """Return all rows of the incidents of which one touches the time between two moments, by its earliest start."""
        marked = (np.minimum(self.earliest, self.occurred) < until_us) & (self.resolved >= since_us)
        return self.take(np.flatnonzero(self.with_siblings(marked)))

    def with_siblings(self, marked: "npt.NDArray[np.bool_]") -> "npt.NDArray[np.bool_]":
        """Mark every row of an incident of which one is marked, in place; the rows of an incident are neighbours."""
        siblings = np.flatnonzero(self.incident[1:] == self.incident[:-1])  # a row and the next are of one incident
        while (spread := siblings[marked[siblings] != marked[siblings + 1]]).size:
            marked[spread] = marked[spread + 1] = True
        return marked

    def joined(self, other: "Spans") -> "Spans":
        """Return the rows of both, which have no incident in common; names keep their codes."""
        names = {name: code for code, name in enumerate(dict.fromkeys((*self.names, *other.names)))}
        codes = np.array([*(names[name] for name in other.names), -1], dtype=np.int64)  # -1, no name, stays -1
        columns = {
            name: np.concatenate(
                [getattr(self, name), codes[getattr(other, name)] if name in _NAMED else getattr(other, name)]
            )
            for name in _COLUMNS
        }
        order = np.lexsort((columns["detected"], columns["occurred"], columns["incident"]))
        return Spans(tuple(names), **{name: column[order] for name, column in columns.items()})


_NAMED: Final = frozenset({"table", "check", "root_table", "cause"})
"""Columns of codes into the names."""
_COLUMNS: Final = tuple(field.name for field in fields(Spans))[1:]
_RESOLUTIONS: Final = tuple(Resolution)


def _row(incident: Incident, episode: Episode, *, root_table: str, names: dict[str, int]) -> Sequence[int]:
    def code(name: str) -> int:
        return names.setdefault(name, len(names))

    onset = episode.onset
    return (
        incident.id,
        code(incident.table),
        -1 if incident.check_id is None else code(incident.check_id),
        code(root_table),
        -1 if incident.cause is None else code(incident.cause),
        incident.severity.rank,
        -1 if incident.resolution is None else _RESOLUTIONS.index(incident.resolution),
        incident.kind is Kind.DISCLOSURE,
        incident.answered,
        onset.method in EVIDENCE,
        to_us(onset.at),
        to_us(onset.earliest),
        to_us(onset.latest),
        to_us(episode.detected_at),
        *(OPEN_END if moment is None else to_us(moment) for moment in (episode.resolved_at, episode.acknowledged_at)),
    )


def _root_table(incident: Incident, incidents: Mapping[int, Incident]) -> str:
    counts: set[int] = set()
    while incident.root is not None and incident.root in incidents and incident.root not in counts:
        counts.add(incident.root)
        incident = incidents[incident.root]
    return incident.table
