"""The numbers that pages, reports, metrics and JSON show, each computed in one place.

    store + configuration ─> downtime, health, coverage, catalogue, ranking ─> releases, reporting, daemon, commands

In: one read transaction and the configuration. Out: frozen values; nothing is formatted here. Read `downtime` and
`incident` first; `ranking` derives advice.
"""
