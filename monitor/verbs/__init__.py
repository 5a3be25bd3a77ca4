"""What people do: one entry for each verb, from which its command, form, route, tool and documents follow.

`verb` says what an entry is; `incident`, `release`, `silence`, `event` and `channel` hold the entries. What may be done
is decided below: `incidents.verbs`, `triage`, `releases`, `store`.

An entry is read by `commands/_verb_command` (a command with its options), `web/verb_routes` (the address in the API and
the form of the page, checked and documented) and `web/mcp_server` (a tool, if it has the name of one).
"""
