"""People exposed by several exports of one table together: exact numbers, refused or warned of."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.classes.counts import KnownRelease as Earlier
from checks.risk.composition import intersect_all_signed, intersect_signed, left_over_signed
from monitor.releases.digests import names_of
from monitor.releases.linkage import person_level_k
from monitor.releases.state import ReleaseDecision
from monitor.terminal.problem import Stop
from store import ReleaseEventKind, StoredCounts, StoreError, WriteTransaction
from tests.monitor.releases.desk import COLUMNS, Desk, people

Rows = Sequence[tuple[int, int]]
"""A person and a class for each row."""

releases = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=25)


def _signed(rows: Rows) -> tuple[bytes, bytes]:
    return tuple(b"".join(row[place].to_bytes(16, "big") for row in rows) for place in (0, 1))  # type: ignore[return-value] # two


def _intersected(before: Rows, after: Rows, k: int) -> int:
    """Count as the attack goes: for each person, who else is in the same class both times."""
    exposed = set()
    for person, one in before:
        for same, other in after:
            if same == person:
                first = {who for who, group in before if group == one}
                second = {who for who, group in after if group == other}
                if len(first & second) < k:
                    exposed.add(person)
    return len(exposed)


def _left_over(before: Rows, after: Rows, k: int) -> int:
    found = 0
    for one, other in ((before, after), (after, before)):
        there = {person for person, _ in other}
        classes = defaultdict(set)
        for person, group in one:
            classes[group].add(person)
        found += sum(len(left) for group in classes.values() if 0 < len(left := group - there) < k)
    return found


@given(before=releases, after=releases, k=st.integers(2, 5))
def test_exposed_persons_are_counted_as_the_attack_finds_them(before: Rows, after: Rows, k: int) -> None:
    """By intersection and by difference, also where people have several rows, or are in one export only."""
    assert intersect_signed(_signed(before), _signed(after), k).exposed == _intersected(before, after, k)
    assert left_over_signed(_signed(before), _signed(after), k) == _left_over(before, after, k)


@given(given=st.lists(releases, min_size=1, max_size=4), k=st.integers(2, 5))
def test_all_exports_together_are_intersected_as_the_attack_does(given: Sequence[Rows], k: int) -> None:
    """For each person of the last one, over all exports that hold the person, and every choice of the person's rows."""
    exposed = set()
    for person in {one for one, _ in given[-1]}:
        holding = [rows for rows in given if person in {one for one, _ in rows}]
        for classes in product(*({group for one, group in rows if one == person} for rows in holding)):
            alike = [{one for one, group in rows if group == mine} for rows, mine in zip(holding, classes, strict=True)]
            if len(set.intersection(*alike)) < k:
                exposed.add(person)
    assert intersect_all_signed([_signed(rows) for rows in given], k) == len(exposed)


@given(rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=25), k=st.integers(2, 4))
def test_persons_of_a_class_are_counted_once(rows: Rows, k: int) -> None:
    """However many rows they have; where rows are linked, all of them together have to be alike."""
    frame = pd.DataFrame({"group": [group for _, group in rows]})
    persons = pd.Series([person for person, _ in rows])
    among = {
        person: min(len({who for who, other in rows if other == group}) for mine, group in rows if mine == person)
        for person, _ in rows
    }
    found = person_level_k(persons, frame, k=k, linked=False)
    assert (found.least, found.exposed) == (min(among.values()), sum(one < k for one in among.values()))
    profiles: Mapping[int, frozenset[tuple[int, int]]] = {
        person: frozenset(Counter(group for mine, group in rows if mine == person).items()) for person in persons
    }
    alike = [sum(profile == other for other in profiles.values()) for profile in profiles.values()]
    linked = person_level_k(persons, frame, k=k, linked=True)
    assert (linked.least, linked.exposed) == (min(alike), sum(one < k for one in alike))


def test_nulls_are_one_class_and_one_person() -> None:
    """Whether rows without a person are of several is unknown."""
    found = person_level_k(
        pd.Series([None] * 6, dtype=object), pd.DataFrame({"a": [None] * 6, "b": [np.nan] * 6}), k=2, linked=False
    )
    assert (found.least, found.exposed) == (1, 1)


@pytest.fixture
def twice(desk: Desk) -> Desk:
    """Return a desk that has exported its table, by year and sex, people known by `id`."""
    desk.write(people(80), person_key="id").approve()
    desk.export("first.parquet")
    return desk


def _exposure(found: object) -> tuple[object, object]:
    (one,) = found.event.body["earlier"]  # type: ignore[attr-defined] # an export
    return one["persons_exposed"], one["persons_left_over"]


def test_the_same_export_again_exposes_nobody(twice: Desk) -> None:
    """Who is alike once is alike twice."""
    assert _exposure(twice.export("second.parquet")) == (0, 0)


def test_nobody_in_both_is_said(twice: Desk) -> None:
    """Keys that are written otherwise name others, so that nothing is found; the number shows it."""
    assert twice.export("second.parquet").event.body["earlier"][0]["persons_in_both"] == 80  # type: ignore[index, call-overload] # the first
    frame = people(80)
    twice.write(frame.assign(id=frame["id"].str.upper())).approve()
    found = twice.export("third.parquet")
    earlier: Any = found.event.body["earlier"]
    assert [(one["persons_in_both"], one["persons_exposed"]) for one in earlier] == [(0, 0)] * 2
    nobody = [note for note in found.notes if note.startswith("together with export")]
    assert len(nobody) == 2
    assert all("no person is in both, unless the person key has a different format" in note for note in nobody)


def test_other_groups_of_the_same_people_are_refused(twice: Desk) -> None:
    """Also under another release of the table: its numbers are those of a brute force."""
    frame = people(80).assign(born=[1960 if number < 44 else 1961 for number in range(80)], sex="F")
    before = [(number, number % 4) for number in range(80)]
    after = [(number, int(number < 44)) for number in range(80)]
    expected = _intersected(before, after, 10)
    assert 0 < expected < 80
    wide = {"table": "people", "columns": COLUMNS, "limits": {"k": 10}, "person_key": "id"}
    twice.more = {"releases": {"other": wide}}
    twice.write(frame)
    twice.approve(name="other")
    with pytest.raises(Stop, match=f"it leaves {expected} people in groups below the limit"):
        twice.export("second.parquet", name="other")
    wide["re_release"] = "warn"
    twice.write()
    twice.approve(name="other")
    found = twice.export("second.parquet", name="other")
    assert _exposure(found) == (expected, 0)


def test_another_name_of_the_table_is_the_same_table(twice: Desk) -> None:
    """Its exports hold the same people: they are compared, in both directions."""
    twice.more = {
        "tables": [{"name": name, "source": "lake", "table": "people"} for name in ("people", "twin")],
        "releases": {"other": {**twice.release, "table": "twin", "re_release": "warn"}},
    }
    twice.write().approve(name="other")
    assert _exposure(twice.export("second.parquet", name="other")) == (0, 0)
    twice.approve()
    earlier: Any = twice.export("third.parquet").event.body["earlier"]
    assert [one["export"].split()[0] for one in earlier] == ["extract", "other"]


@pytest.mark.parametrize(
    ("source", "table", "same"),
    [
        ({"files": "people.parquet"}, "people", ["people", "twin"]),
        ({"files": "*.parquet"}, "people", ["people", "twin"]),
        ({"files": "p*.parquet", "table": "others"}, "others", ["people", "twin"]),
        ({"files": "linked/people.parquet"}, "people", ["people", "twin"]),
        ({"files": "more/people.parquet"}, "people", ["people"]),
        ({"url": "sqlite:///people.sqlite"}, "people", ["people"]),
        ({"files": "people.parquet"}, "others", ["people"]),
    ],
)
def test_a_name_is_of_the_same_table_where_it_lives_in_the_same_place(
    desk: Desk, source: Mapping[str, str], table: str, same: Sequence[str]
) -> None:
    """Whatever the source is called."""
    desk.more = {
        "sources": {"lake": dict(desk.source), "pond": source},
        "tables": [{"name": "people", "source": "lake"}, {"name": "twin", "source": "pond", "table": table}],
    }
    desk.write(people())
    (desk.folder / "linked").symlink_to(desk.folder)
    with desk.decisions() as decisions:
        assert names_of(decisions.case.project, "people", among={"twin"}) == same


def test_who_is_in_one_export_only_is_singled_out(twice: Desk) -> None:
    """A new person is the difference of the second and the first."""
    twice.write(people(82)).approve()
    with pytest.raises(Stop, match="the difference identifies 2 people who are in only one of them"):
        twice.export("second.parquet")
    twice.write(re_release="warn").approve()
    found = twice.export("second.parquet")
    assert _exposure(found) == (0, 2)
    assert "the difference identifies 2 people" in found.notes[0]


def test_groups_are_by_all_quasi_identifiers(desk: Desk) -> None:
    """Ten are alike by two columns, twenty by the third, and five by all: by any two, ten."""
    parts = {name: [number // width % 2 for number in range(40)] for name, width in (("born", 1), ("sex", 2), ("a", 4))}
    words = {"id": "direct-identifier", "ill": "other", **dict.fromkeys(("born", "sex", "a"), "quasi-identifier")}
    recipes = [
        {"remedy": "code", "id": "first", "top": {"born": 9}, "drop": ["a"]},
        {"remedy": "code", "id": "other", "top": {"a": 9}, "drop": ["born", "sex"]},
    ]
    desk.write(people().assign(**parts), columns=words, person_key="id", limits={"k": 6}, remedies=recipes)
    desk.approve("first")
    desk.export("first.parquet", remedy="first")
    desk.approve("other")
    with pytest.raises(Stop, match="it leaves 40 people in groups below the limit; k is 6"):
        desk.export("second.parquet", remedy="other")


def test_three_exports_are_compared_together(desk: Desk) -> None:
    """Each two leave ten people alike, all three five."""
    wide = dict(zip("abc", (20, 10, 5), strict=True))
    parts = {name: [number // width % 2 for number in range(40)] for name, width in wide.items()}
    words = {"id": "direct-identifier", "ill": "sensitive", **dict.fromkeys("abc", "quasi-identifier")}
    recipes = [
        {"remedy": "code", "id": name, "top": {name: 9}, "drop": [one for one in "abc" if one != name]}
        for name in "abc"
    ]
    frame = people().assign(**parts)[["id", "ill", *"abc"]]
    desk.write(frame, columns=words, limits={"k": 10}, person_key="id", remedies=recipes)
    for name in "ab":
        desk.approve(name)
        desk.export(f"{name}.parquet", remedy=name)
    desk.approve("c")
    with pytest.raises(Stop, match="40 people are in groups below the limit; k is 10"):
        desk.export("c.parquet", remedy="c")
    desk.write(re_release="warn").approve("c")
    found = desk.export("c.parquet", remedy="c")
    assert found.event.body["exposed_by_all"] == 40
    assert found.notes[:-1] == ["combined with all earlier exports, 40 people are in groups below the limit; k is 10"]
    assert "it has a sensitive column and no limit on l or t" in found.notes[-1]


def _dropping(**dropped: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return remedies that only leave columns out."""
    return [
        {"remedy": "code", "id": name, "top": {"size": 999}, "drop": list(columns)} for name, columns in dropped.items()
    ]


def _two_views(frame: pd.DataFrame, **release: Any) -> Mapping[str, Any]:
    """Return the options of a release that can leave with `a` or `b`, and the table with a number that is nothing."""
    words = {"id": "direct-identifier", "a": "quasi-identifier", "b": "quasi-identifier", "ill": "sensitive"}
    recipes = _dropping(by_a=["b"], by_b=["a"])
    return {
        "frame": frame.assign(size=1),
        "columns": {**words, "size": "other"},
        "person_key": "id",
        "remedies": recipes,
        **release,
    }


def _crossed() -> pd.DataFrame:
    """Return 40 people in two groups by `a`, and in others by `b`.

    What both groups of a person share is one illness.
    """
    numbers = range(40)
    groups = [(number // 10 % 2, number // 20) for number in numbers]
    ills = {(0, 0): "flu", (0, 1): "gout", (1, 0): "gout", (1, 1): "flu"}
    return pd.DataFrame(
        {
            "id": [f"p{number}" for number in numbers],
            "a": [one for one, _ in groups],
            "b": [other for _, other in groups],
            "ill": [f"{ills[group]}{group[0] * 2 + group[1]}" for group in groups],
        }
    )


def test_sensitive_values_of_classes_are_intersected_over_exports(desk: Desk) -> None:
    """Each export has two illnesses in each group; who knows both groups of a person knows the illness."""
    desk.write(**_two_views(_crossed(), limits={"k": 10, "l": 2})).approve("by_a")
    desk.export("a.parquet", remedy="by_a")
    desk.approve("by_b")
    with pytest.raises(Stop, match="40 people have fewer than 2 possible values of ill"):
        desk.export("b.parquet", remedy="by_b")
    desk.write(re_release="warn").approve("by_b")
    found = desk.export("b.parquet", remedy="by_b")
    assert found.event.body["few_values_by_all"] == {"ill": 40}
    assert found.event.body["promised_together"] == {"k": 10, "l": 2.0, "t": None}
    assert any("40 people have fewer than 2 possible values of ill" in note for note in found.notes)


def test_l_that_only_an_earlier_export_promised_still_holds(desk: Desk) -> None:
    """A later export without a limit on l does not take the promise back."""
    desk.write(**_two_views(_crossed(), limits={"k": 10, "l": 2})).approve("by_a")
    desk.export("a.parquet", remedy="by_a")
    desk.write(limits={"k": 10}).approve("by_b")
    with pytest.raises(Stop, match="40 people have fewer than 2 possible values of ill"):
        desk.export("b.parquet", remedy="by_b")


def test_the_same_groups_again_keep_l_and_t(desk: Desk) -> None:
    """What is exported twice tells nothing more, also of people with several rows in several groups."""
    frame = pd.concat([_crossed(), _crossed().assign(a=lambda rows: 1 - rows["a"])], ignore_index=True)
    desk.write(**_two_views(frame, limits={"k": 10, "l": 2, "t": 0.9})).approve("by_a")
    desk.export("a.parquet", remedy="by_a")
    found = desk.export("b.parquet", remedy="by_a")
    assert found.event.body["few_values_by_all"] == {"ill": 0}
    assert found.event.body["together"] == []


def test_joined_groups_stay_close_to_the_table(desk: Desk) -> None:
    """Half of a group has each illness in either export, and a joined group has one alone."""
    desk.write(**_two_views(_crossed(), limits={"k": 10, "t": 0.6})).approve("by_a")
    desk.export("a.parquet", remedy="by_a")
    desk.approve("by_b")
    with pytest.raises(Stop, match=r"a joint class is 0\.75 away from the table in ill; 0\.6 is the limit"):
        desk.export("b.parquet", remedy="by_b")


def test_missing_values_bring_no_joined_group_nearer(desk: Desk) -> None:
    """Every other illness is missing: what is known of a joined group is one illness alone."""
    frame = _crossed()
    frame["ill"] = [None if number % 2 else ill for number, ill in enumerate(frame["ill"])]
    desk.write(**_two_views(frame, limits={"k": 10, "t": 0.6})).approve("by_a")
    desk.export("a.parquet", remedy="by_a")
    desk.approve("by_b")
    with pytest.raises(Stop, match=r"groups that break a limit on ill|a joint class is 0\.75 away"):
        desk.export("b.parquet", remedy="by_b")
    desk.write(re_release="warn").approve("by_b")
    found = desk.export("b.parquet", remedy="by_b")
    assert found.event.body["t_by_all"] == {"ill": 0.75}


def test_the_largest_k_that_was_promised_holds_over_all_exports(desk: Desk) -> None:
    """An export at k 10, then one at k 2 with other groups: groups of three are smaller than what was promised."""
    frame = people(80).assign(part=[number // 4 % 7 for number in range(80)])
    words = {**COLUMNS, "part": "quasi-identifier"}
    recipes = [
        {"remedy": "code", "id": "by_part", "top": {"part": 9}, "drop": ["born", "sex"]},
        {"remedy": "code", "id": "by_born", "top": {"born": 9_999}, "drop": ["part"]},
    ]
    desk.write(frame, columns=words, person_key="id", remedies=recipes, limits={"k": 10}).approve("by_born")
    desk.export("first.parquet", remedy="by_born")
    desk.write(limits={"k": 2}).approve("by_part")
    with pytest.raises(
        Stop, match=r"smaller than 10; .* the limits of all releases and exports of the table hold too: k 10"
    ):
        desk.export("second.parquet", remedy="by_part")
    desk.write(frame.assign(part=[number % 5 for number in range(80)])).approve("by_part")
    with pytest.raises(Stop, match="it leaves 80 people in groups below the limit; k is 10"):
        desk.export("second.parquet", remedy="by_part")


@pytest.mark.parametrize(
    ("source", "table"),
    [
        ({"files": "*.parquet"}, "people"),
        ({"files": "./more/../people.parquet"}, "people"),
        ({"files": "linked/people.parquet"}, "people"),
        ({"files": "hard/folk.parquet"}, "folk"),
        ({"files": "copied/copy.parquet"}, "copy"),
        ({"files": "peopl?.parquet", "table": "all_of_them"}, "all_of_them"),
    ],
)
def test_a_source_in_other_words_is_the_same_table(twice: Desk, source: Mapping[str, str], table: str) -> None:
    """A glob, a link, a path or a copy: exports are compared though the configuration has no name of before."""
    for folder in ("more", "hard", "copied"):
        (twice.folder / folder).mkdir()
    (twice.folder / "linked").symlink_to(twice.folder)
    (twice.folder / "hard" / "folk.parquet").hardlink_to(twice.folder / "people.parquet")
    (twice.folder / "copied" / "copy.parquet").write_bytes((twice.folder / "people.parquet").read_bytes())
    twice.source = source
    twice.more = {"tables": [{"name": "renamed", "source": "lake", "table": table}]}
    twice.write(table="renamed").approve()
    assert _exposure(twice.export("second.parquet")) == (0, 0)


def test_a_file_that_was_renamed_is_the_same_table(twice: Desk) -> None:
    """Its inode is, also after rows were added."""
    path = (twice.folder / "people.parquet").rename(twice.folder / "folk.parquet")
    twice.source = {"files": path.name}
    twice.more = {"tables": [{"name": "folk", "source": "lake"}]}
    twice.write(table="folk").approve()
    found = twice.export("second.parquet")
    assert _exposure(found) == (0, 0)


def test_persons_who_are_in_exports_of_another_table_are_said(twice: Desk) -> None:
    """A changed copy is another table, by its content; that the people are the same is noted."""
    people(79).to_parquet(twice.folder / "folk.parquet")
    twice.source = {"files": "folk.parquet"}
    twice.more = {"tables": [{"name": "folk", "source": "lake"}]}
    twice.write(table="folk").approve()
    found = twice.export("second.parquet")
    assert found.event.body["earlier"] == []
    assert any("79 people are in export extract" in note and "another table" in note for note in found.notes)


def test_a_column_has_one_classification_over_all_exports(desk: Desk) -> None:
    """What left as `other` cannot be compared as a quasi-identifier."""
    loose = {**COLUMNS, "sex": "other"}
    desk.write(people(80), columns=loose, person_key="id").approve()
    desk.export("first.parquet")
    desk.write(columns=COLUMNS).approve()
    with pytest.raises(Stop, match="sex was published in an earlier export with another classification"):
        desk.export("second.parquet")


def test_releases_of_one_table_under_two_names_classify_alike(desk: Desk) -> None:
    """A release cannot be approved that calls `other` what another one of the same table protects."""
    other = {"table": "twin", "columns": {**COLUMNS, "sex": "other"}, "limits": {"k": 5}}
    desk.more = {
        "sources": {"lake": {"files": "people.parquet"}, "pond": {"files": "*.parquet"}},
        "tables": [{"name": "people", "source": "lake"}, {"name": "twin", "source": "pond", "table": "people"}],
        "releases": {"other": other},
    }
    desk.write(people())
    with pytest.raises(Stop, match="column 'sex' is 'other' in release 'other' and 'quasi-identifier' in release"):
        desk.approve(name="other")


def test_without_a_person_key_the_second_export_is_held(desk: Desk) -> None:
    """It cannot be checked; the first one says so."""
    desk.approve()
    assert "cannot be compared" in desk.export("first.parquet").notes[0]
    with pytest.raises(
        Stop, match=r"was exported once before, and without 'person_key' their joint exposure cannot be checked"
    ):
        desk.export("second.parquet")
    with desk.decisions() as decisions:
        assert decisions.standing().decision is ReleaseDecision.HELD


def test_an_export_without_a_person_key_cannot_be_compared_later(desk: Desk) -> None:
    """A key that is declared afterwards says nothing of what left before."""
    desk.approve()
    desk.export("first.parquet")
    with pytest.raises(Stop, match="it cannot be compared with export extract"):
        desk.given_out("second.parquet", person_key="id")
    found = desk.given_out("second.parquet", person_key="id", re_release="warn")
    assert _exposure(found) == (None, None)
    assert "cannot be compared" in found.notes[0]


def test_another_person_key_cannot_be_compared(twice: Desk) -> None:
    """People are then distinguished otherwise."""
    twice.write(people(80).assign(card=people(80)["id"]))
    with pytest.raises(Stop, match="it cannot be compared"):
        twice.given_out("second.parquet", columns={**COLUMNS, "card": "direct-identifier"}, person_key="card")


def test_a_lost_key_cannot_be_compared(twice: Desk) -> None:
    """Signatures of before mean nothing under a new key; nor does the approval."""
    (twice.folder / "store.db.key").unlink()
    with pytest.raises(Stop, match="or the signature key was"):
        twice.export("second.parquet")
    with twice.decisions() as decisions:
        ledger = decisions.case.project.release_ledger(decisions.store)
        assert ledger.adopt(reason="the key is lost", actor="desk", now=twice.clock.now())
    twice.approve()
    with pytest.raises(Stop, match="it cannot be compared"):
        twice.export("second.parquet")


def test_rows_that_name_nobody_cannot_be_compared(desk: Desk) -> None:
    """They may be of any person."""
    frame = people(80)
    frame.loc[frame.index[:8], "id"] = None
    desk.write(frame, person_key="id").approve()
    desk.export("first.parquet")
    with pytest.raises(Stop, match="or rows without a person"):
        desk.export("second.parquet")


def test_several_rows_of_a_person_are_compared(desk: Desk) -> None:
    """The smallest group counts."""
    frame = people(80).assign(id=[f"p{number // 2}" for number in range(80)])
    desk.write(frame, person_key="id").approve()
    desk.export("first.parquet")
    assert _exposure(desk.export("second.parquet")) == (0, 0)


def test_no_person_is_in_the_store(twice: Desk) -> None:
    """What is kept are keyed signatures."""
    stored = (twice.folder / "store.db").read_bytes()
    assert b"p17" not in stored
    twice.clock.advance(timedelta(hours=1))
    with twice.decisions() as decisions:
        (one,) = StoredCounts(decisions.store).releases("people exports")
        assert (one.pairs.rows, one.pairs.unnamed) == (80, 0)


def test_whom_a_stopped_export_held_is_forgotten(twice: Desk) -> None:
    """A process that dies, or is overtaken, before the export is on record leaves signatures of people for nothing."""
    with twice.decisions() as decisions:
        kept = StoredCounts(decisions.store)
        (first,) = kept.releases("people exports")
        number = kept.write_release("people exports", replace(first, name="whole, and never on record"))
        with decisions.store.writing() as tx:
            tx.releases.end(number)
            tx.releases.begin("people exports", replace(first, name="half"))
            tx.releases.begin("others exports", replace(first, name="half"))
    twice.export("second.parquet")
    with twice.decisions() as decisions, decisions.store.writing() as tx:
        names = [name for _, name in _remembered(tx)]
        assert (len(names), names[:2]) == (3, [first.name, "half"])
        assert [subject for subject, _ in _remembered(tx)] == ["people exports", "others exports", "people exports"]


@pytest.mark.parametrize("whole", [True, False])
def test_an_export_that_is_taken_for_a_dead_one_says_that_it_was_overtaken(
    twice: Desk, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one that ends while its people are being written, or just were, removes them."""
    writes = StoredCounts.write_release
    ended: list[int] = []

    def another_ends(counts: StoredCounts, subject: str, release: Earlier) -> int:
        if ended:
            return writes(counts, subject, release)
        ended.append(1)
        number = writes(counts, subject, release) if whole else 0
        twice.export("second.parquet")
        if not whole:
            raise StoreError("its rows are gone")
        return number

    monkeypatch.setattr(StoredCounts, "write_release", another_ends)
    with pytest.raises(Stop, match="another export of 'people' finished while this one was running"):
        twice.export("third.parquet")
    assert "third.parquet" not in twice.files()
    with twice.decisions() as decisions, decisions.store.reading() as tx:
        assert len(tx.release_events.matching(kind=ReleaseEventKind.EXPORTED)) == 2


def _remembered(tx: WriteTransaction) -> Sequence[tuple[str, str]]:
    found = tx._connection.exec_driver_sql("SELECT subject, name FROM release ORDER BY id").all()
    return [(row.subject, row.name) for row in found]
