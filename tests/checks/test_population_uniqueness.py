"""Few people are unique in the population from which the table is sampled."""

import csv
import json

import pytest
from pydantic import ValidationError

from checks import ColumnClass, Kind, Misconfigured, Status, UnknownReason
from checks.population_uniqueness import PopulationUniquenessCheck as PopulationUniqueness
from tests.checks.ask import Question, Rows, ask, place
from tests.monitor.config.effects.effect import ABSENT

OBSERVED = {"zayatz", "pitman", "snb", "poisson_gamma", "dis", "decision", "model", "fraction_of_population"}
_GIVEN = {"quasi_identifiers": ["id"], "sampling_fraction": 0.5, "max_population_unique_fraction": 0.5}
EFFECTS = {
    "quasi_identifiers": (_GIVEN, ["id"], ["q"]),
    "person": ({**_GIVEN, "quasi_identifiers": ["q"]}, ABSENT, "p", "visits", "counted_by"),
    "identifiers": ({**_GIVEN, "quasi_identifiers": ["q"]}, ABSENT, ["p"], "visits", "counted_by"),
    "pseudonyms": ({**_GIVEN, "quasi_identifiers": ["q"]}, ABSENT, ["p"], "visits", "counted_by"),
    "sampling_fraction": (
        {k: v for k, v in _GIVEN.items() if k != "sampling_fraction"},
        1,
        0.01,
        "t",
        "population_size",
    ),
    "population_size": (
        {k: v for k, v in _GIVEN.items() if k != "sampling_fraction"},
        4,
        4000,
        "t",
        "sampling_fraction",
    ),
    "max_population_unique_fraction": ({**_GIVEN, "sampling_fraction": 1}, 1, 0.01),
    "weight": ({"quasi_identifiers": ["id"], "max_individual_risk": 1}, "id", "n", "t", "rows_without_weight"),
    "group_key": (
        {"quasi_identifiers": ["id"], "sampling_fraction": 0.1, "max_individual_risk": 1},
        ABSENT,
        "id",
        "t",
        "groups",
    ),
    "max_individual_risk": ({"quasi_identifiers": ["id"], "sampling_fraction": 1}, 1, 0.01),
    "max_group_risk": ({"quasi_identifiers": ["id"], "sampling_fraction": 1, "group_key": "id"}, 1, 0.01),
    "model": ({**_GIVEN, "quasi_identifiers": ["b"], "sampling_fraction": 0.1}, "zayatz", "pitman", "t", "estimate"),
    "where": (_GIVEN, ABSENT, "id > 1", "t", "rows"),
    "warn": (
        {**_GIVEN, "sampling_fraction": 1, "max_population_unique_fraction": 1},
        ABSENT,
        {"max_population_unique_fraction": 0},
    ),
    "on_empty": ({**_GIVEN, "where": "id > 99"}, "unknown", "pass"),
}
CANARIES = [
    {"quasi_identifiers": ["name", "fee"], "sampling_fraction": 0.1, "max_population_unique_fraction": 0.001},
    {"quasi_identifiers": ["age"], "sampling_fraction": 1, "max_population_unique_fraction": 1},
    {"quasi_identifiers": ["nowhere"], "population_size": 9, "max_population_unique_fraction": 1},
]

PEOPLE = {"age": "int", "town": "text"}
ESTIMATE = {
    "population_uniques",
    "fraction_of_population",
    "p_unique_given_sample_unique",
    "fit",
    "degenerate",
    "problem",
}
SOME = [(age, town) for age in range(40) for town in "ab" for _ in range(1 + (age % 4 == 0) * (age + 1))]


def check(**given):
    """Return a check of both columns, for a tenth of the population, with a limit of a half."""
    known = {"quasi_identifiers": ("age", "town"), "max_population_unique_fraction": 0.5}
    if "population_size" not in given:
        known["sampling_fraction"] = 0.1
    return PopulationUniqueness(**{**known, **given})


def test_all_models_are_observed(dialect):
    """The estimate of every model is there with its fit, as numbers that JSON has, beside uniqueness in the sample."""
    with place(dialect, t=Rows(PEOPLE, SOME)) as here:
        outcome = ask(check(), here)
    observed = outcome.observed
    assert outcome.status is Status.PASS
    assert outcome.expected == {"max_population_unique_fraction": 0.5}
    assert (observed["rows"], observed["population_size"]) == (len(SOME), 10 * len(SOME))
    assert observed["sample_uniques"] == 60
    assert all(set(observed[model]) == ESTIMATE for model in ("zayatz", "pitman", "snb", "poisson_gamma"))
    assert observed["decision"] == observed["model"]
    assert json.loads(json.dumps(observed, allow_nan=False)) == observed


def test_message_leads_with_the_estimate_and_says_the_sample_too(dialect):
    """Unique in the sample is not unique in the population: the message has both, and names the model."""
    with place(dialect, t=Rows(PEOPLE, SOME)) as here:
        fine, broken = ask(check(), here), ask(check(max_population_unique_fraction=0.00001), here)
        census = ask(check(sampling_fraction=1, max_population_unique_fraction=0.1), here)
    share = fine.observed[fine.observed["model"]]["fraction_of_population"]
    assert str(fine.message).startswith("an estimated ")
    assert str(fine.message).endswith("13% of the sample is unique")
    assert 0.001 < share < 0.13
    assert broken.status is Status.FAIL
    assert "more than 0.001%" in str(broken.message)
    assert str(census.message) == (
        "an estimated 13% of the population is unique, more than 10% (Zayatz); 13% of the sample is unique"
    )


def test_null_is_a_value(dialect):
    """Two rows with NULL for a town are alike; one alone is unique."""
    rows = [(30, None), (30, None), (41, None), (41, "a")]
    with place(dialect, t=Rows(PEOPLE, rows)) as here:
        outcome = ask(check(population_size=4), here)
    assert outcome.observed["sample_uniques"] == 2
    assert outcome.observed["zayatz"]["population_uniques"] == 2


def test_nothing_to_look_at(dialect):
    """An empty table is unknown, not anonymous, unless the check says otherwise; so is what a filter leaves empty."""
    with place(dialect, t=Rows(PEOPLE, [])) as here:
        assert ask(check(), here).reason is UnknownReason.NO_DATA
        assert ask(check(on_empty="fail"), here).status is Status.FAIL
    with place(dialect, t=Rows(PEOPLE, SOME)) as here:
        assert ask(check(where="age > 1000"), here).reason is UnknownReason.NO_DATA


def test_where_narrows_the_sample(dialect):
    """Only the rows that the filter leaves are the sample."""
    with place(dialect, t=Rows(PEOPLE, SOME)) as here:
        outcome = ask(check(where="age < 4", sampling_fraction=1), here)
    assert (outcome.observed["rows"], outcome.observed["sample_uniques"]) == (10, 6)


def test_one_row_is_unique_for_all_we_know(dialect):
    """Nothing says that it is not: it fails every limit below 1."""
    with place(dialect, t=Rows(PEOPLE, [(30, "a")])) as here:
        outcome = ask(check(max_population_unique_fraction=0.99), here)
    assert outcome.status is Status.FAIL
    assert outcome.observed["zayatz"]["degenerate"]


def test_no_unique_row_passes(dialect):
    """Of rows of which none is unique in the sample none is unique in the population."""
    with place(dialect, t=Rows(PEOPLE, [(30, "a"), (30, "a"), (None, None), (None, None)])) as here:
        outcome = ask(check(max_population_unique_fraction=0), here)
    assert outcome.status is Status.PASS
    assert outcome.observed["decision"] == "pitman"
    assert str(outcome.message).startswith("an estimated 0.0% of the population is unique")


@pytest.mark.parametrize("model", ["zayatz", "pitman", "snb", "poisson_gamma"])
def test_the_named_model_decides(model):
    """Its estimate is the one that is compared with the limit."""
    with place("duckdb", t=Rows(PEOPLE, SOME)) as here:
        outcome = ask(check(model=model, max_population_unique_fraction=0), here)
        estimate = outcome.observed[model]["fraction_of_population"]
        above = ask(check(model=model, max_population_unique_fraction=estimate * 0.999), here)
        exact = ask(check(model=model, max_population_unique_fraction=estimate), here)
    assert outcome.observed["model"] == model
    assert above.status is Status.FAIL
    assert exact.status is (Status.UNKNOWN if exact.observed[model]["degenerate"] else Status.PASS)


def test_a_degenerate_estimate_never_passes():
    """Rows in groups of nearly one size leave the shape without a bound: unknown, and the message says why."""
    rows = [(age, "a") for age in range(60) for _ in range(1 if age < 3 else 3)]
    with place("duckdb", t=Rows(PEOPLE, rows)) as here:
        outcome = ask(check(model="poisson_gamma"), here)
    assert outcome.observed["poisson_gamma"]["degenerate"]
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert str(outcome.message) == (
        "population uniqueness cannot be estimated with the model Poisson-gamma: the shape has no bound"
    )


def test_softer_limit_warns():
    """More than the limit of `warn` and no more than that of the check is a warning."""
    with place("duckdb", t=Rows(PEOPLE, SOME)) as here:
        outcome = ask(check(warn={"max_population_unique_fraction": 0}), here)
    assert outcome.status is Status.WARN
    assert "more than 0%" in str(outcome.message)


def test_larger_than_its_population(dialect):
    """A table with more rows than the population has is a mistake in the configuration."""
    with place(dialect, t=Rows(PEOPLE, SOME)) as here:
        outcome = ask(check(population_size=100), here)
    assert outcome.reason is UnknownReason.MISCONFIGURED
    assert outcome.observed == {"rows": len(SOME), "population_size": 100}
    assert str(outcome.message) == (f"the table has {len(SOME)} rows, more than the configured population size of 100")


def test_columns_may_come_from_the_table():
    """Without columns of its own the check takes those that are classified as quasi-identifiers."""
    classified = {"age": ColumnClass.QUASI_IDENTIFIER, "town": ColumnClass.OTHER}
    with place("duckdb", t=Rows(PEOPLE, SOME)) as here:
        outcome = Question(check(quasi_identifiers=()), here, classified=classified).ask()
        with pytest.raises(Misconfigured, match="no quasi-identifier"):
            ask(check(quasi_identifiers=()), here)
    assert outcome.observed["sample_uniques"] == 0


def test_unknown_column_is_named():
    """A misspelt quasi-identifier is an error with the nearest name."""
    with place("duckdb", t=Rows(PEOPLE, SOME)) as here, pytest.raises(Misconfigured, match="did you mean 'town'"):
        ask(check(quasi_identifiers=("age", "twon")), here)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling_fraction": None}, "exactly one of 'sampling_fraction', 'population_size' and 'weight'"),
        ({"sampling_fraction": 0.1, "population_size": 100}, "exactly one of"),
        ({"sampling_fraction": 0}, "greater than or equal to"),
        ({"sampling_fraction": 1.5}, "less than or equal to 1"),
        ({"population_size": 0}, "greater than or equal to 1"),
        ({"max_population_unique_fraction": 1.1}, "less than or equal to 1"),
        ({"max_population_unique_fraction": None}, "a limit"),
        ({"model": "ouija"}, "decision"),
        ({"quasi_identifiers": ("age", "age")}, "each column once"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    """The population is given once, and shares are shares."""
    with pytest.raises(ValidationError, match=message):
        check(**given)


def test_is_about_disclosure():
    """A failing one puts a release on hold, and is no downtime."""
    assert PopulationUniqueness.kind is Kind.DISCLOSURE


@pytest.mark.reference_data
def test_adult(reference_data):
    """Adult on nine columns, for a tenth of its population: 15,512 of 30,162 unique in it, Zayatz 0.3207402394."""
    with (reference_data / "adult" / "adult.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=";")
    with place("duckdb", t=Rows(dict.fromkeys(header, "text"))) as here:
        marks = ", ".join("?" * len(header))
        for start in range(0, len(rows), 1000):
            part = rows[start : start + 1000]
            values = ", ".join([f"({marks})"] * len(part))
            here.backend.con.execute(f"INSERT INTO t VALUES {values}", [cell for row in part for cell in row])
        outcome = ask(check(quasi_identifiers=tuple(header), model="zayatz", max_population_unique_fraction=0.3), here)
    assert outcome.status is Status.FAIL
    assert (outcome.observed["rows"], outcome.observed["sample_uniques"]) == (30_162, 15_512)
    assert outcome.observed["zayatz"]["fraction_of_population"] == pytest.approx(0.3207402394, abs=1e-10)
    assert str(outcome.message) == (
        "an estimated 32% of the population is unique, more than 30% (Zayatz); 51% of the sample is unique"
    )
