"""Propose checks from data, and a first configuration: tables, keys, limits, references.

    sources ─> folder (files) | catalogue (databases) ─┐
    configured tables ─────────────────────────────────┴─> profile ─> keys, rules ... ─> try ─> starter ─> YAML
                                                           └─────────── suggest ───────────┘

In: what `tablewatch init` or `tablewatch suggest` was given. Out: proposals, YAML text. Read `proposal` (what that is,
and how sure), `suggest` (the order of the work), then what it calls: `profile`, `keys`, `rules`, `freshness`,
`references`; `targets` (which tables), `suggestion_json`, `starter`.
"""

from typing import Final

FAILS: Final = "fails now: "
"""What a comment says of a proposal that fails."""
