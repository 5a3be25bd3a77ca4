"""Microaggregation as mathematics: arrays and pandas frames in, frozen dataclasses out."""

import remedies.microaggregation as _library
from remedies.microaggregation import *

__all__ = _library.__all__
