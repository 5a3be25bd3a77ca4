"""Apply a remedy to a table, write the output, read it again, and keep it only if it passes its limits.

    table_reader ─> generalise_table | streaming_microaggregation | randomise_table ... ─> output ─> verify

In: a table and a remedy. Out: a file in random row order, whose limits were counted again by the engine. Read `output`
and `verify` first: no remedy publishes a file in another way.
"""
