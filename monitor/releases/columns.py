"""A release, its table, and which of its columns leave as what."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from checks import ColumnClass, did_you_mean
from monitor.config import Release
from monitor.config.project import Project
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.state import digest_of
from monitor.scan.results import Target
from monitor.scan.targets import targets_of
from monitor.terminal.problem import ExitCode, Problem, Stop

_LEAVE = (ColumnClass.QUASI_IDENTIFIER, ColumnClass.SENSITIVE, ColumnClass.OTHER)


@dataclass(frozen=True)
class ReleaseColumns:
    """A release of the configuration. `key`: of signatures; `folder`: where relative paths of the release begin."""

    name: str
    release: Release
    target: Target
    folder: Path
    key: bytes = field(repr=False)
    project: Project = field(repr=False, compare=False)

    @classmethod
    def of(cls, project: Project, name: str) -> "ReleaseColumns":
        """Find a release.

        Raises:
            Stop: there is none of that name, or its columns are not classified.
        """
        releases = project.config.releases
        if name not in releases:
            text = f"; known: {', '.join(releases)}" if releases else "; none is configured"
            message = f"there is no release '{name}'{did_you_mean(name, releases) or text}"
            raise Stop(
                ExitCode.USAGE, Problem("release.unknown", message, hint="releases are declared under 'releases'")
            )
        release = releases[name]
        (target,) = targets_of(project, {release.table: ()})
        if not release.columns:
            message = f"release '{name}' has no column classification"
            raise Stop(ExitCode.USAGE, Problem("release.not_classified", message, hint="add 'columns'"))
        folder = Path(project.loaded.place("releases", name).file).parent
        return cls(name, release, target, folder, project.signature_key(), project)

    @property
    def place(self) -> TableRef:
        """Return the table that it is of."""
        return TableRef(self.target)

    @property
    def quasi(self) -> tuple[str, ...]:
        """Name the quasi-identifiers."""
        return self.release.classified(ColumnClass.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Name the columns that nobody should learn."""
        return self.release.classified(ColumnClass.SENSITIVE)

    @property
    def leaving(self) -> tuple[str, ...]:
        """Name the columns that can leave: pseudonyms first; direct identifiers that have none stay."""
        return (*self.release.pseudonyms, *self.release.classified(*_LEAVE))

    @property
    def k(self) -> int:
        """Return the smallest group that it allows; without a limit, nobody may be alone."""
        return self.release.limits.least_k or 2

    @property
    def owner(self) -> str | None:
        """Name who owns the table."""
        return self.target.owner

    @cached_property
    def digest(self) -> str:
        """Fingerprint what the configuration says of it: an approval is of this, and of nothing else."""
        return digest_of(self.name, self.release)

    def secret(self, purpose: bytes) -> bytes:
        """Derive a key of this release for one purpose, at most 16 bytes long."""
        return blake2b(self.name.encode(), key=self.key, digest_size=32, person=purpose).digest()

    def alone(self) -> "ReleaseColumns":
        """Return it without the project: what a worker is handed."""
        return replace(self, project=None)  # type: ignore[arg-type] # a worker asks nothing of it
