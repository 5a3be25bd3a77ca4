"""Find what people declared of the columns that are to be generalised: in words, in a folder, in a release."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checks import Json
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies import Misfit

if TYPE_CHECKING:
    import pandas as pd

    from remedies.generalisation import HierarchySpec
    from remedies.generalise import Generalise

_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_FILES: Final = (".csv", ".yaml", ".yml")
_MASKS: Final = {"mask": "right", "mask-left": "left"}
_FORMS: Final = "age=5,10,20 (widths), joined=month,year (dates), zip=mask:1,2,3 (hidden), sex=flat or city=city.csv"


def hierarchies_for(
    columns: Sequence[str],
    *,
    inline: Iterable[str],
    folder: Path | None,
    declared: "Mapping[str, HierarchySpec]",
    others: Iterable[str] = (),
) -> "Mapping[str, HierarchySpec]":
    """Return what is declared of each column: `inline`, else in the folder, else by the release; columns may have none.

    Raises:
        Stop: what is said cannot be read, or speaks of another column; all problems are in it.
    """
    from remedies.generalisation.folder import hierarchy_files, read_spec

    hierarchy_specs = {name: spec for name, spec in declared.items() if name in columns}
    problems: list[Problem] = []
    try:
        files = {} if folder is None else hierarchy_files(folder, columns, others=others)
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("remedy.hierarchy", str(error))) from None
    for name, path in files.items():
        try:
            hierarchy_specs[name] = read_spec(path)
        except Misfit as error:
            problems.append(Problem("remedy.hierarchy", str(error), file=str(path)))
    said_of: set[str] = set()
    for text in inline:
        try:
            name, spec = _read(text)
        except Misfit as error:
            problems.append(Problem("remedy.hierarchy", f"--hierarchy '{text}': {error}", hint=_FORMS))
            continue
        if name not in columns:
            problems.append(
                Problem("remedy.hierarchy", f"--hierarchy '{text}': '{name}' is not a quasi-identifier here")
            )
        if name in said_of:
            problems.append(
                Problem("remedy.hierarchy", f"--hierarchy '{text}': '{name}' already has a hierarchy; keep one")
            )
        said_of.add(name)
        hierarchy_specs[name] = spec
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    return hierarchy_specs


def hierarchy_in(path: str) -> "HierarchySpec":
    """Return what a file declares.

    Raises:
        Stop: it cannot be read.
    """
    from remedies.generalisation.folder import read_spec

    try:
        return read_spec(Path(path))
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("remedy.hierarchy", str(error), file=path)) from None


def check_hierarchies(remedy: "Generalise", table: "pd.DataFrame") -> None:
    """Check that the hierarchies can be used for the values of a table.

    Raises:
        Stop: they cannot; with each fault, its kind and its file.
    """
    problems = [
        Problem(
            f"hierarchy.{fault.kind.value}",
            f"column '{name}': {fault.message}",
            file=getattr(remedy.hierarchies[name], "path", None),
        )
        for name, fault in remedy.faults(table)
    ]
    if problems:
        raise Stop(ExitCode.USAGE, *problems)


def doubts_in(remedy: "Generalise", table: "pd.DataFrame") -> Sequence[Mapping[str, Json]]:
    """Return doubts about hierarchies in files that can be used all the same."""
    files = {name: getattr(declared, "path", None) for name, declared in remedy.hierarchies.items()}
    return [
        {"column": name, "kind": fault.kind.value, "level": fault.level, "message": fault.message, "file": files[name]}
        for name, fault in remedy.doubts(table)
        if files.get(name) is not None
    ]


def _read(text: str) -> "tuple[str, HierarchySpec]":
    """Read `age=5,10,20`.

    Raises:
        Misfit: it is of no known form.
    """
    from remedies.generalisation import DateLevel, hierarchy_spec
    from remedies.generalisation.folder import read_spec

    name, sign, words = (part.strip() for part in text.partition("="))
    if not (name and sign and words):
        raise Misfit("expected a column, '=' and its hierarchy")
    if words.endswith(_FILES):
        return name, read_spec(Path(words))
    kind, _, rest = words.partition(":")
    parts = [part.strip() for part in words.split(",")]
    if words == "flat":
        return name, hierarchy_spec({"type": "flat"})
    if kind in _MASKS:
        hide = [part.strip() for part in rest.split(",")]
        return name, hierarchy_spec({"type": "mask", "hide": hide, "side": _MASKS[kind]})
    if all(_NUMBER.fullmatch(part) for part in parts):
        return name, hierarchy_spec({"type": "intervals", "widths": parts})
    if set(parts) <= {level.value for level in DateLevel}:
        return name, hierarchy_spec({"type": "dates", "levels": parts})
    raise Misfit("not a known form")
