"""A team's files define what they were granted, and nothing of them reaches beyond their folder."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import ConfigError, load, load_readable
from monitor.config.project import Project
from monitor.config.teams_model import fits, is_covered

MAIN = """\
version: 1
project: mesh
sources: {shop: {files: "shop/*.csv"}, hr: {files: "hr/*.csv"}}
owners: {shop: {}, hr: {}}
domains: {sales: {owner: shop}, people: {owner: hr}}
tables:
  - {name: hr.staff, source: hr, owner: hr, checks: [{type: not_null, columns: [id]}]}
contracts: {board: {tables: [hr.staff], availability: 0.9}}
alerts:
  channels: {ops: {webhook: {url: "https://ops.example.org/hook-of-operations"}}}
  routes: [{to: [ops]}]
teams:
  shop:
    folder: teams/shop
    may: [tables, contracts, products, maintenance, alerts]
    tables: ["shop.*"]
    sources: [shop]
    owners: [shop]
    domains: [sales]
    channels: ["shop-*"]
    variables: ["SHOP_*"]
  crm: {folder: teams/crm, tables: ["crm.*"], sources: [shop]}
"""
GOOD = """\
tables:
  - name: shop.orders
    source: shop
    owner: shop
    domain: sales
    description: "${SHOP_TEXT}"
    checks: [{type: not_null, columns: [id], runbook: steps.md}]
contracts: {orders: {tables: [shop.orders], availability: 0.99}}
products: {shop: {tables: ["shop.*", "!shop.test*"], owner: shop, consumers: [finance]}}
maintenance: [{tables: [shop.orders], start: "2026-01-01T00:00", end: "2026-01-01T01:00", reason: move}]
alerts:
  channels: {shop-chat: {webhook: {url: "${file:address.txt}"}}}
  routes: [{match: {product: shop}, to: [shop-chat]}]
"""
ENVIRONMENT = {"SHOP_TEXT": "orders of the shop", "HR_PASSWORD": "correct horse", "HOME": "somewhere"}

Mesh = Callable[..., Path]
Refused = Callable[[str], list[str]]


@pytest.fixture
def mesh(tmp_path: Path) -> Mesh:
    """Return a function that writes files of a configuration with two teams, and returns its main file."""

    def write(files: Mapping[str, str] | None = None, main: str = MAIN) -> Path:
        base = {"teams/shop/a.yaml": GOOD, "teams/shop/steps.md": "# Steps", "secret.md": "HR_PASSWORD"}
        base |= {"teams/shop/address.txt": "https://chat.example.org/hook-of-shop", "tablewatch.yaml": main}
        (tmp_path / "teams" / "crm").mkdir(parents=True, exist_ok=True)
        for name, text in (base | dict(files or {})).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / "tablewatch.yaml"

    return write


@pytest.fixture
def refused(mesh: Mesh) -> Refused:
    """Return a function that adds a file to the team of the shop, and returns the errors that this makes."""

    def errors(text: str) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(mesh({"teams/shop/b.yaml": text}), environment=ENVIRONMENT)
        places = {Path(problem.file or "").name for problem in caught.value.problems}
        assert places == {"b.yaml"}, caught.value.problems
        return [problem.message for problem in caught.value.problems]

    return errors


def test_a_team_adds_what_it_was_granted(mesh: Mesh) -> None:
    """Tables, contracts, maintenance, channels and routes stand beside those of others."""
    loaded = load(mesh(), environment=ENVIRONMENT)
    assert [table.name for table in loaded.config.tables] == ["hr.staff", "shop.orders"]
    assert list(loaded.config.contracts) == ["board", "orders"]
    assert loaded.config.product_tables == {"shop": ("shop.orders",)}
    assert list(loaded.config.alerts.channels) == ["ops", "shop-chat"]
    assert [route.to for route in loaded.config.alerts.routes] == [("ops",), ("shop-chat",)]
    assert loaded.config.tables[1].description == "orders of the shop"
    assert [path.name for path in loaded.files] == ["tablewatch.yaml", "a.yaml"]
    assert loaded.values()["tables"][1]["description"] == "***"


def test_a_folder_of_files_leaves_the_folders_of_teams_to_them(mesh: Mesh) -> None:
    """The same files, read as a folder, are the same configuration."""
    file = mesh()
    alone, together = load(file, environment=ENVIRONMENT), load(file.parent, environment=ENVIRONMENT)
    assert alone.config == together.config
    assert alone.values_digest == together.values_digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('storage: {url: "sqlite:///other.db"}', "define 'storage'"),
        ("sources: {mine: {files: x.csv}}", "define 'sources'"),
        ("owners: {me: {}}", "define 'owners'"),
        ("domains: {mine: {}}", "define 'domains'"),
        ('ownership: {"*": shop}', "define 'ownership'"),
        ("cost: {tables: {shop.orders: {per_hour: 9}}}", "define 'cost'"),
        ("web: {}", "define 'web'"),
        ("releases: {r: {table: shop.orders}}", "define 'releases'"),
        ("budgets: {shop.orders: {}}", "define 'budgets'"),
        ("rules: {r: {require: [owner]}}", "define 'rules'"),
        ('teams: {shop: {folder: ., tables: ["*"]}}', "define 'teams'"),
        ("project: other", "define 'project'"),
        ('x: &a {storage: {url: "sqlite:///other.db"}}\n<<: *a', "define 'storage'"),
        ("tables: [{name: hr.pay, source: shop}]", "define table 'hr.pay'"),
        ("tables: [{name: shop.pay, source: hr}]", "read source 'hr'"),
        ("tables: [{name: shop.pay, source: shop, owner: hr}]", "name owner 'hr'"),
        ("tables: [{name: shop.pay, source: shop, domain: people}]", "add to domain 'people'"),
        ("contracts: {c: {tables: [hr.staff], availability: 0.5}}", "promise anything of table 'hr.staff'"),
        (
            'maintenance: [{start: "2026-01-01T00:00", end: "2027-01-01T00:00", reason: x}]',
            "plan maintenance of every table",
        ),
        (
            'maintenance: [{tables: [], start: "2026-01-01T00:00", end: "2027-01-01T00:00", reason: x}]',
            "plan maintenance of every table",
        ),
        (
            'maintenance: [{domains: [people], start: "2026-01-01T00:00", end: "2027-01-01T00:00", reason: x}]',
            "plan maintenance of domain 'people'",
        ),
        ('products: {p: {tables: ["*"]}}', "offer tables '*'"),
        ("products: {p: {tables: [hr.staff]}}", "offer tables 'hr.staff'"),
        ('products: {p: {tables: ["s*"]}}', "offer tables 's*'"),
        ('products: {p: {tables: ["tier:gold"]}}', "offer tables 'tier:gold'"),
        ('products: {p: {tables: ["!hr.staff"]}}', "offer all tables but some"),
        ("products: {p: {tables: [shop.orders], owner: hr}}", "name owner 'hr'"),
        ("alerts: {routes: [{match: {product: other}, to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {hourly_cap: 1}", "set 'alerts.hourly_cap'"),
        ('alerts: {channels: {chat: {webhook: {url: "https://x.example.org/1"}}}}', "define channel 'chat'"),
        ("alerts: {routes: [{match: {table: shop.orders}, to: [ops]}]}", "send to channel 'ops'"),
        ("alerts: {routes: [{to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {routes: [{match: {severity: info}, to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {routes: [{match: {table: null}, to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {routes: [{match: {table: hr.staff}, to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {routes: [{match: {owner: hr}, to: [shop-chat]}]}", "route alerts that are not of its own"),
        ("alerts: {routes: [{match: {source: shop}, to: [shop-chat]}]}", "route alerts that are not of its own"),
    ],
)
def test_what_was_not_granted_is_refused(refused: Refused, text: str, message: str) -> None:
    """The error names the team, the line, what was granted, and where."""
    assert any(error.startswith(f"team 'shop' may not {message}") for error in refused(text + "\n"))


def test_a_refusal_names_what_was_granted_and_where(mesh: Mesh) -> None:
    """It names the owner to ask, and what is missing."""
    file = mesh({"teams/crm/a.yaml": "tables:\n  - {name: shop.x, source: shop}\n"})
    with pytest.raises(ConfigError) as caught:
        load(file, environment=ENVIRONMENT)
    (problem,) = caught.value.problems
    assert (Path(problem.file or "").name, problem.line, problem.column) == ("a.yaml", 2, 12)
    assert problem.hint == f"granted to it: crm.* ({file}:22)"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${HR_PASSWORD}", "read environment variable HR_PASSWORD"),
        ("${HR_PASSWORD:-none}", "read environment variable HR_PASSWORD"),
        ("${NOT_SET:-none}", "read environment variable NOT_SET"),
        ("a ${SHOP_TEXT} and ${HOME}", "read environment variable HOME"),
        ("${file:../../secret.md}", "read '../../secret.md'"),
        ("${file:../crm/../../secret.md}", "read '../crm/../../secret.md'"),
        ("${file:/etc/hostname}", "read '/etc/hostname'"),
        ("${file:link.md}", "read 'link.md'"),
    ],
)
def test_secrets_that_were_not_granted_cannot_be_read(mesh: Mesh, refused: Refused, value: str, message: str) -> None:
    """Neither the environment nor a file, nor whether they are there; no error holds their content."""
    (mesh().parent / "teams" / "shop" / "link.md").symlink_to(mesh().parent / "secret.md")
    text = f"""tables: [{{name: shop.x, source: shop, description: "{value}"}}]\n"""
    errors = refused(text)
    assert [error.startswith(f"team 'shop' may not {message}") for error in errors] == [True]
    assert ENVIRONMENT["HR_PASSWORD"] not in str(errors)


def test_an_alias_cannot_reach_into_another_file(mesh: Mesh) -> None:
    """Anchors end with their file, also those of the main one."""
    main = MAIN.replace("hr: {files:", "hr: &anchor {files:")
    with pytest.raises(ConfigError, match="there is no anchor '&anchor'"):
        load(mesh({"teams/shop/b.yaml": "contracts: {x: *anchor}\n"}, main), environment=ENVIRONMENT)


@pytest.mark.parametrize(
    "text",
    [
        "contracts: {board: {tables: [shop.orders]}}\n",
        "contracts: {board: {tables: [shop.orders], availability: 0.1}}\n",
    ],
)
def test_an_entry_of_somebody_else_cannot_be_changed(refused: Refused, text: str) -> None:
    """Files of a folder merge; files of a team add, so that a contract keeps the tables it was made for."""
    assert [error for error in refused(text) if "may not change 'board', which" in error]


def test_a_table_of_somebody_else_cannot_be_defined_again(mesh: Mesh) -> None:
    """Whose pattern it matches does not matter: the first one has it, and the team's file has the error."""
    main = MAIN.replace("name: hr.staff", "name: shop.staff").replace("[hr.staff]", "[shop.staff]")
    with pytest.raises(ConfigError) as caught:
        load(mesh({"teams/shop/b.yaml": "tables: [{name: shop.staff, source: shop}]\n"}, main), environment=ENVIRONMENT)
    assert [(problem.code, Path(problem.file or "").name) for problem in caught.value.problems] == [
        ("config.duplicate_table", "b.yaml")
    ]


def test_a_file_that_is_a_link_out_of_the_folder_is_not_read(mesh: Mesh) -> None:
    """Not even to quote the line with the error."""
    file = mesh()
    (file.parent / "broken.txt").write_text("password: [hunter2-and-more", encoding="utf-8")
    (file.parent / "teams" / "shop" / "b.yaml").symlink_to(file.parent / "broken.txt")
    with pytest.raises(ConfigError) as caught:
        load(file, environment=ENVIRONMENT)
    (problem,) = caught.value.problems
    assert "which is not in its folder" in problem.message
    assert "hunter2" not in str(problem)


def test_a_link_within_the_folder_is_read(mesh: Mesh) -> None:
    """That is how a mounted ConfigMap looks."""
    file = mesh({"teams/shop/.version/b.yaml": "tables: [{name: shop.more, source: shop}]\n"})
    (file.parent / "teams" / "shop" / "b.yaml").symlink_to(Path(".version") / "b.yaml")
    names = [table.name for table in load(file, environment=ENVIRONMENT).config.tables]
    assert names == ["hr.staff", "shop.orders", "shop.more"]


def test_a_linked_folder_is_not_entered(mesh: Mesh) -> None:
    """Files elsewhere do not become the team's, nor does the folder of another team."""
    file = mesh({"teams/crm/c.yaml": "tables: [{name: crm.x, source: shop}]\n"})
    (file.parent / "teams" / "shop" / "more").symlink_to(file.parent / "teams" / "crm")
    names = [table.name for table in load(file, environment=ENVIRONMENT).config.tables]
    assert names == ["hr.staff", "shop.orders", "crm.x"]


@pytest.mark.parametrize("name", ["../secret.md", "/etc/hostname.md", "link.md", "../../tablewatch.md"])
def test_a_runbook_outside_of_the_folder_is_refused(mesh: Mesh, refused: Refused, name: str) -> None:
    """An incident shows the runbook, so that it would show the file."""
    folder = mesh().parent
    (folder / "teams" / "shop" / "link.md").symlink_to(folder / "secret.md")
    check = f"{{type: not_null, columns: [id], runbook: {name}}}"
    errors = refused(f"tables: [{{name: shop.x, source: shop, checks: [{check}]}}]\n")
    assert errors == [f"team 'shop' may not read '{name}', which is not in its folder"]


def test_a_runbook_that_becomes_a_link_is_not_shown(mesh: Mesh) -> None:
    """What was checked when the configuration was read is checked again when the file is."""
    file = mesh()
    project = Project(load(file, environment=ENVIRONMENT))
    check = project.config.tables[1].checks[0]
    assert project.runbook(check) == "# Steps"
    steps = file.parent / "teams" / "shop" / "steps.md"
    steps.unlink()
    steps.symlink_to(file.parent / "secret.md")
    assert project.runbook(check) == "steps.md"


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("..", "folder '.*' is not below the folder of this file"),
        (".", "folder '.*' is not below the folder of this file"),
        ("teams/../teams/shop", "folder '.*' is not below the folder of this file"),
        ("/tmp", "folder '.*' is not below the folder of this file"),  # noqa: S108 - refused, not used
        ("outside", "the folder of team 'shop' leads elsewhere by a symbolic link"),
        ("teams/nobody", "the folder of team 'shop' does not exist"),
    ],
)
def test_the_folder_of_a_team_is_below_that_of_the_file(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory, folder: str, message: str
) -> None:
    """A typing error in it would otherwise take all tables of the team away, or trust a foreign folder."""
    (mesh().parent / "outside").symlink_to(tmp_path_factory.mktemp("foreign"))
    with pytest.raises(ConfigError, match=message):
        load(mesh(main=MAIN.replace("folder: teams/shop", f"folder: {folder}")), environment=ENVIRONMENT)


@pytest.mark.parametrize("folder", ["teams/shop", "teams/shop/crm", "teams"])
def test_folders_of_teams_do_not_overlap(mesh: Mesh, folder: str) -> None:
    """Whose a file is would depend on the order of the teams."""
    main = MAIN.replace("folder: teams/crm", f"folder: {folder}")
    with pytest.raises(ConfigError, match="the folders of teams 'shop' and 'crm' overlap"):
        load(mesh({"teams/shop/crm/.keep": ""}, main), environment=ENVIRONMENT)


def test_only_files_at_the_top_name_teams(mesh: Mesh) -> None:
    """Writers of a folder below could otherwise grant itself everything."""
    file = mesh({"more/b.yaml": 'teams: {evil: {folder: x, tables: ["*"]}}\n', "more/x/c.yaml": ""})
    with pytest.raises(ConfigError, match="'teams' stands in a file of a folder below"):
        load(file.parent, environment=ENVIRONMENT)


def test_a_trusted_file_is_no_link_into_the_folder_of_a_team(mesh: Mesh) -> None:
    """The team would write what all users trust."""
    file = mesh({"teams/shop/c.txt": "timezone: Asia/Tokyo\n"})
    (file.parent / "more").mkdir()
    (file.parent / "more" / "c.yaml").symlink_to(file.parent / "teams" / "shop" / "c.txt")
    with pytest.raises(ConfigError, match="could grant itself everything"):
        load(file.parent, environment=ENVIRONMENT)


def test_a_broken_configuration_takes_no_store_from_a_team(mesh: Mesh) -> None:
    """Incidents can be logged while the configuration has errors: into the store that the main file names."""
    main = 'storage: {url: "sqlite:///good.db"}\n' + MAIN.replace("version: 1", "version: 7")
    file = mesh({"teams/shop/b.yaml": 'storage: {url: "sqlite:///evil.db"}\nproject: evil\n'}, main)
    loaded = load_readable(file.parent, environment=ENVIRONMENT)
    assert loaded is not None
    assert (loaded.config.storage.url, loaded.config.project) == ("sqlite:///good.db", "mesh")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_folder_is_an_error(mesh: Mesh) -> None:
    """It would keep a daemon waiting for a writer."""
    file = mesh()
    os.mkfifo(file.parent / "teams" / "shop" / "b.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(file, environment=ENVIRONMENT)


_PATTERNS = st.text("ab.*?[]", min_size=1, max_size=5)


@given(_PATTERNS, _PATTERNS, st.text("ab.", max_size=5))
def test_what_a_covered_pattern_matches_is_granted(pattern: str, granted: str, name: str) -> None:
    """No name slips through between two patterns."""
    if is_covered(pattern, [granted]) and fits(name, [pattern]):
        assert fits(name, [granted])


@pytest.mark.parametrize("word", ["tier:gold", "type:not_null", "domain:people", "owner:hr", "source:hr"])
def test_a_product_by_a_field_is_no_name_of_a_granted_table(mesh: Mesh, word: str) -> None:
    """Granted are names: `t*` is no grant of all tables of a tier, whose incidents a route would send to the team."""
    text = f"products: {{p: {{tables: [shop.orders, '{word}']}}}}\n"
    main = MAIN.replace('"shop.*"', f'"shop.*", "{word[0]}*"', 1)
    file = mesh({"teams/shop/b.yaml": text}, main)
    with pytest.raises(ConfigError) as caught:
        load(file, environment=ENVIRONMENT)
    assert f"team 'shop' may not offer tables '{word}'" in [problem.message for problem in caught.value.problems]


def test_a_calendar_of_who_is_on_call_is_named_by_the_main_file(refused: Refused) -> None:
    """It names a file, and the channels of people."""
    rota = "{on_call: {calendar: ../../secret.ics, people: {ann: shop-chat}, fallback: shop-chat}}"
    errors = refused(f"alerts: {{channels: {{shop-rota: {rota}}}}}\n")
    assert "team 'shop' may not define channel 'shop-rota' of kind on_call" in errors
