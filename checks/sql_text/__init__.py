"""SQL that a person wrote: parsed, checked against a list of allowed constructs, written again from its syntax tree.

In: a condition (`where`) or a SELECT (`statement`). Out: SQL of the source's dialect; nothing that was typed is run.
"""
