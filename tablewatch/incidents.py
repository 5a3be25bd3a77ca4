"""Incidents, their times, downtime and cost as arithmetic: no clock, no database."""

import incidents as _library
from incidents import *

__all__ = _library.__all__
