"""Find the earlier exports of a table: by the names that it has in the configuration, and by what it is.

An export remembers the marks of its table: of its files or its database (`sources.table_identity`), and of its content.
So it is found again when the source is written in other words, when the table is renamed in the configuration or its
file is moved, and when a copy with equal content is exported. Exports of earlier versions have no marks and are found
by name alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from monitor.config.project import Project
from monitor.releases.columns import ReleaseColumns
from sources import is_same_table
from store import ReadTransaction, ReleaseEvent, ReleaseEventKind

MARKS = "table_identity"
"""The key under which an export keeps the marks of its table."""


@dataclass(frozen=True, slots=True)
class SameTable:
    """All that a table is called in the configuration, its own name first, and the marks by which it is known."""

    names: Sequence[str]
    marks: frozenset[str]

    @classmethod
    def of(cls, case: ReleaseColumns, tx: ReadTransaction, *, content: str | None = None) -> "SameTable":
        """Identify the table of a release.

        Args:
            case: the release.
            tx: the store, whose exports name the tables that are looked at besides those of releases and budgets.
            content: the mark of the table's content, where it was read.
        """
        project, table = case.project, case.release.table
        exported = {
            str(event.body.get("table")) for event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
        }
        names = names_of(project, table, among=exported)
        marks = project.table_identity(table) | ({content} if content is not None else set())
        return cls(names, frozenset(marks))

    def is_of(self, event: ReleaseEvent) -> bool:
        """Return whether an export is of this table."""
        marks = event.body.get(MARKS)
        by_mark = isinstance(marks, list) and is_same_table(self.marks, map(str, marks))
        return by_mark or event.body.get("table") in self.names

    def exports(self, tx: ReadTransaction) -> Sequence[ReleaseEvent]:
        """Return every export of this table, by whichever release, the oldest first."""
        return [
            release_event
            for release_event in tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
            if self.is_of(release_event)
        ]


def names_of(project: Project, table: str, *, among: "set[str] | frozenset[str]" = frozenset()) -> Sequence[str]:
    """Return the names under which a table is configured, its own first, of those that releases and budgets name.

    `among`: other names to look at. Two names are of the same table where their identities share a mark: a view counts
    where its engine says which tables are behind it.
    """
    config = project.config
    wanted = {release.table for release in config.releases.values()} | set(config.budgets) | among
    return [table, *project.same_tables(table, wanted)]


def content_mark(content: str, *, key: bytes) -> str:
    """Return the mark of a table's content, keyed: it says nothing to who has the store and not the key."""
    return blake2b(content.encode(), key=key, digest_size=12, person=b"table content").hexdigest()
