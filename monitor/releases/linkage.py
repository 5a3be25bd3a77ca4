"""Judge rows that a pseudonym links: an attacker who sees that rows are of one person uses all of them together.

Count people instead of rows: five equal rows hide no person if they are all of one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks import Json
from checks.risk.t_distances import T_SLACK
from monitor.releases.columns import ReleaseColumns, one_of_each
from monitor.terminal.spreadsheet import escape_frame
from store import ReleaseEvent

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from checks.risk.pairs import ValueReading
    from remedies.generalisation.criteria import Farthest
    from remedies.generalisation.frequencies import Frequencies


@dataclass(frozen=True, slots=True)
class PersonLevelK:
    """Person-level k. `least`: the fewest people in a class, None where there is no row.

    `exposed`: people among fewer than k; rows without a person count as one. `linked`: whether a pseudonym links
    the rows of a person: then all of them together have to be alike with those of others.
    """

    least: int | None
    exposed: int
    linked: bool

    def as_json(self) -> dict[str, Json]:
        """Return it as plain data."""
        return {"fewest_persons": self.least, "persons_exposed": self.exposed, "rows_linked": self.linked}


def person_level_k(
    people: "pd.Series[Any]", classes: "pd.DataFrame", *, k: int, linked: bool, apart: bool = False
) -> PersonLevelK:
    """Count the people in each class.

    Args:
        people: of each row, the person; NULL where none.
        classes: of each row, in the same order, the quasi-identifiers as they leave; NULL is a value of its own.
        k: the least number of people in a class.
        linked: whether the output tells which rows are of one person.
        apart: whether each row without a person is taken for a person of its own, else all of them for one.
    """
    if not len(people):
        return PersonLevelK(None, 0, linked)
    pairs = _pairs(people, classes, apart=apart)
    if linked:
        signatures = _class_signatures(pairs)
        among = signatures.groupby(["low", "high"])["low"].transform("size")
    else:
        item = pairs.drop_duplicates()
        among = item["group"].map(item["group"].value_counts()).groupby(item["person"]).min()
    return PersonLevelK(int(among.min()), int((among < k).sum()), linked)


def linked_classes(people: "pd.Series[Any]", classes: "pd.DataFrame", *, apart: bool = False) -> Sequence[int]:
    """Number the classes of rows for an attacker who sees which rows are of one person; as `person_level_k`.

    Two rows have the same number where their classes are the same, and those of all rows of the one person and of the
    other.
    """
    pairs = _pairs(people, classes, apart=apart)
    signatures = _class_signatures(pairs)
    rows = signatures.loc[pairs["person"]].reset_index(drop=True).assign(group=pairs["group"])
    counts: Sequence[int] = rows.groupby(["low", "high", "group"]).ngroup().tolist()
    return counts


def _pairs(people: "pd.Series[Any]", classes: "pd.DataFrame", *, apart: bool) -> "pd.DataFrame":
    """Return of each row the number of its person and of its class."""
    import numpy as np
    import pandas as pd

    from remedies.generalisation import texts_of

    texts = np.array(texts_of(people), dtype=object)
    person = pd.factorize(texts, use_na_sentinel=False)[0]
    if apart:
        unnamed = pd.isna(texts)
        person[unnamed] = len(texts) + np.arange(int(unnamed.sum()))
    return pd.DataFrame({"person": person, "group": _numbered(classes)})


def _class_signatures(pairs: "pd.DataFrame") -> "pd.DataFrame":
    """Return of each person what all rows together tell: in which classes how many are, as a hash of 128 bits."""
    import pandas as pd

    together = pairs.groupby(["person", "group"]).size().reset_index(name="rows")
    numbers = together[["group", "rows"]]
    for name, key in (("low", "0123456789abcdef"), ("high", "fedcba9876543210")):
        together[name] = pd.util.hash_pandas_object(numbers, index=False, hash_key=key)
    return together.groupby("person")[["low", "high"]].sum()  # in any order


def _numbered(classes: "pd.DataFrame") -> Sequence[int]:
    """Number the classes of rows."""
    import numpy as np
    import pandas as pd

    from remedies.generalisation import texts_of

    numbers = np.zeros(len(classes), dtype=np.int64)
    for name in classes.columns:
        codes = pd.factorize(np.array(texts_of(classes[name]), dtype=object), use_na_sentinel=False)[0]
        numbers = pd.factorize(numbers * (int(codes.max(initial=0)) + 1) + codes)[0].astype(np.int64)
    counts: Sequence[int] = numbers.tolist()
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class LinkedUnit:
    """Whose each row is, by the person key or by a pseudonym. `apart`: rows without a person are of several."""

    of_row: "pd.Series[Any]"
    apart: bool = False


def pseudonyms_in(case: ReleaseColumns, frame: "pd.DataFrame") -> Sequence[str]:
    """Return the pseudonyms that leave with a table."""
    return [name for name in case.release.pseudonyms if name in frame.columns]


def units_of(
    case: ReleaseColumns,
    frame: "pd.DataFrame",
    people: "pd.Series[Any] | None",
    identifiers: "pd.DataFrame | None" = None,
) -> Sequence[LinkedUnit]:
    """Return the columns that assign rows to people: the person key, each released pseudonym, else repeating columns.

    Args:
        case: the release.
        frame: the table as it was treated, with what pseudonyms are made of in their place.
        people: of each row, the person; None without a person key.
        identifiers: the direct identifiers of each row, where there is no person key.
    """
    hidden = [] if identifiers is None else [name for name in identifiers.columns if name not in frame.columns]
    repeated = [identifiers[name] for name in hidden if identifiers is not None and _repeats(identifiers[name])]
    others = [name for name in pseudonyms_in(case, frame) if name != case.release.person_key]
    return [
        *([] if people is None else [LinkedUnit(people)]),
        *(LinkedUnit(frame[name], apart=True) for name in others),
        *(LinkedUnit(column, apart=True) for column in repeated),
    ]


def _repeats(column: "pd.Series[Any]") -> bool:
    return bool(column.dropna().duplicated().any())


def linkable_rows(case: ReleaseColumns, earlier: ReleaseEvent, frame: "pd.DataFrame") -> "npt.NDArray[np.bool_]":
    """Return which rows a reader can find in an earlier export of the table, by more than their class.

    By a pseudonym, which is the same in all exports of a release; or where the columns that both have, and that are no
    quasi-identifiers, hold a combination that no other row has.
    """
    import numpy as np

    def listed(word: str) -> set[str]:
        names = earlier.body.get(word)
        return set(map(str, names)) if isinstance(names, list) else set()

    pseudonyms = set(case.release.pseudonyms)
    if earlier.release == case.name and pseudonyms & listed("pseudonyms") & set(frame.columns):
        return np.ones(len(frame), dtype=np.bool_)
    shared = [name for name in frame.columns if name in listed("columns") - pseudonyms - set(case.quasi)]
    if not shared or not len(frame):
        return np.zeros(len(frame), dtype=np.bool_)
    numbers = np.array(_numbered(frame[shared]))
    alone: npt.NDArray[np.bool_] = np.bincount(numbers)[numbers] == 1
    return alone


def classes_of(case: ReleaseColumns, frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the quasi-identifiers of a treated table, as they leave."""
    grouped = [name for name in case.quasi if name in frame.columns]
    return one_of_each(frame[grouped], grouped)


def crowd_in(case: ReleaseColumns, frame: "pd.DataFrame", units: Sequence[LinkedUnit]) -> PersonLevelK | None:
    """Count people in the place of rows: the smallest crowd, by each of `units_of`; None without any."""
    linked, classes = bool(pseudonyms_in(case, frame)), classes_of(case, frame)
    person_level_ks = [
        person_level_k(unit.of_row, classes, k=case.k, linked=linked, apart=unit.apart) for unit in units
    ]
    return min(person_level_ks, key=lambda item: (-item.exposed, item.least or 0), default=None)


def too_alike(
    case: ReleaseColumns,
    frame: "pd.DataFrame",
    units: Sequence[LinkedUnit],
    references: "Mapping[str, Frequencies]",
    out: Path,
) -> Iterator[str]:
    """Describe in which columns people who are alike in all of their rows are too far from the table, by rows.

    Their l, and t by people, are those of the checks (`checks.classes.tables`).

    `references`: by sensitive column, the table that was given, where closeness has a limit; `out`: the file.

    Raises:
        Misfit: values have no text.
    """
    limit = case.release.limits.t
    if limit is None or not len(frame) or not pseudonyms_in(case, frame):
        return
    classes = classes_of(case, frame)
    for unit in units:
        numbers = linked_classes(unit.of_row, classes, apart=unit.apart)
        for name in (item for item in case.sensitive if item in frame.columns):
            column = escape_frame(frame[[name]], out)[name]
            if (far := _farthest(case, numbers, column, references[name])) > limit + T_SLACK:
                yield f"rows linked by a pseudonym violate t-closeness: a class is {far:.4g} away in {name}"


def reference_of(frame: "pd.DataFrame") -> "Frequencies":
    """Count the values of the one column of a frame: a sensitive column of the table that was given."""
    from remedies.generalisation import hierarchy_spec
    from remedies.generalisation.frequencies import read_table

    (name,) = map(str, frame.columns)
    current_name = f"{name}_"
    tree = hierarchy_spec({"type": "flat"}).build(["all"])
    return read_table(frame.assign(**{current_name: "all"}), {current_name: tree}, sensitive=(name,))[0]


def farthest_from_input(
    case: ReleaseColumns, numbers: Sequence[int], column: "pd.Series[Any]", frame: "pd.DataFrame"
) -> float:
    """Return how far a group of rows is from the table that was given, in a sensitive column: 0 to 1.

    Args:
        case: the release, which declares what counts as a value.
        numbers: the group of each row.
        column: the value of each row.
        frame: the table that was given, with that column alone.
    """
    reference = reference_of(frame)
    return _distances(numbers, column, reference, readings_in(case, str(column.name), reference)).t


def _farthest(
    case: ReleaseColumns, numbers: Sequence[int], column: "pd.Series[Any]", reference: "Frequencies"
) -> float:
    """Return how far a group is from the table that was given, or from all rows that leave."""
    name = str(column.name)
    farthest = _distances(numbers, column, reference, readings_in(case, name, reference))
    return max(farthest.t, farthest.t_of_output)


def readings_in(case: ReleaseColumns, name: str, reference: "Frequencies") -> "Sequence[ValueReading]":
    """Return further readings of the values of a sensitive column, by what the release declares."""
    from checks.risk.pairs import readings_of

    return readings_of(reference.sensitive_values[name], **case.declared(name))


def _distances(
    numbers: Sequence[int],
    column: "pd.Series[Any]",
    reference: "Frequencies",
    readings: "Sequence[ValueReading]" = (),
) -> "Farthest":
    import pandas as pd

    from remedies.generalisation.criteria import farthest

    name = str(column.name)
    group, rows = f"{name} group", f"{name} rows"
    frame = pd.DataFrame({group: numbers, name: column.reset_index(drop=True)})
    counts = frame.groupby([group, name], dropna=False).size().reset_index(name=rows)
    return farthest(counts, [group], name, distance="equal", reference=reference, readings=readings)
