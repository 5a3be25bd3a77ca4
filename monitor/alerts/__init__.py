"""Alerts: which channel is notified of which incident, when, with which content, and how messages are delivered.

    outbox row ─> notify: route ─> decide ─> hold? ─> batch ─> message ─> delivery row ─> dispatch ─> a channel

In: transitions of incidents in the store's outbox. Out: messages, at least once, with a stable id. Pure functions
decide: `decide` (is a channel notified, and why), `route` (which channels), `hold` and `policy` (now, later or never)
and `batch` (in which message). `facts` reads what they depend on, `notification_pass` is their result at one moment;
`message` and `wording` compose; `notify` does all of it on a store; `dispatch` sends messages through the kind of their
channel (`monitor.channels`). `ticket_pull` reads tickets back.
"""
