"""Service levels of tables, grouped by who answers for them."""

from fractions import Fraction

from incidents import Level, LevelResult, LevelVerdict, Window
from monitor.summaries.level_groups import groups_in_report, level_groups
from monitor.summaries.service_levels import JudgedContract

HOUR = Fraction(3_600_000_000)


def _judged(name, verdict, **labels):
    level = LevelResult(Level.TIME_TO_DETECT, HOUR, verdict, judged=2, kept=1)
    return JudgedContract(name, (name,), Window(0, 1), [level], labels=labels)


ORDERS = _judged("orders", LevelVerdict.KEPT, table="orders", owner="crew", domain=None, tier=None)
REFUNDS = _judged("refunds", LevelVerdict.BROKEN, table="refunds", owner="crew", domain=None, tier=None)
TOTALS = _judged("totals", LevelVerdict.UNKNOWN, table="totals", owner=None, domain=None, tier=None)
BOARD = _judged("board", LevelVerdict.BROKEN)


def test_a_group_is_as_bad_as_its_worst_table():
    """One broken level breaks the group; those without an owner come last; episodes add up."""
    crew, without = level_groups([REFUNDS, TOTALS, ORDERS], "owner")
    assert (crew.name, crew.whole.verdict, without.name) == ("crew", LevelVerdict.BROKEN, None)
    (level,) = crew.levels
    assert (level.verdict, level.judged, level.kept, level.share_kept) == (
        LevelVerdict.BROKEN,
        4,
        2,
        (Fraction(1, 2), 1),
    )
    assert without.whole.verdict is LevelVerdict.UNKNOWN


def test_a_contract_of_several_tables_is_in_no_group():
    """It would be counted for each of its owners; and nothing is grouped by what no table has."""
    groups = groups_in_report([BOARD, ORDERS])
    assert [(group.by, group.name, len(group.contracts)) for group in groups] == [("owner", "crew", 1)]
    assert groups_in_report([BOARD]) == []
