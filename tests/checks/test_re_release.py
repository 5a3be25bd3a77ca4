"""A table beside its earlier releases: who is exposed by both together."""

import pytest
from pydantic import ValidationError

from checks import ColumnClass, Measurement, Misconfigured, Status, UnknownReason
from checks._judge import judge
from checks.classes.counts import KnownRelease, PersonPairs, PersonRequest
from checks.re_release import ReReleaseCheck
from checks.risk.compared_releases import COMBINATIONS, PUBLISHED, SUPPRESSED, ReleasedRows
from checks.risk.signatures import Signer
from tests.checks.ask import NOW, Question, Rows, ask, place

OBSERVED = {"rows", "rows_without_person", "releases", "exposed", "disclosures"}
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


def pairs(classes, people=range(9), digest=b"same", ill=None):
    """Return a table of people as it is read; `ill`: a sensitive value of each."""
    people, classes, values = (
        b"".join(map(_signed, column)) for column in (people, classes, () if ill is None else ill)
    )
    ill = {} if ill is None else {"ill": values}
    columns = {name: _signed(name) for name in ("ill", COMBINATIONS, SUPPRESSED, PUBLISHED)}
    return ReleasedRows(
        digest, people, range(len(people) // 16), classes, classes, ill, ill, columns, {"ill": _signed(None)}
    )


def _signed(value):
    return Signer(b"k" * 32).signature((value,))


def without_values(rows):
    """Return rows as an earlier version remembered them: the person and the class of each."""
    return PersonPairs(rows.digest, rows.people, rows.classes, 0, is_counted=False)


def judged(now, *releases, check=CHECK, rows=9, unnamed=0):
    """Judge a table beside releases: (name, pairs)."""
    earlier = [KnownRelease(name, NOW, one if isinstance(one, PersonPairs) else one.pairs()) for name, one in releases]
    values = {"rows": rows, "unnamed": unnamed}
    return judge(check, Measurement(NOW, values, check.compared(now, earlier)))


def test_two_releases_that_are_3_anonymous_each_can_expose_six_of_nine():
    """Each is 3-anonymous; together they leave six people in smaller groups."""
    outcome = judged(pairs("aaabcbccb"), ("spring", pairs("aaabbbccc")))
    assert outcome.status is Status.FAIL
    assert (
        str(outcome.message) == "6 people are in groups smaller than 3 when this table is combined with release spring"
    )
    assert outcome.observed["releases"] == [{"name": "spring", "persons_in_both": 9, "exposed": 6, "smallest_group": 1}]


def test_two_releases_that_are_3_anonymous_each_can_expose_all_nine():
    """No group of two is needed even."""
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
    assert "tablewatch privacy risk remember" in str(outcome.message)


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


OF_VALUES = ReReleaseCheck(person=("id",), quasi_identifiers=("age",), k=3, sensitive=("ill",), l=2)
FOUR = [f"n{number}" for number in range(4)]


def test_who_joined_or_left_is_judged_by_k():
    """Two newcomers of a class of three are two people who are in one release only; so are two who left."""
    few, many = pairs("aaa", people=range(3)), pairs("aaaaa", people=range(5))
    for now, before in ((many, few), (few, many)):
        outcome = judged(now, ("spring", before))
        assert str(outcome.message) == (
            "2 people are in groups smaller than 3 of those who are in only one of this table and release spring"
        )
    assert judged(many, ("spring", pairs("aaaaaaaa", people=range(8)))).status is Status.PASS


def test_what_two_releases_leave_between_them_meets_l():
    """Four newcomers of one illness are known, in whichever order; of two illnesses they are not."""
    first = pairs("aaaa", people=range(4), ill="xyxy")
    people = [*range(4), *FOUR]
    for ill, status in (("xxxx", Status.FAIL), ("xyyx", Status.PASS)):
        both = pairs("a" * 8, people=people, ill="xyxy" + ill)
        for now, before in ((both, first), (first, both)):
            outcome = judged(now, ("spring", before), check=OF_VALUES)
            assert outcome.status is status
            assert judged(now, ("spring", before)).status is Status.PASS
    text = "the difference of this table and release spring has groups whose values of ill break a limit: 1"
    assert (
        str(judged(pairs("a" * 8, people=people, ill="xyxyxxxx"), ("spring", first), check=OF_VALUES).message) == text
    )


def test_what_two_releases_leave_between_them_meets_t():
    """Half of a table is ill; of four newcomers all are, which is half of the table away."""
    first = pairs("aaaa", people=range(4), ill="xyyy")
    both = pairs("a" * 8, people=[*range(4), *FOUR], ill="xyyyxxxy")
    for t, status in ((0.2, Status.FAIL), (0.3, Status.PASS)):
        check = ReReleaseCheck(person=("id",), quasi_identifiers=("age",), k=3, sensitive=("ill",), t=t)
        assert judged(both, ("spring", first), check=check).status is status


def test_groups_in_common_meet_l():
    """Three people who are in one class both times, of which each has three values and they have one in common."""
    first = pairs("aaabbb", people=range(6), ill="xxxyyz")
    second = pairs("aaabbb", people=range(6), ill="xxxyyz")
    assert judged(second, ("spring", first), check=OF_VALUES).status is Status.FAIL
    sixes = [pairs("aaaaaabbbbbb", people=range(12), ill=ill) for ill in ("xyxyxyzwzwzw", "xvxvxvzwzwzw")]
    outcome = judged(sixes[1], ("spring", sixes[0]), check=OF_VALUES)
    assert outcome.status is Status.FAIL
    assert {row["kind"] for row in outcome.observed["disclosures"]} >= {"few-values"}


def test_three_releases_together_meet_k_and_l():
    """Each two are 4-anonymous; all three leave groups of two."""
    two, three, four = (pairs(classes, people=range(8)) for classes in ("aaaabbbb", "aabbaabb", "aabbbbaa"))
    check = ReReleaseCheck(person=("id",), quasi_identifiers=("age",), k=2)
    assert judged(four, ("one", two), ("two", three), check=check).status is Status.PASS
    people = range(16)
    classes = ["".join("ab"[number >> bit & 1] for number in people) for bit in range(4)]
    outcome = judged(
        pairs(classes[3], people), *((str(at), pairs(classes[at], people)) for at in range(3)), check=check
    )
    assert (outcome.status, "all earlier releases" in str(outcome.message)) == (Status.FAIL, True)


def test_releases_without_values_cannot_be_subtracted_by_them():
    """Of an earlier version: k is judged, l and t are unknown."""
    now = pairs("aaabbbccc", ill="xyxyxyxyx")
    old = without_values(now)
    assert judged(now, ("old", old)).status is Status.PASS
    outcome = judged(now, ("old", old), check=OF_VALUES)
    assert (outcome.status, outcome.reason) == (Status.UNKNOWN, UnknownReason.MISCONFIGURED)
    assert "release old was recorded without the sensitive values" in str(outcome.message)


@pytest.mark.parametrize(
    "wrong", [{"k": 1}, {"person": []}, {"person": ["id", "id"]}, {"quasi_identifiers": ["a", "a"]}, {"l": 1}, {"t": 0}]
)
def test_bad_parameters_are_refused(wrong):
    """K of 1, no person column, and a column twice are mistakes of the configuration."""
    with pytest.raises(ValidationError):
        ReReleaseCheck.model_validate({"person": ["id"], "quasi_identifiers": ["age"], "k": 2, **wrong})
