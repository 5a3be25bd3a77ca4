"""Releases: from a table at risk to a file that passed its limits, and a record of who approved it."""
