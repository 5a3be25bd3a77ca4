"""Releases: from the finding that a table is at risk to a file that is proved safe, and a record of who let it go."""
