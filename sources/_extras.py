"""Packages of extras: each is imported when it is first used, and one that is missing is reported with its extra."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

_EXTRAS: Final = {
    "MySQLdb": "mysql",
    "apprise": "apprise",
    "argon2": "web",
    "authlib": "oidc",
    "deltalake": "delta",
    "great_expectations": "gx",
    "icalendar": "oncall",
    "mcp": "mcp",
    "numba": "disclosure",
    "psycopg": "postgres",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "recurring_ical_events": "oncall",
    "requests": "oidc",
    "scipy": "disclosure",
    "starlette": "web",
    "uvicorn": "web",
}
"""The extra of a package, by the name under which the package is imported."""


class MissingExtra(ImportError):
    """A package of an extra is not installed: `reason` names the package, `hint` is the command that installs it."""

    def __init__(self, *packages: str) -> None:
        self.extras = tuple(dict.fromkeys(_EXTRAS[package] for package in packages))
        several = len(packages) > 1
        self.reason = f"the package{'s' * several} {', '.join(packages)} {'are' if several else 'is'} not installed"
        self.hint = f"pip install 'tablewatch[{','.join(self.extras)}]'"
        super().__init__(f"{self.reason}: {self.hint}", name=packages[0])


def import_extra(module: str) -> Any:
    """Import a module of a package that an extra installs.

    Raises:
        MissingExtra: the package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise
        raise MissingExtra(package) from None


def require_extra(*packages: str) -> None:
    """Check whether packages are installed, without importing them.

    Raises:
        MissingExtra: some are not.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingExtra(*missing)


def missing_extra(error: ImportError) -> MissingExtra | None:
    """Return the missing extra that an error of another library's import is about; None if it is about no extra."""
    package = (error.name or "").partition(".")[0]
    return MissingExtra(package) if package in _EXTRAS else None
