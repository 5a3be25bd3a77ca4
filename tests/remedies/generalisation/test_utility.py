"""What a recoding has lost, against the definitions and against published numbers."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checks.risk import Hierarchy
from remedies._errors import Misfit
from remedies.generalisation import By, Recoding, mondrian, optimal, suppress_cells, utilities
from remedies.generalisation.frequencies import read_counts, read_table
from remedies.generalisation.limits_of_classes import broken_combinations
from remedies.generalisation.mondrian_search import cut_apart
from remedies.generalisation.suppression import blank_cells
from tests.remedies.generalisation.lattices import Case, cases
from tests.remedies.generalisation.losses import Read, classes_of, discernibility, lost, read, squares
from tests.tiers import examples

JOBS = pd.DataFrame({"job": ["student", "student", "teacher", "actress", "actress", "novelist", "none", "employee"]})
SUPPRESSED = Hierarchy.of({job: ["*"] for job in JOBS["job"].unique()})
MERGED = Hierarchy.of({job: ["artist" if job in {"actress", "novelist"} else job] for job in JOBS["job"].unique()})


@pytest.mark.parametrize(("hierarchy", "expected"), [(SUPPRESSED, 0.0588915178), (MERGED, 0.0212373796)])
def test_divergence_of_published_examples(hierarchy, expected):
    """The jobs example: a suppressed column, and two jobs merged."""
    frequencies, _ = read_table(JOBS, {"job": hierarchy})
    found = utilities(Recoding.of_node(frequencies, (1,)))
    assert found.columns["job"].kl_nats == pytest.approx(expected, abs=5e-11)
    assert found.total.kl_nats == found.columns["job"].kl_nats


def test_divergence_counts_the_values_of_the_table():
    """Lines of the hierarchy that no row has are no leaves: they would make every label spread wider."""
    wider = Hierarchy.of({**{job: ["*"] for job in JOBS["job"].unique()}, "astronaut": ["*"]})
    frequencies, _ = read_table(JOBS, {"job": wider})
    found = utilities(Recoding.of_node(frequencies, (1,)))
    assert found.columns["job"].kl_nats == pytest.approx(0.0588915178, abs=5e-11)


def test_a_value_that_is_gone_is_infinitely_far():
    """A value whose rows are all suppressed makes the divergence infinite, and JSON says so in a word."""
    frequencies, combinations = read_table(JOBS, {"job": SUPPRESSED})
    gone = np.zeros(len(frequencies.counts), dtype=bool)
    gone[combinations[2]] = True
    found = utilities(Recoding.of_node(frequencies, (0,), gone))
    assert found.columns["job"].kl_nats == found.total.kl_nats == math.inf
    text = json.dumps(found.as_json(), allow_nan=False)
    assert json.loads(text)["total"]["kl_nats"] == "infinite"


def test_steps_are_summed():
    """Levels 0, 1 and 2 are three steps."""
    hierarchy = Hierarchy.of({"a": ["x", "*"], "b": ["y", "*"]})
    counts = pd.DataFrame([("a", "a", "a"), ("b", "b", "b")], columns=list("pqr")).assign(count=1)
    frequencies = read_counts(counts, dict.fromkeys("pqr", hierarchy))
    found = utilities(Recoding.of_node(frequencies, (0, 1, 2)), k=2)
    assert found.total.steps == 3
    assert [column.steps for column in found.columns.values()] == [0, 1, 2]


@pytest.mark.reference_data
@pytest.mark.parametrize(
    ("levels", "suppressed", "name", "expected"),
    [
        ((1, 1, 1, 2, 3, 2, 2, 1, 1), 0, "discernibility", 33_627_534),
        ((0, 0, 1, 2, 3, 2, 2, 1, 1), 105, "discernibility", 7_220_555),
        ((0, 4, 1, 1, 3, 2, 2, 1, 0), 0, "loss", 0.573151),
        ((0, 3, 0, 2, 2, 1, 1, 2, 0), 506, "loss", 0.313713),
    ],
)
def test_adult(adult, levels, suppressed, name, expected):
    """Adult's optima cost what others have found."""
    frequencies = read_counts(adult.counts, adult.hierarchies)
    found = utilities(Recoding.of_node(frequencies, levels, broken_combinations(frequencies, levels, 5, ())), k=5)
    assert found.rows_suppressed == suppressed
    value = found.discernibility if name == "discernibility" else found.total.loss
    assert value == pytest.approx(expected, abs=2e-6)
    assert found.smallest_class >= 5


def _agree(case: Case, known: Read, recoding: Recoding) -> None:
    """Compare with plain loops."""
    rows = known.rows(recoding)
    found = utilities(recoding, k=2)
    sizes = [one.total() for one in classes_of(rows).values()]
    assert found.discernibility == discernibility(rows)
    assert found.rows_suppressed == sum(row.gone for row in rows)
    assert found.classes == len(sizes)
    assert found.average_class_size == (pytest.approx(np.mean(sizes)) if sizes else None)
    assert found.class_size_by_k == (pytest.approx(np.mean(sizes) / 2) if sizes else None)
    expected = [
        lost(
            [(row.held[place], row.labels[place], row.gone) for row in rows],
            hierarchy,
            None if recoding.levels is None else recoding.levels[place],
        )
        for place, hierarchy in enumerate(case.hierarchies.values())
    ]
    for one, own in zip(expected, found.columns.values(), strict=True):
        assert own.precision == pytest.approx(one.precision, abs=1e-9)
        assert own.entropy_bits == pytest.approx(one.entropy_bits, abs=1e-9)
        assert own.entropy == pytest.approx(one.entropy_bits / one.most_bits if one.most_bits else 0, abs=1e-9)
        assert own.loss == pytest.approx(one.loss, abs=1e-9)
        assert own.kl_nats == pytest.approx(one.kl_nats, abs=1e-9)
        assert 0 <= own.precision <= 1
        assert 0 <= own.loss <= 1
        assert -1e-9 <= own.entropy <= 1 + 1e-9
    power = 1 / len(expected)
    assert found.total.loss == pytest.approx(math.prod(1 + one.loss for one in expected) ** power - 1)
    assert found.total.precision == pytest.approx(np.mean([one.precision for one in expected]), abs=1e-9)
    assert found.total.entropy_bits == pytest.approx(sum(one.entropy_bits for one in expected), abs=1e-9)
    assert found.total.kl_nats == pytest.approx(sum(one.kl_nats for one in expected), abs=1e-9)


@given(case=cases(), k=st.integers(1, 5), data=st.data())
def test_nodes_by_plain_loops(case, k, data):
    """All measures of a node are what their definitions give row by row, with and without suppressed rows."""
    node, known = data.draw(st.sampled_from(list(case.nodes))), read(case)
    recoding = Recoding.of_node(known.frequencies, node, broken_combinations(known.frequencies, node, k, ()))
    _agree(case, known, recoding)


@given(case=cases(), k=st.integers(2, 4))
@settings(max_examples=examples(60))
def test_local_recodings_by_plain_loops(case, k):
    """All measures of parts with labels of their own are what their definitions give row by row."""
    assume(case.rows >= k)
    known = read(case)
    _agree(case, known, cut_apart(known.frequencies, k))


@given(case=cases(), k=st.integers(2, 4))
@settings(max_examples=examples(60))
def test_blanked_cells_by_plain_loops(case, k):
    """A blanked cell could be any value, and is measured so."""
    assume(case.rows >= k)
    known = read(case)
    _agree(case, known, blank_cells(known.frequencies, k))


@pytest.mark.parametrize("by", [By.LOSS, By.PRECISION, By.DISCERNIBILITY, By.CLASS_SIZE, By.ENTROPY, By.KL])
@given(case=cases(), k=st.integers(2, 4), limit=st.sampled_from([0, 0.3]))
@settings(max_examples=examples(25))
def test_the_search_measures_alike(by, case, k, limit):
    """The value that an optimum was chosen by is that of the same measure here."""
    assume(case.rows >= k)
    found = optimal(case.counts.drop(columns="secret"), case.hierarchies, k, limit, by=by)
    assume(found.levels is not None)
    known = read(case)
    gone = broken_combinations(known.frequencies, found.levels, k, ())
    measured = utilities(Recoding.of_node(known.frequencies, found.levels, gone), k=k)
    values = {
        By.LOSS: measured.total.loss,
        By.PRECISION: 1 - measured.total.precision,
        By.DISCERNIBILITY: measured.discernibility,
        By.CLASS_SIZE: measured.average_class_size if measured.classes else math.inf,
        By.ENTROPY: measured.total.entropy_bits,
        By.KL: measured.total.kl_nats,
    }
    assert found.value == pytest.approx(values[by], abs=1e-9)


DECADES = Hierarchy.of({str(age): [f"{age // 10 * 10}s", "*"] for age in range(10, 60)})
AGES = st.lists(st.one_of(st.integers(10, 59), st.none()), min_size=2, max_size=12).filter(
    lambda ages: any(age is not None for age in ages)
)


@pytest.mark.parametrize("representative", ["midpoint", "mean", "median"])
@given(ages=AGES, level=st.integers(0, 2), k=st.integers(1, 3))
def test_squares_by_plain_loops(representative, ages, level, k):
    """U_Euclid is the sum of squares of number minus representative; suppressed rows have that of everything."""
    frequencies, combinations = read_table(pd.DataFrame({"age": pd.array(ages, dtype="Int64")}), {"age": DECADES})
    gone = broken_combinations(frequencies, (level,), k, ())
    recoding = Recoding.of_node(frequencies, (level,), gone)
    column = recoding.columns[0]
    texts = [None if text is None else str(text) for text in column.labels.texts[column.numbers[combinations]]]
    cells = [(age, text, bool(out)) for age, text, out in zip(ages, texts, gone[combinations], strict=True)]
    found = utilities(recoding, representative=representative)
    assert found.columns["age"].euclid == pytest.approx(squares(cells, DECADES, representative), abs=1e-6)
    assert found.total.euclid == found.columns["age"].euclid
    assert found.representative == representative


def test_squares_have_no_root():
    """Three, five and seven under one label are 4 + 0 + 4 from their middle."""
    hierarchy = Hierarchy.of({number: ["3-7"] for number in "357"})
    frequencies, _ = read_table(pd.DataFrame({"n": [3, 5, 7]}), {"n": hierarchy})
    assert utilities(Recoding.of_node(frequencies, (1,))).total.euclid == 8


def test_intervals_have_a_middle():
    """Mondrian's intervals are represented by the middle between the numbers at their ends."""
    counts = pd.DataFrame({"n": [1, 4, 20, 30], "count": 1})
    found = utilities(mondrian(counts, {}, 2, numeric=["n"]))
    assert found.columns["n"].euclid == 2 * 1.5**2 + 2 * 5**2
    assert found.columns["n"].precision is None
    assert found.total.steps is None


@pytest.mark.parametrize("representative", ["midpoint", "mean", "median"])
def test_numbers_whose_squares_no_float_holds(representative):
    """Squares that are too large are infinite, and no other measure suffers."""
    counts = pd.DataFrame({"n": [-1.7e308, 1.7e308, 1.0, 2.0], "count": 1})
    found = utilities(mondrian(counts, {}, 4, numeric=["n"]), representative=representative)
    assert found.total.euclid == math.inf
    assert found.total.loss == 1


def test_texts_are_no_numbers_unless_stated():
    """A postcode has no squares; digits in a text column have where the caller says that they are numbers."""
    hierarchy = Hierarchy.of({number: ["*"] for number in ("100", "300")})
    frequencies, _ = read_table(pd.DataFrame({"n": ["100", "300"]}), {"n": hierarchy})
    recoding = Recoding.of_node(frequencies, (1,))
    assert utilities(recoding).total.euclid is None
    assert utilities(recoding, numeric=["n"]).columns["n"].euclid == 20_000
    with pytest.raises(Misfit, match="column 'm' is not a quasi-identifier"):
        utilities(recoding, numeric=["m"])
    frequencies, _ = read_table(JOBS, {"job": SUPPRESSED})
    with pytest.raises(Misfit, match="column 'job': 6 of 6 values are not finite numbers"):
        utilities(Recoding.of_node(frequencies, (0,)), numeric=["job"])


@pytest.mark.parametrize("representative", ["midpoint", "mean", "median"])
def test_a_column_without_a_number_has_no_squares(representative):
    """NULL is no number: where there is nothing else, nothing is added up."""
    frequencies, _ = read_table(pd.DataFrame({"n": [None, None]}), {"n": DECADES})
    recoding = Recoding.of_node(frequencies, (1,))
    assert utilities(recoding, numeric=["n"], representative=representative).total.euclid == 0


def test_a_blank_number_stands_for_all():
    """A blanked number is represented by the middle of the column."""
    counts = pd.DataFrame({"n": [1, 3, 5], "s": ["a", "a", "a"], "count": [1, 1, 1]})
    found = utilities(suppress_cells(counts, 3))
    assert found.columns["n"].euclid == 8
    assert found.columns["n"].loss == 1
    assert found.columns["s"].loss == 0


def test_nothing_released():
    """Where all rows are suppressed there are no classes, and all is lost."""
    frequencies, _ = read_table(JOBS, {"job": SUPPRESSED})
    found = utilities(Recoding.of_node(frequencies, (0,), np.ones(len(frequencies.counts), dtype=bool)), k=2)
    assert (found.classes, found.smallest_class, found.average_class_size) == (0, None, None)
    assert (found.total.loss, found.total.precision, found.total.entropy) == (1, 0, 1)
    assert found.discernibility == 64
    assert found.total.kl_nats == math.inf
