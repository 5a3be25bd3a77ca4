"""Our checks as expectations of Great Expectations: importing this module registers them.

    from tablewatch.gx import ExpectTableToBeFresh, ExpectTableToBeKAnonymous

Each gives the verdict of a check: it measures what the check measures and lets the check judge. What the check could
not judge (no rows, no zone for a naive column, a column that is not there) is raised, so that Great Expectations
records an exception; it is neither success nor a value out of bounds.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.expectations.row_conditions import RowConditionType
from great_expectations.validator.metric_configuration import MetricConfiguration
from pydantic import ValidationError

from checks._contract import CheckError, CheckParameters, Measurement, Outcome, Status
from checks._judge import judge
from checks.freshness import Freshness
from checks.gx.arguments import named_columns
from checks.gx.metric import METRIC, asked, moment
from checks.k_anonymity import KAnonymityCheck
from checks.l_diversity import LDiversityCheck
from checks.t_closeness import TClosenessCheck

_HOLDS: Final = frozenset({Status.PASS, Status.WARN})


class NoVerdictError(CheckError):
    """The check could not be judged."""


def _arguments_are_those_of_the_check(expectation: Any, values: dict[str, Any]) -> dict[str, Any]:
    expectation.check_of(values)
    moment(values.get("as_of"))
    return values


class _CheckExpectation(BatchExpectation):
    """A check on a batch. Its arguments are those of the check."""

    row_condition: RowConditionType = None
    condition_parser: ConditionParser | None = None

    asks: ClassVar[type[CheckParameters]]
    always: ClassVar[Mapping[str, Any]] = {}
    """Fixed arguments of the check."""
    broken: ClassVar[str | None] = None
    """Which figure counts the rows that break it."""
    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")

    _fits = pydantic.root_validator(skip_on_failure=True, allow_reuse=True)(_arguments_are_those_of_the_check)

    @classmethod
    @abstractmethod
    def figure(cls, outcome: Outcome) -> Any:
        """Return the figure that is judged."""

    @classmethod
    def check_of(cls, arguments: Mapping[str, Any]) -> CheckParameters:
        """Make the check.

        Raises:
            ValueError: the arguments do not fit it; the text is that of the check.
        """
        parameters = {name: arguments[name] for name in cls.success_keys if arguments.get(name) is not None}
        parameters.pop("as_of", None)
        try:
            return cls.asks.model_validate({**parameters, **cls.always})
        except ValidationError as error:
            first = error.errors()[0]
            message, place = first["msg"].removeprefix("Value error, "), ".".join(map(str, first["loc"]))
            raise ValueError(f"{place}: {message}" if place else message) from None

    def get_validation_dependencies(
        self, execution_engine: Any = None, runtime_configuration: dict[str, Any] | None = None
    ) -> Any:
        """Request what the check measures."""
        dependencies = super().get_validation_dependencies(execution_engine, runtime_configuration)
        domain = get_metric_kwargs(METRIC, self.configuration, runtime_configuration)["metric_domain_kwargs"]
        kwargs = self.dict()
        question = asked(self.check_of(kwargs), columns=named_columns(kwargs), as_of=kwargs.get("as_of"))
        dependencies.set_metric_configuration(METRIC, MetricConfiguration(METRIC, domain, dict(question)))
        return dependencies

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        measurement: Measurement = metrics[METRIC]
        check: Any = self.check_of(self.dict())
        outcome = judge(check, measurement)
        if outcome.status is Status.UNKNOWN:
            raise NoVerdictError(str(outcome.message))
        result = {"observed_value": self.figure(outcome), "details": dict(outcome.observed)}
        if self.broken is not None and outcome.observed[self.broken]:
            result |= {"unexpected_count": outcome.observed[self.broken], "element_count": outcome.observed["rows"]}
        return {"success": outcome.status in _HOLDS, "result": result}


class ExpectTableToBeFresh(_CheckExpectation):
    """The newest row is not older than a length of time; rows in the future do not count.

    The arguments are those of the check `freshness`: `max_age` and `skew` are texts such as 26h, `timezone` is the IANA
    zone of naive values, `epoch` the unit of numbers since 1970, `expected` says when rows are expected. `as_of` is an
    ISO time with an offset to judge at (now, if not given).
    """

    column: str
    max_age: str
    epoch: str | None = None
    skew: str | None = None
    timezone: str | None = None
    expected: dict[str, Any] | None = None
    as_of: str | None = None

    asks = Freshness
    success_keys: ClassVar[tuple[str, ...]] = ("column", "max_age", "epoch", "skew", "timezone", "expected", "as_of")

    @classmethod
    def figure(cls, outcome: Outcome) -> Any:
        """Return the age of the newest row in seconds."""
        return outcome.observed.get("age_s")


class ExpectTableToBeKAnonymous(_CheckExpectation):
    """Every record is alike with at least k - 1 others in the quasi-identifiers; NULL is a value of its own.

    The arguments are those of the check `k_anonymity`.
    """

    quasi_identifiers: list[str] = pydantic.Field(..., min_items=1)
    k: int
    max_average_risk: float | None = None

    asks = KAnonymityCheck
    always: ClassVar[Mapping[str, Any]] = {"other_readings": False}
    broken = "records_below_k"
    success_keys: ClassVar[tuple[str, ...]] = ("quasi_identifiers", "k", "max_average_risk")

    @classmethod
    def figure(cls, outcome: Outcome) -> Any:
        """Return the size of the smallest group."""
        return outcome.observed["k"]


class ExpectTableToBeLDiverse(_CheckExpectation):
    """Every group of records that are alike in the quasi-identifiers has at least l values of each sensitive column.

    The arguments are those of the check `l_diversity`: `variant` is distinct, entropy or recursive, which takes `c`.
    """

    quasi_identifiers: list[str] = pydantic.Field(..., min_items=1)
    sensitive: list[str] = pydantic.Field(..., min_items=1)
    l: float
    variant: str | None = None
    c: float | None = None

    asks = LDiversityCheck
    broken = "records_below_l"
    success_keys: ClassVar[tuple[str, ...]] = ("quasi_identifiers", "sensitive", "l", "variant", "c")

    @classmethod
    def figure(cls, outcome: Outcome) -> Any:
        """Return the least diversity of a group, in the variant that was asked for."""
        return outcome.observed[f"l_{outcome.expected['variant']}"]


class ExpectTableToBeTClose(_CheckExpectation):
    """In every group of records that are alike, sensitive values are spread as in the table, to within t.

    The arguments are those of the check `t_closeness`: `distance` is equal or ordered; or there is a `hierarchy`.
    """

    quasi_identifiers: list[str] = pydantic.Field(..., min_items=1)
    sensitive: list[str] = pydantic.Field(..., min_items=1)
    t: float
    distance: str | None = None
    hierarchy: dict[str, list[str]] | str | None = None

    asks = TClosenessCheck
    broken = "records_above_t"
    success_keys: ClassVar[tuple[str, ...]] = ("quasi_identifiers", "sensitive", "t", "distance", "hierarchy")

    @classmethod
    def figure(cls, outcome: Outcome) -> Any:
        """Return the largest distance of a group."""
        return outcome.observed["t"]
