"""Every file of the package is a check: typed, frozen, tested, documented, and pure."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import ibis
import pytest
from pydantic import ValidationError

from checks import CheckParameters, Context, Kind, Measurement, Misconfigured, Severity, Status, Zones
from checks._catalog import CatalogError, load_catalog
from checks._judge import judge
from checks.parameters.scalars import SchemaOfText
from monitor.config.yaml_nodes import plain_data, read_yaml
from tests.checks.ask import NOW, Question, Rows, place
from tests.checks.stated import stated

ROOT = Path(__file__).resolve().parents[2]
CATALOG = load_catalog()
EVERY = pytest.mark.parametrize("name", sorted(CATALOG))
OBSERVED = stated("OBSERVED")
WITHOUT_NUMBER = {"classification", "external", "reidentification_by_subset", "schema"}


ORDERS = {
    "shop": "int64",
    "order_id": "int64",
    "customer_id": "int64",
    "amount": "decimal(18, 2)",
    "status": "string",
    "email": "string",
    "ordered_at": "timestamp",
    "closed_at": "timestamp",
    "loaded_at": "timestamp('UTC')",
    "birth_year": "int64",
    "postcode": "string",
    "sex": "string",
    "diagnosis": "string",
}
OTHERS = {
    "crm.customers": ibis.table({"customer_id": "int64"}, name="customers"),
    "shop.lines": ibis.table({"customer": "int64", "number": "int64"}, name="lines"),
    "finance.ledger": ibis.table({"total": "decimal(18, 2)"}, name="ledger"),
    "warehouse.orders": ibis.table(
        {"order_id": "int64", "amount": "decimal(18, 2)", "status": "string"}, name="copies"
    ),
    "public.voters": ibis.table({"born": "int64", "zip": "string", "sex": "string"}, name="voters"),
    "public.reviews": ibis.table(
        {"reviewer": "string", "shop": "int64", "paid": "decimal(18, 2)", "ordered_at": "timestamp"}, name="reviews"
    ),
}


def section(name):
    """Return the part of the documentation about a check."""
    pages = ("checks.md", "disclosure-checks.md")
    text = "\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    return re.split(r"^## ", text, flags=re.MULTILINE)[1:] if name is None else _section(text, name)


def _section(text, name):
    found = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.splitlines()[0] == name]
    assert len(found) == 1, f"the pages of checks have {len(found)} sections about {name}"
    return found[0]


def examples(name):
    """Return the checks that the documentation of a check shows."""
    blocks = re.findall(r"```yaml\n(.*?)```", section(name), flags=re.DOTALL)
    shown = [one for block in blocks for one in plain_data(read_yaml(block, "checks.md")[0])]
    assert shown, f"the pages of checks show no {name}"
    return [CATALOG[one["type"]].model_validate(one) for one in shown]


def unbound(check):
    """Return a context without any database behind its tables."""
    references = {name: OTHERS[name] for name in check.refers_to}
    where = None if check.where is None else ibis.literal("where") == ibis.literal("here")
    table = ibis.table(ORDERS, name="orders")
    return Context(table, "duckdb", _now, where, Zones("UTC"), "loaded_at", references)


def _now(shift, zone):
    return ibis.literal((NOW + shift).replace(tzinfo=None) if zone else NOW + shift)


def test_catalogue_is_the_folder():
    """The type words are the names of the files without an underscore."""
    files = {path.stem for path in (ROOT / "checks").glob("[!_]*.py")}
    assert set(CATALOG) == files
    assert set(OBSERVED) == files


def test_file_without_a_check_is_named(tmp_path, monkeypatch):
    """A file that does not end in CHECK is an error that names it."""
    (tmp_path / "half_done.py").write_text("", encoding="utf-8")
    monkeypatch.setattr("checks.__path__", [str(tmp_path)])
    with pytest.raises(CatalogError, match=r"checks/half_done\.py has no CHECK"):
        load_catalog.__wrapped__()["half_done"]


def test_only_the_file_of_a_check_that_is_looked_up_is_imported():
    """The names are known without importing a file; looking up one check imports one file."""
    code = (
        "import sys; from checks._catalog import load_catalog; names = [f'checks.{name}' for name in load_catalog()]; "
        "assert 'volume' in load_catalog() and 'volum' not in load_catalog(); load_catalog()['volume']; "
        "print([name for name in names if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['checks.volume']"


@EVERY
def test_is_a_check(name):
    """A check is a frozen set of parameters that forbids others, named as its file, last in its file."""
    check = CATALOG[name]
    assert issubclass(check, CheckParameters)
    assert check.model_config["frozen"]
    assert check.model_config["extra"] == "forbid"
    assert check.model_fields["type"].default == name
    assert check.__module__ == f"checks.{name}"
    assert isinstance(check.kind, Kind)
    last = ast.parse((ROOT / "checks" / f"{name}.py").read_text(encoding="utf-8")).body[-1]
    assert ast.unparse(last) == f"CHECK: Final[type[Check]] = {check.__name__}"


@EVERY
def test_says_what_it_is(name):
    """A check has a summary in one sentence, and every parameter is described to editors."""
    check = CATALOG[name]
    assert re.fullmatch(r"[A-Z][^\n]+\.", check.summary)
    schema = check.model_json_schema(schema_generator=SchemaOfText)
    assert schema["description"]
    undescribed = {key for key, value in schema["properties"].items() if "description" not in value} - {"type"}
    assert not undescribed
    assert check.warn_limits <= set(check.model_fields)
    assert set(schema["properties"].get("warn", {}).get("properties", {})) == check.warn_limits
    assert ("where" in schema["properties"]) == check.takes_where


@EVERY
def test_is_tested(name):
    """A check has a test file of its name whose tests each say a true sentence."""
    tests = ast.parse((ROOT / "tests" / "checks" / f"test_{name}.py").read_text(encoding="utf-8"))
    functions = [one for one in tests.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    assert functions
    assert all(ast.get_docstring(function) for function in functions)


@EVERY
def test_is_documented(name):
    """A check has a section with an example that is valid, its observed keys, and what it does not see."""
    text = section(name)
    assert examples(name)
    assert "It does not see" in text
    own = text if "as `primary_key`" not in text else text + section("primary_key")
    assert all(f"`{key}`" in own for key in OBSERVED[name])


@EVERY
def test_looks_at_no_data_when_it_says_what_it_wants(name):
    """`wants` works on tables without any database behind them, and says the same each time."""
    for check in examples(name):
        context = unbound(check)
        first, second = check.wants(context), check.wants(context)
        assert list(first.aggregates) == list(second.aggregates)
        assert all(value.equals(second.aggregates[key]) for key, value in first.aggregates.items())
        assert all(query.equals(second.queries[key]) for key, query in first.queries.items())
        assert first.statements == second.statements


@EVERY
def test_has_a_number_that_histories_draw(name):
    """It is among what the check observes, and its limits are parameters; of a few checks there is only a status."""
    number = CATALOG[name].main_number
    assert (number is None) == (name in WITHOUT_NUMBER)
    if number is not None:
        assert number.key in OBSERVED[name]
        limits = {number.low, number.high} - {None} | ({"max_ratio"} if number.again == "share" else set())
        assert limits <= set(CATALOG[name].model_fields)


@EVERY
def test_is_frozen_and_reads_back(name):
    """A check cannot be changed, and its own JSON makes the same check again."""
    for check in examples(name):
        with pytest.raises(ValidationError):
            check.severity = Severity.INFO
        assert type(check).model_validate_json(check.model_dump_json(exclude_unset=True)) == check
        assert type(check).model_validate(check.model_dump(exclude_unset=True)) == check


@EVERY
def test_refuses_unknown_parameters_and_hard_limits_in_warn(name):
    """A misspelt parameter is an error, and so is a `warn` that holds no limit of this check."""
    check = examples(name)[0]
    given = check.model_dump(exclude_unset=True)
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(check).model_validate({**given, "colunm": "x"})
    with pytest.raises(ValidationError, match="'warn' accepts limits only"):
        type(check).model_validate({**given, "warn": {"severity": "info"}})


@pytest.mark.parametrize("name", sorted(set(CATALOG) - {"expectation"}))  # measured by a worker: test_expectation.py
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_observes_what_is_published(name, dialect):
    """`observed` has at least the published keys, on an ordinary table, and judging twice gives the same."""
    at = NOW.replace(tzinfo=None)
    kinds = {"int64": "int", "string": "text", "decimal(18, 2)": "decimal", "timestamp('UTC')": "timestamptz"}
    types = {column: kinds.get(kind, kind) for column, kind in ORDERS.items()}
    person = (1980, "100-0001", "f", "flu")
    orders = Rows(types, [(1, number, 1, 5, "paid", None, at, None, NOW, *person) for number in range(3)])
    tables = {"t": orders, "orders": orders, "payments": orders, "crm.customers": Rows({"customer_id": "int"}, [(1,)])}
    tables |= {
        "shop.lines": Rows({"customer": "int", "number": "int"}),
        "finance.ledger": Rows({"total": "decimal"}, [(15,)]),
        "warehouse.orders": Rows({"order_id": "int", "amount": "decimal", "status": "text"}, [(1, 5, "paid")]),
        "public.voters": Rows({"born": "int", "zip": "text", "sex": "text"}, [person[:3]] * 5),
        "public.reviews": Rows(
            {"reviewer": "text", "shop": "int", "paid": "decimal", "ordered_at": "timestamp"}, [("x", 1, 4, at)]
        ),
    }
    with place(dialect, **tables) as here:
        for check in examples(name):
            if check.where is not None:
                continue
            question = Question(check, here, zones=Zones("UTC"), loaded_at="loaded_at")
            outcome = question.ask()
            assert set(outcome.observed) >= OBSERVED[name]
            assert outcome.status in Status
            assert outcome == judge(check, question.measure())


def test_equal_keys_share_one_query():
    """Checks of the same key want the same GROUP BY, so that it is run once."""
    key = CATALOG["primary_key"](columns=("order_id",))
    unique = CATALOG["unique"](columns=("order_id",))
    first, second = key.wants(unbound(key)), unique.wants(unbound(unique))
    assert first.queries["duplicates"].op() == second.queries["duplicates"].op()
    assert first.aggregates["rows"].op() == second.aggregates["rows"].op()


@pytest.mark.parametrize("name", sorted(set(CATALOG) - {"schema", "sql", "expectation", "classification", "external"}))
def test_missing_column_is_named(name):
    """A column that is not there makes the check misconfigured, and the message names it."""
    check = examples(name)[-1]
    empty = ibis.table({"nothing": "int64"}, name="orders")
    context = unbound(check)
    with pytest.raises(Misconfigured, match=r"'.+' not found"):
        check.wants(Context(empty, "duckdb", _now, None, Zones("UTC"), None, context.references))


def test_measurement_counts_null_as_none():
    """A SUM over no rows is NULL, and counts as 0."""
    assert Measurement(NOW, {"violations": None}).number("violations") == 0
