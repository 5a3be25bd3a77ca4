"""Treat a table by a remedy, and give out what is proved."""
