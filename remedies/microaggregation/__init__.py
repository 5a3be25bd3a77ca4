"""Microaggregation as mathematics: arrays in, labels of groups of k to 2k-1 records out."""

from remedies.microaggregation._loss import information_loss
from remedies.microaggregation._mdav import mdav
from remedies.microaggregation._mhm import mhm, optimal_univariate
from remedies.microaggregation._npn import npn_path
from remedies.microaggregation._standardise import standardise

__all__ = ["information_loss", "mdav", "mhm", "npn_path", "optimal_univariate", "standardise"]
