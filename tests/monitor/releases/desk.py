"""A folder with a table of people and a release of it, and what a steward does there."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import yaml

from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.releases.columns import ReleaseColumns
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.export import Exported, export
from monitor.triage.errors import explained

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
COLUMNS = {"id": "direct-identifier", "born": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive"}


def people(rows: int = 40) -> pd.DataFrame:
    """Return people of two sexes, born in four years; each group has two illnesses."""
    numbers = range(rows)
    return pd.DataFrame(
        {
            "id": [f"p{number}" for number in numbers],
            "born": [1960 + number % 4 for number in numbers],
            "sex": ["FM"[number % 2] for number in numbers],
            "ill": [("flu", "gout")[number // 8 % 2] for number in numbers],
        }
    )


@dataclass
class Desk:
    """A steward's desk. `release`: the words of the release `extract`; `more`: of the whole configuration."""

    folder: Path
    release: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=lambda: {"files": "people.parquet"})
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(NOW))

    @property
    def config(self) -> Path:
        """Return the configuration's file."""
        return self.folder / "tablewatch.yaml"

    def write(self, frame: pd.DataFrame | None = None, **release: Any) -> "Desk":
        """Write the table, if one is given, and the configuration with these words of the release."""
        if frame is not None:
            frame.to_parquet(self.folder / "people.parquet")
        self.release = {"table": "people", "columns": COLUMNS, "limits": {"k": 5}, **self.release, **release}
        said = {
            "version": 1,
            "project": "clinic",
            "storage": {"url": f"sqlite:///{self.folder}/store.db"},
            "sources": {"lake": dict(self.source)},
            "owners": {"crew": {"name": "The crew", "email": "crew@example.org"}, "desk": {"name": "Privacy desk"}},
            "tables": [{"name": "people", "source": "lake", "owner": "crew"}],
            "releases": {"extract": self.release, **self.more.get("releases", {})},
            **{name: one for name, one in self.more.items() if name != "releases"},
        }
        self.config.write_text(yaml.safe_dump(said, sort_keys=False, allow_unicode=True), encoding="utf-8")
        return self

    @contextmanager
    def decisions(self, name: str = "extract") -> Iterator[ReleaseDecisions]:
        """Open the store, and give what can be decided of a release."""
        project = Project(load(self.config), self.clock)
        with project.open_store() as store, explained():
            yield ReleaseDecisions(ReleaseColumns.of(project, name), store)

    def approve(self, remedy: str = "as-it-is", *, name: str = "extract", by: str = "desk") -> None:
        """Approve a remedy."""
        with self.decisions(name) as decisions:
            decisions.approve(remedy, by=by, note="looked at")

    def export(
        self, out: str = "out.parquet", *, remedy: str = "as-it-is", name: str = "extract", hold_back: bool = False
    ) -> Exported:
        """Export with a remedy, a minute later."""
        self.clock.advance(timedelta(minutes=1))
        with self.decisions(name) as decisions:
            return export(decisions, remedy, self.folder / out, actor="desk", progress=_silent, hold_back=hold_back)

    def given_out(self, out: str = "out.parquet", *, remedy: str = "as-it-is", **release: Any) -> Exported:
        """Configure, approve and export."""
        self.write(**release).approve(remedy)
        return self.export(out, remedy=remedy)

    def files(self) -> list[str]:
        """Name what lies in the folder, but for the store."""
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("store.db"))


def _silent(share: float) -> None:
    del share


def rows_of(path: Path, sql: str = "SELECT * FROM output") -> Sequence[tuple[Any, ...]]:
    """Ask a file that was given out; in CSV every cell is the text that stands there."""
    read = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"read_parquet('{path}')"
    with duckdb.connect() as connection:
        return connection.sql(sql.replace("output", read)).fetchall()
