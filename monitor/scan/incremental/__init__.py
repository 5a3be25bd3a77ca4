"""Class counts that are kept from run to run, so that a check of class sizes reads only the rows that changed.

    with_count_states ──known counts──> counter ──changes──> stage_counts ──settled with the results──> store

In: targets whose checks keep counts, and the store. Out: measurements as if all rows had been counted. Read `stored`
(before and after a run, beside the store), `counter` (one check), `counting` (the queries).
"""

from monitor.scan.incremental.stored import (
    KeyProvider,
    StagedCounts,
    judge_without_store,
    stage_counts,
    with_count_states,
)

__all__ = ["KeyProvider", "StagedCounts", "judge_without_store", "stage_counts", "with_count_states"]
