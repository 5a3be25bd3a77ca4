"""The mathematics of learned limits: what is usual, and how far from it is too far.

    looks ──> baseline.py ──────────────────────────────────────> promise.py
              usual value of a slot, residuals, and the rank of   the limit now, or how much
              a distance among those of the past                  history is missing

Pure, on numpy arrays; imported when a check with a learned limit is judged, so that `import checks` stays cheap.
"""

from checks.limits.baseline import TimedValue
from checks.limits.promise import LearnedLimit, LimitRule, MissingHistory, learn_limit

__all__ = ["LearnedLimit", "LimitRule", "MissingHistory", "TimedValue", "learn_limit"]
