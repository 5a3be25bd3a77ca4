"""Noisy answers about tables, each charged to a budget before the table is looked at."""
