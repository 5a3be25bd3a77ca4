"""Compare the configuration with its own `rules`: every gold table has an owner and a freshness check, and so on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checks import Status, did_you_mean, format_duration, load_catalog
from monitor.config import Config, Loaded, Table
from monitor.config.rules_model import Rule
from monitor.config.selector import select
from monitor.terminal.problem import ExitCode, Problem, Stop


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of a rule: the number of tables, and where it is broken.

    `unknown`: it matches no table.
    """

    name: str
    status: Status
    tables: int
    problems: tuple[Problem, ...]
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it in the published shape `tablewatch.config-test/1`."""
        return {
            "rule": self.name,
            "status": self.status.value,
            "tables": self.tables,
            "problems": [problem.as_json() for problem in self.problems],
            "reason": self.reason,
        }


def rule_results(loaded: Loaded) -> list[RuleResult]:
    """Return the result of each rule, in the order of the configuration.

    Raises:
        Stop: a selector of a rule is invalid.
    """
    return [_result(loaded, name, rule) for name, rule in loaded.config.rules.items()]


def invalid_rules(loaded: Loaded) -> Iterator[Problem]:
    """Yield rules with an unknown field in a selector, or an unknown type of check."""
    for name, rule in loaded.config.rules.items():
        try:
            _chosen(loaded.config, rule)
        except Stop as stop:
            for problem in stop.problems:
                yield loaded.problem(("rules", name, "tables"), problem.code, problem.message, problem.hint)
        types = sorted(load_catalog())
        for key, words in (("checks", _types(rule.checks)), ("forbid", rule.forbid)):
            for word in words:
                if word not in types:
                    text = f"unknown type of check '{word}'{did_you_mean(word, types)}"
                    yield loaded.problem(("rules", name, key), "config.rule_type", text)


def _types(words: Sequence[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(" or ")]


def _chosen(config: Config, rule: Rule) -> Sequence[str]:
    try:
        return list(select(rule.tables, config).tables)
    except Stop as stop:
        if stop.code is ExitCode.NOTHING_SELECTED:
            return []
        raise


def _result(loaded: Loaded, name: str, rule: Rule) -> RuleResult:
    chosen = _chosen(loaded.config, rule)
    places = {table.name: at for at, table in enumerate(loaded.config.tables)}
    problems = tuple(
        loaded.problem(("tables", places[table], *path), "config.rule", f"{table}: {message} ({name})", rule.reason)
        for table in chosen
        for path, message in _violations(loaded.config, rule, loaded.config.tables[places[table]])
    )
    status = Status.UNKNOWN if not chosen else Status.FAIL if problems else Status.PASS
    return RuleResult(name, status, len(chosen), problems, rule.reason)


def _violations(config: Config, rule: Rule, table: Table) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path within a table and the message for each violation of a rule."""
    yield from (((), f"no {entry}") for entry in rule.require if not _states(config, table, entry))
    types = [check.type for check in table.checks]
    for required in rule.checks:
        if not set(_types([required])) & set(types):
            yield (), f"no check of type {required}"
    for at, check in enumerate(table.checks):
        if check.type in rule.forbid:
            yield ("checks", at), f"check {check.name} is of type {check.type}, which is forbidden"
        missing = [word for word in rule.of_checks if not getattr(check, word)]
        yield from ((("checks", at), f"check {check.name} has no {word}") for word in missing)
    if rule.at_least_every is not None:
        period = None if table.schedule is None else table.schedule.longest_period()
        if period is None:
            yield (), f"no schedule, expected a run at least every {format_duration(rule.at_least_every)}"
        elif period > rule.at_least_every:
            longest = f"up to {format_duration(period)} between two runs"
            yield ("schedule",), f"{longest}, expected at most {format_duration(rule.at_least_every)}"


def _states(config: Config, table: Table, entry: str) -> bool:
    if entry == "owner":
        return config.owner_of(table) is not None
    if entry == "contract":
        from monitor.config.promised import promised_contracts

        return any(promised_contracts(config, table.name))
    return bool(getattr(table, entry))
