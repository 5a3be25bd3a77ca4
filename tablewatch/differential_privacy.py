"""Randomisation and differential privacy as mathematics: arrays and pandas frames in, frozen dataclasses out."""

import remedies.differential_privacy as _library
from remedies.differential_privacy import *

__all__ = _library.__all__
