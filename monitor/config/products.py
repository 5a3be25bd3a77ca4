"""Find the tables of data products."""

from collections.abc import Iterator, Mapping

from monitor.config.messages import problem_at
from monitor.config.model import Config
from monitor.config.selector import select
from monitor.config.yaml_nodes import Node, find_node
from monitor.terminal.problem import Problem, Stop


def tables_of_products(config: Config) -> Mapping[str, tuple[str, ...]]:
    """Return the tables of each product, in the order of the configuration; none is empty once it was loaded."""
    return {name: tuple(select(product.tables, config).tables) for name, product in config.products.items()}


def faults_of_products(tree: Node, config: Config) -> Iterator[Problem]:
    """Find products whose words choose no table, or cannot be understood."""
    for name, product in config.products.items():
        try:
            select(product.tables, config)
        except Stop as stop:
            node, _ = find_node(tree, ("products", name, "tables"))
            yield from (problem_at(node.place, item.code, item.message, item.hint) for item in stop.problems)
