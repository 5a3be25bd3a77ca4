"""Workflow commands of GitHub Actions: annotations of a run and of the lines of a pull request.

GitHub shows the first 10 errors and the first 10 warnings of a step: the most severe come first, and the tenth says how
many more there are. The rest of the log is a group for each table. Data of a command is escaped as the runner
reads it; a line of text never begins a command.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from checks import Status
from monitor.config.yaml_nodes import Place
from monitor.scan.results import CheckResult, PassResult
from monitor.terminal.output import count
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import visible

_MOST: Final = 10
"""Annotations of one level that GitHub shows of a step."""
_RANKED: Final = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS)


@dataclass(frozen=True, slots=True)
class _Annotation:
    level: str
    message: str
    title: str
    place: tuple[str | None, int | None, int | None] = (None, None, None)

    def command(self, clean: Callable[[str], str]) -> str:
        """Return the command; a property that is None is left away."""
        named = zip(("file", "line", "col"), self.place, strict=True)
        properties = [f"{name}={_property(clean(str(value)))}" for name, value in named if value is not None]
        properties.append(f"title={_property(clean(self.title))}")
        return f"::{self.level} {','.join(properties)}::{_data(clean(self.message))}"


def as_annotations(
    result: PassResult,
    places: Mapping[str, Place],
    *,
    root: Path,
    redact: Callable[[str], str] = str,
) -> str:
    """Return the results of a pass as lines for the log of a job.

    `places`: where each check is configured, by check id. `root`: the folder of the repository.
    """
    clean = _cleaning(redact)
    ordered = sorted(result.results, key=lambda item: -item.check.severity.rank)  # stable: the configuration's order
    annotations = [annotation for item in ordered for annotation in _annotation(item, result, places, root)]
    if result.problem is not None:
        annotations.insert(0, _Annotation("error", result.problem, "store"))
    counts = result.summary
    tally = "  ".join(f"{status.value.upper()} {counts[status.value]}" for status in Status)
    lines = [
        *_groups(result.results, clean),
        *_limited(annotations, clean),
        f"{tally}  of {counts['total']} in {result.duration_s:.1f} s",
    ]
    return "".join(f"{line}\n" for line in lines)


def problems_as_annotations(
    problems: Sequence[Problem], *, root: Path, level: str = "error", redact: Callable[[str], str] = str
) -> str:
    """Return problems of a configuration as annotations of its lines."""
    clean = _cleaning(redact)
    annotations = []
    for problem in problems:
        file = None if problem.file is None else path_in_repository(problem.file, root)
        message = problem.message if problem.hint is None else f"{problem.message}\n{problem.hint}"
        annotations.append(_Annotation(level, message, problem.code, (file, problem.line, problem.column)))
    return "".join(f"{line}\n" for line in _limited(annotations, clean))


def repository() -> Path:
    """Return the folder of the repository: as GitHub Actions declares it, else the working folder."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


def path_in_repository(file: str, root: Path) -> str:
    """Return a path as a service that shows a repository knows it: relative to its folder where it lies in there."""
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:  # it lies elsewhere, or no file can have this name
        return file


def _annotation(
    item: CheckResult, result: PassResult, places: Mapping[str, Place], root: Path
) -> Iterator[_Annotation]:
    if item.outcome.status is Status.PASS:
        return
    unknown = item.outcome.status is Status.UNKNOWN
    level = "error" if unknown or result.counts_as_failure(item) else "warning"
    reason = item.outcome.reason.value if item.outcome.reason is not None else item.check.severity.value
    parts = [str(item.outcome.message), reason]
    parts += [] if item.incident is None else [f"incident #{item.incident}"]
    parts += [] if item.owner is None else [f"owner {item.owner}"]
    place = places.get(item.check_id)
    where = (None, None, None) if place is None else (path_in_repository(place.file, root), place.line, place.column)
    title = f"{item.check_id} could not be evaluated" if unknown else item.check_id
    yield _Annotation(level, "\n".join(filter(None, [" · ".join(parts), item.check.why])), title, where)


def _limited(annotations: Sequence[_Annotation], clean: Callable[[str], str]) -> Iterator[str]:
    """Yield the commands, at most ten of a level: the last one then says how many more there are."""
    for level in ("error", "warning", "notice"):
        of_level = [annotation for annotation in annotations if annotation.level == level]
        shown = of_level if len(of_level) <= _MOST else of_level[: _MOST - 1]
        yield from (annotation.command(clean) for annotation in shown)
        if len(shown) < len(of_level):
            rest = f"{len(of_level) - len(shown)} more of this level; the log of this step lists all of them"
            yield _Annotation(level, rest, "tablewatch").command(clean)
            yield from (_text(f"{level}: {item.title}: {item.message}", clean) for item in of_level[_MOST - 1 :])


def _groups(results: Sequence[CheckResult], clean: Callable[[str], str]) -> Iterator[str]:
    for table, items in groupby(results, key=lambda item: item.table):
        entries = list(items)
        statuses = [item.outcome.status for item in entries]
        counted = ", ".join(f"{statuses.count(status)} {status.value}" for status in _RANKED if status in statuses)
        title = f"{table}: {count(len(entries), 'check')}, {counted}"
        yield f"::group::{_data(clean(title))}"
        for item in entries:
            text = "" if item.outcome.status is Status.PASS else f"  {item.outcome.message}"
            yield _text(f"{item.outcome.status.value.upper():<8}{item.check_id}{text}", clean)
        yield "::endgroup::"


def _cleaning(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return what each text goes through: secrets masked, control characters but the ends of lines as escapes."""
    return lambda text: visible(redact(text), keep="\n")


def _text(text: str, clean: Callable[[str], str]) -> str:
    """Return a line of the log in which the runner finds no command: neither `::` at its start nor `##[` in it."""
    return clean(text.replace("\n", " ")).replace("##[", "# #[")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
