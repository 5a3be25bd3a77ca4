"""Figures of columns and pairs before and after a remedy: right counts, and nothing of fewer than k people."""

import json
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.releases.compare import compare
from monitor.releases.plan import RemedyKind, TreatmentPlan, kinds_of, plans_of
from monitor.releases.treat import TreatedTable
from monitor.releases.utility_figures import ComparedTables, UtilityFigures, utility_figures
from remedies.generalisation import hierarchy_spec
from tests.monitor.releases.desk import COLUMNS, people
from tests.tiers import examples

K = 5


class _Case:
    """What figures read of a release."""

    def __init__(self, person_key=None):
        self.k, self.quasi, self.sensitive = K, ("born", "town"), ("ill",)
        self.release = type("Words", (), {"person_key": person_key, "hierarchies": {}})()


def _figures(before, after, *, person_key=None, declared=None, left_out=None):
    columns = tuple(name for name in after.columns if name != "id")
    plan = TreatmentPlan("tried", RemedyKind.TABLE, columns)
    owners = None if person_key is None else before[person_key].loc[after.index]
    treated = TreatedTable(after[list(columns)], before, None, owners, left_out=left_out)
    return utility_figures(ComparedTables(_Case(person_key), plan, treated, before, declared or {}))


def _rounded(count, rows):
    return min(K * round(count / K) / rows, 1.0)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.one_of(st.none(), st.integers(0, 60)),
        st.sampled_from([None, "a", "b", "c", "d"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=80,
)


@given(rows=ROWS, by_person=st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_no_bar_of_numbers_is_of_few_people(rows, by_person):
    """Each bin has the share that a count by its limits has, and is of no people or of at least k, before and after."""
    frame = pd.DataFrame(rows, columns=["id", "born", "town", "stays"]).convert_dtypes(dtype_backend="pyarrow")
    after = frame[frame["stays"].to_numpy(dtype=bool)][["id", "born", "town"]]
    found = _figures(frame, after, person_key="id" if by_person else None)
    for column in (item for item in found.columns if item.column == "born"):
        for bar in column.bars:
            for table, share in ((frame, bar.before), (after, bar.after)):
                kept = table[_within(table["born"], bar.label)]
                count = kept["id"].nunique() if by_person else len(kept)
                assert count == 0 or count >= K
                assert share == pytest.approx(_rounded(len(kept), len(table)) if len(table) else 0)


def _within(column, label):
    if label.kind == "missing":
        return column.isna().to_numpy(dtype=bool)
    numbers = column.to_numpy(dtype=float, na_value=float("nan"))
    low = numbers >= (float("-inf") if label.low is None else label.low)
    return low & (numbers < (float("inf") if label.high is None else label.high))


@given(rows=ROWS)
@settings(max_examples=examples(150), deadline=None)
def test_no_bar_or_cell_of_values_is_of_few(rows):
    """Values of fewer than k are one bar or none, and each cell that is shown has a count of none or of at least k."""
    frame = pd.DataFrame(rows, columns=["id", "born", "town", "stays"])
    frame = frame.assign(ill=frame["town"].where(frame["stays"], "x")).drop(columns="born")
    after = frame[frame["stays"]][["id", "town", "ill"]]
    found = _figures(frame, after)
    names = {name: {} for name in ("town", "ill")}
    for name in names:
        counts, later = Counter(frame[name].fillna("NULL")), Counter(after[name].fillna("NULL"))
        large = [value for value in counts if counts[value] >= K and (later[value] >= K or not later[value])]
        shown = next((item for item in found.columns if item.column == name), None)
        if shown is None:
            assert name in found.without
            continue
        assert sum(bar.label.kind != "others" for bar in shown.bars) == len(large)
        shares = sorted((bar.before, bar.after) for bar in shown.bars if bar.label.kind != "others")
        of_values = [(_rounded(counts[item], len(frame)), _rounded(later[item], max(len(after), 1))) for item in large]
        assert shares == [pytest.approx(pair) for pair in sorted(of_values)]
    for pair in found.pairs:
        cells = Counter(zip(frame["town"].fillna("NULL"), frame["ill"].fillna("NULL"), strict=True))
        shares = [share for row in pair.before for share in row if share is not None]
        assert (
            len([share for share in shares if share]) <= sum(count >= K for count in cells.values()) + len(shares) / 2
        )


def test_names_are_those_of_the_configuration():
    """A value has its rank, or its text where the configuration lists it; no other text of the table is in a figure."""
    frame = pd.DataFrame({"town": ["Aa"] * 9 + ["Bb"] * 7 + ["Cc"] * 2, "ill": ["flu"] * 10 + ["gout"] * 8})
    found = _figures(frame, frame, declared={"ill": frozenset({"flu"})})
    town, ill = found.columns
    assert [(bar.label.kind, bar.label.rank) for bar in town.bars] == [("rank", 1), ("rank", 2)]
    assert town.left_out
    assert [(bar.label.kind, bar.label.text) for bar in ill.bars] == [("text", "flu"), ("rank", None)]
    written = json.dumps(found.plain())
    assert not any(value in written for value in ("Aa", "Bb", "Cc", "gout"))


def test_names_of_a_tree_are_shown_and_others_are_not():
    """The groups and values that a hierarchy lists have their text, a value that it lacks does not."""
    frame = pd.DataFrame({"town": ["Aa"] * 9 + ["Bb"] * 7 + ["Zz"] * 6})
    case = _Case()
    case.release.hierarchies = {"town": hierarchy_spec({"type": "tree", "groups": {"north": ["Aa", "Bb"]}})}
    plan = TreatmentPlan("tried", RemedyKind.TABLE, ("town",))
    tables = ComparedTables(case, plan, TreatedTable(frame, frame, None), frame, {})
    (town,) = utility_figures(tables).columns
    assert [bar.label.text for bar in town.bars] == ["Aa", "Bb", None]


def test_a_remedy_is_seen(desk):
    """A generalised column has its labels before and after, suppressed records count before, and the store has them."""
    frame = people(120).assign(born=[1950 + 7 * number % 40 for number in range(120)])
    desk.write(
        frame,
        columns={**COLUMNS},
        limits={"k": 4},
        hierarchies={"born": {"type": "intervals", "widths": [5, 20]}},
        remedies=[{"remedy": "generalise", "suppress": "10%"}],
    )
    with desk.decisions() as decisions:
        case = decisions.case
    found = compare(case, plans_of(case, kinds_of(case)), done=lambda: None)
    figures = found.figures
    born = next(column for column in figures.columns if column.column == "born")
    assert figures.remedy == found.recommended
    assert all(bar.label.kind in {"text", "others"} for bar in born.bars)
    assert sum(bar.before for bar in born.bars) == pytest.approx(1, abs=0.1)
    stored = found.to_store(case, desk.clock.now()).body
    assert UtilityFigures.model_validate(stored["figures"]) == figures
    refused = next(item for item in found.tried if item.status == "refused")
    assert refused.figures is None
