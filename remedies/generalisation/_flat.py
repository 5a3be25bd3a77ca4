"""Values that have no groups: all or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from checks.risk import Hierarchy
from remedies.generalisation._levels import ROOT, leaves_of, with_root


def flat(values: Iterable[object], *, root: str = ROOT) -> Hierarchy:
    """Return the hierarchy value, root; values sorted.

    Raises:
        Misfit: there is no value, or the root has no name.
    """
    return with_root(leaves_of(values), (), root)
