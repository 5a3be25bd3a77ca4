"""How commands read arguments, write output, show progress and fail.

    input_bounds ─> command ─> output ─> console ─> stdout, stderr      problem, internal_error ─> exit code
                                     │
                                     └─ text_cleaning, redaction, tables, localizer

In: what a person typed, and values to show. Out: text on the two standard streams, files that a person named, an exit
code. Read `output` (the invocation of a command) first, then `problem` (errors and exit codes) and `console`;
`output_file` and `input_bounds` are the only places that write and read files that a person names.
"""
