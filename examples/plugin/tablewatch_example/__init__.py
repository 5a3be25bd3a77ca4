"""A check, a channel and a source for Tablewatch."""
