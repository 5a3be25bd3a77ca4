"""A table of people with every trouble a remedy must bear: missing values, outliers, ties, types of all kinds."""

from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

import remedies
from remedies import Remedy

CATALOG: Final[dict[str, type[Remedy]]] = {
    path.stem: import_module(f"remedies.{path.stem}").REMEDY
    for path in sorted(Path(remedies.__file__).parent.glob("[!_]*.py"))
}
"""Every remedy by its type word, which is the name of its file."""
QUASI_IDENTIFIERS = ("age", "income", "joined", "grade", "city")
EXAMPLES: dict[str, dict[str, Any]] = {
    "microaggregate": {
        "columns": QUASI_IDENTIFIERS,
        "k": 3,
        "ordinal": {"grade": ("low", "mid", "high")},
        "nominal": ("city",),
        "sweeps": (2,),
    },
    "generalise": {
        "columns": ("age", "joined", "grade", "city"),
        "k": 3,
        "hierarchies": {
            "age": {"type": "intervals", "widths": [5, 10, 20, 40]},
            "joined": {"type": "dates", "levels": ["year", "decade"]},
            "grade": {"type": "tree", "groups": {"lower": ["low", "mid"], "upper": ["high"]}},
            "city": {"type": "flat"},
        },
        "suppress": "10%",
    },
    "suppress": {"columns": ("age", "grade", "city"), "k": 3, "cells": True},
    "code": {"top": {"age": 75, "income": 50_000}, "bottom": {"age": 25}},
    "randomise": {
        "domains": {
            "age": tuple(range(18, 90)),
            "grade": ("low", "mid", "high"),
            "city": ("Oslo", "京都", "São Paulo", "elsewhere"),
        },
        "others": {"city": "elsewhere"},
        "epsilon": 2,
    },
    "synthesise": {"domains": {"age": tuple(range(18, 90)), "grade": ("low", "mid", "high")}, "epsilon": 2},
}
"""Parameters that treat the table below, by the type of the remedy."""


def people(n: int = 60, *, seed: int = 1) -> pd.DataFrame:
    """Make a table of n people, with an index that is no count."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 1, n)
    income[n // 2] = 1e9
    frame = pd.DataFrame(
        {
            "name": [f"person {number}" for number in range(n)],
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, income),
            "joined": [date(2000, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 9000, n)],
            "grade": rng.choice(["low", "mid", "high"], n),
            "city": pd.Series(rng.choice(["Oslo", "京都", "São Paulo"], n)).where(rng.random(n) < 0.9, None),
            "diagnosis": rng.choice(["a", "b"], n),
        }
    )
    return frame.set_index(pd.Index(rng.permutation(n) * 7, name="row"))
