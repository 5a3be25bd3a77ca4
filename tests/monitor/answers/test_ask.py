"""A request is charged before its table is looked at, and a refused one never looks."""

import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from unittest import mock

import pytest

from monitor.answers import ask
from monitor.answers.ask import AnswerService, NotAnswered, PrivateAnswer, check_columns
from monitor.clock import SimulatedClock
from monitor.config import Budget
from remedies import Misfit
from remedies.differential_privacy.ledger import Refusal, RefusalReason
from sources import QueryFailed, SourceError, open_source
from store import NotRecorded, Store, StoredLedger
from tests.monitor.answers.asked import Counter, csv_data_set, csv_table, data_set, statistic, table
from tests.store.made import AT

TENTH = 100_000_000


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count how often a source is opened."""
    seen: list[str] = []

    def opened(spec: Any) -> Any:
        seen.append(spec.name)
        return open_source(spec)

    monkeypatch.setattr(ask, "open_source", opened)
    return seen


def test_an_answer_is_charged_and_given_again_for_nothing(store: Store, tmp_path: Path, looks: list[str]) -> None:
    """The same request under the same id gets the same answer; the table is looked at once, and it is charged once."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    first = at.teller.answer(people, statistic(), "r1")
    again = at.teller.answer(people, statistic(), "r1")
    assert isinstance(first, PrivateAnswer)
    assert isinstance(again, PrivateAnswer)
    assert (first.answer, first.repeated, again.repeated) == (again.answer, False, True)
    assert (at.spent(people), looks) == (TENTH, ["s"])
    assert at.ledger.answers("people", "row")[0].answer == first.answer


def test_without_an_id_every_request_is_a_new_one(store: Store, tmp_path: Path) -> None:
    """The same request twice without an id is charged twice."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    result = [at.teller.answer(people, statistic()) for _ in range(2)]
    assert len({one.request_id for one in result if isinstance(one, PrivateAnswer)}) == 2
    assert at.spent(people) == 2 * TENTH


OTHERS: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "too dear": lambda folder: (data_set(folder), statistic(epsilon="1.000000001")),
    "another question": lambda folder: (data_set(folder), statistic(where=["sex = F"])),
    "another price": lambda folder: (data_set(folder), statistic(epsilon="0.2")),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_refused_request_never_looks(store: Store, tmp_path: Path, case: str, looks: list[str]) -> None:
    """What the budget does not cover, or an id that was used for something else, is refused without a look."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    at.ledger.reserve(ask.charge_of(people, statistic(), "r1"), actor="ann", now=AT)
    spent = at.spent(people)
    refused = at.teller.answer(*OTHERS[case](tmp_path), "r1" if case != "too dear" else "r2")
    assert isinstance(refused, Refusal)
    assert refused.reason is (RefusalReason.SPENT if case == "too dear" else RefusalReason.OTHER_CONTENT)
    assert (at.spent(people), looks) == (spent, [])


@pytest.mark.parametrize(
    "words",
    [
        {"statistic": "histogram", "by": ["nothing"]},
        {"statistic": "sum", "column": "sex"},
        {"statistic": "mean", "column": "amount", "epsilon": "0.000000001", "where": ["sex = F"]},
        {"where": ["sex = X"]},
        {"where": ["amount = many"]},
        {"rho": "0.1"},
        {"statistic": "quantile", "column": "amount", "step": "0.3"},
        {"statistic": "histogram", "by": ["amount"]},
    ],
)
def test_what_the_declaration_does_not_allow_never_looks(
    store: Store, tmp_path: Path, words: dict[str, Any], looks: list[str]
) -> None:
    """A request that is not allowed is refused by the declaration alone, and costs nothing."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    with pytest.raises(Misfit):
        at.teller.answer(people, statistic(**words))
    assert (at.spent(people), looks) == (0, [])


def test_without_a_budget_nobody_looks(store: Store, tmp_path: Path, looks: list[str]) -> None:
    """A table whose budget was never created is not looked at."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path)
    with pytest.raises(NotRecorded):
        at.teller.answer(people, statistic())
    assert looks == []


@pytest.mark.parametrize(
    "changed",
    [
        {"domain": {"sex": ["F", "M", "X"]}},
        {"domain": {"sex": {"values": ["F", "M"], "other": "M"}}},
        {"unit": "who", "rows_per_unit": 2},
    ],
)
def test_an_id_is_for_one_declaration(store: Store, tmp_path: Path, changed: dict[str, Any]) -> None:
    """When the declaration has changed in between, the same words ask something else: the id is refused for it."""
    people, other = data_set(tmp_path), data_set(tmp_path, **changed)
    at = Counter.of(store, tmp_path, people, *([other] if "unit" in changed else []))
    by_sex = statistic(statistic="histogram", by=["sex"])
    assert isinstance(at.teller.answer(people, by_sex, "r1"), PrivateAnswer)
    refused = at.teller.answer(other, by_sex, "r1")
    assert isinstance(refused, Refusal)
    assert refused.reason is RefusalReason.OTHER_CONTENT


def test_a_declaration_for_other_neighbours_is_refused(store: Store, tmp_path: Path, looks: list[str]) -> None:
    """A budget is for one kind of neighbours and one unit of account; a request under another is not charged to it."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    with pytest.raises(Misfit, match="neighbours"):
        at.teller.answer(data_set(tmp_path, adjacency="add-remove"), statistic())
    with pytest.raises(Misfit, match="accounting"):
        at.teller.answer(data_set(tmp_path, accounting="zcdp", delta="1e-6"), statistic(rho="0.1"))
    assert (at.spent(people), looks) == (0, [])


def _gone(folder: Path) -> None:
    (folder / "people.db").unlink()


def _other_columns(folder: Path) -> None:
    table(folder, ())
    with closing(sqlite3.connect(folder / "people.db")) as connection, connection:
        connection.execute("ALTER TABLE people RENAME COLUMN sex TO gender")


@pytest.mark.parametrize("break_it", [_gone, _other_columns])
def test_what_goes_wrong_after_the_charge_stays_charged(
    store: Store, tmp_path: Path, break_it: Callable[[Path], None]
) -> None:
    """Whatever the source's error, it is reported in one sentence, with nothing of it; the charge stays."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    break_it(tmp_path)
    with pytest.raises(NotAnswered) as caught:
        at.teller.answer(people, statistic(where=["sex = F"]), "r1")
    assert str(caught.value) == str(NotAnswered("r1"))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert at.spent(people) == TENTH
    table(tmp_path)
    assert isinstance(at.teller.answer(people, statistic(where=["sex = F"]), "r1"), PrivateAnswer)
    assert at.spent(people) == 2 * TENTH


def test_ctrl_c_while_the_table_is_looked_at_stays_charged(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted request has no answer, and is charged."""

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    monkeypatch.setattr(ask, "open_source", interrupted)
    with pytest.raises(KeyboardInterrupt):
        at.teller.answer(people, statistic(), "r1")
    assert (at.spent(people), at.ledger.answers("people", "row")) == (TENTH, [])


class Watched(StoredLedger):
    """A ledger that writes down when it is asked."""

    def __init__(self, store: Store, anchor: Path, seen: list[str]) -> None:
        super().__init__(store, anchor)
        self.seen = seen

    def reserve(self, *words: Any, **more: Any) -> Any:
        """Reserve."""
        found = super().reserve(*words, **more)
        self.seen.append("reserved")
        return found

    def store_answer(self, *words: Any, **more: Any) -> Any:
        """Store."""
        found = super().store_answer(*words, **more)
        self.seen.append("stored")
        return found


def test_the_order_is_reserve_look_store_return(store: Store, tmp_path: Path, looks: list[str]) -> None:
    """The table is opened after the charge was made, and an answer is given when it is stored."""
    people = data_set(tmp_path)
    Counter.of(store, tmp_path, people)
    ledger = Watched(store, tmp_path / "anchor", looks)
    AnswerService(ledger, SimulatedClock(AT), "ann").answer(people, statistic())
    assert looks == ["reserved", "s", "stored"]


def test_nine_pays_for_a_hundred_answers_at_nine_hundredths(store: Store, tmp_path: Path, looks: list[str]) -> None:
    """A budget of 9 grants exactly 100 requests of 0.09; the next is refused without a look."""
    people = data_set(tmp_path, total="9")
    at = Counter.of(store, tmp_path, people)
    charges = (ask.charge_of(people, statistic(epsilon="0.09"), f"r{number}") for number in range(99))
    for charge in charges:
        at.ledger.reserve(charge, actor="ann", now=AT)
    assert isinstance(at.teller.answer(people, statistic(epsilon="0.09")), PrivateAnswer)
    assert isinstance(at.teller.answer(people, statistic(epsilon="0.000000001")), Refusal)
    assert (at.spent(people), looks) == (9 * 10**9, ["s"])


def test_zcdp_answers_are_charged_in_rho(store: Store, tmp_path: Path) -> None:
    """Of a budget in rho every statistic is answered with discrete Gaussian noise, or chosen, and charged in rho."""
    people = data_set(tmp_path, accounting="zcdp", delta="1e-6", total="0.5")
    at = Counter.of(store, tmp_path, people)
    asked = (
        {},
        {"statistic": "histogram", "by": ["sex", "age"]},
        {"statistic": "sum", "column": "amount", "by": ["sex"]},
        {"statistic": "mean", "column": "age", "where": ["sex = F"]},
        {"statistic": "quantile", "column": "amount", "share": "0.25"},
    )
    for words in asked:
        result = at.teller.answer(people, statistic(rho="0.1", **words))
        assert isinstance(result, PrivateAnswer)
        kinds = {noise["distribution"] for noise in result.answer["noise"]}  # type: ignore[union-attr, index]
        assert kinds == ({"exponential-mechanism"} if words.get("statistic") == "quantile" else {"discrete-gaussian"})
    assert at.spent(people) == 500_000_000
    assert isinstance(at.teller.answer(people, statistic(rho="0.000000001")), Refusal)


def test_those_who_ask_the_same_at_once_get_one_answer_that_is_charged_once(store: Store, tmp_path: Path) -> None:
    """A request under an id whose answer is being computed waits for it."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    together, result = Barrier(4), []

    def asks() -> None:
        together.wait()
        result.append(at.teller.answer(people, statistic(), "r1"))

    all_of_them = [Thread(target=asks) for _ in range(4)]
    for one in all_of_them:
        one.start()
    for one in all_of_them:
        one.join()
    answers = [one.answer for one in result if isinstance(one, PrivateAnswer)]
    assert answers == answers[:1] * 4
    assert at.spent(people) == TENTH


def test_a_request_that_is_in_flight_is_refused_without_a_charge(store: Store, tmp_path: Path) -> None:
    """A request that waits too long is refused; another id, and the id when it is given up, is answered."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    hasty = replace(at.teller, lock_timeout=timedelta(0))
    claim = at.ledger.claim("r1")
    assert claim is not None
    with claim:
        at.ledger.reserve(ask.charge_of(people, statistic(), "r1"), actor="ann", now=AT)
        refused = hasty.answer(people, statistic(), "r1")
        assert isinstance(refused, Refusal)
        assert refused.reason is RefusalReason.IN_PROGRESS
        assert "in progress" in str(refused)
        assert isinstance(hasty.answer(people, statistic(), "r2"), PrivateAnswer)
        assert at.spent(people) == 2 * TENTH
    result = hasty.answer(people, statistic(), "r1")
    assert isinstance(result, PrivateAnswer)
    with at.ledger.claim("r1"):  # by a process that only reads the answer
        again = hasty.answer(people, statistic(), "r1")
        other = hasty.answer(people, statistic(epsilon="0.2"), "r1")
    assert (isinstance(again, PrivateAnswer), again.answer) == (True, result.answer)
    assert other.reason is RefusalReason.OTHER_CONTENT
    assert at.spent(people) == 3 * TENTH


def test_a_question_that_fails_gives_its_request_up(store: Store, tmp_path: Path) -> None:
    """A failed computation is no request in flight: a retry is charged, as after a crash."""
    people = data_set(tmp_path)
    at = Counter.of(store, tmp_path, people)
    with mock.patch.object(ask, "_look", side_effect=OSError), pytest.raises(NotAnswered):
        at.teller.answer(people, statistic(), "r1")
    assert isinstance(replace(at.teller, lock_timeout=timedelta(0)).answer(people, statistic(), "r1"), PrivateAnswer)
    assert at.spent(people) == 2 * TENTH
    assert list(tmp_path.glob("*.request-*")) == []


STRANGE: tuple[tuple[Any, ...], ...] = (
    ("ann", "F", 33, 12.0),
    ("ann", "X", 33, 12.0),
    ("ann", None, None, None),
    (None, 'a"b,;\n', -1, 1e300),
    ("ann", 7, "no number", float("inf")),
    ("ann", "F", b"\xff", float("-inf")),
    ("2026-01-01", "true", 2**62, 5e-324),
)
ASKED = (
    {},
    {"where": ["sex != F", "age >= 18"]},
    {"statistic": "histogram", "by": ["sex", "age"]},
    {"statistic": "sum", "column": "amount", "by": ["sex"]},
    {"statistic": "mean", "column": "amount"},
    {"statistic": "quantile", "column": "age"},
)


def shape(said: Any) -> Any:
    """Return what can be seen of an answer without its numbers."""
    if isinstance(said, dict):
        noisy = {"value", "count"}
        return {name: "a number" if name in noisy else shape(value) for name, value in said.items()}
    return [shape(one) for one in said] if isinstance(said, list) else said


@pytest.mark.parametrize("unit", ["row", "who"])
@pytest.mark.parametrize("kind", ["sqlite", "csv"])
def test_neighbours_cannot_be_told_apart_but_by_the_numbers(store: Store, tmp_path: Path, unit: str, kind: str) -> None:
    """Whatever one row holds: the same cells, labels, noise and keys are answered, and nothing is warned of."""
    written, people = (table, data_set) if kind == "sqlite" else (csv_table, csv_data_set)
    protected = people(tmp_path, unit=unit, total="100")
    at = Counter.of(store, tmp_path, protected)
    seen: dict[str, Any] = {}
    for row in STRANGE:
        written(tmp_path, [("bob", "M", 71, 120.0), row, ("eve", "F", None, None)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for words in ASKED:
                result = at.teller.answer(protected, statistic(**words))
                assert isinstance(result, PrivateAnswer)
                assert seen.setdefault(str(words), shape(result.answer)) == shape(result.answer)


def test_the_first_row_of_a_column_without_a_type_decides_nothing(store: Store, tmp_path: Path) -> None:
    """SQLite's columns need no type; what the first row holds there does not change whether the others can be read."""
    people = data_set(tmp_path, total="100")
    at = Counter.of(store, tmp_path, people)
    for first in (1, "a text", 1.5, None, b"bytes"):
        with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
            connection.execute("DROP TABLE people")
            connection.execute("CREATE TABLE people (who, sex, age, amount)")
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [(first,) * 4, ("ann", "F", 33, 12.0)])
        check_columns(people)
        for words in ASKED:
            assert isinstance(at.teller.answer(people, statistic(**words)), PrivateAnswer)


def test_columns_are_checked_without_a_look_at_a_row(tmp_path: Path) -> None:
    """A budget is only created where its columns are there and can be read as declared: no row is needed for that."""
    table(tmp_path, ())
    check_columns(data_set(tmp_path))
    check_columns(data_set(tmp_path, unit="who", domain={}))
    for wrong in ({"sex": {"low": 0, "high": 1}}, {"gender": ["F"]}, {"who": {"range": [0, 1]}}):
        with pytest.raises(Misfit):
            check_columns(data_set(tmp_path, domain=wrong))
    with pytest.raises(Misfit):
        check_columns(data_set(tmp_path, unit="person"))
    with pytest.raises(SourceError):
        check_columns(replace(data_set(tmp_path), relation="persons"))


def test_a_csv_without_the_columns_is_refused_when_the_budget_is_created(tmp_path: Path) -> None:
    """A CSV file is asked by its header alone."""
    csv_table(tmp_path, ())
    check_columns(csv_data_set(tmp_path, unit="who"))
    (tmp_path / "people.csv").write_text("", encoding="utf-8")
    with pytest.raises(QueryFailed):
        check_columns(csv_data_set(tmp_path))


def test_no_row_decides_whether_a_budget_is_created(tmp_path: Path) -> None:
    """One that cannot be read at all, and fails every request, is not seen before a charge."""
    csv_table(tmp_path)
    with (tmp_path / "people.csv").open("ab") as file:
        file.write(b"\xff\xfe,\xff\xfe,1,2\r\n")
    people = csv_data_set(tmp_path, unit="who")
    check_columns(people)
    with open_source(people.source) as source, pytest.raises(QueryFailed):
        people.question(statistic(statistic="histogram", by=["sex"]), charged=True).put_to(source)


def test_a_budget_knows_its_terms(tmp_path: Path) -> None:
    """What is declared is what the ledger keeps: the unit's columns in any order are the same unit."""
    one = data_set(tmp_path, unit=["who", "sex"])
    other = data_set(tmp_path, unit=["sex", "who"])
    assert one.budget == other.budget
    assert Budget.model_validate({"total": "2"}).in_ledger("t").total == 2 * 10**9


def test_a_pair_in_either_direction_has_a_budget_of_its_own(store: Store, tmp_path: Path) -> None:
    """Who takes `pairs` out of the configuration protects half of it, which is not charged to the pair's budget."""
    pair = data_set(tmp_path, unit=["who", "sex"], pairs=["sex", "who"])
    one_way = data_set(tmp_path, unit=["who", "sex"])
    assert (pair.budget.unit, one_way.budget.unit) == ("pair of sex, who", "sex, who")
    at = Counter.of(store, tmp_path, pair)
    assert isinstance(at.teller.answer(pair, statistic()), PrivateAnswer)
    with pytest.raises(NotRecorded):
        at.teller.answer(one_way, statistic())
    assert at.spent(pair) == TENTH
