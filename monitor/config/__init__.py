"""The configuration: what a person writes in `tablewatch.yaml`, read, checked and typed."""

from monitor.config._alerts import Alerts, Channel, Match, QuietHours, Route, Webhook
from monitor.config._budgets import Budget
from monitor.config._errors import ConfigError
from monitor.config._files import files_of, find, patterns_of
from monitor.config._load import Loaded, load, load_readable
from monitor.config._model import (
    BusinessHours,
    Config,
    Cost,
    CsvFormat,
    Daemon,
    Domain,
    Maintenance,
    Owner,
    Rate,
    Rates,
    Report,
    Role,
    Source,
    Storage,
    Table,
    WeeklyReportPlan,
)
from monitor.config._release import Limits, Recipe, Release
from monitor.config._scalars import Schedule, Weekdays

__all__ = [
    "Alerts",
    "Budget",
    "BusinessHours",
    "Channel",
    "Config",
    "ConfigError",
    "Cost",
    "CsvFormat",
    "Daemon",
    "Domain",
    "Limits",
    "Loaded",
    "Maintenance",
    "Match",
    "Owner",
    "QuietHours",
    "Rate",
    "Rates",
    "Recipe",
    "Release",
    "Report",
    "Role",
    "Route",
    "Schedule",
    "Source",
    "Storage",
    "Table",
    "Webhook",
    "Weekdays",
    "WeeklyReportPlan",
    "files_of",
    "find",
    "load",
    "load_readable",
    "patterns_of",
]
