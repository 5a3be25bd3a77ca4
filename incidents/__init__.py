"""Incidents: when one opens and ends, how long data was down, what it cost. Pure: no clock, no database.

Names are looked up when they are first used, so that a command which needs little of this package loads little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from incidents._measure import MaintenanceSpans as MaintenanceSpans
    from incidents._measure import TimeMeasure as TimeMeasure
    from incidents._model import AGENT as AGENT
    from incidents._model import BrokenHistory as BrokenHistory
    from incidents._model import Episode as Episode
    from incidents._model import FoundBy as FoundBy
    from incidents._model import ImpossibleOrder as ImpossibleOrder
    from incidents._model import Incident as Incident
    from incidents._model import IncidentError as IncidentError
    from incidents._model import NotAllowed as NotAllowed
    from incidents._model import NotForced as NotForced
    from incidents._model import Onset as Onset
    from incidents._model import Policy as Policy
    from incidents._model import Resolution as Resolution
    from incidents._model import RunTimes as RunTimes
    from incidents._model import State as State
    from incidents._model import Watch as Watch
    from incidents._model import from_us as from_us
    from incidents._model import to_us as to_us
    from incidents._model import unacknowledged_for as unacknowledged_for
    from incidents.alarms import AnsweredAlarms as AnsweredAlarms
    from incidents.alarms import Repeats as Repeats
    from incidents.alarms import alarms_by_check as alarms_by_check
    from incidents.alarms import answer_of as answer_of
    from incidents.alarms import repeats_by as repeats_by
    from incidents.cost import BusinessCalendar as BusinessCalendar
    from incidents.cost import DowntimeCost as DowntimeCost
    from incidents.cost import IncidentCosts as IncidentCosts
    from incidents.cost import Pricing as Pricing
    from incidents.cost import RateCard as RateCard
    from incidents.cost import StaffRole as StaffRole
    from incidents.cost import money as money
    from incidents.cost import price as price
    from incidents.cost import price_by as price_by
    from incidents.cost import price_incidents as price_incidents
    from incidents.cost import role_rate as role_rate
    from incidents.coverage import NOT_RUN as NOT_RUN
    from incidents.coverage import Gap as Gap
    from incidents.coverage import Unobserved as Unobserved
    from incidents.coverage import gaps_after as gaps_after
    from incidents.coverage import overdue_after as overdue_after
    from incidents.coverage import unobserved as unobserved
    from incidents.daily import DailyParts as DailyParts
    from incidents.daily import parts_between as parts_between
    from incidents.downtime import MAINTENANCE as MAINTENANCE
    from incidents.downtime import Downtime as Downtime
    from incidents.downtime import Durations as Durations
    from incidents.downtime import ExcludedCount as ExcludedCount
    from incidents.downtime import Lever as Lever
    from incidents.downtime import OpenIncident as OpenIncident
    from incidents.downtime import Part as Part
    from incidents.downtime import Shares as Shares
    from incidents.downtime import Statistics as Statistics
    from incidents.downtime import changes as changes
    from incidents.downtime import durations as durations
    from incidents.downtime import episode_durations as episode_durations
    from incidents.downtime import hours as hours
    from incidents.downtime import lever as lever
    from incidents.downtime import measure as measure
    from incidents.downtime import measure_by as measure_by
    from incidents.downtime import response_times as response_times
    from incidents.downtime import uncovered as uncovered
    from incidents.error_budgets import BURN_RULES as BURN_RULES
    from incidents.error_budgets import BurnRate as BurnRate
    from incidents.error_budgets import BurnRule as BurnRule
    from incidents.error_budgets import ErrorBudget as ErrorBudget
    from incidents.error_budgets import Exhaustion as Exhaustion
    from incidents.error_budgets import FastBurn as FastBurn
    from incidents.error_budgets import error_budget as error_budget
    from incidents.error_budgets import fast_burn as fast_burn
    from incidents.estimate import Estimate as Estimate
    from incidents.estimate import ExpectedIncidents as ExpectedIncidents
    from incidents.events import Acknowledged as Acknowledged
    from incidents.events import Assigned as Assigned
    from incidents.events import Change as Change
    from incidents.events import Commented as Commented
    from incidents.events import Corrected as Corrected
    from incidents.events import Escalated as Escalated
    from incidents.events import Event as Event
    from incidents.events import Flapped as Flapped
    from incidents.events import Merged as Merged
    from incidents.events import Opened as Opened
    from incidents.events import Renamed as Renamed
    from incidents.events import Reopened as Reopened
    from incidents.events import Resolved as Resolved
    from incidents.events import RootNamed as RootNamed
    from incidents.events import Snoozed as Snoozed
    from incidents.events import TicketSaid as TicketSaid
    from incidents.events import apply as apply
    from incidents.events import decode as decode
    from incidents.events import encode as encode
    from incidents.events import replay as replay
    from incidents.lifecycle import NOT_CONFIGURED as NOT_CONFIGURED
    from incidents.lifecycle import WITHOUT_ROWS as WITHOUT_ROWS
    from incidents.lifecycle import Identity as Identity
    from incidents.lifecycle import LifecycleStep as LifecycleStep
    from incidents.lifecycle import Reason as Reason
    from incidents.lifecycle import advance as advance
    from incidents.lifecycle import ended_without_rows as ended_without_rows
    from incidents.lifecycle import set_back as set_back
    from incidents.lifecycle import set_incident_back as set_incident_back
    from incidents.lifecycle import status_text as status_text
    from incidents.recorded_history import RecordedHistory as RecordedHistory
    from incidents.reported import ReportedIncident as ReportedIncident
    from incidents.result_tracks import ResultTrack as ResultTrack
    from incidents.result_tracks import SlotResults as SlotResults
    from incidents.result_tracks import results_at as results_at
    from incidents.result_tracks import retry_slots as retry_slots
    from incidents.segmented_runs import SegmentedRun as SegmentedRun
    from incidents.segmented_runs import SegmentTrack as SegmentTrack
    from incidents.segmented_runs import rest_track as rest_track
    from incidents.segmented_runs import segment_tracks as segment_tracks
    from incidents.service_levels import DownTime as DownTime
    from incidents.service_levels import IncidentHistory as IncidentHistory
    from incidents.service_levels import Level as Level
    from incidents.service_levels import LevelResult as LevelResult
    from incidents.service_levels import LevelSurvey as LevelSurvey
    from incidents.service_levels import LevelVerdict as LevelVerdict
    from incidents.service_levels import share_kept as share_kept
    from incidents.simulation import ResultReplay as ResultReplay
    from incidents.simulation import replay_results as replay_results
    from incidents.spans import OPEN_END as OPEN_END
    from incidents.spans import Spans as Spans
    from incidents.spans import Window as Window
    from incidents.warning_spell import WarningSpell as WarningSpell
    from incidents.warning_spell import follow_warning as follow_warning
    from incidents.what_if import WhatIf as WhatIf
    from incidents.what_if import changed_spans as changed_spans


_HOMES: Final = {
    "_measure": "MaintenanceSpans TimeMeasure",
    "_model": (
        "AGENT BrokenHistory Episode FoundBy ImpossibleOrder Incident IncidentError NotAllowed NotForced Onset Policy "
        "Resolution RunTimes State Watch from_us to_us unacknowledged_for"
    ),
    "alarms": "AnsweredAlarms Repeats alarms_by_check answer_of repeats_by",
    "cost": (
        "BusinessCalendar DowntimeCost IncidentCosts Pricing RateCard StaffRole money price price_by price_incidents "
        "role_rate"
    ),
    "coverage": "Gap NOT_RUN Unobserved gaps_after overdue_after unobserved",
    "daily": "DailyParts parts_between",
    "downtime": (
        "Downtime Durations ExcludedCount Lever MAINTENANCE OpenIncident Part Shares Statistics changes durations "
        "episode_durations hours lever measure measure_by response_times uncovered"
    ),
    "error_budgets": "BURN_RULES BurnRate BurnRule ErrorBudget Exhaustion FastBurn error_budget fast_burn",
    "estimate": "Estimate ExpectedIncidents",
    "events": (
        "Acknowledged Assigned Change Commented Corrected Escalated Event Flapped Merged Opened Renamed Reopened "
        "Resolved RootNamed Snoozed TicketSaid apply decode encode replay"
    ),
    "lifecycle": "NOT_CONFIGURED WITHOUT_ROWS Identity LifecycleStep Reason advance ended_without_rows set_back "
    "set_incident_back status_text",
    "recorded_history": "RecordedHistory",
    "reported": "ReportedIncident",
    "result_tracks": "ResultTrack SlotResults results_at retry_slots",
    "segmented_runs": "SegmentTrack SegmentedRun rest_track segment_tracks",
    "service_levels": "DownTime IncidentHistory Level LevelResult LevelSurvey LevelVerdict share_kept",
    "simulation": "ResultReplay replay_results",
    "spans": "OPEN_END Spans Window",
    "warning_spell": "WarningSpell follow_warning",
    "what_if": "WhatIf changed_spans",
}

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Return one of the public names from its home."""
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
