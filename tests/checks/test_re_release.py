"""A table beside its earlier releases: who is exposed by both together."""

import pytest
from pydantic import ValidationError

from checks import ColumnClass, Measurement, Misconfigured, Status, UnknownReason
from checks._judge import judge
from checks.classes.counts import KnownRelease, PersonPairs, PersonRequest, compared
from checks.re_release import ReReleaseCheck
from checks.risk.signatures import Signer
from tests.checks.ask import NOW, Question, Rows, ask, place

OBSERVED = {"rows", "rows_without_person", "releases", "exposed"}
CANARIES = [
    {"person": ["id"], "quasi_identifiers": ["name", "fee", "born"], "k": 2},
    {"person": ["email"], "quasi_identifiers": ["code"], "k": 2, "where": "CAST(code AS INTEGER) > 5"},
    {"person": ["id"], "quasi_identifiers": ["loaded_at"], "k": 2},
    {"person": ["nowhere"], "quasi_identifiers": ["name"], "k": 2},
]

PEOPLE = Rows(
    {"id": "int", "age": "text", "city": "text"}, [(1, "30-39", "x"), (2, "30-39", None), (None, "40-49", "x")]
)
CHECK = ReReleaseCheck(person=("id",), quasi_identifiers=("city", "age"), k=3)


def pairs(classes, people=range(9), digest=b"same"):
    """Return a release of people as the store keeps it."""
    signer = Signer(b"k" * 32)
    signed = (b"".join(signer.signature((one,)) for one in column) for column in (people, classes))
    return PersonPairs(digest, *signed, unnamed=0)


def judged(now, *releases, check=CHECK, rows=9, unnamed=0):
    """Judge a table beside releases: (name, pairs)."""
    earlier = [KnownRelease(name, NOW, one) for name, one in releases]
    values = {"rows": rows, "unnamed": unnamed}
    return judge(check, Measurement(NOW, values, {"releases": compared(now, earlier)}))


def test_two_releases_that_are_3_anonymous_each_can_expose_six_of_nine():
    """Each hides everybody among three; together they leave six people in smaller groups."""
    outcome = judged(pairs("aaabcbccb"), ("spring", pairs("aaabbbccc")))
    assert outcome.status is Status.FAIL
    assert (
        str(outcome.message) == "6 persons are in groups smaller than 3 when this table is combined with release spring"
    )
    assert outcome.observed["releases"] == [{"name": "spring", "persons_in_both": 9, "exposed": 6, "smallest_group": 1}]


def test_two_releases_that_are_3_anonymous_each_can_expose_all_nine():
    """Nobody need be left in a group of two even."""
    outcome = judged(pairs("abcabcabc"), ("spring", pairs("aaabbbccc")))
    assert outcome.observed["exposed"] == 9


def test_the_release_that_exposes_most_is_named():
    """Every earlier release is reported, the worst one is in the message."""
    releases = (("first", pairs("aaabbbccc")), ("second", pairs("abcabcabc")), ("third", pairs("x", people=["else"])))
    outcome = judged(pairs("aaabbbccc"), *releases)
    assert "with release second" in str(outcome.message)
    assert [one["exposed"] for one in outcome.observed["releases"]] == [0, 9, None]
    assert outcome.observed["releases"][2]["persons_in_both"] == 0


def test_releases_of_other_people_compare_nothing():
    """Keys that are written otherwise than then look like other people: nothing was compared."""
    outcome = judged(pairs("aaabbbccc"), ("spring", pairs("x", people=["else"])))
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert outcome.observed["releases"][0]["exposed"] is None


def test_the_same_groups_again_pass():
    """Who gives the same classes away again tells nothing new."""
    outcome = judged(pairs("aaabbbccc"), ("spring", pairs("xxxyyyzzz")))
    assert outcome.status is Status.PASS
    assert str(outcome.message).endswith("every person shares a group with at least 2 others")


def test_a_softer_limit_warns():
    """`warn: {k: 4}` is a warning where the groups are of three."""
    check = ReReleaseCheck(person=("id",), quasi_identifiers=("age",), k=3, warn={"k": 4})
    assert judged(pairs("aaabbbccc"), ("spring", pairs("xxxyyyzzz")), check=check).status is Status.WARN


def test_without_an_earlier_release_it_is_unknown():
    """Nothing to compare with is no pass; the message says how to remember a release."""
    outcome = judged(pairs("aaabbbccc"))
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.NO_DATA)
    assert "tablewatch risk remember" in str(outcome.message)


def test_a_release_of_persons_told_apart_otherwise_is_unknown():
    """Signatures under another key, or of other columns, cannot be compared; a failing one fails all the same."""
    other, worse = ("old", pairs("aaabbbccc", digest=b"other")), ("spring", pairs("abcabcabc"))
    outcome = judged(pairs("aaabbbccc"), other)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert outcome.observed["releases"][0]["exposed"] is None
    assert judged(pairs("aaabbbccc"), other, worse).status is Status.FAIL


def test_rows_that_are_nobodys_are_counted_apart():
    """Where the person columns are NULL in every row, nothing was compared."""
    outcome = judged(pairs("", people=[]), ("spring", pairs("aaabbbccc")), rows=2, unnamed=2)
    assert (outcome.reason, outcome.observed["rows_without_person"]) == (UnknownReason.NO_DATA, 2)


def test_an_empty_table_is_unknown(dialect):
    """No rows are no anonymous rows."""
    with place(dialect, t=Rows(PEOPLE.types)) as here:
        assert ask(CHECK, here).reason is UnknownReason.NO_DATA


def test_it_wants_the_class_of_each_person(dialect):
    """The person's columns and the quasi-identifiers go to the look, by name; these may be classified ones."""
    classified = {"age": ColumnClass.QUASI_IDENTIFIER}
    with place(dialect, t=PEOPLE) as here:
        by_class = ReReleaseCheck(person=("id",), k=2)
        assert Question(CHECK, here).wants().kept == PersonRequest(("city", "age"), ("id",))
        assert Question(by_class, here, classified=classified).wants().kept == PersonRequest(("age",), ("id",))
        with pytest.raises(Misconfigured, match="column 'ide' not found; did you mean 'id'"):
            Question(ReReleaseCheck(person=("ide",), quasi_identifiers=("age",), k=2), here).wants()
        with pytest.raises(Misconfigured, match="no quasi-identifier"):
            Question(by_class, here).wants()


@pytest.mark.parametrize(
    "wrong", [{"k": 1}, {"person": []}, {"person": ["id", "id"]}, {"quasi_identifiers": ["a", "a"]}]
)
def test_bad_parameters_are_refused(wrong):
    """K of 1, nobody, and a column twice are mistakes of the configuration."""
    with pytest.raises(ValidationError):
        ReReleaseCheck.model_validate({"person": ["id"], "quasi_identifiers": ["age"], "k": 2, **wrong})
