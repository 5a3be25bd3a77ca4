"""The read models of the pages, without HTTP and templates: `(project, tx, query, now) -> model`.

    query + one read transaction + configuration ─> summaries ─> a frozen model ─> page, JSON, OpenAPI

In: a validated query, the configuration, one state of the store, the present. Out: a pydantic model with its published
`schema`. Every list is a page of at most 100 rows that begins after a place (`shapes`), every history at most 500
points: no model grows with the store. No model holds a value of a monitored table. Read `overview` and `incidents`
first.
"""
