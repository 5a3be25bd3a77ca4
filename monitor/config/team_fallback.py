"""Load a configuration although the files of some teams are broken: those teams keep what they had, all others go on.

A command refuses a configuration with any error; a daemon that did so could be stopped, or kept from every change, by
whichever team saves a broken file. What no team wrote must be right, for a daemon as well. An error of Tablewatch that
a configuration provokes is an error of the configuration here: it is reported as a bug, and the daemon goes on.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from monitor.config._errors import ConfigError, TeamTexts
from monitor.config._files import ConfigFiles, find
from monitor.config.load import Loaded, load
from monitor.terminal.internal_error import error_places, write_report
from monitor.terminal.output import Invocation
from monitor.terminal.problem import ExitCode, Problem, Stop

Use: TypeAlias = Callable[[Loaded], object]
"""Does what the caller will do with a configuration, as far as nothing is changed by it."""
_Load: TypeAlias = Callable[[Mapping[str, TeamTexts]], Loaded]


def bug_in(error: Exception, *, doing: str) -> Problem:
    """Report an internal error, and return the problem that names it and its report."""
    report = write_report(error)
    message = f"internal error ({type(error).__name__}) while it was {doing}; a report without values is in {report}"
    return Problem("config.bug", message, hint="please attach that file to an issue")


def _guarded(path: Path, environment: Mapping[str, str] | None, use: Use) -> _Load:
    """Return the function that loads and tries a configuration; each bug is reported once."""
    bugs: dict[tuple[str, ...], Problem] = {}

    def try_out(team_texts: Mapping[str, TeamTexts]) -> Loaded:
        files = ConfigFiles()
        try:
            loaded = load(path, environment=environment, team_texts=team_texts, files=files)
            use(loaded)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - the reload of a configuration: an error of ours must not end it
            places = tuple(error_places(error))
            if places not in bugs:
                bugs[places] = bug_in(error, doing="read")
            unread = {team.name: TeamTexts({str(team.folder): None}) for team in files.teams}
            raise ConfigError([bugs[places]], of_teams=unread | files.of_teams) from None
        return loaded

    return try_out


def load_apart(
    path: Path,
    before: Loaded | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    use: Use = lambda _: None,
) -> Loaded:
    """Load a configuration; each team whose files have errors keeps those of `before`, or is left out.

    `Loaded.apart` says which, and why. Teams without errors are taken as their files are, unless the whole would have
    an error by that, such as a reference to a table that a team renames: then that team keeps its files too.

    An exception of `use` is an error of the configuration too.

    Raises:
        ConfigError: the fault is no team's.
    """
    try_out = _guarded(path, environment, use)
    try:
        return try_out({})
    except ConfigError as error:
        whole = error
    last = {team: texts for team in whole.of_teams if (texts := _changed(before, whole, team)) is not None}
    reasons = {team: whole.summary(team) for team in last}
    for teams in _attempts(whole, last):
        team_texts: Mapping[str, TeamTexts] = {team: last[team] for team in teams}
        try:
            try_out(team_texts)
        except ConfigError as error:
            if len(team_texts) < len(last) or _shared(whole) & _shared(error):
                continue
        team_texts = _fewest(try_out, team_texts, reasons)
        try:
            loaded = try_out(team_texts)
        except ConfigError:
            continue
        why = {team: reasons[team] for team in team_texts}
        return replace(loaded, apart=why, left_out=frozenset(team for team in team_texts if not last[team].files))
    raise whole


def _changed(before: Loaded | None, whole: ConfigError, team: str) -> TeamTexts | None:
    """Return what the files of a team said before; None if they say the same now, so that keeping them is no change."""
    if before is None:
        return TeamTexts()
    texts = before.texts.of_teams.get(team, TeamTexts())
    as_before = texts == whole.of_teams[team] and not any(
        problem.team == team and problem.code == "config.team_folder" for problem in whole.problems
    )
    return None if as_before and texts.files else texts


def _shared(error: ConfigError) -> set[Problem]:
    """Return the problems that are in no team's file.

    One that is there with all files of teams as they are, and with all as they were, is there with any mix of them.
    """
    return {problem for problem in error.problems if problem.team is None}


def _attempts(whole: ConfigError, changed: Collection[str]) -> Iterator[Collection[str]]:
    """Yield which teams may keep their files: those with errors, if nothing else has any, then all that changed."""
    broken = {problem.team for problem in whole.problems}
    some = [team for team in changed if team in broken]
    if None not in broken and some:
        yield some
    if changed:
        yield list(changed)


def _fewest(try_out: _Load, team_texts: Mapping[str, TeamTexts], reasons: dict[str, str]) -> Mapping[str, TeamTexts]:
    """Return as few of some teams as must keep their files for the whole to be valid, and note why they must.

    A team of which another one has a table is not broken because that other one is.
    """
    progress = True
    while team_texts and progress:
        progress = False
        for team in list(team_texts):
            attempt = {other: texts for other, texts in team_texts.items() if other != team}
            try:
                try_out(attempt)
            except ConfigError as error:
                reasons[team] = error.summary(team)
            else:
                team_texts, progress = attempt, True
    return team_texts


def load_apart_for(invocation: Invocation, use: Use = lambda _: None) -> Loaded:
    """Load the configuration of a long-running command, without the teams whose files are broken; see `load_apart`.

    Raises:
        Stop: there is none, or it has errors that are no team's.
    """
    try:
        loaded = load_apart(invocation.config_path or find(Path.cwd()), use=use)
    except ConfigError as error:
        invocation.redactor = error.redactor
        raise Stop(ExitCode.USAGE, *error.problems) from None
    invocation.redactor = loaded.redactor
    return loaded
