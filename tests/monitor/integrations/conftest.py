"""A small shop whose checks dbt and another tool evaluate."""

from pathlib import Path

import pytest

from tests.monitor.shop import Shop, build_shop

CHECKS = """
      - {type: external, origin: dbt, id: ids, reference: test.shop.ids.1}
      - {type: external, origin: dbt, id: amounts, reference: test.shop.amounts.2, severity: critical}
      - {type: external, origin: dbt, id: fresh, reference: source.shop.raw.orders}
      - {type: external, origin: other, id: totals, every: 1h}
  - name: refunds
    source: shop
    checks:
      - {type: external, origin: other, id: totals, every: 1h}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Return the shop; nothing of it is read."""
    return build_shop(tmp_path, CHECKS)
