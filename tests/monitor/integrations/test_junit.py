"""Results as JUnit XML."""

from io import StringIO
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml

from checks import Severity, Status
from monitor.integrations.junit import as_junit
from monitor.terminal.redaction import MASK, Redactor
from tests.monitor.integrations.passes import checked, passed

_FOUR = [checked(status, name=status.value, table=table) for table in ("a", "b") for status in Status]


def _read(text: str) -> JUnitXml:
    return JUnitXml.fromstring(text.encode())


def test_every_check_is_a_case_of_the_suite_of_its_table() -> None:
    """Suites have the order of the pass, and their counts add up to those of the document."""
    document = _read(as_junit(passed(_FOUR)))
    assert [(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) for suite in document] == [
        ("a", 4, 1, 1, 0),
        ("b", 4, 1, 1, 0),
    ]
    assert (document.name, document.tests, document.failures, document.errors) == ("shop", 8, 2, 2)
    assert [(case.classname, case.name) for suite in document for case in suite][1] == ("a", "warn")


def test_a_failure_an_error_and_a_warning_are_told_apart() -> None:
    """A check that could not be evaluated is an error with its reason; a warning passes with its message."""
    cases = {case.name: case for suite in _read(as_junit(passed(_FOUR[:4]))) for case in suite}
    (failure,), (error,) = cases["fail"].result, cases["unknown"].result
    assert isinstance(failure, Failure)
    assert (failure.type, failure.message) == ("not_null", "3 of 9 rows are NULL")
    assert isinstance(error, Error)
    assert (error.type, error.message) == ("timeout", "3 of 9 rows are NULL")
    assert cases["warn"].is_passed
    assert cases["warn"].system_out.startswith("WARN: 3 of 9 rows are NULL\n")
    assert (cases["pass"].is_passed, cases["pass"].system_out) == (True, None)


def test_a_failure_that_does_not_count_passes_with_its_message() -> None:
    """As the exit code does: a build is not broken by what --fail-on lets through, and the message stays."""
    results = [checked(Status.FAIL, severity=Severity.WARNING), checked(Status.FAIL, name="x")]
    low, high = (case for suite in _read(as_junit(passed(results, fail_on=Severity.ERROR))) for case in suite)
    assert low.is_passed
    assert low.system_out.startswith("FAIL: ")
    assert not high.is_passed


@given(st.text())
def test_nothing_unknown_is_ever_a_pass_or_skipped(text: str) -> None:
    """Whatever the message holds."""
    (suite,) = _read(as_junit(passed([checked(Status.UNKNOWN, text=text)])))
    (case,) = suite
    assert not case.is_passed
    assert not case.is_skipped


@given(st.lists(st.tuples(st.sampled_from(list(Status)), st.text(), st.text(min_size=1)), max_size=5))
def test_any_text_makes_a_document_that_can_be_read(cases: list[tuple[Status, str, str]]) -> None:
    """Control characters, which XML forbids, are written as escapes; all else survives."""
    results = [checked(status, table=table, text=text, why=text) for status, text, table in cases]
    root = ET.parse(StringIO(as_junit(passed(results)))).getroot()  # noqa: S314 - our own document
    assert len(list(root.iter("testcase"))) == len(cases)


def test_results_that_were_not_stored_are_an_error() -> None:
    """The exit code is not 0 then, and neither is the document green."""
    document = _read(as_junit(passed([checked(Status.PASS)], problem="disk full")))
    assert (document.errors, [suite.name for suite in document]) == (1, ["orders", "tablewatch"])


def test_secrets_are_masked() -> None:
    """In attributes and in texts."""
    text = as_junit(passed([checked(Status.FAIL, text="at hunter2", why="hunter2")]), redact=Redactor(["hunter2"]))
    assert "hunter2" not in text
    assert text.count(MASK) == 3
