"""Alerts: which channel is notified of which incident, when, in which words, and how the message is delivered.

    outbox row ─> notify: route ─> decide ─> hold? ─> batch ─> message ─> delivery row ─> dispatch ─> a channel

In: transitions of incidents in the store's outbox. Out: messages, at least once, with a stable id. Decided by pure
functions: `decide` (is there news for a channel), `route` (which channels), `hold` (quiet hours too), `inhibition`
and `batch` (not now, and until when). `facts` is what they look at, `notification_pass` what they come to at a moment;
`message` and `wording` compose; `notify` does all of it on a store; `dispatch` sends what is due through the kind of
its channel (`monitor.channels`). `ticket_pull` reads tickets back.
"""
