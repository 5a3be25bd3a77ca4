"""What the journal tells of results: what is new, once."""

from dataclasses import replace

from checks import Message, Outcome, Status, UnknownReason, unknown
from checks.primary_key import PrimaryKey
from monitor.daemon.observer import ChangeLog
from monitor.scan.results import CheckResult
from tests.monitor.shop import NOW

_WELL = CheckResult("t.key", "t", PrimaryKey(columns=("id",)), Outcome(Status.PASS, Message("well")), NOW, 0.1, "shop")
_BAD = replace(_WELL, outcome=Outcome(Status.FAIL, Message("bad")), incident=41)
_AWAY = replace(_WELL, outcome=unknown(UnknownReason.UNREACHABLE, Message("away")))


def test_an_incident_is_told_when_it_opens_and_when_it_ends():
    """Not at every look in between, and not while one good look does not close it."""
    news = ChangeLog()
    lines = [line for one in (_WELL, _BAD, _BAD, replace(_WELL, incident=41), _WELL) for line in news.take([one])]
    assert lines == ["incident #41 opened: t.key, error", "incident #41 ended: t.key"]


def test_a_check_that_says_nothing_is_told_once_and_when_it_speaks_again():
    """With the reason, which may change."""
    news = ChangeLog()
    late = replace(_AWAY, outcome=unknown(UnknownReason.TIMEOUT, Message("late")))
    lines = [line for one in (_AWAY, _AWAY, late, _WELL, _WELL) for line in news.take([one])]
    assert lines == [
        "check t.key cannot be evaluated: unreachable",
        "check t.key cannot be evaluated: timeout",
        "check t.key can be evaluated again",
    ]


def test_what_lasted_before_the_start_is_no_news():
    """A restart repeats nothing."""
    news = ChangeLog()
    news.begin([], {"t.key": UnknownReason.UNREACHABLE})
    assert list(news.take([_AWAY])) == []
