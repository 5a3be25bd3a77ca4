"""What the test file of each check states for the tests that walk over all checks.

    OBSERVED    the published keys of `observed`; a check may add others
    EFFECTS     parameter: (the other parameters, a value, another value[, the table, what is seen beside the status])
    CANARIES    what the canary test asks: questions that pass, fail and cannot be answered

The tables of EFFECTS are those of `tests/monitor/config/effects/of_checks.py`, by default `t`. CANARIES are asked of
the columns of `tests/privacy/planted.py`; `{relation}` is the table's name in its source, `{other}` that of the other.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from checks import load_catalog

COLUMNS: Final = ["id", "a", "n", "b", "q", "s", "at", "old", "ahead"]
"""Those of the table `t`."""


def stated(constant: str) -> Mapping[str, Any]:
    """Return a constant of the test file of each check that has it, by the type of the check."""
    files = {name: import_module(f"tests.checks.test_{name}") for name in load_catalog()}
    return {name: vars(file)[constant] for name, file in files.items() if constant in vars(file)}
