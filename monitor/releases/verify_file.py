"""Compare a file with the certificates on record: is it what was exported, and does it hold what was certified?"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from checks import ColumnClass, Json
from monitor.config import Release
from monitor.config.project import Project
from monitor.releases.certificate import sha256_of
from monitor.releases.plan import RemedyKind
from monitor.releases.record import export_as_json
from monitor.releases.treatment.verify import WrittenFile
from monitor.releases.verdict import Verdict, judge
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import ReleaseEvent, ReleaseEventKind, Store

SCHEMA: Final = "tablewatch.release-verification/1"
_MISSING: Final = "missing_is_a_value"
_COUNTED: Final = ("k", "l", "t", "records_below_k", "highest_risk")


@dataclass(frozen=True, slots=True)
class FileVerification:
    """What came of comparing a file with the record. `export`: that of this content, None if there is none.

    `namesakes`: exports under the name of this file, of other content. `counted`: k, l and t of the file itself.
    """

    sha256: str
    export: ReleaseEvent | None
    namesakes: Sequence[ReleaseEvent]
    record_flaws: Sequence[str]
    counted: Mapping[str, Json]
    problems: Sequence[str]

    @property
    def is_verified(self) -> bool:
        """Check whether it is what was exported, holds what was certified, and the record itself is whole."""
        return self.export is not None and not self.problems and not self.record_flaws

    def to_json(self, file: str) -> dict[str, Any]:
        """Return the published form."""
        export = self.export
        return {
            "schema": SCHEMA,
            "ok": self.is_verified,
            "file": file,
            "sha256": self.sha256,
            "export": None if export is None else export_as_json(export),
            "certified": {} if export is None else _certified(export),
            "counted": dict(self.counted),
            "problems": list(self.problems),
            "record": list(self.record_flaws),
        }


def verify_file(project: Project, store: Store, file: Path) -> FileVerification:
    """Find the export of a file by its content, and count its limits again.

    Randomised tables and noisy answers are compared by content alone: nothing in them shows their noise.

    Raises:
        Stop: the file cannot be read.
    """
    sha256 = _hash(file)
    flaws = [flaw.problem for flaw in project.release_ledger(store).verify().flaws]
    with store.reading() as tx:
        exports = tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)
    export = next((event for event in exports[::-1] if event.body.get("sha256") == sha256), None)
    if export is None:
        namesakes = [event for event in exports if event.body.get("file") == file.name]
        return FileVerification(sha256, None, namesakes, flaws, {}, [_not_on_record(file, namesakes, len(exports))])
    if export.body.get("kind") != RemedyKind.TABLE.value:
        return FileVerification(sha256, export, (), flaws, {}, ())
    verdict = _judge(project, export, file)
    counted = {name: figure for name, figure in verdict.figures().items() if name in _COUNTED}
    problems = [verdict.why] if not verdict.holds else []
    problems += [
        f"{name} of the file is {counted[name]}, but {figure} was certified"
        for name, figure in _certified(export).items()
        if counted.get(name) != figure
    ]
    return FileVerification(sha256, export, (), flaws, counted, problems)


def _hash(file: Path) -> str:
    try:
        if file.exists() and not file.is_file():
            message = f"'{file}' is not a file; expected one that was exported"
            raise Stop(ExitCode.USAGE, Problem("release.file", message))
        return sha256_of(file)
    except OSError as error:
        message = f"'{file}' cannot be read ({error.strerror}); expected a file that was exported"
        raise Stop(ExitCode.USAGE, Problem("release.file", message)) from None


def _not_on_record(file: Path, namesakes: Sequence[ReleaseEvent], exports: int) -> str:
    if namesakes:
        last = namesakes[-1]
        at = f"{last.recorded_at:%Y-%m-%d %H:%M}Z"
        return f"'{file.name}' was exported by release '{last.release}' on {at}, but this file has different content"
    return f"no recorded export ({exports:,}) has the content of this file"


def _certified(export: ReleaseEvent) -> Mapping[str, Json]:
    reached: Any = export.body.get("reached")
    reached = reached.get("of_file") or reached if isinstance(reached, Mapping) else None
    return {name: reached.get(name) for name in _COUNTED} if isinstance(reached, Mapping) else {}


def _judge(project: Project, export: ReleaseEvent, file: Path) -> Verdict:
    """Judge the file by the columns and limits of its certificate, whatever the configuration says today."""
    body: Mapping[str, Any] = export.body
    kinds: dict[str, ColumnClass] = dict.fromkeys(body["columns"], ColumnClass.OTHER)
    kinds |= dict.fromkeys(body["quasi_identifiers"], ColumnClass.QUASI_IDENTIFIER)
    kinds |= dict.fromkeys(body["sensitive"], ColumnClass.SENSITIVE)
    counts_people = _MISSING in body  # earlier certificates are of rows, and of values as they are
    if counts_people:
        kinds |= dict.fromkeys(body["pseudonyms"], ColumnClass.DIRECT_IDENTIFIER)
    values = {word: body.get(word, body["sensitive"]) for word in (_MISSING, "spelling_is_a_value")}
    values |= {
        word: body.get(word) for word in ("weight", "group_key")
    }  # not in the file, their risks are not recounted
    release = Release.model_validate({"table": body["table"], "columns": kinds, "limits": body["limits"], **values})
    texts = body.get("columns_read_as_text", body["quasi_identifiers"])
    with _named_as(Path(str(body["file"])), file) as path:
        place = WrittenFile(texts=texts).place(path)
        return judge(export.release, release, place, columns=body["columns"], clock=project.clock)


@contextmanager
def _named_as(exported: Path, file: Path) -> Iterator[Path]:
    """Yield a file with the ending under which it was exported: its own, else that of a copy."""
    if file.suffix == exported.suffix:
        yield file.absolute()
        return
    with TemporaryDirectory(prefix="tablewatch-") as folder:
        copy = Path(folder) / f"output{exported.suffix}"
        shutil.copyfile(file, copy)
        yield copy
