"""Checks of `tablewatch config check` beyond the files; they take seconds, so loading does not run them.

Each deep check is a function from a loaded configuration to problems; add one to `DEEP_CHECKS`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from monitor.config.load import Loaded
from monitor.config.model import Config, Source
from monitor.config.people import people_tables
from monitor.config.project import Project
from monitor.config.yaml_nodes import entries, find_node, plain_data
from monitor.doctor.config_rules import invalid_rules
from monitor.terminal.problem import Problem
from sources import MissingExtra, dialect_of

NOT_CHECKED: Final = "config.not_checked"
"""The code of a problem: a check of the configuration could not run."""

DeepCheck: TypeAlias = Callable[[Loaded], Iterator[Problem]]
_GENERIC_DIALECT: Final = "ansi"
_SQL_ROUTES: Final = ("sqlite:", "postgres:", "postgresql:")


def deep_problems(loaded: Loaded) -> list[Problem]:
    """Return the problems of all deep checks."""
    return [problem for check in DEEP_CHECKS for problem in check(loaded)]


def invalid_expectations(loaded: Loaded) -> Iterator[Problem]:
    """Check with Great Expectations that each expectation exists, takes its arguments, and supports its source."""
    places = [
        (("tables", at, "checks", index), check, loaded.config.sources[table.source])
        for at, table in enumerate(loaded.config.tables)
        for index, check in enumerate(table.checks)
        if getattr(check, "type", None) == "expectation"
    ]
    if not places:
        return
    from checks.gx.caller import PRELOAD
    from checks.gx.worker_door import DeclaredExpectation, validate
    from monitor.workers import WorkerCalls

    declared = [
        DeclaredExpectation(check.expectation, check.kwargs, "sql" if _has_sql_engine(source) else "frame")
        for _, check, source in places
    ]
    try:
        with WorkerCalls(PRELOAD) as caller:
            answers = validate(declared, caller)
    except (ChildProcessError, MissingExtra, TimeoutError) as error:
        yield Problem(NOT_CHECKED, f"the expectations could not be validated with Great Expectations: {error}")
        return
    for (path, _, _), answer in zip(places, answers, strict=True):
        if answer is not None:
            yield loaded.problem((*path, "expectation"), "config.expectation", answer)


def _has_sql_engine(source: Source) -> bool:
    return source.url is not None and source.url.startswith(_SQL_ROUTES)


def invalid_sql(loaded: Loaded) -> Iterator[Problem]:
    """Parse the SQL of checks, as far as that needs no schema of a source."""
    project = Project(loaded)
    dialects = {
        name: dialect_of(project.source_spec(name)) for name in {table.source for table in loaded.config.tables}
    }
    for at, table in enumerate(loaded.config.tables):
        dialect = dialects[table.source]
        for index, check in enumerate(table.checks if dialect != _GENERIC_DIALECT else ()):
            for parameter, message in check.sql_errors(dialect).items():
                yield loaded.problem(("tables", at, "checks", index, parameter), "config.sql", message)


def invalid_channels(loaded: Loaded) -> Iterator[Problem]:
    """Check the settings of each channel, without sending anything."""
    for name, channel in loaded.config.alerts.channels.items():
        text = channel.kind.problem(channel.settings)
        if text is not None:
            yield loaded.problem(("alerts", "channels", name, channel.kind.name), "config.channel", text)


def missing_signature_keys(loaded: Loaded) -> Iterator[Problem]:
    """Yield checks that store signatures on PostgreSQL, where no signature key is configured."""
    storage = loaded.config.storage
    if storage.signature_key is not None or storage.url.startswith("sqlite:"):
        return
    for at, table in enumerate(loaded.config.tables):
        for index, check in enumerate(table.checks):
            if check.keeps:
                message = (
                    f"{table.name}.{check.name} stores signatures of rows or segments, which needs a signature key on "
                    "PostgreSQL"
                )
                hint = (
                    "set storage.signature_key to a long random text, the same for every daemon, from the environment "
                    "or a file: ${file:...}"
                )
                yield loaded.problem(("tables", at, "checks", index), "config.no_signature_key", message, hint)


def invalid_releases(loaded: Loaded) -> Iterator[Problem]:
    """Check releases and budgets against the columns of their tables: unusable remedies, and equal tables."""
    if loaded.config.releases or loaded.config.budgets:
        from monitor.releases.fitting import unfit_releases

        yield from unfit_releases(loaded, NOT_CHECKED)


def unchecked_tables(config: Config) -> Iterator[Problem]:
    """Yield tables without checks."""
    names = [table.name for table in config.tables if not table.checks]
    if not names:
        return
    hint = "add some under 'checks' of the table"
    if len(names) == len(config.tables):
        yield Problem("config.no_checks", "no table has a check, so nothing is monitored", hint=hint)
        return
    text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    has = "has" if len(names) == 1 else "have"
    yield Problem("config.no_checks", f"{text} {has} no checks, so they are not monitored", hint=hint)


def withheld_values(loaded: Loaded) -> Iterator[Problem]:
    """Yield a note for each table of people with checks that show no value of few people."""
    people = people_tables(loaded.config)
    for at, table in enumerate(loaded.config.tables):
        of_people = people.get(table.name)
        if of_people is None:
            continue
        checks = [check.name for check in table.checks if of_people.protects(check.value_column)]
        if checks:
            message = (
                f"table '{table.name}' is of people: no value of fewer than {of_people.k} rows is shown, nor a sum or "
                f"mean whose rows differ from those of the last shown one by fewer; checks: {', '.join(checks)}"
            )
            hint = "classify columns that say nothing of people as other"
            yield loaded.problem(("tables", at), "config.few_people", message, hint)


def missing_runbooks(loaded: Loaded) -> Iterator[Problem]:
    """Yield runbooks that name a missing Markdown file, or one outside the folder of the configuration."""
    project = Project(loaded)
    for at, table in enumerate(loaded.config.tables):
        for index, check in enumerate(table.checks):
            words = project.runbook(check)
            if words is not None and words.endswith(".md") and not any(sign in words for sign in (" ", "\n", "://")):
                yield loaded.problem(
                    ("tables", at, "checks", index, "runbook"),
                    "config.runbook",
                    f"{words} cannot be read, so incidents show its name only",
                    "name a file in the folder of the configuration, by its path from there",
                )


def ambiguous_domains(loaded: Loaded) -> Iterator[Problem]:
    """Yield domains of two numbers, which are ambiguous: all values, or limits."""
    for table in loaded.config.budgets:
        yield from ambiguous_values(loaded, ("budgets", table, "domain"))
    for name, release in loaded.config.releases.items():
        for index in range(len(release.remedies)):
            yield from ambiguous_values(loaded, ("releases", name, "remedies", index, "domain"))


def ambiguous_values(loaded: Loaded, path: Sequence[str | int]) -> Iterator[Problem]:
    """Yield a problem for each column that is declared as a list of two numbers that do not follow each other.

    Only the configuration is read: neither the type of the column nor its values tell what was meant. `path`: of the
    mapping from columns to domains.
    """
    node, taken = find_node(loaded.tree, path)
    for column, declared in entries(node).items() if len(taken) == len(path) else ():
        values = plain_data(declared)
        numbers = isinstance(values, list) and [
            value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        if not numbers or len(numbers) != 2 or len(values) != 2 or abs(numbers[1] - numbers[0]) <= 1:
            continue
        low, high = sorted(numbers)
        message = f"domain of '{column}': [{numbers[0]}, {numbers[1]}] is ambiguous: all values, or limits?"
        whole = isinstance(low, int) and isinstance(high, int)
        cells = f"; its whole numbers from {low} to {high}, to count by: {{range: [{low}, {high}]}}" if whole else ""
        limits = f"; its limits, to sum and average within: {{low: {low}, high: {high}}}"
        hint = f"write, for these two values only: {{values: [{numbers[0]}, {numbers[1]}]}}{cells}{limits}"
        yield loaded.problem((*path, column), "config.unclear_domain", message, hint)


DEEP_CHECKS: Final[tuple[DeepCheck, ...]] = (
    missing_signature_keys,
    invalid_sql,
    invalid_channels,
    invalid_releases,
    ambiguous_domains,
    invalid_rules,
    invalid_expectations,
)
