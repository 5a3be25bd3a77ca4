"""The pages about releases: the record with its certificates, and the comparison of remedies."""

import shlex
import subprocess
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from monitor.config import Limits, Release
from monitor.releases.compare import ANSWERS, HOLDS, NOT_TRIED, REFUSED, ReleaseComparison, RemedyTrial
from monitor.releases.overview import ReleaseState
from monitor.releases.plan import RemedyKind
from monitor.releases.record import ReleaseRecord
from monitor.releases.state import standing
from monitor.reporting import release_comparison, release_record
from monitor.reporting.release_record import Certificate, parameter
from monitor.terminal.localizer import Localizer
from store import ReleaseEvent, ReleaseEventKind
from tests.monitor.reporting.sample import NOW
from tests.monitor.reporting.test_render import HOSTILE, Outline

VOICES = {locale: Localizer(locale, "Asia/Tokyo") for locale in ("en", "ja")}
COLUMNS = {"id": "direct-identifier", "name": "direct-identifier", "age": "quasi-identifier", "pay": "sensitive"}
LABEL = "40-49-as-a-label"


@pytest.fixture(params=["en", "ja"])
def localizer(request):
    """Return a localizer of each language."""
    return VOICES[request.param]


def body(**more: Any) -> dict[str, Any]:
    """Return what the registry keeps of an export."""
    return {
        "table": "people",
        "file": "people.csv",
        "sha256": "ab" * 32,
        "bytes": 1234,
        "rows": 390,
        "rows_suppressed": 10,
        "columns": ["id", "age", "pay"],
        "columns_left_out": ["name"],
        "pseudonyms": ["id"],
        "quasi_identifiers": ["age"],
        "sensitive": ["pay"],
        "remedy": "generalise",
        "kind": "table",
        "parameters": {"type": "generalise", "k": 5, "l": {"pay": {"kind": "distinct", "l": 2.0}}, "t": {}},
        "limits": {"k": 5, "l": 2.0, "sampling_fraction": 1.0},
        "reached": {"k": 6, "highest_risk": 1 / 6, "average_risk": 0.03, "l": 3, "t": None},
        "question": 'SELECT min(n) FROM (SELECT count(*) AS n FROM output GROUP BY "age")',
        "epsilon": None,
        "information_lost": {"age": 42.0},
        "audience": "University",
        "purpose": "Study",
        "legal_basis": "Consent",
        "approved_by": "privacy-desk",
        "approved_at": NOW.isoformat(),
        "approval_note": "ticket 1",
        "expires_at": (NOW + timedelta(days=90)).isoformat(),
        "earlier": [
            {
                "export": "first",
                "exported_at": NOW.isoformat(),
                "persons_in_both": 345,
                "persons_exposed": 0,
                "persons_left_over": 2,
            }
        ],
        "exposed_by_all": 1234,
        **more,
    }


def randomised() -> dict[str, Any]:
    """Return what it keeps of a randomised one, whose mechanism names the values of its domain."""
    return body(
        kind="randomised",
        epsilon="1",
        question=f"SELECT count(*) FROM output WHERE age NOT IN ('{LABEL}')",
        reached={"mechanism": "attribute-wise", "domains": {"age": [LABEL]}, "epsilon": "1"},
        parameters={"type": "randomise", "epsilon": "1", "others": {"age": LABEL}, "where": LABEL},
        earlier=[],
        exposed_by_all=None,
        pseudonyms=[],
        columns=["age"],
    )


def synthetic() -> dict[str, Any]:
    """Return what it keeps of a synthetic one, under zCDP."""
    tables = [{"columns": ["age", "sex"], "cells": 40, "noise": "9", "standard_deviation": 3.0, "expected_error": 0.12}]
    facts = {"epsilon": "1", "rho": "0.01", "delta": "1e-09", "unit": "person", "rows_per_unit": 2}
    reached = {**facts, "adjacency": "add-remove", "domains": {"age": [LABEL]}, "tables": tables}
    return {**randomised(), "kind": "synthetic", "reached": reached}


def event(kind: ReleaseEventKind, number: int, **told: Any) -> ReleaseEvent:
    """Return a fact."""
    values = {"actor": "privacy-desk", "note": "ticket 1", "body": {"remedy": "generalise", "digest": "d"}, **told}
    return ReleaseEvent("survey", kind, recorded_at=NOW + timedelta(minutes=number), id=number, **values)


def record(name: str = "survey", **told: Any) -> ReleaseRecord:
    """Return a record with an approval, three exports and a hold."""
    release = Release.model_validate({"table": "people", "columns": COLUMNS, "audience": "University"})
    facts = [
        event(ReleaseEventKind.APPROVED, 1, **told),
        event(ReleaseEventKind.EXPORTED, 2, body=body(earlier=None)),
        event(ReleaseEventKind.EXPORTED, 3, body=body()),
        event(ReleaseEventKind.EXPORTED, 4, body=randomised()),
        event(ReleaseEventKind.HELD, 5, **told),
    ]
    held = standing(facts, digest="d", expires_after=None, now=NOW)
    return ReleaseRecord(name, ReleaseState(name, release, NOW, [], held), facts[::-1], NOW)


def page(found: ReleaseRecord, localizer: Localizer) -> Outline:
    """Return the page of a record."""
    return Outline(release_record.record_html(found, localizer, project="shop"))


@pytest.mark.parametrize("language", VOICES)
def test_a_synthetic_table_shows_what_was_measured(language: str):
    """Each table with its expected error, rho, delta and unit; no value of a domain."""
    found = record()
    event_of_export = event(ReleaseEventKind.EXPORTED, 6, body=synthetic())
    found = replace(found, events=[event_of_export, *found.events])
    text = page(found, VOICES[language]).text
    assert "age \N{MULTIPLICATION SIGN} sex" in text
    assert "12%" in text
    assert LABEL not in text
    if language == "en":
        for words in ("rho 0.01, delta 1e-09.", "Unit: person, at most 2 rows", "that of the tree, not of the table"):
            assert words in text


def test_the_record_tells_everything_that_was_kept():
    """Limits asked and reached, the method, columns, approver, expiry, hash, and every decision, the newest first."""
    said = page(record(), VOICES["en"]).text.replace("\N{EN DASH}", "-")
    for told in (
        "smallest equivalence class (k) ≥ 5 6",
        "highest re-identification risk of a record ≤ 20% 17%",
        "distinct sensitive values per equivalence class (l) ≥ 2 3",
        "share of population uniques - -",
        "epsilon: bound on the influence of one row on the output - 1",
        "l pay: kind: distinct; l: 2",
        "Dropped columns name",
        "id direct identifier replaced by a release-specific pseudonym",
        "age quasi-identifier treated 42%",
        "390 · suppressed: 10",
        "2026-11-16 09:12 · privacy-desk ticket 1",
        "2027-02-14 09:12",
        "ab" * 32,
        "nor legal advice",
        "Not measured:",
        "first 345 0 2",
        "People in groups below the limit across all exports: 1,234",
        "Cannot be compared: the release has no person key.",
    ):
        assert told in said, told
    assert said.index("Export 3") < said.index("Export 2: people.csv") < said.index("Export 1: people.csv")


def test_no_value_stands_on_the_page(localizer):
    """Labels of values, which the mechanism of a randomised table names, are in the JSON form alone."""
    assert LABEL not in release_record.record_html(record(), localizer, project="shop")


def test_the_json_form_has_the_certificates():
    """Every fact, the newest first; an export with its certificate."""
    found = record().to_json()
    assert found["schema"] == "tablewatch.release-record/1"
    assert [one["kind"] for one in found["record"]] == ["held", "exported", "exported", "exported", "approved"]
    assert found["record"][1]["certificate"]["reached"]["domains"] == {"age": [LABEL]}
    assert found["record"][2]["certificate"] == body()


def test_a_release_that_is_gone_keeps_its_record(localizer):
    """What left stays on record."""
    gone = replace(record(), state=None)
    assert "people.csv" in page(gone, localizer).text
    assert gone.to_json()["standing"] is None


def test_pages_are_sound(localizer):
    """One h1, captions, scopes, names, no script, and every reference leads somewhere."""
    for outline in (page(record(), localizer), compared(localizer)):
        assert outline.elements.count("h1") == 1
        assert "script" not in outline.elements
        tables = outline.elements.count("table") - outline.values("role").count("presentation")
        assert outline.elements.count("caption") == tables
        assert outline.elements.count("th") == len(outline.values("scope"))
        ids = outline.values("id")
        assert len(ids) == len(set(ids))
        labels = {name for value in outline.values("aria-labelledby") for name in (value or "").split()}
        assert labels <= set(ids)
        links = [value for value in outline.values("href") if value and value != "data:,"]
        assert links
        assert {value.removeprefix("#") for value in links} <= set(ids)


def test_what_others_wrote_stays_text(localizer):
    """A release, a note, a file, a column or a remedy that holds markup adds no element to the record."""
    attack = body(
        file=HOSTILE,
        columns=["id", HOSTILE, "pay"],
        columns_left_out=[HOSTILE],
        quasi_identifiers=[HOSTILE],
        information_lost={HOSTILE: 42.0},
        remedy=HOSTILE,
        approved_by=HOSTILE,
        approval_note=HOSTILE,
        parameters={"k": HOSTILE, HOSTILE: 1},
    )
    hostile = record(HOSTILE, note=HOSTILE, actor=HOSTILE)
    facts = [replace(event, body=attack) if event.id == 3 else event for event in hostile.events]
    attacked, harmless = page(replace(hostile, events=facts), localizer), page(record(), localizer)
    assert sorted(set(attacked.elements)) == sorted(set(harmless.elements))
    assert {name for _, name, _ in attacked.attributes} == {name for _, name, _ in harmless.attributes}
    assert "<script>alert(1)</script>" in attacked.text


def test_the_commands_of_a_certificate_check_a_file(tmp_path):
    """The hash and the question are put to the file as they stand there, whatever its name is."""
    name = "it's a file.csv"
    (tmp_path / name).write_text("age\n40-49\n40-49\n50-59\n50-59\n50-59\n", encoding="utf-8")
    digest = sha256((tmp_path / name).read_bytes()).hexdigest()
    made = Certificate(1, event(ReleaseEventKind.EXPORTED, 1, body=body(file=name, sha256=digest)))
    subprocess.run(["sh", "-c", made.check_hash], cwd=tmp_path, check=True, capture_output=True)  # noqa: S607 - the page's own command
    lines = (made.check_question or "").splitlines()
    assert (lines[0], lines[-1]) == ("duckdb <<'SQL'", "SQL")
    asked = "\n".join(lines[1:-1]).replace(name.replace("'", "''"), str(tmp_path / name).replace("'", "''"))
    assert duckdb.connect().execute(asked).fetchall() == [(2,)]
    assert shlex.split(made.check_hash)[1].startswith(digest)


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, ""), ([], ""), ({}, ""), (0.05, "0.05"), (True, "yes"), (["a", 1], "a, 1"), ({"a": {"b": 2.0}}, "a: b: 2")],
)
def test_parameters_are_said_in_a_line(value, said):
    """Whatever they are made of."""
    assert parameter(value) == said


def tried(name: str, status: str = HOLDS, **told: Any) -> RemedyTrial:
    """Return what came of a way."""
    values = {"reached": {"k": 5, "highest_risk": 0.2, "l": 2}, "suppressed": 3, "lost": {"age": 30.0}, **told}
    return RemedyTrial(name, values.pop("kind", RemedyKind.TABLE.value), status, **values)


def comparison(name: str = "mondrian") -> ReleaseComparison:
    """Return a comparison with one way of each sort."""
    change = {"vanished": 1, "appeared": 0, "figures": {name: {"mean": 0.016, "largest": "infinite"}}}
    ways = [
        tried("as-it-is", REFUSED, reached={"k": 1, "highest_risk": 1.0}, lost={}, why=f"too small: {name}"),
        tried(
            name,
            seconds=1.5,
            lost={name: 10.0},
            command=f"tablewatch privacy remedy {name}",
            changes={name: {"failure": None, "change": change}},
        ),
        tried("code", NOT_TRIED, why="no column", reached={}, lost={}),
        tried(
            "randomise",
            kind=RemedyKind.RANDOMISED.value,
            reached={},
            epsilon="1",
            changes={name: {"failure": name, "change": None}},
        ),
        tried("synthesise", kind=RemedyKind.SYNTHETIC.value, reached={}, epsilon="1", lost={name: 12.0}),
        tried(
            "answers",
            ANSWERS,
            kind=RemedyKind.ANSWERS.value,
            reached={},
            lost={},
            epsilon="0.5",
            noise=[{"of": name, "within_95": 7}],
        ),
    ]
    return ReleaseComparison(400, 9_000, ways, name, "loses least")


def compared(localizer: Localizer, found: ReleaseComparison | None = None, name: str = "survey") -> Outline:
    """Return the page of a comparison, as it is built."""
    return Outline(comparison_page(found or comparison(), localizer, name))


def comparison_page(found: ReleaseComparison, localizer: Localizer, name: str) -> str:
    """Return the page of a comparison."""
    release = Release(table="people", audience=name, limits=Limits(k=5))
    case: Any = SimpleNamespace(name=name, release=release)
    return release_comparison.comparison_html(case, found, localizer, project=name, as_of=NOW)


def test_ways_stand_side_by_side():
    """With what each reaches, loses and changes, the command that does it again, and the one that is recommended."""
    said = compared(VOICES["en"]).text.replace("\N{EN DASH}", "-")
    for told in (
        "9,000 records",
        "a random sample of 400 records",
        "mondrian has the lowest information loss of the remedies that meet every limit: 10%",
        "1 as-it-is ○ rejected 1 100% - - - 3 0.0% -",
        "2 mondrian ● meets every limit 5 20% 2 - - 3 10% 1.5 s",
        "3 code - not tried - - - - - 3 - -",
        "4 randomise ● meets every limit 1 30%",
        "mondrian: 7",
        "2 mondrian mondrian mondrian 1.6% infinite 1",
        "query failed: mondrian",
        "tablewatch privacy remedy mondrian",
        "--remedy mondrian --by WHO",
        "within the limit of 20%",
    ):
        assert told in said, told


def test_what_was_randomised_is_not_on_the_axis_of_k():
    """Randomised tables and answers have no groups that count, so the plot shows tables alone."""
    lines = [
        release_comparison.ComparisonLine(number, one, best=False) for number, one in enumerate(comparison().tried, 1)
    ]
    tables = [line for line in lines if line.tried.kind == RemedyKind.TABLE.value]
    plot = release_comparison.plot_of(tables, 5)
    assert plot is not None
    assert {way.name for mark in plot.marks for way in mark.ways} == {"as-it-is", "mondrian"}
    assert plot.limit == 0.2
    assert release_comparison.plot_of(tables[2:], 5) is None


@pytest.mark.parametrize(
    ("recommended", "said"),
    [(None, "No remedy meets every limit"), ("as-it-is", "The untreated table meets every limit")],
)
def test_the_headline_is_the_verdict(recommended, said):
    """Where nothing holds, or nothing is needed, the page says so first."""
    assert said in compared(VOICES["en"], replace(comparison(), recommended=recommended)).text


def test_what_others_wrote_stays_text_in_a_comparison(localizer):
    """A release, a remedy, a column, a question or a reason that holds markup adds no element."""
    attacked, harmless = compared(localizer, comparison(HOSTILE), HOSTILE), compared(localizer)
    assert sorted(attacked.elements) == sorted(harmless.elements)
    assert {name for _, name, _ in attacked.attributes} == {name for _, name, _ in harmless.attributes}
    assert "<script>alert(1)</script>" in attacked.text


@pytest.mark.parametrize(
    ("reached", "text"),
    [
        ({"counted_by": []}, "rows"),
        ({"counted_by": ["id"], "persons": {"rows_linked": False}}, "people, by id"),
        (
            {"counted_by": ["id", "visit"], "persons": {"rows_linked": True}},
            "people, by id, visit, all rows of a person together",
        ),
        ({}, "None"),
    ],
)
def test_a_certificate_says_what_was_counted(reached, text):
    """Rows, people, or people by all of their rows; an earlier version did not record it."""
    made = Certificate(1, event(ReleaseEventKind.EXPORTED, 1, body=body(reached={**body()["reached"], **reached})))
    assert str(made.counted) == text


@pytest.mark.parametrize("of_file", [None, {"k": 48}])
def test_a_certificate_says_what_the_file_alone_shows(of_file):
    """Where people were counted, the question to the file counts rows, and the page has that figure."""
    reached = {**body()["reached"], "k": 8, "of_file": of_file}
    exported = event(ReleaseEventKind.EXPORTED, 1, body=body(reached=reached))
    text = page(replace(record(), events=[exported]), VOICES["en"]).text
    assert ("The result is 8." in text, "The result is 48." in text) == (of_file is None, of_file is not None)
    assert ("do not link the rows of a person" in text) == (of_file is not None)
