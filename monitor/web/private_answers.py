"""Budgeted questions over HTTP: what may be asked, what an answer would cost, and the noisy answer itself.

The same service as `tablewatch privacy answer`: the budget is charged before the table is read, and the answer is the
stored one. Whether a question is accepted depends on the configuration and the ledger only. Replies are padded to whole
blocks, so that their size does not tell the digits of an answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from monitor.answers.ask import Answer, AnswerPlan, AnswerService, NotAnswered
from monitor.answers.budget_status import BudgetState, ProtectedPeople
from monitor.answers.data_set import DataSet
from monitor.reporting.terminal_views.answers import accuracy_lines
from monitor.summaries.shapes import Moment, Shape
from monitor.terminal.problem import Problem
from monitor.verbs.verb import Name
from monitor.web.access import may_act_on
from monitor.web.call import Call
from monitor.web.problems import WebError, of_validation
from remedies import Misfit
from remedies.differential_privacy.answers import STATISTICS, Statistic
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Refusal
from store import NotRecorded, StoreConflict, StoredLedger

MOST_A_MINUTE = 60
"""Questions and plans of a user or token, whatever their answer is."""
_GIVEN = 10
"""Earlier answers that are listed of a table."""


class QuestionBody(BaseModel):
    """A question about a protected table: the options of `tablewatch privacy answer`."""

    model_config = ConfigDict(extra="forbid")

    table: Name
    statistic: Literal["count", "histogram", "sum", "mean", "quantile"]
    column: Name | None = None
    by: Annotated[tuple[Name, ...], MaxLen(20)] = ()
    where: Annotated[tuple[Name, ...], MaxLen(20)] = ()
    share: Name | None = None
    step: Name | None = None
    epsilon: Name | None = Field(None, description="The price, a decimal; for zCDP budgets rho.")
    rho: Name | None = None
    request_id: Annotated[str, MinLen(1), MaxLen(200)] | None = Field(
        None, description="The same question under the same id returns the stored answer at no cost."
    )

    @field_validator("by", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            return items
        return tuple(part.strip() for item in items for part in item.split(",") if part.strip())

    @property
    def question(self) -> Statistic:
        """Return the statistic.

        Raises:
            WebError: it is none, or has no price.
        """
        words = self.model_dump(exclude={"table", "request_id"}, exclude_none=True, exclude_defaults=True)
        if self.statistic == "count" and self.by:
            words["statistic"] = "histogram"
        if self.epsilon is None and self.rho is None:
            raise WebError(422, Problem("answer.no_price", "missing privacy cost of the answer", hint="epsilon: 0.1"))
        try:
            return STATISTICS[words["statistic"]].model_validate(words)
        except ValidationError as error:
            raise of_validation(error) from None


class DeclaredColumn(Shape):
    """A column that questions may be about, and what is declared of it."""

    name: str
    domain: dict[str, Any]


class EarlierAnswer(Shape):
    """An earlier answer, to any user."""

    request_id: str
    answered_at: Moment
    cost: str
    request: dict[str, Any]
    answer: dict[str, Any]


class QuestionTable(Shape):
    """A table that the caller may ask about. `budget`: null where it was not created yet."""

    table: str
    columns: tuple[DeclaredColumn, ...]
    budget: BudgetState | None
    answers: tuple[EarlierAnswer, ...]


class QuestionPage(Shape):
    """`tablewatch.ask-page/1`: the tables that the caller may ask about, and on the page the answer to a question."""

    schema_: Literal["tablewatch.ask-page/1"] = Field("tablewatch.ask-page/1", alias="schema")
    as_of: Moment
    tables: tuple[QuestionTable, ...]
    plan: AnswerPlan | None = None
    answer: Answer | None = None
    lines: tuple[str, ...] = ()


def list_questions(call: Call) -> QuestionPage:
    """Return what may be asked."""
    return QuestionPage(as_of=call.now, tables=tuple(_table(call, name) for name in _tables(call)))


def plan_answer(call: Call) -> AnswerPlan:
    """Return what an answer would cost; nothing is charged or read.

    Raises:
        WebError: 429 for too many questions in a minute; 404, 409 and 422 as `give_answer`.
    """
    _count_question(call)
    statistic, data_set = call.body.question, _data_set(call)
    with _refusals():
        return AnswerPlan.of(call.project, _ledger(call), data_set, statistic)


def give_answer(call: Call) -> Answer:
    """Charge for an answer, compute it, and return what was stored.

    Raises:
        WebError: 404 for a table that the caller may not ask about, 409 where nothing was charged (the budget does not
            cover it, the id is that of another question, or it is in progress), 422 for a question that the declaration
            does not allow, 429 for too many in a minute, 503 where it was charged and could not be computed.
    """
    _count_question(call)
    statistic, data_set, ledger = call.body.question, _data_set(call), _ledger(call)
    service = AnswerService(ledger, call.project.clock, call.require_principal().actor)
    with _refusals():
        try:
            outcome = service.answer(data_set, statistic, call.body.request_id)
        except NotAnswered as error:
            raise WebError(503, Problem("answer.not_computed", str(error))) from None
        if isinstance(outcome, Refusal):
            raise WebError(409, Problem(f"answer.{outcome.reason.value}", str(outcome)))
        return Answer.of(call.project, ledger, data_set, statistic, outcome)


def _count_question(call: Call) -> None:
    actor = call.require_principal().actor
    wait = call.application.questions.begin(actor)
    if wait is not None:
        problem = Problem("answer.too_many", f"{actor} has asked {MOST_A_MINUTE} questions in a minute, the limit")
        raise WebError(429, problem, headers={"retry-after": str(wait)})


def show_plan(call: Call) -> QuestionPage:
    """Return the page with what an answer would cost."""
    plan = plan_answer(call)
    return list_questions(call).model_copy(update={"plan": plan, "lines": _lines(plan.noise, plan.not_covered)})


def show_answer(call: Call) -> QuestionPage:
    """Return the page with an answer."""
    answer = give_answer(call)
    lines = _lines(answer.answer["noise"], answer.answer.get("not_covered", ()))
    return list_questions(call).model_copy(update={"answer": answer, "lines": lines})


def _lines(noise: Sequence[Mapping[str, Any]], not_covered: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return (*accuracy_lines(noise), *(str(item["text"]) for item in not_covered))


def _tables(call: Call) -> Sequence[str]:
    config, grant = call.project.config, call.require_principal().grant
    return [table for table in config.budgets if may_act_on(grant, config, table)]


def _table(call: Call, name: str) -> QuestionTable:
    data_set, ledger = DataSet.of(call.project, name), _ledger(call)
    unit = data_set.budget.unit
    try:
        balance = ledger.balance(name, unit)
    except NotRecorded:
        balance = None
    people = ProtectedPeople.of(call.project.config, ledger, name)
    given = () if balance is None else ledger.answers(name, unit, limit=_GIVEN)
    return QuestionTable(
        table=name,
        columns=tuple(
            DeclaredColumn(name=column, domain=dict(domain.as_json()))
            for column, domain in data_set.declared.domain.items()
        ),
        budget=None if balance is None else BudgetState.of(balance, people),
        answers=tuple(
            EarlierAnswer(
                request_id=item.request_id,
                answered_at=item.answered_at,
                cost=text_of(item.nano),
                request=dict(item.request),
                answer=dict(item.answer),
            )
            for item in given
        ),
    )


def _data_set(call: Call) -> DataSet:
    if call.body.table not in _tables(call):
        message = "no table of this name can be queried with this role"
        raise WebError(404, Problem("budget.not_declared", message, hint="GET /api/v1/ask lists them"))
    return DataSet.of(call.project, call.body.table)


def _ledger(call: Call) -> StoredLedger:
    return call.project.ledger(call.store)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the ledger and the declaration refuse into replies.

    Raises:
        WebError: 409 without a budget, or where the ledger has another one; 422 for what is not declared.
    """
    try:
        yield
    except NotRecorded as error:
        raise WebError(409, Problem("budget.not_created", str(error))) from None
    except StoreConflict as error:
        raise WebError(409, Problem("budget.conflict", str(error))) from None
    except Misfit as error:
        raise WebError(422, Problem("budget.misfit", str(error))) from None
