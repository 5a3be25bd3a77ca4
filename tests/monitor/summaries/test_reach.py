"""What a fault reaches: tables, columns, consumers and people downstream."""

from pathlib import Path

from monitor.config import load
from monitor.summaries.lineage import Reach, columns_of, reach_by_column

CONFIG = """
version: 1
project: shop
sources: {mart: {external: true}}
owners: {finance: {name: Finance}, desk: {}}
products: {sales: {tables: [totals], consumers: [the board]}}
tables:
  - name: orders
    source: mart
    consumers: [{name: Stock, columns: [id]}]
    checks:
      - {type: external, origin: other, id: sums, columns: [Amount]}
      - {type: external, origin: other, id: whole}
      - {type: external, origin: other, id: all-rows}
  - name: totals
    source: mart
    owner: desk
    upstream: [orders]
    upstream_columns: {orders: {revenue: [amount]}}
    consumers: [{name: Weekly, type: dashboard, owner: finance, url: "https://bi.example.org/7", columns: [revenue]}]
  - {name: ids, source: mart, upstream: [orders], upstream_columns: {orders: {id: [id]}}, consumers: [Search]}
"""


def test_a_check_of_columns_reaches_what_they_feed(tmp_path: Path) -> None:
    """Only the tables, consumers and owners of these columns; a check of whole rows reaches all."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    config = load(path, environment={}).config
    orders = config.table("orders")
    assert orders is not None
    sums, whole, volume = orders.checks
    assert [columns_of(check) for check in (sums, whole, volume, None)] == [{"amount"}, None, None, None]
    reach = Reach.of(config, "orders", columns_of(sums))
    assert [(line.table, line.distance, line.columns) for line in reach.tables] == [("totals", 1, ("revenue",))]
    assert [(use.name, use.owner, use.tables) for use in reach.consumers] == [
        ("Weekly", "Finance", ("totals",)),
        ("the board", None, ("totals",)),
    ]
    assert reach.people == ("desk", "Finance")
    every = Reach.of(config, "orders")
    assert [use.name for use in every.consumers] == ["Stock", "Weekly", "the board", "Search"]
    assert [part.of_columns for part in reach_by_column(config, "orders")] == [("amount",), ("id",)]
