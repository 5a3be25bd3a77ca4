"""Find the names under which a table is configured: two names of one table hold the same people."""

from collections.abc import Sequence

from monitor.wiring import Project


def names_of(project: Project, table: str) -> Sequence[str]:
    """Give all names of a table, its own first.

    Two names are of one table where source and name in the source are the same. A view of a table is another table:
    that it holds the same people only its owner knows.
    """
    targets = project.targets([one.name for one in project.config.tables])
    places = {one.subject.name: (one.source.place, one.subject.relation) for one in targets}
    return [table, *(name for name, place in places.items() if name != table and place == places[table])]
