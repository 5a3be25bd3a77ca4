"""Count persons instead of rows: five rows that are alike hide nobody if they are all of one person."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checks import Json

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Crowd:
    """Among how many persons somebody hides. `least`: the fewest, None where there is no row.

    `exposed`: persons among fewer than k; rows that name no person count as one. `linked`: whether the rows of a person
    can be told to be one person's, by a pseudonym: then all of them together have to be alike with those of others.
    """

    least: int | None
    exposed: int
    linked: bool

    def as_json(self) -> dict[str, Json]:
        """Give it as plain data."""
        return {"fewest_persons": self.least, "persons_exposed": self.exposed, "rows_linked": self.linked}


def crowd_of(people: "pd.Series[Any]", classes: "pd.DataFrame", *, k: int, linked: bool) -> Crowd:
    """Count the persons in each class.

    Args:
        people: of each row, the person; NULL where nobody is named.
        classes: of each row, in the same order, the quasi-identifiers as they leave; NULL is a value of its own.
        k: persons among whom everybody hides, at least.
        linked: whether the output tells which rows are of one person.
    """
    import numpy as np
    import pandas as pd

    from remedies.generalisation import texts_of

    if not len(people):
        return Crowd(None, 0, linked)
    person = pd.factorize(np.array(texts_of(people), dtype=object), use_na_sentinel=False)[0]
    pairs = pd.DataFrame({"person": person, "group": _numbered(classes)})
    if linked:
        together = pairs.groupby(["person", "group"]).size().reset_index(name="rows")
        numbers = together[["group", "rows"]]
        for name, key in (("low", "0123456789abcdef"), ("high", "fedcba9876543210")):
            together[name] = pd.util.hash_pandas_object(numbers, index=False, hash_key=key)
        told = together.groupby("person")[["low", "high"]].sum()  # of 128 bits, in any order
        among = told.groupby(["low", "high"])["low"].transform("size")
    else:
        each = pairs.drop_duplicates()
        among = each["group"].map(each["group"].value_counts()).groupby(each["person"]).min()
    return Crowd(int(among.min()), int((among < k).sum()), linked)


def _numbered(classes: "pd.DataFrame") -> Sequence[int]:
    """Number the classes of rows."""
    import numpy as np
    import pandas as pd

    from remedies.generalisation import texts_of

    numbers = np.zeros(len(classes), dtype=np.int64)
    for name in classes.columns:
        codes = pd.factorize(np.array(texts_of(classes[name]), dtype=object), use_na_sentinel=False)[0]
        numbers = pd.factorize(numbers * (int(codes.max(initial=0)) + 1) + codes)[0].astype(np.int64)
    found: Sequence[int] = numbers.tolist()
    return found
