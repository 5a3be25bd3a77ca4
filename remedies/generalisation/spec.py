"""How a hierarchy is declared in a configuration or a file: `{type: intervals, widths: [5, 10, 20]}`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from annotated_types import Ge, MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator

from checks import did_you_mean
from checks.parameters.errors import describe_error
from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation._faults import FaultKind, HierarchyFault, hierarchy_faults, refuse, row_faults
from remedies.generalisation._files import read_rows
from remedies.generalisation._groups import DateLevel, check_date_levels, dates, tree, tree_faults
from remedies.generalisation._intervals import (
    NO_PAIR,
    bin_faults,
    bins,
    breaks,
    check_breaks,
    check_coding,
    check_snap,
    check_widths,
    coding,
    intervals,
)
from remedies.generalisation.levels import ROOT, check_masks, flat, masks, with_root
from remedies.generalisation.spelling import distinct_texts

_Number: TypeAlias = Annotated[Decimal, WithJsonSchema({"type": "number"})]
_Pair: TypeAlias = tuple[_Number | None, _Number | None]
_Root: TypeAlias = Annotated[str, MinLen(1)] | None
_OF_BUILDERS: Final = frozenset({FaultKind.UNCHANGED, FaultKind.NO_ROOT})
_NO_VALUES: Final = ("(no value)", "(no other value)")
"""The values of a hierarchy of no value: two, so that no level but the root has one label, which NULL would get."""
_OF_ROOT: Final = "Label of the last level; null for none."


class HierarchySpec(BaseModel, ABC):
    """What becomes of the values of a column, level by level."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @abstractmethod
    def build(self, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy of the values of a column.

        Raises:
            Misfit: values have no place in it, or the declaration has fatal faults: all of them are named.
        """

    @abstractmethod
    def faults(self, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
        """Return all that is wrong, for the values of a column or without them.

        Raises:
            Misfit: values have no place in it.
        """

    def beside(self, folder: Path) -> Self:
        """Return the same, with paths that begin in a folder."""
        del folder
        return self


class _BuilderSpec(HierarchySpec):
    """A hierarchy that is computed from the values of a column."""

    def build(self, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy of the values of a column.

        Of a column without a value, one with as many levels and values that no row has: NULL stays NULL up to the
        root. So does an empty text, where the hierarchy is one of numbers or dates.

        Raises:
            Misfit: values have no place in it.
        """
        texts = distinct_texts(values)
        parts, (height, root) = self._parts(texts), self._shape
        hierarchy = self._build(parts) if parts else with_root(_NO_VALUES, (_NO_VALUES,) * height, root)
        if len(parts) == len(texts):
            return hierarchy
        *levels, top = hierarchy.levels
        return Hierarchy((*((*level, "") for level in levels), (*top, root or "")))

    def faults(self, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
        """Return all that is wrong: there is no fault but that a level joins nothing, or that there is no root."""
        texts = () if values is None else self._parts(distinct_texts(values))
        faults = hierarchy_faults(self._build(texts), texts) if texts else ()
        return tuple(fault for fault in faults if fault.kind in _OF_BUILDERS)

    def _parts(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts that have a place in it: an empty one is no number and no date."""
        return texts if isinstance(self, MaskSpec | FlatSpec) else [text for text in texts if text]

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, str | None]:
        """Return the number of levels between the values and the root, and the root."""

    @abstractmethod
    def _build(self, texts: Sequence[str]) -> Hierarchy:
        """Return the hierarchy of the texts of at least one value, each once."""


class IntervalsSpec(_BuilderSpec):
    """Numbers in intervals, `25-29` or `[2.5, 5[`, that become wider."""

    type: Literal["intervals"] = "intervals"
    widths: tuple[_Number, ...] = Field((), description="Width of each level, a multiple of the one before.")
    breaks: tuple[tuple[_Number, ...], ...] = Field(
        (), description="Instead: where intervals begin, level by level; the outermost have no end."
    )
    origin: _Number = Field(Decimal(0), description="Where an interval begins, with `widths`.")
    snap: _Pair | None = Field(
        None, description="Numbers below the first and above the second join its interval, with `widths`."
    )
    top: _Number | None = Field(None, description="This and what is above becomes `>=top`, on a level of its own.")
    bottom: _Number | None = Field(None, description="What is below becomes `<bottom`, on a level of its own.")
    root: _Root = Field(ROOT, description=_OF_ROOT)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.widths) == bool(self.breaks):
            raise ValueError("intervals have either 'widths' or 'breaks'")
        if self.breaks and (self.origin or self.snap is not None):
            raise ValueError("'origin' and 'snap' go with 'widths'; with 'breaks' the outermost intervals have no end")
        if self.widths:
            check_widths(self.widths)
        else:
            check_breaks(self.breaks)
        check_snap(*self.snap or NO_PAIR)
        check_coding(self.bottom, self.top)
        return self

    @property
    def _shape(self) -> tuple[int, str | None]:
        return len(self.widths or self.breaks) + (self.bottom is not None or self.top is not None), self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        codes = (self.bottom, self.top)
        if self.breaks:
            return breaks(texts, levels=self.breaks, codes=codes, root=self.root)
        return intervals(
            texts, widths=self.widths, origin=self.origin, snap=self.snap or NO_PAIR, codes=codes, root=self.root
        )


class BinsSpec(_BuilderSpec):
    """Numbers in intervals that are listed, with names or without."""

    type: Literal["bins"] = "bins"
    levels: Annotated[tuple[dict[str, _Pair] | tuple[_Pair, ...], ...], MinLen(1)] = Field(
        description="For each level its intervals, `[from, to]` without `to`, null for no end; or name: interval."
    )
    root: _Root = Field(ROOT, description=_OF_ROOT)

    @property
    def _shape(self) -> tuple[int, str | None]:
        return len(self.levels), self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        return bins(texts, levels=self.levels, root=self.root)

    def faults(self, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
        """Return all that is wrong with the list; if nothing is, with what it makes of the values."""
        return bin_faults(self.levels) or super().faults(values)


class DatesSpec(_BuilderSpec):
    """Dates and times in weeks, months, years and so on."""

    type: Literal["dates"] = "dates"
    levels: tuple[DateLevel, ...] = Field(description="From fine to coarse; nothing after a week.")
    pattern: Annotated[str, MinLen(1)] | None = Field(
        None, description="Format of texts that are not ISO dates, such as `%d.%m.%Y`."
    )
    root: _Root = Field(ROOT, description=_OF_ROOT)

    @model_validator(mode="after")
    def _nest(self) -> Self:
        check_date_levels(self.levels)
        return self

    @property
    def _shape(self) -> tuple[int, str | None]:
        return len(self.levels), self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        return dates(texts, levels=self.levels, pattern=self.pattern, root=self.root)


class MaskSpec(_BuilderSpec):
    """Texts whose characters are hidden level by level, such as postcodes."""

    type: Literal["mask"] = "mask"
    hide: tuple[int, ...] = Field((), description="How many of the longest value's last characters each level hides.")
    keep: tuple[int, ...] = Field((), description="Instead: how many first characters each level keeps.")
    character: Annotated[str, MinLen(1), MaxLen(1)] = Field("*", description="Mask character.")
    length: Annotated[int, Ge(1)] | None = Field(
        None, description="Length of masked values; by default that of the longest."
    )
    side: Literal["right", "left"] = Field("right", description="Side on which characters are hidden.")
    root: _Root = Field(ROOT, description=_OF_ROOT)

    @model_validator(mode="after")
    def _nest(self) -> Self:
        check_masks(self.hide, self.keep, character=self.character, length=self.length)
        return self

    @property
    def _shape(self) -> tuple[int, str | None]:
        return len(self.hide or self.keep), self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        return masks(
            texts,
            hide=self.hide,
            keep=self.keep,
            character=self.character,
            length=self.length,
            side=self.side,
            root=self.root,
        )


class TreeSpec(HierarchySpec):
    """Nested groups of values."""

    type: Literal["tree"] = "tree"
    groups: dict[str, Any] = Field(description="Group: its members, a list of values or again groups.")
    root: _Root = Field(ROOT, description=_OF_ROOT)

    def build(self, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy of the tree, which must know the values."""
        return tree(values, groups=self.groups, root=self.root)

    def faults(self, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
        """Return all that is wrong with the tree; if nothing is, of the values in it."""
        return tree_faults(self.groups) or hierarchy_faults(tree(None, groups=self.groups, root=self.root), values)


class CodingSpec(_BuilderSpec):
    """Top and bottom coding."""

    type: Literal["coding"] = "coding"
    top: _Number | None = Field(None, description="This and what is above becomes `>=top`.")
    bottom: _Number | None = Field(None, description="What is below becomes `<bottom`.")
    root: _Root = Field(ROOT, description=_OF_ROOT)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.top is None and self.bottom is None:
            raise ValueError("coding needs 'top' or 'bottom', or both")
        check_coding(self.bottom, self.top)
        return self

    @property
    def _shape(self) -> tuple[int, str | None]:
        return 1, self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        return coding(texts, top=self.top, bottom=self.bottom, root=self.root)


class FlatSpec(_BuilderSpec):
    """The value or nothing."""

    type: Literal["flat"] = "flat"
    root: Annotated[str, MinLen(1)] = Field(ROOT, description="Label of the last level.")

    @property
    def _shape(self) -> tuple[int, str | None]:
        return 0, self.root

    def _build(self, texts: Sequence[str]) -> Hierarchy:
        return flat(texts, root=self.root)


class FileSpec(HierarchySpec):
    """A file in ARX's form: value;ancestor;ancestor."""

    type: Literal["file"] = "file"
    path: Annotated[str, MinLen(1)] = Field(description="Relative to the file that names it.")
    delimiter: Annotated[str, MinLen(1), MaxLen(1)] | None = Field(None, description="Delimiter; detected by default.")

    def build(self, values: Iterable[object]) -> Hierarchy:
        """Return the hierarchy of the file, which must know the values."""
        rows = read_rows(self.path, delimiter=self.delimiter)
        refuse(row_faults(rows, values, written=True), about=self.path)
        return Hierarchy.of({row[0]: row[1:] for row in rows})

    def faults(self, values: Iterable[object] | None = None) -> tuple[HierarchyFault, ...]:
        """Return all that is wrong with the file, and which values it does not know.

        Raises:
            Misfit: it cannot be read.
        """
        return row_faults(read_rows(self.path, delimiter=self.delimiter), values, written=True)

    def beside(self, folder: Path) -> Self:
        """Return the same, with a path that begins in a folder."""
        return self.model_copy(update={"path": str(folder / self.path)})


_SPECS: Final = (IntervalsSpec, BinsSpec, DatesSpec, MaskSpec, TreeSpec, CodingSpec, FlatSpec, FileSpec)
SPECS: Final[Mapping[str, type[HierarchySpec]]] = {str(spec.model_fields["type"].default): spec for spec in _SPECS}
"""What can be declared, by its type."""


def hierarchy_spec(declared: Any) -> HierarchySpec:
    """Read a declaration, such as `{"type": "dates", "levels": ["month", "year"]}`.

    Raises:
        Misfit: it is none; everything that is wrong with it is named.
    """
    kind = declared.get("type") if isinstance(declared, Mapping) else None
    if not isinstance(kind, str) or kind not in SPECS:
        text = "no 'type'" if kind is None else f"no type '{kind}'{did_you_mean(str(kind), SPECS)}"
        raise Misfit(f"{text}; a hierarchy is declared by a 'type', one of {', '.join(SPECS)}, and its words")
    try:
        return SPECS[kind].model_validate(declared)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise Misfit("; ".join(map(describe_error, errors))) from None


def level_name(declared: object, hierarchy: Hierarchy, level: int) -> str:
    """Return the name of a level: `bands of 10`, `month`, `last 2 characters hidden`; else its number of labels.

    `declared`: what the hierarchy was built from, if that is known.
    """
    if level == 0:
        return "unchanged"
    labels = len(set(hierarchy.levels[level]))
    if labels == 1 and level == hierarchy.height:
        return "one label for all"
    text = _of_builder(declared, level) if isinstance(declared, HierarchySpec) else None
    labels = 0 if hierarchy.levels[0][:2] == _NO_VALUES else labels
    return text or f"{labels:,} label{'' if labels == 1 else 's'}"


def _of_builder(declared: HierarchySpec, level: int) -> str | None:
    """Return the name of a level in the declaration; None where it has none."""
    if isinstance(declared, CodingSpec):
        return _codes(declared)
    if isinstance(declared, IntervalsSpec) and declared.widths:
        coded = _codes(declared)
        place = level - 1 - (coded is not None)
        return coded if place < 0 else f"bands of {declared.widths[place].normalize():f}"
    if isinstance(declared, DatesSpec):
        return declared.levels[level - 1].value
    if isinstance(declared, MaskSpec):
        shown, hidden = ("first", "last") if declared.side == "right" else ("last", "first")
        if declared.keep:
            return f"{shown} {_counted(declared.keep[level - 1])} kept"
        return f"{hidden} {_counted(declared.hide[level - 1])} hidden"
    return None


def _codes(declared: CodingSpec | IntervalsSpec) -> str | None:
    bottom = None if declared.bottom is None else f"<{declared.bottom}"
    top = None if declared.top is None else f">={declared.top}"
    return " and ".join(code for code in (bottom, top) if code) or None


def _counted(characters: int) -> str:
    return "character" if characters == 1 else f"{characters} characters"
