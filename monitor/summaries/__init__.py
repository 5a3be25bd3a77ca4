"""The numbers that pages, reports, metrics and JSON show, each computed in one place.

    store + configuration ─> downtime, health, coverage, catalogue, ranking, planning ─> commands, reporting, daemon

In: one read transaction and the configuration. Out: frozen values; nothing is formatted here. Read `downtime` and
`incident` first; `ranking` derives advice, `planning` the figure that needs no incident.
"""
