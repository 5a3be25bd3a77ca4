"""A configured project: its checks, from Python."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablewatch._check import severity_of, shared_caller
from tablewatch._errors import InvalidInput, NotAvailable
from tablewatch._report import Report, report_of

if TYPE_CHECKING:
    from monitor.config.project import Project


def load(config: str | PathLike[str] | None = None) -> "TablewatchProject":
    """Load a configuration, a file or a folder; by default the one in the working folder.

    Raises:
        InvalidInput: it is missing or wrong; the message has every problem, with its line.
    """
    from monitor.config import ConfigError, find
    from monitor.config import load as load_config
    from monitor.config.project import Project

    try:
        return TablewatchProject(Project(load_config(find(Path.cwd()) if config is None else Path(config))))
    except ConfigError as error:
        raise InvalidInput(error.problems, error.redactor) from None


class TablewatchProject:
    """A loaded configuration."""

    def __init__(self, project: "Project") -> None:
        self._project = project

    @property
    def name(self) -> str:
        """The project's name."""
        return self._project.config.project

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the configured tables."""
        return tuple(table.name for table in self._project.config.tables)

    def check(self, *selectors: str, record: bool = True, fail_on: str = "info") -> Report:
        """Run checks now, as `tablewatch check` does: `check("orders")`, `check("domain:sales", "!type:freshness")`.

        Args:
            selectors: Tables and checks; all of them without any.
            record: Whether results are stored and incidents opened and resolved. Without it nothing is stored, and
                checks that need history are unknown.
            fail_on: Minimum severity of a failure that makes the report not ok.

        Raises:
            InvalidInput: a selector chooses nothing.
            NotAvailable: the store cannot be opened.
        """
        from contextlib import nullcontext

        from monitor.config.selector import select
        from monitor.scan.results import targets_of
        from monitor.scan.run import run_checks

        severity = severity_of(fail_on)
        with self._explained():
            selection = select(selectors, self._project.config)
            with self._project.open_store() if record else nullcontext() as store:
                result = run_checks(self._project, selection, store=store, fail_on=severity, caller=shared_caller())
        return report_of(result, self._project.loaded.redactor, targets_of(self._project, selection.tables))

    def incidents(self, *states: str, tables: tuple[str, ...] = (), limit: int = 50) -> list[dict[str, Any]]:
        """Return incidents, newest first, as `incidents` of `tablewatch.incidents/1`; open and acknowledged ones.

        Args:
            states: `open`, `acknowledged`, `resolved`.
            tables: Of these tables only.
            limit: The most incidents.

        Raises:
            NotAvailable: the store cannot be opened.
        """
        from incidents import State
        from monitor.summaries.incident import summaries_of
        from monitor.terminal.problem import Problem
        from store import IncidentFilter

        unknown = sorted(set(states) - set(State))
        if unknown:
            message = f"'{unknown[0]}' is not a state; expected one of {', '.join(State)}"
            raise InvalidInput([Problem("usage", message, "states")])
        wanted = tuple(State(state) for state in states or ("open", "acknowledged"))
        with self._explained(), self._project.open_store(existing=True) as store, store.reading() as tx:
            incidents = tx.incidents.matching(IncidentFilter(states=wanted, tables=tables, limit=limit))
        redact = self._project.loaded.redactor
        return [redact.value(item.model_dump(mode="json")) for item in summaries_of(self._project, incidents)]

    def audit(self) -> dict[str, Any]:
        """Return how often printed probabilities, bounds and rates came true, as `tablewatch.audit/1`.

        Raises:
            NotAvailable: the store cannot be opened.
        """
        from monitor.summaries.audit import audit_promises

        with self._explained(), self._project.open_store(existing=True) as store, store.reading() as tx:
            return audit_promises(self._project, tx, self._project.clock.now()).plain()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise the errors of the public API in place of the product's own."""
        from monitor.terminal.problem import ExitCode, Problem, Stop
        from store import StoreError

        try:
            yield
        except Stop as stop:
            kind = NotAvailable if stop.code is ExitCode.NOT_EVALUATED else InvalidInput
            raise kind(stop.problems, self._project.loaded.redactor) from None
        except StoreError as error:
            raise NotAvailable([Problem("store", str(error))], self._project.loaded.redactor) from None
