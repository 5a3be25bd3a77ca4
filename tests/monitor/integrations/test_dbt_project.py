"""What a manifest of dbt becomes: tables with owner, tier and lineage, a check for each test, twins as comments."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config import load
from monitor.integrations.dbt import UnreadableArtifact
from monitor.integrations.dbt_columns import _Query, trace_columns
from monitor.integrations.dbt_project import propose_configuration


def _test(kind: str, about: str, column: str = "id", **more: Any) -> dict[str, Any]:
    kwargs = {"column_name": column, **more.pop("kwargs", {})}
    node = {
        "resource_type": "test",
        "name": f"{kind}_{about}",
        "attached_node": f"model.shop.{about}",
        "column_name": column,
        "depends_on": {"nodes": [f"model.shop.{about}"]},
        "test_metadata": {"name": kind, "kwargs": kwargs, "namespace": None},
        "config": {"severity": "ERROR", "where": None},
    }
    return node | more


def _table(name: str, kind: str = "model", *, parents: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {
        "resource_type": kind,
        "name": name,
        "alias": name,
        "schema": "main",
        "depends_on": {"nodes": list(parents)},
        "config": {"meta": {}},
        **more,
    }


NODES = {
    "model.shop.orders": _table(
        "orders",
        parents=("model.shop.staged", "seed.shop.customers"),
        group="sales",
        description="One row\nfor each order: $5",
        config={"meta": {"tier": "gold"}},
    ),
    "model.shop.staged": _table("staged", parents=("source.shop.raw.orders",)),
    "seed.shop.customers": _table("customers", "seed", config={"meta": {"owner": "ann@example.org"}}),
    "test.shop.unique_orders.1": _test("unique", "orders"),
    "test.shop.values.2": _test("accepted_values", "orders", "status", kwargs={"values": ["placed", "${x}"]}),
    "test.shop.related.3": _test(
        "relationships", "orders", "customer", kwargs={"to": "ref('customers')", "field": "id"}
    ),
    "test.shop.not_null_customers.4": _test("not_null", "customers", attached_node="seed.shop.customers"),
    "test.shop.own.5": _test("own", "orders", test_metadata=None, attached_node=None)
    | {"config": {"severity": "warn"}},
    "test.shop.two.6": _test("own", "orders", test_metadata=None, attached_node=None)
    | {"depends_on": {"nodes": ["model.shop.orders", "seed.shop.customers"]}},
    "test.shop.long.7": _test("unique", "orders", name="x" * 200),
}
SOURCE = _table("orders", "source", source_name="raw", identifier="orders_v2", alias=None)
MANIFEST = {
    "metadata": {"project_name": "shop"},
    "nodes": NODES,
    "sources": {"source.shop.raw.orders": SOURCE | {"freshness": {"error_after": {"count": 24, "period": "hour"}}}},
    "groups": {"group.shop.sales": {"name": "sales", "owner": {"name": "Sales", "email": "sales@example.org"}}},
}


def _write(folder: Path, manifest: Any = MANIFEST) -> Path:
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def test_a_project_without_a_configuration_gets_a_whole_one(tmp_path: Path) -> None:
    """It loads as it is, and reads nothing."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(propose_configuration(_write(tmp_path), None).text, encoding="utf-8")
    config = load(path, environment={}).config
    assert config.project == "shop"
    assert [table.name for table in config.tables] == ["customers", "main.orders", "raw.orders"]
    orders = config.table("main.orders")
    assert orders is not None
    assert (orders.table, orders.owner, orders.tier) == (None, "sales", "gold")
    assert orders.description == "One row for each order: $5"
    assert orders.upstream == ("customers", "raw.orders")
    assert {check.key: check.severity.value for check in orders.checks} == {
        "test.shop.unique_orders.1": "error",
        "test.shop.values.2": "error",
        "test.shop.related.3": "error",
        "test.shop.own.5": "warning",
        "test.shop.long.7": "error",
    }
    raw, customers = config.table("raw.orders"), config.table("customers")
    assert raw is not None
    assert customers is not None
    assert [(check.id, check.key) for check in raw.checks] == [("source-freshness", "source.shop.raw.orders")]
    assert raw.table == "main.orders_v2"
    assert config.owners[customers.owner or ""].email == "ann@example.org"


def test_twins_of_our_own_are_comments_that_are_checks(tmp_path: Path) -> None:
    """Each comment is a check as one could write it; tests without a twin have none."""
    text = propose_configuration(_write(tmp_path), None).text
    mark = "# the same as a check of our own: "
    twins = [yaml.safe_load(line.partition(mark)[2]) for line in text.splitlines() if mark in line]
    assert {"type": "unique", "columns": ["id"]} in twins
    assert {"type": "accepted_values", "column": "status", "values": ["placed", "$${x}"]} in twins
    assert {"type": "foreign_key", "column": "customer", "references": "customers.id"} in twins
    assert len(twins) == 5


def test_a_test_of_two_tables_is_named(tmp_path: Path) -> None:
    """Which table is wrong is unknown."""
    skipped, untraced = propose_configuration(_write(tmp_path), None).notes
    assert skipped == "test 'test.shop.two.6' is skipped: it reads 2 tables; add it to a table by hand"
    assert untraced.startswith("columns of 2 models not traced (main.orders, staged); run 'dbt docs generate' first")


def test_what_is_configured_is_left_out(tmp_path: Path) -> None:
    """A second call has nothing to add; a new test of a known table is printed as a comment."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(propose_configuration(_write(tmp_path), None).text, encoding="utf-8")
    present = load(path, environment={}).config
    assert propose_configuration(tmp_path, present).checks == 0
    nodes = NODES | {"test.shop.new.8": _test("not_null", "orders", name="new")}
    again = propose_configuration(_write(tmp_path, MANIFEST | {"nodes": nodes}), present)
    assert (again.tables, again.checks) == (1, 1)
    lines = again.text.splitlines()
    assert lines[0] == "# add to the checks of table main.orders:"
    assert all(line.startswith("#") for line in lines)


@pytest.mark.parametrize("manifest", [[], {}, {"nodes": []}])
def test_what_is_no_manifest_is_refused(tmp_path: Path, manifest: object) -> None:
    """The error names the file."""
    with pytest.raises(UnreadableArtifact) as caught:
        propose_configuration(_write(tmp_path, manifest), None)
    assert caught.value.problem.file == str(tmp_path / "manifest.json")


@pytest.mark.parametrize("strange", [None, 1, [], {"resource_type": "test"}, {"resource_type": "model"}])
def test_strange_nodes_are_left_alone(tmp_path: Path, strange: object) -> None:
    """Nodes of kinds and shapes that are not known do no harm."""
    text = propose_configuration(_write(tmp_path, MANIFEST | {"nodes": NODES | {"x.y": strange}}), None).text
    assert "unique_orders" in text


def _loaded(folder: Path, nodes: dict[str, Any], sources: dict[str, Any] | None = None) -> Any:
    manifest = {"metadata": {"project_name": "shop"}, "nodes": nodes, "sources": sources or {}}
    proposal = propose_configuration(_write(folder, manifest), None)
    path = folder / "tablewatch.yaml"
    path.write_text(proposal.text, encoding="utf-8")
    return load(path, environment={}).config, proposal


def test_versions_of_a_model_are_tables_of_their_own(tmp_path: Path) -> None:
    """Each has its alias; a reference without a version is to the latest one."""
    nodes = {
        f"model.shop.orders.v{version}": _table("orders", alias=f"orders_v{version}", version=version, latest_version=2)
        for version in (1, 2, 3)
    }
    for version in (1, 2, 3):
        key = f"model.shop.orders.v{version}"
        nodes[f"test.shop.t{version}"] = _test("unique", "orders", attached_node=key, depends_on={"nodes": [key]})
    nodes["model.shop.lines"] = _table("lines")
    nodes["test.shop.r"] = _test("relationships", "lines", kwargs={"to": "ref('orders')", "field": "id"})
    config, proposal = _loaded(tmp_path, nodes)
    assert [table.name for table in config.tables] == ["lines", "orders_v1", "orders_v2", "orders_v3"]
    assert "references: orders_v2.id" in proposal.text


def test_names_that_meet_have_schema_then_database(tmp_path: Path) -> None:
    """No table is proposed twice, whatever is shared: name, schema, or all but the id."""
    places = {"a": ("mart", "one"), "b": ("mart", "two"), "c": ("crm", "one"), "d": ("crm", "one")}
    nodes: dict[str, Any] = {}
    for package, (schema, database) in places.items():
        key = f"model.{package}.customers"
        nodes[key] = _table("customers", schema=schema, database=database)
        nodes[f"test.{package}.t"] = _test("unique", "x", attached_node=key, depends_on={"nodes": [key]})
    config, _ = _loaded(tmp_path, nodes)
    assert sorted(table.name for table in config.tables) == [
        "model.c.customers",
        "model.d.customers",
        "one.mart.customers",
        "two.mart.customers",
    ]


@pytest.mark.parametrize(
    ("owner", "name", "entry"),
    [
        ({"name": "Ann", "email": "ann@example.org", "slack": 1}, "ann", ("Ann", "ann@example.org")),
        ({"email": "bob@example.org"}, "bob", (None, "bob@example.org")),
        (["Cy", "Bob"], "cy", ("Cy", None)),
        ([{"name": ""}, 3, {"name": "Dee"}], "dee", ("Dee", None)),
    ],
)
def test_an_owner_is_a_text_a_mapping_or_a_list(tmp_path: Path, owner: Any, name: str, entry: Any) -> None:
    """The first that has a name or an address owns the table."""
    nodes = {"model.shop.t": _table("t", config={"meta": {"owner": owner}}), "test.shop.t": _test("unique", "t")}
    config, proposal = _loaded(tmp_path, nodes)
    assert config.tables[0].owner == name
    assert (config.owners[name].name, config.owners[name].email) == entry
    assert any("2 owners" in note for note in proposal.notes) == (owner == ["Cy", "Bob"])


def _model(name: str, sql: str, *parents: str, **more: Any) -> dict[str, Any]:
    return _table(name, parents=parents, compiled_code=sql, database="shop", **more)


def test_columns_are_traced_through_models_and_exposures_are_consumers(tmp_path: Path) -> None:
    """Through a model without tests; filters and joins are `*`; a dashboard is used by its nearest tested table."""
    source = _table("raw", "source", source_name="in", identifier="raw", alias=None, database="shop")
    nodes = {
        "model.shop.staged": _model(
            "staged", "select * from shop.main.orders where status <> 'x'", "model.shop.orders"
        ),
        "model.shop.orders": _model(
            "orders", 'select id, Amount as "TOTAL", status from shop.main.raw', "source.shop.raw"
        ),
        "model.shop.sums": _model(
            "sums",
            "select id, sum(total) as revenue from shop.main.staged group by id",
            "model.shop.staged",
        ),
        "model.shop.other": _model("other", "select * from shop.main.unknown", "source.shop.raw"),
        "test.shop.1": _test("not_null", "orders", "total"),
        "test.shop.2": _test("not_null", "sums", "revenue"),
        "test.shop.3": _test("unique", "other"),
        "test.shop.4": _test("not_null", "raw", "amount", attached_node="source.shop.raw"),
    }
    dashboard = {
        "label": "Weekly revenue",
        "name": "weekly",
        "type": "dashboard",
        "url": "https://bi.example.org/7",
        "owner": {"name": "Mia", "email": "mia@example.org"},
        "depends_on": {"nodes": ["model.shop.staged"]},
    }
    about = {"project_name": "shop", "adapter_type": "duckdb"}
    manifest = {"metadata": about, "nodes": nodes, "sources": {"source.shop.raw": source}}
    path = tmp_path / "tablewatch.yaml"
    proposal = propose_configuration(_write(tmp_path, manifest | {"exposures": {"exposure.shop.w": dashboard}}), None)
    path.write_text(proposal.text, encoding="utf-8")
    config = load(path, environment={}).config
    orders, sums, other = (config.table(name) for name in ("orders", "sums", "other"))
    assert orders is not None
    assert sums is not None
    assert other is not None
    assert orders.upstream_columns == {"raw": {"id": ("id",), "total": ("amount",), "status": ("status",)}}
    assert sums.upstream_columns == {"orders": {"*": ("status",), "id": ("id",), "revenue": ("total",)}}
    assert (other.upstream, other.upstream_columns) == (("raw",), {})
    (use,) = config.consumers_of("orders")
    assert (use.name, use.type, use.owner, use.url) == (
        "Weekly revenue",
        "dashboard",
        "Mia",
        "https://bi.example.org/7",
    )
    assert config.consumers_of("sums") == ()
    assert [check.columns for check in (*orders.checks, *other.checks)] == [("total",), None]
    (note,) = proposal.notes
    assert note.startswith("columns of 1 model not traced (other);")
    again = propose_configuration(_write(tmp_path, manifest), config)
    assert "upstream" not in again.text
    changed = nodes["model.shop.sums"] | {"compiled_code": "select id, id + 1 as revenue from shop.main.staged"}
    text = propose_configuration(
        _write(tmp_path, manifest | {"nodes": nodes | {"model.shop.sums": changed}}), config
    ).text
    assert "# of table sums: upstream_columns: {orders: {'*': [id, status]}}" in text


@pytest.mark.parametrize(
    ("sql", "edges"),
    [
        ("with a as (select x, k from t) select a.x from a join u using (k)", "*<t.k *<u.k x<t.x"),
        ("select x from t where k in (select q from u)", "*<t.k *<u.q x<t.x"),
        ("select x from t union all select y from u", "x<t.x x<u.y"),
        ("select (select max(b) from u where u.k = t.k) as m from t", "*<u.k m<u.b"),
        ("select sum(x) over (partition by k) as s from t", "s<t.k s<t.x"),
    ],
)
def test_queries_are_traced_to_tables(sql: str, edges: str) -> None:
    """Columns by what they are made of, filters and joins for every column."""
    traced = _Query(sql, "duckdb", {})
    assert (
        " ".join(sorted({f"{column}<{relation[0]}.{source}" for column, relation, source in traced.edges()})) == edges
    )


@pytest.mark.parametrize("sql", ["", "select * from t", "select a, b from t, u", "drop table t", "select ("])
def test_what_cannot_be_traced_is_not_stated(sql: str) -> None:
    """Columns of unknown tables, of several tables, and what is no query."""
    node = _model("m", sql)
    assert trace_columns({"model.m": node}, {"model.m": ()}, {}, "duckdb").untraced == ["model.m"]
