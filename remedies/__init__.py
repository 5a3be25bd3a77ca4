"""Repair: one file of this room is one remedy."""
