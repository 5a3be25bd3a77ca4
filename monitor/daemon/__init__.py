"""The daemon: what `tablewatch run` does for months.

    timetable ─> claims (compare-and-set, leases) ─> work_loop ─> workers ─> scan.recorder ─> store
    background_jobs: notifier, periodic_report, metrics, config_reload, presence

In: the schedule in the store. Out: recorded results, alerts, reports, metrics. Read `daemon`, `work_loop`, `claims`,
`timetable` (pure); `scheduled_queries` answers scheduled queries; everything else is one duty in one file.
"""
