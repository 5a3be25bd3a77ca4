"""An entry with `match` stands for the tables that its source is known to have."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import ConfigError, load
from monitor.config.patterns import ListedTable, PatternEntry, dump_known, read_known
from monitor.config.yaml_nodes import Node, Place

HEAD = "version: 1\nproject: shop\nsources: {shop: {url: 'sqlite:///shop.db'}, lake: {files: '*.csv'}}\n"
JOINED = "2026-11-01T00:00:00+00:00"


def _listed(name: str, *columns: str, **more: object) -> dict[str, object]:
    return {"name": name, "joined": JOINED, "columns": list(columns), **more}


@pytest.fixture
def write(tmp_path: Path):
    """Return a function that writes a configuration and what is known, and returns its path."""

    def written(tables: str, known: object = None, head: str = HEAD) -> Path:
        file = tmp_path / "tablewatch.yaml"
        file.write_text(f"{head}tables:\n{tables}", encoding="utf-8")
        (tmp_path / "tablewatch.d").mkdir(exist_ok=True)
        if known is not None:
            (tmp_path / "tablewatch.d/tables.json").write_text(json.dumps(known), encoding="utf-8")
        return file

    return written


def _checks(path: Path) -> dict[str, list[str]]:
    return {table.name: [check.name for check in table.checks] for table in load(path).config.tables}


def test_an_entry_of_its_own_wins_and_of_two_patterns_the_first(write) -> None:
    """Each table is there once, and what it says stands where its entry does."""
    known = {"shop": {name: _listed(name, "id") for name in ("a", "b", "c", "tmp_d")}}
    path = write(
        "- {match: 'a*', source: shop, tier: gold, checks: [{type: volume, min: 1}]}\n"
        "- {name: own, table: b, source: shop}\n"
        "- {match: '*', exclude: ['tmp_*'], source: shop, checks: [{type: volume, min: 2, id: two}]}\n",
        known,
    )
    loaded = load(path)
    assert _checks(path) == {"a": ["volume"], "own": [], "c": ["two"]}
    assert [table.tier for table in loaded.config.tables] == ["gold", None, None]
    assert loaded.texts.expansion is not None
    assert dict(loaded.texts.expansion.tables) == {"a": "a*", "c": "*"}
    assert loaded.place("tables", 2).line == 7


def test_names_with_a_schema_match_with_and_without_it(write) -> None:
    """A table that needs no schema before its name is matched by the full name, too, and so is an entry of its own."""
    tables = {"orders": _listed("orders", schema="public"), "sales.orders": _listed("sales.orders", schema="sales")}
    assert set(_checks(write("- {match: 'public.*', source: shop}\n", {"shop": tables}))) == {"orders"}
    assert set(_checks(write("- {match: 'sales.*', source: shop}\n", {"shop": tables}))) == {"sales.orders"}
    assert set(_checks(write("- {match: '*.orders', source: shop}\n", {"shop": tables}))) == {"orders", "sales.orders"}
    both = "- {name: public.orders, source: shop}\n- {match: '*', source: shop}\n"
    assert list(_checks(write(both, {"shop": tables}))) == ["public.orders", "sales.orders"]
    assert list(_checks(write("- {match: 'Orders', source: shop}\n", {"shop": tables}))) == []


def test_a_check_is_left_out_where_its_column_never_was(write) -> None:
    """Others stay; a check that no table gets, and a pattern without tables, are noted with their places."""
    known = {"shop": {"a": _listed("a", "Id", "at"), "b": _listed("b", "other"), "c": {"name": "c", "joined": JOINED}}}
    checks = "[{type: not_null, columns: [id]}, {type: volume, min: 1}, {type: unique, columns: [nope], id: none}]"
    path = write(
        f"- {{match: '[ab]', source: shop, loaded_at: at, checks: {checks}}}\n"
        "- {match: c, source: shop, checks: [{type: unique, columns: [what]}]}\n- {match: 'x*', source: shop}\n",
        known,
    )
    assert _checks(path) == {"a": ["not-null", "volume"], "b": ["volume"], "c": ["unique"]}
    loaded = load(path)
    assert [table.loaded_at for table in loaded.config.tables] == ["at", None, None]
    assert loaded.texts.expansion is not None
    skipped = [(item.table, item.check, item.column) for item in loaded.texts.expansion.not_applied]
    assert skipped == [("a", "none", "nope"), ("b", "loaded_at", "at"), ("b", "not-null", "id"), ("b", "none", "nope")]
    notes = {note.line: note.message for note in loaded.notes if note.code == "config.pattern"}
    assert notes == {
        5: "no table of '[ab]' has the columns of check 'none': nope",
        7: "'x*' matches no table that source 'shop' is known to have",
    }


def test_suggested_checks_are_added_but_not_of_a_type_that_the_pattern_has(write) -> None:
    """What was suggested stands in the file, so that it is the same from run to run."""
    suggested = [{"type": "volume", "min": 9}, {"type": "primary_key", "columns": ["id"]}]
    known = {"shop": {"a": _listed("a", "id", checks=suggested)}}
    own = "checks: [{type: volume, min: 1, id: rows}]"
    assert _checks(write(f"- {{match: a, source: shop, suggest: sure, {own}}}\n", known)) == {
        "a": ["rows", "primary-key"]
    }
    assert _checks(write(f"- {{match: a, source: shop, {own}}}\n", known)) == {"a": ["rows"]}


def test_errors_of_a_pattern_are_found_before_any_table_is_known(write) -> None:
    """Each is reported once, at its place."""
    path = write(
        "- {match: 'a*', source: shop, name: x}\n- {match: b, source: nope}\n- {match: c}\n"
        "- {match: d, source: shop, checks: [{type: volum}]}\n",
        {"shop": {"d": _listed("d"), "d2": _listed("d2"), "a1": _listed("a1"), "a2": _listed("a2")}, "nope": {}},
    )
    with pytest.raises(ConfigError) as error:
        load(path)
    lines = [(problem.line, problem.code) for problem in error.value.problems]
    assert lines == [
        (5, "config.unknown_key"),
        (6, "config.unknown_reference"),
        (7, "config.missing_key"),
        (8, "config.unknown_check"),
    ]


def test_a_damaged_file_is_an_error_and_a_missing_one_is_not(write, tmp_path: Path) -> None:
    """Without the file no table is known, so none counts as removed."""
    path = write("- {match: '*', source: shop}\n", {"shop": {"a": {"name": 1}}})
    with pytest.raises(ConfigError, match="no list of tables that Tablewatch wrote"):
        load(path)
    (tmp_path / "tablewatch.d/tables.json").unlink()
    loaded = load(path)
    assert loaded.config.tables == ()
    assert loaded.is_left_out("a")
    (tmp_path / "tablewatch.d/tables.json").write_text('{"shop": {}}', encoding="utf-8")
    assert not load(path).is_left_out("a")


def test_pages_change_a_table_of_a_pattern(write, tmp_path: Path) -> None:
    """Their file lies over what the pattern says of it; `values` has both forms."""
    head = HEAD + "web: {changes: true}\nowners: {desk: {}}\n"
    path = write("- {match: '*', source: shop, tier: gold}\n", {"shop": {"a": _listed("a"), "b": _listed("b")}}, head)
    (tmp_path / "tablewatch.d/ui.yaml").write_text("tables: [{name: b, owner: desk}]\n", encoding="utf-8")
    loaded = load(path)
    assert [(table.name, table.owner, table.tier) for table in loaded.config.tables] == [
        ("a", None, "gold"),
        ("b", "desk", "gold"),
    ]
    assert [list(item) for item in loaded.values()["tables"]] == [
        ["name", "source", "tier"],
        ["name", "source", "tier", "owner"],
    ]
    assert loaded.values(expanded=False)["tables"][0] == {"match": "*", "source": "shop", "tier": "gold"}


def test_a_pattern_of_a_team_takes_only_tables_that_the_team_may_define(tmp_path: Path, write) -> None:
    """A grant of names holds for patterns as for entries."""
    head = HEAD + "teams: {crew: {folder: crew, may: [tables], tables: ['crew_*'], sources: [shop]}}\n"
    path = write("- {match: 'b*', source: shop}\n", {"shop": {n: _listed(n) for n in ("a", "b", "crew_a")}}, head)
    (tmp_path / "crew").mkdir()
    (tmp_path / "crew/t.yaml").write_text("tables: [{match: '*', source: shop}]\n", encoding="utf-8")
    assert sorted(_checks(path)) == ["b", "crew_a"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
COLUMNS = st.none() | st.lists(NAMES, max_size=3).map(tuple)
TABLES = st.builds(ListedTable, NAMES, NAMES, st.none() | NAMES, COLUMNS, st.none() | NAMES)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, TABLES, max_size=3), max_size=3))
def test_what_is_known_is_read_back_as_it_was_written(known: dict[str, dict[str, ListedTable]]) -> None:
    """Names are whatever engines allow, and each table has a line."""
    text = dump_known(known)
    assert read_known(text) == known


@given(NAMES, st.lists(NAMES, max_size=3), st.none() | NAMES)
def test_what_is_excluded_is_never_taken(name: str, exclude: list[str], schema: str | None) -> None:
    """Whatever matches, an exclusion of the name wins."""
    node = Node(Place("f", 1, 1), {})
    literal = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
    assert not PatternEntry(node, "*", "shop", (*exclude, literal)).takes(name, schema)
    assert PatternEntry(node, literal, "shop", ()).takes(name, schema)
