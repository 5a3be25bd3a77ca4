"""People are counted once, and l and t are by the stricter reading, on every surface of a release."""

import hashlib
import json
from typing import Any

import pandas as pd
import pytest

from checks import Status
from monitor.config.load import load
from monitor.config.project import Project
from monitor.releases.assess import assess_release
from monitor.releases.compare import compare
from monitor.releases.disclosure import uniqueness
from monitor.releases.overview import releases_of
from monitor.releases.plan import kinds_of, plans_of
from monitor.releases.state import digest_of
from monitor.releases.verify_file import verify_file
from monitor.summaries.health import states_of
from monitor.terminal.problem import Stop
from tests.monitor.releases.desk import COLUMNS, Desk

KEYS = [{"person_key": "id"}, {}]


def visits(*, of_one: bool) -> pd.DataFrame:
    """Return six visits of each of eight people: of one person in each class, or of all of them in one."""
    rows = [
        (f"p{person}", 1960 + person * of_one, ("flu", "gout")[visit % 2]) for person in range(8) for visit in range(6)
    ]
    return pd.DataFrame(rows, columns=["id", "born", "ill"]).assign(sex="F")


@pytest.mark.parametrize("key", KEYS)
def test_visits_of_one_person_are_on_hold_everywhere(desk: Desk, key: dict[str, Any]) -> None:
    """The assessment, the status, the checks, the comparison and the export all count one person a class."""
    desk.write(visits(of_one=True), limits={"k": 5}, **key)
    project = Project(load(desk.config), desk.clock)
    with desk.decisions() as decisions:
        assessment = assess_release(decisions)
        with decisions.store.reading() as tx:
            (state,) = releases_of(project, tx, states_of(project, tx, project.config.tables))
        case = decisions.case
        tried = compare(case, plans_of(case, kinds_of(case))[:1], done=lambda: None).tried[0]
    assert assessment.assessment is not None
    assert (assessment.word, state.word.value) == ("hold", "hold")
    assert assessment.assessment.status is Status.FAIL
    sizes = assessment.assessment.observed["k_anonymity"]
    assert (sizes["k"], sizes["k_of_rows"], sizes["people"], sizes["rows"]) == (1, 6, 8, 48)
    assert (tried.status, tried.reached["k"], tried.reached["highest_risk"]) == ("refused", 1, 1.0)
    with pytest.raises(Stop, match="8 people are in a group with fewer than 4 others"):
        desk.given_out()


@pytest.mark.parametrize("key", KEYS)
def test_people_whom_a_pseudonym_links_are_counted_alike_everywhere(desk: Desk, key: dict[str, Any]) -> None:
    """Assessment, status, comparison and export: a person with other visits than all others is found by them."""
    frame = visits(of_one=False)
    frame.loc[frame["id"].eq("p0") & frame.index.isin(range(3)), "born"] = 1961
    for row in range(3, 48):
        frame.loc[row, "born"] = 1960 + row % 2  # p0 has four of six visits in one class, all others have three
    desk.write(frame, limits={"k": 5}, **key)
    desk.given_out("rows.parquet")
    desk.write(frame, limits={"k": 5}, pseudonyms=["id"], re_release="warn", **key)
    project = Project(load(desk.config), desk.clock)
    with desk.decisions() as decisions:
        assessment = assess_release(decisions)
        with decisions.store.reading() as tx:
            (state,) = releases_of(project, tx, states_of(project, tx, project.config.tables))
        case = decisions.case
        tried = compare(case, plans_of(case, kinds_of(case))[:1], done=lambda: None).tried[0]
    assert assessment.assessment is not None
    sizes = assessment.assessment.observed["k_anonymity"]
    assert (assessment.word, state.word.value, sizes["k"], sizes["people"]) == ("hold", "hold", 1, 8)
    assert "1 of 8 people are alike in all of their rows with fewer than 4 others (by id" in assessment.why
    assert (tried.status, tried.reached["k"], tried.reached["records_below_k"]) == ("refused", 1, 1)
    with pytest.raises(Stop, match="1 person is in a group with fewer than 4 others"):
        desk.given_out(pseudonyms=["id"])


@pytest.mark.parametrize("key", KEYS)
def test_the_certificate_counts_people_and_the_file_beside(desk: Desk, key: dict[str, Any]) -> None:
    """Of eight people with 48 rows in one class, k is 8; what the file alone shows is verified again."""
    desk.write(visits(of_one=False), limits={"k": 5}, **key)
    reached: Any = desk.given_out().event.body["reached"]
    assert (reached["k"], reached["highest_risk"], reached["of_file"]["k"]) == (8, 1 / 8, 48)
    assert reached["counted_by"] == ["id"]
    project = Project(load(desk.config), desk.clock)
    with project.open_store() as store:
        assert verify_file(project, store, desk.folder / "out.parquet").is_verified


@pytest.mark.parametrize("key", KEYS)
def test_a_value_that_all_people_of_a_class_have_does_not_leave(desk: Desk, key: dict[str, Any]) -> None:
    """Each of eight people has flu and gout, so both are certain for each of them."""
    desk.write(visits(of_one=False), limits={"k": 5, "l": 2}, **key)
    with pytest.raises(Stop, match="8 people are in equivalence classes with an l below 2 in ill"):
        desk.given_out()


@pytest.mark.parametrize("values", [["hiv", None], ["hiv", "HIV", "hiv ", "Hiv"]], ids=["missing", "spellings"])
def test_missing_values_and_spellings_do_not_leave_as_values(desk: Desk, values: list[Any]) -> None:
    """As it is and by each remedy: unless the release says that they are values of their own."""
    ill = [values[number % len(values)] for number in range(20)] + [f"d{number}" for number in range(20)]
    frame = pd.DataFrame({"id": range(40), "born": [1960] * 20 + [1961] * 20, "sex": "F", "ill": ill})
    remedies = [{"remedy": "suppress"}, {"remedy": "generalise", "search": "mondrian"}]
    desk.write(frame, limits={"k": 5, "l": 2}, remedies=remedies)
    with pytest.raises(Stop, match="with an l below 2 in ill"):
        desk.given_out()
    desk.approve("suppress")
    with pytest.raises(Stop, match="no record would be left"):
        desk.export(remedy="suppress")
    declared = {"missing_is_a_value": ["ill"], "spelling_is_a_value": ["ill"]}
    reached: Any = desk.given_out(**declared).event.body["reached"]
    assert reached["l"] == len(values)


def test_only_sensitive_columns_declare_values(desk: Desk) -> None:
    """A declaration that could not have an effect is an error."""
    desk.write(visits(of_one=False), missing_is_a_value=["sex"])
    with pytest.raises(Exception, match="'missing_is_a_value' names 'sex', which 'columns' does not classify as"):
        load(desk.config)


def test_an_untreated_column_is_judged_with_the_quasi_identifiers(desk: Desk) -> None:
    """Ages that ten people have each find all of them within their year: shown, and refused above a share."""
    frame = pd.DataFrame({"id": range(100), "born": [1900 + number // 10 for number in range(100)], "sex": "F"})
    frame = frame.assign(age=[number % 10 for number in range(100)], ill=["flu", "gout"] * 50)
    columns = {**desk.release.get("columns", COLUMNS), "age": "other"}
    desk.write(frame, columns=columns, limits={"k": 5, "l": 2}, re_release="warn")
    with desk.decisions() as decisions:
        assessment = assess_release(decisions)
        case = decisions.case
        tried = compare(case, plans_of(case, kinds_of(case))[:1], done=lambda: None).tried[0]
    text = "'age' together with the quasi-identifiers identifies 100 of 100 records uniquely and is not treated"
    assert text in assessment.warnings
    assert text in tried.warnings
    exported = desk.given_out()
    body: Any = exported.event.body
    assert {"column": "age", "records": 100} in body["uniqueness"]["within_classes"]
    assert text in exported.notes
    with pytest.raises(
        Stop, match=r"identify more than 0\.5 of them, alone or with the quasi-identifiers: 'age' \(100"
    ):
        desk.given_out("out.csv", limits={"k": 5, "unclassified_uniqueness": 0.5})


@pytest.mark.parametrize("key", KEYS)
def test_the_assessment_and_the_export_find_the_same_people_by_an_untreated_column(
    desk: Desk, key: dict[str, Any]
) -> None:
    """By each visit's own ticket: as many as there are people, not as there are visits, in both."""
    frame = visits(of_one=False)
    columns = {**desk.release.get("columns", COLUMNS), "ticket": "other"}
    desk.write(frame.assign(ticket=range(len(frame))), columns=columns, limits={"k": 5}, re_release="warn", **key)
    with desk.decisions() as decisions:
        assessed = assess_release(decisions).uniqueness
    exported: Any = desk.given_out().event.body["uniqueness"]
    many = frame["id"].nunique()
    assert assessed is not None
    assert (assessed.rows, assessed.share(["ticket"])) == (many, 1)
    assert exported["rows"] == many
    assert exported["unique"][0] == {"columns": ["ticket"], "records": many}


def test_a_column_that_was_not_counted_meets_no_limit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a table has more columns than are counted, a limit on what each identifies was not evaluated."""
    monkeypatch.setattr(uniqueness, "MOST_COLUMNS", 1)
    columns = {**desk.release.get("columns", COLUMNS), "size": "other", "ticket": "other"}
    frame = visits(of_one=False).assign(size=1, ticket=1)
    desk.write(frame, columns=columns, limits={"k": 5, "unclassified_uniqueness": 0.5}, person_key="id")
    with pytest.raises(Stop, match=r"was not counted of: .*ticket"):
        desk.given_out()


def test_an_approval_outlives_the_words_that_an_earlier_version_did_not_have(desk: Desk) -> None:
    """The fingerprint of a release without them is what it was."""
    desk.write(visits(of_one=False))
    release = load(desk.config).config.releases["extract"]
    fields = release.model_dump(mode="json")
    for word in ("unclassified_uniqueness", "max_individual_risk", "max_group_risk"):
        del fields["limits"][word]
    for word in ("missing_is_a_value", "spelling_is_a_value", "weight", "group_key"):
        del fields[word]
    content = json.dumps(["extract", fields], sort_keys=True, ensure_ascii=False, default=str)
    assert digest_of("extract", release) == hashlib.sha256(content.encode()).hexdigest()[:32]


def test_the_worst_of_several_identifiers_counts_what_columns_find(desk: Desk) -> None:
    """By the ward, which repeats too, a tariff identifies no person; by the patient it finds half of them."""
    frame = visits(of_one=False).assign(ward=["w1", "w2"] * 24)
    frame = frame.assign(tariff=[f"t{number // 6 if number < 24 else 9}" for number in range(48)])
    columns = {"ward": "direct-identifier", **COLUMNS, "tariff": "other"}
    limits = {"k": 2, "unclassified_uniqueness": 0.4}
    desk.write(frame[["ward", *(name for name in frame if name != "ward")]], columns=columns, limits=limits)
    with desk.decisions() as decisions:
        assessment = assess_release(decisions)
    assert any("'tariff'" in text and "4 of 8 records" in text for text in assessment.warnings)
    with pytest.raises(Stop, match=r"'tariff' \(4 of 8\)"):
        desk.given_out()
