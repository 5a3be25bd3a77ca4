"""Treat a table by a remedy, and give out the file that was read again and passed."""
