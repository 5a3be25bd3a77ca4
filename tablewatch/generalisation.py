"""Generalisation as mathematics: arrays and pandas frames in, frozen dataclasses out."""

import remedies.generalisation as _library
from remedies.generalisation import *

__all__ = _library.__all__
