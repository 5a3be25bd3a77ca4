"""Estimate a share of rows from a sample: `sample: {share: 0.01}`.

`query` draws the rows and asks the check for its aggregates over them, in a statement of its own; `intervals` says
between which limits the share in the whole table lies; `verdict` judges that interval: pass and fail are said only
where all of it lies on one side of the limit.
"""

from checks.sampling.query import sampled_wants
from checks.sampling.verdict import RowShare, judge_shares, sampled_measurement

__all__ = ["RowShare", "judge_shares", "sampled_measurement", "sampled_wants"]
