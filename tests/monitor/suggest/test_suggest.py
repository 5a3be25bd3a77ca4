"""What `suggest` proposes for tables, and what `init` and `check` make of it."""

import json
import random
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from monitor.cli import run
from monitor.clock import SystemClock
from monitor.scan.results import Subject, Target
from monitor.suggest import profile
from monitor.suggest.catalogue import read_catalogue
from monitor.suggest.proposal import Confidence, Proposal
from monitor.suggest.suggest import SourceSuggestions, SuggestionTarget, suggest_checks
from monitor.terminal.output import Invocation
from sources import SourceSpec

Suggest = Callable[[SourceSpec], SourceSuggestions]


def _suggest(spec: SourceSpec) -> SourceSuggestions:
    entries = read_catalogue(spec)
    targets = [
        SuggestionTarget(Target(Subject(entry.name, entry.name, ()), spec), entry.key, entry.columns)
        for entry in entries
    ]
    return suggest_checks(targets, SystemClock())


def _of(suggestions: SourceSuggestions, table: str) -> Sequence[Proposal]:
    return next(item.proposals for item in suggestions.tables if item.name == table)


def _kinds(proposals: Sequence[Proposal], *, active: bool) -> set[tuple[str, tuple[str, ...]]]:
    return {(proposal.kind, proposal.columns) for proposal in proposals if proposal.active is active}


def _csv(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> SourceSpec:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return SourceSpec("files", folder, files="*.csv")


def _shop(path: Path, now: datetime, *, faults: bool) -> None:
    """Write a project as dbt's examples are: customers and orders without declared keys, and a load time."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE raw_customers (id INTEGER, first_name TEXT, country TEXT)")
        connection.execute("CREATE TABLE raw_orders (id INTEGER, customer_id INTEGER, status TEXT, loaded_at TEXT)")
        connection.execute("CREATE TABLE raw_payments (id INTEGER, order_id INTEGER, amount REAL)")
        connection.execute("CREATE VIEW paid AS SELECT * FROM raw_orders WHERE status = 'paid'")
        connection.execute("CREATE TABLE raw_refunds (id INTEGER, order_id INTEGER)")
        for number in range(1, 101):
            connection.execute("INSERT INTO raw_customers VALUES (?, ?, 'FR')", (number, f"name {number % 40}"))
            loaded = now - timedelta(days=(40 if faults else 0) + 100 - number, hours=1)
            row = (number, 1 + number % 90, ("paid", "new")[number % 2], loaded.isoformat(sep=" ", timespec="seconds"))
            connection.execute("INSERT INTO raw_orders VALUES (?, ?, ?, ?)", row)
            connection.execute("INSERT INTO raw_payments VALUES (?, ?, ?)", (number, number, number / 3))
        if faults:
            connection.execute("INSERT INTO raw_customers VALUES (7, 'twice', 'FR')")
            connection.execute("UPDATE raw_payments SET order_id = NULL WHERE id = 30")
    connection.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = run([*words, "--format", "json"], Invocation())
    return code, json.loads(capsys.readouterr().out)


def test_faults_that_come_later_are_found(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A duplicate key, a NULL and a stale source open incidents under what `init` wrote by itself."""
    now = datetime.now(UTC)
    _shop(here / "shop.db", now, faults=False)
    assert run(["init"], Invocation()) == 0
    assert _command(capsys, "check")[0] == 0
    (here / "shop.db").unlink()
    _shop(here / "shop.db", now, faults=True)
    code, report = _command(capsys, "check")
    failing = {result["check_id"] for result in report["results"] if result["status"] == "fail"}
    assert code == 1
    assert failing >= {"raw_customers.primary-key", "raw_payments.not-null", "raw_orders.freshness"}
    assert all(result["incident"] for result in report["results"] if result["status"] == "fail")


def test_faults_that_are_there_are_shown_and_open_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same faults, when they are there before, are shown by `init`; the first run opens no incident for a guess."""
    _shop(here / "shop.db", datetime.now(UTC), faults=True)
    assert run(["init"], Invocation()) == 0
    shown = capsys.readouterr().out
    assert "raw_customers: primary_key id fails now: 1 duplicate key (2 rows)" in shown
    assert "raw_payments: not_null order_id fails now: order_id: 1 of 100 rows are NULL (1.0%)" in shown
    assert "raw_orders: freshness loaded_at (max_age: 62h) fails now: the newest row is 40 d 1 h old" in shown
    text = (here / "tablewatch.yaml").read_text(encoding="utf-8")
    assert "# - {type: primary_key, columns: [id], severity: critical}" in text
    assert "# low: fails now: 1 duplicate key (2 rows); 100 distinct values in 101 rows" in text
    assert "what fails now is a comment there" in shown
    assert "\n    # loaded_at: loaded_at   # when rows came" in text
    code, report = _command(capsys, "check")
    assert (code, report["summary"]["fail"], report["summary"]["unknown"]) == (0, 0, 0)


def test_empty_tables_and_views_are_handled(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty table proposes nothing and opens nothing; a view is measured as a table is."""
    _shop(here / "shop.db", datetime.now(UTC), faults=False)
    code, result = _command(capsys, "init")
    rows = {table["table"]: table["rows"] for table in result["suggestions"]}
    assert (code, rows["raw_refunds"], rows["paid"]) == (0, 0, 50)
    proposals = {table["table"]: table["proposals"] for table in result["suggestions"]}
    assert proposals["raw_refunds"] == []
    assert proposals["paid"]
    assert _command(capsys, "check")[0] == 0


def test_references_follow_names_and_rows(here: Path) -> None:
    """`customer_id` refers to the key of `raw_customers`, since it is named so and each value is there."""
    _shop(here / "shop.db", datetime.now(UTC), faults=False)
    suggestions = _suggest(SourceSpec("shop", here, url="sqlite:///shop.db"))
    references = {
        (table.name, proposal.check["references"])
        for table in suggestions.tables
        for proposal in table.proposals
        if proposal.kind == "foreign_key" and proposal.check is not None and proposal.active
    }
    assert {("raw_orders", "raw_customers.id"), ("raw_payments", "raw_orders.id")} <= references


def test_no_value_is_shown_or_written_unless_it_is_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists of values and limits are of the table: they are hidden, and comments, without `--show-values`."""
    rows = [{"id": at, "city": ("Oslo", "Bergen", "Tromsø")[at % 3], "size": 100 + at % 7} for at in range(4000)]
    _csv(here, "people", rows)
    hidden = _command(capsys, "init")[1]
    text = (here / "tablewatch.yaml").read_text(encoding="utf-8")
    seen = _command(capsys, "suggest", "people")[1]
    assert run(["suggest", "people"], Invocation()) == 0
    shown = capsys.readouterr().out
    for place in (json.dumps(hidden, ensure_ascii=False), text, json.dumps(seen, ensure_ascii=False), shown):
        assert "Oslo" not in place
        assert "106" not in place
    assert "# accepted_values city: 3 values in 4,000 rows" in text
    assert _command(capsys, "init", "--force", "--show-values")[0] == 0
    text = (here / "tablewatch.yaml").read_text(encoding="utf-8")
    assert '- {type: accepted_values, column: city, values: [Bergen, Oslo, "Tromsø"]}' in text
    assert _command(capsys, "check")[0] == 0


def test_what_is_configured_is_not_proposed_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`suggest` of a table that `init` has just written proposes none of its checks."""
    _shop(here / "shop.db", datetime.now(UTC), faults=False)
    assert run(["init"], Invocation()) == 0
    _, result = _command(capsys, "suggest", "raw_orders", "raw_customers")
    active = [proposal["check"] for table in result["tables"] for proposal in table["proposals"] if proposal["active"]]
    assert result["schema"] == "tablewatch.suggest/1"
    assert active == []


def test_marks_of_null_are_settings_of_the_source(tmp_path: Path) -> None:
    """`NA` among numbers is read as NULL, and the column is then proposed for as the numbers it holds."""
    rows = [{"id": at, "gust": at % 40 / 2 if at % 9 else "NA"} for at in range(4000)]
    suggestions = _suggest(_csv(tmp_path, "weather", rows))
    (mark,) = suggestions.null_values
    assert (mark.setting, mark.confidence) == ({"csv": {"null_values": ["NA"]}}, Confidence.HIGH)
    assert ("range", ("gust",)) in _kinds(_of(suggestions, "weather"), active=True)


def test_a_mark_that_is_a_value_elsewhere_is_not_sure(tmp_path: Path) -> None:
    """`NA` is Namibia in another column of the source, so a person has to decide."""
    _csv(tmp_path, "weather", [{"id": at, "gust": "NA" if at % 3 else at} for at in range(300)])
    spec = _csv(tmp_path, "countries", [{"code": code, "n": 1} for code in ("NO", "NA", "FR", "DE")])
    (mark,) = _suggest(spec).null_values
    assert mark.confidence is Confidence.LOW


def test_a_composite_key_is_found_smallest_first(tmp_path: Path) -> None:
    """Two columns that name each row are the key; three that do so too are not proposed."""
    rows = [{"station": f"S{at % 8}", "day": at // 8, "hour": at % 24, "level": at % 50} for at in range(4000)]
    proposals = _of(_suggest(_csv(tmp_path, "levels", rows)), "levels")
    keys = [proposal for proposal in proposals if proposal.kind == "key"]
    assert [proposal.columns for proposal in keys if proposal.active] == [("station", "day")]
    assert all(len(proposal.columns) == 2 for proposal in keys)


def test_the_times_of_a_series_may_be_its_key(tmp_path: Path) -> None:
    """Times that begin each row and are never alike are a key to decide on; those of events are none."""
    rows = [{"time": f"2026-01-{1 + at // 24:02d} {at % 24:02d}:00:00", "level": at % 50} for at in range(500)]
    events = [{"level": row["level"], "time": row["time"]} for row in rows]
    for name, written, keys in (("series", rows, [("time",)]), ("events", events, [])):
        proposals = _of(_suggest(_csv(tmp_path, name, written)), name)
        assert [proposal.columns for proposal in proposals if proposal.kind in {"key", "unique"}] == keys
        assert not any(proposal.active for proposal in proposals if proposal.kind == "key")


def test_columns_that_are_unique_by_accident_are_no_key(tmp_path: Path) -> None:
    """Numbers that are far apart, and pairs of columns with more combinations than rows, prove nothing."""
    seeded = random.Random(7)
    rows = [
        {"a": seeded.randrange(50), "weight": seeded.randrange(10**9), "b": seeded.randrange(10**9)} for _ in range(90)
    ]
    proposals = _of(_suggest(_csv(tmp_path, "measured", rows)), "measured")
    assert [proposal.columns for proposal in proposals if proposal.kind in {"key", "unique"}] == []


def test_a_limit_needs_three_thousand_rows(tmp_path: Path) -> None:
    """A limit that was never passed is offered from 3,000 rows on, with what they say of the others."""
    for count, offered in ((2999, False), (3000, True)):
        rows = [{"id": at, "price": 5 + at % 90 / 8} for at in range(count)]
        proposals = _of(_suggest(_csv(tmp_path, "prices", rows)), "prices")
        limits = [proposal for proposal in proposals if proposal.kind == "range"]
        assert bool(limits) is offered
    assert "at most 0.1 % of rows break it, 95 %" in limits[0].why
    assert limits[0].breaks_at_most == pytest.approx(3 / 3000)


def test_a_list_of_values_needs_a_table_that_shows_no_new_ones(tmp_path: Path) -> None:
    """A column in which one row of a hundred brings a new value has no list of accepted values."""
    rows = [
        {"id": at, "city": f"c{at // 100}x" if at % 100 == 0 else "Oslo", "kind": "ab"[at % 2]} for at in range(4000)
    ]
    proposals = _of(_suggest(_csv(tmp_path, "people", rows)), "people")
    assert [proposal.columns for proposal in proposals if proposal.kind == "accepted_values"] == [("kind",)]


def test_misspelt_values_are_left_out_of_the_list(tmp_path: Path) -> None:
    """A rare value that is one letter from a frequent one is a fault that the list finds now, not a value of it."""
    rows = [{"id": at, "city": "Bergne" if at == 9 else ("Bergen", "Tromso")[at % 2]} for at in range(4000)]
    proposals = _of(_suggest(_csv(tmp_path, "people", rows)), "people")
    (proposal,) = [proposal for proposal in proposals if proposal.kind == "accepted_values"]
    assert proposal.check is not None
    assert proposal.check["values"] == ["Bergen", "Tromso"]
    assert proposal.fails_now
    assert not proposal.active


def test_large_tables_are_sampled_and_reported_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size, values come from a random sample whose rows are stated; keys are still counted in all rows."""
    monkeypatch.setattr(profile, "EXACT_ROWS", 2_000)
    duckdb.sql("SELECT i AS id, i % 7 AS kind, 'x' || (i % 3) AS word FROM range(50000) t(i)").write_parquet(
        str(tmp_path / "big.parquet")
    )
    (table,) = _suggest(SourceSpec("files", tmp_path, files="*.parquet")).tables
    assert table.statistics is not None
    assert (table.statistics.rows, table.statistics.scanned) == (50_000, 50_000)
    assert 1_500 < table.statistics.sampled < 2_500
    assert ("key", ("id",)) in _kinds(table.proposals, active=True)


def test_a_table_that_cannot_be_read_has_its_reason(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`suggest` leaves with 3 and names the table; the others are shown."""
    _csv(here, "good", [{"id": 1}, {"id": 2}])
    _csv(here, "bad", [{"id": 1}])
    assert run(["init"], Invocation()) == 0
    (here / "bad.csv").write_text('id,b\n1,"open\n', encoding="utf-8")
    code, result = _command(capsys, "suggest", "good", "bad")
    problems = {table["table"]: table["problem"] for table in result["tables"]}
    assert (code, result["ok"], problems["good"]) == (3, False, None)
    assert "bad.csv" in problems["bad"]


def test_proposals_are_written_behind_the_checks_that_are_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--write` keeps every line of the file, adds what is sure as checks, and a second run adds nothing."""
    _shop(here / "shop.db", datetime.now(UTC), faults=True)
    path = here / "tablewatch.yaml"
    before = (
        "version: 1\nproject: p   # ours\nsources:\n  shop: {url: 'sqlite:///shop.db'}\ntables:\n"
        "  - name: raw_customers\n    source: shop\n    checks:\n      - {type: volume, min: 3}   # by hand\n"
        "  - name: raw_payments\n    source: shop\n"
    )
    path.write_text(before, encoding="utf-8")
    code, result = _command(capsys, "suggest", "raw_customers", "raw_payments", "--write")
    after = path.read_text(encoding="utf-8")
    assert code == 0
    assert [item["problem"] for item in result["written"]] == [None, None]
    assert all(line in after for line in before.splitlines())
    assert "# - {type: primary_key, columns: [id], severity: critical}" in after
    assert _command(capsys, "check")[0] == 0
    assert _command(capsys, "suggest", "raw_customers", "raw_payments", "--write")[0] == 0
    assert path.read_text(encoding="utf-8") == after


def test_a_file_that_cannot_be_edited_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Braces with a comment are not rewritten: the command leaves with 2 and says the line."""
    _shop(here / "shop.db", datetime.now(UTC), faults=False)
    text = "version: 1\nproject: p\nsources:\n  shop: {url: 'sqlite:///shop.db'}\ntables:\n"
    text += "  - {name: raw_orders,  # of the shop\n     source: shop}\n"
    (here / "tablewatch.yaml").write_text(text, encoding="utf-8")
    code, result = _command(capsys, "suggest", "raw_orders", "--write")
    assert (code, result["ok"]) == (2, False)
    assert "line 6" in result["written"][0]["problem"]
    assert (here / "tablewatch.yaml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("values", "pattern", "faults"),
    [
        ([f"AB-{at:05}" for at in range(4000)] + ["AB-123", "ab-00001"], "[A-Z]{2}-[0-9]{5}", 2),
        ([f"{'ABC'[: 1 + at % 3]}-{at}" for at in range(4000)], "[A-Z]{1,3}-[0-9]{1,4}", 0),
        ([f"{1000 + at * 7:,}.50" for at in range(4000)] + ["12.50", "1.234,50"], "[0-9]{1,2},[0-9]{3}[.][0-9]{2}|", 1),
        ([f"{1 + at % 28:02}/{1 + at % 12:02}/2026" for at in range(4000)], "[0-9]{2}/[0-9]{2}/[0-9]{4}", 0),
    ],
)
def test_patterns_follow_the_shapes_of_texts(tmp_path: Path, values: Sequence[str], pattern: str, faults: int) -> None:
    """A code of one length has that length, a number may be shorter; what is rare and written otherwise is a fault."""
    duckdb.sql("SELECT unnest($1) AS code", params=[list(values)]).write_parquet(str(tmp_path / "t.parquet"))
    proposals = _of(_suggest(SourceSpec("files", tmp_path, files="*.parquet")), "t")
    (proposal,) = [proposal for proposal in proposals if proposal.kind == "pattern"]
    assert proposal.check is not None
    assert proposal.check["pattern"].startswith(pattern)
    assert proposal.fails_now is bool(faults)
    assert proposal.now is not None
    assert f"code: {faults} of" in proposal.now.message or not faults


def test_quasi_identifiers_are_left_to_a_person(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns that are named as what people know of each other are written as a comment of the table."""
    _csv(here, "members", [{"id": at, "birth_year": 1950 + at % 50, "sex": "fm"[at % 2]} for at in range(100)])
    assert run(["init"], Invocation()) == 0
    text = (here / "tablewatch.yaml").read_text(encoding="utf-8")
    assert "    # columns: {birth_year: quasi-identifier, sex: quasi-identifier}   # named as" in text
    assert _command(capsys, "suggest", "members")[0] == 0
    assert run(["suggest", "members"], Invocation()) == 0
    assert "quasi_identifiers birth_year, sex" in capsys.readouterr().out


def test_words_have_no_pattern(tmp_path: Path) -> None:
    """A column of words is written in as many ways as there are words."""
    words = [f"{'abcdefgh'[: 1 + at % 8]}{'xyz'[: at % 4]}".capitalize() for at in range(4000)]
    proposals = _of(_suggest(_csv(tmp_path, "t", [{"id": at, "word": word} for at, word in enumerate(words)])), "t")
    assert [proposal for proposal in proposals if proposal.kind == "pattern"] == []


def _places(count: int, wrong: int = 0) -> Sequence[Mapping[str, object]]:
    """Return rows in which a zip code has one city and a city one country; the first `wrong` have another city."""
    dice = random.Random(5)
    rows = []
    for at in range(count):
        zip_code = dice.randrange(40)
        city = f"city {zip_code // 2}" if at >= wrong else f"cyti {zip_code // 2}"
        country = ("NO", "SE", "DK", "FI")[zip_code // 2 % 4]
        rows.append({"id": at, "zip": f"Z{zip_code}", "city": city, "country": country, "size": dice.randrange(9)})
    return rows


def _dependencies(suggestions: SourceSuggestions, table: str) -> Mapping[tuple[str, ...], Proposal]:
    return {item.columns: item for item in _of(suggestions, table) if item.kind == "functional_dependency"}


def test_functional_dependencies_are_proposed_with_their_evidence(here: Path) -> None:
    """A zip code has one city, a city one country: sure where 3,000 rows would differ by chance; none decides size."""
    found = _dependencies(_suggest(_csv(here, "places", _places(4000))), "places")
    assert set(found) == {("zip", "city"), ("city", "country")}
    proposal = found["zip", "city"]
    assert proposal.why.startswith("40 values of zip stand in several rows, each with one city; about 3,7")
    assert proposal.active
    assert not found["city", "country"].active  # of 3,980 rows three in four would differ: 2,985


def test_wrong_values_of_a_dependency_fail_now(here: Path) -> None:
    """What nearly all rows keep is shown with what it finds, and is a comment."""
    proposal = _dependencies(_suggest(_csv(here, "places", _places(4000, wrong=60))), "places")["zip", "city"]
    assert proposal.fails_now
    assert not proposal.active
    assert proposal.now is not None
    assert proposal.now.message == "city: 60 of 4,000 rows differ from other rows with the same zip (1.5%)"


def test_dependencies_that_say_little_are_not_proposed(here: Path) -> None:
    """A key decides everything, and a column of nearly one value is decided by all: neither is proposed."""
    rows = [{"id": at, "group": at * 7919 % 500, "state": "done" if at else "new"} for at in range(1000)]
    assert not _dependencies(_suggest(_csv(here, "jobs", rows)), "jobs")


def test_configured_dependency_is_not_proposed_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`suggest --write` appends a dependency once; the other direction is another check."""
    _csv(here, "places", _places(4500))
    (here / "tablewatch.yaml").write_text(
        "version: 1\nproject: p\nsources: {files: {files: '*.csv'}}\ntables:\n"
        "  - name: places\n    source: files\n    checks:\n"
        "      - {type: functional_dependency, determinant: [zip], dependent: city}\n",
        encoding="utf-8",
    )
    code, result = _command(capsys, "suggest", "places")
    (table,) = result["tables"]
    kinds = {tuple(item["columns"]) for item in table["proposals"] if item["kind"] == "functional_dependency"}
    assert (code, kinds) == (0, {("city", "country")})
    assert run(["suggest", "places", "--write"], Invocation()) == 0
    assert "{type: functional_dependency" in (here / "tablewatch.yaml").read_text(encoding="utf-8").split("city}", 1)[1]
    assert _command(capsys, "check")[0] == 0
