"""Answer a question about a protected table: reserve, compute, store, and give what was stored.

Whether a request is accepted depends on the configuration and the ledger only. What goes wrong after the reservation
stays charged, and is reported in one fixed sentence: why a statement failed may tell of the data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from uuid import uuid4

from pydantic import Field

from checks import Json, Outcome
from monitor.answers.budget_status import BudgetState, ProtectedPeople
from monitor.answers.data_set import DataSet
from monitor.clock import Clock
from monitor.config.project import Project
from monitor.scan.results import run_guarded
from monitor.summaries.shapes import Shape
from remedies import Misfit
from remedies.differential_privacy.answers import Statistic
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Charge, Granted, Ledger, Refusal, RefusalReason, StoredAnswer
from sources import open_source

if TYPE_CHECKING:
    from store import StoredLedger

LOCK_TIMEOUT: Final = timedelta(seconds=10)
"""A request whose id is in flight waits so long for its answer."""


class NotAnswered(Exception):
    """The data could not be read after the reservation, which stays charged."""

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request '{request_id}' was charged and could not be computed; check with 'tablewatch doctor' that the "
            "table can be reached before you retry; a retry is charged again"
        )


@dataclass(frozen=True, slots=True)
class PrivateAnswer:
    """An answer that may be given out. `repeated`: it was given before, and cost nothing now. `nano`: what it cost."""

    request_id: str
    answer: Mapping[str, Json]
    nano: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class AnswerService:
    """Answers requests. `actor`: recorded with each charge. `lock_timeout`: how long it waits for another request."""

    ledger: Ledger
    clock: Clock
    actor: str
    lock_timeout: timedelta | None = None

    def answer(self, data_set: DataSet, statistic: Statistic, request_id: str | None = None) -> PrivateAnswer | Refusal:
        """Answer a request, or refuse it without reading the table.

        `request_id`: the same request under it again gets the same answer, at no cost. A request while another
        process, or thread, is computing that answer waits for it, and is refused where that takes too long.

        Raises:
            Misfit: the request is not one that the declaration allows; nothing was charged.
            NotAnswered: it was charged, but the table could not be read.
            StoreError: as of the ledger; the table was not read.
        """
        charge = charge_of(data_set, statistic, uuid4().hex if request_id is None else request_id)
        claim = self.ledger.claim(
            charge.request_id, lock_timeout=LOCK_TIMEOUT if self.lock_timeout is None else self.lock_timeout
        )
        if claim is None:
            return self._in_progress(data_set, charge)
        with claim:
            return self._answer(data_set, statistic, charge)

    def _answer(self, data_set: DataSet, statistic: Statistic, charge: Charge) -> PrivateAnswer | Refusal:
        result = self.ledger.reserve(charge, actor=self.actor, now=self.clock.now())
        match result:
            case Refusal():
                return result
            case StoredAnswer():
                return PrivateAnswer(charge.request_id, result.answer, charge.nano, repeated=True)
        answer = self._computed(data_set, statistic, result)
        stored = self.ledger.store_answer(result, answer, actor=self.actor, now=self.clock.now())
        return PrivateAnswer(charge.request_id, stored, charge.nano, repeated=False)

    def _in_progress(self, data_set: DataSet, charge: Charge) -> PrivateAnswer | Refusal:
        """Return the stored answer, where others hold the claim only to read it; else refuse."""
        if self.ledger.is_answered(charge.request_id):  # so nothing can be charged
            result = self.ledger.reserve(charge, actor=self.actor, now=self.clock.now())
            if isinstance(result, StoredAnswer):
                return PrivateAnswer(charge.request_id, result.answer, charge.nano, repeated=True)
            if isinstance(result, Refusal):
                return result
        left = self.ledger.balance(data_set.table, charge.unit).left
        return Refusal(RefusalReason.IN_PROGRESS, charge, left)

    def _computed(self, data_set: DataSet, statistic: Statistic, granted: Granted) -> Mapping[str, Json]:
        answer = run_guarded(lambda: _look(data_set, statistic), passes_on=(KeyboardInterrupt,))
        if isinstance(answer, Outcome):  # which error it was may tell of the data
            raise NotAnswered(granted.charge.request_id) from None
        return answer


class AnswerPlan(Shape):
    """`tablewatch.answer-plan/1`: the cost and the noise of a question; neither depends on the table."""

    schema_: Literal["tablewatch.answer-plan/1"] = Field("tablewatch.answer-plan/1", alias="schema")
    ok: bool = True
    table: str
    request: dict[str, Any]
    cost: str
    covered: bool
    noise: tuple[dict[str, Any], ...]
    not_covered: tuple[dict[str, Any], ...]
    budget: BudgetState

    @classmethod
    def of(cls, project: Project, ledger: "StoredLedger", data_set: DataSet, statistic: Statistic) -> Self:
        """Return the cost and the noise of a request.

        Raises:
            Misfit: the declaration does not allow it. NotRecorded: there is no budget.
        """
        charge = charge_of(data_set, statistic, "dry-run")
        balance = ledger.balance(charge.data_set, charge.unit)
        return cls(
            table=data_set.table,
            request=dict(charge.request),
            cost=text_of(charge.nano),
            covered=charge.nano <= balance.left,
            noise=tuple(map(dict, statistic.accuracy(data_set.terms))),
            not_covered=tuple(map(dict, statistic.not_covered(data_set.terms))),
            budget=BudgetState.of(balance, ProtectedPeople.of(project.config, ledger, data_set.table)),
        )


class Answer(Shape):
    """`tablewatch.answer/1`: a noisy answer, which was charged and stored."""

    schema_: Literal["tablewatch.answer/1"] = Field("tablewatch.answer/1", alias="schema")
    ok: bool = True
    table: str
    request_id: str
    repeated: bool
    cost: str
    statistic: str
    answer: dict[str, Any]
    budget: BudgetState

    @classmethod
    def of(
        cls, project: Project, ledger: "StoredLedger", data_set: DataSet, statistic: Statistic, given: PrivateAnswer
    ) -> Self:
        """Return an answer, with where its budget stands."""
        balance = ledger.balance(data_set.table, data_set.budget.unit)
        return cls(
            table=data_set.table,
            request_id=given.request_id,
            repeated=given.repeated,
            cost=text_of(given.nano),
            statistic=getattr(statistic, "statistic", ""),
            answer=dict(given.answer),
            budget=BudgetState.of(balance, ProtectedPeople.of(project.config, ledger, data_set.table)),
        )


def _look(data_set: DataSet, statistic: Statistic) -> Mapping[str, Json]:
    with open_source(data_set.source) as source:
        return data_set.question(statistic, charged=True).put_to(source)


def charge_of(data_set: DataSet, statistic: Statistic, request_id: str) -> Charge:
    """Price a request.

    Raises:
        Misfit: the declaration does not allow it.
    """
    terms = data_set.terms
    statistic.check(terms)
    _refuse_alike(data_set, statistic.reads())
    return Charge(
        data_set=data_set.table,
        unit=terms.declared.unit_name,
        request_id=request_id,
        accounting=terms.accounting,
        adjacency=terms.declared.adjacency,
        nano=statistic.nano(terms.accounting),
        request=statistic.request(terms),
    )


def _refuse_alike(data_set: DataSet, columns: Iterable[str]) -> None:
    """Check that a file cannot take one declared value for another; that follows from the configuration alone.

    Raises:
        Misfit: it can.
    """
    from remedies.differential_privacy.answers.canonical import refuse_alike

    if data_set.source.files is not None:
        refuse_alike({name: data_set.declared.column(name) for name in columns})


def check_alone(data_set: DataSet, project: Project) -> None:
    """Check that no other table with a budget is the same one under another name; only the catalogue is read.

    Raises:
        Misfit: one is: each budget would be spent as if the other were not.
    """
    for name in data_set.same_tables(project)[:1]:
        raise Misfit(f"'{data_set.table}' and '{name}' are the same table, which has one budget; remove one")


def check_columns(data_set: DataSet) -> None:
    """Check that the table has the columns that are declared of it, and that the engine can ask so.

    All of it is asked of none of the rows: only the catalogue is read. Where types are declared there, those that do
    not fit are refused; the types of a file follow from its values and are not looked at.

    Raises:
        Misfit: a column is missing, or of another type, or two of its declared values are one in a file.
        SourceError: the source or the table cannot be reached, or the engine cannot ask so.
    """
    from remedies.differential_privacy.answers import BoundedColumn
    from remedies.differential_privacy.answers.reading import Reader
    from remedies.differential_privacy.answers.rows import meant_rows

    domain = data_set.declared.domain
    _refuse_alike(data_set, domain)
    with open_source(data_set.source) as source:
        table = source.table(data_set.relation)
        none = Reader(table.limit(0), source.dialect, source.types_declared)
        rows = meant_rows(none, data_set.declared, where=(), columns=tuple(domain), key=data_set.key)
        read = {
            f"read_{place}": (
                rows.units(name, item) if isinstance(item, BoundedColumn) else rows.cell(name, item)
            ).max()
            for place, (name, item) in enumerate(domain.items())
        }
        source.fetch(source.compile(rows.table.aggregate(rows=rows.table.count(), **read)))
