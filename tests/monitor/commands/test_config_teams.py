"""`config check`, `diff` and `test`, `status` and a daemon's reload, where teams keep files of their own."""

import pytest

from monitor.clock import SimulatedClock
from monitor.config import Loaded, load
from monitor.config.project import Project
from monitor.daemon.config_reload import ConfigWatch
from monitor.daemon.presence import DaemonPresence
from tests.monitor.commands.terminal import NOW, Terminal

MAIN = """\
version: 1
project: mesh
storage: {url: "sqlite:///store.db"}
sources: {shop: {url: "sqlite:///shop.sqlite", timezone: UTC}}
owners: {desk: {}, crew: {}}
rules:
  gold: {tables: ["tier:gold"], require: [owner], checks: [freshness], reason: the board reads them}
tables:
  - name: days
    source: shop
    table: orders
    tier: gold
    owner: desk
    checks: [{type: freshness, column: id, max_age: 1h}]
teams:
  sales: {folder: teams/a, tables: ["sales.*", "both.*"], sources: [shop], owners: [desk]}
  web: {folder: teams/b, tables: ["web.*", "both.*"], sources: [shop], owners: [crew]}
"""
SALES = """\
tables:
  - name: sales.orders
    source: shop
    table: orders
"""
WEB = SALES.replace("sales", "web")
BOTH = """\
  - name: both.people
    source: shop
    table: orders
    tier: gold
    checks: [{type: not_null, columns: [id]}, {type: volume, min: 1}]
"""
SWAPPED = BOTH.replace(
    "{type: not_null, columns: [id]}, {type: volume, min: 1}", "{type: volume, min: 1}, {type: not_null, columns: [id]}"
)
FAULTS = [
    pytest.param("tables: [", "teams/b/a.yaml:2:1", "not valid YAML", id="yaml"),
    pytest.param(WEB + "rules: {}\n", "teams/b/a.yaml:5:1", "team 'web' may not define 'rules'", id="key"),
    pytest.param(WEB + BOTH.replace("both.people", "days"), "teams/b/a.yaml:5:11", "may not define table", id="table"),
    pytest.param(WEB + BOTH, "teams/b/a.yaml:5:11", "is given twice; first in teams/a/a.yaml:5", id="twice"),
]  # fmt: skip


def write(terminal: Terminal, *, sales: str = SALES, web: str = WEB) -> None:
    """Write the main file and those of the two teams."""
    (terminal.folder / "tablewatch.yaml").write_text(MAIN, encoding="utf-8")
    for folder, text in (("a", sales), ("b", web)):
        (terminal.folder / "teams" / folder).mkdir(parents=True, exist_ok=True)
        (terminal.folder / "teams" / folder / "a.yaml").write_text(text, encoding="utf-8")


class Daemon:
    """What a daemon does with its configuration and its row in the store, without its threads."""

    def __init__(self, terminal: Terminal) -> None:
        """Start with what the files say."""
        self._path = terminal.folder / "tablewatch.yaml"
        loaded = load(self._path)
        self._project = Project(loaded, SimulatedClock(NOW))
        self._watch = ConfigWatch(self._path, loaded)
        with self._project.open_store() as store:
            DaemonPresence(store, self._project.clock, loaded).sign(leads=True)

    def reload(self) -> Loaded:
        """Return what is in use after a reload."""
        return self._watch.reload() or self._watch.loaded


def differences(terminal: Terminal) -> list[tuple[str, str]]:
    """Return what `config diff` reports, and that no masked value differs."""
    result = terminal.json("config", "diff")
    assert not result["masked_values_differ"]
    return [(change["kind"], change["path"]) for change in result["changes"]]


def names(loaded: Loaded) -> list[str]:
    """Return the names of the tables."""
    return [table.name for table in loaded.config.tables]


def test_a_table_is_added_and_removed_in_a_file_of_a_team(terminal: Terminal) -> None:
    """It is a difference like one in the main file, and a daemon takes it over."""
    write(terminal)
    daemon = Daemon(terminal)
    assert differences(terminal) == []
    write(terminal, sales=SALES + BOTH)
    assert differences(terminal) == [("added", "tables.both.people")]
    assert names(daemon.reload()) == ["days", "sales.orders", "both.people", "web.orders"]
    write(terminal, web="tables: []\n")
    assert differences(terminal) == [("removed", "tables.web.orders")]
    assert names(daemon.reload()) == ["days", "sales.orders"]


@pytest.mark.parametrize("table", [BOTH, SWAPPED], ids=["as it was", "with its checks in another order"])
def test_a_table_that_moves_to_another_team_is_no_difference(terminal: Terminal, table: str) -> None:
    """Nor is a masked value: the order of tables and checks, which changes by that, is not compared."""
    write(terminal, sales=SALES + BOTH)
    daemon = Daemon(terminal)
    write(terminal, web=WEB + table)
    assert differences(terminal) == []
    assert terminal("config", "diff").out.splitlines()[1:] == ["no difference"]
    assert names(daemon.reload()) == ["days", "sales.orders", "web.orders", "both.people"]
    assert terminal("config", "check").code == 0


def test_rules_hold_for_tables_of_teams_and_name_their_files(terminal: Terminal) -> None:
    """With the line and the team, whichever it moved to; other forms have the file and the line."""
    write(terminal, sales=SALES + BOTH)
    said = terminal("config", "test")
    assert said.code == 1
    assert said.out.splitlines() == [
        "FAIL    gold: 2 tables, 2 problems",
        "        both.people: no owner (gold) (teams/a/a.yaml:5:5, team sales)",
        "        both.people: no check of type freshness (gold) (teams/a/a.yaml:5:5, team sales)",
        "        why: the board reads them",
    ]
    write(terminal, web=WEB + BOTH)
    assert "both.people: no owner (gold) (teams/b/a.yaml:5:5, team web)" in terminal("config", "test").out
    problems = terminal("config", "test", "--format", "json").json["rules"][0]["problems"]
    assert {(problem["file"], problem["line"]) for problem in problems} == {("teams/b/a.yaml", 5)}
    assert "::error file=teams/b/a.yaml,line=5" in terminal("config", "test", "--format", "github").out
    owned = BOTH.replace("tier: gold", "tier: gold\n    owner: crew").replace(
        "volume, min: 1", "freshness, column: id, max_age: 1h"
    )
    write(terminal, web=WEB + owned)
    assert terminal("config", "test").out == "PASS    gold: 2 tables\n"


@pytest.mark.parametrize(("web", "place", "message"), FAULTS)
def test_a_broken_file_is_named_with_its_team_by_every_command(
    terminal: Terminal, web: str, place: str, message: str
) -> None:
    """The commands refuse it; what runs is a daemon's, of which the other teams' changes are taken over."""
    write(terminal, sales=SALES + BOTH)
    daemon = Daemon(terminal)
    write(terminal, sales=SALES + BOTH + BOTH.replace("both.people", "sales.more"), web=web)
    for words in (("config", "check"), ("config", "diff"), ("config", "test"), ("status",)):
        said = terminal(*words)
        assert (said.code, f"--> {place} (team web)" in said.err, message in said.err) == (2, True, True), words
    assert "a daemon keeps using the one it loaded at" in said.out
    loaded = daemon.reload()
    assert names(loaded) == ["days", "sales.orders", "both.people", "sales.more", "web.orders"]
    assert list(loaded.apart) == ["web"]
    assert f"{place}: " in loaded.apart["web"]


def test_another_configuration_with_a_broken_team_is_refused_with_its_file(terminal: Terminal) -> None:
    """As the main branch's may be."""
    write(terminal, web="tables: [")
    (terminal.folder / "plain.yaml").write_text(MAIN.partition("teams:")[0], encoding="utf-8")
    said = terminal("config", "diff", "tablewatch.yaml", "-c", "plain.yaml")
    assert (said.code, "--> teams/b/a.yaml:2:1 (team web)" in said.err) == (2, True)


def test_a_table_that_moves_into_a_broken_file_may_be_there(terminal: Terminal) -> None:
    """Closing incidents of tables that are gone waits until the file can be read."""
    write(terminal, sales=SALES + BOTH)
    daemon = Daemon(terminal)
    write(terminal, web=f"{WEB}{BOTH}rules: {{}}\n")
    loaded = daemon.reload()
    assert names(loaded) == ["days", "sales.orders", "web.orders"]
    assert [loaded.is_left_out(name) for name in ("both.people", "web.orders", "sales.gone")] == [True, False, False]
