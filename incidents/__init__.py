"""Decide: when an incident opens and ends, how long data was down, what it cost. Pure: no clock, no database."""
