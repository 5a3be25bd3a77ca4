"""Rows that a pseudonym links are looked at together: by k, by l, by t, and when exports are compared."""

from typing import Any

import pandas as pd
import pytest

from monitor.terminal.problem import Stop
from tests.monitor.releases.desk import Desk, people


def _of_two(first: str = "flu", second: str = "flu") -> pd.DataFrame:
    """Return people of two classes; six of them are in both, with these illnesses."""
    rows = [(f"a{number}", 1960, "gout") for number in range(6)] + [(f"c{number}", 1961, "gout") for number in range(6)]
    for number in range(6):
        rows += [(f"b{number}", 1960, first), (f"b{number}", 1961, second)]
    return pd.DataFrame(rows, columns=["id", "born", "ill"]).assign(sex="F")


@pytest.mark.parametrize("key", [{"person_key": "id"}, {}])
def test_who_is_alike_in_all_rows_needs_several_illnesses(desk: Desk, key: dict[str, str]) -> None:
    """Each group has two illnesses, but those who are in both groups have one."""
    desk.write(_of_two(), limits={"k": 5, "l": 2}, re_release="warn", **key)
    desk.given_out("rows.parquet")
    with pytest.raises(Stop, match="people are in equivalence classes with an l below 2 in ill"):
        desk.given_out(pseudonyms=["id"])
    assert "out.parquet" not in desk.files()


def test_who_is_alike_in_all_rows_is_close_to_all(desk: Desk) -> None:
    """By the same groups, the distance is not a quarter but a half."""
    desk.write(_of_two(), limits={"k": 5, "t": 0.4}, person_key="id", re_release="warn")
    desk.given_out("rows.csv")
    with pytest.raises(Stop, match=r"rows linked by a pseudonym violate t-closeness: a class is 0\.5 away in ill"):
        desk.given_out("out.csv", pseudonyms=["id"])
    assert desk.given_out("out.csv", pseudonyms=["id"], limits={"k": 5, "t": 0.5}).event.body["rows"] == 24


def test_a_pseudonym_links_rows_without_a_person_key_too(desk: Desk) -> None:
    """One with another pair of groups than all others is found by both rows; rows without a person are not linked."""
    frame = people(80).assign(id=[f"p{number // 2}" for number in range(80)])
    frame.loc[79, "born"] = 1961
    desk.write(frame)
    with pytest.raises(Stop, match="1 person is in a group with fewer than 4 others"):
        desk.given_out(pseudonyms=["id"])
    desk.write(frame.assign(id=frame["id"].where(frame.index < 40)))
    reached: Any = desk.given_out(pseudonyms=["id"]).event.body["reached"]
    assert reached["persons"] == {"fewest_persons": 9, "persons_exposed": 0, "rows_linked": True}


def test_linked_rows_are_compared_together(desk: Desk) -> None:
    """Each row hides in both exports; who is looked up by all rows of a person, in both, does not."""
    first = [(f"p{number}", 1960 + place) for number in range(20) for place in range(2)]
    first += [(f"q{number}", 1960 + place) for number in range(20) for place in (0, 2)]
    second = [
        (f"{who}{number}", 1960 + place) for who in "pq" for number in range(20) for place in (0, 1 + number // 17)
    ]
    frames = [pd.DataFrame(rows, columns=["id", "born"]).assign(sex="F", ill="flu") for rows in (first, second)]
    desk.write(frames[0], limits={"k": 3}, person_key="id", pseudonyms=["id"]).approve()
    desk.export("first.parquet")
    desk.write(frames[1], limits={"k": 4}).approve()
    with pytest.raises(Stop, match="it leaves 6 people in groups below the limit"):
        desk.export("second.parquet")


@pytest.mark.parametrize("key", [{"person_key": "id"}, {}])
@pytest.mark.parametrize("cell", [{"a": 0.0}, [0.0]])
def test_a_quasi_identifier_of_lists_or_structs_does_not_leave(desk: Desk, cell: Any, key: dict[str, str]) -> None:
    """An engine takes 0.0 and -0.0 within them for one value; their bytes are two."""
    frame = people()
    frame["sex"] = [cell] * 38 + [{"a": -0.0} if isinstance(cell, dict) else [-0.0]] * 2
    desk.write(frame)
    with pytest.raises(Stop, match="the values of 'sex' are lists or structs"):
        desk.given_out(**key)


def test_sensitive_values_without_a_text_are_counted_or_refused_in_words(desk: Desk) -> None:
    """The engine counts different structs; a distance between them is refused, not by an error of a library."""
    cells: list[Any] = [{"a": number} for number in range(40)]
    desk.write(people().assign(ill=cells), limits={"k": 5, "t": 0.9}, pseudonyms=["id"])
    with pytest.raises(Stop, match=r"cannot be compared|cannot be told apart"):
        desk.given_out()
    reached: Any = desk.given_out(limits={"k": 5, "l": 2}).event.body["reached"]
    assert reached["l"] >= 2
