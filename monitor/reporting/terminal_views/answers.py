"""Print a noisy answer: the request, its error bounds, and its cost."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from monitor.answers.ask import PrivateAnswer
from monitor.answers.budget_status import ProtectedPeople, loss_word, sentence_of
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table
from remedies.differential_privacy.epsilon import text_of
from remedies.differential_privacy.ledger import Audit, BudgetBalance, Charge, GivenAnswer

_REST = "(other)"
_WITHHELD: Final = "withheld"
_LONG: Final = 10_000
"""From here on the thousands would be lost to an exponent."""


def draw_answer(
    console: Console, private_answer: PrivateAnswer, balance: BudgetBalance, people: ProtectedPeople | None = None
) -> None:
    """Print an answer, what its noise means, and where the budget stands."""
    answer: Mapping[str, Any] = private_answer.answer
    _draw_values(console, answer)
    console.print()
    _draw_accuracy(console, answer["noise"], answer.get("not_covered", ()))
    if "withheld_below" in answer:
        least = _number(answer["withheld_below"])
        console.print(Text(f"The mean of fewer than {least} rows is suppressed: the noise would dominate it."))
    word = loss_word(balance)
    cost = "nothing: already answered" if private_answer.repeated else f"{text_of(private_answer.nano)} {word}"
    console.print(Text(f"Cost {cost}; {text_of(balance.left)} of {text_of(balance.budget.total)} {word} remain."))
    text = sentence_of(balance)
    console.print(Text(f"{text[:1].upper()}{text[1:]}."))
    if people is not None:
        console.print(Text(f"{people.sentence[:1].upper()}{people.sentence[1:]}."))
    console.print(Text(f"request {visible(private_answer.request_id)}", "dim"))


def draw_plan(
    console: Console,
    charge: Charge,
    balance: BudgetBalance,
    *,
    noises: Sequence[Mapping[str, Any]],
    not_covered: Sequence[Mapping[str, Any]],
) -> None:
    """Print what a request would cost, how large its noise would be, and what else would set the answer apart."""
    word = loss_word(balance)
    console.print(Text(f"It would cost {text_of(charge.nano)} of the remaining {text_of(balance.left)} {word}."))
    if charge.nano > balance.left:
        console.print(Text("It would be rejected: the remaining budget is too small.", "yellow"))
    _draw_accuracy(console, noises, not_covered)


def draw_answers(console: Console, answers: Sequence[GivenAnswer]) -> None:
    """Print the answers that were given."""
    if not answers:
        console.print(Text("no query has been answered yet"))
        return
    rows = [
        (
            f"{item.answered_at:%Y-%m-%d %H:%M}Z",
            _asked(item.request),
            _short(item.answer),
            text_of(item.nano),
            visible(item.request_id),
        )
        for item in answers
    ]
    draw_table(console, ("when", "asked", ">answer", ">cost", "request"), rows)


def _draw_values(console: Console, answer: Mapping[str, Any]) -> None:
    if "value" in answer:
        console.print(Text(_value(answer["value"]), "bold"))
        if "count" in answer:
            console.print(Text(f"of {_number(answer['count'])} rows"))
        return
    groups = answer["groups"]
    names = list(groups[0]["by"])
    counted = "count" in groups[0]
    rows = [
        (
            *(_label(group["by"][name]) for name in names),
            _value(group["value"]),
            *([_number(group["count"])] if counted else []),
        )
        for group in groups
    ]
    draw_table(console, (*(visible(name) for name in names), ">answer", *([">of rows"] if counted else [])), rows)


def _draw_accuracy(
    console: Console, noises: Sequence[Mapping[str, Any]], not_covered: Sequence[Mapping[str, Any]]
) -> None:
    for line in accuracy_lines(noises):
        console.print(Text(line))
    if not_covered:
        console.print(Text("This is the noise only. In addition:"))
    for item in not_covered:
        console.print(Text(f"- {visible(str(item['text']))}"))


def accuracy_lines(noises: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Return sentences on how far the noise may change an answer."""
    lines = []
    for noise in noises:
        if "rank_within_95" in noise:
            rank = f"With 95% confidence, the rank error of the answer is at most {noise['rank_within_95']:,} rows"
            lines.append(f"{rank}; values are rounded to {_number(noise['step'])}." if "step" in noise else f"{rank}.")
        else:
            lines.append(
                f"With 95% confidence, the noise changes the {noise['of']} by at most {_number(noise['within_95'])}."
            )
    return lines


def _asked(request: Mapping[str, Any]) -> str:
    text = str(request["statistic"])
    if "column" in request:
        text += f" of {visible(request['column'])}"
    if request.get("by"):
        text += f" by {visible(', '.join(request['by']))}"
    if request.get("where"):
        text += f" where {visible(' and '.join(request['where']))}"
    return text


def _short(answer: Mapping[str, Any]) -> str:
    return _value(answer["value"]) if "value" in answer else f"{len(answer['groups']):,} cells"


def _label(value: Any) -> str:
    return _REST if value is None else visible(str(value))


def _value(value: float | None) -> str:
    return _WITHHELD if value is None else _number(value)


def _number(value: float) -> str:
    """Write a number with six digits, or, where those before the point are more, with all of them and two after it."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if abs(value) < _LONG else f"{value:,.2f}".removesuffix(".00")


def draw_budgets(console: Console, balances: Sequence[BudgetBalance], groups: Sequence[ProtectedPeople] = ()) -> None:
    """Print what was spent of each budget, and what that means."""
    if not balances:
        console.print(Text("no budget has been created; 'tablewatch privacy budget create TABLE' creates one"))
        return
    rows = [
        (
            visible(balance.budget.data_set),
            visible(balance.budget.unit),
            loss_word(balance),
            *(text_of(amount) for amount in (balance.budget.total, balance.spent, balance.left)),
        )
        for balance in balances
    ]
    draw_table(console, ("table", "protects each", "in", ">total", ">spent", ">left"), rows)
    console.print()
    for balance in balances:
        console.print(Text(f"{visible(balance.budget.data_set)}: {sentence_of(balance)}."))
    for group in groups:
        console.print(Text(f"{visible(group.name)}: {visible(group.sentence)}."))


def draw_audit(console: Console, audit: Audit) -> None:
    """Print what a walk over the ledger found."""
    if audit.flaws:
        for flaw in audit.flaws:
            where = "" if flaw.entry is None else f"entry {flaw.entry:,}: "
            console.print(Text.assemble(("BROKEN", "red"), f"  {where}{flaw.problem}"))
        return
    vouched = "no entries yet" if audit.anchored is None else f"the anchor confirms {audit.anchored:,}"
    console.print(Text.assemble(("WHOLE", "green"), f"  {audit.entries:,} entries, hash chain intact; {vouched}"))
