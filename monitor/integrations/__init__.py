"""Results and definitions of other tools come in, ours go out: one file is one standard.

    dbt artifacts ──> dbt ──┐
    JSON of any tool ───────┴─> results ──> scan.recorder ──> store      (checks of `type: external`)
    events of OpenLineage ──> openlineage ──> `upstream`; stored runs ──> openlineage ──> events
    dbt manifest ──> dbt_project ──> YAML of tables, owners, lineage and checks
    data contract ──> odcs_document ──> odcs: odcs_tables, odcs_columns, odcs_quality, odcs_levels ──> YAML of the same,
                                              sources and promises
    tables, checks and promises ──> odcs_export ──> data contract
    results of a pass ──> junit, github       problems of a configuration ──> sarif, github

In: files that other tools wrote, read key by key; further keys are ignored, and what cannot be used is
named. Out: measurements and incidents like those of our own checks, or a proposed configuration. Nothing that was not
read becomes a pass, and no text of another tool is stored: it may hold data values. Read `results`, then `dbt`.

`junit`, `github` and `sarif` are pure functions from results or problems to text; `redact` masks the secrets of the
configuration, and control characters are written as escapes.
"""
