"""The state of data products: the worst health of their tables, downtime of the whole, and its promises."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from incidents import DownTime, Incident, LevelSurvey, LevelVerdict, Window, from_us
from monitor.config import Config
from monitor.config.contracts_model import Product
from monitor.config.project import Project
from monitor.config.promised import contract_of_product
from monitor.summaries.health import TableHealth, states_of
from monitor.summaries.service_levels import ContractLine, JudgedContract, judge_contract, survey_of
from monitor.summaries.shapes import Moment, Shape, as_hours
from store import ReadTransaction


class ProductPorts(Shape):
    """What flows into a product and out of it: tables outside that feed it, and its tables that feed tables outside."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProductState:
    """A data product now, and in a period.

    `owner` is the name to show, `health` the worst of its tables, `incidents` are those that last. `down`: how long any
    of its tables was down in the period, each moment once, without the planned maintenance of the table (microseconds):
    as seen, at least and at most, by what was known when the period ended. It is None where nothing was
    observed and no incident is recorded.
    `contract` has no levels where nothing is promised.
    """

    name: str
    product: Product
    owner: str | None
    tables: tuple[str, ...]
    health: TableHealth
    incidents: Sequence[Incident]
    window: Window
    down: DownTime | None
    contract: JudgedContract
    ports: ProductPorts

    @property
    def is_promised(self) -> bool:
        """Check whether anything is promised of it."""
        return bool(self.contract.levels or self.contract.budget)


class ProductLine(Shape):
    """A data product: times in hours, downtime null where nothing was observed."""

    product: str
    title: str | None
    owner: str | None
    description: str | None
    consumers: tuple[str, ...]
    tables: tuple[str, ...]
    ports: ProductPorts
    health: TableHealth
    open_incidents: tuple[int, ...]
    start: Moment = Field(alias="from")
    to: Moment
    downtime_h: float | None
    downtime_h_low: float | None
    downtime_h_high: float | None
    promises: ContractLine | None
    verdict: LevelVerdict | None

    @classmethod
    def of(cls, state: ProductState) -> Self:
        """Return a data product as a model."""
        down, product = state.down, state.product
        return cls(
            product=state.name,
            **{name: getattr(product, name) for name in ("title", "owner", "description", "consumers")},
            tables=state.tables,
            ports=state.ports,
            health=state.health,
            open_incidents=tuple(incident.id for incident in state.incidents),
            start=from_us(state.window.start_us),
            to=from_us(state.window.end_us),
            downtime_h=None if down is None else as_hours(down.seen),
            downtime_h_low=None if down is None else as_hours(down.low),
            downtime_h_high=None if down is None else as_hours(down.high),
            promises=ContractLine.of(state.contract) if state.is_promised else None,
            verdict=state.contract.verdict if state.is_promised else None,
        )


class ProductList(Shape):
    """`tablewatch.products/2`: data products in a period."""

    schema_: Literal["tablewatch.products/2"] = Field("tablewatch.products/2", alias="schema")
    as_of: Moment
    products: tuple[ProductLine, ...]

    @classmethod
    def of(cls, states: Sequence[ProductState], now: datetime) -> Self:
        """Return data products as a model."""
        return cls(as_of=now, products=tuple(ProductLine.of(state) for state in states))


def product_states(
    project: Project,
    tx: ReadTransaction,
    names: Sequence[str],
    window: Window,
    *,
    as_of: datetime,
    survey: LevelSurvey | None = None,
) -> Sequence[ProductState]:
    """Return the states of products now and in a period; `survey`: of their tables, if already computed."""
    config = project.config
    promised = [contract_of_product(config, name) for name in names]
    if not promised:
        return []
    members = dict.fromkeys(table for item in promised for table in item.contract.tables)
    configured = [table for name in members if (table := config.table(name)) is not None]
    states = {state.table.name: state for state in states_of(project, tx, configured)}
    survey = survey or survey_of(project, tx, promised, window, as_of=as_of)
    observed = survey.history.observed
    results = []
    for name, item in zip(names, promised, strict=True):
        tables = item.contract.tables
        table_states = [states[table] for table in tables]
        touched = survey.end_us > window.start_us
        down = survey.down_times([window], tables)[0] if touched else None
        is_observed = observed is None or any(table in observed for table in tables)
        results.append(
            ProductState(
                name=name,
                product=config.products[name],
                owner=config.owner_name(config.products[name].owner),
                tables=tables,
                health=min((state.health for state in table_states), key=lambda health: health.rank),
                incidents=[incident for state in table_states for incident in state.incidents],
                window=window,
                down=down if is_observed or (down is not None and down.seen) else None,
                contract=judge_contract(item, survey),
                ports=ports_of(config, tables),
            )
        )
    return results


def ports_of(config: Config, tables: Sequence[str]) -> ProductPorts:
    """Return what flows into tables from others, and which of them feed others, as the configuration says."""
    inside = set(tables)
    sources = [name for table in config.tables if table.name in inside for name in table.upstream]
    return ProductPorts(
        inputs=tuple(name for name in dict.fromkeys(sources) if name not in inside),
        outputs=tuple(name for name in tables if not inside.issuperset(config.lineage.downstream(name))),
    )
