"""Noisy answers about protected tables, each charged to a privacy budget before the table is read.

    question ─> ask: reserve in the ledger ─> compute in the engine ─> add noise ─> store ─> answer

In: a statistic and a budget. Out: an answer with its accuracy and cost. Read `data_set`, `ask`;
`daemon.scheduled_queries` repeats a question on a schedule, `budget_status` reports what was spent, `local_reports`
is local differential privacy, which needs no budget.
"""
