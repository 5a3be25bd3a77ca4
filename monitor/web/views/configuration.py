"""The configuration as it was loaded, with secrets masked; tables have pages of their own."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from monitor.config.project import Project
from monitor.summaries.shapes import Moment, Shape
from store import ReadTransaction


class ConfigNote(Shape):
    """A note about the configuration that is no error."""

    code: str
    message: str


class ConfigPage(Shape):
    """`tablewatch.config-page/1`: what was loaded but for its tables, which are counted; `digest` names this state."""

    schema_: Literal["tablewatch.config-page/1"] = Field("tablewatch.config-page/1", alias="schema")
    as_of: Moment
    project: str
    files: tuple[str, ...]
    digest: str
    tables: int
    checks: int
    config: dict[str, Any]
    notes: tuple[ConfigNote, ...]


def show_configuration(project: Project, _tx: ReadTransaction, _query: BaseModel, now: datetime) -> ConfigPage:
    """Return what was loaded; files are named without the folders of the machine."""
    loaded = project.loaded
    tables = project.config.tables
    return ConfigPage(
        as_of=now,
        project=project.config.project,
        files=tuple(path.name for path in loaded.files),
        digest=loaded.digest,
        tables=len(tables),
        checks=sum(len(table.checks) for table in tables),
        config=dict(_masked(project)),
        notes=tuple(ConfigNote(code=note.code, message=loaded.redactor(note.message)) for note in loaded.notes),
    )


@lru_cache(maxsize=4)
def _masked(project: Project) -> Mapping[str, Any]:
    """Return the values that were read, masked, without the tables; a project never changes."""
    return {name: value for name, value in project.loaded.values().items() if name != "tables"}
