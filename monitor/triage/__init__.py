"""Changes of incidents by people, and the import of ticket histories.

    command ─> incident_editor ─> incidents.verbs ─> store
    ticket_reader ─> ticket_columns ─> ticket_import ─> store

In: a verb (acknowledge, assign, snooze, resolve ...) or a CSV file of tickets. Out: incident events, each in one short
transaction; an import is one, which reads the file while it writes. Read `incident_editor`; for an import
`ticket_fields`, `ticket_mapping`, `ticket_columns`, `ticket_reader`, `ticket_comparison`, `ticket_import`.
"""
