"""One pass over tables: plan, measure, judge, decide, record.

    config ──> planner ──> measure ──> judge ──> decide ──> recorder ──> store
    Target     TablePlan   scanner     checks    incidents  one transaction

In: targets (a table, its checks, its source). Out: a `CheckResult` for each check, and in the store runs, measurements,
incident events and outbox rows. Read `run` (the pass), `planner` (which statements), `scanner` and `measure` (they run
inside the engine), `recorder` (what is stored). `sql_template` fills times into compiled SQL;
`incremental` is for class counts that are kept from run to run, and a plain pass does not use them.
"""
