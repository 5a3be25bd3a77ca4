"""What becomes of a value under each kind of hierarchy: the table in docs/remedies.md."""

from typing import Any, Final

import yaml

from remedies.generalisation import hierarchy_spec

_EXAMPLES: Final[tuple[tuple[str, tuple[Any, ...]], ...]] = (
    ("{type: intervals, widths: [5, 10, 20]}", (17,)),
    ("{type: intervals, widths: [2.5, 5]}", (3.1,)),
    ("{type: intervals, widths: [5, 10], snap: [15, 90]}", (12, 95)),
    ("{type: intervals, widths: [5, 10], top: 80}", (79, 83)),
    ("{type: intervals, breaks: [[18, 40, 65], [65]]}", (17, 70)),
    ("{type: bins, levels: [{minor: [null, 18], adult: [18, null]}]}", (17,)),
    ("{type: dates, levels: [month, quarter, year, 5-year]}", ("2024-05-17",)),
    ("{type: dates, levels: [week]}", ("2024-12-30",)),
    ("{type: mask, hide: [1, 2]}", ("53715",)),
    ("{type: mask, hide: [1, 4], side: left}", ("53715",)),
    ("{type: mask, keep: [4, 2]}", ("SW1A 1AA", "N1 9GU")),
    ("{type: tree, groups: {Europe: {West: [France]}, Asia: [Japan]}}", ("France", "Japan")),
    ("{type: coding, top: 80, bottom: 20}", (19, 50, 80)),
    ("{type: flat}", ("Male",)),
)


def examples() -> str:
    """Return a table: a declaration, and the values it was built for at each level."""
    rows = ["| declared as | value, level 1, level 2 ... |", "| --- | --- |"]
    for declared, values in _EXAMPLES:
        made = hierarchy_spec(yaml.safe_load(declared)).build(values)
        paths = zip(*made.levels, strict=True)
        shown = "<br>".join(" → ".join(f"`{label}`" for label in path) for path in paths)
        rows.append(f"| `{declared}` | {shown} |")
    return "\n".join(rows)
