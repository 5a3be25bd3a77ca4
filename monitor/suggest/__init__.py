"""Propose a first configuration from data: tables, keys, freshness columns.

    sources ─> folder (files) | catalogue (databases) ─> starter ─> tablewatch.yaml

In: what `tablewatch init` was given. Out: YAML text. Read `sources`, `catalogue`, `starter`.
"""
