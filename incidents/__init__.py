"""Decide: when an incident opens and ends, how long data was down, what it cost. Pure: no clock, no database.

Names are looked up when they are first used, so that a command which needs little of this room loads little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from incidents._measure import MaintenanceSpans, TimeMeasure
    from incidents._model import (
        AGENT,
        Acknowledged,
        Assigned,
        BrokenHistory,
        Change,
        Commented,
        Corrected,
        Episode,
        Escalated,
        Event,
        Flapped,
        FoundBy,
        ImpossibleOrder,
        Incident,
        IncidentError,
        Merged,
        NotAllowed,
        NotForced,
        Onset,
        Opened,
        Policy,
        Reopened,
        Resolution,
        Resolved,
        RootNamed,
        RunTimes,
        Snoozed,
        State,
        TicketSaid,
        Watch,
    )
    from incidents.cost import (
        BusinessCalendar,
        DowntimeCost,
        Pricing,
        RateCard,
        StaffRole,
        money,
        price,
        price_by,
        role_rate,
    )
    from incidents.coverage import NOT_RUN, Gap, Unobserved, gaps_after, overdue_after, unobserved
    from incidents.daily import DailyParts, parts_between
    from incidents.downtime import (
        MAINTENANCE,
        Downtime,
        Durations,
        ExcludedCount,
        Lever,
        OpenIncident,
        Part,
        Shares,
        Statistics,
        changes,
        detection_and_resolution_times,
        durations,
        episode_durations,
        hours,
        lever,
        measure,
        measure_by,
        uncovered,
    )
    from incidents.estimate import Estimate, ExpectedIncidents
    from incidents.events import apply, decode, encode, replay
    from incidents.lifecycle import Identity, LifecycleStep, Reason, advance
    from incidents.reported import ReportedIncident
    from incidents.spans import OPEN_END, Spans, Window, from_us, to_us
    from incidents.what_if import WhatIf, changed_spans

__all__ = [
    "AGENT",
    "MAINTENANCE",
    "NOT_RUN",
    "OPEN_END",
    "Acknowledged",
    "Assigned",
    "BrokenHistory",
    "BusinessCalendar",
    "Change",
    "Commented",
    "Corrected",
    "DailyParts",
    "Downtime",
    "DowntimeCost",
    "Durations",
    "Episode",
    "Escalated",
    "Estimate",
    "Event",
    "ExcludedCount",
    "ExpectedIncidents",
    "Flapped",
    "FoundBy",
    "Gap",
    "Identity",
    "ImpossibleOrder",
    "Incident",
    "IncidentError",
    "Lever",
    "LifecycleStep",
    "MaintenanceSpans",
    "Merged",
    "NotAllowed",
    "NotForced",
    "Onset",
    "OpenIncident",
    "Opened",
    "Part",
    "Policy",
    "Pricing",
    "RateCard",
    "Reason",
    "Reopened",
    "ReportedIncident",
    "Resolution",
    "Resolved",
    "RootNamed",
    "RunTimes",
    "Shares",
    "Snoozed",
    "Spans",
    "StaffRole",
    "State",
    "Statistics",
    "TicketSaid",
    "TimeMeasure",
    "Unobserved",
    "Watch",
    "WhatIf",
    "Window",
    "advance",
    "apply",
    "changed_spans",
    "changes",
    "decode",
    "detection_and_resolution_times",
    "durations",
    "encode",
    "episode_durations",
    "from_us",
    "gaps_after",
    "hours",
    "lever",
    "measure",
    "measure_by",
    "money",
    "overdue_after",
    "parts_between",
    "price",
    "price_by",
    "replay",
    "role_rate",
    "to_us",
    "uncovered",
    "unobserved",
]

_HOMES: Final = (
    "_model",
    "events",
    "lifecycle",
    "reported",
    "coverage",
    "estimate",
    "spans",
    "_measure",
    "downtime",
    "daily",
    "cost",
    "what_if",
)
"""Where the names live, in the order in which they are searched."""


def __getattr__(name: str) -> Any:
    """Return one of the public names from its home."""
    if name in __all__:
        for home in _HOMES:
            names = vars(import_module(f"{__name__}.{home}"))
            if name in names:
                return names[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
