"""`tablewatch config show --origins`: which file and team each value is of."""

from tests.monitor.commands.terminal import CONFIG, Terminal

_TEAMS = "teams: {web: {folder: web, tables: ['web.*'], sources: [shop], variables: [NOTE]}}\n"
_TABLE = """\
tables:
  - name: web.visits
    source: shop
    description: ${NOTE}
    checks: [{type: not_null, columns: [id]}]
"""


def _write(terminal: Terminal) -> None:
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG + _TEAMS, encoding="utf-8")
    (terminal.folder / "web").mkdir()
    (terminal.folder / "web" / "a.yaml").write_text(_TABLE, encoding="utf-8")


def test_each_value_is_shown_with_its_place_and_team(terminal: Terminal, monkeypatch) -> None:
    """As text and as JSON; what came from the environment stays masked until it is revealed."""
    monkeypatch.setenv("NOTE", "not for all users")
    _write(terminal)
    said = terminal("config", "show", "--origins")
    assert said.code == 0
    assert said.out.splitlines()[:2] == ["version: 1", "    tablewatch.yaml:1:10"]
    assert 'tables.web.visits.checks.not-null.columns: ["id"]\n    web/a.yaml:5:40 (team web)\n' in said.out
    origins = terminal("config", "show", "--origins", "--format", "json").json
    assert origins["schema"] == "tablewatch.config-origins/1"
    note = next(origin for origin in origins["origins"] if origin["path"] == "tables.web.visits.description")
    assert note == {**note, "value": "***", "file": "web/a.yaml", "line": 4, "team": "web"}
    assert "not for all users" in terminal("config", "show", "--origins", "--reveal").out


def test_every_value_of_the_configuration_has_one_origin(terminal: Terminal, monkeypatch) -> None:
    """What is shown with origins is what is shown without."""
    monkeypatch.setenv("NOTE", "not for all users")
    _write(terminal)
    whole = terminal("config", "show", "--format", "json").json["config"]
    origins = terminal("config", "show", "--origins", "--format", "json").json["origins"]
    assert len({origin["path"] for origin in origins}) == len(origins)
    assert sum(1 for _ in _leaves(whole)) == len(origins)


def test_defaults_stand_in_no_file(terminal: Terminal) -> None:
    """Both at once is refused, in place of values without a place."""
    said = terminal("config", "show", "--origins", "--defaults")
    assert (said.code, "leave one of them out" in said.err) == (2, True)


def _leaves(value):
    if isinstance(value, dict) and value:
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value
