"""Every file of the package is a remedy: typed, frozen, tested, documented; it changes a copy with its cost."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from checks._catalog import load_catalog as load_checks
from checks.risk import class_sizes
from remedies import Disposition, Misfit, Remedy, RemedyParameters
from remedies.generalisation import text_of
from tests.remedies.people import CATALOG, EXAMPLES, people

ROOT = Path(__file__).resolve().parents[2]
EVERY = pytest.mark.parametrize("name", sorted(CATALOG))
WITH_K = pytest.mark.parametrize("name", sorted(name for name in CATALOG if "k" in EXAMPLES[name]))


def example(name: str, **changes: object) -> Remedy:
    """Return a remedy that treats the table of people."""
    remedy: Remedy = CATALOG[name].model_validate(EXAMPLES[name] | changes)  # type: ignore[attr-defined] - pydantic's
    return remedy


def test_every_remedy_has_an_example() -> None:
    """A new one is not forgotten."""
    assert set(CATALOG) == set(EXAMPLES)


@EVERY
def test_is_a_remedy(name: str) -> None:
    """A remedy is a frozen set of parameters that forbids others, named as its file, last in its file."""
    remedy = CATALOG[name]
    assert issubclass(remedy, RemedyParameters)
    assert remedy.model_config["frozen"]
    assert remedy.model_config["extra"] == "forbid"
    assert remedy.model_fields["type"].default == name
    last = ast.parse((ROOT / "remedies" / f"{name}.py").read_text(encoding="utf-8")).body[-1]
    assert ast.unparse(last) == f"REMEDY: Final[type[Remedy]] = {remedy.__name__}"
    with pytest.raises(ValidationError):
        example(name, colunm="x")


@EVERY
def test_says_what_it_is_and_whom_it_treats(name: str) -> None:
    """A remedy has a summary in one sentence, treats checks that exist, and every parameter is described."""
    remedy = CATALOG[name]
    assert re.fullmatch(r"[A-Z][^\n]+\.", remedy.summary)
    assert remedy.treats
    assert remedy.treats <= set(load_checks())
    assert remedy.disposition in Disposition
    assert issubclass(remedy, RemedyParameters)
    properties = remedy.model_json_schema()["properties"]
    assert {key for key, value in properties.items() if "description" not in value} == {"type"}


@EVERY
def test_is_tested_and_documented(name: str) -> None:
    """A remedy has a test file of its name, and a section in docs/remedies.md that says what it does not protect."""
    assert (ROOT / "tests" / "remedies" / f"test_{name}.py").is_file()
    text = (ROOT / "docs" / "remedies.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section
    assert "What it does not protect" in section[1]


@EVERY
def test_input_is_not_changed_and_everything_else_is_kept(name: str) -> None:
    """The frame given is as it was; what comes out has its columns and index, and untreated cells with their types."""
    before = people()
    treatment = example(name).apply(before)
    treated, changed = treatment.frame, treatment.bill.cells_changed
    pd.testing.assert_frame_equal(before, people())
    if name == "synthesise":  # none of its rows is one of the table
        assert treated.columns.tolist() == list(EXAMPLES[name]["domains"])
        return
    assert treated.columns.tolist() == before.columns.tolist()
    others = [column for column in before if not changed.get(str(column))]
    pd.testing.assert_frame_equal(treated[others], before.loc[treated.index, others])


@WITH_K
def test_what_is_guaranteed_holds(name: str) -> None:
    """Counted again, by other code, the output keeps what the bill guarantees."""
    treatment = example(name).apply(people())
    guarantee = treatment.bill.guarantee
    counts = treatment.frame[list(guarantee.columns)].astype("string").fillna("NULL").value_counts()
    assert counts.min() == guarantee.reached["k"] >= guarantee.limits["k"]
    assert class_sizes(treatment.frame, guarantee.columns).smallest == guarantee.reached["k"]


def _texts(column: pd.Series) -> np.ndarray:  # type: ignore[type-arg] - of any type
    """Return what each cell reads, whatever the column's type; None for NULL."""
    return np.array([text_of(value) for value in column], dtype=object)


@EVERY
def test_bill_agrees_with_a_recount(name: str) -> None:
    """Rows and cells on the bill are those that differ between the two frames."""
    before = people()
    treatment = example(name).apply(before)
    bill, after = treatment.bill, treatment.frame
    if name == "synthesise":
        assert (bill.rows, bill.rows_changed, bill.rows_suppressed, bill.cells_changed) == (len(after), 0, 0, {})
        return
    before = before.loc[after.index]
    differs = {column: _texts(before[column]) != _texts(after[column]) for column in bill.cells_changed}
    assert {column: int(cells.sum()) for column, cells in differs.items()} == bill.cells_changed
    assert bill.rows_changed == int(pd.DataFrame(differs).any(axis=1).sum())
    assert bill.rows_suppressed == bill.rows - len(after)
    for column in bill.cells_blanked:
        assert bill.cells_blanked[column] == int((before[column].notna() & after[column].isna()).sum())
        assert bill.cells_filled[column] == int((before[column].isna() & after[column].notna()).sum())
    assert all(0.0 <= lost <= 100.0 for lost in bill.information_lost.values())


@EVERY
def test_unknown_column_is_named_with_the_near_one(name: str) -> None:
    """A column that the frame has not is reported with the one that was probably meant."""
    with pytest.raises(Misfit, match="column 'age' not found; did you mean 'agee'"):
        example(name).apply(people().rename(columns={"age": "agee"}))


@WITH_K
def test_a_table_of_too_few_records_is_refused(name: str) -> None:
    """Fewer records than k cannot be k-anonymous."""
    with pytest.raises(Misfit, match="2 records"):
        example(name).apply(people().iloc[:2])
