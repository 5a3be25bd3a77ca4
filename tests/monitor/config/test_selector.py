"""Choosing tables and checks by words."""

from collections.abc import Sequence

import pytest

from checks import Check
from checks.not_null import NotNull
from checks.primary_key import PrimaryKey
from monitor.config import Config, Domain, Source, Table
from monitor.config.selector import select
from monitor.terminal.problem import ExitCode, Stop

_KEY: Check = PrimaryKey(columns=("id",))
_NULLS: Check = NotNull(columns=("id",))
_CONFIG = Config(
    version=1,
    project="shop",
    sources={"warehouse": Source(url="sqlite:///a.db"), "lake": Source(files="*.csv")},
    domains={"sales": Domain(owner="crew")},
    tables=(
        Table(name="sales.orders", source="warehouse", domain="sales", tier="gold", checks=(_KEY, _NULLS)),
        Table(name="sales.refunds", source="warehouse", domain="sales", owner="desk", tier="silver", checks=(_NULLS,)),
        Table(name="events", source="lake", tier="bronze", checks=(_KEY,)),
        Table(name="notes", source="lake", tier="bronze"),
    ),
)
_EVERYTHING = {
    "sales.orders": ("primary-key", "not-null"),
    "sales.refunds": ("not-null",),
    "events": ("primary-key",),
    "notes": (),
}


def _without(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: checks for name, checks in _EVERYTHING.items() if name not in names}


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], _EVERYTHING),
        (["sales.orders"], {"sales.orders": ("primary-key", "not-null")}),
        (["sales.*"], _without("events", "notes")),
        (["sales.orders.not-null"], {"sales.orders": ("not-null",)}),
        (["*.primary-key"], {"sales.orders": ("primary-key",), "events": ("primary-key",)}),
        (["domain:sales"], _without("events", "notes")),
        (["owner:crew"], {"sales.orders": ("primary-key", "not-null")}),
        (["owner:desk"], {"sales.refunds": ("not-null",)}),
        (["tier:gold", "tier:silver"], _without("events", "notes")),
        (["source:lake"], {"events": ("primary-key",), "notes": ()}),
        (["type:not_null"], {"sales.orders": ("not-null",), "sales.refunds": ("not-null",)}),
        (["type:not_*"], {"sales.orders": ("not-null",), "sales.refunds": ("not-null",)}),
        (["tier:gold", "type:not_null"], {"sales.orders": ("not-null",)}),
        (
            ["sales.orders", "events", "type:primary_key"],
            {"sales.orders": ("primary-key",), "events": ("primary-key",)},
        ),
        (["!domain:sales"], {"events": ("primary-key",), "notes": ()}),
        (["!type:not_null"], {"sales.orders": ("primary-key",), "events": ("primary-key",), "notes": ()}),
        (
            ["domain:sales", "!sales.orders.primary-key"],
            {"sales.orders": ("not-null",), "sales.refunds": ("not-null",)},
        ),
    ],
)
def test_words_choose(words: Sequence[str], chosen: dict[str, tuple[str, ...]]) -> None:
    """Words of one field add up, words of different fields narrow each other, and `!` takes away."""
    assert select(words, _CONFIG).tables == chosen


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (["domian:sales"], ExitCode.USAGE, "unknown field 'domian'", "did you mean 'domain'?"),
        (
            ["sales.ordrs"],
            ExitCode.NOTHING_SELECTED,
            "no table or check matches 'sales.ordrs'",
            "did you mean 'sales.orders'?",
        ),
        (["domain:sale"], ExitCode.NOTHING_SELECTED, "no domain matches 'sale'", "did you mean 'sales'?"),
        (["events", "sales.ordrs"], ExitCode.NOTHING_SELECTED, "no table or check matches", "did you mean"),
        (
            ["events", "tier:gold"],
            ExitCode.NOTHING_SELECTED,
            "no table or check matches events tier:gold",
            "combined with AND",
        ),
        (["events", "!tier:bronze"], ExitCode.NOTHING_SELECTED, "no table or check matches", "combined with AND"),
        (["SALES.ORDERS"], ExitCode.NOTHING_SELECTED, "no table or check matches", "did you mean 'sales.orders'?"),
    ],
)
def test_words_that_choose_nothing_say_so(words: Sequence[str], code: ExitCode, message: str, hint: str) -> None:
    """A word that fits nothing is never passed over in silence."""
    with pytest.raises(Stop) as caught:
        select(words, _CONFIG)
    (problem,) = caught.value.problems
    assert caught.value.code is code
    assert message in problem.message
    assert problem.hint is not None
    assert hint in problem.hint


def test_an_exclusion_that_excludes_nothing_is_reported() -> None:
    """A typo in an exclusion can be shown to the person."""
    selection = select(["!type:freshnes", "!events"], _CONFIG)
    assert selection.unmatched == ("!type:freshnes",)
    assert selection.tables == _without("events")
    assert len(selection) == 3


def test_a_configuration_without_tables_chooses_nothing() -> None:
    """Nothing to look at is not a success."""
    empty = Config(version=1, project="shop", sources={"lake": Source(files="*.csv")}, tables=())
    with pytest.raises(Stop) as caught:
        select([], empty)
    assert caught.value.code is ExitCode.NOTHING_SELECTED
