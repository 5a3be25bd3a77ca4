"""Releases: from a table at risk to a file that was read again and passes its limits.

    assess ─> compare ─> decisions (approve, hold) ─> gate ─> treat ─> verdict ─> person_registry ─> certificate

In: a `release` of the configuration. Out: a verified file and a record of who approved what and what was exported.
Read `overview` (which releases are on hold), `columns`, `plan`, `treat`, `export`. `disclosure/` asks ad hoc how
likely re-identification is; `treatment/` applies one remedy to one table and reads the output again.
"""
