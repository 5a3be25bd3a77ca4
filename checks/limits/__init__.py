"""The mathematics of learned limits: what is usual, and how far from it is too far.

    looks ──> baseline.py ──────────────────────────────────────> promise.py
              usual value of a slot, residuals, and the rank of   the limit now, or how much
              a distance among those of the past                  history is missing

    distances of all tables ──> pool.py ──────────────────────────> the same, where tables learn together

Pure, on numpy arrays; imported when a check with a learned limit is judged, so that `import checks` stays cheap.
"""

from checks.limits.baseline import TimedValue
from checks.limits.pool import DistancePool, PooledLook, PooledVerdict, learn_pooled
from checks.limits.promise import LearnedLimit, LimitRule, MissingHistory, learn_limit

__all__ = [
    "DistancePool",
    "LearnedLimit",
    "LimitRule",
    "MissingHistory",
    "PooledLook",
    "PooledVerdict",
    "TimedValue",
    "learn_limit",
    "learn_pooled",
]
