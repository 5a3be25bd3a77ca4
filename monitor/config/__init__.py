"""The configuration: what a person writes in `tablewatch.yaml`, read, checked and typed.

    tablewatch.yaml ─> load ─> yaml_nodes ─> checks ─> model ─> Config ─> Project (sources, store, prices)

In: files and the environment. Out: a `Config` whose every error names its place, or `ConfigError` with all of them.
Read `load`, `model`, `project`; `cron` and `scalars` are its small words, `selector` picks tables and checks by name.
A section that few files have (`budgets`, `releases`) is imported for a file that has it (`scalars.Deferred`). Commands
that work on incidents type only the sections that they need (`load_for`, `scalars.LateSection`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from monitor.config._errors import ConfigError
from monitor.config._files import files_of, find, patterns_of
from monitor.config.alerts_model import Alerts, Channel, Match, QuietHours, Route
from monitor.config.daemon_model import Daemon, Maintenance, OpenLineage, ReportPlans, ReportRecipients, Storage
from monitor.config.load import Loaded, load, load_for, load_readable, load_tree
from monitor.config.model import (
    BusinessHours,
    Config,
    Consumer,
    Cost,
    CsvFormat,
    Domain,
    Owner,
    Rate,
    Rates,
    Role,
    Source,
    Table,
)
from monitor.config.scalars import Schedule, Weekdays
from monitor.config.web_model import OidcSignIn, ProxySignIn, Web

if TYPE_CHECKING:
    from monitor.config.budgets_model import Budget
    from monitor.config.contracts_model import Contract
    from monitor.config.release_model import Limits, Recipe, Release

__all__ = [
    "Alerts",
    "Budget",
    "BusinessHours",
    "Channel",
    "Config",
    "ConfigError",
    "Consumer",
    "Contract",
    "Cost",
    "CsvFormat",
    "Daemon",
    "Domain",
    "Limits",
    "Loaded",
    "Maintenance",
    "Match",
    "OidcSignIn",
    "OpenLineage",
    "Owner",
    "ProxySignIn",
    "QuietHours",
    "Rate",
    "Rates",
    "Recipe",
    "Release",
    "ReportPlans",
    "ReportRecipients",
    "Role",
    "Route",
    "Schedule",
    "Source",
    "Storage",
    "Table",
    "Web",
    "Weekdays",
    "files_of",
    "find",
    "load",
    "load_for",
    "load_readable",
    "load_tree",
    "patterns_of",
]

_DEFERRED: Final = {
    "Budget": "budgets_model",
    "Contract": "contracts_model",
    "Limits": "release_model",
    "Recipe": "release_model",
    "Release": "release_model",
}
"""Sections that few files have, and where they live."""


def __getattr__(name: str) -> Any:
    """Return one of the sections that few files have."""
    if name in _DEFERRED:
        return getattr(import_module(f"{__name__}.{_DEFERRED[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
