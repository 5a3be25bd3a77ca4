"""Output of commands: a view for each kind of result, and its JSON form.

In: values of `summaries`, `scan`, `releases`, `answers`. Out: lines for a console, or plain data for `--format json`.
"""
