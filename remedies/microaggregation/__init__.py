"""Microaggregation as mathematics: arrays in, labels of groups of k to 2k-1 records out."""

from remedies.microaggregation._fdh import fdh_path
from remedies.microaggregation._loss import Microaggregation, information_loss, lower_bound, lower_bound_estimate
from remedies.microaggregation._mdav import mdav, vmdav
from remedies.microaggregation._mhm import mhm, optimal_univariate
from remedies.microaggregation._microaggregate import microaggregate
from remedies.microaggregation._npn import npn_path
from remedies.microaggregation.standardisation import standardise

__all__ = [
    "Microaggregation",
    "fdh_path",
    "information_loss",
    "lower_bound",
    "lower_bound_estimate",
    "mdav",
    "mhm",
    "microaggregate",
    "npn_path",
    "optimal_univariate",
    "standardise",
    "vmdav",
]
