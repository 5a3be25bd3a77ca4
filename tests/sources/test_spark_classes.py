"""Questions about equivalence classes are answered alike by Spark."""

import pandas as pd
import pytest

from checks import Context
from checks._catalog import load_catalog
from checks._judge import judge
from checks._measurement import Measurement
from checks.classes.tables import ClassTables
from checks.risk import Hierarchy, k_anonymity, l_diversity, t_closeness
from sources import SourceSpec, open_source
from tests.checks.ask import NOW

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Spark's bridge to Java leaves sockets to the collector
]

ROWS = [
    (key, born, salary if salary < 5 else None)
    for key in ("k", "l", None)
    for born, salaries in enumerate(((0, 1, 4, 3), (5, 5, 2, 2)))
    for salary in salaries[: 3 if key == "k" else 4]
]
PEOPLE = pd.DataFrame(ROWS, columns=["key", "born", "salary"]).astype({"salary": "Int64"})
TREE = {"0": ["low", "*"], "1": ["low", "*"], "2": ["low", "*"], "3": ["high", "*"], "4": ["high", "*"]}
OF = {"quasi_identifiers": ("key", "born"), "sensitive": ("salary",), "missing_is_a_value": ("salary",)}


@pytest.fixture
def people(spark_session):
    """Keep the people as a table of Spark."""
    rows = ", ".join("({}, {}, {})".format(*("NULL" if one is None else repr(one) for one in row)) for row in ROWS)
    spark_session.sql(f"CREATE TABLE people USING parquet AS SELECT * FROM VALUES {rows} AS rows (key, born, salary)")
    yield
    spark_session.sql("DROP TABLE people")


def _observed(source, **given):
    """Ask a check of the people, each question as its own statement."""
    check = load_catalog()[given.pop("type")](**given)
    table = source.table("people")
    context = Context(table, source.dialect, lambda *_: None)
    tables = {
        name: source.fetch(source.compile(one.answer(ClassTables(table, one.quasi_identifiers, one.sensitive))))
        for name, one in check.wants(context).classes.items()
    }
    found = check.follow_up(context, Measurement(NOW, tables=tables))
    assert isinstance(found, Measurement)
    return judge(check, found).observed


@pytest.mark.usefixtures("people")
def test_the_library_and_spark_agree(tmp_path):
    """k, l and t of each distance are those of the library on a frame of the same rows, NULL included."""
    of = (PEOPLE, ["key", "born"], "salary")
    with open_source(SourceSpec("cluster", tmp_path, spark="local[2]")) as source:
        found = _observed(source, type="l_diversity", l=2, variant="recursive", c=1.5, **OF)
        own = l_diversity(*of, c=1.5, l=2, missing_is_a_value=True)
        assert found["classes"] == k_anonymity(PEOPLE, ["key", "born"], 2).classes
        assert (found["rows"], found["l_distinct"], found["l_recursive"]) == (22, own.l_distinct, own.l_recursive)
        assert found["l_entropy"] == pytest.approx(own.l_entropy, rel=1e-12)
        assert found["records_below_l"] == own.columns["salary"].recursive.records
        for asked in ({}, {"distance": "ordered"}, {"hierarchy": Hierarchy.of(TREE)}):
            kept = {name: TREE if name == "hierarchy" else one for name, one in asked.items()}
            found = _observed(source, type="t_closeness", t=0.2, **kept, **OF)
            expected = t_closeness(*of, t=0.2, missing_is_a_value=True, **asked)
            assert found["t"] == pytest.approx(expected.t, rel=1e-12)
            assert found["records_above_t"] == expected.columns["salary"].above.records
