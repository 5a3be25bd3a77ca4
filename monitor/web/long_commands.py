"""What takes long on pages runs in a worker process, and the request waits for its answer for a time.

So nothing heavy is computed in the process of the pages, and what hangs or crashes does so elsewhere. What takes longer
than a browser waits is ended, with the command to run instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from checks.gx.caller import Raised
from monitor.clock import SystemClock
from monitor.config import load
from monitor.config.project import Project
from monitor.doctor.diagnosis import examine
from monitor.doctor.finding import DoctorPage, Finding
from monitor.releases.columns import ReleaseColumns
from monitor.releases.compare import compare
from monitor.releases.plan import kinds_of, plans_of
from monitor.suggest.suggestion_json import suggestions_as_json
from monitor.suggest.targets import suggest_for_project
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop
from monitor.triage.errors import explained
from monitor.verbs.release import ReleaseName
from monitor.verbs.verb import Access, Nothing
from monitor.web.call import Call, WebRoute
from monitor.web.problems import WebError, of_stop
from monitor.web.rate_limit import RequestCost
from monitor.web.verb_routes import API
from monitor.web.views.releases import ReleaseComparisonPage, show_comparison
from monitor.web.views.shapes import not_there
from monitor.web.views.table import TableQuery
from monitor.workers import WorkerCalls

PATIENCE_S: Final = 55
"""Seconds that a request waits: less than most proxies do."""
_MOST_EVENTS: Final = 1_000
DECLINED: Final = "declined: "
"""How the note of the event begins that declines a suggestion; its id follows."""


class Suggestion(BaseModel):
    """A proposed check: why, how sure, what it finds now; `settings` in YAML, None if it holds values of the table."""

    id: str
    why: str
    confidence: str
    now: str | None
    settings: str | None


class SuggestionPage(BaseModel):
    """What is proposed for a table, and the ids of what was declined."""

    table: str
    problem: str | None
    suggestions: tuple[Suggestion, ...]
    declined: tuple[str, ...]


def run_beside(function: Callable[..., Any], call: Call, *arguments: str, command: str) -> Any:
    """Return what a function of this module returns in a worker process, for the configuration of these pages.

    Raises:
        WebError: it was refused, ended without an answer, or took too long (503, with the command to run instead).
    """
    hint = f"run 'tablewatch {command}'"
    try:
        with WorkerCalls() as calls:
            answer = calls.call(function, call.project.loaded.path, *arguments, deadline=timedelta(seconds=PATIENCE_S))
    except TimeoutError:
        message = f"this takes longer than {PATIENCE_S} s, for which a page waits"
        raise WebError(503, Problem("command.too_long", message, hint=hint)) from None
    except ChildProcessError:
        raise WebError(503, Problem("command.failed", "the process ended without an answer", hint=hint)) from None
    if isinstance(answer, Raised):
        raise WebError(503, Problem("command.failed", f"it could not be computed ({answer.classes[-1]})", hint=hint))
    if isinstance(answer, list) and answer and isinstance(answer[0], Problem):
        raise of_stop(Stop(ExitCode.USAGE, *answer))
    return answer


def find_problems(config: Path) -> Sequence[Finding]:
    """Return the findings of `doctor`; called in a worker."""
    return examine(Invocation(config), SystemClock().now())


def propose(config: Path, name: str) -> Sequence[Mapping[str, Any]]:
    """Return what `suggest` proposes for a table, without its values; called in a worker."""
    results = suggest_for_project(Project(load(config), SystemClock()), [name])
    return suggestions_as_json(results, show_values=False)


def try_remedies(config: Path, name: str) -> Sequence[Problem]:
    """Compare the remedies of a release and store the result; return the problems. Called in a worker."""
    project = Project(load(config), SystemClock())
    try:
        with project.open_store() as store, explained():
            case = ReleaseColumns.of(project, name)
            compared = compare(case, plans_of(case, kinds_of(case)), done=lambda: None)
            with store.writing() as tx:
                tx.release_events.put_comparison(compared.to_store(case, project.clock.now()))
    except Stop as stop:
        return list(stop.problems)
    return []


def diagnose(call: Call) -> DoctorPage:
    """Return the findings of `doctor`; files are named without the folder of the configuration."""
    folder = f"{call.project.loaded.path.parent}/"
    findings: Sequence[Finding] = run_beside(find_problems, call, command="doctor")
    shown = [replace(item, message=call.project.loaded.redactor(item.message.replace(folder, ""))) for item in findings]
    return DoctorPage.of(shown)


def suggest(call: Call) -> SuggestionPage:
    """Return what `suggest` proposes for a table, without its values.

    Raises:
        WebError: as of `run_beside`.
    """
    name = call.query.name
    if call.project.config.table(name) is None:
        raise not_there("table.unknown", "there is no such table in the configuration")
    call.check_may_act(name)
    (table,) = run_beside(propose, call, name, command=f"suggest {name}")
    with call.store.reading() as tx:
        notes = [event.note for event in tx.logged_events.between(None, None, most=_MOST_EVENTS) if event.table == name]
    return SuggestionPage(
        table=name,
        problem=table["problem"],
        suggestions=tuple(_suggestion(item) for item in table["proposals"] if item["id"] is not None),
        declined=tuple(note.removeprefix(DECLINED) for note in notes if note.startswith(DECLINED)),
    )


def _suggestion(item: Mapping[str, Any]) -> Suggestion:
    dumped = yaml.safe_dump({"checks": [{"id": item["id"], **item["check"]}]}, allow_unicode=True, sort_keys=False)
    return Suggestion(
        id=item["id"],
        why=item["why"],
        confidence=item["confidence"],
        now=None if item["now"] is None else f"{item['now']['status']}: {item['now']['message']}",
        settings=None if item["hidden"] else dumped,
    )


def compare_remedies(call: Call) -> ReleaseComparisonPage:
    """Compare the remedies of a release as `release compare` does, and return what is stored of it.

    Raises:
        WebError: as of `run_beside`.
    """
    name = call.query.name
    if name not in call.project.config.releases:
        raise not_there("release.unknown", "there is no such release in the configuration")
    run_beside(try_remedies, call, name, command=f"release compare {name}")
    with call.store.reading() as tx:
        return show_comparison(call.project, tx, call.query, call.now)


def _by_form(call: Call) -> Response:
    compare_remedies(call)
    return RedirectResponse("comparison", 303)


def long_routes() -> Iterator[WebRoute]:
    """Yield the routes of what takes long, each as a page and in the API."""
    doctor = WebRoute(
        "GET",
        "/doctor",
        Access.ADMINISTER,
        diagnose,
        "Diagnose the installation, the configuration, the store and the sources",
        template="doctor",
        reply=DoctorPage,
        load=RequestCost.OTHER_SYSTEM,
    )
    yield from _both(doctor)
    proposals = replace(
        doctor,
        method="POST",
        path="/tables/{name:path}/suggestions",
        handle=suggest,
        summary="Suggest checks for a table: it is read, and nothing is written",
        template="suggestions",
        reply=SuggestionPage,
        query=TableQuery,
        body=Nothing,
    )
    yield from _both(proposals)
    compared = replace(
        proposals,
        path="/releases/{name}/compare",
        access=Access.RELEASE,
        handle=compare_remedies,
        summary="Compare the remedies of a release; the table is read, and nothing leaves",
        template=None,
        reply=ReleaseComparisonPage,
        query=ReleaseName,
    )
    yield replace(compared, handle=_by_form, reply=None)
    yield replace(compared, path=f"{API}{compared.path}")


def _both(page: WebRoute) -> Sequence[WebRoute]:
    shown = page if page.method == "GET" else replace(page, reply=None)
    return shown, replace(page, path=f"{API}{page.path}", template=None)
