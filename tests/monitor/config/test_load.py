"""Loading a configuration."""

import os
from pathlib import Path

import pytest

from monitor.config import Config, ConfigError, Table, find, load
from monitor.terminal.problem import Stop
from sources import path_in_url
from tests.monitor.config.conftest import Load, Problems


def test_a_small_configuration_is_loaded(load_text: Load, small: str) -> None:
    """What is written is typed, what is not has its default, and the checks are built."""
    loaded = load_text(small)
    (table,) = loaded.config.tables
    (check,) = table.checks
    assert (table.name, table.check_id(check), check.type) == ("orders", "orders.not-null", "not_null")
    assert loaded.config.storage.url == f"sqlite:///{path_in_url(str(loaded.path.parent.resolve()))}/tablewatch.db"
    assert loaded.config.owner_of(table) == "crew"
    assert loaded.notes == ()
    assert [path.name for path in loaded.files] == ["tablewatch.yaml"]


def test_places_are_kept(load_text: Load, small: str) -> None:
    """Any value can be asked for its line and column; relative paths belong to the file's folder."""
    loaded = load_text(small)
    place = loaded.place("tables", 0, "checks", 0, "columns", 0)
    assert (Path(place.file).name, place.line, place.column) == ("tablewatch.yaml", 13, 36)
    assert loaded.folder("files") == Path(place.file).parent
    problem = loaded.problem(("tables", 0, "name"), "x.y", "odd")
    assert (problem.line, problem.column, problem.excerpt) == (9, 11, "  - name: orders")


def test_the_digest_changes_with_every_value(load_text: Load, small: str) -> None:
    """Also a value from the environment counts; comments and order of keys do not."""
    text = small.replace("shop", "${PROJECT}")
    one = load_text(text, {"PROJECT": "a"}).digest
    assert one == load_text(text + "# comment\n", {"PROJECT": "a"}).digest
    assert one != load_text(text, {"PROJECT": "b"}).digest
    assert one != load_text(text.replace("[id]", "[key]"), {"PROJECT": "a"}).digest


def test_yaml_traps_reach_the_model_as_text(load_text: Load, small: str) -> None:
    """Country codes, codes with zeros and dates stay what they were."""
    text = small.replace("[id]", "[NO, 0123, 12:30:45, 2026-10-01]")
    assert load_text(text).config.tables[0].checks[0].columns == ("NO", "0123", "12:30:45", "2026-10-01")
    text = small + "cost: {valid_from: 2026-10-01, tiers: {gold: {per_hour: 0.1}}}\n"
    cost = load_text(text).config.cost
    assert (str(cost.valid_from), str(cost.tiers["gold"].per_hour)) == ("2026-10-01", "0.1")


_SQL = (
    "\n      - type: sql\n        id: bad\n        query: {}\n      - type: volume\n        min: 1\n        where: {}\n"
)


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        (">\n          SELECT id FROM t -- bad\n          WHERE n > 1", True),
        (">-\n          SELECT id FROM t # bad\n          WHERE n > 1", True),
        ("SELECT id FROM t -- bad\n          WHERE n > 1", True),
        ("'SELECT id FROM t -- bad\n          WHERE n > 1'", True),
        ("|\n          SELECT id FROM t -- bad\n          WHERE n > 1", False),
        (">\n          SELECT id FROM t WHERE n > 1 -- bad", False),
        (">\n          SELECT id FROM t /* bad -- */\n          WHERE s = 'a -- b'", False),
        ("SELECT id FROM t WHERE n > 1 -- bad", False),
    ],
)
def test_a_comment_in_sql_of_joined_lines_is_refused(
    load_text: Load, problems_of: Problems, small: str, query: str, refused: bool
) -> None:
    """It would hide the SQL of the lines after it; the place and the way to write it are named."""
    for text in (small + _SQL.format(query, "n > 1"), small + _SQL.format("SELECT 1 AS n", query)):
        if not refused:
            load_text(text)
            continue
        (problem,) = problems_of(text)
        key = "query" if "query: " + query in text else "where"
        assert (problem.code, problem.hint) == ("config.sql", f"write '{key}: |', which keeps the lines")


# --- where it is ------------------------------------------------------------------------------------------------------


def test_the_configuration_of_a_folder_is_found(tmp_path: Path) -> None:
    """`tablewatch.yaml`, or a folder `tablewatch/` that holds YAML; nothing else."""
    message = r"no configuration in .*looked for tablewatch\.yaml, tablewatch\.yml and tablewatch/"
    with pytest.raises(ConfigError, match=message):
        find(tmp_path)
    (tmp_path / "tablewatch").mkdir()
    with pytest.raises(ConfigError, match="no configuration"):
        find(tmp_path)
    (tmp_path / "tablewatch" / "a.yaml").write_text("version: 1", encoding="utf-8")
    assert find(tmp_path) == Path("tablewatch")
    (tmp_path / "tablewatch.yaml").write_text("version: 1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"more than one configuration in .*: tablewatch\.yaml, tablewatch") as caught:
        find(tmp_path)
    assert caught.value.problems[0].hint == "select one with -c, or keep only one"


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    """A path that is not there is an error with a way out."""
    with pytest.raises(ConfigError, match="does not exist") as caught:
        load(tmp_path / "none.yaml")
    assert caught.value.problems[0].code == "config.not_found"
    assert "tablewatch init" in str(caught.value.problems[0].hint)


def test_a_file_over_ten_megabytes_is_refused(tmp_path: Path) -> None:
    """The size is looked at before anything is parsed."""
    path = tmp_path / "big.yaml"
    path.write_text("a: " + "x" * 10_000_000, encoding="utf-8")
    with pytest.raises(ConfigError, match="larger than 10 MB"):
        load(path)


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    """A file in Shift-JIS says in which line it stops being UTF-8."""
    path = tmp_path / "sjis.yaml"
    path.write_bytes("version: 1\nproject: 売上\n".encode("shift_jis"))
    with pytest.raises(ConfigError, match="not UTF-8") as caught:
        load(path)
    assert caught.value.problems[0].line == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    """Permissions are an error, not a crash."""
    path = tmp_path / "closed.yaml"
    path.write_text("version: 1", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(path)


def test_a_list_is_no_configuration(problems_of: Problems) -> None:
    """The whole is a mapping."""
    (problem,) = problems_of("- a\n- b\n")
    assert (problem.code, problem.line) == ("config.type", 1)


# --- a folder ---------------------------------------------------------------------------------------------------------


def test_files_of_a_folder_are_merged(tmp_path: Path, small: str) -> None:
    """Mappings merge, lists append, sub-folders are read, hidden files are not, and paths belong to their own file."""
    (tmp_path / "sales").mkdir()
    (tmp_path / "a.yaml").write_text(small, encoding="utf-8")
    more = "sources:\n  lake: {files: x.csv}\ntables:\n  - {name: more, source: lake, owner: crew}\n"
    (tmp_path / "sales" / "b.yml").write_text(more, encoding="utf-8")
    (tmp_path / ".hidden.yaml").write_text("nonsense", encoding="utf-8")
    loaded = load(tmp_path, environment={})
    assert [table.name for table in loaded.config.tables] == ["orders", "more"]
    assert list(loaded.config.sources) == ["files", "lake"]
    assert loaded.folder("lake") == tmp_path / "sales"
    assert loaded.folder("files") == tmp_path
    assert [path.name for path in loaded.files] == ["a.yaml", "b.yml"]


def test_a_scalar_given_twice_names_both_places(tmp_path: Path, small: str) -> None:
    """Two files that both say a value disagree, even when it is the same value."""
    (tmp_path / "a.yaml").write_text(small, encoding="utf-8")
    (tmp_path / "b.yaml").write_text("project: shop\nowners: {crew: {name: Other}}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environment={})
    first, second = caught.value.problems
    assert (first.code, first.line, first.column) == ("config.given_twice", 1, 10)
    assert str(first.file).endswith("b.yaml")
    assert f"also in {tmp_path / 'a.yaml'}:2:10" in first.message
    assert "'name' is given twice" in second.message


def test_errors_of_all_files_are_told_at_once(tmp_path: Path, small: str) -> None:
    """A file that is no YAML does not hide what is wrong in the others."""
    (tmp_path / "a.yaml").write_text(small.replace("owner: crew", "owner: crw"), encoding="utf-8")
    (tmp_path / "b.yaml").write_text("tables: [", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environment={})
    assert [problem.code for problem in caught.value.problems] == ["config.unknown_reference", "config.syntax"]


# --- secrets ----------------------------------------------------------------------------------------------------------

_SECRET = "hunter2-and-more"  # noqa: S105 - the test's own secret


def test_what_came_from_outside_is_masked(load_text: Load, small: str) -> None:
    """The values shown hold neither environment values nor addresses of channels; with everything revealed they do."""
    text = small + 'alerts: {channels: {ops: {apprise: "json://u:${PW}@h/"}, log: {apprise: "json://u:plain@h/"}}}\n'
    loaded = load_text(text.replace("The crew", "'${CREW}'"), {"PW": _SECRET, "CREW": "A"})
    channels = loaded.values()["alerts"]["channels"]
    assert channels == {"ops": {"apprise": "json://***"}, "log": {"apprise": "json://***"}}
    assert loaded.values()["owners"]["crew"]["name"] == "***"
    assert _SECRET in str(loaded.values(redacted=False))
    assert loaded.config.alerts.channels["ops"].apprise == f"json://u:{_SECRET}@h/"


def test_the_redactor_masks_secrets_in_any_text(load_text: Load, small: str) -> None:
    """Secrets are masked wherever they turn up, except names that identify results."""
    text = small.replace("email: crew@example.org", "email: '${MAIL}'").replace("name: orders", "name: ${TABLE}")
    loaded = load_text(text, {"MAIL": "secret@example.org", "TABLE": "orders_live"})
    assert loaded.redactor("to secret@example.org about orders_live") == "to *** about orders_live"
    assert loaded.redactor.value({"a": ["secret@example.org", 5]}) == {"a": ["***", 5]}


def test_errors_do_not_tell_secrets(problems_of: Problems, small: str) -> None:
    """A wrong value of the environment is not quoted, however short it is."""
    for secret in ("a1", _SECRET):
        text = small + "storage: {keep_incidents: '${KEEP}'}\nlocale: ${KEEP}\n"
        text = text.replace("Asia/Tokyo", "${KEEP}").replace("owner: crew", "owner: ${KEEP}")
        problems = problems_of(text, {"KEEP": secret})
        assert len(problems) == 4
        assert secret not in str([problem.as_json() for problem in problems])


# --- the examples -----------------------------------------------------------------------------------------------------


@pytest.fixture
def examples(reference_data: Path) -> Path:
    """Return the folder of the example configurations shared by all, or skip."""
    folder = reference_data.parent / "examples"
    if not folder.is_dir():
        pytest.skip("the shared examples are not beside the reference data")
    return folder


def test_the_weather_example_is_loaded(examples: Path) -> None:
    """The published example works unchanged: four tables, twelve checks, paths beside the file."""
    loaded = load(examples / "weather.yaml", environment={})
    assert loaded.config.project == "airport-weather"
    assert [len(table.checks) for table in loaded.config.tables] == [7, 2, 3, 1]
    assert loaded.config.tables[2].check_id(loaded.config.tables[2].checks[1]) == "Customer.not-null"
    assert loaded.folder("airports") == examples
    assert loaded.notes == ()


def test_the_shop_example_is_loaded(examples: Path) -> None:
    """The fuller example works unchanged."""
    loaded = load(examples / "shop.yaml", environment={})
    assert loaded.config.locale == "ja"
    assert str(loaded.config.tables[1].schedule) == "cron: 0 6 * * mon-fri"
    assert [check.name for check in loaded.config.tables[1].checks][2:] == [
        "research-extract-classification",
        "research-extract-k-anonymity",
        "research-extract-l-diversity",
        "research-extract-population-uniqueness",
    ]
    assert [note.message.split(":")[0] for note in loaded.notes] == [
        "owner 'crm-data' gets no alerts on slack-crm",
    ]


_MORE = """
products: {sold: {tables: [orders], consumers: [board]}}
slo: {orders: {ttd: 1h}}
web: {listen: "127.0.0.1:8700"}
releases:
  survey:
    table: orders
    columns: {id: direct-identifier, age: quasi-identifier}
    limits: {k: 5}
    hierarchies: {age: {type: intervals, widths: [5]}}
    remedies: [{remedy: suppress}]
"""


def test_late_sections_are_as_if_they_were_read_at_once(tmp_path: Path, small: str) -> None:
    """Each field, of the configuration and of its tables, has the value it has when all is read; so has the rest."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(small + _MORE, encoding="utf-8")
    whole, late = load(path), load(path, lazily=True)
    assert not {"releases", "web"} & late.config.__dict__.keys()
    copy = late.config.model_copy(update={"project": "other"})
    assert copy.releases == whole.config.releases
    (table,) = late.config.tables
    assert [check.name for check in table.checks] == ["not-null", "survey-classification", "survey-k-anonymity"]
    assert [name for name in Table.model_fields if getattr(table, name) != getattr(whole.config.tables[0], name)] == []
    assert [name for name in Config.model_fields if getattr(late.config, name) != getattr(whole.config, name)] == []
    assert late.config == whole.config
    assert late.config.products_of("orders") == ("sold",)
    assert (late.digest, late.notes, late.read_beside) == (whole.digest, whole.notes, whole.read_beside)
    assert late.check_places() == whole.check_places()
    assert not hasattr(late.config, "no_such_field")


def test_errors_of_late_sections_are_told_when_one_is_used(tmp_path: Path, small: str) -> None:
    """All at once, each time one is used; what was read before stays."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(f"{small}{_MORE}daemon: {{workers: none}}\n".replace(":8700", ""), encoding="utf-8")
    late = load(path, lazily=True)
    with pytest.raises(ConfigError) as refused:
        load(path)
    assert len(refused.value.problems) == 2
    for use in (lambda: late.config.releases, lambda: late.config.tables[0].checks, lambda: late.digest):
        with pytest.raises(Stop) as stop:
            use()
        assert stop.value.problems == refused.value.problems
    assert late.config.table("orders") is not None
