"""What is promised of each table: by contracts, and by the most specific `slo` that promises a level."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Config, Contract
from monitor.config.promised import promised_contracts
from tests.monitor.config.conftest import Problems

# from the most general to the most specific; all of them fit the table
_SELECTORS: Final = ("*", "tier:gold", "domain:sales", "owner:c*", "owner:crew", "or*", "ord*", "orders")
_KEYS: Final = ("downtime", "ttd", "ttr")
_LEVELS: Final = {"downtime": "downtime", "ttd": "time_to_detect", "ttr": "time_to_repair"}


def _value(key: str, number: int) -> str:
    return f"{number + 1}m per 30d" if key == "downtime" else f"{number + 1}m"


def _config(slo: dict[str, Any], own: dict[str, Any] | None = None, **more: Any) -> Config:
    table = {"name": "orders", "source": "s", "tier": "gold", "domain": "sales", **({"slo": own} if own else {})}
    return Config.model_validate(
        {
            "version": 1,
            "project": "p",
            "sources": {"s": {"files": "*.csv"}},
            "owners": {"crew": {}, "desk": {}},
            "domains": {"sales": {"owner": "crew"}},
            "tables": [table, {"name": "refunds", "source": "s", "tier": "silver", "owner": "desk"}],
            "slo": slo,
            **more,
        }
    )


@given(
    st.dictionaries(st.sampled_from(_SELECTORS), st.sets(st.sampled_from(_KEYS), min_size=1)),
    st.sets(st.sampled_from(_KEYS)),
    st.randoms(use_true_random=False),
)
def test_the_most_specific_promise_of_each_level_counts(
    chosen: dict[str, set[str]], own: set[str], chance: Any
) -> None:
    """The table itself before its name, a pattern, its owner, its domain, its tier and all tables, in any order."""
    words = list(chosen)
    chance.shuffle(words)
    place = _SELECTORS.index
    slo = {word: {key: _value(key, place(word)) for key in chosen[word]} for word in words}
    config = _config(slo, {key: _value(key, len(_SELECTORS)) for key in own})
    promised = {promise.name: promise for promise in promised_contracts(config)}
    expected: dict[str, tuple[str, str]] = {}
    for key in _KEYS:
        ranks = [place(word) for word in words if key in chosen[word]] + ([len(_SELECTORS)] if key in own else [])
        if ranks:
            rank = max(ranks)
            origin = "tables.orders.slo" if rank == len(_SELECTORS) else f"slo.{_SELECTORS[rank]}"
            expected[_LEVELS[key]] = (_value(key, rank), origin)
    if not expected:
        assert "slo:orders" not in promised
        return
    promise = promised["slo:orders"]
    contract = {"tables": ["orders"], **{level: value for level, (value, _) in expected.items()}}
    assert promise.contract == Contract.model_validate(contract)
    assert promise.origins == {level: origin for level, (_, origin) in expected.items()}


def test_contracts_and_the_promises_of_tables_stand_beside_each_other() -> None:
    """A contract of several tables replaces no promise of one of them, and the other way round."""
    contracts = {"board": {"tables": ["orders", "refunds"], "availability": "0.9"}}
    config = _config({"owner:desk": {"ttr": "8h"}}, contracts=contracts)
    assert [promise.name for promise in promised_contracts(config)] == ["board", "slo:refunds"]
    assert [promise.name for promise in promised_contracts(config, "orders")] == ["board"]
    (board, _) = promised_contracts(config)
    assert board.origins == {"availability": "contracts.board"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("slo: {'owner:crow': {ttd: 1h}}", "unknown owner 'crow'"),
        ("slo: {'domain:x*': {ttd: 1h}}", "unknown domain 'x*'"),
        ("slo: {'tier:glod': {ttd: 1h}}", "unknown tier 'glod'"),
        ("slo: {ordres: {ttd: 1h}}", "unknown table 'ordres'"),
        ("slo: {'type:freshness': {ttd: 1h}}", "'type:freshness' selects no tables"),
        ("slo: {orders: {}}", "at least one of ttd, ttr, downtime"),
        ("slo: {orders: {downtime: 2h}}", "such as 2h per 30d"),
        ("slo: {orders: {ttd: 0s}}", "ttd"),
    ],
)
def test_a_promise_that_is_about_nothing_is_an_error(
    small: str, problems_of: Problems, line: str, message: str
) -> None:
    """A selector that fits no table would promise nothing, without an error."""
    assert message in str(problems_of(small.replace("sources:", f"{line}\nsources:", 1)))
