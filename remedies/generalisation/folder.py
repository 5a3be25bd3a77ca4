"""A folder of hierarchies: which file is whose, and what it declares.

`age.csv`, or any name that ends in `_age.csv` as ARX's do (`adult_hierarchy_age.csv`), is a file of lines; `age.yaml`
declares a builder. In YAML scalars are read as they are written: `NO` is a text, `0123` keeps its zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from checks import did_you_mean
from remedies._errors import Misfit
from remedies.generalisation.spec import FileSpec, HierarchySpec, hierarchy_spec

_LINES: Final = frozenset({".csv"})
_YAML: Final = frozenset({".yaml", ".yml"})
_NULL: Final = frozenset({"", "~", "null"})


def hierarchies_in(
    folder: Path | str, columns: Sequence[str], *, others: Iterable[str] = ()
) -> Mapping[str, HierarchySpec]:
    """Return what a folder declares for each of these columns, by their order.

    `others`: further columns of the table, so that `mean_age.csv` is not taken for a hierarchy of `age`.

    Raises:
        Misfit: the folder cannot be read; a column has no file, or more than one; a file declares no hierarchy.
    """
    folder = Path(folder)
    paths = hierarchy_files(folder, columns, others=others)
    lacking = [column for column in columns if column not in paths]
    if lacking:
        name = lacking[0]
        raise Misfit(
            f"no hierarchy for column '{name}' in {folder}; expected {name}.csv, {name}.yaml or a name that ends in "
            f"_{name}.csv{did_you_mean(name, [path.stem for path in _files(folder)])}"
        )
    return {column: read_spec(paths[column]) for column in columns}


def hierarchy_files(folder: Path | str, columns: Iterable[str], *, others: Iterable[str] = ()) -> Mapping[str, Path]:
    """Return the file of each column that has one.

    Raises:
        Misfit: the folder cannot be read, or a column has more than one.
    """
    folder, own = Path(folder), list(columns)
    names = {*own, *others}
    paths: dict[str, Path] = {}
    for path in _files(folder):
        owner = max((name for name in names if _is_for(path.stem, name)), key=len, default=None)
        if owner not in own:
            continue
        if owner in paths:
            first, second = paths[owner].name, path.name
            raise Misfit(f"two hierarchies for column '{owner}' in {folder}: {first} and {second}; keep one")
        paths[owner] = path
    return {name: paths[name] for name in own if name in paths}


def read_spec(path: Path | str) -> HierarchySpec:
    """Return what a file declares: a file of lines itself, or the builder in a YAML file.

    Raises:
        Misfit: the YAML file cannot be read, or declares no hierarchy.
    """
    path = Path(path)
    if path.suffix not in _YAML:
        return FileSpec(path=str(path))
    try:
        return hierarchy_spec(_read_yaml(path)).beside(path.parent)
    except Misfit as error:
        raise Misfit(f"{path}: {error}") from None


def _files(folder: Path) -> Sequence[Path]:
    try:
        paths = [path for path in folder.iterdir() if path.suffix in _LINES | _YAML and path.is_file()]
    except OSError as error:
        raise Misfit(f"{folder} cannot be read ({type(error).__name__}); expected a folder of hierarchies") from None
    return sorted(path for path in paths if not path.name.startswith("."))


def _is_for(stem: str, column: str) -> bool:
    return stem == column or stem.endswith(f"_{column}")


def _read_yaml(path: Path) -> Any:
    import yaml

    try:
        node = yaml.compose(path.read_bytes().decode("utf-8-sig"), Loader=yaml.BaseLoader)
    except OSError as error:
        raise Misfit(f"cannot be read ({type(error).__name__})") from None
    except UnicodeDecodeError as error:
        raise Misfit(f"not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise Misfit(f"not valid YAML{where}: {getattr(error, 'problem', None) or 'a control character'}") from None
    return _plain(node, set())


def _plain(node: Any, counts: set[int]) -> Any:
    """Return a node as mappings, lists and texts.

    Raises:
        Misfit: a key comes twice, or something stands in two places by its name (`*name`).
    """
    import yaml

    if node is None:
        return None
    if id(node) in counts:
        raise Misfit(f"line {node.start_mark.line + 1} is named again by '*'; write it out where it is needed")
    counts.add(id(node))
    if isinstance(node, yaml.MappingNode):
        plain: dict[Any, Any] = {}
        for key, value in node.value:
            name = _plain(key, counts)
            if not isinstance(name, str) or name in plain:
                text = "comes twice" if isinstance(name, str) else "is no text"
                raise Misfit(f"a key in line {key.start_mark.line + 1} {text}")
            plain[name] = _plain(value, counts)
        return plain
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, counts) for item in node.value]
    return None if node.style is None and node.value in _NULL else node.value
