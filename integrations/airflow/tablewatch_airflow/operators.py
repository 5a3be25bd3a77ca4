"""Tasks: run checks, and stop at a release that must not leave."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from urllib.parse import quote

from airflow.sdk import BaseOperator, BaseOperatorLink, conf
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferralTimeout

from tablewatch_airflow.errors import ChecksFailed, ChecksNotEvaluated, NotAnswered, Refused, ReleaseOnHold
from tablewatch_airflow.hook import TablewatchHook, page_address
from tablewatch_airflow.program import TablewatchProgram
from tablewatch_airflow.triggers import TablewatchRunTrigger
from tablewatch_airflow.verdict import SEVERITIES, CheckRun, CheckStatus, names_of, read_document, read_page

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.types import TaskInstanceKey

XCOM_KEY = "tablewatch"
_ON_UNKNOWN = ("fail", "skip", "allow")
_ON_HOLD = ("fail", "skip")


class IncidentLink(BaseOperatorLink):
    """The button that opens the first incident of a task's checks."""

    name = "Tablewatch incident"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return its address; empty without an incident, or without web pages.

        Airflow asks in the process that ran the task, and keeps the answer.
        """
        del ti_key  # Airflow passes it by this name
        return getattr(operator, "incident_url", None) or ""


class TablewatchCheckOperator(BaseOperator):
    """Runs checks, and fails if one fails.

    Over HTTP, the tables are made due and a daemon (`tablewatch run`) checks them; `deferrable` frees the worker while
    it waits. With `program`, the path of the command `tablewatch` in an environment of its own, this task runs it
    with the configuration in `config`; it needs neither daemon nor web pages.

    The XCom `tablewatch`, pushed also where the task fails, holds names of tables and checks, counts, and incidents
    with their links; no data.

    Args:
        selector: names of tables, or `domain:`, `owner:` and `tier:`; all that `tablewatch check` takes with `program`.
        tablewatch_conn_id: the connection, not used with `program`.
        program: path of the command.
        config: configuration file or folder of the command.
        fail_on: lowest severity of a failed check that fails the task: info, warning, error or critical.
        on_unknown: what a check that could not be evaluated does to the task: `fail`, `skip` or `allow`.
        timeout: how long to wait for the results.
        poll_interval: seconds between two looks, over HTTP.
        deferrable: wait in the triggerer; not with `program`.
    """

    template_fields: Sequence[str] = ("selector", "config")
    operator_extra_links = (IncidentLink(),)
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        selector: str | Sequence[str],
        tablewatch_conn_id: str = TablewatchHook.default_conn_name,
        program: str | None = None,
        config: str | None = None,
        fail_on: str = "info",
        on_unknown: Literal["fail", "skip", "allow"] = "fail",
        timeout: timedelta = timedelta(minutes=10),
        poll_interval: float = 5.0,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _check_word("fail_on", fail_on, SEVERITIES)
        _check_word("on_unknown", on_unknown, _ON_UNKNOWN)
        if config is not None and program is None:
            raise ValueError("'config' belongs to 'program'; over HTTP, Tablewatch has its own configuration")
        self.selector = selector
        self.tablewatch_conn_id = tablewatch_conn_id
        self.program = program
        self.config = config
        self.fail_on = fail_on
        self.on_unknown = on_unknown
        self.timeout = timeout
        self.poll_interval = poll_interval
        self.deferrable = deferrable
        self.incident_url: str | None = None
        self._running: TablewatchProgram | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the checks, and wait for their results.

        Raises:
            AirflowSkipException: a check was not evaluated, with `on_unknown="skip"`.
            ChecksFailed: a check failed.
            ChecksNotEvaluated: a check was not evaluated, with `on_unknown="fail"`.
            NotAnswered: there is no answer, or no result in time.
            Refused: Tablewatch refuses the request.
        """
        words = [self.selector] if isinstance(self.selector, str) else list(self.selector)
        if not words:
            raise Refused("'selector' is empty; name the tables whose checks are to run")
        if self.program is not None:
            self._running = TablewatchProgram(self.program, self.config)
            document = self._running.ask(("check",), words, timeout_s=self.timeout.total_seconds())
            return self._conclude(context, read_document(document), None)
        hook = TablewatchHook(self.tablewatch_conn_id)
        requested = hook.request_runs(hook.tables_of(words))
        self.log.info("checks of %s were requested", ", ".join(requested))
        if self.deferrable:
            self.defer(
                trigger=TablewatchRunTrigger(self.tablewatch_conn_id, requested, self.poll_interval),
                method_name=self.resume.__name__,
                timeout=self.timeout,
            )
        return self._conclude(context, self._wait(hook, requested), hook.browser_address)

    def resume(self, context: Context, event: Mapping[str, Any]) -> dict[str, Any]:
        """Read the results after the trigger, by its event.

        Raises:
            ChecksFailed: and others, as `execute`.
        """
        if event["refused"] is not None:
            raise Refused(event["refused"])
        hook = TablewatchHook(self.tablewatch_conn_id)
        run = _results(hook, event["requested"])
        if run is None:
            raise NotAnswered("the results that the trigger saw are gone; was the store of Tablewatch replaced?")
        return self._conclude(context, run, hook.browser_address)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Resume; a deferral that took too long fails with our message."""
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except TaskDeferralTimeout:
            self._give_up()

    def on_kill(self) -> None:
        """End the command when the task is ended."""
        if self._running is not None:
            self._running.stop()

    def _wait(self, hook: TablewatchHook, requested: Mapping[str, str]) -> CheckRun:
        give_up = time.monotonic() + self.timeout.total_seconds()
        while (run := _results(hook, requested)) is None:
            if time.monotonic() >= give_up:
                self._give_up()
            time.sleep(self.poll_interval)
        return run

    def _give_up(self) -> NoReturn:
        limit = f"{self.timeout.total_seconds():g} s"
        raise NotAnswered(f"no daemon recorded results within {limit}; is 'tablewatch run' running?") from None

    def _conclude(self, context: Context, run: CheckRun, address: str | None) -> dict[str, Any]:
        """Push the XCom, then decide."""
        value = run.as_xcom(self.fail_on, address)
        context["ti"].xcom_push(key=XCOM_KEY, value=value)
        self.incident_url = next((item["url"] for item in value["incidents"]), None)
        failed, not_evaluated = run.failed(self.fail_on), run.not_evaluated
        links = [item["url"] or f"incident #{item['id']}" for item in value["incidents"]]
        if failed:
            text = f"{len(failed)} of {len(run.checks)} checks failed: {names_of(failed)}"
            raise ChecksFailed("; ".join([text, *links[:10]]))
        if not_evaluated or not run.checks:
            self._react_to_unknown(not_evaluated)
        return value

    def _react_to_unknown(self, checks: Sequence[CheckStatus]) -> None:
        text = f"could not be evaluated: {names_of(checks)}" if checks else "nothing was checked"
        if self.on_unknown == "fail":
            raise ChecksNotEvaluated(text)
        if self.on_unknown == "skip":
            raise AirflowSkipException(text)
        self.log.warning("allowed by on_unknown: %s", text)


class TablewatchReleaseGate(BaseOperator):
    """Stops what comes after it unless a release is approved.

    Args:
        release: its name.
        tablewatch_conn_id: the connection, not used with `program`.
        program: path of the command `tablewatch` in an environment of its own.
        config: configuration file or folder of the command.
        require_approval: False also lets pass what is `clear`: nothing holds it, and it was not approved.
        on_hold: `fail`, or `skip` this task and what depends on it.
    """

    template_fields: Sequence[str] = ("release", "config")
    ui_color = "#fdecea"

    def __init__(
        self,
        *,
        release: str,
        tablewatch_conn_id: str = TablewatchHook.default_conn_name,
        program: str | None = None,
        config: str | None = None,
        require_approval: bool = True,
        on_hold: Literal["fail", "skip"] = "fail",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        _check_word("on_hold", on_hold, _ON_HOLD)
        self.release = release
        self.tablewatch_conn_id = tablewatch_conn_id
        self.program = program
        self.config = config
        self.require_approval = require_approval
        self.on_hold = on_hold

    def execute(self, context: Context) -> dict[str, Any]:
        """Return how the release stands, if it may leave.

        Raises:
            AirflowSkipException: it may not, with `on_hold="skip"`.
            NotAnswered: there is no answer.
            Refused: there is no such release.
            ReleaseOnHold: it may not leave.
        """
        standing, address = self._standing()
        value = {
            "release": self.release,
            "state": standing["state"],
            "held_by": [item["check_id"] or item["reason"] for item in standing["held_by"]],
            "url": None if address is None else f"{address}/releases/{quote(self.release, safe='')}",
        }
        context["ti"].xcom_push(key=XCOM_KEY, value=value)
        if standing["state"] in ({"approved"} if self.require_approval else {"approved", "clear"}):
            return value
        wanted = "approved" if self.require_approval else "approved or clear"
        reasons = f" ({', '.join(value['held_by'])})" if value["held_by"] else ""
        text = f"release {self.release} is {value['state']}{reasons}, not {wanted}; {value['url'] or ''}".rstrip("; ")
        raise (AirflowSkipException if self.on_hold == "skip" else ReleaseOnHold)(text)

    def _standing(self) -> tuple[Mapping[str, Any], str | None]:
        if self.program is None:
            hook = TablewatchHook(self.tablewatch_conn_id)
            listed, address = hook.get("/releases"), hook.browser_address
        else:
            listed, address = TablewatchProgram(self.program, self.config).ask(("release", "list"), timeout_s=300), None
        standing = next((item for item in listed["releases"] if item["release"] == self.release), None)
        if standing is None:
            raise Refused(f"Tablewatch has no release {self.release!r}")
        return standing, address


def _results(hook: TablewatchHook, requested: Mapping[str, str]) -> CheckRun | None:
    """Return the results of all requested tables; None while one is missing."""
    checks: list[CheckStatus] = []
    for table, since in requested.items():
        lines = read_page(hook.get(page_address(table)), datetime.fromisoformat(since))
        if lines is None:
            return None
        checks += lines
    return CheckRun(checks)


def _check_word(name: str, word: str, words: Sequence[str]) -> None:
    if word not in words:
        raise ValueError(f"{name}={word!r}: expected one of {', '.join(words)}")
