"""Simulation: what another schedule, other limits, rules or routes would have made of the stored history.

    configuration + proposal ─> plan ─> run: results ─> (stored_numbers) ─> incidents.simulation ─> incidents ─> alarms
                                                                                └─> compare ─> view

In: the configuration that runs, a proposed one, the store, which is only read. Out: what would have been noticed when,
which alerts would have been sent, hours and money, both ways. Read `plan` (what differs), `stored_numbers` (judged by
other limits), `run` (each check both ways), `alarms` (the events around replayed incidents) and
`replayed_alerts` (their alerts, decided by `monitor.alerts` on facts in memory), `compare` (the figures), `view`
(terminal and JSON). `schedules` proposes schedules within a budget and replays them; `schedules_view` shows them.
"""
