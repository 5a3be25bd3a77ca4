"""Each kind of statement that the product prints has a scorer, or the reason why the store cannot score it."""

import re
from functools import cache

from benchmarks import audit as benchmark
from benchmarks import root_causes
from benchmarks.learned_limits import FIRST_SEEDS, SERIES
from monitor.alerts.operational import Operation
from monitor.summaries.audit import STATEMENTS, ScoredStatement, StatementKind
from monitor.summaries.service_levels import BUDGET_BURNING
from tests.templates.message_ids import PACKAGES, texts_of_code, texts_of_templates

KIND = StatementKind
_UNCERTAIN = re.compile(
    r"95 ?%|\bchance\b|probab|confiden|\bestimated?\b|expected error|error bound|promise|false alarm|used up|"
    r"\blow and high\b|\{low:hours\}|\{low:ratio\}|likely|\binterval\b",
    re.IGNORECASE,
)
"""What a text has that says how sure something is."""
SAID = {
    "Between {low:hours} and {high:hours}": KIND.DOWNTIME_RANGE,
    "Error budget of {name}": KIND.DOWNTIME_RANGE,
    "Whether detection or resolution took longer": KIND.DOWNTIME_RANGE,
    "low and high estimate": KIND.DOWNTIME_RANGE,
    "The low and high estimates use": KIND.DOWNTIME_RANGE,
    "the problem started at some point in this interval": KIND.START,
    "an estimated {estimate:ratio} of the rows": KIND.SAMPLE,
    "{low:ratio} to {high:ratio} of the rows": KIND.SAMPLE,
    "can be inferred": KIND.DISCLOSURE_RISK,
    "the probability of being in the table": KIND.DISCLOSURE_RISK,
    "an estimated {share:ratio} of the population": KIND.DISCLOSURE_RISK,
    "population uniqueness cannot be estimated": KIND.DISCLOSURE_RISK,
    "with a probability of at most one half": KIND.DISCLOSURE_RISK,
    "membership attack": KIND.DISCLOSURE_RISK,
    "95% error bound": KIND.ANSWER,
    "xpected error": KIND.SYNTHETIC_TABLE,
    "estimated back": KIND.SYNTHETIC_TABLE,
    "detected with a chance of one half": KIND.POWER,
    "with a chance of one half": KIND.POWER,
    "False alarms": KIND.FALSE_ALARMS,
    "{promised}": KIND.FALSE_ALARMS,
    "95 % interval {low:ratio}": KIND.ALERT_PRECISION,
    "used up": KIND.BURN_RATE,
}
"""A part of a text, and the kind of statement that it is."""
NO_STATEMENT = (
    "most false alarms first",  # counts of answers
    "promised of each",  # service levels: a rule of people, which is judged by its own low and high end
    "Promised",
    "Strictest k promised",
    "so no risk can be estimated",  # why it is unknown
    "population stability index of {chance:number} is expected",  # why it is unknown
)
"""Parts of texts that say how sure something is, and promise nothing of what will come true."""


@cache
def _texts() -> frozenset[str]:
    texts = [text for text in texts_of_templates() + texts_of_code(*PACKAGES) if "audit" not in text.place]
    return frozenset(text.text for text in texts if _UNCERTAIN.search(text.text))


def test_each_kind_has_a_scorer_or_a_reason() -> None:
    """A new kind of statement cannot be added without one."""
    assert set(STATEMENTS) == set(StatementKind)
    assert any(isinstance(statement, ScoredStatement) for statement in STATEMENTS.values())


def test_each_text_that_says_how_sure_something_is_has_a_kind() -> None:
    """A new probability, bound or rate in a page, report, alert or result fails here until it is audited."""
    unknown = [text for text in _texts() if not any(part in text for part in (*SAID, *NO_STATEMENT))]
    assert not unknown, unknown
    stale = [part for part in (*SAID, *NO_STATEMENT) if not any(part in text for text in _texts())]
    assert not stale, stale


def test_notices_of_budgets_are_found_by_their_operation() -> None:
    """The word in stored messages is that of the alerts."""
    assert Operation.BUDGET_BURNING == BUDGET_BURNING


def test_the_seeds_of_the_audit_were_used_nowhere_else() -> None:
    """They begin far above those with which the statements were made."""
    used = [*(first + SERIES for first in FIRST_SEEDS), root_causes.FIRST + root_causes.CASES + root_causes.WITHOUT]
    assert max(used) < benchmark.FIRST // 10
