"""The mathematics of learned limits: what is usual, how far from it is too far, and whether a promise was kept.

    looks ──> baseline.py ──────────> bounds.py ────────────> promise.py
              usual value of a slot,  Student, Cantelli,      the tightest that kept
              residuals               empirical               the promise over its past

Pure, on numpy arrays; imported when a check with a learned limit is judged, so that `import checks` stays cheap.
"""

from checks.limits.baseline import Look
from checks.limits.bounds import Method
from checks.limits.promise import LearnedLimit, LimitRule, MissingHistory, learn_limit

__all__ = ["LearnedLimit", "LimitRule", "Look", "Method", "MissingHistory", "learn_limit"]
