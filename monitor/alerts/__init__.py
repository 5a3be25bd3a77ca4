"""Tell people: who hears of an incident, when, and in which words; and how the message reaches them.

Decided here (pure): `decide` (is there anything to say), `route` (to whom), `quiet`, `suppress` and `pace` (not now,
and until when), `group` (in one message with what else). `message` writes it, `announce` does all of it on a store.
"""
