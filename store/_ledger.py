"""Store privacy budgets so that no crash, no concurrent process and no old backup allows spending twice.

    1  in one transaction: compare with the anchor; raise what is spent, if the budget covers it; append the entry
    2  commit
    3  move the anchor, outside the database, on to that entry
    4  only now say `Granted`; the data is read after that

Whatever was granted is in the database and under the anchor. A crash before 2 leaves nothing; between 2 and 3, or 3 and
4, an unused charge: the next step moves the anchor on. A database that is behind the anchor, or holds another
entry in that place, has lost charges that were used: everything is refused until a person resumes the ledger, which
charges again what the anchor knows of. The other order, the anchor first, would take every crash between for a backup.
See docs/adr/0011-the-ledger-is-anchored-after-the-commit.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from checks import Json
from remedies import Misfit
from remedies.differential_privacy.ledger import (
    Audit,
    BudgetBalance,
    Charge,
    GivenAnswer,
    Granted,
    Ledger,
    LedgerBudget,
    Refusal,
    RefusalReason,
    StoredAnswer,
    check_amount,
)
from store._errors import LedgerBroken, NotRecorded, StoreConflict
from store._failpoint import FailPoint, reached
from store._json import from_text, to_text
from store._ledger_audit import audit, carry_over, described, disagreement, resumed_already
from store._ledger_chain import Anchor, AnchorFile, ChainedEntry, EntryKind, LedgerFact
from store._ledger_repository import LedgerReader, RequestHistory, StoredBudget
from store._request_claims import RequestClaim
from store._store import Store
from store._transaction import WriteTransaction

_Result = TypeVar("_Result")


class StoredLedger:
    """The ledger of a store. Threads and processes may share it; each opens the store for itself."""

    def __init__(self, store: Store, anchor: Path) -> None:
        """Use a store, and the anchor in a file (`anchor_file`): the same one in every process."""
        self._store = store
        self._anchor = AnchorFile(anchor)

    def create(self, budget: LedgerBudget, *, actor: str, now: datetime, marks: Iterable[str] = ()) -> BudgetBalance:
        """Create a budget, once: it is never taken back, and no other one of the data set and unit can be made.

        `marks`: by what the table is known, whatever it is called; kept with the budget, so that the same table under
        another name gets no second one.

        Raises:
            StoreConflict: there is one, or another data set's is of the same table. LedgerBroken: the ledger does not
                fit its anchor.
        """
        known_by = sorted(marks)

        def make(tx: WriteTransaction) -> BudgetBalance:
            if (former := tx.ledger.budget(budget.data_set, budget.unit)) is not None:
                name = tx.ledger.present_name(former)
                if name != budget.data_set:
                    raise StoreConflict(
                        f"the budget that was created for {budget.data_set} is now that of {name}, which was renamed; "
                        "give this table another name"
                    )
            if tx.ledger.find_budget(budget.data_set, budget.unit) is not None:
                raise StoreConflict(
                    f"a budget of {budget.data_set} for each {budget.unit} already exists; spent budget is never "
                    "returned; its total can be changed, with a reason"
                )
            for other, others in tx.ledger.identified_budgets():
                if other != budget.data_set and not others.isdisjoint(known_by):
                    raise StoreConflict(
                        f"the ledger has a budget of {other}, and {budget.data_set} is the same table under another "
                        f"name; use {other}: spent budget applies to all names of a table"
                    )
            stored = tx.ledger.add_budget(budget, body=described(budget), actor=actor, now=now)
            tx.ledger.identify(stored, known_by, actor=actor, now=now)
            return BudgetBalance(budget, 0, 0)

        return self.write(make)

    def change_total(
        self, data_set: str, unit: str, total: int, *, reason: str, actor: str, now: datetime
    ) -> BudgetBalance:
        """Change the total of a budget, for a reason that is kept.

        Raises:
            Misfit: no amount or no reason. NotRecorded: no such budget. StoreConflict: more is spent already.
        """
        check_amount("the total", total)
        _check_reason(reason)

        def change(tx: WriteTransaction) -> BudgetBalance:
            stored = _budget(tx.ledger, data_set, unit)
            if not tx.ledger.set_total(stored.id, total):
                raise StoreConflict(f"more of the budget of {data_set} is already spent than that total")
            body = to_text({"reason": reason})
            tx.ledger.append(LedgerFact(EntryKind.CHANGED, body, actor, now, budget=stored.id, nano=total))
            return tx.ledger.balance(replace(stored, budget=replace(stored.budget, total=total)))

        return self.write(change)

    def balance(self, data_set: str, unit: str) -> BudgetBalance:
        """Return a budget and what was charged to it.

        Raises:
            NotRecorded: no such budget.
        """
        with self._store.reading() as tx:
            return tx.ledger.balance(_budget(tx.ledger, data_set, unit))

    def balances(self, data_set: str | None = None) -> Sequence[BudgetBalance]:
        """Return all budgets, or those of a data set, in the order in which they were created."""
        with self._store.reading() as tx:
            balances = [tx.ledger.balance(stored) for stored in tx.ledger.budgets()]
            return [balance for balance in balances if data_set in {None, balance.budget.data_set}]

    def claim(self, request_id: str, *, lock_timeout: timedelta = timedelta(0)) -> RequestClaim | None:
        """Claim a request, so that no other process charges it: from before `reserve` until its answer is stored.

        None if another process or thread holds the claim for longer than `lock_timeout`. The claim of a process that
        ends, however it ends, is released: a request whose reservation has no answer then is one that was given up.

        Raises:
            StoreUnavailable: the lock cannot be made, or the server cannot be reached.
        """
        return self._store.claim_request(request_id, lock_timeout=lock_timeout)

    def is_answered(self, request_id: str) -> bool:
        """Return whether the answer of a request is stored: to reserve it again costs nothing."""
        with self._store.reading() as tx:
            return tx.ledger.stored_answer(request_id) is not None

    def reserve(self, charge: Charge, *, actor: str, now: datetime) -> Granted | StoredAnswer | Refusal:
        """Charge a budget, before the data is read.

        Returns the stored answer of a request that has one, to every caller. A request that was granted, and whose
        answer was never stored, is charged again.

        Raises:
            NotRecorded: no such budget. Misfit: the charge is in another unit than the budget.
            LedgerBroken: the ledger does not fit its anchor; nothing was charged.
            StoreBusy, StoreUnavailable: nothing may be looked at; a charge may have been made.
        """
        return self.write(lambda tx: self._reserve(tx, charge, actor=actor, now=now))

    def store_answer(
        self, granted: Granted, answer: Mapping[str, Json], *, actor: str, now: datetime
    ) -> Mapping[str, Json]:
        """Store the answer of a charge, and give what is to be given out: what is stored.

        If an answer of the same request was stored meanwhile, that one stays and is given; this one is forgotten.

        Raises:
            NotRecorded: the charge is not in this ledger. LedgerBroken: the ledger does not fit its anchor.
            RowRefused: the answer has a value that cannot be kept.
        """
        return self.write(lambda tx: self._store_answer(tx, granted, answer, actor=actor, now=now))

    def answers(self, data_set: str, unit: str, *, limit: int = 100) -> Sequence[GivenAnswer]:
        """Return the last answers about a data set, newest first: each was given out already, or could have been.

        Raises:
            NotRecorded: no such budget.
        """
        with self._store.reading() as tx:
            return [_given(*pair) for pair in tx.ledger.answers(_budget(tx.ledger, data_set, unit).id, limit)]

    def tries(self, prefix: str, request_id: str) -> RequestHistory:
        """Return what became of a request, and of the series of requests whose ids begin with a prefix."""
        with self._store.reading() as tx:
            return tx.ledger.tries(prefix, request_id)

    def problem(self) -> str | None:
        """Describe why nothing is granted.

        How the end of the ledger differs from what its anchor vouches for, None if not.

        What was spent may then be more than the ledger says.
        """
        try:
            anchor = self._anchor.read()  # before the database, which then cannot be behind it
        except LedgerBroken as broken:
            return str(broken)
        with self._store.reading() as tx:
            return disagreement(tx.ledger, anchor)

    def verify(self) -> Audit:
        """Walk the whole chain, add up every charge, and compare with the budgets and with the anchor."""
        anchor: Anchor | LedgerBroken | None
        try:
            anchor = self._anchor.read()  # before the database, which then cannot be behind it
        except LedgerBroken as broken:
            anchor = broken
        with self._store.reading() as tx:
            return audit(tx.ledger, anchor)

    def resume(self, *, reason: str, actor: str, now: datetime) -> None:
        """Accept a ledger that disagrees with its anchor, for a recorded reason.

        What the anchor knows to be spent is charged again where the ledger has lost it, and budgets that are lost are
        made again. Where the ledger went on apart from the anchor, all that the anchor knows is charged in addition.
        What neither of them knows cannot be charged: a ledger whose anchor is lost goes on as it stands.

        Raises:
            Misfit: no reason. StoreConflict: the ledger fits its anchor. LedgerBroken: the anchor is damaged.
        """
        _check_reason(reason)
        with self._store.writing() as tx:
            anchor = self._anchor.read()
            problem = disagreement(tx.ledger, anchor)
            if problem is None:
                raise StoreConflict("the ledger matches its anchor; nothing to resume")
            if anchor is None or not resumed_already(tx.ledger, anchor):
                parts = None if anchor is None else {"number": anchor.head.number, "hash": anchor.head.hash.hex()}
                body = to_text({"reason": reason, "problem": problem, "anchor": parts})
                apart = anchor is not None and tx.ledger.head().number >= anchor.head.number
                tx.ledger.append(LedgerFact(EntryKind.RESUMED, body, actor, now))
                if anchor is not None:
                    carry_over(tx.ledger, anchor, apart=apart, actor=actor, now=now)
            mark = _mark(tx.ledger)
        self._anchor.replace(mark)

    @property
    def store(self) -> Store:
        """Return the store that it is in."""
        return self._store

    def write(self, act: Callable[[WriteTransaction], _Result]) -> _Result:
        """Run an action in one transaction, and return its result once the anchor covers what it appended.

        Raises:
            LedgerBroken: the ledger does not fit its anchor; nothing was written.
        """
        with self._store.writing() as tx:
            anchor = self._fitting_anchor(tx)
            result = act(tx)
            mark = _mark(tx.ledger)
            reached(FailPoint.BEFORE_CHARGE)
        if mark.head != anchor.head:
            reached(FailPoint.AFTER_CHARGE)
            self._advance(mark)
        return result

    def _fitting_anchor(self, tx: WriteTransaction) -> Anchor:
        anchor = self._anchor.read()
        problem = disagreement(tx.ledger, anchor)
        if problem is not None:
            raise LedgerBroken(
                f"{problem} ({self._anchor.file}); queries are blocked; verify the ledger, then resume it with a reason"
            )
        return self._anchor.begin() if anchor is None else anchor

    def _advance(self, mark: Anchor) -> None:
        if self._anchor.advance(mark):
            return
        with self._store.reading() as tx:  # another process was faster; its ledger must contain this entry
            if tx.ledger.hash_of(mark.head.number) != mark.head.hash:
                raise LedgerBroken(
                    f"entry {mark.head.number} of the ledger is lost again: the database was replaced concurrently"
                )

    def _reserve(
        self, tx: WriteTransaction, charge: Charge, *, actor: str, now: datetime
    ) -> Granted | StoredAnswer | Refusal:
        stored = _budget(tx.ledger, charge.data_set, charge.unit)
        if (charge.accounting, charge.adjacency) != (stored.budget.accounting, stored.budget.adjacency):
            raise Misfit(
                f"a cost for {charge.adjacency} neighbours in {charge.accounting} accounting cannot be charged to a "
                f"budget for {stored.budget.adjacency} neighbours in {stored.budget.accounting} accounting"
            )
        fact = LedgerFact(
            *(EntryKind.RESERVED, to_text(charge.request), actor, now),
            budget=stored.id,
            request=charge.request_id,
            nano=charge.nano,
        )
        earlier = tx.ledger.first_reservation(charge.request_id)
        left = stored.budget.total - stored.spent
        if earlier is not None:
            if (earlier.budget, earlier.nano, earlier.body) != (fact.budget, fact.nano, fact.body):
                return Refusal(RefusalReason.OTHER_CONTENT, charge, left)
            answer = tx.ledger.stored_answer(charge.request_id)
            if answer is not None:
                return StoredAnswer(from_text(answer)["answer"])
        if not tx.ledger.spend(stored.id, charge.nano):
            return Refusal(RefusalReason.SPENT, charge, left)
        entry = tx.ledger.append(fact)
        return Granted(charge, entry.number, entry.hash)

    def _store_answer(
        self, tx: WriteTransaction, granted: Granted, answer: Mapping[str, Json], *, actor: str, now: datetime
    ) -> Mapping[str, Json]:
        request = granted.charge.request_id
        reserved = tx.ledger.entry(granted.entry)
        if reserved is None or (reserved.hash, reserved.fact.request) != (granted.proof, request):
            raise NotRecorded(f"the charge of request '{request}' is not in this ledger; its answer was not stored")
        body = tx.ledger.stored_answer(request)
        if body is None:
            body = to_text({"answer": answer, "reservation": granted.entry})
            fact = LedgerFact(EntryKind.ANSWERED, body, actor, now, budget=reserved.fact.budget, request=request)
            tx.ledger.append(fact)
        stored: Mapping[str, Json] = from_text(body)["answer"]
        return stored


def _budget(ledger: LedgerReader, data_set: str, unit: str) -> StoredBudget:
    stored_budget = ledger.find_budget(data_set, unit)
    if stored_budget is None:
        raise NotRecorded(f"{data_set} has no privacy budget for each {unit}; create one")
    return stored_budget


def _given(charged: ChainedEntry, answered: ChainedEntry) -> GivenAnswer:
    return GivenAnswer(
        request_id=answered.fact.request or "",
        request=from_text(charged.fact.body),
        answer=from_text(answered.fact.body)["answer"],
        nano=charged.fact.nano or 0,
        answered_at=answered.fact.recorded_at,
        actor=charged.fact.actor,
    )


def _mark(ledger: LedgerReader) -> Anchor:
    return Anchor(ledger.head(), [(stored.budget, stored.spent) for stored in ledger.budgets()])


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise Misfit("a reason is required: it is recorded with the change")


_CONFORMS: Final[type[Ledger]] = StoredLedger
