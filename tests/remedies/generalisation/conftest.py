"""Adult, and the hierarchies that come with it."""

from pathlib import Path

import pandas as pd
import pytest

from checks.risk import Hierarchy
from tests.remedies.generalisation.lattices import Case

ADULT = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip


@pytest.fixture(scope="session")
def adult_rows(reference_data: Path) -> pd.DataFrame:
    """Return the rows of Adult, as texts."""
    return pd.read_csv(reference_data / "adult" / "adult.csv", sep=";", dtype=str, keep_default_na=False)


@pytest.fixture(scope="session")
def adult(reference_data: Path, adult_rows: pd.DataFrame) -> Case:
    """Return the combinations of Adult's nine quasi-identifiers, with the hierarchies of ARX."""
    folder = reference_data / "adult" / "hierarchies"
    named = {
        name: Hierarchy.from_csv((folder / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8")) for name in ADULT
    }
    return Case(adult_rows.groupby(list(ADULT)).size().rename("count").reset_index(), named)
