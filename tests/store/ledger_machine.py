"""Whatever happens to a ledger, beside a simple model of it: what must be granted, refused, detected and counted.

The model knows the database as a list of marks, one for each entry, and the anchor as one of them: so it knows when
one is behind the other, or went another way. What it watches over is `used`: what was looked at in all, which neither
crashes nor old backups take back.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from remedies.differential_privacy.ledger import Charge, Granted, Refusal, RefusalReason, StoredAnswer
from store import (
    FailPoint,
    LedgerBroken,
    NotRecorded,
    StoreConflict,
    StoredLedger,
    _ledger,
    _ledger_chain,
    backup,
    open_store,
)
from store._files import logs_of
from store._ledger_chain import Anchor
from tests.store.ledgers import budget, charge
from tests.store.made import AT

ANN = {"actor": "ann", "now": AT}
DATA_SETS = ("a", "b")
REQUESTS = {"r1": ("a", 1), "r2": ("a", 2), "r3": ("b", 1)}
CRASHES = (FailPoint.BEFORE_CHARGE, FailPoint.AFTER_CHARGE, FailPoint.IN_ANCHOR)
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there; to wait for a disk proves nothing here


class Crash(BaseException):
    """The process died."""


@dataclass
class Database:
    """What the database knows."""

    chain: list[int] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    asked: dict[str, tuple[str, int]] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)


@dataclass
class Mark:
    """What an anchor knows: how many entries there were, the last one's mark, totals, and what was spent."""

    number: int = 0
    token: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)


@dataclass
class Stalled:
    """A process that has committed a charge, and stops before it moves the anchor on."""

    ledger: StoredLedger
    real: Anchor
    mark: Mark
    granted: Granted


class Ledgers(RuleBasedStateMachine):
    """Two processes with one ledger, crashes, backups that are put in its place, and people who resume it."""

    def __init__(self, empty_file: Path) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)
        self.file = Path(self.folder.name) / "store.db"
        self.url = f"sqlite:///{self.file}"
        shutil.copy(empty_file, self.file)
        self._open()
        self.tokens = count(1)
        self.known = Database()
        self.anchor: Mark | None = None
        self.used = dict.fromkeys(DATA_SETS, 0)
        self.pending: list[tuple[Granted, int]] = []
        self.stalled: list[Stalled] = []
        self.copies: list[Database | None] = [None, None]

    def _open(self) -> None:
        self.store = open_store(self.url)
        self.ledgers = [StoredLedger(self.store, Path(self.folder.name) / "anchor") for _ in range(2)]

    def teardown(self) -> None:
        """Close the store."""
        self.store.close()
        self.folder.cleanup()

    @property
    def is_broken(self) -> bool:
        """Check whether the anchor confirms what the database failed."""
        return self.anchor is not None and not self._holds(self.anchor.number, self.anchor.token)

    def _holds(self, number: int, token: int) -> bool:
        return number == 0 or (number <= len(self.known.chain) and self.known.chain[number - 1] == token)

    def _mark(self) -> Mark:
        last = self.known.chain[-1] if self.known.chain else 0
        return Mark(len(self.known.chain), last, dict(self.known.totals), dict(self.known.spent))

    def _append(self) -> None:
        self.known.chain.append(next(self.tokens))

    def _write(self, act: Callable[[], object], after: Database, crash: FailPoint | None) -> object:
        """Do something that leads the database to what it is `after`; gives what came of it, None if it crashed."""
        if self.is_broken:
            self._refused(LedgerBroken, act)
            return None
        first, self.anchor = self.anchor is None, self.anchor or Mark()
        moves = len(after.chain) != self.anchor.number
        try:
            with _dying_at(crash):
                found = act()
        except Crash:
            if first and crash is FailPoint.IN_ANCHOR:  # as it made the first anchor, before anything was committed
                self.anchor = None
                return None
            assert crash is FailPoint.BEFORE_CHARGE or moves
            if crash is not FailPoint.BEFORE_CHARGE:
                self.known = after
            return None
        assert crash is not FailPoint.BEFORE_CHARGE
        assert crash is None or not moves
        self.known, before = after, self.known
        self.anchor = self._mark() if moves else self.anchor
        assert moves or before.chain == after.chain
        return found

    def _refused(self, error: type[Exception] | tuple[type[Exception], ...], act: Callable[[], object]) -> None:
        """Expect an error; who finds a ledger without entries makes its anchor all the same."""
        self.anchor = self.anchor or Mark()
        try:
            act()
        except error:
            return
        raise AssertionError("nothing was refused")

    def _after(self, *, entries: int = 1) -> Database:
        after = deepcopy(self.known)
        after.chain += [next(self.tokens) for _ in range(entries)]
        return after

    @initialize(names=st.sampled_from([("a", "b"), ("a",), ()]))
    def begin(self, names: tuple[str, ...]) -> None:
        """Have budgets to spend, most of the time."""
        for name in names:
            self._create(name, 5, None)

    @rule(name=st.sampled_from(DATA_SETS), total=st.integers(3, 9), crash=st.none() | st.sampled_from(CRASHES))
    def create(self, name: str, total: int, crash: FailPoint | None) -> None:
        """Create a budget, once."""
        self._create(name, total, crash)

    def _create(self, name: str, total: int, crash: FailPoint | None) -> None:
        if name in self.known.totals and not self.is_broken:
            self._refused(StoreConflict, lambda: self.ledgers[0].create(budget(total, name), **ANN))
            return
        after = self._after()
        after.totals[name], after.spent[name] = total, 0
        self._write(lambda: self.ledgers[0].create(budget(total, name), **ANN), after, crash)

    @rule(name=st.sampled_from(DATA_SETS), total=st.integers(1, 12))
    def change(self, name: str, total: int) -> None:
        """Change a total, but not below what is spent."""

        def act() -> object:
            return self.ledgers[0].change_total(name, "person", total, reason="so", **ANN)

        if not self.is_broken and (name not in self.known.totals or total < self.known.spent[name]):
            self._refused((NotRecorded, StoreConflict), act)
            return
        after = self._after()
        after.totals[name] = total
        self._write(act, after, None)

    @rule(
        request=st.sampled_from(sorted(REQUESTS)),
        odd=st.sampled_from([None, None, None, None, "a", "b", 1, 2]),
        who=st.integers(0, 1),
        crash=st.sampled_from([None, None, None, None, None, *CRASHES]),
        stalls=st.sampled_from([False, False, False, True]),
    )
    def reserve(self, request: str, odd: str | int | None, who: int, crash: FailPoint | None, stalls: bool) -> None:
        """Ask for a charge; now and then for another one under the same id."""
        name, nano = REQUESTS[request]
        name, nano = (odd if isinstance(odd, str) else name), (odd if isinstance(odd, int) else nano)
        asked, ledger = charge(nano, request, name), self.ledgers[who]
        if name not in self.known.totals and not self.is_broken:
            self._refused(NotRecorded, lambda: ledger.reserve(asked, **ANN))
            return
        wanted = None if self.is_broken else self._wanted(asked)
        after = self._after(entries=int(wanted == "granted"))
        if wanted == "granted":
            after.spent[name] += nano
            after.asked.setdefault(request, (name, nano))
        if stalls and wanted == "granted" and self.anchor is not None:
            self._stall(ledger, asked, after)
            return
        found = self._write(lambda: ledger.reserve(asked, **ANN), after, crash)
        if found is not None:
            self._compare(found, asked, wanted)

    def _wanted(self, asked: Charge) -> object:
        """Return what must come of a charge."""
        content = asked.data_set, asked.nano
        if self.known.asked.get(asked.request_id, content) != content:
            return RefusalReason.OTHER_CONTENT
        if asked.request_id in self.known.answers:
            return self.known.answers[asked.request_id]
        left = self.known.totals[asked.data_set] - self.known.spent[asked.data_set]
        return "granted" if asked.nano <= left else RefusalReason.SPENT

    def _compare(self, found: object, asked: Charge, wanted: object) -> None:
        match found:
            case Granted():
                assert wanted == "granted"
                self._use(found, self.known.chain[-1])
            case StoredAnswer():
                assert found.answer == {"count": wanted}
            case Refusal():
                assert found.reason == wanted
                left = self.known.totals[asked.data_set] - self.known.spent[asked.data_set]
                assert found.left == left

    def _use(self, granted: Granted, token: int) -> None:
        """Look at the data."""
        self.used[granted.charge.data_set] += granted.charge.nano
        self.pending.append((granted, token))

    def _stall(self, ledger: StoredLedger, asked: Charge, after: Database) -> None:
        """Commit a charge, and do not come to move the anchor on."""
        marks: list[Anchor] = []
        ledger._anchor.advance = lambda mark: marks.append(mark) or True  # type: ignore[method-assign] - of this one
        try:
            found = ledger.reserve(asked, **ANN)
        finally:
            del ledger._anchor.advance
        assert isinstance(found, Granted)
        self.known = after
        self.stalled += [Stalled(ledger, mark, self._mark(), found) for mark in marks]

    @precondition(lambda self: self.stalled)
    @rule(data=st.data())
    def wake(self, data: st.DataObject) -> None:
        """Let a stopped process go on: its charge is granted if it is there, or the anchor knows."""
        one = self.stalled.pop(data.draw(st.integers(0, len(self.stalled) - 1)))
        assert self.anchor is not None
        if self.anchor.number < one.mark.number:
            one.ledger._advance(one.real)
            self.anchor = one.mark
        elif self._is_lost(one.mark, self.anchor):
            self._refused(LedgerBroken, lambda: one.ledger._advance(one.real))
            return
        else:
            one.ledger._advance(one.real)
        self._use(one.granted, one.mark.token)

    def _is_lost(self, mark: Mark, anchor: Mark) -> bool:
        if anchor.number == mark.number:
            return anchor.token != mark.token
        return not self._holds(mark.number, mark.token)

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), value=st.integers(0, 10**6), crash=st.sampled_from([None, None, *CRASHES]))
    def answer(self, data: st.DataObject, value: int, crash: FailPoint | None) -> None:
        """Store an answer: the first one of a request stays."""
        granted, token = self.pending[data.draw(st.integers(0, len(self.pending) - 1))]
        request = granted.charge.request_id

        def act() -> object:
            return self.ledgers[0].store_answer(granted, {"count": value}, **ANN)

        if not self.is_broken and not self._holds(granted.entry, token):
            self._refused(NotRecorded, act)
            return
        after = self._after(entries=int(request not in self.known.answers))
        after.answers.setdefault(request, value)
        found = self._write(act, after, crash)
        if found is not None:
            assert found == {"count": self.known.answers[request]}

    @rule(number=st.sampled_from([0, 0, 0, 1]))
    def copy(self, number: int) -> None:
        """Make a backup."""
        backup(self.url, self._copy(number), force=True)
        self.copies[number] = deepcopy(self.known)

    @rule(number=st.sampled_from([0, 0, 0, 1]))
    def restore(self, number: int) -> None:
        """Put a backup in the place of the database."""
        if self.copies[number] is None:
            return
        self.store.close()
        for log in logs_of(self.file):
            log.unlink(missing_ok=True)
        shutil.copy(self._copy(number), self.file)
        self._open()
        for one in self.stalled:
            one.ledger = self.ledgers[0]
        self.known = deepcopy(self.copies[number])

    def _copy(self, number: int) -> Path:
        return Path(self.folder.name) / f"copy{number}.db"

    @rule()
    def resume(self) -> None:
        """Go on with a ledger that does not fit its anchor: nothing that was used is forgotten."""
        if not self.is_broken:
            if self.anchor is not None:
                self._refused(StoreConflict, lambda: self.ledgers[0].resume(reason="so", **ANN))
            return
        known, anchor = self.known, self.anchor
        assert anchor is not None
        apart = len(known.chain) >= anchor.number
        for name, spent in anchor.spent.items():
            here = known.spent.setdefault(name, 0)
            if name not in known.totals or anchor.totals[name] >= here:
                known.totals[name] = anchor.totals[name]
            known.spent[name] = min(known.totals[name], here + spent if apart else max(here, spent))
        self.ledgers[0].resume(reason="so", **ANN)
        for _ in range(self.ledgers[0].verify().entries - len(known.chain)):
            self._append()
        self.anchor = self._mark()
        assert all(used <= known.spent.get(name, 0) for name, used in self.used.items()), "an under-count"

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """Every look is charged, in the database or as the anchor knows; the audit sees what is so."""
        audit = self.ledgers[1].verify()
        balances = self.ledgers[1].balances()
        assert {balance.budget.data_set: balance.spent for balance in balances} == self.known.spent
        assert {balance.budget.data_set: balance.budget.total for balance in balances} == self.known.totals
        assert bool(audit.flaws) == self.is_broken, audit.flaws
        assert audit.entries == len(self.known.chain)
        assert audit.anchored == (None if self.anchor is None else self.anchor.number)
        for name, used in self.used.items():
            vouched = 0 if self.anchor is None else self.anchor.spent.get(name, 0)
            assert used <= vouched, "data was read before the anchor advanced"
            assert self.is_broken or used <= self.known.spent.get(name, 0), "an under-count"


@contextmanager
def _dying_at(point: FailPoint | None) -> Iterator[None]:
    """Let the process die at a point between two steps."""

    def reached(here: FailPoint) -> None:
        if here is point:
            raise Crash

    modules = (_ledger, _ledger_chain)
    before = [module.reached for module in modules]
    for module in modules:
        module.reached = reached
    try:
        yield
    finally:
        for module, one in zip(modules, before, strict=True):
            module.reached = one
