"""One pass over tables: plan, measure, judge, decide, record.

    targets ──> planner ──> measure ──> judge ──> decide ──> recorder ──> store
    Target      TablePlan   scanner     checks    incidents  one transaction

In: targets (a table, its checks, its source). Out: a `PassResult` with a `CheckResult` for each check, and in the
store runs, measurements, incident events and outbox rows. Read `run` (the pass), `results` (targets, and what came
back), `planner` (which statements), `scanner` and `measure` (they run inside the engine), `recorder` (what is stored).
Checks with `by` are measured and judged in each segment of a table by `segment_query` and `segment_results`.
`ad_hoc` is a pass over a table that no configuration names; `sql_template` fills times into compiled SQL;
`private_question` is what a noisy answer asks instead of checks; `incremental` is for class counts that are kept from
run to run, and a plain pass does not use them.
"""
