"""What holds of every hierarchy that a builder makes."""

from collections.abc import Iterable

from checks.risk import Hierarchy
from remedies.generalisation import FaultKind, row_faults, texts_of

HARMLESS = {FaultKind.UNCHANGED, FaultKind.NO_ROOT}


def assert_sound(hierarchy: Hierarchy, values: Iterable[object], *, seen: frozenset[FaultKind] = frozenset()) -> None:
    """Every value has a path, levels nest, and nothing worse is found than levels that join nothing."""
    values = list(values)
    assert set(hierarchy.values) == {text for text in texts_of(values) if text is not None}
    if hierarchy.height:
        found = {fault.kind for fault in row_faults(list(zip(*hierarchy.levels, strict=True)), values)}
        assert found <= HARMLESS | seen
