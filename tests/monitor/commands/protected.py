"""A shop whose customers are protected by a privacy budget."""

from typing import Final

from tests.monitor.commands.terminal import Terminal

BUDGETS: Final = """\
  - {name: customers, source: shop}
budgets:
  customers:
    total: 9
    domain:
      sex: [F, M]
      born: {range: [1930, 2009], width: 10}
      amount: {low: 0, high: 100}
"""

CUSTOMERS: Final = """
DROP TABLE IF EXISTS customers;
CREATE TABLE customers (who TEXT, sex TEXT, born INTEGER, amount REAL);
INSERT INTO customers VALUES ('ann', 'F', 1981, 12.5), ('bob', 'M', 1950, 700), ('eve', NULL, NULL, NULL);
"""


def protect(terminal: Terminal, *replaced: tuple[str, str]) -> None:
    """Declare the budget of the customers, with some texts replaced, and make their table."""
    budgets = BUDGETS
    for old, new in replaced:
        assert old in budgets
        budgets = budgets.replace(old, new)
    terminal.configure()
    with (terminal.folder / "tablewatch.yaml").open("a", encoding="utf-8") as file:
        file.write(budgets)
    terminal.sql(CUSTOMERS)
