"""How likely it is that records of a table or a file can be re-identified, asked ad hoc.

In: a configured table or a file, and columns. Out: risk figures; nothing is stored. Read `table_ref`, `assessment`.
"""
