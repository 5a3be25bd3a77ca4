"""Pairs of classes that mirror each other: four fields of one name at least, and 60 % of those of the smaller class.

`python -m tests.mirrors` prints the pairs, those that share most first, then their number.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sources", "checks", "incidents", "remedies", "store", "monitor", "tablewatch", "pytest_tablewatch")
LEAST_SHARED = 4
LEAST_SHARE = 0.6


def fields() -> Mapping[str, frozenset[str]]:
    """Return the fields that each class of the product declares itself, of classes with three or more."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    names = frozenset(_declared(node))
                    if len(names) >= 3:
                        found[f"{path.relative_to(ROOT)}:{node.name}"] = names
    return found


def pairs() -> list[tuple[str, str, frozenset[str]]]:
    """Return the pairs with the names that they share."""
    classes = fields()
    found = []
    for one, other in combinations(classes, 2):
        shared = classes[one] & classes[other]
        if len(shared) >= max(LEAST_SHARED, LEAST_SHARE * min(len(classes[one]), len(classes[other]))):
            found.append((one, other, shared))
    return sorted(found, key=lambda pair: (-len(pair[2]), pair[:2]))


def _declared(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        is_named = isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        if is_named and not ast.unparse(item.annotation).startswith(("ClassVar", "Final")):
            yield item.target.id


if __name__ == "__main__":
    mirrored = pairs()
    lines = [f"{len(shared):3} {one} {other}: {', '.join(sorted(shared))}" for one, other, shared in mirrored]
    sys.stdout.write("\n".join([*lines, str(len(mirrored)), ""]))
