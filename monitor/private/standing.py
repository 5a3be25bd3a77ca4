"""Say where a budget stands: as plain data, and in words that need no mathematics."""

from collections.abc import Mapping

from checks import Json
from remedies.differential_privacy import Accounting, epsilon_of_rho, sentence
from remedies.differential_privacy._epsilon import text_of
from remedies.differential_privacy._ledger import Standing
from remedies.differential_privacy.answers import ROW


def standing_json(standing: Standing) -> Mapping[str, Json]:
    """Give where a budget stands as plain data; amounts are texts, since they are exact."""
    budget = standing.budget
    return {
        "table": budget.data_set,
        "unit": budget.unit,
        "accounting": budget.accounting.value,
        "adjacency": budget.adjacency.value,
        "delta": None if budget.delta is None else float(budget.delta),
        "total": text_of(budget.total),
        "spent": text_of(standing.spent),
        "left": text_of(standing.left),
        "epsilon_spent": text_of(_epsilon(standing)),
        "sentence": sentence_of(standing),
    }


def sentence_of(standing: Standing) -> str:
    """Say what all answers so far reveal."""
    budget = standing.budget
    whose = "one row" if budget.unit == ROW else f"all rows of one {budget.unit}"
    return sentence(standing.largest, standing.spent, accounting=budget.accounting, delta=budget.delta, unit=whose)


def loss_word(standing: Standing) -> str:
    """Name what the budget counts in."""
    return "epsilon" if standing.budget.accounting is Accounting.PURE else "rho"


def _epsilon(standing: Standing) -> int:
    """Give what was spent in nano-epsilon; under zCDP, what it amounts to but for delta."""
    delta = standing.budget.delta
    return standing.spent if delta is None else epsilon_of_rho(standing.spent, delta)
