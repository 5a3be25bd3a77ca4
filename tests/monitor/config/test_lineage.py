"""The lineage of tables and columns: what reaches what, and what is not known."""

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from monitor.config.lineage import EVERY, Lineage

TABLES: Final = "abcde"
COLUMNS: Final = ("x", "y")
_edges = st.dictionaries(
    st.sampled_from(TABLES),
    st.dictionaries(
        st.sampled_from(TABLES),
        st.none() | st.dictionaries(st.sampled_from((*COLUMNS, EVERY)), st.sets(st.sampled_from(COLUMNS)), max_size=3),
        max_size=3,
    ),
)


def _lineage(edges: dict[str, dict[str, dict[str, set[str]] | None]]) -> Lineage:
    known = {
        table: {parent: made for parent, made in above.items() if made is not None} for table, above in edges.items()
    }
    return Lineage(edges, known)


@given(_edges)
def test_columns_read_the_same_from_both_ends(edges: dict[str, dict[str, dict[str, set[str]] | None]]) -> None:
    """Where a column may feed another by the way up, it does by the way down; tables without columns are reached."""
    lineage = _lineage(edges)
    for one in TABLES:
        assert set(lineage.columns_below(one)) == set(lineage.below(one))
        for column in COLUMNS:
            for other, fed in lineage.columns_below(one, frozenset({column})).items():
                for its in COLUMNS:
                    if other == one:
                        continue
                    above = lineage.columns_above(other, frozenset({its})).get(one, frozenset())
                    assert (fed is None or its in fed) == (above is None or column in above)


def test_what_is_not_known_may_be_any_column() -> None:
    """A table that `upstream_columns` leaves out may feed each column; one that is named feeds what is stated."""
    edges = {"a": {"Total": ["Amount"], EVERY: ["status"]}}
    lineage = Lineage({"b": ["a", "c"], "d": ["b"]}, {"b": edges, "d": {"b": {"x": ["TOTAL"]}}})
    assert lineage.columns_above("d", frozenset({"x"})) == {"b": {"total"}, "a": {"amount", "status"}, "c": None}
    assert lineage.columns_above("d", frozenset({"y"})) == {"b": set(), "a": set(), "c": set()}
    assert lineage.columns_below("a", frozenset({"amount"})) == {"b": {"total"}, "d": {"x"}}
    assert lineage.columns_below("a", frozenset({"status"})) == {"b": None, "d": {"x"}}
    assert lineage.columns_below("c", frozenset({"z"})) == {"b": None, "d": {"x"}}
    assert lineage.columns_of("a") == {"amount", "status"}
