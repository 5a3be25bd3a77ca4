"""A tree that somebody wrote down: groups of groups of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import FaultKind, HierarchyFault, refuse
from remedies.generalisation.levels import ROOT, with_root
from remedies.generalisation.spelling import distinct_texts, text_of

Tree: TypeAlias = Mapping[Any, Any]
"""Group to its members: a list of values and trees, a tree, one value, or None where the name is itself a value.

None in a list is NULL.
"""

_DEEPEST: Final = 50


def tree(values: Iterable[object] | None, *, groups: Tree, root: str | None = ROOT) -> Hierarchy:
    """Return the hierarchy of a tree: value, its group, the group of that ..., root; values as the tree lists them.

    `groups={"Europe": {"West": ["France"], "North": ["Norway"]}, "Asia": ["Japan"]}`. A branch that is shorter than the
    longest stays a value for longer: `Japan;Japan;Asia;*`, so that a level has groups of one rank. A tree with a
    single trunk has its root already. All its values are in the hierarchy, whether the column has them or not.

    Args:
        values: those of the column, which must all be in the tree; None to take the tree alone.
        groups: the tree.
        root: what everything is at the last level; None for none.

    Raises:
        Misfit: a value or a group that comes twice, or one without members; values that the tree does not know.
    """
    refuse(tree_faults(groups), about="the tree")
    paths = list(_paths(groups))
    depth = max(map(len, paths))
    filled = [(path[-1],) * (depth - len(path)) + path[::-1] for path in paths]
    leaves, *levels = zip(*filled, strict=True)
    hierarchy = with_root(leaves, levels, None if len(groups) == 1 else root)
    strange = 0 if values is None else hierarchy.missing(distinct_texts(values))
    if strange:
        raise Misfit(f"{strange} values are not in the tree, which knows {len(leaves)}; add them to a group")
    return hierarchy


def tree_faults(groups: Tree) -> tuple[HierarchyFault, ...]:
    """Return all that is wrong with a tree.

    Raises:
        Misfit: it is deeper than 50 levels.
    """
    paths, hollow = list(_paths(groups)), sum(1 for _ in _hollow(groups))
    results = []
    if hollow or not paths:
        text = _groups(hollow, "a member") if hollow else "there is no group"
        results.append(HierarchyFault(FaultKind.EMPTY, None, text, hollow))
    nameless = len({path[:depth] for path in paths for depth in range(1, len(path)) if not path[depth - 1]})
    if nameless:
        text = f"{_groups(nameless, 'a name')}, which would be NULL"
        results.append(HierarchyFault(FaultKind.EMPTY, None, text, nameless))
    twice = [name for name, count in Counter(path[-1] for path in paths).items() if count > 1]
    results += _duplicate(0, "value", twice)
    depth = max(map(len, paths), default=0)
    for level in range(1, depth):
        nodes = {path[: depth - level] for path in paths}
        shared = [name for name, count in Counter(node[-1] for node in nodes).items() if count > 1]
        results += [] if set(shared) <= set(twice) else _duplicate(level, "group", shared)
    return tuple(results)


def _groups(count: int, without: str) -> str:
    return f"1 group without {without}" if count == 1 else f"{count} groups without {without}"


def _duplicate(level: int, what: str, names: Sequence[str]) -> Sequence[HierarchyFault]:
    if not names:
        return ()
    listed = ", ".join(f"'{name}'" for name in names[:5]) + (" ..." if len(names) > 5 else "")
    more = f"1 {what} is in several places" if len(names) == 1 else f"{len(names)} {what}s are in several places"
    message = f"{more}: {listed}; expected each in one, under a name of its own"
    return (HierarchyFault(FaultKind.DUPLICATE, level, message, len(names)),)


def _text(name: object) -> str:
    return text_of(name) or ""


def _members(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a part of the tree, each with its own members; None for a value."""
    if isinstance(part, Mapping):
        yield from ((_text(name), members) for name, members in part.items())
    elif isinstance(part, list | tuple | set | frozenset):
        for item in part:
            yield from _members(item)
    else:
        yield _text(part), None


def _paths(part: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the way to each value, from the trunk on.

    Raises:
        Misfit: it is too long.
    """
    if len(above) > _DEEPEST:
        raise Misfit(f"a tree of more than {_DEEPEST} levels; expected fewer")
    for name, members in _members(part):
        path = (*above, name)
        yield from [path] if members is None else _paths(members, path)


def _hollow(part: Any) -> Iterator[str]:
    for name, members in _members(part):
        if members is not None:
            if not list(_members(members)):
                yield name
            yield from _hollow(members)
