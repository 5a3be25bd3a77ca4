"""`tablewatch release list` and `record`, and the pages that commands about releases write."""

from datetime import timedelta

import pytest

from tests.monitor.commands.terminal import Terminal

CONFIG = """\
version: 1
project: test-shop
timezone: Asia/Tokyo
storage: {url: "sqlite:///store.db"}
sources: {files: {files: "*.csv"}}
owners: {crew: {}, desk: {}}
tables: [{name: people, source: files, owner: crew}]
releases:
  survey:
    table: people
    audience: University
    columns: {person: direct-identifier, age: quasi-identifier, pay: sensitive}
    person_key: person
    limits: {k: 2}
    hierarchies: {age: {type: flat}}
    remedies: [{remedy: generalise}]
    approvers: [desk]
    expires_after: 30d
"""
PEOPLE = "".join(f"secret{place},{20 + place},{place % 3}\n" for place in range(8))


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    """Return a folder with one release, which is on hold."""
    (terminal.folder / "tablewatch.yaml").write_text(CONFIG, encoding="utf-8")
    (terminal.folder / "people.csv").write_text("person,age,pay\n" + PEOPLE, encoding="utf-8")
    return terminal


@pytest.fixture
def survey(shop: Terminal) -> Terminal:
    """Return the same, with intervals of four years, so that a remedy leaves more than it erases."""
    text = CONFIG.replace("{type: flat}", "{type: intervals, widths: [4]}")
    (shop.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")
    return shop


def give_out(shop: Terminal) -> None:
    """Approve the release, and export it."""
    said = shop("release", "approve", "survey", "--remedy", "generalise", "--by", "desk", "--note", "<b>ticket</b> 1")
    assert said.code == 0, said.err
    said = shop("release", "export", "survey", "--remedy", "generalise", "--out", "out.parquet", "--by", "crew")
    assert said.code == 0, said.err


def test_a_release_is_listed_from_hold_to_expiry(shop: Terminal) -> None:
    """It is on hold, then approved with what until when, with its last export, and expired in the end."""
    assert "hold" in shop("release", "list").out
    shop("release", "assess", "survey")
    said = " ".join(shop("release", "list").out.split())
    assert "survey: 8 of 8 records are in equivalence classes smaller than" in said
    assert "(#1)" in said
    give_out(shop)
    (found,) = shop.json("release", "list")["releases"]
    assert (found["state"], found["approved_with"]) == ("approved", "generalise")
    assert found["expires_at"] == (shop.now + timedelta(days=30)).isoformat()
    assert (found["last_export"]["file"], found["last_export"]["rows"]) == ("out.parquet", 8)
    said = " ".join(shop("release", "list").out.split())
    assert "survey people approved 2026-11-20 generalise 2026-12-20 2026-11-20 out.parquet" in said
    with shop.at(shop.now + timedelta(days=30)):
        (found,) = shop.json("release", "list")["releases"]
        assert found["state"] == "expired"
        assert "has expired" in shop("release", "list").out


def test_the_record_is_a_page_or_json(shop: Terminal) -> None:
    """By the ending of the file; and a page to standard output."""
    give_out(shop)
    page = shop("release", "record", "survey").out
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "&lt;b&gt;ticket&lt;/b&gt; 1" in page
    assert "secret" not in page
    found = shop.json("release", "record", "survey")
    assert [one["kind"] for one in found["record"]] == ["exported", "approved"]
    assert found["record"][0]["certificate"]["reached"]["k"] == 8
    for name, start in (("r.html", "<!doctype html>"), ("r.json", "{")):
        assert shop("release", "record", "survey", "--out", name, "--locale", "ja").code == 0
        assert (shop.folder / name).read_text(encoding="utf-8").startswith(start)
    assert '<html lang="ja">' in (shop.folder / "r.html").read_text(encoding="utf-8")


def test_the_record_stays_when_the_release_goes(shop: Terminal) -> None:
    """What was given out is on record, also of a release that is no longer configured."""
    give_out(shop)
    (shop.folder / "tablewatch.yaml").write_text(CONFIG.split("releases:", maxsplit=1)[0], encoding="utf-8")
    assert shop.json("release", "record", "survey")["standing"] is None
    assert "No longer configured" in shop("release", "record", "survey").out
    said = shop("release", "list").out
    assert "no release is configured" in said
    assert "no longer configured, but recorded: survey" in said
    for name, hint in (("surveys", "did you mean 'survey'?"), ("x", "known: survey; see 'tablewatch release list'")):
        (error,) = shop.refused("release", "record", name, code=5)
        assert error["hint"] == hint


def test_what_cannot_be_recorded_is_refused(shop: Terminal) -> None:
    """An unknown release, and a file of another kind."""
    said = shop("release", "record", "surveys", "--format", "json")
    (error,) = said.json["errors"]
    assert (said.code, error["code"], error["hint"]) == (5, "release.unknown", "did you mean 'survey'?")
    said = shop("release", "record", "survey", "--out", "r.pdf")
    assert said.code == 2
    assert "expected one of .html, .htm, .json" in said.err


def test_remedies_are_compared_on_a_page(survey: Terminal) -> None:
    """Beside what is printed; no value of the table, and no label of one, is in it."""
    said = survey("release", "compare", "survey", "--html", "remedies.html", "--locale", "ja")
    assert said.code == 0, said.err
    assert "RECOMMENDED" in said.out
    assert "next: tablewatch release approve survey --remedy generalise --by WHO --note WHY" in said.out
    assert "reproduce: tablewatch privacy remedy generalise" in said.out
    page = (survey.folder / "remedies.html").read_text(encoding="utf-8")
    assert '<html lang="ja">' in page
    assert 'href="#way-1"' in page
    assert "secret" not in page


def test_commands_are_printed_as_they_are_typed_here(survey: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--config` the printed commands can be pasted."""
    (survey.folder / "else where").mkdir()
    monkeypatch.chdir(survey.folder / "else where")
    said = survey("-c", "../tablewatch.yaml", "release", "compare", "survey", "--sample", "50")
    assert "next: tablewatch -c ../tablewatch.yaml release approve survey" in said.out
    assert "reproduce: tablewatch -c ../tablewatch.yaml privacy remedy" in said.out
