"""Why an expectation could not be evaluated."""

import pytest

from checks import UnknownReason
from checks.gx.caller import lineage, raised_classes, reason_of

_TRACEBACK = """Traceback (most recent call last):
  File "x.py", line 1, in f
    raise ValueError("a secret")
ValueError: a secret
KeyError
DETAIL: Key (email)=(a@b.c) is duplicated
SystemError: this line is data that looks like a class
no.such.module.Error: data
os.path: data

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
subprocess.TimeoutExpired: two
"""


def test_nothing_raised():
    """Both forms of "nothing was raised" are understood."""
    assert raised_classes({"raised_exception": False, "exception_traceback": None, "exception_message": None}) == ()
    assert raised_classes({}) == ()


@pytest.mark.parametrize("keyed", [False, True], ids=["flat", "keyed by metric"])
def test_takes_class_names_only(keyed):
    """Only names of classes that exist are taken from a traceback, causes first; never a line of data."""
    info = {"raised_exception": True, "exception_traceback": _TRACEBACK, "exception_message": "a secret"}
    found = raised_classes({"MetricConfigurationID(...)": info} if keyed else info)
    assert found[0] == "ValueError"
    assert "TimeoutExpired" in found
    assert not any("secret" in name or "DETAIL" in name or name == "path" for name in found)


def test_an_exception_without_traceback_is_still_one():
    """Something was raised even where the class is unknown."""
    assert raised_classes({"raised_exception": True, "exception_traceback": None}) == ("Exception",)


def test_lineage_names_the_bases():
    """A class speaks for the classes it comes from too, so libraries' own errors are understood."""
    assert lineage(UnicodeDecodeError) == ("UnicodeDecodeError", "UnicodeError", "ValueError")
    assert lineage(Exception) == ("Exception",)


@pytest.mark.parametrize(
    ("classes", "sqlite", "expected"),
    [
        (("QueryCanceled", "OperationalError", "DatabaseError"), False, UnknownReason.TIMEOUT),
        (("InsufficientPrivilege", "ProgrammingError"), False, UnknownReason.PERMISSION),
        (("UndefinedColumn", "ProgrammingError"), False, UnknownReason.MISCONFIGURED),
        (("OperationalError", "DatabaseError"), False, UnknownReason.UNREACHABLE),
        (("OperationalError", "DatabaseError"), True, UnknownReason.MISCONFIGURED),
        (("InvalidMetricAccessorDomainKwargsKeyError", "MetricError"), False, UnknownReason.MISCONFIGURED),
        (("ZeroDivisionError", "ArithmeticError"), False, UnknownReason.BUG),
    ],
)
def test_reasons(classes, sqlite, expected):
    """Each kind of failure has its reason; an unknown one is a bug, never a pass."""
    assert reason_of(classes, sqlite=sqlite) is expected
