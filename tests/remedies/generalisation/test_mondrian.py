"""Parts of a table with labels of their own."""

import math
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checks.risk import Hierarchy, k_anonymity
from remedies._errors import Misfit
from remedies.generalisation import LDiversityLimit, TClosenessLimit, mondrian, mondrian_search, utilities
from remedies.generalisation.frequencies import EarlierOutput, read_table
from remedies.generalisation.levels import plain
from remedies.generalisation.mondrian_search import cut_apart
from remedies.generalisation.spelling import texts_of
from remedies.generalise import Generalise
from tests.remedies.generalisation.lattices import cases, entropy_l
from tests.remedies.generalisation.losses import EVERYTHING, classes_of, path_of, read
from tests.tiers import examples

NUMBERS = st.lists(st.tuples(st.integers(-9, 30), st.integers(0, 400)), min_size=4, max_size=40)


@given(case=cases(), k=st.integers(2, 4))
def test_each_part_has_k_rows(case, k):
    """No class of what comes out has fewer than k rows, NULL being a value of its own; nothing is suppressed."""
    assume(case.rows >= k)
    known = read(case)
    rows = known.rows(cut_apart(known.frequencies, k))
    assert min(one.total() for one in classes_of(rows).values()) >= k
    assert sum(one.total() for one in classes_of(rows).values()) == case.rows


@given(case=cases(), k=st.integers(2, 4))
def test_labels_are_the_lowest_that_cover(case, k):
    """A part's label is on the path of all of its values, and none below it is."""
    assume(case.rows >= k)
    known = read(case)
    rows = known.rows(cut_apart(known.frequencies, k))
    for labels in classes_of(rows):
        for place, hierarchy in enumerate(case.hierarchies.values()):
            paths = [path_of(row.held[place], hierarchy) for row in rows if row.labels == labels]
            common = [path[0] for path in zip(*paths, strict=True) if len(set(path)) == 1]
            assert labels[place] == (common[0] if common else EVERYTHING)


@given(case=cases(), k=st.integers(2, 4))
def test_parts_do_not_overlap(case, k):
    """Of two parts there is a column in which they have no value in common (strict partitioning)."""
    assume(case.rows >= k)
    known = read(case)
    rows = known.rows(cut_apart(known.frequencies, k))
    for one, other in combinations(classes_of(rows), 2):
        assert any(
            not (_covered(one[place], place, rows, hierarchy) & _covered(other[place], place, rows, hierarchy))
            for place, hierarchy in enumerate(case.hierarchies.values())
        )


def _covered(label, place, rows, hierarchy):
    return {row.held[place] for row in rows if label == EVERYTHING or label in path_of(row.held[place], hierarchy)}


@given(numbers=NUMBERS, k=st.integers(2, 5))
def test_numbers_are_cut_into_intervals(numbers, k):
    """Intervals run from the smallest to the largest number of their part; boxes do not overlap, and have k rows."""
    assume(len(numbers) >= k)
    table = pd.DataFrame(numbers, columns=["x", "y"])
    frequencies, places = read_table(table, {"x": plain(table["x"]), "y": plain(table["y"])})
    recoding = cut_apart(frequencies, k, numeric=["x", "y"])
    part = recoding.classes()[places]
    boxes = [
        (box["x"].min(), box["x"].max(), box["y"].min(), box["y"].max()) for _, box in table.groupby(part, sort=False)
    ]
    for one, other in combinations(boxes, 2):
        assert one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]
    written = recoding.apply(table, places)
    for name in ("x", "y"):
        low, high = table.groupby(part)[name].transform("min"), table.groupby(part)[name].transform("max")
        expected = [str(a) if a == b else f"{a}-{b}" for a, b in zip(low, high, strict=True)]
        assert written[name].astype(str).tolist() == expected
    assert k_anonymity(written, ["x", "y"]).k >= k


@given(numbers=NUMBERS, k=st.integers(2, 5))
def test_no_part_can_be_cut_again(numbers, k):
    """Where it ends, no cut between two numbers leaves k rows on both sides."""
    assume(len(numbers) >= k)
    table = pd.DataFrame(numbers, columns=["x", "y"])
    frequencies, places = read_table(table, {"x": plain(table["x"]), "y": plain(table["y"])})
    for _, part in table.groupby(cut_apart(frequencies, k, numeric=["x", "y"]).classes()[places]):
        for name in ("x", "y"):
            for cut in part[name].unique():
                assert min((part[name] < cut).sum(), (part[name] >= cut).sum()) < k


def test_the_widest_column_is_cut_first_at_its_median():
    """One cut of eight rows: along the column that spans its whole range, in the middle."""
    counts = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6, 7, 80], "y": [5, 5, 6, 5, 6, 5, 6, 5], "count": 1})
    found = mondrian(counts, {}, 4, numeric=["x", "y"])
    assert sorted(found.columns[0].labels.texts) == ["1-4", "5-80"]
    assert found.columns[1].labels.texts.tolist() == ["5-6"]


def test_decimals_leave_the_upper_bound_out():
    """Intervals of decimals are written as the builders of hierarchies write theirs."""
    counts = pd.DataFrame({"x": [0.5, 1.25, 7.5, 9.0], "count": 1})
    assert sorted(mondrian(counts, {}, 2, numeric=["x"]).columns[0].labels.texts) == ["[0.5, 1.26[", "[7.5, 9.01["]


def test_numbers_of_any_size():
    """Tiny and huge decimals are ordered and labelled exactly."""
    counts = pd.DataFrame({"x": [Decimal("1e-280"), Decimal("2e-280"), Decimal(10) ** 280, 2 * Decimal(10) ** 280]})
    found = mondrian(counts.assign(count=1), {}, 2, numeric=["x"])
    assert found.class_sizes().tolist() == [2, 2]
    assert found.columns[0].labels.widths.tolist() == [2, 2]


@given(case=cases(columns=2), k=st.integers(2, 3))
@settings(max_examples=examples(40))
def test_rows_with_the_same_values_stay_together(case, k):
    """Sensitive values decide where it may be cut, never which of two equal rows gets which label."""
    assume(case.rows >= k)
    known = read(case)
    assume(len(set(known.table["secret"])) > 1)
    labels: dict[tuple[str | None, ...], set[tuple[str | None, ...]]] = {}
    for row in known.rows(cut_apart(known.frequencies, k, criteria=[LDiversityLimit("secret", 2)])):
        labels.setdefault(row.held, set()).add(row.labels)
    assert all(len(label) == 1 for label in labels.values())


def _patients(seed):
    """Return patients; some ages of half the districts have one illness."""
    dice = random.Random(seed)
    rows = [(dice.randrange(18, 90), dice.randrange(50)) for _ in range(600)]
    ills = ["hiv" if place < 25 and age % 22 < 6 else dice.choice(["flu"] * 5 + list("abcde")) for age, place in rows]
    return pd.DataFrame([(*row, ill) for row, ill in zip(rows, ills, strict=True)], columns=["age", "zip", "ill"])


def _could_be_cut(frequencies, recoding, k):
    """Return the classes that Mondrian by k alone cuts further, as the quasi-identifiers show them."""
    results = []
    for number in range(int(recoding.classes().max()) + 1):
        rows = recoding.classes() == number
        numbers = [np.array(texts_of(domain.values), dtype=np.int64) for domain in frequencies.domains]
        cells = {
            domain.column: numbers[at][frequencies.codes[rows, at]] for at, domain in enumerate(frequencies.domains)
        }
        counts = pd.DataFrame({**cells, "count": frequencies.counts[rows]})
        if len(mondrian(counts, {}, k, numeric=["age", "zip"]).class_sizes()) > 1:
            results.append(number)
    return results


@pytest.mark.parametrize("seed", range(3))
def test_a_class_that_could_be_cut_is_not_mostly_one_whose_cut_broke_a_limit(seed):
    """Twice as many are whole beside those whose cut was refused; the same ones in each run under one key."""
    table = _patients(seed)
    frequencies, _ = read_table(table, {name: plain(table[name]) for name in ("age", "zip")}, sensitive=["ill"])
    asked = {"numeric": ["age", "zip"], "criteria": [LDiversityLimit("ill", 2)]}
    found = cut_apart(frequencies, 5, key=b"one", **asked)
    refused, added, rows = found.uncut
    assert 0 < 2 * refused <= added
    assert rows >= 10 * added
    assert refused + added == len(_could_be_cut(frequencies, found, 5))
    again = cut_apart(frequencies, 5, key=b"one", **asked)
    assert (again.classes() == found.classes()).all()


@pytest.mark.parametrize("seed", range(3))
def test_parts_that_were_whole_in_an_earlier_output_stay_whole_first(seed):
    """Whatever the hash of their labels says, which people who join change."""
    table = _patients(seed)
    frequencies, _ = read_table(table, {name: plain(table[name]) for name in ("age", "zip")}, sensitive=["ill"])
    asked = {"numeric": ["age", "zip"], "criteria": [LDiversityLimit("ill", 2)]}
    classes, other = (cut_apart(frequencies, 5, key=key, **asked).classes() for key in (b"one", b"two"))
    known = replace(frequencies, earlier=(EarlierOutput(np.zeros(len(classes)), classes),))
    assert (cut_apart(known, 5, key=b"two", **asked).classes() == classes).all()
    assert not np.array_equal(other, classes)


def test_of_parts_that_stay_whole_while_a_table_grows_half_at_most_were_refused(monkeypatch):
    """Of 25 tables of 600 people that ten join three times: of those whole in two, three and four outputs."""
    chosen, counts = [], Counter()

    def watched(parts, *others):
        chosen[:] = [parts, conceal(parts, *others)]
        return chosen[1]

    conceal = mondrian_search._concealed
    monkeypatch.setattr(mondrian_search, "_concealed", watched)
    for seed in range(25):
        joining = _patients(1000 + seed).head(30)
        table, outputs = _patients(seed), []
        for size in range(0, 40, 10):
            grown = pd.concat([table, joining.head(size)], ignore_index=True)
            frequencies, _ = read_table(grown, {name: plain(grown[name]) for name in ("age", "zip")}, sensitive=["ill"])
            values = [texts_of(domain.values) for domain in frequencies.domains]
            cells = [tuple(int(values[at][code]) for at, code in enumerate(codes)) for codes in frequencies.codes]
            known = [np.array([output.get(cell, -1) for cell in cells]) for output in reversed(outputs)]
            earlier = tuple(EarlierOutput(np.where(classes < 0, 0, -np.inf), classes) for classes in known)
            asked = {"numeric": ["age", "zip"], "criteria": [LDiversityLimit("ill", 2)]}
            classes = cut_apart(replace(frequencies, earlier=earlier), 5, key=bytes([seed]), **asked).classes()
            outputs.append(dict(zip(cells, classes.tolist(), strict=True)))
            parts, (is_part, _, joined) = chosen
            for part in np.flatnonzero(is_part & (parts.refused | np.isin(np.arange(len(is_part)), joined))).tolist():
                rows = parts.combinations_of(part)
                alike = [len(set(output[rows].tolist()) - {-1}) == 1 for output in known]
                counts[[*alike, False].index(False), bool(parts.refused[part])] += 1
    for whole in (1, 2, 3):
        assert 0 < counts[whole, True] <= counts[whole, False]


def test_where_no_other_cut_could_have_broken_a_limit_the_bill_says_so():
    """Of twelve people seven have one illness, and the five of one side no other: nothing else is as uncertain."""
    table = pd.DataFrame({"age": [20] * 5 + [30] * 7, "ill": ["hiv"] * 5 + list("abcdefg")})
    remedy = Generalise.model_validate({"columns": ["age"], "k": 5, "l": {"ill": 2}, "search": "mondrian"})
    mixed = remedy.apply(table).bill.figures["mixed"]
    assert (mixed["classes_for_values"], mixed["classes_besides"], mixed["probability_for_values"]) == (1, 0, 1.0)


def test_null_is_cut_off_from_numbers():
    """Enough NULLs are a part of their own; too few join numbers, and nothing of these is left."""
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, None, None]})
    frequencies, places = read_table(table, {"x": plain(table["x"])})
    found = cut_apart(frequencies, 2, numeric=["x"]).apply(table, places)["x"]
    assert found.isna().tolist() == [False] * 4 + [True] * 2
    assert found.tolist()[:4] == ["1-2", "1-2", "3-4", "3-4"]
    few = table.iloc[:5]
    frequencies, places = read_table(few, {"x": plain(few["x"])})
    recoding = cut_apart(frequencies, 2, numeric=["x"])
    assert recoding.apply(few, places)["x"].tolist() == ["1-2", "1-2", "*", "*", "*"]
    assert utilities(recoding).columns["x"].loss == pytest.approx((2 * 1 / 3 + 3) / 5)


def test_columns_without_a_root_get_one():
    """Values that have no common label are labelled as everything."""
    hierarchy = Hierarchy.of({"a": ["x"], "b": ["y"]})
    table = pd.DataFrame({"q": ["a", "b"]})
    frequencies, places = read_table(table, {"q": hierarchy})
    recoding = cut_apart(frequencies, 2)
    assert recoding.apply(table, places)["q"].tolist() == ["*", "*"]
    assert utilities(recoding).total.loss == 1


def test_null_is_not_called_by_the_only_value():
    """NULL beside the one value of a hierarchy without groups is everything, not that value."""
    table = pd.DataFrame({"q": ["a", None]})
    frequencies, places = read_table(table, {"q": Hierarchy((("a",),))})
    assert cut_apart(frequencies, 2).apply(table, places)["q"].tolist() == ["*", "*"]


def test_a_column_that_is_never_generalised_keeps_its_type():
    """Where all parts hold one number each, these stay numbers."""
    table = pd.DataFrame({"x": [1, 1, 2, 2], "y": [1, 2, 3, 4]})
    frequencies, places = read_table(table, {name: plain(table[name]) for name in table})
    found = cut_apart(frequencies, 2, numeric=["x", "y"]).apply(table, places)
    assert found["x"].dtype == table["x"].dtype
    assert found["y"].tolist() == ["1-2", "1-2", "3-4", "3-4"]


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive", "equal", "ordered"])
@given(case=cases(columns=2), k=st.integers(2, 3))
@settings(max_examples=examples(40))
def test_criteria_hold_in_each_part(kind, case, k):
    """Each part is as diverse, or as close to the whole table, as was asked for."""
    assume(case.rows >= k)
    known = read(case)
    whole = list(known.table["secret"])
    criterion = {
        "distinct": LDiversityLimit("secret", 2),
        "entropy": LDiversityLimit("secret", 1.5, "entropy"),
        "recursive": LDiversityLimit("secret", 2, "recursive", c=2),
        "equal": TClosenessLimit("secret", 0.4),
        "ordered": TClosenessLimit("secret", 0.3, "ordered"),
    }[kind]

    def fine(values):
        sizes = sorted(values.values(), reverse=True)
        if kind == "distinct":
            return len(values) >= 2
        if kind == "entropy":
            return entropy_l(values) >= 1.5 - 1e-9
        if kind == "recursive":
            return sizes[0] < 2 * sum(sizes[1:])
        known = sorted(set(whole))
        shares = [whole.count(value) / len(whole) - values[value] / values.total() for value in known]
        if kind == "equal":
            return sum(map(abs, shares)) / 2 <= 0.4 + 1e-9
        return sum(map(abs, np.cumsum(shares)[:-1])) / max(len(known) - 1, 1) <= 0.3 + 1e-9

    if not fine(Counter(whole)):
        with pytest.raises(Misfit, match="as a whole breaks a limit"):
            cut_apart(known.frequencies, k, criteria=[criterion])
        return
    classes = classes_of(known.rows(cut_apart(known.frequencies, k, criteria=[criterion])))
    assert all(fine(values) and values.total() >= k for values in classes.values())


@pytest.mark.reference_data
def test_adult(adult, adult_rows):
    """Adult without its salary, k = 5: k holds by counting rows, and the same comes out every time."""
    names = [name for name in adult.hierarchies if name != "salary-class"]
    known = {name: adult.hierarchies[name] for name in names}
    frequencies, places = read_table(adult_rows[names], known)
    recoding = cut_apart(frequencies, 5, numeric=["age"])
    assert k_anonymity(recoding.apply(adult_rows, places), names).k == 5
    assert utilities(recoding).total.loss < 0.0937
    again = cut_apart(frequencies, 5, numeric=["age"])
    for column, other in zip(recoding.columns, again.columns, strict=True):
        assert column.labels.texts.tolist() == other.labels.texts.tolist()
        assert (column.numbers == other.numbers).all()


@pytest.mark.reference_data
def test_progress_never_falls(adult):
    """The share of rows that are done rises to 1."""
    reported: list[float] = []
    mondrian(adult.counts, adult.hierarchies, 50, progress=reported.append)
    assert reported == sorted(reported)
    assert math.isclose(reported[-1], 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 9}, "4 rows cannot form a class of 9"),
        ({"numeric": ["s"]}, "column 's': 2 of 2 values are not finite numbers"),
        ({"numeric": ["z"]}, "column 'z' not found"),
        ({"criteria": [LDiversityLimit("d", 3)]}, "as a whole breaks a limit"),
    ],
)
def test_what_does_not_fit(arguments, message):
    """Too few rows, texts as numbers, missing columns and tables that break a limit are refused, naming no value."""
    counts = pd.DataFrame({"x": [1, 2, 3, 4], "s": ["a", "b", "a", "b"], "d": ["u", "v", "u", "v"], "count": 1})
    if "criteria" not in arguments:
        counts = counts.drop(columns="d")
    asked = {"k": 2, "numeric": ["x"], **arguments}
    known = {name: plain(counts[name]) for name in ("x", "s")}
    with pytest.raises(Misfit, match=message):
        mondrian(counts, known, asked.pop("k"), **asked)


def test_k_has_to_be_a_crowd():
    """Every class has a row: k is at least 2."""
    with pytest.raises(ValueError, match="k is 1"):
        mondrian(pd.DataFrame({"x": [1, 2], "count": 1}), {}, 1, numeric=["x"])
