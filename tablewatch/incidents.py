"""Incidents, their times, downtime and cost as arithmetic: no clock, no database."""

import incidents as _library
from incidents import *
from incidents import verbs  # noqa: F401 - a module, which the star leaves out

__all__ = _library.__all__
