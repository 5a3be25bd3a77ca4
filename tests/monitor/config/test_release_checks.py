"""The limits of a release are checks of its table."""

from pathlib import Path
from typing import Any

import pytest

from checks import ColumnClass
from monitor.config import ConfigError, load
from monitor.config.project import Project
from monitor.config.release_model import Limits
from monitor.scan.results import targets_of

_TEXT = """
version: 1
project: p
sources: {lake: {files: "*.csv"}}
tables:
  - name: people
    source: lake
    columns: {born: quasi-identifier}
    checks: [{type: not_null, columns: [id]}, {type: k_anonymity, k: 3}]
releases:
  extract:
    table: people
    audience: A university
    columns: {id: direct-identifier, born: quasi-identifier, sex: quasi-identifier}
    limits: {k: 5, max_average_risk: 0.2}
"""


def _load(tmp_path: Path, text: str = _TEXT) -> Project:
    (tmp_path / "tablewatch.yaml").write_text(text, encoding="utf-8")
    return Project(load(tmp_path / "tablewatch.yaml"))


def test_each_limit_is_a_check_of_the_table(tmp_path: Path) -> None:
    """Beside the table's own, under ids that name the release, and found with the table."""
    project = _load(tmp_path)
    (target,) = targets_of(project, ["people"])
    checks = dict(target.subject.checks)
    assert list(checks) == [
        "people.not-null",
        "people.k-anonymity",
        "people.extract-classification",
        "people.extract-k-anonymity",
    ]
    ours = checks["people.extract-k-anonymity"]
    assert (ours.k, ours.max_average_risk, ours.quasi_identifiers) == (5, 0.2, ("born", "sex"))  # type: ignore[attr-defined] - of this check
    assert ours.why == "release extract publishes this table to A university"
    assert target.subject.classified == {"born": ColumnClass.QUASI_IDENTIFIER}
    assert len(project.config.table("people").checks) == 4  # type: ignore[union-attr] - it is there


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{type: k_anonymity, k: 3}",
            "{type: k_anonymity, id: extract-k-anonymity, k: 3}",
            "reserved for the release's own check",
        ),
        ("limits: {k: 5", "limits: {k: 1", "takes at least 2, not 1"),
        ("limits: {k: 5", "limits: {kk: 5", "kk"),
        ("limits: {k: 5, max", "limits: {max", "goes with 'k'"),
        ("sex: quasi-identifier", "sex: quasi", "direct-identifier"),
        ("  extract:", "  an extract:", "an extract"),
        ("table: people", "table: peeple", "unknown table"),
    ],
)
def test_what_is_wrong_with_a_release_is_reported(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A taken id, an impossible or unknown limit, an unknown word, a name that no id can begin with."""
    with pytest.raises(ConfigError) as error:
        _load(tmp_path, _TEXT.replace(old, new))
    assert said in " ".join(f"{problem.message} {problem.hint}" for problem in error.value.problems)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("{l: 2}", "has a limit 'l', and classifies no column as sensitive"),
        ("{k: 5, t: 0.2}", "has a limit 't', and classifies no column as sensitive"),
        ("{max_risk: 0.2}", "has a limit 'max_risk', and classifies no column as quasi-identifier"),
    ],
)
def test_a_limit_that_could_never_be_judged_is_refused(tmp_path: Path, limits: str, message: str) -> None:
    """Where no column is classified that it is about, the release would seem to keep it."""
    text = _TEXT.replace("{k: 5, max_average_risk: 0.2}", limits)
    if "max_risk" in limits:
        text = text.replace("born: quasi-identifier, sex: quasi-identifier", "born: other, sex: other")
    with pytest.raises(ConfigError, match=message):
        _load(tmp_path, text)


def test_a_release_that_classifies_nothing_is_judged_by_the_columns_of_its_table(tmp_path: Path) -> None:
    """Its limits are checks of the table all the same."""
    text = _TEXT.replace("    columns: {id: direct-identifier, born: quasi-identifier, sex: quasi-identifier}\n", "")
    project = _load(tmp_path, text)
    (target,) = targets_of(project, ["people"])
    checks = dict(target.subject.checks)
    ours = checks["people.extract-k-anonymity"]
    assert (ours.k, ours.quasi_identifiers) == (5, ("born",))  # type: ignore[attr-defined] # of this check
    assert "people.extract-classification" in checks


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("remedies: [{remedy: generalize}]", "did you mean 'generalise'"),
        ("remedies: [{k: 5}]", "each of 'remedies' names its 'remedy'"),
        (
            "remedies: [{remedy: suppress}, {remedy: suppress}]",
            "two that are called 'suppress'; give one of them an 'id'",
        ),
        ("remedies: [{remedy: suppress, id: as it is}]", "as it is"),
        ("pseudonyms: [born]", "'born', which 'columns' does not classify as direct-identifier"),
        ("re_release: allow", "refuse"),
        ("expires_after: -1d", "expires_after"),
        ("approvers: [somebody]", "somebody"),
        ("analyses: {mean: ''}", "analyses"),
        ("personkey: id", "did you mean 'person_key'"),
        ("remedies: [{remedy: randomise, epsilon: 1, domains: {sex: [F, M]}}]", "unknown key 'domains'"),
        ("limits: {epsilon: 0}", "'epsilon': the privacy loss '0' is not above 0"),
    ],
)
def test_what_is_wrong_with_the_keys_of_a_release_is_reported(tmp_path: Path, line: str, said: str) -> None:
    """A remedy that there is not, or twice; a pseudonym of no identifier; unknown words and owners."""
    text = _TEXT if not line.startswith("limits") else _TEXT.replace("    limits: {k: 5, max_average_risk: 0.2}\n", "")
    with pytest.raises(ConfigError) as error:
        _load(tmp_path, f"{text}    {line}\n")
    (problem,) = error.value.problems
    assert said in f"{problem.message} {problem.hint} {problem.excerpt}"


@pytest.mark.parametrize(
    ("limits", "k"), [({"k": 3}, 3), ({"max_risk": 0.2}, 5), ({"max_risk": 0.3}, 4), ({"k": 3, "max_risk": 0.1}, 10)]
)
def test_the_highest_risk_is_a_smallest_group(limits: dict[str, Any], k: int) -> None:
    """A person in a class of n is found with probability 1/n; the stricter of the two words holds."""
    assert Limits.model_validate(limits).least_k == k


_OTHER = """  weekly:
    table: twin
    columns: {id: direct-identifier, born: quasi-identifier, sex: other}
    limits: {k: 5}
"""


@pytest.mark.parametrize("name", ["people", "{name: twin, source: lake, table: people}"])
def test_a_column_has_one_classification_over_all_releases_of_a_table(tmp_path: Path, name: str) -> None:
    """Under one name or two names of one table: what one release protects, another one would give out."""
    text = _TEXT + (_OTHER if name != "people" else _OTHER.replace("twin", "people"))
    text = text.replace("releases:", f"  - {name}\nreleases:") if name != "people" else text
    with pytest.raises(ConfigError) as error:
        _load(tmp_path, text)
    (problem,) = error.value.problems
    assert problem.code == "config.two_classifications"
    assert "'sex' is 'other' in release 'weekly' and 'quasi-identifier' in release 'extract'" in problem.message
    assert problem.line == text[: text.index("sex: other")].count("\n") + 1


def test_other_tables_may_classify_a_column_of_the_same_name_otherwise(tmp_path: Path) -> None:
    """They are other columns."""
    _load(tmp_path, _TEXT.replace("releases:", "  - {name: twin, source: lake}\nreleases:") + _OTHER)


def test_a_sensitive_column_without_a_limit_on_its_values_is_noted(tmp_path: Path) -> None:
    """A group that is large enough may have one value alone."""
    text = _TEXT.replace("sex: quasi-identifier}", "sex: sensitive}")
    assert [note.code for note in _load(tmp_path, text).loaded.notes] == ["config.sensitive_without_limit"]
    assert not _load(tmp_path, text.replace("{k: 5,", "{k: 5, l: 2,")).loaded.notes
    assert not _load(tmp_path, _TEXT).loaded.notes
