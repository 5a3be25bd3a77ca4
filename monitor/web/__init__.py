"""The web application: pages, the JSON API, and who may use them. `tablewatch serve` runs it in a process of its own.

    request ─> boundary ─> dispatch ─> identify ─> access ─> handler (a thread) ─> page or JSON
               limits,      routes      token,     the role    view, verbs,
               headers                  proxy,     a route     sign_in
                                        session    asks for

In: HTTP requests. Out: pages and JSON of the same models; incident events by `triage`, as the command line writes them.
Read `routes` (everything there is), `dispatch` (what happens to a request), then `access` and `credentials`.
It needs the extra `[web]`, never runs the schedule, and shows no value of a monitored table.
"""
