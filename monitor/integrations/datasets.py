"""The names that other tools have for configured tables."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from monitor.config import Table
from monitor.config.project import Project


def dataset_of(project: Project, name: str) -> dict[str, str]:
    """Return namespace and name of a table by OpenLineage's naming: of PostgreSQL and files; else by our own names."""
    table = project.config.table(name)
    if table is None:
        return {"namespace": project.config.project, "name": name}
    source, relation = project.config.sources[table.source], table.table or table.name
    parts = urlsplit(source.url or "")
    if parts.scheme.split("+")[0] in {"postgresql", "postgres"}:
        schema = relation if "." in relation else f"public.{relation}"
        place = f"postgres://{parts.hostname or 'localhost'}:{parts.port or 5432}"
        return {"namespace": place, "name": f"{parts.path.strip('/')}.{schema}"}
    if (path := source.files or source.delta) is not None and "://" not in path:
        return {"namespace": "file", "name": str((project.loaded.folder(table.source) / path).absolute())}
    return {"namespace": f"{project.config.project}/{table.source}", "name": relation}


class DatasetNames:
    """The configured tables by the names that events may use."""

    def __init__(self, project: Project) -> None:
        self._exact = {tuple(dataset_of(project, table.name).values()): table.name for table in project.config.tables}
        self._tables: Sequence[Table] = project.config.tables

    def table_of(self, dataset: tuple[str, str]) -> str | None:
        """Return the name of the table that a data set is; None if it is none, or could be several."""
        if dataset in self._exact:
            return self._exact[dataset]
        ending = f".{dataset[1].replace('/', '.').casefold()}"
        matching = {
            table.name
            for table in self._tables
            if ending.endswith((f".{table.name.casefold()}", f".{(table.table or table.name).casefold()}"))
        }
        return next(iter(matching)) if len(matching) == 1 else None
