"""Suggest the name that was probably meant: lives in `sources`, which may not import this room."""

from sources import did_you_mean

__all__ = ["did_you_mean"]
