"""Disclosure risk as mathematics: arrays and pandas frames in, frozen dataclasses out."""

import checks.risk as _library
from checks.risk import *

__all__ = _library.__all__
