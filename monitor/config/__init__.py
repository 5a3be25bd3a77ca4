"""The configuration: what a person writes in `tablewatch.yaml`, read, checked and typed.

    tablewatch.yaml ─> load ─> yaml_nodes ─> checks, hierarchies ─> model ─> Config ─> Project (sources, store, prices)

In: files and the environment. Out: a `Config` whose every error names its place, or `ConfigError` with all of them.
Read `load`, `model`, `project`; `cron` and `scalars` are its small words, `selector` picks tables and checks by name.
"""

from monitor.config._errors import ConfigError
from monitor.config._files import files_of, find, patterns_of
from monitor.config.alerts_model import Alerts, Channel, Match, QuietHours, Route
from monitor.config.budgets_model import Budget
from monitor.config.load import Loaded, load, load_for, load_readable, load_tree
from monitor.config.model import (
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
    ReportPlans,
    Role,
    Source,
    Storage,
    Table,
    WeeklyReportPlan,
)
from monitor.config.release_model import Limits, Recipe, Release
from monitor.config.scalars import Schedule, Weekdays
from monitor.config.web_model import OidcSignIn, ProxySignIn, Web

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
    "OidcSignIn",
    "Owner",
    "ProxySignIn",
    "QuietHours",
    "Rate",
    "Rates",
    "Recipe",
    "Release",
    "ReportPlans",
    "Role",
    "Route",
    "Schedule",
    "Source",
    "Storage",
    "Table",
    "Web",
    "Weekdays",
    "WeeklyReportPlan",
    "files_of",
    "find",
    "load",
    "load_for",
    "load_readable",
    "load_tree",
    "patterns_of",
]
