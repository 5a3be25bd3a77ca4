"""What people do to incidents, and the import of ticket histories.

    command ─> editor ─> incidents.verbs ─> store
    ticket_file ─> ticket_reader ─> ticket_columns ─> ticket_import ─> store

In: a verb (acknowledge, assign, snooze, resolve ...) or a table of tickets. Out: incident events, each in one short
transaction; an import is one, which reads the file while it writes. Read `desk`; for an import `ticket_mapping`,
`ticket_columns`, `ticket_reader`, `ticket_comparison`, `ticket_import`.
"""
