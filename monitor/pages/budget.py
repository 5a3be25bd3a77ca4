"""Say to a person where privacy budgets stand, and whether the ledger is whole."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from monitor.frame.plain_text import visible
from monitor.frame.tables import draw_table
from monitor.private.standing import ProtectedPeople, loss_word, sentence_of
from remedies.differential_privacy._epsilon import text_of
from remedies.differential_privacy._ledger import Audit, Standing


def draw_budgets(console: Console, found: Sequence[Standing], groups: Sequence[ProtectedPeople] = ()) -> None:
    """Print what was spent of each budget, and what that means."""
    if not found:
        console.print(Text("no budget has been created; 'tablewatch budget create TABLE' creates one"))
        return
    rows = [
        (
            visible(one.budget.data_set),
            visible(one.budget.unit),
            loss_word(one),
            *(text_of(amount) for amount in (one.budget.total, one.spent, one.left)),
        )
        for one in found
    ]
    draw_table(console, ("table", "protects each", "in", ">total", ">spent", ">left"), rows)
    console.print()
    for one in found:
        console.print(Text(f"{visible(one.budget.data_set)}: {sentence_of(one)}."))
    for group in groups:
        console.print(Text(f"{visible(group.name)}: {visible(group.sentence)}."))


def draw_audit(console: Console, audit: Audit) -> None:
    """Print what a walk over the ledger found."""
    if audit.flaws:
        for flaw in audit.flaws:
            where = "" if flaw.entry is None else f"entry {flaw.entry:,}: "
            console.print(Text.assemble(("BROKEN", "red"), f"  {where}{flaw.problem}"))
        return
    vouched = "nothing has been written yet" if audit.anchored is None else f"the anchor vouches for {audit.anchored:,}"
    console.print(
        Text.assemble(("WHOLE", "green"), f"  {audit.entries:,} entries, each follows from the last; {vouched}")
    )
