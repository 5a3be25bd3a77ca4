"""A release, its table, and which of its columns leave as what.

Make a table ready to leave: only what may, and pseudonyms for names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks import ColumnClass
from monitor.config import Release
from monitor.config.project import Project
from monitor.releases.disclosure.table_ref import TableRef
from monitor.releases.state import digest_of
from monitor.scan.results import Target, targets_of
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from checks.risk.pairs import DeclaredValues

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
            raise Stop(ExitCode.NOTHING_SELECTED, unknown_name("release", name, releases))
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
        """Return the quasi-identifiers."""
        return self.release.classified(ColumnClass.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Return the sensitive columns."""
        return self.release.classified(ColumnClass.SENSITIVE)

    @property
    def leaving(self) -> tuple[str, ...]:
        """Return the columns that can leave: pseudonyms first; direct identifiers that have none stay."""
        return (*self.release.pseudonyms, *self.release.classified(*_LEAVE))

    @property
    def person_columns(self) -> tuple[str, ...]:
        """Return the columns that say whose a row is: the person key, else the direct identifiers."""
        if self.release.person_key is not None:
            return (self.release.person_key,)
        return self.release.names_of_people

    @property
    def risk_columns(self) -> tuple[str, ...]:
        """Return the columns beside the quasi-identifiers that risks depend on: the weight, and the group."""
        return tuple(name for name in (self.release.weight, self.release.group_key) if name is not None)

    def declared(self, name: str) -> "DeclaredValues":
        """Return what counts as a value in a sensitive column: what is missing, each spelling."""
        return {
            "missing_is_a_value": name in self.release.missing_is_a_value,
            "spelling_is_a_value": name in self.release.spelling_is_a_value,
        }

    @property
    def k(self) -> int:
        """Return the smallest group that it allows; without a limit 2: no person may be unique."""
        return self.release.limits.least_k or 2

    @property
    def owner(self) -> str | None:
        """Return who owns the table."""
        return self.target.owner

    @cached_property
    def digest(self) -> str:
        """Fingerprint what the configuration says of it: an approval is of this, and of nothing else."""
        return digest_of(self.name, self.release)

    def secret(self, purpose: bytes) -> bytes:
        """Derive a key of this release for one purpose, at most 16 bytes long."""
        return blake2b(self.name.encode(), key=self.key, digest_size=32, person=purpose).digest()

    @property
    def hiding_key(self) -> bytes:
        """Return the key that chooses what is hidden in addition: one for all releases, which hide the same."""
        return blake2b(key=self.key, digest_size=32, person=b"hidden besides").digest()

    def alone(self) -> "ReleaseColumns":
        """Return it without the project: what a worker is handed."""
        return replace(self, project=None)  # type: ignore[arg-type] # a worker asks nothing of it


def read_columns(case: ReleaseColumns, columns: Sequence[str], *, blind: bool = False) -> "pd.DataFrame":
    """Read some columns of the table, with Arrow's types, those that say whose a row is, and `risk_columns`.

    The former are the person key where the release has one, else the direct identifiers.

    `blind`: so that how a value is read does not depend on the others.

    Raises:
        Stop: it cannot be read.
    """
    from monitor.releases.treatment.randomise_table import blind as blinded
    from monitor.releases.treatment.table_reader import read

    wanted = [*columns, *case.person_columns, *case.risk_columns]
    return read(blinded(case.place) if blind else case.place, tuple(dict.fromkeys(wanted)))


def with_pseudonyms(frame: "pd.DataFrame", case: ReleaseColumns) -> "pd.DataFrame":
    """Return a copy in which direct identifiers are pseudonyms: keyed hashes that mean nothing in any other release."""
    column_names = [name for name in case.release.pseudonyms if name in frame.columns]
    if not column_names:
        return frame
    key = case.secret(b"pseudonyms")
    return frame.assign(**{name: _hashed(frame[name], key + name.encode()) for name in column_names})


def one_of_each(frame: "pd.DataFrame", columns: Sequence[str]) -> "pd.DataFrame":
    """Return a copy in which zero and NaN are written in one way each.

    Engines take them for one value, bytes do not.
    """
    from pandas.api.types import is_float_dtype

    floats = [name for name in columns if name in frame.columns and is_float_dtype(frame[name].dtype)]
    return frame.assign(**{name: _one_of_each(frame[name]) for name in floats})


def _one_of_each(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa
    from pyarrow import compute

    cells = pa.array(column)
    for alike, item in ((compute.is_nan(cells), float("nan")), (compute.equal(cells, pa.scalar(0.0, cells.type)), 0.0)):
        cells = compute.if_else(alike, pa.scalar(item, cells.type), cells)
    return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index, name=column.name)


def _hashed(column: "pd.Series[Any]", key: bytes) -> "pd.Series[Any]":
    import pandas as pd
    import pyarrow as pa

    from remedies.generalisation import texts_of

    made = blake2b(key, digest_size=32).digest()
    cells = [
        None if text is None else blake2b(text.encode("utf-8", "surrogatepass"), key=made, digest_size=12).hexdigest()
        for text in texts_of(column)
    ]
    return pd.Series(cells, index=column.index, name=column.name, dtype=pd.ArrowDtype(pa.string()))
