"""Every remedy of the catalogue: the input stays, the finding goes or it is refused, and the bill is what was done."""

import ast
import inspect
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from checks.risk import class_sizes
from remedies import Misfit, Refused, Treatment
from remedies.generalisation import texts_of
from tests.remedies.people import CATALOG

QUASI: Final = ["age", "sex", "town"]
K: Final = 4
HIERARCHIES: Final[Mapping[str, Any]] = {
    "age": {"type": "intervals", "widths": [5, 10, 20, 40]},
    "sex": {"type": "flat"},
    "town": {"type": "flat"},
}
WORDS: Final[Mapping[str, list[dict[str, Any]]]] = {
    "code": [{"top": {"age": 60}, "bottom": {"age": 25}}],
    "generalise": [
        {"columns": QUASI, "k": K, "hierarchies": HIERARCHIES, "suppress": 0.1},
        {
            "columns": QUASI,
            "k": K,
            "hierarchies": {"sex": {"type": "flat"}, "town": {"type": "flat"}},
            "search": "mondrian",
        },
        {"columns": QUASI, "k": K, "hierarchies": HIERARCHIES, "search": "datafly", "suppress": 0.1},
    ],
    "microaggregate": [{"columns": QUASI, "k": K, "nominal": ["sex", "town"]}],
    "randomise": [
        {"domains": {"sex": ["F", "M"], "town": ["a", "b", "c"]}, "others": {"sex": "F", "town": "a"}, "epsilon": 1}
    ],
    "synthesise": [{"domains": {"sex": ["F", "M"], "town": ["a", "b", "c"]}, "epsilon": 1}],
    "suppress": [{"columns": QUASI, "k": K}, {"columns": QUASI, "k": K, "cells": True}],
}
CASES: Final = [(word, words) for word in WORDS for words in WORDS[word]]


def _people() -> pd.DataFrame:
    """Return people with NULLs, ties, a few who stand out, and an index of their own."""
    rng = np.random.default_rng(7)
    rows = 90
    frame = pd.DataFrame(
        {
            "age": pd.array([None, *rng.choice([18, 24, 41, 66], rows - 2), 119], dtype="Int64"),
            "sex": rng.choice(["F", "M"], rows),
            "town": [None, *rng.choice(["a", "b", "c"], rows - 1)],
            "ill": rng.choice(["flu", "gout"], rows),
        },
        index=range(1000, 1000 + rows),
    )
    return frame.astype({"sex": pd.ArrowDtype(pa.string()), "town": pd.ArrowDtype(pa.string())})


def _treated(word: str, words: dict[str, Any], frame: pd.DataFrame) -> Treatment:
    model: Any = CATALOG[word]
    found: Treatment = model.model_validate(words).apply(frame)
    return found


def test_every_remedy_of_the_catalogue_is_here() -> None:
    """A new one is not forgotten."""
    assert set(WORDS) == set(CATALOG)


@pytest.mark.parametrize(("word", "words"), CASES)
def test_the_input_is_untouched(word: str, words: dict[str, Any]) -> None:
    """Neither its cells nor its types, index or columns."""
    frame, before = _people(), _people()
    found = _treated(word, words, frame)
    pd.testing.assert_frame_equal(frame, before)
    assert found.frame is not frame
    found.frame.loc[:, "ill"] = "gone"
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(("word", "words"), CASES)
def test_the_finding_is_gone_or_it_is_refused(word: str, words: dict[str, Any]) -> None:
    """Counted by pandas alone, on what came out; who is refused gets nothing."""
    for rows in (2, 3, 4, 7, 90):
        frame = _people().head(rows)
        try:
            after = _treated(word, words, frame).frame
        except (Misfit, Refused):
            continue
        match word:
            case "randomise":
                assert set(after["sex"]) <= {"F", "M"}
                assert set(after["town"]) <= {"a", "b", "c"}
            case "synthesise":
                assert set(after["sex"].dropna()) <= {"F", "M"}
                assert set(after["town"].dropna()) <= {"a", "b", "c"}
            case "code":
                ages = [int(text) for text in texts_of(after["age"]) if text is not None and text.isdigit()]
                assert all(25 <= age <= 60 for age in ages)
            case _:
                texts = pd.DataFrame({name: [str(text) for text in texts_of(after[name])] for name in QUASI})
                assert texts.groupby(QUASI).size().min() >= K
                assert class_sizes(after, QUASI).smallest == texts.groupby(QUASI).size().min()


@pytest.mark.parametrize(("word", "words"), CASES)
def test_the_bill_is_what_was_done(word: str, words: dict[str, Any]) -> None:
    """Rows and cells by a comparison of both tables: no cell outside the named columns changes, and none uncounted."""
    before = _people()
    found = _treated(word, words, before)
    after, bill = found.frame, found.bill
    assert (bill.rows, bill.rows_suppressed) == (len(before), len(before) - len(after))
    if word == "synthesise":  # none of its rows is one of the table
        assert (list(after.columns), dict(bill.cells_changed)) == (["sex", "town"], {})
        return
    if word == "randomise":
        changed = {name: _differing(before[name], after[name]) for name in bill.cells_changed}
        assert dict(bill.cells_changed) == changed
        return
    kept = before.loc[after.index]
    changed = {name: _differing(kept[name], after[name]) for name in bill.cells_changed}
    assert dict(bill.cells_changed) == changed
    assert set(before.columns) - set(changed) == {name for name in before.columns if name not in _named(words)}
    assert texts_of(kept["ill"]) == texts_of(after["ill"])
    assert all(0 <= lost <= 100 for lost in bill.information_lost.values())


def _named(words: dict[str, Any]) -> set[str]:
    return {*words.get("columns", ()), *words.get("top", ())}


def _differing(before: "pd.Series[Any]", after: "pd.Series[Any]") -> int:
    return sum(text != other for text, other in zip(texts_of(before), texts_of(after.loc[before.index]), strict=True))


def test_the_verifier_is_independent_code() -> None:
    """What judges a file imports nothing of what treats tables."""
    from monitor.releases import verdict

    tree = ast.parse(inspect.getsource(verdict))
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in named if name.split(".")[0] == "remedies"]
