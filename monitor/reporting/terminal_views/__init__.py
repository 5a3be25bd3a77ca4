"""What a person or a program is shown of a pass, an incident, a table, the downtime."""
