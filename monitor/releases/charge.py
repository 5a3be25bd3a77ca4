"""What an export costs in epsilon, charged to the table's budget before the table is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from checks import Json
from monitor.answers.ask import AnswerService, NotAnswered
from monitor.answers.data_set import DataSet
from monitor.releases.columns import ReleaseColumns
from monitor.releases.decisions import ReleaseDecisions
from monitor.releases.digests import SameTable, names_of
from monitor.releases.plan import RemedyKind, TreatmentPlan
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies import Misfit, Refused
from remedies.differential_privacy import Adjacency
from remedies.differential_privacy.answers import Terms
from remedies.differential_privacy.ledger import Charge, Refusal
from store import ReadTransaction

if TYPE_CHECKING:
    import pandas as pd

    from remedies.differential_privacy.answers import Statistic
    from remedies.randomise import Randomise
    from remedies.synthesise import Synthesise

_REST = "(other)"


@dataclass(frozen=True, slots=True)
class EarlierCharge:
    """An answer that was charged. `epsilon`: what it cost, as it was said."""

    request_id: str
    answer: Mapping[str, Any]
    epsilon: str


def check_epsilon(
    decisions: ReleaseDecisions, plan: TreatmentPlan, strict: ReleaseColumns, *, rows: int
) -> ReleaseColumns:
    """See, before anything is charged, that a randomised table can keep to the limits; return the strictest of these.

    Where no budget adds up what exports cost a person, those of the release do.

    Args:
        decisions: on the release.
        plan: how it is randomised.
        strict: the release with the strictest limits on groups of all releases and exports of the table.
        rows: of the table.

    Raises:
        Stop: it cannot.
    """
    from remedies.randomise import keep_to_pk

    case, remedy = decisions.case, _remedy_of(plan)
    with decisions.store.reading() as tx:
        limit = _strictest(case, tx)
    unchanged = [name for name in plan.columns if name not in remedy.columns]
    if limit is None:
        raise _not_proved("the release has no limit on epsilon, which is required for a randomised table")
    if unchanged:
        raise _not_proved(
            f"the release has a limit on epsilon, and no epsilon is guaranteed: not randomised: {', '.join(unchanged)}"
        )
    if remedy.loss is not None and remedy.loss > limit:
        raise _not_proved(f"'{plan.name}' costs epsilon {remedy.loss:f}; the release allows {limit:f}")
    limits = strict.release.limits
    try:
        keep_to_pk(remedy.loss, rows, limits.least_k)
    except Refused as error:
        raise _not_proved(str(error)) from None
    _check_budgeted(case, plan)
    with decisions.store.reading() as tx:
        check_spent(case, plan, tx)
    update = {"limits": limits.model_copy(update={"epsilon": limit})}
    return replace(strict, release=strict.release.model_copy(update=update))


def check_spent(case: ReleaseColumns, plan: TreatmentPlan, tx: ReadTransaction) -> None:
    """Check that the exports of a table do not cost more than this release allows, where there is no budget.

    Raises:
        Stop: with this one, they do.
    """
    remedy, limit = _remedy_of(plan), _strictest(case, tx)
    if limit is None or case.release.table in case.project.config.budgets or case.release.re_release == "warn":
        return
    spent = _spent(case, tx)
    if spent and (remedy.loss is None or spent + remedy.loss > limit):
        raise _not_proved(
            f"earlier exports of the table cost epsilon {spent:f} already, and the total limit is {limit:f}"
        )


def _check_budgeted(case: ReleaseColumns, plan: TreatmentPlan) -> None:
    """Check that no budget of the table is declared under another name of it: nothing would be charged to that.

    Raises:
        Stop: one is.
    """
    budgets, table = case.project.config.budgets, case.release.table
    others = [name for name in names_of(case.project, table)[1:] if name in budgets]
    if others and table not in budgets:
        raise _not_proved(
            f"'{plan.name}' costs epsilon, and the budget of '{table}' is declared of '{others[0]}', which is the same "
            f"table: make it a release of '{others[0]}'"
        )


def _strictest(case: ReleaseColumns, tx: ReadTransaction) -> Decimal | None:
    """Return the least epsilon that a release or an earlier export of the table was limited to; None without one.

    A release that only warns of earlier exports has its own limit.
    """
    own = case.release.limits.epsilon
    if own is None or case.release.re_release == "warn":
        return own
    table = SameTable.of(case, tx)
    limits: list[Any] = [event.body.get("limits") for event in table.exports(tx)]
    sisters = [release.limits.epsilon for release in table.sisters(case) if release.limits.epsilon is not None]
    earlier = [item["epsilon"] for item in limits if isinstance(item, Mapping) and item.get("epsilon") is not None]
    return min([own, *sisters, *(Decimal(str(item)) for item in earlier)])


def _spent(case: ReleaseColumns, tx: ReadTransaction) -> Decimal:
    """Add up what the exports of a table, by whichever release, have cost a person."""
    events = SameTable.of(case, tx).exports(tx)
    return sum((Decimal(str(event.body["epsilon"])) for event in events if event.body.get("epsilon")), Decimal(0))


def _not_proved(message: str) -> Stop:
    return Stop(ExitCode.FAILED, Problem("release.not_proved", message, hint="nothing was exported or charged"))


def _remedy_of(plan: TreatmentPlan) -> "Randomise | Synthesise":
    """Return the remedy of a table that a mechanism makes."""
    return cast("Randomise | Synthesise", plan.remedy)


def charge_private_table(decisions: ReleaseDecisions, plan: TreatmentPlan, *, actor: str) -> str | None:
    """Charge a randomised or synthetic table, once, to the table's budget where one is declared.

    Returns the request id of the charge; None without a budget.

    Raises:
        Stop: the budget does not cover it, or what it costs cannot be said beforehand.
    """
    case = decisions.case
    if case.release.table not in case.project.config.budgets:
        return None
    data_set = DataSet.of(case.project, case.release.table)
    remedy, terms = _remedy_of(plan), data_set.terms
    price = remedy.cost(terms.accounting)
    if price is None:
        message = f"'{plan.name}' has no fixed epsilon, so it cannot be charged; set 'epsilon'"
        raise Stop(ExitCode.USAGE, Problem("release.no_epsilon", message))
    _check_unit(case, plan, terms)
    request: dict[str, Json] = {"release": case.name, "remedy": plan.name, "columns": list(remedy.columns)}
    if plan.kind is RemedyKind.SYNTHETIC:
        request["parts"] = dict(cast("Synthesise", remedy).parts())
    charge = Charge(
        data_set=data_set.table,
        unit=terms.declared.unit_name,
        request_id=uuid4().hex,
        accounting=terms.accounting,
        adjacency=terms.declared.adjacency,
        nano=price,
        request=request,
    )
    ledger = case.project.ledger(decisions.store)
    result = ledger.reserve(charge, actor=actor, now=case.project.clock.now())
    if isinstance(result, Refusal):
        raise Stop(ExitCode.FAILED, Problem(f"release.{result.reason.value}", str(result)))
    return charge.request_id


def _check_unit(case: ReleaseColumns, plan: TreatmentPlan, terms: Terms) -> None:
    """Check that a budget and a randomised or synthetic table protect the same person, between the same neighbours.

    Raises:
        Stop: they do not.
    """
    remedy, declared = _remedy_of(plan), terms.declared
    adjacency = getattr(remedy, "adjacency", Adjacency.SUBSTITUTE)
    if declared.adjacency is not adjacency:
        is_random = plan.kind is RemedyKind.RANDOMISED
        reason = "reveals the number of rows, so its epsilon" if is_random else "has an epsilon that"
        message = (
            f"'{plan.name}' {reason} applies to '{adjacency}' neighbours, and the "
            f"budget is declared for ('{declared.adjacency}')"
        )
        hint = f"declare the budget as '{adjacency}'"
        raise Stop(ExitCode.USAGE, Problem("release.other_unit", message, hint=hint))
    if remedy.rows_per_unit < declared.rows_per_unit:
        message = (
            f"a person has up to {declared.rows_per_unit:,} rows by the budget, and '{plan.name}' assumes "
            f"{remedy.rows_per_unit:,}"
        )
        hint = f"rows_per_unit: {declared.rows_per_unit}"
        raise Stop(ExitCode.USAGE, Problem("release.other_unit", message, hint=hint))
    unit = getattr(remedy, "unit", case.release.person_key)
    if declared.unit and declared.unit != (unit,):
        message = (
            f"the budget limits the rows per {declared.unit_name}; a table is published with all rows, so the "
            "release must name that column as its person key"
        )
        hint = (
            f"person_key: {declared.unit[0]}"
            if len(declared.unit) == 1
            else "declare the budget per row, or for one column"
        )
        raise Stop(ExitCode.USAGE, Problem("release.other_unit", message, hint=hint))


def noisy_answer_table(
    decisions: ReleaseDecisions, plan: TreatmentPlan, *, actor: str
) -> "tuple[pd.DataFrame, EarlierCharge]":
    """Answer a statistic, and return its cells as a table.

    Raises:
        Stop: the release does not allow so much epsilon, the budget does not cover it, or the table cannot be read.
    """
    import pandas as pd

    case, statistic = decisions.case, cast("Statistic", plan.statistic)
    with decisions.store.reading() as tx:
        _check_limit(plan.name, statistic, limit=_strictest(case, tx))
    data_set = DataSet.of(case.project, case.release.table)
    service = AnswerService(case.project.ledger(decisions.store), case.project.clock, actor)
    try:
        result = service.answer(data_set, statistic)
    except NotAnswered as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("answer.not_computed", str(error))) from None
    except Misfit as error:
        raise Stop(ExitCode.USAGE, Problem("release.misfit", str(error))) from None
    if isinstance(result, Refusal):
        raise Stop(ExitCode.FAILED, Problem(f"release.{result.reason.value}", str(result)))
    answer: Any = result.answer
    groups = answer.get("groups", [{**answer, "by": {}}])
    cells = [{**{name: _label(item) for name, item in group["by"].items()}, **_figures(group)} for group in groups]
    price = statistic.epsilon if statistic.epsilon is not None else statistic.rho
    return pd.DataFrame(cells), EarlierCharge(result.request_id, answer, f"{price:f}")


def _figures(group: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is answered of a cell: its value, None where it is withheld, and with a mean its noisy count."""
    count = "noisy count" if "count" in group["by"] else "count"
    return {"value": group["value"], **({count: group["count"]} if "count" in group else {})}


def _check_limit(name: str, statistic: "Statistic", *, limit: Decimal | None) -> None:
    if limit is None or statistic.epsilon is None or statistic.epsilon > limit:
        raise _not_proved(f"'{name}' has no epsilon, or more than the release allows; its limit is {limit}")


def _label(value: Json) -> str:
    return _REST if value is None else str(value)
