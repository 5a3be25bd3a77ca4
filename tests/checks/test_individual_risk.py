"""Individual risks by weights, of households too: published values, and exact arithmetic in every engine."""

from decimal import Decimal, localcontext

import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Misconfigured, Status, UnknownReason
from checks.classes.individual import individual_risk
from checks.population_uniqueness import PopulationUniquenessCheck
from tests.checks.ask import ENGINES, EXAMPLES, Rows, ask, place
from tests.tiers import examples

FRANCDAT = Rows(
    {"key1": "int", "key2": "int", "key3": "int", "key4": "int", "w": "float", "home": "text", "person": "int"},
    [
        (1, 2, 5, 1, 18.0, "a", 1),
        (1, 2, 1, 1, 45.5, "a", 2),
        (1, 2, 1, 1, 39.0, "b", 3),
        (3, 3, 1, 5, 17.0, "b", 4),
        (4, 3, 1, 4, 541.0, None, 5),
        (4, 3, 1, 1, 8.0, None, 6),
        (6, 2, 1, 5, 5.0, "c", 7),
        (1, 2, 5, 1, 92.0, "c", 8),
    ],
)
"""The data set `francdat` of sdcMicro (Capobianchi, Polettini and Lucarelli), with households and people."""
PUBLISHED = (0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426)
"""Its individual risks, as printed in the documentation of sdcMicro's `indivRisk`."""
KEYS = ("key1", "key2", "key3", "key4")


def _check(**parameters):
    return PopulationUniquenessCheck(
        **{"quasi_identifiers": KEYS, "weight": "w", "max_individual_risk": 1, **parameters}
    )


def exact(count, weight):
    """Return E(1/F) of a negative binomial F by the recursion, with 1,000 digits."""
    with localcontext(prec=1000):
        weight = Decimal(weight)
        if weight == count:
            return float(Decimal(1) / count)
        odds = count / (weight - count)
        risk = odds * (weight / count).ln()
        for below in range(1, count):
            risk = odds * (Decimal(1) / below - risk)
        return float(risk)


def by_definition(count, weight):
    """Return E(1/F) of a negative binomial F by adding up its probabilities."""
    p, chance, total = count / weight, (count / weight) ** count, 0.0
    for size in range(count, 100_000):
        total += chance / size
        chance *= size / (size - count + 1) * (1 - p)
    return total


def test_published_values(dialect):
    """The 8 risks of `francdat` are those that sdcMicro prints, and their sum is the expected number of matches."""
    with place(dialect, t=FRANCDAT) as here:
        outcome = ask(_check(), here)
        one_by_one = [ask(_check(where=f"person = {place}"), here) for place in (4, 5, 6, 7)]
    observed = outcome.observed
    assert observed["expected_reidentifications"] == pytest.approx(sum(PUBLISHED), abs=4e-8)
    assert observed["highest_individual_risk"] == pytest.approx(max(PUBLISHED), abs=5e-9)
    assert observed["global_risk"] == pytest.approx(sum(PUBLISHED) / 8, abs=1e-8)
    found = [result.observed["highest_individual_risk"] for result in one_by_one]
    assert found == pytest.approx(PUBLISHED[3:7], abs=5e-9)
    assert str(outcome.message) == (
        "the highest individual risk is 40%; of 8 records, 0.967 are expected to be re-identified"
    )


def test_formula_is_the_definition():
    """The recursion with many digits, by which the engines are judged, is the mean of 1/F added up."""
    for count, weight in ((1, 3), (1, 40), (2, 9), (3, 4), (5, 31), (12, 100)):
        assert exact(count, weight) == pytest.approx(by_definition(count, weight), rel=1e-9)


def test_every_size_of_a_class(dialect):
    """Each engine computes the risk within 3e-9, for classes of one to 100 and shares from all to a billionth."""
    pairs = [
        (count, count * ratio)
        for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 30, 100)
        for ratio in (1, 1.0001, 1.1, 1.5, 1.99, 2, 2.01, 3, 10, 1000, 1e6, 1e9)
    ]
    with place(dialect, t=Rows({"f": "int", "w": "float"}, pairs)) as here:
        table = here.table("t")
        statement = here.compiled(table.select("f", "w", risk=individual_risk(table["f"], table["w"])))
        rows = here.run(statement)
    assert len(rows) == len(pairs)
    for row in rows:
        assert row["risk"] == pytest.approx(exact(row["f"], row["w"]), rel=3e-9), (row["f"], row["w"])


def test_sampling_fraction_is_a_weight(dialect):
    """Without weights each record stands for 1/fraction of the population; of a census the risk is one in f."""
    with place(dialect, t=FRANCDAT) as here:
        tenth = ask(_check(weight=None, sampling_fraction=0.1), here).observed
        census = ask(_check(weight=None, sampling_fraction=1), here).observed
    assert tenth["expected_reidentifications"] == pytest.approx(4 * exact(1, 10) + 4 * exact(2, 20))
    assert (census["expected_reidentifications"], census["highest_individual_risk"]) == (6, 1)


def test_household(dialect):
    """A member who is found names the others: 1 - prod(1 - r); a record without a household is one of its own."""
    first, second, third, fourth, fifth, sixth, seventh, eighth = PUBLISHED
    homes = [1 - (1 - first) * (1 - second), 1 - (1 - third) * (1 - fourth), 1 - (1 - seventh) * (1 - eighth)]
    with place(dialect, t=FRANCDAT) as here:
        outcome = ask(_check(group_key="home", max_group_risk=0.41), here)
        certain = ask(_check(weight=None, sampling_fraction=1, group_key="home"), here)
    observed = outcome.observed
    assert outcome.status is Status.FAIL
    assert observed["groups"] == 5
    assert observed["highest_group_risk"] == pytest.approx(homes[2], abs=1e-8)
    assert observed["expected_reidentifications_in_groups"] == pytest.approx(2 * sum(homes) + fifth + sixth, abs=1e-7)
    assert observed["expected_reidentifications"] == pytest.approx(sum(PUBLISHED), abs=4e-8)
    assert str(outcome.message).startswith("the highest risk of a group of 'home' is 41%, more than 41%")
    assert certain.observed["highest_group_risk"] == 1
    assert certain.observed["expected_reidentifications_in_groups"] == 2 * 0.75 + 2 * 1 + 2 * 1 + 2


def test_people_count_once(dialect):
    """A person with two rows has one risk, the higher one, and the smallest of its weights."""
    rows = [(1, 2.0, "ann"), (1, 4.0, "ann"), (1, 10.0, "bob"), (2, 8.0, "bob"), (3, 5.0, None)]
    with place(dialect, t=Rows({"q": "int", "w": "float", "p": "text"}, rows)) as here:
        named = ask(_check(quasi_identifiers=("q",), person="p"), here).observed
        apart = ask(_check(quasi_identifiers=("q",), identifiers=("p",)), here).observed
    ann, bob, unknown = exact(2, 12), max(exact(2, 12), exact(1, 8)), exact(1, 5)
    assert named["counted_by"] == apart["counted_by"] == "p"
    assert named["expected_reidentifications"] == pytest.approx(ann + bob + unknown)
    assert apart["expected_reidentifications"] == pytest.approx(ann + bob + unknown)
    assert named["highest_individual_risk"] == pytest.approx(unknown)


def test_people_of_a_household(dialect):
    """Households are of people, not of rows."""
    rows = [(1, 4.0, "ann", "x"), (1, 4.0, "ann", "x"), (2, 5.0, "bob", "x"), (3, 9.0, "cy", None)]
    with place(dialect, t=Rows({"q": "int", "w": "float", "p": "text", "h": "int"} | {"h": "text"}, rows)) as here:
        observed = ask(_check(quasi_identifiers=("q",), person="p", group_key="h"), here).observed
    home = 1 - (1 - exact(1, 4)) * (1 - exact(1, 5))
    assert observed["groups"] == 2
    assert observed["highest_group_risk"] == pytest.approx(home)
    assert observed["expected_reidentifications_in_groups"] == pytest.approx(2 * home + exact(1, 9))


@pytest.mark.parametrize("weight", [None, 0.0, -3.0, 0.5, float("nan"), float("inf"), 2e12])
def test_unfit_weights_are_refused(dialect, weight):
    """A weight that is NULL, below 1 or no number gives no risk: unknown, with how many rows have one."""
    if dialect == "mysql" and weight is not None and not abs(weight) < 3e12:
        pytest.skip("MariaDB has neither NaN nor infinity")
    with place(dialect, t=Rows({"q": "int", "w": "float"}, [(1, 3.0), (1, 4.0), (2, weight)])) as here:
        outcome = ask(_check(quasi_identifiers=("q",), max_population_unique_fraction=1), here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert outcome.observed == {"rows": 3, "rows_without_weight": 1}
    assert str(outcome.message) == "1 of 3 rows have no weight from 1 to 1e12 in 'w', so no risk can be estimated"


def test_weights_are_numbers():
    """A column of texts is no weight, and a column that is not there is named."""
    with place("duckdb", t=FRANCDAT) as here:
        with pytest.raises(Misconfigured, match="weight column 'home' is string; a column of numbers expected"):
            ask(_check(weight="home"), here)
        with pytest.raises(Misconfigured, match="did you mean 'w'"):
            ask(_check(weight="ww"), here)
        with pytest.raises(Misconfigured, match="house"):
            ask(_check(group_key="house"), here)


def test_weights_tell_the_population(dialect):
    """The models take the sum of the weights for the size of the population."""
    with place(dialect, t=FRANCDAT) as here:
        observed = ask(_check(max_population_unique_fraction=1), here).observed
    assert observed["population_size"] == round(765.5)
    assert observed["sample_uniques"] == 4


def test_limits_are_judged(dialect):
    """The limit itself is allowed, less is a failure, and a softer limit warns."""
    with place(dialect, t=FRANCDAT) as here:
        highest = ask(_check(), here).observed["highest_individual_risk"]
        allowed, less = (ask(_check(max_individual_risk=limit), here) for limit in (highest, highest * 0.999))
        softer = ask(_check(warn={"max_individual_risk": 0.1}), here)
    assert (allowed.status, less.status, softer.status) == (Status.PASS, Status.FAIL, Status.WARN)
    assert str(less.message).startswith("the highest individual risk is 40%, more than 40")


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.floats(1, 1e4), st.sampled_from([None, "a", "b"])), min_size=1, max_size=25
)


@given(rows=ROWS)
@settings(max_examples=examples(EXAMPLES), deadline=None)
def test_law_of_risks(rows):
    """In every engine: the risks of plain arithmetic, of records and of groups, and no more than one in f."""
    classes = {}
    for key, weight, _ in rows:
        count, total = classes.get(key, (0, 0.0))
        classes[key] = (count + 1, total + weight)
    risks = [(exact(*classes[key]), home) for key, _, home in rows]
    homes = {}
    for place_, (risk, home) in enumerate(risks):
        homes.setdefault(place_ if home is None else home, []).append(risk)
    expected, highest = 0.0, 0.0
    for members in homes.values():
        missed = 1.0
        for risk in members:
            missed *= 1 - risk
        expected, highest = expected + len(members) * (1 - missed), max(highest, 1 - missed)
    for engine in ENGINES:
        with place(engine, t=Rows({"q": "int", "w": "float", "h": "text"}, rows)) as here:
            observed = ask(_check(quasi_identifiers=("q",), group_key="h"), here).observed
        assert observed["expected_reidentifications"] == pytest.approx(sum(risk for risk, _ in risks), rel=1e-8)
        assert observed["highest_individual_risk"] <= max(1 / count for count, _ in classes.values()) + 1e-12
        assert observed["expected_reidentifications_in_groups"] == pytest.approx(expected, rel=1e-7)
        assert observed["highest_group_risk"] == pytest.approx(highest, rel=1e-7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sampling_fraction": 0.1}, "exactly one of"),
        ({"weight": None}, "exactly one of"),
        ({"max_individual_risk": None}, "a limit"),
        ({"max_group_risk": 0.5}, "goes with 'group_key'"),
        ({"max_individual_risk": 0}, "greater than 0"),
        ({"weight": None, "population_size": 99}, "go with 'weight' or 'sampling_fraction'"),
        ({"incremental": {"mode": "append", "watermark": "key1"}}, "not with 'incremental'"),
    ],
)
def test_parameters_that_do_not_fit(parameters, message):
    """The population is known in one way, and a limit is of something that is measured."""
    with pytest.raises(ValueError, match=message):
        _check(**parameters)


def test_statement_returns_one_row():
    """Only sums leave the engine: one row, whatever the number of classes."""
    from checks.classes.individual import Weights
    from checks.classes.tables import ClassTables

    table = ibis.table({"q": "int64", "w": "float64"}, name="t")
    answer = Weights("w").risks(ClassTables(table, ("q",)))
    assert set(answer.columns) == {"records", "population", "expected", "highest"}
