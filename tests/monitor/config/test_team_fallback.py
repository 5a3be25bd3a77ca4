"""A daemon goes on without the part of a team whose files are broken; other teams do not wait for it."""

import ast
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from monitor.config import ConfigError, Loaded, _references, load, team_fallback
from monitor.config.project import Project
from monitor.config.team_fallback import load_apart

MAIN = """\
version: 1
project: mesh
sources: {lake: {files: "*.csv"}}
tables: []
teams:
  crm: {folder: crm, tables: ["crm.*"], sources: [lake]}
  shop: {folder: shop, tables: ["shop.*"], sources: [lake]}
  web: {folder: web, tables: ["web.*"], sources: [lake]}
"""
TEAMS = ("crm", "shop", "web")


def table(name: str, upstream: str = "") -> str:
    """Return a file of one table."""
    return f"tables: [{{name: {name}, source: lake, upstream: [{upstream}]}}]\n"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of teams, and the main file; return it."""
    (folder / "tablewatch.yaml").write_text(files.get("main", MAIN), encoding="utf-8")
    for team in TEAMS:
        (folder / team).mkdir(exist_ok=True)
        (folder / team / "a.yaml").write_text(files.get(team, table(f"{team}.orders")), encoding="utf-8")
    return folder / "tablewatch.yaml"


def names(loaded: Loaded) -> list[str]:
    """Return the names of the tables."""
    return [table.name for table in loaded.config.tables]


def test_a_team_with_an_error_keeps_what_it_had_and_others_change(tmp_path: Path) -> None:
    """Its tables are watched as before; the error is known."""
    before = load_apart(write(tmp_path, {}))
    file = write(tmp_path, {"shop": "tables: [", "crm": table("crm.more"), "web": table("web.more")})
    with pytest.raises(ConfigError):
        load(file)
    loaded = load_apart(file, before)
    assert names(loaded) == ["crm.more", "shop.orders", "web.more"]
    assert list(loaded.apart) == ["shop"]
    assert f"{tmp_path / 'shop' / 'a.yaml'}:2:1: not valid YAML" in loaded.apart["shop"]
    assert not loaded.left_out


def test_a_team_with_an_error_at_the_start_is_left_out(tmp_path: Path) -> None:
    """Which tables may be missing is known, so that nothing is concluded from their absence."""
    loaded = load_apart(write(tmp_path, {"shop": "storage: {}\n"}))
    assert names(loaded) == ["crm.orders", "web.orders"]
    assert loaded.left_out == {"shop"}
    assert [loaded.is_left_out(name) for name in ("shop.orders", "crm.orders")] == [True, False]


def test_what_a_team_had_is_kept_over_many_changes(tmp_path: Path) -> None:
    """Also of a team that is broken twice in different ways, while others come and go."""
    loaded = load_apart(write(tmp_path, {}))
    for number in range(3):
        changed = {"shop": f"storage: {number}\n", "web": table(f"web.n{number}")}
        loaded = load_apart(write(tmp_path, changed), loaded)
        assert names(loaded) == ["crm.orders", "shop.orders", f"web.n{number}"]
    loaded = load_apart(write(tmp_path, {}), loaded)
    assert (names(loaded), loaded.apart) == (["crm.orders", "shop.orders", "web.orders"], {})


def test_a_table_that_another_team_refers_to_cannot_be_taken_away(tmp_path: Path) -> None:
    """The team that renames it keeps its files, not the one that refers to it and changed nothing."""
    other = {"crm": table("crm.orders", "shop.orders")}
    before = load_apart(write(tmp_path, other))
    loaded = load_apart(write(tmp_path, {**other, "shop": table("shop.renamed"), "web": table("web.more")}), before)
    assert names(loaded) == ["crm.orders", "shop.orders", "web.more"]
    assert list(loaded.apart) == ["shop"]
    assert "shop.orders" in loaded.apart["shop"]


def test_two_teams_that_change_together_are_taken_together(tmp_path: Path) -> None:
    """A renamed table and its reference, though a third team is broken."""
    before = load_apart(write(tmp_path, {"crm": table("crm.orders", "shop.orders")}))
    changed = {"crm": table("crm.orders", "shop.renamed"), "shop": table("shop.renamed"), "web": "tables: ["}
    loaded = load_apart(write(tmp_path, changed), before)
    assert names(loaded) == ["crm.orders", "shop.renamed", "web.orders"]
    assert list(loaded.apart) == ["web"]


@pytest.mark.parametrize("main", ["tables: [", MAIN.replace("version: 1", "version: 2"), MAIN + "contract: {}\n"])
def test_an_error_that_is_no_team_s_is_refused_as_a_whole(tmp_path: Path, main: str) -> None:
    """Shared parts must be right."""
    before = load_apart(write(tmp_path, {}))
    with pytest.raises(ConfigError):
        load_apart(write(tmp_path, {"main": main, "shop": "tables: ["}), before)


def test_a_grant_that_is_still_used_cannot_be_taken_away(tmp_path: Path) -> None:
    """The main file and the files of the team contradict each other, so that all of the change is refused."""
    before = load_apart(write(tmp_path, {}))
    main = MAIN.replace('folder: shop, tables: ["shop.*"]', 'folder: shop, tables: ["other.*"]')
    with pytest.raises(ConfigError, match=r"may not define table 'shop\.orders'"):
        load_apart(write(tmp_path, {"main": main}), before)


def test_secrets_are_masked_in_the_reason(tmp_path: Path) -> None:
    """It is logged, sent and shown."""
    main = MAIN.replace('folder: shop, tables: ["shop.*"]', 'folder: shop, tables: ["shop.*"], variables: [SHOP]')
    file = write(tmp_path, {"main": main, "shop": 'tables: [{name: shop.x, source: lake, owner: "${SHOP}"}]\n'})
    loaded = load_apart(file, environment={"SHOP": "correct horse"})
    assert "correct horse" not in loaded.apart["shop"]


def _many_folders(folder: Path) -> None:
    for number in range(2_001):
        (folder / str(number)).mkdir()


def _deep(folder: Path) -> None:
    """Make a folder in it that cannot be listed by its whole name, though each of its names is short."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for _ in range(25):
            Path("n" * 200).mkdir()
            os.chdir("n" * 200)
    finally:
        os.chdir(before)


DISK: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "removed": (rmtree, "the folder of team 'shop' does not exist"),
    "a file": (lambda folder: (rmtree(folder), folder.write_text("")), "does not exist"),
    "a link to itself": (lambda folder: (rmtree(folder), folder.symlink_to(folder)), "does not exist"),
    "a link to another team": (lambda folder: (rmtree(folder), folder.symlink_to("web")), "leads elsewhere"),
    "a link out": (lambda folder: (rmtree(folder), folder.symlink_to(folder.parents[1])), "leads elsewhere"),
    "a file that is a link to itself": (lambda folder: (folder / "b.yaml").symlink_to("b.yaml"), "cannot be read"),
    "too many folders": (_many_folders, "more than 2,000 folders"),
    "a folder that cannot be listed": (_deep, "cannot be read"),
    "a name that is no text": (lambda folder: Path(os.fsdecode(bytes(folder) + b"/\xff.yaml")).touch(), r"\\udcff"),
    "a name of two lines": (lambda folder: (folder / "b\nc.yaml").touch(), r"b\\nc\.yaml"),
}


@pytest.mark.parametrize("disk", DISK)
@pytest.mark.parametrize("as_folder", [False, True])
def test_whatever_a_team_does_to_its_folder_it_alone_is_put_aside(tmp_path: Path, disk: str, as_folder: bool) -> None:
    """Neither at the start nor later does it keep others from being monitored, or become unmonitored in silence."""
    file = write(tmp_path, {})
    path = tmp_path if as_folder else file
    before = load_apart(path)
    change, message = DISK[disk]
    change(tmp_path / "shop")
    with pytest.raises(ConfigError, match=message):
        load(path)
    (tmp_path / "web" / "a.yaml").write_text(table("web.more"), encoding="utf-8")
    for loaded, expected in (
        (load_apart(path, before), ["crm.orders", "shop.orders", "web.more"]),
        (load_apart(path), ["crm.orders", "web.more"]),
    ):
        assert names(loaded) == expected
        assert list(loaded.apart) == ["shop"]
        loaded.files_now()


@pytest.mark.parametrize("words", ["${file:loop.md}", "loop.md", '"a\\0.md"', '"${file:a\\0.md}"'])
def test_a_name_that_no_file_can_have_is_the_error_of_the_team(tmp_path: Path, words: str) -> None:
    """A link to itself, and a NUL in a name, are no files of any folder."""
    other = f"tables: [{{name: shop.x, source: lake, checks: [{{type: not_null, columns: [a], runbook: {words}}}]}}]"
    file = write(tmp_path, {"shop": other if '"' in words else other.replace(words, f'"{words}"')})
    (tmp_path / "shop" / "loop.md").symlink_to("loop.md")
    loaded = load_apart(file)
    assert names(loaded)[0] == "crm.orders"
    for check in (check for entry in loaded.config.tables for check in entry.checks):
        assert Project(loaded).runbook(check) == check.runbook


def test_a_broken_team_keeps_no_change_of_another_that_refers_to_it_from_being_used(tmp_path: Path) -> None:
    """A table downstream of its tables stays, and what is new beside it comes."""
    before = load_apart(write(tmp_path, {"crm": table("crm.orders", "shop.orders")}))
    changed = {"crm": table("crm.renamed", "shop.orders"), "shop": "tables: ["}
    loaded = load_apart(write(tmp_path, changed), before)
    assert names(loaded) == ["crm.renamed", "shop.orders", "web.orders"]
    assert list(loaded.apart) == ["shop"]


NAMED = """\
owners: {sales: {channel: shop-chat}, data: {channel: ops}}
cost: {currency: EUR, tables: {shop.orders: {per_hour: 5}, crm.orders: {per_hour: 7}}}
contracts:
  all: {tables: [shop.orders, crm.orders], availability: 0.9}
  shop: {tables: [shop.orders], availability: 0.9}
maintenance:
  - {tables: [shop.orders], start: "2026-01-01T00:00", end: "2026-01-01T01:00", reason: move}
  - {tables: [shop.orders, web.orders], start: "2026-01-01T00:00", end: "2026-01-01T01:00", reason: move}
slo: {shop.*: {ttd: 1h}, "tier:gold": {ttd: 1h}, "*.orders": {ttr: 4h}}
alerts:
  channels: {ops: {webhook: {url: "https://ops.example.org/hook-of-operations"}}}
  operators: [shop-chat, ops]
  routes:
    - {match: {table: shop.orders}, to: [ops]}
    - {match: {table: web.orders}, to: [shop-chat]}
    - {to: [shop-chat, ops]}
domains: {retail: {}}
report:
  weekly: {to: [ops], domains: {retail: {to: [shop-chat]}}, owners: {sales: {to: [shop-chat, ops]}}}
  monthly: {domains: {retail: {to: [shop-chat, ops]}}}
"""
SHOP = """\
tables: [{name: shop.orders, source: lake, tier: gold}]
alerts: {channels: {shop-chat: {webhook: {url: "https://shop.example.org/hook-of-the-shop"}}}}
"""


def test_a_team_that_is_left_out_takes_nothing_along_that_refers_to_it(tmp_path: Path) -> None:
    """The start of a daemon does not depend on the files of a team, whatever others say of its tables."""
    main = MAIN.replace("folder: shop, ", 'folder: shop, may: [tables, alerts], channels: ["shop-*"], ') + NAMED
    files = {"main": main, "crm": table("crm.orders", "shop.orders, web.orders")}
    write(tmp_path, {**files, "shop": SHOP})
    load(tmp_path / "tablewatch.yaml")
    loaded = load_apart(write(tmp_path, {**files, "shop": "tables: ["}))
    config = loaded.config
    assert (names(loaded), loaded.left_out) == (["crm.orders", "web.orders"], {"shop"})
    assert config.tables[0].upstream == ("web.orders",)
    assert list(config.cost.tables) == ["crm.orders"]
    assert {name: contract.tables for name, contract in config.contracts.items()} == {"all": ("crm.orders",)}
    assert [window.tables for window in config.maintenance] == [("web.orders",)]
    assert list(config.slo) == ["*.orders"]
    assert config.owners["sales"].channel is None
    assert config.alerts.operators == ("ops",)
    assert [(route.match.table, route.to) for route in config.alerts.routes] == [(None, ("ops",))]
    assert config.report.weekly.domains["retail"].to == ()
    assert config.report.weekly.owners["sales"].to == ("ops",)
    assert config.report.monthly.domains["retail"].to == ("ops",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("shop.orders", None),
        ('"shop.*"', None),
        ('"tier:gold"', None),
        ('"shop.*", "!crm.orders"', None),
        ('"shop.*", crm.orders', ("crm.orders",)),
        ('"*.orders", "!shop.orders"', ("*.orders", "!shop.orders")),
        ('"!shop.orders"', ("!shop.orders",)),
    ],
)
def test_a_product_is_of_the_tables_that_are_there(
    tmp_path: Path, words: str, expected: tuple[str, ...] | None
) -> None:
    """One that has none is left out with its routes, and never becomes one of all other tables."""
    main = f"""{MAIN}
products: {{offer: {{tables: [{words}]}}}}
alerts:
  channels: {{ops: {{webhook: {{url: "https://ops.example.org/hook-of-operations"}}}}}}
  routes: [{{match: {{product: offer}}, to: [ops]}}]
"""
    load(write(tmp_path, {"main": main, "shop": "tables: [{name: shop.orders, source: lake, tier: gold}]"}))
    config = load_apart(write(tmp_path, {"main": main, "shop": "tables: ["})).config
    assert {name: product.tables for name, product in config.products.items()} == (
        {} if expected is None else {"offer": expected}
    )
    assert len(config.alerts.routes) == (0 if expected is None else 1)


def test_a_file_that_a_team_deletes_puts_that_team_aside_alone(tmp_path: Path) -> None:
    """What `${file:...}` was is kept beside the texts, over many changes; a start without it leaves the team out."""
    shop = 'tables: [{name: shop.orders, source: lake, description: "${file:words.txt}"}]\n'
    note = tmp_path / "shop" / "words.txt"
    write(tmp_path, {})
    note.write_text("correct horse\n", encoding="utf-8")
    before = loaded = load_apart(write(tmp_path, {"shop": shop}))
    note.unlink()
    for number in range(2):
        loaded = load_apart(write(tmp_path, {"shop": shop, "web": table(f"web.n{number}")}), loaded)
        assert names(loaded) == ["crm.orders", "shop.orders", f"web.n{number}"]
        assert loaded.config.tables[1].description == "correct horse"
        assert list(loaded.apart) == ["shop"]
        assert "words.txt" in loaded.apart["shop"]
        assert "correct horse" not in str(loaded.values())
    assert load_apart(tmp_path / "tablewatch.yaml").left_out == {"shop"}
    note.write_text("battery staple", encoding="utf-8")
    loaded = load_apart(tmp_path / "tablewatch.yaml", before)
    assert (loaded.config.tables[1].description, loaded.apart) == ("battery staple", {})


@pytest.mark.parametrize("disk", ["removed", "a link out", "a link to another team"])
def test_a_runbook_whose_folder_leads_elsewhere_puts_that_team_aside_alone(tmp_path: Path, disk: str) -> None:
    """Its name stays; the text that is there now is not shown."""
    check = "{type: not_null, columns: [a], runbook: steps.md}"
    shop = f"tables: [{{name: shop.orders, source: lake, checks: [{check}]}}]\n"
    before = load_apart(write(tmp_path, {"shop": shop}))
    DISK[disk][0](tmp_path / "shop")
    (tmp_path / "web" / "steps.md").write_text("# Of another team", encoding="utf-8")
    (tmp_path.parent / "steps.md").write_text("# Of nobody", encoding="utf-8")
    loaded = load_apart(tmp_path / "tablewatch.yaml", before)
    assert (names(loaded), list(loaded.apart)) == (["crm.orders", "shop.orders", "web.orders"], ["shop"])
    (shown,) = loaded.config.tables[1].checks
    assert Project(loaded).runbook(shown) == "steps.md"


def test_an_error_in_the_main_file_is_known_after_few_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many teams there are, and whether they changed: what is wrong with and without them is not theirs."""
    attempts: list[object] = []

    def counted(path: Path, **options: Any) -> Loaded:
        attempts.append(options)
        return load(path, **options)

    before = load_apart(write(tmp_path, {}))
    main = MAIN + "contract: {}\n"
    monkeypatch.setattr(team_fallback, "load", counted)
    for files, last, most in (({}, before, 1), ({}, None, 2), (dict.fromkeys(TEAMS, "tables: ["), before, 2)):
        attempts.clear()
        with pytest.raises(ConfigError):
            load_apart(write(tmp_path, {"main": main, **files}), last)
        assert len(attempts) == most


@pytest.mark.parametrize(
    ("people", "fallback", "expected"),
    [
        ("{ann: shop-chat, bob: ops}", "ops", {"bob": "ops"}),
        ("{ann: shop-chat}", "ops", None),
        ("{bob: ops}", "shop-chat", None),
    ],
)
def test_a_rota_loses_the_people_of_a_team_that_is_left_out(
    tmp_path: Path, people: str, fallback: str, expected: dict[str, str] | None
) -> None:
    """Without people, or without its fallback, it is left out itself, with what is sent to it."""
    main = f"""{MAIN.replace("folder: shop, ", 'folder: shop, may: [tables, alerts], channels: ["shop-*"], ')}
alerts:
  channels:
    ops: {{webhook: {{url: "https://ops.example.org/hook-of-operations"}}}}
    rota: {{on_call: {{calendar: rota.ics, people: {people}, fallback: {fallback}}}}}
  routes: [{{to: [rota, ops]}}]
"""
    load(write(tmp_path, {"main": main, "shop": SHOP}))
    alerts = load_apart(write(tmp_path, {"main": main, "shop": "tables: ["})).config.alerts
    assert [route.to for route in alerts.routes] == [("ops",) if expected is None else ("rota", "ops")]
    rota = alerts.channels.get("rota")
    assert (None if rota is None else rota.settings.people) == expected


def test_every_rule_on_names_of_tables_and_channels_has_its_place_where_they_may_be_left_out() -> None:
    """A new reference to one needs its place in `absent_teams`, a case in the tests above, and a count here.

    Without that, one broken file of a team could keep a daemon from starting.
    """
    uses: Counter[str] = Counter()
    for function in ast.parse(Path(_references.__file__).read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and ast.unparse(node) in {"names.tables", "names.channels"}:
                    uses[function.name] += 1
    assert uses == {
        "references_of": 1,
        "_channels": 1,
        "_alerts": 6,
        "_cost": 1,
        "_releases": 1,
        "_budgets": 2,
        "_contracts": 1,
        "_slo": 1,
        "_maintenance": 1,
    }
