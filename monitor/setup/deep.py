"""What `tablewatch config check` looks at beyond the files: questions that take seconds, so loading does not ask them.

Each deep check is a function from a loaded configuration to problems; add one to `DEEP_CHECKS`.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from monitor.config._load import Loaded
from monitor.config._model import Source
from monitor.frame.problem import Problem
from monitor.wiring import Project
from sources import SourceError, SourceSpec, open_source

NOT_CHECKED: Final = "config.not_checked"
"""The code of a problem that says that a question could not be asked."""

DeepCheck: TypeAlias = Callable[[Loaded], Iterator[Problem]]
_NOT_KNOWN_YET: Final = "ansi"
_SQL_ROUTES: Final = ("sqlite:", "postgres:", "postgresql:")


def deep_problems(loaded: Loaded) -> list[Problem]:
    """Give what all deep checks find."""
    return [problem for check in DEEP_CHECKS for problem in check(loaded)]


def expectations_exist(loaded: Loaded) -> Iterator[Problem]:
    """Ask Great Expectations whether each expectation exists, takes its arguments, and works on its kind of source."""
    places = [
        (("tables", at, "checks", index), check, loaded.config.sources[table.source])
        for at, table in enumerate(loaded.config.tables)
        for index, check in enumerate(table.checks)
        if getattr(check, "type", None) == "expectation"
    ]
    if not places:
        return
    from checks._gx import Declared, validate

    declared = [
        Declared(check.expectation, check.kwargs, "sql" if _has_sql_engine(source) else "frame")
        for _, check, source in places
    ]
    try:
        answers = validate(declared)
    except (ChildProcessError, TimeoutError) as error:
        yield Problem(NOT_CHECKED, f"Great Expectations could not be asked about the expectations: {error}")
        return
    for (path, _, _), answer in zip(places, answers, strict=True):
        if answer is not None:
            yield loaded.problem((*path, "expectation"), "config.expectation", answer)


def _has_sql_engine(source: Source) -> bool:
    return source.url is not None and source.url.startswith(_SQL_ROUTES)


def sql_can_be_read(loaded: Loaded) -> Iterator[Problem]:
    """Read the SQL that people wrote, as far as it can be read without asking a source for its tables."""
    project = Project(loaded)
    dialects = {name: _dialect(project.source_spec(name)) for name in {table.source for table in loaded.config.tables}}
    for at, table in enumerate(loaded.config.tables):
        dialect = dialects[table.source]
        for index, check in enumerate(table.checks if dialect != _NOT_KNOWN_YET else ()):
            for parameter, message in check.sql_errors(dialect).items():
                yield loaded.problem(("tables", at, "checks", index, parameter), "config.sql", message)


def _dialect(spec: SourceSpec) -> str:
    try:
        return open_source(spec).dialect
    except SourceError:  # its driver is missing, which a pass and `doctor` say
        return _NOT_KNOWN_YET


def channels_are_understood(loaded: Loaded) -> Iterator[Problem]:
    """Ask Apprise whether it knows the service that each address names, and can read the address; nothing is sent."""
    for name, channel in loaded.config.alerts.channels.items():
        if channel.apprise is not None and not _apprise_understands(channel.apprise):
            said = "Apprise does not understand this address; its documentation has the form of each service"
            yield loaded.problem(("alerts", "channels", name, "apprise"), "config.channel", said)


def _apprise_understands(url: str) -> bool:
    from monitor.alerts.apprise_door import understands

    return understands(url)


def signatures_have_a_key(loaded: Loaded) -> Iterator[Problem]:
    """Find checks that keep signatures in a store that has no file beside it for their key, where none is given."""
    storage = loaded.config.storage
    if storage.signature_key is not None or storage.url.startswith("sqlite:"):
        return
    for at, table in enumerate(loaded.config.tables):
        for index, check in enumerate(table.checks):
            if check.keeps:
                message = (
                    f"{table.name}.{check.name} keeps signatures of rows, and a store on PostgreSQL has no key for them"
                )
                hint = (
                    "set storage.signature_key to a long random text, the same for every daemon, from the environment "
                    "or a file: ${file:...}"
                )
                yield loaded.problem(("tables", at, "checks", index), "config.no_signature_key", message, hint)


def releases_fit(loaded: Loaded) -> Iterator[Problem]:
    """Read which columns the tables of releases have, and find remedies that could not be tried, and equal tables."""
    if loaded.config.releases or loaded.config.budgets:
        from monitor.releasing.fitting import unfit_releases

        yield from unfit_releases(loaded, NOT_CHECKED)


DEEP_CHECKS: Final[tuple[DeepCheck, ...]] = (
    signatures_have_a_key,
    sql_can_be_read,
    channels_are_understood,
    releases_fit,
    expectations_exist,
)
