"""All of Great Expectations: its expectations as a check, our checks as its expectations, suites translated both ways.

    expectation ──> arguments ──> worker_door ──> caller ──> (a process that may be ended) ──> registry, custom, metric

No process is started here: the caller passes a `Caller`. Read `arguments` (what names and arguments alone tell),
`caller`, `worker_door` (the questions), `registry` and `errors`; `custom`, `metric` and `measure` are our checks as
expectations; `twins` and `suite` translate.
"""
