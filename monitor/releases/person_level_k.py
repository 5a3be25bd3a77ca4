"""Count persons instead of rows: five rows that are alike hide nobody if they are all of one person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checks import Json

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class PersonLevelK:
    """Among how many persons somebody hides. `least`: the fewest, None where there is no row.

    `exposed`: persons among fewer than k; rows that name no person count as one. `linked`: whether the rows of a person
    can be told to be one person's, by a pseudonym: then all of them together have to be alike with those of others.
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
    """Count the persons in each class.

    Args:
        people: of each row, the person; NULL where none.
        classes: of each row, in the same order, the quasi-identifiers as they leave; NULL is a value of its own.
        k: persons among whom everybody hides, at least.
        linked: whether the output tells which rows are of one person.
        apart: whether each row that names nobody is taken for a person of its own, else all of them for one.
    """
    if not len(people):
        return PersonLevelK(None, 0, linked)
    pairs = _pairs(people, classes, apart=apart)
    if linked:
        told = _told(pairs)
        among = told.groupby(["low", "high"])["low"].transform("size")
    else:
        item = pairs.drop_duplicates()
        among = item["group"].map(item["group"].value_counts()).groupby(item["person"]).min()
    return PersonLevelK(int(among.min()), int((among < k).sum()), linked)


def linked_classes(people: "pd.Series[Any]", classes: "pd.DataFrame", *, apart: bool = False) -> Sequence[int]:
    """Number the classes of rows as whoever sees which rows are of one person tells them apart; as of `crowd_of`.

    Two rows have the same number where their classes are the same, and those of all rows of the one person and of the
    other.
    """
    pairs = _pairs(people, classes, apart=apart)
    told = _told(pairs)
    rows = told.loc[pairs["person"]].reset_index(drop=True).assign(group=pairs["group"])
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
        nobody = pd.isna(texts)
        person[nobody] = len(texts) + np.arange(int(nobody.sum()))
    return pd.DataFrame({"person": person, "group": _numbered(classes)})


def _told(pairs: "pd.DataFrame") -> "pd.DataFrame":
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
