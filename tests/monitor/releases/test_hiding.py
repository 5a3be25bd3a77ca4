"""What is hidden stays hidden: in every export of a table, by every remedy, and when two exports are subtracted."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from monitor.terminal.problem import Stop
from tests.monitor.releases.desk import Desk, rows_of

COLUMNS = {"id": "direct-identifier", "zip": "quasi-identifier", "ill": "sensitive"}
ALIKE = {10007, 10019}
OTHER_REGION = "a key of signatures 1"
"""Under this key the district that is suppressed in addition is not in the region of 10007."""
TREATMENTS: Sequence[Mapping[str, Any]] = (
    {"remedy": "suppress"},
    {"remedy": "suppress", "cells": True},
    {"remedy": "generalise", "suppress": 0.4, "levels": {"zip": 0}},
    {"remedy": "generalise", "suppress": 0.4, "search": "datafly"},
    {"remedy": "generalise", "suppress": 0.4, "by": "discernibility"},
)


def patients(alike: set[int], *, classes: int = 30, seed: int = 5) -> pd.DataFrame:
    """Return five patients in each district; those of some districts have the same diagnosis."""
    dice, rows = random.Random(seed), []
    for district in range(10000, 10000 + classes):
        ills = ["hiv"] * 5 if district in alike else ["flu", "cold", *dice.choices(["flu", "cold", "ulcer"], k=3)]
        rows += [(f"{district}-{place}", str(district), ill) for place, ill in enumerate(ills)]
    dice.shuffle(rows)
    return pd.DataFrame(rows, columns=["id", "zip", "ill"])


def configured(desk: Desk, frame: pd.DataFrame, treatment: Mapping[str, Any], **release: Any) -> str:
    """Configure and approve a release of patients; return the name of its remedy."""
    words = {"columns": COLUMNS, "person_key": "id", "limits": {"k": 5, "l": 2}, "remedies": [dict(treatment)]}
    trees = {"zip": {"type": "mask", "hide": [1, 2]}} if treatment["remedy"] == "generalise" else {}
    desk.write(frame, **{**words, "hierarchies": trees, **release})
    desk.approve(treatment["remedy"])
    return str(treatment["remedy"])


def _missing(desk: Desk, frame: pd.DataFrame, out: str) -> set[str]:
    return set(frame["zip"]) - {row[0] for row in rows_of(desk.folder / out, "SELECT zip FROM output")}


@pytest.mark.parametrize("treatment", TREATMENTS, ids=lambda one: "-".join(map(str, one.values())))
def test_repeated_exports_of_one_state_hide_the_same(desk: Desk, treatment: Mapping[str, Any]) -> None:
    """What is missing in all of them is no more than what is missing in one, and half of it at least holds."""
    frame = patients(ALIKE)
    remedy = configured(desk, frame, treatment)
    missing = []
    for out in ("1.parquet", "2.parquet", "3.parquet"):
        desk.export(out, remedy=remedy)
        missing.append(_missing(desk, frame, out))
    assert missing[0] == missing[1] == missing[2]
    alike = {str(district) for district in ALIKE}
    assert (alike <= missing[0] and len(missing[0]) >= 2 * len(alike)) or not missing[0]


def test_two_releases_of_a_table_hide_the_same(desk: Desk) -> None:
    """What only one of them hides would name the classes that hold."""
    frame = patients(ALIKE)
    remedy = configured(desk, frame, {"remedy": "suppress"})
    desk.more = {"releases": {"other": {**desk.release, "audience": "others"}}}
    desk.write()
    desk.approve(remedy)
    desk.approve(remedy, name="other")
    desk.export("1.parquet", remedy=remedy)
    desk.export("2.parquet", remedy=remedy, name="other")
    assert _missing(desk, frame, "1.parquet") == _missing(desk, frame, "2.parquet")


@pytest.mark.parametrize("treatment", [TREATMENTS[1], TREATMENTS[2]], ids=["cells", "levels"])
def test_districts_that_join_take_no_place_of_what_was_hidden_before(desk: Desk, treatment: Mapping[str, Any]) -> None:
    """Else those that hold return, and what is missing in both exports is what broke a limit."""
    desk.more = {"storage": {"url": f"sqlite:///{desk.folder}/store.db", "signature_key": OTHER_REGION}}
    frame = patients(ALIKE)
    more = patients(set(), classes=90).query("zip > '10029'")
    missing = []
    for out, table in (("1.parquet", frame), ("2.parquet", pd.concat([frame, more], ignore_index=True))):
        remedy = configured(desk, table, treatment)
        desk.export(out, remedy=remedy)
        missing.append(_missing(desk, table, out))
    assert missing[0] == missing[1]
    assert len(missing[0]) >= 2 * len(ALIKE)


PLACES = {**COLUMNS, "sex": "quasi-identifier"}
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "fine": {"remedy": "suppress"},
    "coarse": {"remedy": "suppress", "drop": ["sex"]},
    "cells": {"remedy": "suppress", "cells": True},
    "levels": {"remedy": "generalise", "suppress": 0.9, "levels": {"sex": 0}},
}


def _by_sex(alike: Mapping[int, str], *, classes: int = 30, seed: int = 3) -> pd.DataFrame:
    """Return five patients of each sex in each district; those of some districts and sexes have the same diagnosis."""
    dice, rows = random.Random(seed), []
    for district in range(10000, 10000 + classes):
        for sex in "FM":
            one = sex in alike.get(district, "")
            ills = ["hiv"] * 5 if one else ["flu", "cold", *dice.choices(["flu", "cold", "ulcer"], k=3)]
            rows += [(f"{district}-{sex}{place}", str(district), sex, ill) for place, ill in enumerate(ills)]
    dice.shuffle(rows)
    return pd.DataFrame(rows, columns=["id", "zip", "sex", "ill"])


PAIRS = [("fine", "coarse"), ("coarse", "fine"), ("levels", "coarse"), ("coarse", "cells")]


def _regrouped(desk: Desk, frame: pd.DataFrame, names: Sequence[str]) -> None:
    remedies = [{**RECIPES[name], "id": name} for name in names]
    trees = {"zip": {"type": "mask", "hide": [1, 2]}, "sex": {"type": "flat"}} if "levels" in names else {}
    limits = {"k": 5, "l": 2}
    desk.write(frame, columns=PLACES, person_key="id", limits=limits, remedies=remedies, hierarchies=trees)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_what_two_groupings_hide_is_not_mostly_what_broke_a_limit(desk: Desk, names: Sequence[str]) -> None:
    """Of the districts that are in neither file half at least hold."""
    frame = _by_sex({10007: "FM", 10019: "FM"})
    _regrouped(desk, frame, names)
    missing = []
    for name in names:
        desk.approve(name)
        desk.export(f"{name}.parquet", remedy=name)
        missing.append(_missing(desk, frame, f"{name}.parquet"))
    both = missing[0] & missing[1]
    assert {"10007", "10019"} <= both
    assert len(both) >= 2 * len({"10007", "10019"})


@pytest.mark.parametrize("names", [("coarse", "fine"), ("fine", "coarse"), ("coarse", "levels")], ids="-".join)
def test_a_file_that_shows_which_groups_were_hidden_besides_is_refused(desk: Desk, names: Sequence[str]) -> None:
    """A district of ten is hidden by the one grouping for its values, and by the other for the sizes of its groups."""
    frame = _by_sex({10007: "FM"})
    frame = frame[~frame["id"].isin(["10007-F0", "10007-M0"])].reset_index(drop=True)
    _regrouped(desk, frame, names)
    desk.approve(names[0])
    desk.export(f"{names[0]}.parquet", remedy=names[0])
    desk.approve(names[1])
    with pytest.raises(Stop, match="1 of 1 group missing in all exports break a limit on sensitive values"):
        desk.export(f"{names[1]}.parquet", remedy=names[1])
    assert f"{names[1]}.parquet" not in desk.files()


def _exposed(desk: Desk, one: str, other: str, *, digits: int = 5) -> Counter[tuple[str, str]]:
    """Return what the second file has more than the first, by district and diagnosis."""
    cells = f"SELECT left(zip, {digits}), ill FROM output"
    first, second = (Counter(rows_of(desk.folder / out, cells)) for out in (one, other))
    return second - first  # type: ignore[return-value] # pairs of texts


def _grown(frame: pd.DataFrame, ills: Sequence[str], *, district: str = "10000") -> pd.DataFrame:
    more = [(f"new-{district}-{place}", district, ill) for place, ill in enumerate(ills)]
    return pd.concat([frame, pd.DataFrame(more, columns=frame.columns)], ignore_index=True)


@pytest.mark.parametrize("limits", [{"k": 5, "l": 2}, {"k": 5, "t": 0.5}, {"k": 5, "l": 3}])
def test_newcomers_with_one_diagnosis_are_refused_or_wait(desk: Desk, limits: Mapping[str, Any]) -> None:
    """Five people join a class: subtracting the first export shows what they have; with others they can leave."""
    frame = patients(set())
    frame = frame.sort_values("zip", ignore_index=True).assign(ill=["flu", "cold", "ulcer", "gout", "flu"] * 30)
    remedy = configured(desk, frame, {"remedy": "suppress"}, limits=limits)
    desk.export("1.parquet", remedy=remedy)
    grown = _grown(frame, ["hiv"] * 5)
    desk.write(grown, limits=limits).approve(remedy)
    with pytest.raises(Stop, match=r"the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy=remedy)
    found = desk.export("2.parquet", remedy=remedy, hold_back=True)
    assert found.event.body["rows_held_back"] == 5
    assert not _exposed(desk, "1.parquet", "2.parquet")
    desk.write(_grown(frame, ["flu", "cold", "ulcer", "gout", "flu"])).approve(remedy)
    found = desk.export("3.parquet", remedy=remedy, hold_back=True)
    assert found.event.body["rows_held_back"] == 0
    assert _exposed(desk, "1.parquet", "3.parquet").total() == 5


@pytest.mark.parametrize("ills", [["flu", "cold", "ulcer", "gout", "hiv"], None])
@pytest.mark.parametrize("grows", [True, False])
def test_rows_of_one_person_are_no_difference_of_many(desk: Desk, ills: Sequence[str] | None, *, grows: bool) -> None:
    """Five more visits of a patient who was in the class before; also where nothing is sensitive, and when they go."""
    frame = patients(set()) if ills else patients(set()).assign(ill=1)
    person = [frame[frame["zip"] == "10000"].iloc[0]["id"]] * 5
    visits = pd.concat([frame, pd.DataFrame({"id": person, "zip": "10000", "ill": ills or 1})], ignore_index=True)
    columns = {**COLUMNS, "ill": "sensitive" if ills else "other"}
    first, second = (frame, visits) if grows else (visits, frame)
    desk.write(first, columns=columns, person_key="id").approve()
    desk.export("1.parquet")
    desk.write(second).approve()
    with pytest.raises(Stop, match=r"the difference has 1 group (of fewer people|whose values of ill)"):
        desk.export("2.parquet")
    assert desk.export("2.parquet", hold_back=True).event.body["rows_held_back"] == 5


@pytest.mark.parametrize("ills", [["hiv", "HIV", "hiv ", "Hiv", "hiv"], ["hiv", "hiv", "hiv", "hiv", None]])
def test_spellings_and_missing_values_are_no_others_in_a_difference(desk: Desk, ills: Sequence[str]) -> None:
    """Unless the release declares them to be values."""
    frame = patients(set())
    remedy = configured(desk, frame, {"remedy": "suppress"})
    desk.export("1.parquet", remedy=remedy)
    desk.write(_grown(frame, ills)).approve(remedy)
    with pytest.raises(Stop, match="the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy=remedy)
    desk.write(spelling_is_a_value=["ill"], missing_is_a_value=["ill"]).approve(remedy)
    assert desk.export("2.parquet", remedy=remedy).event.body["rows"] == 155


def test_spellings_bring_no_difference_nearer_to_the_table(desk: Desk) -> None:
    """Five newcomers all have Flu, as half of the table has it written; in one spelling all of the table has flu."""
    frame = patients(set()).sort_values("zip", ignore_index=True).assign(ill=["flu", "Flu"] * 75)
    limits = {"k": 5, "t": 0.4}
    remedy = configured(desk, frame, {"remedy": "suppress"}, limits=limits)
    desk.export("1.parquet", remedy=remedy)
    desk.write(_grown(frame, ["Flu"] * 5)).approve(remedy)
    with pytest.raises(Stop, match="the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy=remedy)
    assert desk.export("2.parquet", remedy=remedy, hold_back=True).event.body["rows_held_back"] > 0
    desk.write(_grown(frame, ["Flu", "flu"] * 3)).approve(remedy)
    assert desk.export("3.parquet", remedy=remedy, hold_back=True).event.body["rows"] == 156


def test_missing_values_bring_no_difference_nearer_to_the_table(desk: Desk) -> None:
    """Of five newcomers three have no diagnosis that is known: what is known is flu, of which the table has half."""
    frame = patients(set()).sort_values("zip", ignore_index=True)
    frame["ill"] = ["flu", "cold", None, None, None] * 30
    limits = {"k": 5, "t": 0.4}
    remedy = configured(desk, frame, {"remedy": "suppress"}, limits=limits)
    desk.export("1.parquet", remedy=remedy)
    ills: Any = ["flu", "flu", None, None, None]
    desk.write(_grown(frame, ills)).approve(remedy)
    with pytest.raises(Stop, match="the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy=remedy)
    assert desk.export("2.parquet", remedy=remedy, hold_back=True).event.body["rows_held_back"] > 0
    desk.write(missing_is_a_value=["ill"]).approve(remedy)
    assert desk.export("3.parquet", remedy=remedy).event.body["rows"] == 155


def test_those_who_leave_with_one_diagnosis_are_refused(desk: Desk) -> None:
    """The earlier export has them still; with others of their class left out, the difference tells no more of them."""
    frame = _grown(patients(set()), ["hiv"] * 5)
    remedy = configured(desk, frame, {"remedy": "suppress"})
    desk.export("1.parquet", remedy=remedy)
    desk.write(frame.iloc[:-5]).approve(remedy)
    with pytest.raises(Stop, match="the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy=remedy)
    found = desk.export("2.parquet", remedy=remedy, hold_back=True)
    left = _exposed(desk, "2.parquet", "1.parquet")
    assert found.event.body["rows_held_back"] == left.total() - 5 > 0
    assert len(left) >= 2


def test_what_one_remedy_hid_another_does_not_show(desk: Desk) -> None:
    """Suppressed classes stand in a generalised file: it is compared by the districts that both are made of."""
    frame = patients({10007})
    storage = {"url": f"sqlite:///{desk.folder}/store.db", "signature_key": OTHER_REGION}
    desk.more = {"storage": storage}
    treatments = [{"remedy": "suppress"}, {"remedy": "generalise"}]
    desk.write(
        frame,
        columns=COLUMNS,
        person_key="id",
        limits={"k": 5, "l": 2},
        remedies=treatments,
        hierarchies={"zip": {"type": "mask", "hide": [1, 2]}},
    )
    desk.approve("suppress")
    desk.export("1.parquet", remedy="suppress")
    desk.approve("generalise")
    with pytest.raises(Stop, match="the difference has 1 group whose values of ill break a limit"):
        desk.export("2.parquet", remedy="generalise")
    desk.export("2.parquet", remedy="generalise", hold_back=True)
    assert all(len(values) > 1 for values in _values_by_label(_exposed(desk, "1.parquet", "2.parquet", digits=4)))


def _values_by_label(rows: Counter[tuple[str, str]]) -> Sequence[set[str]]:
    labels = {label for label, _ in rows}
    return [{ill for other, ill in rows if other == label} for label in labels]


@pytest.mark.parametrize("returns", [False, True])
def test_what_two_groupings_overlap_in_is_no_group_of_few_values(desk: Desk, *, returns: bool) -> None:
    """By ages below 10, 20 and below 15: the second file minus the first are those from 10 to 14.

    So they are where those below 10 come again ten years later.
    """
    ills = {**dict.fromkeys(range(10), "flu cold"), **dict.fromkeys(range(10, 15), "hiv")}
    texts = [ills.get(age, "cold ulcer").split() for age in range(30)]
    numbers = [age % 20 if returns and age >= 20 else age for age in range(30)]
    rows = [(f"p{number}", age, texts[age][age % len(texts[age])]) for age, number in enumerate(numbers)]
    frame = pd.DataFrame(rows, columns=["id", "age", "ill"])
    words = {"columns": {**COLUMNS, "age": "quasi-identifier"}, "person_key": "id", "limits": {"k": 5, "l": 2}}
    del words["columns"]["zip"]
    by = {
        name: {
            **words,
            "table": "people",
            "hierarchies": {"age": {"type": "intervals", "breaks": [breaks]}},
            "remedies": [{"remedy": "generalise", "levels": {"age": 1}}],
        }
        for name, breaks in {"extract": [10, 20], "other": [15]}.items()
    }
    desk.more = {"releases": {"other": by["other"]}}
    desk.write(frame, **by["extract"])
    for name in by:
        desk.approve("generalise", name=name)
    desk.export("1.parquet", remedy="generalise")
    with pytest.raises(Stop, match="joined with these 5 rows are in groups that break a limit on ill"):
        desk.export("2.parquet", remedy="generalise", name="other")


def test_those_who_leave_are_seen_by_other_columns_too(desk: Desk) -> None:
    """By district, then by sex: five of each district left, and only the one district had the diagnosis of five."""
    texts = {"10000": ["flu", "cold"] * 10 + ["hiv"] * 5, "10001": ["flu", "cold"] * 10 + ["gout"] * 5}
    rows = [
        (f"{district}-{number}", district, "FM"[number // 2 % 2], ill)
        for district, ills in texts.items()
        for number, ill in enumerate(ills)
    ]
    frame = pd.DataFrame(rows, columns=["id", "zip", "sex", "ill"])
    remedies = [{"remedy": "suppress", "id": name, "drop": [name]} for name in ("zip", "sex")]
    desk.write(frame, columns=PLACES, person_key="id", limits={"k": 5, "l": 2}, remedies=remedies).approve("sex")
    desk.export("1.parquet", remedy="sex")
    desk.write(frame[~frame["ill"].isin(["hiv", "gout"])].reset_index(drop=True)).approve("zip")
    with pytest.raises(Stop, match="joined with these 40 rows are in groups that break a limit on ill"):
        desk.export("2.parquet", remedy="zip")


def test_those_who_leave_are_close_to_the_table_by_other_columns_too(desk: Desk) -> None:
    """By district, and later by district and sex: the district minus both sexes are those who left."""
    left = ["hiv", "gout", "hiv", "gout", "hiv"]
    rows = [
        (f"{district}-{number}", district, "FM"[number // 2 % 2], ill)
        for district in ("10000", "10001")
        for number, ill in enumerate([*["flu", "cold"] * 10, *(left if district == "10000" else [])])
    ]
    frame = pd.DataFrame(rows, columns=["id", "zip", "sex", "ill"])
    words = {"columns": {**PLACES, "sex": "other"}, "person_key": "id", "limits": {"k": 5, "t": 0.5}}
    words["remedies"] = [{"remedy": "suppress", "drop": ["sex"]}]
    desk.write(frame)
    desk.given_out("1.parquet", remedy="suppress", **words)
    frame = frame[~frame["ill"].isin(left)].reset_index(drop=True)
    desk.write(frame, columns=PLACES, remedies=[{"remedy": "suppress"}]).approve("suppress")
    with pytest.raises(Stop, match="joined with these 20 rows are in groups that break a limit on ill"):
        desk.export("2.parquet", remedy="suppress")


STATES = {"a": [8, 4, 5, 2], "b": [8, 6, 10, 4], "c": [5, 0, 0, 0]}
"""How many people of each group have which of four diagnoses."""


@pytest.mark.parametrize("limits", [{"k": 5, "l": 2}, {"k": 5, "t": 0.5}])
def test_what_three_exports_tell_together_is_no_group_that_breaks_a_limit(
    desk: Desk, limits: Mapping[str, Any]
) -> None:
    """Of a, then a and b, then b and c: the first and the third minus the second are c, all of one diagnosis.

    No two of them tell it: as many who have it left as came.
    """
    texts = {
        name: [ill for ill, many in zip("wxyz", counts, strict=True) for _ in range(many)]
        for name, counts in STATES.items()
    }

    def state(*names: str) -> pd.DataFrame:
        rows = [(f"{name}{place}", "10000", ill) for name in names for place, ill in enumerate(texts[name])]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    remedy = configured(desk, state("a"), {"remedy": "suppress"}, limits=limits)
    desk.export("1.parquet", remedy=remedy)
    desk.write(state("a", "b")).approve(remedy)
    desk.export("2.parquet", remedy=remedy)
    desk.write(state("b", "c")).approve(remedy)
    with pytest.raises(Stop, match="joined with these 5 rows are in groups that break a limit on ill"):
        desk.export("3.parquet", remedy=remedy)
    assert desk.export("3.parquet", remedy=remedy, hold_back=True).event.body["rows_held_back"] == 5


def test_newcomers_of_one_diagnosis_are_seen_by_other_columns_too(desk: Desk) -> None:
    """By district, and later by district and sex: the sum of both sexes minus the district are the newcomers."""
    frame = _by_sex({})
    new = pd.DataFrame([(f"new{number}", "10007", "F", "hiv") for number in range(5)], columns=frame.columns)
    words = {"columns": {**PLACES, "sex": "other"}, "person_key": "id", "limits": {"k": 5, "l": 2}}
    words["remedies"] = [{"remedy": "suppress", "drop": ["sex"]}]
    desk.write(frame)
    desk.given_out("1.parquet", remedy="suppress", **words)
    desk.write(pd.concat([frame, new], ignore_index=True), columns=PLACES, remedies=[{"remedy": "suppress"}])
    desk.approve("suppress")
    with pytest.raises(Stop, match="joined with these 5 rows are in groups that break a limit on ill"):
        desk.export("2.parquet", remedy="suppress")


@pytest.mark.parametrize("by", ["pseudonym", "column"])
def test_rows_that_can_be_found_again_are_judged_by_the_joined_class(desk: Desk, by: str) -> None:
    """By district and by age a class has five diagnoses; the patients of one district and age have one."""
    ills = ["flu", "cold", "hiv", "asthma", "ulcer", "flu"]
    cells = [(zip_, age) for zip_ in "1234" for age in "3456"]
    rows = [
        (f"p{zip_}{age}{place}", zip_, age, "hiv" if (zip_, age) == ("1", "3") else ill, number)
        for number, (zip_, age) in enumerate(cells)
        for place, ill in enumerate(ills)
    ]
    frame = pd.DataFrame(rows, columns=["id", "zip", "age", "ill", "cost"])
    frame["cost"] = range(len(frame)) if by == "column" else 0
    words = {**COLUMNS, "age": "quasi-identifier", "cost": "other"}
    recipes = [{"remedy": "suppress", "id": f"no_{name}", "drop": [name]} for name in ("age", "zip")]
    pseudonyms = ["id"] if by == "pseudonym" else []
    limits = {"k": 5, "l": 2}
    desk.write(frame, columns=words, person_key="id", limits=limits, remedies=recipes, pseudonyms=pseudonyms)
    desk.approve("no_age")
    desk.export("1.parquet", remedy="no_age")
    desk.approve("no_zip")
    with pytest.raises(Stop, match="joined with these 6 rows are in groups that break a limit on ill"):
        desk.export("2.parquet", remedy="no_zip")


def test_a_looser_release_keeps_the_limits_of_its_sister(desk: Desk) -> None:
    """Without a limit on l it would show the classes that the other hid, and which of them hold."""
    frame = patients(ALIKE)
    remedy = configured(desk, frame, {"remedy": "suppress"})
    desk.more = {"releases": {"other": {**desk.release, "limits": {"k": 5}}}}
    desk.write()
    desk.approve(remedy)
    desk.approve(remedy, name="other")
    desk.export("1.parquet", remedy=remedy)
    with pytest.raises(Stop, match=r"the limits of all releases and exports of the table hold too: k 5, l 2"):
        desk.export("2.parquet", remedy=remedy, name="other")
    assert "2.parquet" not in desk.files()


def test_a_sister_release_does_not_declare_away_what_was_promised(desk: Desk) -> None:
    """Four of five have one diagnosis and one none: hidden by the one release, it is not shown by the other."""
    frame = patients(set()).sort_values("zip", ignore_index=True)
    ills: Any = ["hiv"] * 4 + [None]
    frame.loc[frame["zip"].eq("10007"), "ill"] = ills
    remedy = configured(desk, frame, {"remedy": "suppress"})
    desk.more = {"releases": {"other": {**desk.release, "missing_is_a_value": ["ill"]}}}
    desk.write()
    desk.approve(remedy)
    desk.approve(remedy, name="other")
    desk.export("1.parquet", remedy=remedy)
    with pytest.raises(Stop, match=r"the limits of all releases and exports of the table hold too: k 5, l 2"):
        desk.export("2.parquet", remedy=remedy, name="other")
    assert "2.parquet" not in desk.files()


@pytest.mark.parametrize("limits", [{"k": 5, "l": 2}, {"k": 5, "t": 0.4}, {"k": 6}])
def test_a_release_keeps_the_limits_of_a_sister_that_was_never_exported(desk: Desk, limits: Mapping[str, Any]) -> None:
    """What it shows now the other could not hide later; a release of another table asks nothing of it."""
    frame = patients(ALIKE)
    remedy = configured(desk, frame, {"remedy": "suppress"}, limits={"k": 5})
    desk.more = {"releases": {"other": {**desk.release, "limits": limits}}}
    desk.write()
    desk.approve(remedy)
    with pytest.raises(Stop, match=r"the limits of all releases and exports of the table hold too: k"):
        desk.export("1.parquet", remedy=remedy)
    assert "1.parquet" not in desk.files()
    desk.write(re_release="warn").approve(remedy)
    desk.export("1.parquet", remedy=remedy)
